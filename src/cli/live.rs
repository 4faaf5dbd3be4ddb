//! `beamsight bench live`: a gantry turned in the window, timed from the pointer's move to sum, normalisation
//! and DVHs, and to the picture; beside it the engine alone.

use super::{Answer, Failure};
use crate::app::frames::live_times;
use crate::case::{
    Beam, Case, Contour, Ct, Jaws, Normalisation, Plan, Structure, StructureKind, StructureSet,
};
use crate::engine::bench::cccs::water;
use crate::engine::cccs::{Quality, beam_dose};
use crate::engine::{Compute, DeviceChoice, JobControl};
use crate::geometry::{Grid, PatientPosition, Volume, sphere_contours};
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// de Greef 2009, Table VIII: angles of the arc, one degree apart.
const ANGLES: usize = 21;
const SIZE: [usize; 3] = [200, 120, 120];
const SPACING_MM: f64 = 2.5;
const FIELD_MM: f64 = 100.0;
const STRUCTURES: u32 = 10;

/// Turns over the arc `runs` times after one warm-up.
///
/// # Errors
/// No graphics device, or a failing device.
pub fn run(runs: usize, choice: DeviceChoice) -> Result<Answer, Failure> {
    let device = choice.resolve()?;
    let mut text = format!(
        "live on {device}: gantry turned over {ANGLES} angles, {runs} times; 10x10 on {}x{}x{} voxels of {SPACING_MM} mm, {} \
         directions\n",
        SIZE[0],
        SIZE[1],
        SIZE[2],
        Quality::Standard.directions(),
    );
    let mut rows = vec![summary("engine alone, one beam", engine_alone(runs, &device)?)];
    for beams in [1, 5] {
        let [followed, drawn] = live_times(case(beams)?, choice, SPACING_MM, runs * ANGLES)?;
        let what =
            format!("one of {beams} beam(s) turned in the window, to sum, normalisation, {STRUCTURES} DVHs");
        rows.push(summary(&what, followed));
        rows.push(summary("  and its picture, drawn and read back", drawn));
    }
    for (line, _) in &rows {
        text += line;
    }
    let rows: Vec<Value> = rows.into_iter().map(|(_, json)| json).collect();
    Ok(Answer { json: json!({ "job": "live", "device": device.to_string(), "rows": rows }), text })
}

fn engine_alone(runs: usize, device: &Compute) -> anyhow::Result<Vec<f64>> {
    let mut request = water(SIZE, [SPACING_MM; 3], FIELD_MM, Quality::Standard)?;
    let (control, mut times_ms) = (JobControl::new(), Vec::new());
    for turn in 0..=runs {
        for angle in 0..ANGLES {
            request.beam.control_points.iter_mut().for_each(|p| p.gantry_deg = angle as f64);
            let start = Instant::now();
            beam_dose(&request, device, &control)?;
            times_ms.extend((turn > 0).then(|| start.elapsed().as_secs_f64() * 1e3));
        }
    }
    Ok(times_ms)
}

/// A block of water with structures and a plan.
fn case(beams: u32) -> anyhow::Result<Case> {
    let extent = DVec3::new(SIZE[0] as f64 - 1.0, SIZE[1] as f64 - 1.0, SIZE[2] as f64 - 1.0);
    let grid = Arc::new(Grid::axis_aligned(-0.5 * SPACING_MM * extent, DVec3::splat(SPACING_MM), SIZE)?);
    let hu = Volume::new(Arc::clone(&grid), vec![0.0; grid.len()]);
    let ct = Arc::new(Ct::unnamed(Arc::new(hu), PatientPosition::Hfs));
    let structures: Vec<Structure> = (1..=STRUCTURES).map(|number| ball(&grid, number)).collect();
    let mut plan = Plan::new("live", "generic-6mv");
    plan.beams = (1..=beams).map(beam_of).collect();
    plan.normalisation = Some(Normalisation::to_named("Ball 1", 95.0, 2.0));
    let set = StructureSet { structures, ..StructureSet::default() };
    Ok(Case {
        source: "bench live".to_owned(),
        ct: Some(ct),
        structures: Arc::new(set),
        plans: vec![Arc::new(plan)],
        ..Case::default()
    })
}

fn beam_of(number: u32) -> Beam {
    Beam::fixed(
        &format!("B{number}"),
        number,
        72.0 * f64::from(number - 1),
        DVec3::ZERO,
        Jaws::symmetric(FIELD_MM, FIELD_MM),
        100.0,
    )
}

/// Concentric balls of 1.5 to 11 cm round the isocentre.
pub(super) fn ball(grid: &Grid, number: u32) -> Structure {
    let outlines = sphere_contours(grid, DVec3::ZERO, 15.0 + 5.0 * f64::from(number % 20));
    let contours = outlines.into_iter().map(|points_mm| Contour { points_mm, image_uid: None }).collect();
    let kind = StructureKind::Other;
    Structure {
        name: format!("Ball {number}"),
        number,
        kind,
        colour: kind.default_colour(),
        contours,
        points_mm: Vec::new(),
        density: None,
    }
}

pub(super) fn summary(name: &str, mut times_ms: Vec<f64>) -> (String, Value) {
    times_ms.sort_by(f64::total_cmp);
    let at = |part: f64| times_ms[((times_ms.len() - 1) as f64 * part).ceil() as usize];
    let (median, high, worst) = (at(0.5), at(0.95), at(1.0));
    let text = format!(
        "  {name}: median {median:.2} ms, 95th percentile {high:.2} ms, worst {worst:.2} ms ({} times)\n",
        times_ms.len()
    );
    let json = json!({
        "what": name,
        "times": times_ms.len(),
        "median_ms": median,
        "percentile_95_ms": high,
        "worst_ms": worst,
    });
    (text, json)
}
