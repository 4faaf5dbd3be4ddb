//! Memory of this process and of the cards, at rest and at the peak of a case's jobs.

use crate::cccs::beam_dose;
use crate::cccs::bench::water;
use crate::dose::Quality;
use crate::drr::bench::{View, projection};
use crate::drr::{DrrRequest, Integrator, Pixels, drr};
use crate::gamma::{Criterion, GammaRequest, gamma};
use crate::{Compute, DeviceError, JobControl, Memory, empty_caches, memory};
use case::Pose;
use geometry::Volume;
use glam::DVec3;
use std::sync::Arc;

/// Memory after a step.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub step: &'static str,
    /// Memory of the process, bytes, and the most there has been so far; none where the system does not tell.
    pub resident: Option<[u64; 2]>,
    pub kept: Memory,
}

/// Resident memory of this process, bytes, and the most there has been so far; none where the system does not tell.
pub fn resident() -> Option<[u64; 2]> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status_kib(&status, "VmRSS:")?;
    let peak = status_kib(&status, "VmHWM:")?;
    Some([resident, peak].map(|kib| kib << 10))
}

/// A size in `/proc/self/status`, KiB.
fn status_kib(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn line(step: &'static str, control: &JobControl) -> Line {
    Line {
        step,
        resident: resident(),
        kept: memory(control.cache()),
    }
}

/// A plan of a day: the dose of a beam on 2.5 mm, its radiograph, its gamma; then the case is closed.
pub fn lines(device: &Compute, control: &JobControl) -> Result<Vec<Line>, DeviceError> {
    empty_caches(control.cache());
    let mut lines = vec![line("at rest", control)];
    let request = water([200, 120, 120], [2.5; 3], 100.0, Quality::Standard)?;
    let dose = beam_dose(&request, device, control).map_err(|e| DeviceError::case("memory", e))?;
    lines.push(line("dose of a beam", control));
    let radiograph = DrrRequest {
        attenuation: Arc::clone(&request.patient.mass_density_g_cm3),
        projection: projection(View::Ap)?,
        poses: vec![Pose::default()],
        pose_centre_mm: DVec3::ZERO,
        integrator: Integrator::Trilinear { step_mm: None },
        pixels: Pixels::All,
    };
    drr(&radiograph, device, control).map_err(|e| DeviceError::case("memory", e))?;
    lines.push(line("radiograph", control));
    let more = dose.gy.data().iter().map(|gy| 1.01 * gy).collect();
    let more = Arc::new(Volume::new(Arc::clone(dose.gy.grid()), more));
    let pair = GammaRequest::new(
        Arc::clone(&dose.gy),
        more,
        vec![Criterion::global(3.0, 3.0)],
    );
    gamma(&pair, device, control).map_err(|e| DeviceError::case("memory", e))?;
    lines.push(line("gamma", control));
    drop((request, dose, radiograph, pair));
    empty_caches(control.cache());
    lines.push(line("case closed", control));
    Ok(lines)
}
