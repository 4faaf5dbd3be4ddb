//! Layers across the beam: water 5 cm, bone 2 cm, water 3 cm, lung 10 cm, water 10 cm.

use super::{Canvas, Phantom, Roi, Solid};
use case::{Beam, Jaws, Plan, StructureKind};
use geometry::GridError;
use glam::DVec3;
use std::sync::Arc;

const BONE_HU: f32 = 1000.0;
const LUNG_HU: f32 = -750.0;

/// In the middle of the lung: this phantom shows the low dose in front of the rebuild.
const ISOCENTRE_MM: DVec3 = DVec3::ZERO;

/// 30 x 30 x 30 cm; the surface is at y = -150 mm. Voxels 2.5 mm, layer faces between voxels.
pub fn phantom() -> Result<Phantom, GridError> {
    let mut canvas = Canvas::new([140, 140, 140], DVec3::splat(2.5))?;
    let (body, bone, lung) = (
        layer_at_depths([0.0, 300.0]),
        layer_at_depths([50.0, 70.0]),
        layer_at_depths([100.0, 200.0]),
    );
    canvas.paint(&body, |_, _| 0.0);
    canvas.paint(&bone, |_, _| BONE_HU);
    canvas.paint(&lung, |_, _| LUNG_HU);
    let target = Arc::new(Solid::ellipsoid(ISOCENTRE_MM, DVec3::splat(20.0)));
    let roi = |name, kind, colour, step_mm, solid| Roi {
        name,
        kind,
        colour,
        step_mm,
        solid,
    };
    Ok(Phantom {
        hu: canvas.finish(),
        description: "Water, bone and lung slabs",
        rois: vec![
            roi("BODY", StructureKind::External, [120, 190, 130], 5.0, body),
            roi("PTV", StructureKind::Ptv, [255, 82, 82], 1.0, target),
            roi("BONE", StructureKind::Organ, [235, 220, 170], 5.0, bone),
            roi("LUNG", StructureKind::Organ, [88, 166, 255], 5.0, lung),
        ],
    })
}

fn layer_at_depths(depth: [f64; 2]) -> Arc<Solid> {
    Arc::new(Solid::cuboid(
        DVec3::new(-150.0, depth[0] - 150.0, -150.0),
        DVec3::new(150.0, depth[1] - 150.0, 150.0),
    ))
}

/// One field from the front.
pub fn plan() -> Plan {
    let mut plan = Plan::new("10x10 AP", "generic-6mv");
    plan.prescription_gy = Some(2.0);
    plan.beams = vec![Beam::fixed(
        "AP",
        1,
        0.0,
        ISOCENTRE_MM,
        Jaws::symmetric(100.0, 100.0),
        250.0,
    )];
    plan
}
