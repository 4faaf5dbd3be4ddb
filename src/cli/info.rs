//! `beamsight info`: the content of a case and its remarks.

use super::words::CaseArgs;
use super::{Failure, VerbOutput};
use analysis::{beam_remarks, is_computed};
use case::{Case, Ct, Plan, Remark, Severity, Structure};
use dicom::{self, Catalogue};
use geometry::Mask;
use open::CaseWord;
use physics::Machine;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Uneven planes, tilt, gaps, duplicates, odd padding, missing attributes and files that cannot be \
read are listed with the files concerned, and the objects of a folder by patient, study and frame of reference with whom \
each of them names; a partner that is not there is named.\n\n\
Examples:\n  \
beamsight info demo:tg119\n  \
beamsight info ~/ct/patient-7\n  \
beamsight info ~/ct/patient-7 --series 2 --json"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,
}

/// # Errors
/// Errors of opening the case.
pub fn run(args: &Args) -> Result<VerbOutput, Failure> {
    // The whole content of a folder is listed, including files that are not opened. Files of a session or
    // demo are not listed.
    let catalogue = match &args.case.case {
        CaseWord::Dicom(path) if path.exists() => Some(dicom::scan(path, &|_| true)?),
        _ => None,
    };
    let case = args.case.open().inspect_err(|_| {
        // Which of several patients, sets or plans is meant is chosen from this.
        if let Some(catalogue) = catalogue
            .as_ref()
            .filter(|catalogue| catalogue.patients.len() > 1)
        {
            super::tell(&catalogue.tree().to_string());
        }
    })?;
    let volumes: Vec<Option<f64>> = case
        .structures
        .structures
        .iter()
        .map(|s| volume_cm3(&case, s))
        .collect();
    let remarks = remarks(&case);
    let json = json!({
        "case": case.source,
        "patient": case.patient,
        "found": catalogue,
        "tree": catalogue.as_ref().map(Catalogue::tree),
        "ct": case.ct.as_ref().map(|ct| ct_json(ct)),
        "structures": case.structures.structures.iter().zip(&volumes).map(|(s, v)| structure_json(s, *v)).collect::<Vec<_>>(),
        "plans": case.plans.iter().map(|p| &**p).collect::<Vec<_>>(),
        "doses": case.doses.iter().map(|d| json!({
            "label": d.label, "status": d.status, "max_gy": d.max_gy(), "size": d.gy.grid().size(),
        })).collect::<Vec<_>>(),
        "remarks": remarks,
    });
    Ok(VerbOutput {
        json,
        text: describe(&case, catalogue.as_ref(), &volumes, &remarks),
    })
}

fn volume_cm3(case: &Case, structure: &Structure) -> Option<f64> {
    let grid = case.ct.as_ref()?.hu.grid();
    let contours: Vec<&[glam::DVec3]> = structure
        .contours
        .iter()
        .map(|c| c.points_mm.as_slice())
        .collect();
    Mask::from_contours(grid, &contours, &|_| true)
        .ok()
        .map(|m| m.volume_cm3())
}

fn remarks(case: &Case) -> Vec<Remark> {
    let ct = case.ct.iter().flat_map(|ct| &ct.remarks);
    let plans = case.plans.iter().flat_map(|p| &p.remarks);
    let files = ct
        .chain(&case.structures.remarks)
        .chain(plans)
        .chain(&case.remarks)
        .cloned();
    files
        .chain(case.plans.iter().flat_map(|p| computed_otherwise(p)))
        .collect()
}

/// Differences between a plan's beams and their machines.
fn computed_otherwise(plan: &Plan) -> Vec<Remark> {
    let beams = plan.beams.iter().filter(|b| is_computed(b));
    let remarks = beams.flat_map(|beam| {
        let said =
            Machine::resolve(plan.machine_of(beam)).map(|machine| beam_remarks(beam, &machine));
        let said = said
            .unwrap_or_else(|error| vec![error.to_string()])
            .into_iter();
        let name = format!("plan '{}', beam '{}'", plan.name, beam.name);
        said.map(move |text| Remark::warning(format!("{name}: {text}"), Vec::new()))
            .collect::<Vec<_>>()
    });
    remarks.collect()
}

fn ct_json(ct: &Ct) -> Value {
    let grid = ct.hu.grid();
    let (low, high) = hu_range(ct);
    json!({
        "description": ct.description,
        "position": ct.position.code(),
        "size": grid.size(),
        "spacing_xy_mm": grid.spacing_xy_mm(),
        "plane_spacing_mm": grid.even_plane_spacing_mm(),
        "planes_mm": grid.planes_mm(),
        "origin_mm": grid.origin_mm().to_array(),
        "axes": grid.axes().map(|a| a.to_array()),
        "hu": [low, high],
        "series_uid": ct.series_uid,
        "study_uid": ct.study_uid,
        "frame_of_reference_uid": ct.frame_of_reference_uid,
    })
}

fn hu_range(ct: &Ct) -> (f32, f32) {
    ct.hu
        .data()
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| {
            (low.min(v), high.max(v))
        })
}

fn structure_json(s: &Structure, volume_cm3: Option<f64>) -> Value {
    json!({
        "name": s.name,
        "number": s.number,
        "kind": s.kind,
        "colour": s.colour,
        "contours": s.contours.len(),
        "points": s.points_mm.len(),
        "volume_cm3": volume_cm3,
    })
}

fn describe(
    case: &Case,
    catalogue: Option<&Catalogue>,
    volumes: &[Option<f64>],
    remarks: &[Remark],
) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_case(&mut out, case, catalogue, volumes, remarks);
    out
}

fn write_case(
    out: &mut String,
    case: &Case,
    catalogue: Option<&Catalogue>,
    volumes: &[Option<f64>],
    remarks: &[Remark],
) -> std::fmt::Result {
    writeln!(out, "{}", case.source)?;
    if !case.patient.name.is_empty() || !case.patient.id.is_empty() {
        writeln!(
            out,
            "Patient    {} ({})",
            case.patient.name, case.patient.id
        )?;
    }
    if let Some(folder) = catalogue {
        for (n, s) in folder.series.iter().enumerate() {
            let open = case
                .ct
                .as_ref()
                .is_some_and(|ct| ct.series_uid == s.uid && ct.description == s.description);
            let mark = if open { "(open)" } else { "" };
            writeln!(
                out,
                "Series {:<3} {} {} images {}x{} {} {mark}",
                n + 1,
                s.modality,
                s.planes,
                s.size[0],
                s.size[1],
                s.description
            )?;
        }
    }
    if let Some(folder) = catalogue {
        write!(out, "{}", folder.tree())?;
    }
    if let Some(ct) = &case.ct {
        let grid = ct.hu.grid();
        let [nx, ny, nz] = grid.size();
        let [dx, dy] = grid.spacing_xy_mm();
        let (low, high) = hu_range(ct);
        let planes = grid
            .even_plane_spacing_mm()
            .map_or("uneven".to_owned(), |dz| format!("{dz:.4}"));
        writeln!(
            out,
            "CT         {nx}x{ny}x{nz} voxels of {dx:.4} x {dy:.4} x {planes} mm, {}, HU {low} to {high}",
            ct.position
        )?;
    }
    for (s, volume) in case.structures.structures.iter().zip(volumes) {
        let volume = volume.map_or("-".to_owned(), |v| format!("{v:.2} cm3"));
        let [r, g, b] = s.colour.0;
        writeln!(
            out,
            "Structure  {:<20} {:<9} {volume:>14}  #{r:02x}{g:02x}{b:02x}",
            s.name,
            s.kind.code()
        )?;
    }
    for plan in &case.plans {
        let dose = plan
            .prescription_gy
            .map_or(String::new(), |gy| format!(", {gy} Gy"));
        writeln!(
            out,
            "Plan       {}: {} beams, {:.1} MU, {} fractions{dose}, {}",
            plan.name,
            plan.beams.len(),
            plan.mu(),
            plan.fractions,
            plan.machine
        )?;
    }
    for dose in &case.doses {
        writeln!(
            out,
            "Dose       {}: {} to {:.3} Gy",
            dose.label,
            dose.status,
            dose.max_gy()
        )?;
    }
    for remark in remarks {
        let word = match remark.severity {
            Severity::Note => "Note",
            Severity::Warning => "Warning",
        };
        writeln!(out, "{word:<10} {}{}", remark.message, few(&remark.files))?;
    }
    Ok(())
}

/// The first files by name, the rest by number; `--json` has them all.
fn few(files: &[String]) -> String {
    match files {
        [] => String::new(),
        [a, b, _, _, ..] => format!(" [{a}, {b} and {} more]", files.len() - 2),
        all => format!(" [{}]", all.join(", ")),
    }
}
