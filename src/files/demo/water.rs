//! A 30 cm cube of water, its target 10 cm below the entrance surface of the first beam.

use super::{Canvas, Phantom, Roi, Solid};
use case::{Beam, Jaws, Plan, StructureKind};
use geometry::GridError;
use glam::DVec3;
use std::sync::Arc;

/// 10 cm deep, the isocentre at SSD 90 cm: a published reference condition.
const ISOCENTRE_MM: DVec3 = DVec3::new(0.0, -50.0, 0.0);

/// 140³ voxels of 2.5 mm: the faces of the cube lie between voxels, so every voxel is water or air.
pub fn phantom() -> Result<Phantom, GridError> {
    let mut canvas = Canvas::new([140, 140, 140], DVec3::splat(2.5))?;
    let cube = Arc::new(Solid::cuboid(DVec3::splat(-150.0), DVec3::splat(150.0)));
    canvas.paint(&cube, |_, _| 0.0);
    let target = Arc::new(Solid::ellipsoid(ISOCENTRE_MM, DVec3::splat(20.0)));
    Ok(Phantom {
        hu: canvas.finish(),
        description: "Water cube 30 cm",
        rois: vec![
            Roi {
                name: "BODY",
                kind: StructureKind::External,
                colour: [120, 190, 130],
                step_mm: 5.0,
                solid: cube,
            },
            Roi {
                name: "PTV",
                kind: StructureKind::Ptv,
                colour: [255, 82, 82],
                step_mm: 1.0,
                solid: target,
            },
        ],
    })
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
