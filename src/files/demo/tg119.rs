//! The C-shape test of AAPM Task Group 119 (Ezzell et al., Med. Phys. 36:5359, 2009, "IMRT commissioning"): a core
//! cylinder of 1.0 cm radius, 10 cm long; the target bent round it from 1.5 cm (0.5 cm of gap) to 3.7 cm, 8 cm long; an
//! oval body of 32 x 24 cm and an opening of 120 degrees towards the back.
//!
//! The dimensions are assumed. A plan of that test (RP.TG119.CS_TB_2A_1 of the test data) agrees: leaf pairs
//! within 10 mm of the axis close half of the time, others open to 50 mm sideways and 43 mm along z with
//! margins.

use super::aperture::millennium_120;
use super::shape::{slab, superellipse};
use super::{Canvas, Phantom, Roi, Solid};
use case::{Beam, ControlPoint, Jaws, Mlc, MlcAxis, Normalisation, Plan, StructureKind};
use geometry::GridError;
use glam::DVec3;
use std::sync::Arc;

const INNER_MM: f64 = 15.0;
const OUTER_MM: f64 = 37.0;
const OPENING_DEG: f64 = 120.0;

/// 180 x 140 x 80 voxels of 2 x 2 x 2.5 mm, the core on the z axis.
pub fn phantom() -> Result<Phantom, GridError> {
    let mut canvas = Canvas::new([180, 140, 80], DVec3::new(2.0, 2.0, 2.5))?;
    let body = Solid::new(
        DVec3::new(-160.0, -120.0, -101.0),
        DVec3::new(160.0, 120.0, 101.0),
        |p| superellipse(p.x, p.y, [160.0, 120.0], 2.6),
    );
    let core = Solid::cylinder([0.0, 0.0], 10.0, [-50.0, 50.0]);
    let target = Solid::new(
        DVec3::new(-OUTER_MM, -OUTER_MM, -40.0),
        DVec3::new(OUTER_MM, OUTER_MM, 40.0),
        c_shape,
    );
    canvas.paint(&body, |_, _| 0.0);
    let roi = |name, kind, colour, step_mm, solid| Roi {
        name,
        kind,
        colour,
        step_mm,
        solid: Arc::new(solid),
    };
    Ok(Phantom {
        hu: canvas.finish(),
        description: "AAPM TG-119 C-shape",
        rois: vec![
            roi("BODY", StructureKind::External, [120, 190, 130], 2.5, body),
            roi("PTV", StructureKind::Ptv, [255, 82, 82], 1.0, target),
            roi("Core", StructureKind::Organ, [255, 196, 61], 1.0, core),
        ],
    })
}

/// Signed distance to the target: to the nearest of its round, flat and end faces.
fn c_shape(p: DVec3) -> f64 {
    let r = p.x.hypot(p.y);
    // The opening is a wedge about +y (the back): beyond its faces, which pass through the axis.
    let half = (OPENING_DEG / 2.0).to_radians();
    let wedge = p.y * half.sin() - p.x.abs() * half.cos();
    (r - OUTER_MM)
        .max(INNER_MM - r)
        .max(wedge)
        .max(slab(p.z, [-40.0, 40.0]))
}

/// Nine equal fields 40 degrees apart, each of two segments that spare the core to either side: a starting
/// point, not an optimised plan. Goals of the report (easier version): 5000 cGy to 95 % of the target.
pub fn plan() -> Plan {
    let mut plan = Plan::new("C-shape 9 fields", "generic-6mv");
    plan.prescription_gy = Some(50.0);
    plan.fractions = 25;
    plan.normalisation = Some(Normalisation::to_named("PTV", 95.0, 50.0));
    plan.beams = (0..9u32)
        .map(|n| field(n + 1, f64::from(n) * 40.0))
        .collect();
    plan
}

fn field(number: u32, gantry_deg: f64) -> Beam {
    let boundaries_mm = millennium_120();
    let jaws = Jaws {
        x: [-42.0, 42.0],
        y: [-45.0, 45.0],
    };
    // One segment on either side of the core (radius 10 mm, 2 mm of margin), then the other.
    let segment = |open: [f64; 2], meterset_weight: f64| ControlPoint {
        meterset_weight,
        gantry_deg,
        collimator_deg: 0.0,
        couch_deg: 0.0,
        jaws,
        leaves_mm: boundaries_mm
            .windows(2)
            .map(|s| {
                if s[1] > -45.0 && s[0] < 45.0 {
                    open
                } else {
                    [-52.0, -52.0]
                }
            })
            .collect(),
    };
    let (left, right) = ([-41.0, -12.0], [12.0, 41.0]);
    let control_points = vec![
        segment(left, 0.0),
        segment(left, 0.5),
        segment(right, 0.5),
        segment(right, 1.0),
    ];
    Beam {
        mlc: Some(Mlc {
            axis: MlcAxis::X,
            boundaries_mm: boundaries_mm.clone(),
        }),
        control_points,
        ..Beam::fixed(
            &format!("G{gantry_deg:03}"),
            number,
            gantry_deg,
            DVec3::ZERO,
            jaws,
            60.0,
        )
    }
}
