//! `beamsight gamma`: the gamma index of two doses.

use super::outputs::{OutputArgs, Outputs};
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput, doses};
use analysis::{GammaReport, TG_218_CRITERION, TG_218_THRESHOLD_PERCENT, not_final, stricter};
use anyhow::{Context as _, anyhow, bail};
use case::{Case, Dose, Structure};
use engine::gamma::{Criterion, Dims, GammaMap, GammaRequest, Normalisation, Subset, Surface};
use engine::{DeviceChoice, JobControl};
use files::mha::{self, Facts, Quantity};
use files::replace_file;
use geometry::Mask;
use open::{CaseWord, read_dose};
use results::{DoseOfPlan, GammaAnswer, GammaOfPair, Graph, MOST_GAMMA, MaskOf, Shared};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "REF and EVAL are .mha volumes in Gy or RTDOSE files, on any grids of one patient. Every voxel of REF that \
reaches the threshold is looked for in EVAL, which stays on its own grid and is interpolated linearly between its voxels: the \
distance to that surface is exact, not sampled. A voxel passes at gamma of at most 1; voxels of REF outside EVAL are counted \
as not judged and neither pass nor fail. A stricter second criterion is reported beside the one asked for. A verdict by the \
limits of AAPM TG-218 is given of a measured REF (--measured) at 3 %/2 mm, global, from 10 % on: where nothing else is \
asked for, as in the window. What --out ends in \
decides what is written: .mha gamma on the grid of REF, NaN where nothing was evaluated; .csv every point; .json the report.\n\n\
Examples:\n  \
beamsight gamma measured.mha computed.mha --measured\n  \
beamsight gamma RD.1.dcm RD.2.dcm --dose 2 --dta 2 --threshold 10 --out gamma.mha\n  \
beamsight gamma a.mha b.mha --local --norm 50 --max-gamma 2 --json --out gamma.csv\n  \
beamsight gamma a.dcm b.dcm --structure PTV --case ~/ct/patient-7 --norm rx"
)]
pub struct Args {
    /// Reference dose: a .mha in Gy or an RTDOSE file
    #[arg(value_name = "REF")]
    reference: PathBuf,

    /// Evaluated dose: a .mha in Gy or an RTDOSE file
    #[arg(value_name = "EVAL")]
    evaluated: PathBuf,

    /// Dose difference, percent
    #[arg(long, value_name = "PERCENT", default_value_t = TG_218_CRITERION.dose_percent, value_parser = words::positive)]
    dose: f64,

    /// Distance to agreement, mm
    #[arg(long, value_name = "MM", default_value_t = TG_218_CRITERION.dta_mm, value_parser = words::positive)]
    dta: f64,

    /// The dose difference is of the reference dose at each voxel, not of the normalisation
    #[arg(long)]
    local: bool,

    /// Least reference dose analysed, percent of the normalisation
    #[arg(long, value_name = "PERCENT", default_value_t = TG_218_THRESHOLD_PERCENT, value_parser = percent)]
    threshold: f64,

    /// Dose that is 100 %: near-max (D2% of the voxels of REF above half), max (of REF), rx (the prescription of
    /// --case) or a dose in Gy
    #[arg(long, value_name = "NORM", default_value = "near-max", value_parser = norm, allow_hyphen_values = true)]
    norm: Norm,

    /// Do not look farther than this gamma: a point that has more counts as more than that. Above 1, so that no such point passes
    #[arg(long, value_name = "GAMMA", default_value_t = MOST_GAMMA, value_parser = words::within(1.1, 1e6))]
    max_gamma: f64,

    /// Dimensions of the search: 3, 2.5 (slice by slice) or 2 (planar doses)
    #[arg(long, value_name = "DIMS", default_value = "3", value_parser = dims)]
    dims: Dims,

    /// Only inside this structure of --case
    #[arg(long, value_name = "NAME", requires = "case")]
    structure: Option<String>,

    /// Case with structures, of which each gets its line, and with the prescription
    #[arg(long, value_name = "CASE")]
    case: Option<CaseWord>,

    /// REF was measured: TG-218 has limits for it
    #[arg(long)]
    measured: bool,

    /// Compare doses of patients with different IDs, too
    #[arg(long)]
    any_patient: bool,

    /// Only this many points, chosen at random
    #[arg(long, value_name = "N", value_parser = words::count::<u32>)]
    subset: Option<u32>,

    /// Which random points
    #[arg(long, value_name = "N", default_value = "1", value_parser = words::whole::<u64>, requires = "subset")]
    seed: u64,

    /// Look for the trilinear surface of each cell in place of its tetrahedra; on the CPU
    #[arg(long)]
    trilinear: bool,

    /// Write gamma with the sign of EVAL - REF at the voxel
    #[arg(long)]
    signed: bool,

    /// File to write (.mha, .csv, .json); may be given several times
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug)]
enum Norm {
    NearMaximum,
    Maximum,
    Prescription,
    Gy(f64),
}

fn norm(word: &str) -> Result<Norm, String> {
    match word {
        "near-max" => Ok(Norm::NearMaximum),
        "max" => Ok(Norm::Maximum),
        "rx" => Ok(Norm::Prescription),
        _ => words::positive(word)
            .map(Norm::Gy)
            .map_err(|_| "it is near-max, max, rx or a dose in Gy above 0".to_owned()),
    }
}

fn dims(word: &str) -> Result<Dims, String> {
    match word {
        "3" => Ok(Dims::Volume),
        "2.5" => Ok(Dims::Slices),
        "2" => Ok(Dims::Plane),
        _ => Err("it is 3, 2.5 or 2".to_owned()),
    }
}

fn percent(word: &str) -> Result<f64, String> {
    words::within(0.0, 100.0)(word)
}

/// The files that it writes and reads.
pub fn outputs(args: &Args) -> Outputs {
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", &args.out);
    outputs.reads("REF", [&args.reference]);
    outputs.reads("EVAL", [&args.evaluated]);
    args.case.iter().for_each(|case| outputs.reads_case(case));
    outputs
}

/// # Errors
/// Doses that cannot be read or compared; a structure or prescription the case does not have; files that cannot be written.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    let mut files = Vec::new();
    for out in &args.out {
        files.push((out.as_path(), words::ending(out, &["mha", "csv", "json"])?));
    }
    let outputs = outputs(args);
    outputs.check()?;
    if matches!(args.norm, Norm::Prescription) && args.case.is_none() {
        return Err(Failure::Words(
            "--norm rx is the prescription of a plan: name its case with --case".to_owned(),
        ));
    }
    device.check()?;
    let [mut reference, mut evaluated] = [read_dose(&args.reference)?, read_dose(&args.evaluated)?];
    if reference.name == evaluated.name {
        // Exports name their doses alike: the folders tell them apart.
        reference.name = args.reference.display().to_string();
        evaluated.name = args.evaluated.display().to_string();
    }
    doses::check_pair([&mut reference, &mut evaluated], args.any_patient)?;
    check_outs(&files, &reference.dose)?;
    let case = match &args.case {
        Some(word) => {
            let case = CaseArgs::new(word.clone());
            let case = case.open()?;
            for dose in [&mut reference, &mut evaluated] {
                doses::check(dose, &case, args.any_patient)?;
            }
            Some(case)
        }
        None => None,
    };
    let remarks = [doses::remarks_of(&reference), doses::remarks_of(&evaluated)].concat();
    let facts = {
        let (of_case, frame) = (
            case.as_ref().map(|case| &case.patient),
            &reference.dose.frame_of_reference_uid,
        );
        let stated = Some(&reference.patient).filter(|patient| !patient.in_words().is_empty());
        Facts::new(
            Quantity::Gamma,
            stated.or(of_case).unwrap_or(&reference.patient),
            frame,
        )
    };
    let [reference, evaluated] = [reference.dose, evaluated.dose];
    let not_final = not_final([("REF", &reference), ("EVAL", &evaluated)]);
    let region = case
        .as_ref()
        .map(|case| region(args, case))
        .transpose()?
        .flatten();
    let criterion = Criterion {
        dose_percent: args.dose,
        dta_mm: args.dta,
        local: args.local,
    };
    let criteria = vec![criterion, stricter(criterion)];
    let reference_gy = Arc::clone(&reference.gy);
    let query = GammaOfPair {
        normalisation: match args.norm {
            Norm::NearMaximum => Normalisation::NearMaximum,
            Norm::Maximum => Normalisation::Maximum,
            Norm::Prescription => Normalisation::Prescription(prescription(case.as_ref())?),
            Norm::Gy(gy) => Normalisation::Typed(gy),
        },
        threshold_percent: args.threshold,
        max_gamma: Some(args.max_gamma),
        dims: args.dims,
        region: region.map(|structure| MaskOf::on(&reference_gy, structure)),
        subset: args.subset.map(|count| Subset {
            count: count as usize,
            seed: args.seed,
        }),
        surface: if args.trilinear {
            Surface::Trilinear
        } else {
            Surface::Simplices
        },
        ..GammaOfPair::new(
            file_dose(reference.clone(), 0),
            file_dose(evaluated, 1),
            criteria,
            device,
        )
    };
    let (graph, control) = (Graph::default(), JobControl::new());
    let GammaAnswer { request, result } = graph.full(&query, &control)?;
    // Of structures that have nothing on the reference dose gamma says nothing.
    let structures = case.iter().flat_map(|case| &case.structures.structures);
    let masks = structures.filter_map(|structure| {
        let mask = graph.full(&MaskOf::on(&reference_gy, structure), &control);
        Some((structure.name.clone(), mask.ok()?))
    });
    let masks: Vec<(String, Arc<Mask>)> = masks.collect();
    let labels = [&args.reference, &args.evaluated].map(|path| path.display().to_string());
    let structures: Vec<(&str, &Mask)> = masks
        .iter()
        .map(|(name, mask)| (name.as_str(), &**mask))
        .collect();
    let labels = [labels[0].as_str(), &labels[1]];
    let region = args.structure.as_deref();
    let report = GammaReport::new(
        labels,
        &request,
        &result,
        args.measured,
        not_final,
        region,
        &structures,
    );
    let json = as_json(&report, args, &remarks)?;
    let mut text = format!("{report}\n");
    remarks
        .iter()
        .for_each(|remark| _ = writeln!(text, "note: {remark}"));
    let map = result
        .maps
        .first()
        .ok_or_else(|| anyhow!("gamma answered no criterion"))?;
    outputs.write(|| {
        files
            .iter()
            .try_for_each(|(path, ending)| write(path, ending, args, &request, map, &facts, &json))
    })?;
    for (path, _) in files {
        let _ = writeln!(text, "written to {}", path.display());
    }
    Ok(VerbOutput { json, text })
}

/// A `.mha` needs even planes: refused before the work is done.
fn check_outs(files: &[(&Path, &str)], reference: &Dose) -> anyhow::Result<()> {
    if reference.gy.grid().even_plane_spacing_mm().is_some() {
        return Ok(());
    }
    match files.iter().find(|(_, ending)| *ending == "mha") {
        Some((path, _)) => bail!(
            "'{}' cannot be written: gamma is on the planes of the reference dose, which are uneven, and a .mha has one plane \
             spacing; write a .csv",
            path.display()
        ),
        None => Ok(()),
    }
}

/// The structure that gamma is restricted to.
fn region<'a>(args: &Args, case: &'a Case) -> anyhow::Result<Option<&'a Structure>> {
    let Some(name) = &args.structure else {
        return Ok(None);
    };
    let set = &case.structures;
    set.by_name(name).map(Some).ok_or_else(|| {
        let names: Vec<&str> = set.structures.iter().map(|s| s.name.as_str()).collect();
        anyhow!(
            "{} has no structure '{name}'; it has {}",
            case.source,
            names.join(", ")
        )
    })
}

fn prescription(case: Option<&Case>) -> anyhow::Result<f64> {
    let plans = case.into_iter().flat_map(|case| &case.plans);
    plans.filter_map(|plan| plan.prescription_gy).next().ok_or_else(|| {
        anyhow!("--norm rx: no plan of the case says what is prescribed; type the dose in Gy with --norm GY")
    })
}

/// The report, with the figures of the requested criterion at the top.
fn as_json(report: &GammaReport, args: &Args, remarks: &[String]) -> anyhow::Result<Value> {
    let mut json = serde_json::to_value(report)?;
    let criteria = json
        .as_object_mut()
        .and_then(|object| object.remove("criteria"));
    let mut criteria = match criteria {
        Some(Value::Array(criteria)) => criteria.into_iter(),
        _ => Vec::new().into_iter(),
    };
    if let (Some(object), Some(Value::Object(first))) = (json.as_object_mut(), criteria.next()) {
        object.extend(first);
        object.insert("stricter".to_owned(), criteria.next().unwrap_or_default());
        object.insert("remarks".to_owned(), json!(remarks));
        object.insert("out".to_owned(), json!(args.out));
    }
    Ok(json)
}

fn write(
    path: &Path,
    ending: &str,
    args: &Args,
    request: &GammaRequest,
    map: &GammaMap,
    facts: &Facts,
    json: &Value,
) -> anyhow::Result<()> {
    let signed = args.signed.then(|| map.signed(request));
    let gamma = signed.as_ref().unwrap_or(&map.gamma);
    let written = match ending {
        "mha" => return Ok(mha::write_with(path, gamma, facts)?),
        "csv" => replace_file(path, |file| write_points(file, request, gamma.data())),
        _ => replace_file(path, |file| writeln!(file, "{json:#}")),
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Writes every point with a gamma: voxel, patient position, reference dose, gamma.
fn write_points(
    file: &mut impl io::Write,
    request: &GammaRequest,
    gamma: &[f32],
) -> io::Result<()> {
    let grid = request.reference.grid();
    let [nx, ny, _] = grid.size();
    writeln!(file, "i,j,k,x (mm),y (mm),z (mm),reference (Gy),gamma")?;
    let points = gamma
        .iter()
        .zip(request.reference.data())
        .enumerate()
        .filter(|(_, (gamma, _))| !gamma.is_nan());
    for (n, (gamma, gy)) in points {
        let (i, j, k) = (n % nx, n / nx % ny, n / (nx * ny));
        let p = grid.centre_mm(i, j, k);
        writeln!(
            file,
            "{i},{j},{k},{:.3},{:.3},{:.3},{gy},{gamma:.6}",
            p.x, p.y, p.z
        )?;
    }
    Ok(())
}

/// The dose of a file as gamma takes it, by its index among the two.
fn file_dose(dose: Dose, index: usize) -> Shared<DoseOfPlan> {
    Shared::new(DoseOfPlan::of_file(&Arc::new(dose), index, None), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_and_dims() {
        assert!(
            matches!(norm("max"), Ok(Norm::Maximum))
                && matches!(norm("rx"), Ok(Norm::Prescription))
        );
        assert!(matches!(norm("60.5"), Ok(Norm::Gy(gy)) if gy == 60.5));
        assert!(norm("0").is_err() && norm("-3").is_err() && norm("mean").is_err());
        assert_eq!(
            (dims("3"), dims("2.5"), dims("2")),
            (Ok(Dims::Volume), Ok(Dims::Slices), Ok(Dims::Plane))
        );
        assert!(dims("4").is_err() && percent("101").is_err() && percent("nan").is_err());
    }
}
