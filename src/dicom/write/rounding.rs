//! A plan and structures as files hold them: numbers of at most 16 characters. An export is computed with these, so
//! that what is read back from it has the same dose to the last bit.

use super::data_set::decimal;
use case::{
    Beam, Contour, Contours, ControlPoint, Density, DensityOverride, Plan, Structure, StructureSet,
};
use glam::DVec3;

/// The number that its decimal string is read as.
fn held(value: f64) -> f64 {
    if value.is_finite() {
        decimal(value).parse().unwrap_or(value)
    } else {
        value
    }
}

fn held_point(point: DVec3) -> DVec3 {
    DVec3::from(point.to_array().map(held))
}

/// The plan as a file holds it.
pub fn plan_as_written(plan: &Plan) -> Plan {
    Plan {
        prescription_gy: plan.prescription_gy.map(held),
        beams: plan.beams.iter().map(beam).collect(),
        ..plan.clone()
    }
}

fn beam(beam: &Beam) -> Beam {
    let mut held_beam = Beam {
        mu: held(beam.mu),
        isocentre_mm: held_point(beam.isocentre_mm),
        control_points: beam.control_points.iter().map(control_point).collect(),
        ..beam.clone()
    };
    if let Some(mlc) = &mut held_beam.mlc {
        mlc.boundaries_mm.iter_mut().for_each(|mm| *mm = held(*mm));
    }
    held_beam
}

fn control_point(point: &ControlPoint) -> ControlPoint {
    let mut point = ControlPoint {
        meterset_weight: held(point.meterset_weight),
        gantry_deg: held(point.gantry_deg),
        collimator_deg: held(point.collimator_deg),
        couch_deg: held(point.couch_deg),
        ..point.clone()
    };
    point.jaws.x = point.jaws.x.map(held);
    point.jaws.y = point.jaws.y.map(held);
    point
        .leaves_mm
        .iter_mut()
        .for_each(|pair| *pair = pair.map(held));
    point
}

/// The structures as a file holds them; those that it holds as they are keep their contours' identity.
pub fn structures_as_written(set: &StructureSet) -> StructureSet {
    StructureSet {
        structures: set.structures.iter().map(structure).collect(),
        ..set.clone()
    }
}

fn structure(structure: &Structure) -> Structure {
    let contours: Contours = structure
        .contours
        .iter()
        .map(|contour| Contour {
            points_mm: contour.points_mm.iter().copied().map(held_point).collect(),
            image_uid: contour.image_uid.clone(),
        })
        .collect();
    let contours = if contours == structure.contours {
        structure.contours.clone()
    } else {
        contours
    };
    Structure {
        contours,
        points_mm: structure
            .points_mm
            .iter()
            .copied()
            .map(held_point)
            .collect(),
        density: structure.density.map(density),
        ..structure.clone()
    }
}

fn density(density_override: DensityOverride) -> DensityOverride {
    let density = match density_override.density {
        Density::MassGCm3(value) => Density::MassGCm3(held(value)),
        Density::RelativeElectrons(value) => Density::RelativeElectrons(held(value)),
        Density::AsScanned => Density::AsScanned,
    };
    DensityOverride {
        density,
        ..density_override
    }
}
