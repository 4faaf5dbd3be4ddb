//! `beamsight bench frame`: the window's own work in a frame, on a large CT with many structures.

use super::live::{ball, summary};
use super::{Args, Failure, VerbOutput};
use app::frames::frame_times;
use case::{Beam, Case, Ct, Jaws, Plan, Structure, StructureSet};
use engine::DeviceChoice;
use geometry::{Grid, PatientPosition, Volume};
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;

/// The size of a usual CT: 512 x 512 x 300 voxels of 1 x 1 x 2 mm.
pub(super) const SIZE: [usize; 3] = [512, 512, 300];
pub(super) const SPACING_MM: DVec3 = DVec3::new(1.0, 1.0, 2.0);
pub(super) const STRUCTURES: u32 = 30;
/// Spacing of the dose: the window's own work does not depend on it, and the first dose arrives in seconds.
const GRID_MM: f64 = 10.0;

/// # Errors
/// No graphics device, or a dose that does not arrive in time.
pub fn run(_: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    // A device that is not there ends it before the window opens.
    choice.resolve()?;
    let mut text = format!(
        "frame: the window's own work without drawing, CT {}x{}x{}, {STRUCTURES} structures, one beam\n",
        SIZE[0], SIZE[1], SIZE[2]
    );
    let mut rows = Vec::new();
    for frames in frame_times(case()?, choice, GRID_MM)? {
        let (line, json) = summary(frames.what, frames.times_ms);
        text += &line;
        rows.push(json);
    }
    Ok(VerbOutput {
        json: json!({ "job": "frame", "rows": Value::from(rows) }),
        text,
    })
}

/// A cylinder of water in air.
pub(super) fn images() -> anyhow::Result<Ct> {
    let extent = DVec3::from([0, 1, 2].map(|axis| SIZE[axis] as f64 - 1.0));
    let grid = Arc::new(Grid::axis_aligned(
        -0.5 * SPACING_MM * extent,
        SPACING_MM,
        SIZE,
    )?);
    let [nx, ny, _] = SIZE;
    let hu = (0..grid.len()).map(|n| {
        let [x, y] = [n % nx, n / nx % ny].map(|index| index as f64 - 255.5);
        if (x / 190.0).powi(2) + (y / 130.0).powi(2) < 1.0 {
            0.0
        } else {
            -1000.0
        }
    });
    let hu = Volume::new(Arc::clone(&grid), hu.collect());
    Ok(Ct::unnamed(Arc::new(hu), PatientPosition::Hfs))
}

/// The cylinder with balls in it.
fn case() -> anyhow::Result<Case> {
    let ct = Arc::new(images()?);
    let grid = ct.hu.grid();
    let structures: Vec<Structure> = (1..=STRUCTURES).map(|number| ball(grid, number)).collect();
    let mut plan = Plan::new("frame", "generic-6mv");
    plan.beams = vec![Beam::fixed(
        "B1",
        1,
        0.0,
        DVec3::ZERO,
        Jaws::symmetric(100.0, 100.0),
        100.0,
    )];
    Ok(Case {
        source: "bench frame".to_owned(),
        ct: Some(ct),
        structures: Arc::new(StructureSet {
            structures,
            ..StructureSet::default()
        }),
        plans: vec![Arc::new(plan)],
        ..Case::default()
    })
}
