//! Two beams on a cube of water, quickly computed.

use beamsight::case::{Case, Contour, Plan, Rgb, Structure, StructureKind, StructureSet};
use beamsight::files::{mha, plan_toml, session};
use beamsight::geometry::{Grid, PatientPosition, Volume, sphere_contours};
use glam::DVec3;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Two beams on an isocentre at the origin.
pub const CROSS: &str = r#"
name = "Cross"
machine = "generic-6mv"
isocentre_mm = [0.0, 0.0, 0.0]
fractions = 5
[[beam]]
name = "AP"
gantry_deg = 0.0
mu = 100.0
jaws_mm = { x = [-20.0, 20.0], y = [-20.0, 20.0] }
[[beam]]
name = "Left"
gantry_deg = 90.0
mu = 80.0
jaws_mm = { x = [-20.0, 20.0], y = [-20.0, 20.0] }
"#;

/// Writes image and plan into a folder: `side` voxels of 2.5 mm a side, of which all within `half_mm` of the middle are water.
pub fn write_cross(folder: &Path, side: usize, half_mm: f64) -> [PathBuf; 2] {
    let first = DVec3::splat(-1.25 * (side as f64 - 1.0));
    let grid = Grid::axis_aligned(first, DVec3::splat(2.5), [side; 3]).expect("a grid");
    let water = |n: usize| {
        let p = grid.centre_mm(n % side, n / side % side, n / (side * side));
        if p.abs().max_element() < half_mm {
            0.0
        } else {
            -1000.0
        }
    };
    let hu: Vec<f32> = (0..grid.len()).map(water).collect();
    let [image, plan] = ["cube.mha", "plan.toml"].map(|name| folder.join(name));
    mha::write(&image, &Volume::new(Arc::new(grid), hu)).expect("an image");
    fs::write(&plan, CROSS).expect("a plan");
    [image, plan]
}

/// The same on a cube of 8 cm with a ball of 3 cm as PTV, as a session; the plan is normalised to the ball. Its dose is final, of few
/// voxels.
pub fn write_cross_session(folder: &Path) -> PathBuf {
    let [image, _] = write_cross(folder, 40, 40.0);
    let asked = "prescription_gy = 10.0\nnormalisation = { structure = \"PTV\", volume_percent = 95.0, dose_gy = 10.0 }\n[[beam]]";
    let plan = CROSS.replacen("[[beam]]", asked, 1);
    let plan =
        plan_toml::parse(&plan, &folder.join("plan.toml"), PatientPosition::Hfs).expect("a plan");
    write_ball_session(&folder.join("cross.json"), &image, 15.0, plan)
}

/// A session of an image beside it, with a ball about the origin as PTV and one plan.
pub fn write_ball_session(path: &Path, image: &Path, radius_mm: f64, plan: Plan) -> PathBuf {
    let ball = sphere_contours(
        mha::read(image).expect("an image").grid(),
        DVec3::ZERO,
        radius_mm,
    );
    let target = Structure {
        colour: Rgb([255, 82, 82]),
        contours: ball
            .into_iter()
            .map(|points_mm| Contour {
                points_mm,
                image_uid: None,
            })
            .collect(),
        ..Structure::new("PTV", 1, StructureKind::Ptv)
    };
    let case = Case {
        structures: Arc::new(StructureSet {
            structures: vec![target],
            ..StructureSet::default()
        }),
        plans: vec![Arc::new(plan)],
        ..Case::default()
    };
    let image = image
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    let saved = session::Session::new(
        &case,
        image,
        &StructureSet::default(),
        serde_json::Value::Null,
    );
    session::write(path, &saved).expect("a session");
    path.to_owned()
}
