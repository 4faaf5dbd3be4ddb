//! Doses of small runs.

use super::simulation::Simulation;
use super::{ElectronCut, Mc, McRequest, RunsOn};
use crate::dose::{Clock, DoseTo};
use crate::histories::bits;
use crate::histories::{DoseGrid, HistoriesDose, Next, OnCpu, Run, RunPart, Shared};
use crate::phantom::patient;
use crate::run_histories::{HistoriesEngine as _, dose_of_parts, part};
use crate::{Compute, JobControl};
use case::{Beam, Jaws};
use glam::DVec3;
use physics::{Machine, Material, Patient, Spectrum};
use std::sync::Arc;

fn cube() -> Arc<Patient> {
    patient(DVec3::splat(10.0), [12; 3], |_| (1.0, Material::Water)).expect("a cube")
}

fn field() -> Beam {
    Beam::fixed(
        "AP",
        1,
        0.0,
        DVec3::ZERO,
        Jaws::symmetric(60.0, 60.0),
        100.0,
    )
}

fn request(histories: u64) -> McRequest {
    let machine = Machine::resolve("point-6mv").expect("a machine");
    McRequest::of_histories(&cube(), vec![(field(), machine)], histories)
}

fn dose(request: &McRequest) -> HistoriesDose {
    super::refine(request, &Compute::Cpu, &JobControl::new(), &mut |_| {
        Next::GoOn
    })
    .expect("a dose")
}

fn refusal(change: impl FnOnce(&mut McRequest)) -> String {
    let mut request = request(1000);
    change(&mut request);
    super::refine(&request, &Compute::Cpu, &JobControl::new(), &mut |_| {
        Next::GoOn
    })
    .expect_err("refused")
    .to_string()
}

#[test]
fn equal_requests_have_equal_bits_whole_or_in_parts() {
    let request = request(3000);
    let control = JobControl::new();
    let unparted = dose(&request);
    assert!(bits(&unparted) == bits(&dose(&request)));
    let mut tallies = (1..=3).map(|number| {
        let device = std::slice::from_ref(&Compute::Cpu);
        part::<Mc>(&request, RunPart { number, of: 3 }, device, &control).expect("a part")
    });
    let mut tally = tallies.next().expect("the first part");
    tallies.for_each(|part| tally.add(&part).expect("parts of one run"));
    let merged = dose_of_parts::<Mc>(&request, &tally, &Compute::Cpu, &control).expect("a dose");
    assert!(bits(&merged) == bits(&unparted));
    let other = McRequest { seed: 2, ..request };
    assert!(bits(&dose(&other)) != bits(&unparted));
}

/// Photons that all meet the cube leave in it, without what escapes, what they brought: a bound from above by the incident energy,
/// and from below by the first collisions' kerma in 12 cm.
#[test]
fn the_energy_of_a_dose_is_that_of_its_photons() {
    let mut machine = (*Machine::resolve("point-6mv").expect("a machine")).clone();
    machine.spectrum = Spectrum {
        energies_mev: vec![2.0],
        photon_weights: vec![1.0],
    };
    let dense = patient(DVec3::splat(20.0), [20; 3], |_| (8.0, Material::Water)).expect("a block");
    let mut beam = field();
    // 100 MU are 100 photons per cm2 at the isocentre, through 1 cm2.
    beam.control_points[0].jaws = Jaws::symmetric(10.0, 10.0);
    let beams = vec![(beam, Arc::new(machine))];
    let dose = dose(&McRequest::of_histories(&dense, beams, 20_000));
    let joules: f64 = { dose.gy.data().iter() }
        .map(|gy| f64::from(*gy) * 64.0 * 1e-3)
        .sum();
    let mev = joules / 1.602_176_634e-13;
    let incident_mev = 200.0;
    // Backscatter takes 1 to 3 % of 2 MeV photons' energy away.
    let share = mev / incident_mev;
    assert!((0.96..0.995).contains(&share), "{share}");
}

/// Adds a line to the spectrum of the first beam's machine.
fn set_line(request: &mut McRequest, energy_mev: f64) {
    let mut machine = (*request.beams[0].1).clone();
    machine.spectrum = Spectrum {
        energies_mev: vec![2.0, energy_mev],
        photon_weights: vec![0.9, 0.1],
    };
    request.beams[0].1 = Arc::new(machine);
}

#[test]
fn inputs_out_of_range_are_refused_in_words() {
    let beyond = refusal(|request| set_line(request, 26.0));
    assert!(
        beyond.contains("26 MeV") && beyond.contains("0.01 to 25"),
        "{beyond}"
    );
    let dense = refusal(|request| {
        request.patient =
            patient(DVec3::splat(10.0), [12; 3], |_| (25.0, Material::Titanium)).expect("a cube");
        request.grid = Arc::clone(request.patient.mass_density_g_cm3.grid());
    });
    assert!(dense.contains("more than gold"), "{dense}");
}

#[test]
fn cut_offs_without_tables_do_not_exist() {
    assert_eq!(ElectronCut::of_kev(100), Some(ElectronCut::Kev100));
    assert_eq!(ElectronCut::of_kev(150), None);
    let fine = McRequest {
        electron_cut: ElectronCut::Kev100,
        ..request(1000)
    };
    let dose = dose(&fine);
    assert!(
        dose.receipt
            .warnings
            .iter()
            .any(|warning| warning.contains("100 keV"))
    );
    assert_ne!(fine.digest(), request(1000).digest());
}

/// Batches are the device's own, so that parts of one kind fit together.
#[test]
fn a_card_runs_larger_batches() {
    let control = JobControl::new();
    let request = request(1 << 30);
    let fits = |runs_on, parts| {
        let run = Mc::run_of(&request, runs_on, &control).expect("a run");
        run.check_part(RunPart {
            number: 1,
            of: parts,
        })
        .is_ok()
    };
    assert!(fits(RunsOn::Cpu, 1000) && fits(RunsOn::Card, 100));
    assert!(!fits(RunsOn::Card, 1000));
}

/// Photons of an energy that no table reaches are lost: several runners tell it as one does, and the dose is not final.
#[test]
fn lost_particles_are_told_however_many_runners_there_are() {
    let control = JobControl::new();
    let request = request(2000);
    for others in [0, 1, 3] {
        let monitor_unit = &|machine: &_| crate::cccs::cpu::monitor_unit(machine, &control);
        let mut simulation = Simulation::new(&request, monitor_unit, &control).expect("tables");
        simulation.head.bins[0].energy_mev = 40.0;
        let dose_grid = DoseGrid {
            grid: Arc::clone(&request.grid),
            dose_to: DoseTo::Medium,
        };
        let mut length = request.length;
        length.batch = 100;
        let digest = request.digest();
        let mut run = Run::new(simulation, length, dose_grid, digest, Clock::start());
        let mut runners = Shared::new(OnCpu::default(), (0..others).map(|_| OnCpu::default()));
        let dose = run
            .refine(&mut runners, &control, &mut |_| Next::GoOn)
            .expect("a dose");
        assert!(dose.is_spoilt, "{others} runners more");
        assert!(
            dose.receipt
                .warnings
                .iter()
                .any(|warning| warning.contains("particles were lost"))
        );
    }
}
