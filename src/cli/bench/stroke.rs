//! `beamsight bench stroke`: strokes of a brush on a large CT with many structures.

use super::frame::{SIZE, SPACING_MM, STRUCTURES, images};
use super::live::{ball, summary};
use super::{Args, Failure, VerbOutput};
use app::frames::stroke_times;
use app::state::roi::Shape;
use case::{Case, Contour, Dose, DoseStatus, Structure, StructureSet};
use engine::DeviceChoice;
use geometry::{Grid, Volume};
use glam::DVec3;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Instant;

/// Spacing of the dose, mm.
const DOSE_MM: f64 = 2.5;
/// A structure as large as a body, mm from its middle to its outline, on every plane of the CT.
const LARGE_MM: [f64; 2] = [190.0, 130.0];
const LARGE_CORNERS: usize = 720;
/// Radius of ball 7, mm.
const BALL_MM: f64 = 50.0;
/// Spheres whose contours are timed, mm, and how often.
const RADII_MM: [f64; 3] = [20.0, 50.0, 150.0];
const TIMES: usize = 101;

/// # Errors
/// No window, or figures that do not come in time.
pub fn run(_: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    // A device that is not there ends it before the window opens.
    choice.resolve()?;
    let mut text = format!(
        "stroke: a brush of 20 mm along the outline of one of {STRUCTURES} structures, CT {}x{}x{}, dose on {DOSE_MM} mm\n",
        SIZE[0], SIZE[1], SIZE[2]
    );
    let mut rows = Vec::new();
    let (case, grid) = case()?;
    let drawn = [(7, [BALL_MM; 2]), (STRUCTURES, LARGE_MM)];
    let drawn_on = drawn.map(|(number, axes)| (number, axes.map(|mm| mm as f32)));
    for (strokes, what) in stroke_times(case, choice, &drawn_on)?
        .into_iter()
        .zip(["a ball", "a body"])
    {
        let rate = format!(
            "{what}: {:.1} DVHs a second while the pointer moves",
            strokes.dvhs_per_s
        );
        text += &format!("  {rate}\n");
        rows.push(json!({ "what": what, "dvhs_per_s": strokes.dvhs_per_s }));
        for (part, times_ms) in [
            ("the window's own work in a frame", strokes.frames_ms),
            ("from release to volume and DVH", strokes.figures_ms),
        ] {
            let (line, json) = summary(&format!("{what}: {part}"), times_ms);
            text += &line;
            rows.push(json);
        }
    }
    for radius_mm in RADII_MM {
        let shape = Shape::Sphere {
            centre_mm: DVec3::ZERO,
            radius_mm,
        };
        let times_ms = (0..TIMES).map(|_| {
            let start = Instant::now();
            std::hint::black_box(shape.contours(&grid));
            1e3 * start.elapsed().as_secs_f64()
        });
        let name = format!("contours of a dragged sphere of {radius_mm} mm");
        let (line, json) = summary(&name, times_ms.collect());
        text += &line;
        rows.push(json);
    }
    Ok(VerbOutput {
        json: json!({ "job": "stroke", "rows": Value::from(rows) }),
        text,
    })
}

/// The CT of `bench frame` with balls, a body, and a dose that falls from the middle.
fn case() -> anyhow::Result<(Case, Arc<Grid>)> {
    let ct = images()?;
    let grid = Arc::clone(ct.hu.grid());
    let mut structures: Vec<Structure> =
        (1..STRUCTURES).map(|number| ball(&grid, number)).collect();
    let outlines = grid.planes_mm().iter().map(|plane_mm| {
        let z = grid.origin_mm().z + plane_mm;
        let corners = (0..LARGE_CORNERS).map(|n| {
            let (sin, cos) = (TAU * n as f64 / LARGE_CORNERS as f64).sin_cos();
            DVec3::new(LARGE_MM[0] * cos, LARGE_MM[1] * sin, z)
        });
        Contour {
            points_mm: corners.collect(),
            image_uid: None,
        }
    });
    structures.push(Structure {
        contours: outlines.collect(),
        ..ball(&grid, STRUCTURES)
    });
    let size = [0, 1, 2].map(|axis| (SIZE[axis] as f64 * SPACING_MM[axis] / DOSE_MM) as usize);
    let to = Arc::new(Grid::axis_aligned(
        grid.origin_mm(),
        DVec3::splat(DOSE_MM),
        size,
    )?);
    let gy = (0..to.len()).map(|n| {
        let [i, j, k] = [n % size[0], n / size[0] % size[1], n / (size[0] * size[1])];
        (60.0 * (-to.centre_mm(i, j, k).length() / 120.0).exp()) as f32
    });
    let dose = Dose {
        gy: Arc::new(Volume::new(Arc::clone(&to), gy.collect())),
        status: DoseStatus::Imported,
        label: "stroke".to_owned(),
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats: Vec::new(),
        remarks: Vec::new(),
        part: None,
    };
    let case = Case {
        source: "bench stroke".to_owned(),
        ct: Some(Arc::new(ct)),
        structures: Arc::new(StructureSet {
            structures,
            ..StructureSet::default()
        }),
        doses: vec![Arc::new(dose)],
        ..Case::default()
    };
    Ok((case, grid))
}
