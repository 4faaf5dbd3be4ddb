//! `beamsight bench live`: gantry, jaw, leaf, isocentre and a structure dragged in the window, timed from the pointer's
//! move to sum, normalisation, DVHs and goals, and to the picture; beside it the engine alone.

use super::{Args, Failure, VerbOutput};
use analysis::with_leaves;
use anyhow::anyhow;
use app::frames::live_times;
use case::{
    Beam, Case, Contour, Ct, Goal, Jaws, Normalisation, Plan, Structure, StructureKind,
    StructureSet,
};
use engine::cccs::beam_dose;
use engine::cccs::bench::water;
use engine::{Compute, DeviceChoice, JobControl};
use geometry::{Grid, PatientPosition, Volume, sphere_contours};
use glam::DVec3;
use physics::Machine;
use results::Settings;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// de Greef 2009, Table VIII: angles of the arc, one degree apart.
const ANGLES: usize = 21;
const MACHINE: &str = "generic-6mv";
const SIZE: [usize; 3] = [200, 120, 120];
const SPACING_MM: f64 = 2.5;
const FIELD_MM: f64 = 100.0;
const STRUCTURES: u32 = 10;
const GOALS: usize = 2;
/// Time of a drag without a stop.
const ON_THE_MOVE: Duration = Duration::from_secs(3);
/// Tips of the leaves, mm: within the jaws, so that both have handles.
const TIPS_MM: [f64; 2] = [-40.0, 40.0];

/// Drags every handle to as many places as the arc has, times the runs.
///
/// # Errors
/// No graphics device, or a failing device.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let device = choice.resolve()?;
    let runs = args.runs_on(&device);
    // The CPU takes seconds for a full dose: there only what follows the pointer is timed.
    let is_cpu = matches!(device, Compute::Cpu);
    let places = if is_cpu { 5 * runs } else { runs * ANGLES };
    let mut text = format!(
        "live on {device}: 10x10 on {}x{}x{} voxels of {SPACING_MM} mm, {} directions, {STRUCTURES} DVHs, {GOALS} goals; each \
         handle dragged to {places} places, then on for {} s at 60 Hz\n",
        SIZE[0],
        SIZE[1],
        SIZE[2],
        Settings::default().quality.directions(),
        ON_THE_MOVE.as_secs(),
    );
    let angles = if is_cpu { 1 } else { ANGLES };
    let (line, json) = summary(
        "engine alone, one beam",
        engine_alone(runs, angles, &device)?,
    );
    text += &line;
    let mut rows = vec![json];
    for beams in [1, 5] {
        for live in live_times(
            case(beams)?,
            choice,
            SPACING_MM,
            places,
            !is_cpu,
            ON_THE_MOVE,
        )? {
            let what = format!("{}, {beams} beam(s)", live.handle.name());
            text += &format!(
                "  {what}: {:.1} doses and {:.1} DVHs a second on the move\n",
                live.doses_per_s, live.dvhs_per_s
            );
            rows.push(
                json!({ "what": what, "doses_per_s": live.doses_per_s, "dvhs_per_s": live.dvhs_per_s }),
            );
            for (part, times_ms) in [
                ("the window's own work in a frame", live.frames_ms),
                ("from the pointer to dose, DVHs and goals", live.answered_ms),
                ("  final", live.final_ms),
                ("  drawn and read back", live.drawn_ms),
            ] {
                if times_ms.is_empty() {
                    continue;
                }
                let (line, mut json) = summary(part, times_ms);
                text += &format!("  {line}");
                json["what"] = format!("{what}: {}", part.trim()).into();
                rows.push(json);
            }
        }
    }
    Ok(VerbOutput {
        json: json!({ "job": "live", "device": device.to_string(), "rows": rows }),
        text,
    })
}

fn engine_alone(runs: usize, angles: usize, device: &Compute) -> anyhow::Result<Vec<f64>> {
    let mut request = water(SIZE, [SPACING_MM; 3], FIELD_MM, Settings::default().quality)?;
    request.beam = beam_of(1)?;
    let (control, mut times_ms) = (JobControl::new(), Vec::new());
    for turn in 0..=runs {
        for angle in 0..angles {
            request
                .beam
                .control_points
                .iter_mut()
                .for_each(|p| p.gantry_deg = angle as f64);
            let start = Instant::now();
            beam_dose(&request, device, &control)?;
            times_ms.extend((turn > 0).then(|| start.elapsed().as_secs_f64() * 1e3));
        }
    }
    Ok(times_ms)
}

/// A block of water with structures and a plan.
fn case(beams: u32) -> anyhow::Result<Case> {
    let extent = DVec3::new(
        SIZE[0] as f64 - 1.0,
        SIZE[1] as f64 - 1.0,
        SIZE[2] as f64 - 1.0,
    );
    let grid = Arc::new(Grid::axis_aligned(
        -0.5 * SPACING_MM * extent,
        DVec3::splat(SPACING_MM),
        SIZE,
    )?);
    // Air all round: a block that fills its CT would be a patient who goes on beyond it, and have no final dose.
    let hu = (0..grid.len()).map(|n| {
        let voxel = [n % SIZE[0], n / SIZE[0] % SIZE[1], n / (SIZE[0] * SIZE[1])];
        let mut indices = voxel.iter().zip(SIZE);
        let is_rim = indices.any(|(index, size)| *index == 0 || index + 1 == size);
        if is_rim { -1000.0 } else { 0.0 }
    });
    let hu = Volume::new(Arc::clone(&grid), hu.collect());
    let ct = Arc::new(Ct::unnamed(Arc::new(hu), PatientPosition::Hfs));
    let structures: Vec<Structure> = (1..=STRUCTURES).map(|number| ball(&grid, number)).collect();
    let mut plan = Plan::new("live", MACHINE);
    plan.beams = (1..=beams).map(beam_of).collect::<Result<_, _>>()?;
    plan.normalisation = Some(Normalisation::to_named("Ball 1", 95.0, 2.0));
    let goals: [&str; GOALS] = ["Ball 1: D95% >= 1.9 Gy", "Ball 5: Dmean <= 1.5 Gy"];
    let goals: Vec<Goal> = goals
        .into_iter()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let set = StructureSet {
        structures,
        ..StructureSet::default()
    };
    Ok(Case {
        source: "bench live".to_owned(),
        ct: Some(ct),
        structures: Arc::new(set),
        plans: vec![Arc::new(plan)],
        goals: Some(goals.into()),
        ..Case::default()
    })
}

fn beam_of(number: u32) -> anyhow::Result<Beam> {
    let (gantry_deg, jaws) = (
        72.0 * f64::from(number - 1),
        Jaws::symmetric(FIELD_MM, FIELD_MM),
    );
    let beam = Beam::fixed(
        &format!("B{number}"),
        number,
        gantry_deg,
        DVec3::ZERO,
        jaws,
        100.0,
    );
    let leaves = Machine::resolve(MACHINE)?
        .leaves
        .clone()
        .ok_or_else(|| anyhow!("{MACHINE} has no leaves"))?;
    let mut beam = with_leaves(&beam, leaves.to_case());
    for point in &mut beam.control_points {
        point.leaves_mm.fill(TIPS_MM);
    }
    Ok(beam)
}

/// Concentric balls of 1.5 to 11 cm round the isocentre.
pub(super) fn ball(grid: &Grid, number: u32) -> Structure {
    let outlines = sphere_contours(grid, DVec3::ZERO, 15.0 + 5.0 * f64::from(number % 20));
    let contours = outlines
        .into_iter()
        .map(|points_mm| Contour {
            points_mm,
            image_uid: None,
        })
        .collect();
    Structure {
        contours,
        ..Structure::new(format!("Ball {number}"), number, StructureKind::Other)
    }
}

pub(super) fn summary(name: &str, mut times_ms: Vec<f64>) -> (String, Value) {
    times_ms.sort_by(f64::total_cmp);
    let [median, high, worst] =
        [0.5, 0.95, 1.0].map(|part| times_ms[((times_ms.len() - 1) as f64 * part).ceil() as usize]);
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
