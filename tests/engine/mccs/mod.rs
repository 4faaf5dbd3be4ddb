//! Monte Carlo convolution/superposition: against collapsed cone, Monte Carlo and itself.

mod attenuators;
mod delivery;
mod gamma;
mod map;
mod refused;
mod spread;
mod water;
mod wide;

use beamsight::case::Beam;
use beamsight::engine::dose::DoseTo;
use beamsight::engine::histories::{HistoriesDose, Next, RunLength, Until};
use beamsight::engine::mccs::{BATCH, DIRECTIONS, MccsRequest, Variant, refine};
use beamsight::engine::{Compute, JobControl};
use beamsight::physics::{Machine, Patient};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A request on the patient's own grid.
fn request(
    patient: &Arc<Patient>,
    beams: Vec<(Beam, Arc<Machine>)>,
    histories: u64,
) -> MccsRequest {
    MccsRequest {
        patient: Arc::clone(patient),
        beams,
        grid: Arc::clone(patient.mass_density_g_cm3.grid()),
        dose_to: DoseTo::Water,
        length: RunLength {
            until: Until::Histories(histories),
            batch: BATCH,
            show_every: Duration::from_secs(3600),
        },
        seed: 1,
        directions: DIRECTIONS,
        variant: Variant::Own,
    }
}

fn run(request: &MccsRequest) -> HistoriesDose {
    run_on(request, &Compute::Cpu)
}

fn run_on(request: &MccsRequest, device: &Compute) -> HistoriesDose {
    // What one test has cached is there for the others.
    static CONTROL: LazyLock<JobControl> = LazyLock::new(JobControl::new);
    refine(request, device, &CONTROL, &mut |_| Next::GoOn).expect("a dose")
}
