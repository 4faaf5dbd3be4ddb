//! A chest, arms up: body with skin, fat and muscle, ribs, spine with canal and cord, sternum, lungs with their
//! vessels, heart, aorta, trachea and bronchi, oesophagus, liver, and a tumour in the right lung. Built from smooth
//! solids; sizes describe an average adult (ICRP 110 gives the orders), not of any person.

mod anatomy;
mod chest;

use super::aperture::{RoundBeam, round_beam};
use super::noise::add_noise;
use super::shape::ramp;
use super::{Canvas, Phantom, Roi};
use anatomy as a;
use case::{Normalisation, Plan, StructureKind};
use geometry::GridError;
use glam::DVec3;
use std::sync::Arc;

/// 256 x 256 x 100 voxels of 2 x 2 x 3 mm.
pub fn phantom() -> Result<Phantom, GridError> {
    let mut canvas = Canvas::new([256, 256, 100], DVec3::new(2.0, 2.0, 3.0))?;
    let body = a::body();
    let (right, left) = (a::lung(a::Side::Right), a::lung(a::Side::Left));
    chest::paint_wall(&mut canvas, &body);
    chest::paint_bones(&mut canvas);
    chest::paint_middle(&mut canvas);
    chest::paint_lungs(&mut canvas, [&right, &left]);
    chest::paint_airways_and_tumour(&mut canvas);
    let [nx, ny, _] = canvas.grid.size();
    add_noise(&mut canvas.hu, [nx, ny], 2009, |hu| {
        if hu < -950.0 {
            6.0
        } else if hu < -300.0 {
            11.0
        } else {
            14.0
        }
    });

    let roi = |name, kind, colour, step_mm, solid| Roi {
        name,
        kind,
        colour,
        step_mm,
        solid: Arc::new(solid),
    };
    use StructureKind::{External, Gtv, Organ, Ptv};
    Ok(Phantom {
        hu: canvas.finish(),
        description: "Thorax phantom",
        rois: vec![
            roi("BODY", External, [120, 190, 130], 3.0, body),
            roi("PTV", Ptv, [255, 82, 82], 1.0, a::tumour(a::PTV_MARGIN_MM)),
            roi("GTV", Gtv, [255, 196, 61], 1.0, a::tumour(0.0)),
            roi("Lung_R", Organ, [88, 166, 255], 2.0, right),
            roi("Lung_L", Organ, [104, 120, 240], 2.0, left),
            roi("Heart", Organ, [214, 106, 160], 2.0, a::heart(0.0)),
            roi("SpinalCord", Organ, [255, 240, 120], 1.0, a::cord()),
            roi("Esophagus", Organ, [196, 146, 90], 1.0, a::oesophagus()),
            roi("Trachea", Organ, [120, 220, 220], 1.0, a::trachea(0.0)),
        ],
    })
}

/// Five fields from the tumour's side, shaped to the target with 6 mm for the penumbra.
pub fn plan() -> Plan {
    let mut plan = Plan::new("Right lung, 5 fields", "generic-6mv");
    plan.prescription_gy = Some(60.0);
    plan.fractions = 30;
    plan.normalisation = Some(Normalisation::to_named("PTV", 95.0, 57.0));
    let radius = a::TUMOUR_RADII_MM.max_element() + a::PTV_MARGIN_MM;
    let fields = [
        ("G180", 180.0),
        ("G220", 220.0),
        ("G265", 265.0),
        ("G310", 310.0),
        ("G000", 0.0),
    ];
    plan.beams = fields
        .into_iter()
        .zip(1..)
        .map(|((name, gantry_deg), number)| {
            round_beam(&RoundBeam {
                name,
                number,
                gantry_deg,
                centre_mm: a::TUMOUR_MM,
                radius_mm: radius,
                margin_mm: 6.0,
                isocentre_mm: a::TUMOUR_MM,
                mu: 60.0,
            })
        })
        .collect();
    plan
}

/// A blend between two values along a coordinate.
fn between(low: f32, high: f32, share: f64) -> f32 {
    low + (high - low) * ramp(share, 0.0, 1.0) as f32
}
