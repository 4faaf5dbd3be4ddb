//! A plan as a text file: `plan.toml`. Every field is documented in `assets/plans/README.md`.

mod turns;

use crate::replace_file;
use case::{
    Bank, Beam, ControlPoint, FallOff, FluenceLimit, FluenceMap, FluenceObjectives, Jaws, Mlc,
    MlcAxis, Normalisation, NormalisedAt, NormalisedDose, Plan, PlanFault, Radiation, UniformDose,
    bounds,
};
use geometry::{PatientPosition, wrapped_deg};
use glam::DVec3;
use input::{PLAN_BYTES, beginning, read_text, surplus_of};
use serde::Deserialize;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::Spanned;
use turns::{Direction, Directions, turn_fault};

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
    Value {
        path: PathBuf,
        line: usize,
        problem: String,
    },
    #[error(
        "cannot write the plan '{path}': {source}; choose a folder you may write to with --out"
    )]
    Write { path: PathBuf, source: io::Error },
    #[error("the plan cannot be written to a plan.toml: {0}")]
    Fault(Box<PlanFault>),
    #[error("beam \"{beam}\" cannot be written to a plan.toml: {why}")]
    Unwritable { beam: String, why: String },
}

/// `B` is a beam with its place in the text, or the beam alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile<B> {
    name: String,
    machine: String,
    position: Option<PatientPosition>,
    isocentre_mm: Option<[f64; 3]>,
    prescription_gy: Option<f64>,
    fractions: Option<u32>,
    normalisation: Option<Normalisation>,
    #[serde(default)]
    objectives: FluenceObjectives,
    mlc: Option<Mlc>,
    #[serde(default = "Vec::new")]
    beam: Vec<B>,
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
    dose_rate_mu_min: Option<f64>,
    #[serde(default)]
    not_modelled: Vec<String>,
    #[serde(default)]
    accessories: Vec<String>,
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
    fluence: Option<FluenceMap>,
    #[serde(default)]
    fluence_limits: Vec<FluenceLimit>,
    #[serde(default)]
    leaves_mm: Vec<Bank>,
    gantry_direction: Option<Direction>,
    collimator_direction: Option<Direction>,
    couch_direction: Option<Direction>,
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
    gantry_direction: Option<Direction>,
    collimator_direction: Option<Direction>,
    couch_direction: Option<Direction>,
}

/// Reads a plan; one without a patient position gets `position` (its CT's).
///
/// # Errors
/// [`PlanError`] with the file, the line and the problem.
pub fn read(path: &Path, position: PatientPosition) -> Result<Plan, PlanError> {
    let text = read_text(path, PLAN_BYTES).map_err(|source| PlanError::Read {
        path: path.to_owned(),
        source,
    })?;
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
    if machine.ends_with(".toml") && path.is_file() {
        path.display().to_string()
    } else {
        machine
    }
}

/// As [`read`], from text; `path` is only used in errors.
///
/// # Errors
/// [`PlanError`].
pub fn parse(text: &str, path: &Path, position: PatientPosition) -> Result<Plan, PlanError> {
    let file: PlanFile<Spanned<BeamFile>> =
        toml::from_str(text).map_err(|e| syntax_error(e, path))?;
    surplus_of::<PlanFile<BeamFile>>(text).map_err(|e| syntax_error(e, path))?;
    let mut plan = Plan::new(&file.name, &file.machine);
    plan.position = file.position.unwrap_or(position);
    plan.prescription_gy = file.prescription_gy;
    plan.fractions = file.fractions.unwrap_or(1);
    plan.normalisation = file.normalisation;
    plan.objectives = file.objectives;
    if let Some(problem) = plan.own_fault() {
        return Err(value_error(0, problem.to_string(), path, text));
    }
    if file.beam.is_empty() {
        return Err(value_error(
            0,
            "the plan has no beam; add a [[beam]] table".to_owned(),
            path,
            text,
        ));
    }
    let mut starts = Vec::with_capacity(file.beam.len());
    for (n, beam) in file.beam.into_iter().enumerate() {
        let (start, beam) = (beam.span().start, beam.into_inner());
        let name = beam.name.clone();
        let read = beam_from(beam, n as u32 + 1, file.isocentre_mm, file.mlc.as_ref()).map_err(
            |problem| value_error(start, format!("beam \"{name}\": {problem}"), path, text),
        )?;
        plan.beams.push(read);
        starts.push(start);
    }
    match plan.first_beam_fault() {
        Some((n, problem)) => Err(value_error(
            starts[n],
            format!("beam \"{}\": {problem}", plan.beams[n].name),
            path,
            text,
        )),
        None => Ok(plan),
    }
}

fn syntax_error(e: toml::de::Error, path: &Path) -> PlanError {
    PlanError::Toml {
        path: path.to_owned(),
        message: beginning(e.to_string().trim_end()),
    }
}

fn value_error(offset: usize, problem: String, path: &Path, text: &str) -> PlanError {
    PlanError::Value {
        path: path.to_owned(),
        line: 1 + text.as_bytes()[..offset.min(text.len())]
            .iter()
            .filter(|b| **b == b'\n')
            .count(),
        problem,
    }
}

fn beam_from(
    file: BeamFile,
    number: u32,
    plan_isocentre: Option<[f64; 3]>,
    plan_mlc: Option<&Mlc>,
) -> Result<Beam, String> {
    let isocentre = file.isocentre_mm.or(plan_isocentre).ok_or(
        "no isocentre; give isocentre_mm = [x, y, z] (patient LPS) for the plan or for the beam",
    )?;
    // A plan's leaves apply to the beams that set them; a beam without leaf positions is open between the
    // jaws.
    let sets_leaves =
        !file.leaves_mm.is_empty() || file.control_point.iter().any(|p| p.leaves_mm.is_some());
    let mlc = file
        .mlc
        .or_else(|| plan_mlc.filter(|_| sets_leaves).cloned());
    let first = ControlPoint {
        meterset_weight: 1.0,
        gantry_deg: file.gantry_deg,
        collimator_deg: file.collimator_deg,
        couch_deg: file.couch_deg,
        jaws: file.jaws_mm,
        leaves_mm: file.leaves_mm,
    };
    let mut control_points: Vec<ControlPoint> = Vec::new();
    let mut stated: Directions = [
        file.gantry_direction,
        file.collimator_direction,
        file.couch_direction,
    ];
    for point in file.control_point {
        let previous = control_points.last().unwrap_or(&first);
        let next = ControlPoint {
            meterset_weight: point.meterset_weight,
            gantry_deg: point.gantry_deg.unwrap_or(previous.gantry_deg),
            collimator_deg: point.collimator_deg.unwrap_or(previous.collimator_deg),
            couch_deg: point.couch_deg.unwrap_or(previous.couch_deg),
            jaws: point.jaws_mm.unwrap_or(previous.jaws),
            leaves_mm: point
                .leaves_mm
                .unwrap_or_else(|| previous.leaves_mm.clone()),
        };
        if let Some(previous_point) = control_points.last()
            && let Some(fault) = turn_fault(previous_point, &next, stated)
        {
            return Err(format!(
                "control point {}: {fault}",
                control_points.len() + 1
            ));
        }
        // A direction holds from its control point on.
        let angles = [
            point.gantry_direction,
            point.collimator_direction,
            point.couch_direction,
        ];
        stated = std::array::from_fn(|axis| angles[axis].or(stated[axis]));
        control_points.push(next);
    }
    if control_points.is_empty() {
        control_points.push(first);
    }
    for point in &mut control_points {
        for deg in [
            &mut point.gantry_deg,
            &mut point.collimator_deg,
            &mut point.couch_deg,
        ] {
            // An angle beyond its bounds stays, and is refused by the check.
            let holds = bounds::ANGLE_DEG.contains(&*deg);
            *deg = if holds { wrapped_deg(*deg) } else { *deg };
        }
    }
    Ok(Beam {
        name: file.name,
        number: file.number.unwrap_or(number),
        machine: file.machine,
        treatment_machine: None,
        radiation: Radiation::Photon,
        energy_mv: file.energy_mv,
        unflattened: file.unflattened,
        source_axis_mm: file.source_axis_mm,
        mu: file.mu,
        dose_rate_mu_min: file.dose_rate_mu_min,
        isocentre_mm: DVec3::from(isocentre),
        mlc,
        fluence: file.fluence,
        fluence_limits: file.fluence_limits,
        cut_from: None,
        control_points,
        read_only: None,
        not_modelled: file.not_modelled,
        accessories: file.accessories,
        without_boluses: file.without_boluses,
        setup: false,
        off: file.off,
    })
}

/// Writes a plan such that [`read`] returns it (without remarks, UID, and the maps that leaves were cut from).
///
/// # Errors
/// [`PlanError::Fault`] for a plan that cannot be, [`PlanError::Unwritable`] for beams that are not treated with photons,
/// [`PlanError::Write`] from the file system.
pub fn write(path: &Path, plan: &Plan) -> Result<(), PlanError> {
    let text = to_text(plan)?;
    replace_file(path, |out| out.write_all(text.as_bytes())).map_err(|source| PlanError::Write {
        path: path.to_owned(),
        source,
    })
}

/// The text of [`write()`].
///
/// # Errors
/// [`PlanError::Fault`], [`PlanError::Unwritable`].
pub fn to_text(plan: &Plan) -> Result<String, PlanError> {
    if let Some(fault) = plan.fault() {
        return Err(PlanError::Fault(Box::new(fault)));
    }
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = plan_text(&mut text, plan);
    for beam in &plan.beams {
        let why = match (&beam.read_only, beam.radiation) {
            (Some(why), _) => Some(why.clone()),
            (None, Radiation::Photon) => beam.setup.then(|| "it is a setup field".to_owned()),
            (None, _) => Some("it is not a photon beam".to_owned()),
        };
        if let Some(why) = why {
            return Err(PlanError::Unwritable {
                beam: beam.name.clone(),
                why,
            });
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
        let point = match &n.at {
            NormalisedAt::Volume {
                structure,
                volume_percent,
                ..
            } => {
                format!(
                    "structure = {}, volume_percent = {volume_percent:?}",
                    quoted(structure)
                )
            }
            NormalisedAt::Point(mm) => format!("point_mm = {:?}", mm.to_array()),
            NormalisedAt::Maximum => "maximum = true".to_owned(),
        };
        let dose = match n.dose {
            NormalisedDose::Gy(gy) => format!("dose_gy = {gy:?}"),
            NormalisedDose::Percent(percent) => format!("dose_percent = {percent:?}"),
        };
        writeln!(out, "normalisation = {{ {point}, {dose} }}")?;
    }
    if !plan.objectives.is_usual() {
        objectives_text(out, &plan.objectives)?;
    }
    Ok(())
}

fn objectives_text(out: &mut String, objectives: &FluenceObjectives) -> std::fmt::Result {
    let FallOff {
        percent_per_mm,
        far_percent,
        weight,
    } = objectives.fall_off;
    writeln!(
        out,
        "\n[objectives]\nmonitor_units = {:?}",
        objectives.monitor_units
    )?;
    let shape = format!("percent_per_mm = {percent_per_mm:?}, far_percent = {far_percent:?}");
    writeln!(out, "fall_off = {{ {shape}, weight = {weight:?} }}")?;
    for UniformDose {
        structure,
        dose_gy,
        weight,
        ..
    } in &objectives.uniform
    {
        let structure = quoted(structure);
        writeln!(
            out,
            "[[objectives.uniform]]\nstructure = {structure}\ndose_gy = {dose_gy:?}\nweight = {weight:?}"
        )?;
    }
    Ok(())
}

fn beam_text(out: &mut String, beam: &Beam) -> std::fmt::Result {
    let Some(start) = beam.start() else {
        return Ok(());
    };
    writeln!(
        out,
        "\n[[beam]]\nname = {}\nnumber = {}",
        quoted(&beam.name),
        beam.number
    )?;
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
    if let Some(rate) = beam.dose_rate_mu_min {
        writeln!(out, "dose_rate_mu_min = {rate:?}")?;
    }
    let lists = [
        ("not_modelled", &beam.not_modelled),
        ("accessories", &beam.accessories),
        ("without_boluses", &beam.without_boluses),
    ];
    for (key, words) in lists {
        if !words.is_empty() {
            let quoted_words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            writeln!(out, "{key} = [{}]", quoted_words.join(", "))?;
        }
    }
    writeln!(out, "isocentre_mm = {:?}", beam.isocentre_mm.to_array())?;
    writeln!(out, "mu = {:?}", beam.mu)?;
    setting_text(out, start)?;
    if let Some(mlc) = &beam.mlc {
        let axis = axis_word(mlc.axis);
        writeln!(
            out,
            "mlc = {{ axis = \"{axis}\", boundaries_mm = {:?} }}",
            mlc.boundaries_mm
        )?;
    }
    if !beam.fluence_limits.is_empty() {
        out.push_str("fluence_limits = [\n");
        for FluenceLimit { beamlet, mu } in &beam.fluence_limits {
            writeln!(out, "  {{ beamlet = {beamlet}, mu = {mu:?} }},")?;
        }
        out.push_str("]\n");
    }
    if let Some(map) = &beam.fluence {
        fluence_text(out, map)?;
    }
    if beam.control_points.len() > 1 {
        let directions = turns::to_state(&beam.control_points);
        for (point, words) in beam.control_points.iter().zip(directions) {
            writeln!(
                out,
                "[[beam.control_point]]\nmeterset_weight = {:?}",
                point.meterset_weight
            )?;
            setting_text(out, point)?;
            out.push_str(&words);
        }
    }
    Ok(())
}

fn axis_word(axis: MlcAxis) -> &'static str {
    match axis {
        MlcAxis::X => "x",
        MlcAxis::Y => "y",
    }
}

/// A map, a row of beamlets a line.
fn fluence_text(out: &mut String, map: &FluenceMap) -> std::fmt::Result {
    writeln!(
        out,
        "[beam.fluence]\naxis = \"{}\"\nrows_mm = {:?}",
        axis_word(map.axis),
        map.rows_mm
    )?;
    writeln!(
        out,
        "first_mm = {:?}\nstep_mm = {:?}\ncolumns = {}",
        map.first_mm, map.step_mm, map.columns
    )?;
    out.push_str("values = [\n");
    for row in map.values.chunks(map.columns.max(1)) {
        let row: Vec<String> = row.iter().map(|value| format!("{value:?}")).collect();
        writeln!(out, "  {},", row.join(", "))?;
    }
    out.push_str("]\n");
    Ok(())
}

fn setting_text(out: &mut String, point: &ControlPoint) -> std::fmt::Result {
    writeln!(out, "gantry_deg = {:?}", wrapped_deg(point.gantry_deg))?;
    writeln!(
        out,
        "collimator_deg = {:?}",
        wrapped_deg(point.collimator_deg)
    )?;
    writeln!(out, "couch_deg = {:?}", wrapped_deg(point.couch_deg))?;
    writeln!(
        out,
        "jaws_mm = {{ x = {:?}, y = {:?} }}",
        point.jaws.x, point.jaws.y
    )?;
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
mod tests;
