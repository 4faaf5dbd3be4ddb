//! Every written object is read back, and an export that reads back otherwise does not leave.

use super::{PlanDoses, Set};
use crate::densities::density_of_file;
use crate::write::data_set::shortened;
use crate::write::rtplan::SAME_ENERGY_MV;
use crate::{
    DoseBits, Registration, WriteError, read_dose, read_patient, read_plan, read_radiograph,
    read_registration, read_structures,
};
use case::{Beam, ControlPoint, Dose, Placement, Plan, Radiograph, StructureSet};
use geometry::{PatientPosition, Projection};
use glam::DVec3;
use std::path::Path;

/// # Errors
/// [`WriteError::Refused`], which names the object and its difference.
pub(super) fn check(set: &mut Set<'_>, doses: &[Option<PlanDoses>]) -> Result<(), WriteError> {
    let position = set.case.ct.as_ref().map(|ct| ct.position);
    let mut remarks = Vec::new();
    let mut plans = set.plans.iter();
    let mut all_doses = doses.iter().flatten().flat_map(|plan_doses| {
        plan_doses
            .dose
            .iter()
            .chain(plan_doses.beams.iter().map(|(_, dose)| dose))
    });
    let mut drrs = set.options.imaging.iter().flat_map(|imaging| &imaging.drrs);
    let names = set.options.anonymise.is_none();
    let mut patient = names.then(|| set.belonging.patient.clone());
    for file in &set.exported.files {
        let path = set.folder.join(&file.name);
        // A file that was not changed may spell its patient otherwise; those that are written do not.
        if !file.unchanged {
            let read = read_patient(&path).map_err(WriteError::Source)?;
            let written = patient.get_or_insert_with(|| read.clone());
            if [&read.name, &read.id] != [written.name.trim(), written.id.trim()] {
                return Err(WriteError::Refused(format!(
                    "{} ({}) would be read as of the patient {} and not of {}; nothing is exported",
                    file.what,
                    file.name,
                    read.in_words(),
                    written.in_words()
                )));
            }
        }
        let difference = match &file.name[..2] {
            "RS" => structures(&path, &set.case.structures, names, &mut remarks)?,
            "RP" => match plans.next() {
                Some(written) => plan(&path, written, position, names, &mut remarks)?,
                None => None,
            },
            "RD" => match all_doses.next() {
                Some(written) => dose(&path, written, set.options.bits)?,
                None => None,
            },
            "RE" => set
                .options
                .imaging
                .as_ref()
                .and_then(|imaging| registration(&path, &imaging.registration).transpose())
                .transpose()?,
            "RI" => match drrs.next().filter(|_| file.name.starts_with("RI-drr")) {
                Some(written) => radiograph(&path, written)?,
                None => None,
            },
            _ => None,
        };
        if let Some(why) = difference {
            return Err(WriteError::Refused(format!(
                "{} ({}) would be read otherwise than it is here: {why}; nothing is exported",
                file.what, file.name
            )));
        }
    }
    set.exported.remarks.extend(remarks);
    Ok(())
}

fn structures(
    path: &Path,
    written: &StructureSet,
    names: bool,
    remarks: &mut Vec<String>,
) -> Result<Option<String>, WriteError> {
    let read = read_structures(path).map_err(WriteError::Source)?;
    for structure in &written.structures {
        let name = &structure.name;
        let Some(back) = read.by_number(structure.number) else {
            return Ok(Some(format!("structure '{name}' is missing")));
        };
        if names && !is_same_name(name, &back.name) {
            return Ok(Some(format!(
                "structure '{name}' is called '{}'",
                back.name
            )));
        }
        let points_read = back.contours.iter().map(|contour| &contour.points_mm);
        let points_written = structure.contours.iter().map(|contour| &contour.points_mm);
        if points_read.ne(points_written) || back.points_mm != structure.points_mm {
            return Ok(Some(format!("structure '{name}' has other contours")));
        }
        if density_of_file(back) != density_of_file(structure) {
            return Ok(Some(format!(
                "structure '{name}' has another density for dose"
            )));
        }
        if back.kind != structure.kind {
            let (type_read, was) = (back.kind.name(), structure.kind.name());
            remarks.push(format!(
                "structure '{name}' of the type {was} is read as {type_read}: DICOM has no word for it"
            ));
        }
    }
    let more = read
        .structures
        .len()
        .saturating_sub(written.structures.len());
    Ok((more > 0).then(|| format!("it has {more} more structure(s)")))
}

fn plan(
    path: &Path,
    written: &Plan,
    position: Option<PatientPosition>,
    names: bool,
    remarks: &mut Vec<String>,
) -> Result<Option<String>, WriteError> {
    let read = read_plan(path, position).map_err(WriteError::Source)?;
    if names && !is_same_name(&written.name, &read.name) {
        return Ok(Some(format!("its name ('{}')", read.name)));
    }
    if (read.fractions, read.position) != (written.fractions, written.position) {
        return Ok(Some("fractions or position of the patient".to_owned()));
    }
    if read.prescription_gy != written.prescription_gy {
        return Ok(Some(format!(
            "the prescription ({:?} Gy)",
            read.prescription_gy
        )));
    }
    for beam in beams_switched_on(written) {
        let Some(back) = read.beams.iter().find(|back| back.number == beam.number) else {
            return Ok(Some(format!("beam '{}' is missing", beam.name)));
        };
        if names && !is_same_name(&beam.name, &back.name) {
            return Ok(Some(format!(
                "beam '{}' is called '{}'",
                beam.name, back.name
            )));
        }
        if let Some(what) = difference(beam, back) {
            return Ok(Some(format!("beam '{}': {what}", beam.name)));
        }
        let (machine, other) = (written.machine_of(beam), read.machine_of(back));
        if beam.read_only.is_none() && machine != other {
            remarks.push(format!(
                "beam '{}' is computed with {machine} here; opened again, it is computed with {other}: choose the machine there",
                beam.name
            ));
        }
    }
    let treated = read
        .beams
        .iter()
        .filter(|beam| beam.is_switched_on())
        .count();
    Ok((treated != beams_switched_on(written).count())
        .then(|| format!("it has {treated} beams that are delivered")))
}

fn beams_switched_on(written: &Plan) -> impl Iterator<Item = &Beam> {
    written.beams.iter().filter(|beam| beam.is_switched_on())
}

/// Whether a name is read as it was written, as far as its attribute holds it. A name that was left empty is one of the
/// reader's.
fn is_same_name(written: &str, read: &str) -> bool {
    let kept = shortened(written, 64);
    kept.trim().is_empty() || kept.trim() == shortened(read, 64).trim()
}

/// The first parameter in which a beam that was read back differs.
fn difference(written: &Beam, read: &Beam) -> Option<String> {
    if written.read_only.is_none()
        && let Some(why) = &read.read_only
    {
        return Some(why.clone());
    }
    // The file states the machine's energy, from which a plan's may differ by less than this.
    let energy = written
        .energy_mv
        .zip(read.energy_mv)
        .is_none_or(|(a, b)| (a - b).abs() <= SAME_ENERGY_MV);
    let checks = [
        (written.mu == read.mu, "its monitor units"),
        (written.isocentre_mm == read.isocentre_mm, "its isocentre"),
        (written.mlc == read.mlc, "its leaves"),
        (
            written.radiation == read.radiation && energy,
            "its radiation",
        ),
        (
            settled(&written.control_points) == settled(&read.control_points),
            "its control points",
        ),
    ];
    checks
        .into_iter()
        .find(|(same, _)| !same)
        .map(|(_, what)| what.to_owned())
}

/// The control points as a reader settles them: a beam in which nothing moves has one.
fn settled(points: &[ControlPoint]) -> Vec<ControlPoint> {
    match points {
        [first, others @ ..]
            if others
                .iter()
                .all(|point| unweighted(point) == unweighted(first)) =>
        {
            vec![unweighted(first)]
        }
        _ => points.to_vec(),
    }
}

fn unweighted(point: &ControlPoint) -> ControlPoint {
    ControlPoint {
        meterset_weight: 1.0,
        ..point.clone()
    }
}

/// Stored values are within half a step of the scaling, and within the rounding of 32-bit numbers.
fn dose(path: &Path, written: &Dose, bits: DoseBits) -> Result<Option<String>, WriteError> {
    let (read, _) = read_dose(path).map_err(WriteError::Source)?;
    let (grid, back) = (written.gy.grid(), read.gy.grid());
    let near = grid
        .corners_mm()
        .iter()
        .zip(back.corners_mm())
        .all(|(a, b)| (*a - b).length() < 1e-6);
    if grid.size() != back.size() || !near {
        return Ok(Some("its grid".to_owned()));
    }
    let greatest_gy = f64::from(written.max_gy());
    let tolerance = 0.51 * greatest_gy / bits.largest() + greatest_gy * f64::from(f32::EPSILON);
    let worst = written
        .gy
        .data()
        .iter()
        .zip(read.gy.data())
        .map(|(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).abs())
        .fold(0.0, f64::max);
    Ok((worst > tolerance).then(|| format!("values by up to {worst} Gy")))
}

/// The decimal strings of a matrix have ten digits.
fn registration(path: &Path, written: &Registration) -> Result<Option<String>, WriteError> {
    let read = read_registration(path).map_err(WriteError::Source)?;
    Ok((!read.matrix.abs_diff_eq(written.matrix, 1e-6)).then(|| "its matrix".to_owned()))
}

/// Rays and values. A picture in the plane of the isocentre is read as a farther one of the same rays.
fn radiograph(path: &Path, written: &Radiograph) -> Result<Option<String>, WriteError> {
    let (read, _) = read_radiograph(path, &Placement::default()).map_err(WriteError::Source)?;
    let (a, b) = (&written.projection, &read.projection);
    if [a.columns(), a.rows()] != [b.columns(), b.rows()] {
        return Ok(Some("its size".to_owned()));
    }
    let corners = [[0, 0], [a.columns() - 1, 0], [0, a.rows() - 1]];
    if (a.source_mm() - b.source_mm()).length() > 1e-6
        || !corners.into_iter().all(|corner: [usize; 2]| {
            (ray_through(a, corner) - ray_through(b, corner)).length() < 1e-9
        })
    {
        return Ok(Some("its geometry".to_owned()));
    }
    if read.meaning != written.meaning {
        return Ok(Some("what its values mean".to_owned()));
    }
    let [low, high] = value_range(&written.values).map(f64::from);
    let tolerance =
        0.51 * (high - low) / 65_535.0 + low.abs().max(high.abs()) * f64::from(f32::EPSILON);
    let worst = written
        .values
        .iter()
        .zip(read.values.iter())
        .map(|(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).abs())
        .fold(0.0, f64::max);
    Ok((worst > tolerance).then(|| format!("values by up to {worst}")))
}

fn ray_through(p: &Projection, [column, row]: [usize; 2]) -> DVec3 {
    (p.pixel_mm(column as f64, row as f64) - p.source_mm()).normalize()
}

fn value_range(values: &[f32]) -> [f32; 2] {
    values
        .iter()
        .fold([f32::INFINITY, f32::NEG_INFINITY], |[l, h], v| {
            [l.min(*v), h.max(*v)]
        })
}
