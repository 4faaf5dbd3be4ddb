//! A plan as a text file: `plan.toml`. Every field is documented in `assets/plans/README.md`.

use crate::case::{
    Bank, Beam, ControlPoint, Jaws, Mlc, Normalisation, NormalisedAt, NormalisedDose, Plan, Radiation,
    check_leaf_boundaries,
};
use crate::files::replace_file;
use crate::geometry::PatientPosition;
use crate::input::{PLAN_BYTES, beginning, read_text};
use glam::DVec3;
use serde::Deserialize;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::Spanned;

/// Why a plan file could not be read or written.
#[derive(Debug, Error)]
pub enum PlanError {
    #[error("cannot read the plan '{path}': {source}")]
    Read { path: PathBuf, source: io::Error },
    /// Not TOML, or a key that is unknown, missing or of the wrong type; the message shows the line.
    #[error(
        "the plan '{path}' is not understood: {message}\nThe fields of a plan are listed in assets/plans/README.md"
    )]
    Toml { path: PathBuf, message: String },
    /// Well-formed, but an impossible plan.
    #[error("the plan '{path}', line {line}: {problem}")]
    Value { path: PathBuf, line: usize, problem: String },
    #[error("cannot write the plan '{path}': {source}; choose a folder you may write to with --out")]
    Write { path: PathBuf, source: io::Error },
    #[error("beam \"{beam}\" cannot be written to a plan.toml: {why}")]
    Unwritable { beam: String, why: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    name: String,
    machine: String,
    position: Option<PatientPosition>,
    isocentre_mm: Option<[f64; 3]>,
    prescription_gy: Option<f64>,
    fractions: Option<u32>,
    normalisation: Option<Normalisation>,
    mlc: Option<Mlc>,
    #[serde(default)]
    beam: Vec<Spanned<BeamFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BeamFile {
    name: String,
    number: Option<u32>,
    machine: Option<String>,
    energy_mv: Option<f64>,
    #[serde(default)]
    unflattened: bool,
    #[serde(default)]
    off: bool,
    source_axis_mm: Option<f64>,
    #[serde(default)]
    not_modelled: Vec<String>,
    #[serde(default)]
    without_boluses: Vec<String>,
    isocentre_mm: Option<[f64; 3]>,
    gantry_deg: f64,
    #[serde(default)]
    collimator_deg: f64,
    #[serde(default)]
    couch_deg: f64,
    mu: f64,
    jaws_mm: Jaws,
    mlc: Option<Mlc>,
    #[serde(default)]
    leaves_mm: Vec<Bank>,
    #[serde(default)]
    control_point: Vec<ControlPointFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlPointFile {
    meterset_weight: f64,
    gantry_deg: Option<f64>,
    collimator_deg: Option<f64>,
    couch_deg: Option<f64>,
    jaws_mm: Option<Jaws>,
    leaves_mm: Option<Vec<Bank>>,
}

/// Reads a plan; one without a patient position gets `position` (that of its CT).
///
/// # Errors
/// [`PlanError`] with the file, the line and the problem.
pub fn read(path: &Path, position: PatientPosition) -> Result<Plan, PlanError> {
    let text =
        read_text(path, PLAN_BYTES).map_err(|source| PlanError::Read { path: path.to_owned(), source })?;
    let mut plan = parse(&text, path, position)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    plan.machine = beside(plan.machine, folder);
    for beam in &mut plan.beams {
        beam.machine = beam.machine.take().map(|m| beside(m, folder));
    }
    Ok(plan)
}

/// A relative path of a machine file is first resolved beside the plan.
fn beside(machine: String, folder: &Path) -> String {
    let path = folder.join(&machine);
    if machine.ends_with(".toml") && path.is_file() { path.display().to_string() } else { machine }
}

/// As [`read`], from text; `path` is only used in errors.
///
/// # Errors
/// [`PlanError`].
pub fn parse(text: &str, path: &Path, position: PatientPosition) -> Result<Plan, PlanError> {
    let file: PlanFile = toml::from_str(text).map_err(|e| PlanError::Toml {
        path: path.to_owned(),
        message: beginning(e.to_string().trim_end()),
    })?;
    let fault = |at: usize, problem: String| PlanError::Value {
        path: path.to_owned(),
        line: 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count(),
        problem,
    };
    let mut plan = Plan::new(&file.name, &file.machine);
    plan.position = file.position.unwrap_or(position);
    plan.prescription_gy = file.prescription_gy;
    plan.fractions = file.fractions.unwrap_or(1);
    plan.normalisation = file.normalisation;
    check_plan(&plan).map_err(|problem| fault(0, problem))?;
    if file.beam.is_empty() {
        return Err(fault(0, "the plan has no beam; add a [[beam]] table".to_owned()));
    }
    for (n, beam) in file.beam.into_iter().enumerate() {
        let (span, beam) = (beam.span(), beam.into_inner());
        let name = beam.name.clone();
        let read = beam_from(beam, n as u32 + 1, file.isocentre_mm, file.mlc.as_ref())
            .and_then(|beam| match plan.beams.iter().any(|b| b.number == beam.number) {
                true => Err(format!("its number {} is taken by an earlier beam", beam.number)),
                false => Ok(beam),
            })
            .map_err(|problem| fault(span.start, format!("beam \"{name}\": {problem}")))?;
        plan.beams.push(read);
    }
    Ok(plan)
}

fn check_plan(plan: &Plan) -> Result<(), String> {
    let positive = |what: &str, value: f64| match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(format!("{what} = {value} must be a positive number")),
    };
    if plan.machine.trim().is_empty() {
        return Err("machine is empty; name a shipped machine (generic-6mv) or a machine file".to_owned());
    }
    if let Some(dose) = plan.prescription_gy {
        positive("prescription_gy", dose)?;
    }
    if plan.fractions == 0 {
        return Err("fractions = 0 must be 1 or more".to_owned());
    }
    if let Some(n) = &plan.normalisation {
        n.check().map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn beam_from(
    file: BeamFile,
    number: u32,
    plan_isocentre: Option<[f64; 3]>,
    plan_mlc: Option<&Mlc>,
) -> Result<Beam, String> {
    let isocentre = file
        .isocentre_mm
        .or(plan_isocentre)
        .ok_or("no isocentre; give isocentre_mm = [x, y, z] (patient LPS) for the plan or for the beam")?;
    // A plan's leaves apply to the beams that set them; a beam without leaf positions is open between the
    // jaws.
    let sets_leaves = !file.leaves_mm.is_empty() || file.control_point.iter().any(|p| p.leaves_mm.is_some());
    let mlc = file.mlc.or_else(|| plan_mlc.filter(|_| sets_leaves).cloned());
    let first = ControlPoint {
        meterset_weight: 1.0,
        gantry_deg: angle(file.gantry_deg),
        collimator_deg: angle(file.collimator_deg),
        couch_deg: angle(file.couch_deg),
        jaws: file.jaws_mm,
        leaves_mm: file.leaves_mm,
    };
    let mut control_points: Vec<ControlPoint> = Vec::new();
    for point in file.control_point {
        let before = control_points.last().unwrap_or(&first);
        control_points.push(ControlPoint {
            meterset_weight: point.meterset_weight,
            gantry_deg: point.gantry_deg.map_or(before.gantry_deg, angle),
            collimator_deg: point.collimator_deg.map_or(before.collimator_deg, angle),
            couch_deg: point.couch_deg.map_or(before.couch_deg, angle),
            jaws: point.jaws_mm.unwrap_or(before.jaws),
            leaves_mm: point.leaves_mm.unwrap_or_else(|| before.leaves_mm.clone()),
        });
    }
    if control_points.is_empty() {
        control_points.push(first);
    }
    let beam = Beam {
        name: file.name,
        number: file.number.unwrap_or(number),
        machine: file.machine,
        radiation: Radiation::Photon,
        energy_mv: file.energy_mv,
        unflattened: file.unflattened,
        source_axis_mm: file.source_axis_mm,
        mu: file.mu,
        isocentre_mm: DVec3::from(isocentre),
        mlc,
        control_points,
        read_only: None,
        not_modelled: file.not_modelled,
        without_boluses: file.without_boluses,
        setup: false,
        off: file.off,
    };
    check_beam(&beam)?;
    Ok(beam)
}

/// Degrees normalised to 0 to 360, as machines display them; NaN remains and is refused by the check.
fn angle(deg: f64) -> f64 {
    if (0.0..360.0).contains(&deg) { deg } else { deg.rem_euclid(360.0) }
}

fn check_beam(beam: &Beam) -> Result<(), String> {
    if !(beam.mu.is_finite() && beam.mu >= 0.0) {
        return Err(format!("mu = {} must be a number of monitor units, 0 or more", beam.mu));
    }
    if !beam.isocentre_mm.is_finite() {
        return Err("isocentre_mm holds something that is not a finite number".to_owned());
    }
    if let Some(mv) = beam.energy_mv.filter(|mv| !(mv.is_finite() && *mv > 0.0)) {
        return Err(format!("energy_mv = {mv} must be a positive number"));
    }
    if let Some(mm) = beam.source_axis_mm.filter(|mm| !(mm.is_finite() && *mm > 0.0)) {
        return Err(format!("source_axis_mm = {mm} must be a positive number"));
    }
    if let Some(mlc) = &beam.mlc {
        check_leaf_boundaries(&mlc.boundaries_mm).map_err(|why| format!("mlc.boundaries_mm: {why}"))?;
    }
    let several = beam.control_points.len() > 1;
    for (n, point) in beam.control_points.iter().enumerate() {
        let of = |problem: String| if several { format!("control point {n}: {problem}") } else { problem };
        check_point(point, beam.mlc.as_ref()).map_err(of)?;
    }
    check_weights(&beam.control_points)
}

fn check_point(point: &ControlPoint, mlc: Option<&Mlc>) -> Result<(), String> {
    for (what, deg) in [
        ("gantry_deg", point.gantry_deg),
        ("collimator_deg", point.collimator_deg),
        ("couch_deg", point.couch_deg),
    ] {
        if !deg.is_finite() {
            return Err(format!("{what} is not a finite number"));
        }
    }
    for (axis, [low, high]) in [("x", point.jaws.x), ("y", point.jaws.y)] {
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Err(format!(
                "jaws_mm.{axis} = [{low}, {high}] does not open; give the negative jaw first, mm at the isocentre plane"
            ));
        }
        // The widest fields of any machine are 400 mm.
        if low < -400.0 || high > 400.0 {
            return Err(format!(
                "jaws_mm.{axis} = [{low}, {high}] is wider than any machine opens; lengths are mm"
            ));
        }
    }
    let pairs = mlc.map_or(0, |m| m.boundaries_mm.len() - 1);
    if point.leaves_mm.len() != pairs {
        return Err(match mlc {
            None => {
                "leaves_mm is given but no mlc; add mlc = { axis = \"x\", boundaries_mm = [...] }".to_owned()
            }
            Some(_) => format!("leaves_mm has {} pairs, the mlc has {pairs}", point.leaves_mm.len()),
        });
    }
    for (n, [low, high]) in point.leaves_mm.iter().enumerate() {
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(format!("leaf pair {n} at [{low}, {high}] overlaps; give the negative bank first"));
        }
    }
    Ok(())
}

fn check_weights(points: &[ControlPoint]) -> Result<(), String> {
    let [first, .., last] = points else {
        return match points {
            [only] if only.meterset_weight == 1.0 => Ok(()),
            _ => Err("one control point does not make a beam: give two or more, or none".to_owned()),
        };
    };
    if points.iter().any(|p| !p.meterset_weight.is_finite()) {
        return Err("meterset_weight is not a finite number".to_owned());
    }
    if first.meterset_weight != 0.0 || last.meterset_weight != 1.0 {
        return Err("meterset_weight must run from 0 at the first control point to 1 at the last".to_owned());
    }
    match points.windows(2).position(|w| w[1].meterset_weight < w[0].meterset_weight) {
        Some(n) => Err(format!("meterset_weight falls at control point {}", n + 1)),
        None => Ok(()),
    }
}

/// Writes a plan such that [`read`] returns it (without remarks and UID).
///
/// # Errors
/// [`PlanError::Unwritable`] for beams other than photons, [`PlanError::Write`] from the file system.
pub fn write(path: &Path, plan: &Plan) -> Result<(), PlanError> {
    let text = to_text(plan)?;
    replace_file(path, |out| out.write_all(text.as_bytes()))
        .map_err(|source| PlanError::Write { path: path.to_owned(), source })
}

/// The text of [`write()`].
///
/// # Errors
/// [`PlanError::Unwritable`].
pub fn to_text(plan: &Plan) -> Result<String, PlanError> {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = plan_text(&mut text, plan);
    for beam in &plan.beams {
        let why = match (&beam.read_only, beam.radiation, check_beam(beam)) {
            (Some(why), ..) => Some(why.clone()),
            (None, Radiation::Photon, Ok(())) => None,
            (None, Radiation::Photon, Err(problem)) => Some(problem),
            (None, ..) => Some("it is not a photon beam".to_owned()),
        };
        if let Some(why) = why {
            return Err(PlanError::Unwritable { beam: beam.name.clone(), why });
        }
        let _ = beam_text(&mut text, beam);
    }
    Ok(text)
}

fn plan_text(out: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(out, "name = {}", quoted(&plan.name))?;
    writeln!(out, "machine = {}", quoted(&plan.machine))?;
    writeln!(out, "position = \"{}\"", plan.position)?;
    if let Some(dose) = plan.prescription_gy {
        writeln!(out, "prescription_gy = {dose:?}")?;
    }
    writeln!(out, "fractions = {}", plan.fractions)?;
    if let Some(n) = &plan.normalisation {
        let at = match &n.at {
            NormalisedAt::Volume { structure, volume_percent, .. } => {
                format!("structure = {}, volume_percent = {volume_percent:?}", quoted(structure))
            }
            NormalisedAt::Point(mm) => format!("point_mm = {:?}", mm.to_array()),
            NormalisedAt::Maximum => "maximum = true".to_owned(),
        };
        let dose = match n.dose {
            NormalisedDose::Gy(gy) => format!("dose_gy = {gy:?}"),
            NormalisedDose::Percent(percent) => format!("dose_percent = {percent:?}"),
        };
        writeln!(out, "normalisation = {{ {at}, {dose} }}")?;
    }
    Ok(())
}

fn beam_text(out: &mut String, beam: &Beam) -> std::fmt::Result {
    let Some(start) = beam.start() else { return Ok(()) };
    writeln!(out, "\n[[beam]]\nname = {}\nnumber = {}", quoted(&beam.name), beam.number)?;
    if let Some(machine) = &beam.machine {
        writeln!(out, "machine = {}", quoted(machine))?;
    }
    if let Some(mv) = beam.energy_mv {
        writeln!(out, "energy_mv = {mv:?}")?;
    }
    if beam.unflattened {
        writeln!(out, "unflattened = true")?;
    }
    if beam.off {
        writeln!(out, "off = true")?;
    }
    if let Some(mm) = beam.source_axis_mm {
        writeln!(out, "source_axis_mm = {mm:?}")?;
    }
    for (key, words) in [("not_modelled", &beam.not_modelled), ("without_boluses", &beam.without_boluses)] {
        if !words.is_empty() {
            let all: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            writeln!(out, "{key} = [{}]", all.join(", "))?;
        }
    }
    writeln!(out, "isocentre_mm = {:?}", beam.isocentre_mm.to_array())?;
    writeln!(out, "mu = {:?}", beam.mu)?;
    setting_text(out, start)?;
    if let Some(mlc) = &beam.mlc {
        let axis = match mlc.axis {
            crate::case::MlcAxis::X => "x",
            crate::case::MlcAxis::Y => "y",
        };
        writeln!(out, "mlc = {{ axis = \"{axis}\", boundaries_mm = {:?} }}", mlc.boundaries_mm)?;
    }
    if beam.control_points.len() > 1 {
        for point in &beam.control_points {
            writeln!(out, "[[beam.control_point]]\nmeterset_weight = {:?}", point.meterset_weight)?;
            setting_text(out, point)?;
        }
    }
    Ok(())
}

fn setting_text(out: &mut String, point: &ControlPoint) -> std::fmt::Result {
    writeln!(out, "gantry_deg = {:?}", point.gantry_deg)?;
    writeln!(out, "collimator_deg = {:?}", point.collimator_deg)?;
    writeln!(out, "couch_deg = {:?}", point.couch_deg)?;
    writeln!(out, "jaws_mm = {{ x = {:?}, y = {:?} }}", point.jaws.x, point.jaws.y)?;
    if !point.leaves_mm.is_empty() {
        writeln!(out, "leaves_mm = {:?}", point.leaves_mm)?;
    }
    Ok(())
}

/// An escaped TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::demo;

    const AP: &str = r#"
name = "AP"
machine = "generic-6mv"
isocentre_mm = [0, -50, 0.5]
prescription_gy = 60.0
[[beam]]
name = "AP"
gantry_deg = -30
mu = 100
jaws_mm = { x = [-50.0, 50.0], y = [-50.0, 50.0] }
"#;

    fn plan(text: &str) -> Result<Plan, String> {
        parse(text, Path::new("p.toml"), PatientPosition::Hfs).map_err(|e| e.to_string())
    }

    #[test]
    fn the_plan_of_the_manual_reads() {
        let p = plan(AP).unwrap();
        assert_eq!((p.fractions, p.prescription_gy, p.mu()), (1, Some(60.0), 100.0));
        let b = &p.beams[0];
        assert_eq!(b.isocentre_mm, DVec3::new(0.0, -50.0, 0.5));
        assert_eq!((b.control_points[0].gantry_deg, b.number), (330.0, 1));
        let prone = parse(AP, Path::new("p.toml"), PatientPosition::Hfp).unwrap();
        assert_eq!(prone.position, PatientPosition::Hfp);
    }

    #[test]
    fn plans_come_back_as_they_were() {
        for name in ["water", "tg119"] {
            let case = demo::build(name).unwrap();
            let mut want = (*case.plans[0]).clone();
            want.uid = None;
            want.name = "two \"words\"\n".to_owned();
            assert_eq!(plan(&to_text(&want).unwrap()).unwrap(), want);
        }
    }

    #[test]
    fn every_normalisation_comes_back_as_it_was() {
        let mut want = plan(AP).unwrap();
        for at in [NormalisedAt::Point(DVec3::new(1.5, -2.0, 3.25)), NormalisedAt::Maximum] {
            for dose in [NormalisedDose::Gy(57.5), NormalisedDose::Percent(95.0)] {
                want.normalisation = Some(Normalisation { at: at.clone(), dose });
                assert_eq!(plan(&to_text(&want).unwrap()).unwrap(), want);
            }
        }
        let with = |line: &str| plan(&AP.replace("prescription_gy", &format!("{line}\nprescription_gy")));
        let why = with("normalisation = { maximum = true, dose_gy = 0.0 }").unwrap_err();
        assert!(why.contains("normalisation.dose_gy = 0 must be"), "{why}");
        let why =
            with("normalisation = { maximum = true, point_mm = [0, 0, 0], dose_gy = 1.0 }").unwrap_err();
        assert!(why.contains("one of: structure with volume_percent"), "{why}");
    }

    #[test]
    fn control_points_inherit_what_they_do_not_say() {
        let text = format!(
            "{AP}mlc = {{ axis = \"x\", boundaries_mm = [-10, 0, 10] }}\nleaves_mm = [[-5, 5], [-6, 6]]\n\
             [[beam.control_point]]\nmeterset_weight = 0\n\
             [[beam.control_point]]\nmeterset_weight = 0.5\ngantry_deg = 10\n\
             [[beam.control_point]]\nmeterset_weight = 1\nleaves_mm = [[0, 5], [0, 6]]\n"
        );
        let points = plan(&text).unwrap().beams[0].control_points.clone();
        assert_eq!(points.iter().map(|p| p.gantry_deg).collect::<Vec<_>>(), [330.0, 10.0, 10.0]);
        assert_eq!(points[1].leaves_mm, [[-5.0, 5.0], [-6.0, 6.0]]);
        assert_eq!(points[2].leaves_mm, [[0.0, 5.0], [0.0, 6.0]]);
        // 20 mm in m.
        let e = plan(&text.replace("[-10, 0, 10]", "[-0.01, 0, 0.01]")).unwrap_err().to_string();
        assert!(e.contains("mlc.boundaries_mm") && e.contains("leaf pair 1 is 0.010 mm wide"), "{e}");
    }

    /// Each mistake is refused with its line and a helpful word.
    #[test]
    fn mistakes_are_named() {
        for (from, to, words) in [
            ("mu = 100", "mu = -1", "line 6: beam \"AP\": mu = -1"),
            ("mu = 100", "mu = nan", "mu = NaN"),
            ("mu = 100", "monitor_units = 100", "unknown field `monitor_units`"),
            ("mu = 100", "", "missing field `mu`"),
            ("gantry_deg = -30", "gantry_deg = inf", "gantry_deg is not a finite"),
            ("gantry_deg = -30", "gantry_deg = \"up\"", "line 8"),
            ("x = [-50.0, 50.0]", "x = [50.0, -50.0]", "jaws_mm.x = [50, -50] does not open"),
            ("x = [-50.0, 50.0]", "x = [-500.0, 50.0]", "wider than any machine"),
            ("isocentre_mm = [0, -50, 0.5]", "", "no isocentre"),
            ("isocentre_mm = [0, -50, 0.5]", "isocentre_mm = [0, nan, 0.5]", "not a finite number"),
            ("prescription_gy = 60.0", "prescription_gy = 0.0", "prescription_gy = 0 must be"),
            ("prescription_gy = 60.0", "fractions = 0", "fractions = 0"),
            ("prescription_gy = 60.0", "position = \"standing\"", "unknown variant"),
            ("mu = 100", "mu = 100\nleaves_mm = [[-1, 1]]", "no mlc"),
            ("[[beam]]", "[[beam", "line 6"),
        ] {
            let text = AP.replace(from, to);
            assert_ne!(text, AP);
            let message = plan(&text).unwrap_err();
            assert!(message.contains(words) && message.contains("p.toml"), "'{to}' gives: {message}");
        }
    }

    #[test]
    fn the_shipped_plans_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/plans");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "toml") {
                read(&path, PatientPosition::Hfs).unwrap();
                seen += 1;
            }
        }
        assert!(seen >= 2);
    }
}
