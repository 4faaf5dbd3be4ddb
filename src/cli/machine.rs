//! `beamsight machine`: a machine fitted to measured water-tank data, or compared with them.

use super::outputs::{OutputArgs, Outputs};
use super::plan_args::quality;
use super::{Answer, Failure, tell, words};
use crate::analysis::machine_fit::{
    CurveReport, Fit, FitSettings, Provenance, Report, Sampling, TankData, Work, compare, fit, machine_text,
    parameter_line, report_pdf, tolerances,
};
use crate::dicom::utc_now;
use crate::engine::cccs::Quality;
use crate::engine::{DeviceChoice, JobControl};
use crate::files::measured::{MeasuredCurve, Scan, read_curves, read_output_factors};
use crate::files::{csv_cell, replace_file};
use crate::physics::{Machine, Parameter};
use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "`beamsight help machine fit` and `beamsight help machine check` have all options; --json and --device count for both.\n\n\
Examples:\n  \
beamsight machine fit --pdd pdd.csv --profiles profiles.csv --out my.toml\n  \
beamsight machine check my.toml --pdd pdd.csv --profiles profiles.csv --json"
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Fit a machine to measured depth doses, profiles and output factors
    Fit(Box<FitArgs>),
    /// Compare a machine with measured data
    Check(Box<CheckArgs>),
}

#[derive(Debug, clap::Args)]
struct DataArgs {
    /// Files with depth doses: a table, W2CAD (.asc), OmniPro RFA300 ASCII or PTW .mcc
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pdd: Vec<PathBuf>,

    /// Files with profiles; the same forms, and it may be the same file
    #[arg(long, value_name = "FILE", num_args = 1..)]
    profiles: Vec<PathBuf>,

    /// File with output factors (.csv)
    #[arg(long, value_name = "FILE")]
    output_factors: Option<PathBuf>,

    /// How fine the doses of the comparison are: fast, standard or full
    #[arg(long, value_name = "QUALITY", value_parser = quality)]
    quality: Option<Quality>,

    /// Every point, measured and computed (.csv), or the curves drawn with their differences (.pdf); may be given several times
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Spectrum, off-axis curve and softening, focal and extra-focal source and electrons are adjusted; what the data leave open \
stays as in the starting machine, and the file says so. A dose per MU beside the output factors becomes the calibration. \
Curves and output factors that do not agree within published tolerances are named, and the exit code is 1; the file is \
written all the same and says it too. Parameters to --fix: spectrum-slope, spectrum-filter, off-axis-50, off-axis-100, \
off-axis-150, off-axis-200, softening, focal-x, focal-y, extra-focal-share, extra-focal-sigma, electron-share, \
electron-falloff, electron-sigma. The forms of the files stand in the guide.\n\n\
Examples:\n  \
beamsight machine fit --pdd pdd.csv --profiles profiles.csv --output-factors of.csv --out my.toml\n  \
beamsight machine fit --pdd beam.asc --profiles beam.asc --start generic-10mv --fix focal-x --fix focal-y --out my.toml --report points.csv --report curves.pdf"
)]
struct FitArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Machine to start from: a shipped one, or a file
    #[arg(long, value_name = "MACHINE", default_value = "generic-6mv")]
    start: String,

    /// Machine file to write (.toml)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Parameter that stays as in the starting machine; may be given several times
    #[arg(long, value_name = "PARAM", value_parser = parameter)]
    fix: Vec<Parameter>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Measured data that a machine was not fitted to say how good it is. Exit code 1 where a curve or an output factor does not \
agree within published tolerances.\n\n\
Examples:\n  \
beamsight machine check my.toml --pdd pdd-10.csv --profiles profiles-10.csv --output-factors of.csv\n  \
beamsight machine check generic-6mv --pdd scans.mcc --profiles scans.mcc --json"
)]
struct CheckArgs {
    /// A shipped machine, or a file
    #[arg(value_name = "MACHINE")]
    machine: String,

    #[command(flatten)]
    data: DataArgs,
}

fn parameter(word: &str) -> Result<Parameter, String> {
    let known = || Parameter::ALL.map(Parameter::word).join(", ");
    Parameter::ALL.into_iter().find(|p| p.word() == word).ok_or_else(|| format!("it is one of {}", known()))
}

/// # Errors
/// Files that cannot be read or written, data that cannot be fitted; curves outside their tolerance.
pub fn run(args: &Args, device: DeviceChoice) -> Result<Answer, Failure> {
    match &args.what {
        What::Fit(args) => run_fit(args, device),
        What::Check(args) => run_check(args, device),
    }
}

fn run_fit(args: &FitArgs, device: DeviceChoice) -> Result<Answer, Failure> {
    words::ending(&args.out, &["toml"])?;
    let mut outputs = args.data.outputs(&args.start)?;
    outputs.file("--out", [&args.out]);
    outputs.check()?;
    let start = Machine::resolve(&args.start)?;
    let read = args.data.read()?;
    if let Some(path) = &args.data.output_factors {
        // A calibration that no machine file may have is refused before the work.
        let calibrated = read.data.calibrated(&start).to_text(&|_| Vec::new());
        Machine::parse(&calibrated, &path.display().to_string())?;
    }
    let compute = device.resolve()?;
    let work = Work { device: &compute, control: &JobControl::new(), tell: &tell };
    let settings = FitSettings { last: args.data.sampling(), ..FitSettings::default() };
    let found = fit(&start, &read.data, &args.fix, &settings, &work)?;
    let fitted = Fit { machine: named(&found.machine, args), ..found };
    let (date, _) = utc_now();
    let date = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
    let provenance = Provenance { start: args.start.clone(), date, files: read.digests };
    // What is compared is the machine of the file, with its rounded numbers.
    let machine = Machine::parse(&machine_text(&fitted, &provenance, None), &args.out.display().to_string())?;
    let report = compare(&machine, &read.data, &args.data.sampling(), &work)?;
    let text = machine_text(&fitted, &provenance, Some(&report));
    outputs.write(|| {
        let written = replace_file(&args.out, |file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", args.out.display()))?;
        args.data.write_reports(&args.out.display().to_string(), &report)
    })?;
    let parameters: Vec<Value> = fitted.parameters.iter().map(|p| {
        json!({ "parameter": p.parameter.word(), "unit": p.parameter.unit(), "start": p.start, "value": p.value,
            "uncertainty": p.uncertainty, "standing": p.standing })
    }).collect();
    let mut said = format!(
        "{} fitted to measured data in {} rounds, {} doses\n",
        args.start, fitted.rounds, fitted.doses
    );
    fitted.parameters.iter().for_each(|p| {
        let _ = writeln!(said, "{}", parameter_line(p));
    });
    let mut json = json!({
        "start": args.start,
        "parameters": parameters,
        "rounds": fitted.rounds,
        "doses": fitted.doses,
        "weighed_squares": fitted.cost,
        "out": args.out,
    });
    tell_report(&mut said, &mut json, &report, &read.remarks, &args.data);
    let _ = writeln!(said, "written to {}", args.out.display());
    verdict(report.is_within(), Answer { json, text: said })
}

fn run_check(args: &CheckArgs, device: DeviceChoice) -> Result<Answer, Failure> {
    let outputs = args.data.outputs(&args.machine)?;
    outputs.check()?;
    let machine = Machine::resolve(&args.machine)?;
    let read = args.data.read()?;
    let compute = device.resolve()?;
    let work = Work { device: &compute, control: &JobControl::new(), tell: &tell };
    let report = compare(&machine, &read.data, &args.data.sampling(), &work)?;
    outputs.write(|| args.data.write_reports(&args.machine, &report))?;
    let (mut said, mut json) = (format!("{}\n", args.machine), json!({ "machine": args.machine }));
    tell_report(&mut said, &mut json, &report, &read.remarks, &args.data);
    verdict(report.is_within(), Answer { json, text: said })
}

fn verdict(is_within: bool, answer: Answer) -> Result<Answer, Failure> {
    if is_within { Ok(answer) } else { Err(Failure::Checks(answer)) }
}

/// The fitted machine under the name of its file.
fn named(machine: &Machine, args: &FitArgs) -> Machine {
    let name = args.out.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Machine { name, description: format!("Fitted to measured data from {}", args.start), ..machine.clone() }
}

/// Measured data of the command line.
struct Read {
    data: TankData,
    remarks: Vec<String>,
    digests: Vec<(String, String)>,
}

impl DataArgs {
    fn outputs(&self, machine: &str) -> Result<Outputs, Failure> {
        if self.pdd.is_empty() && self.profiles.is_empty() && self.output_factors.is_none() {
            return Err(Failure::Words(
                "there are no measured data: name files with --pdd, --profiles or --output-factors"
                    .to_owned(),
            ));
        }
        for report in &self.report {
            words::ending_of(report, &["csv", "pdf"], "--report")?;
        }
        let mut outputs = Outputs::new(self.output);
        outputs.file("--report", &self.report);
        outputs.reads("--pdd", &self.pdd);
        outputs.reads("--profiles", &self.profiles);
        outputs.reads("--output-factors", &self.output_factors);
        outputs.reads_word("the machine", machine);
        Ok(outputs)
    }

    fn sampling(&self) -> Sampling {
        Sampling { quality: self.quality.unwrap_or_default(), ..Sampling::FULL }
    }

    fn read(&self) -> anyhow::Result<Read> {
        let mut read = Read { data: TankData::default(), remarks: Vec::new(), digests: Vec::new() };
        for (option, paths) in [("--pdd", &self.pdd), ("--profiles", &self.profiles)] {
            for path in paths {
                let file = read_curves(path)?;
                let wanted = |c: &MeasuredCurve| (c.scan == Scan::Depth) == (option == "--pdd");
                let curves: Vec<MeasuredCurve> = file.curves.into_iter().filter(wanted).collect();
                if curves.is_empty() {
                    let kind = if option == "--pdd" { "depth dose" } else { "profile" };
                    return Err(anyhow!("{option} {}: it has no {kind}", path.display()));
                }
                read.data.curves.extend(curves);
                let own = path.display().to_string();
                let remarks = file.remarks.iter().map(|r| format!("{own}: {r}"));
                // A file of both kinds is read twice.
                if !read.digests.iter().any(|(name, _)| *name == own) {
                    read.remarks.extend(remarks);
                    read.digests.push((own, file.digest));
                }
            }
        }
        if let Some(path) = &self.output_factors {
            let factors = read_output_factors(path)?;
            read.digests.push((path.display().to_string(), factors.digest.clone()));
            read.data.factors = Some(factors);
        }
        Ok(read)
    }

    fn write_reports(&self, machine: &str, report: &Report) -> anyhow::Result<()> {
        for path in &self.report {
            let written = match words::ending_of(path, &["pdf"], "--report") {
                Ok(_) => {
                    let pdf = report_pdf(&format!("{machine} and measured data"), report);
                    replace_file(path, |file| file.write_all(&pdf))
                }
                Err(_) => replace_file(path, |file| points(file, report)),
            };
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// Every point of every curve, and the output factors.
fn points(file: &mut impl io::Write, report: &Report) -> io::Result<()> {
    writeln!(
        file,
        "curve,position (mm),measured (%),computed (%),difference (%),region,distance to agreement (mm),within tolerance"
    )?;
    for curve in &report.curves {
        for p in &curve.points {
            let dta = p.dta_mm.map_or(String::new(), |mm| format!("{mm:.2}"));
            let within = p.within.map_or("", |w| if w { "yes" } else { "no" });
            let (measured, computed) = (p.measured_percent, p.computed_percent);
            writeln!(
                file,
                "{},{:.2},{measured:.3},{computed:.3},{:.3},{},{dta},{within}",
                csv_cell(&curve.label),
                p.position_mm,
                computed - measured,
                p.region.word()
            )?;
        }
    }
    for f in &report.output_factors {
        let (label, within) = (
            format!("output factor {} x {} mm", f.field_mm[0], f.field_mm[1]),
            if f.within { "yes" } else { "no" },
        );
        let [measured, computed] = [100.0 * f.measured, 100.0 * f.computed];
        writeln!(file, "{label},,{measured:.3},{computed:.3},{:.3},,,{within}", f.difference_percent)?;
    }
    Ok(())
}

fn tell_report(said: &mut String, json: &mut Value, report: &Report, remarks: &[String], data: &DataArgs) {
    let wide = report.curves.iter().map(|c| c.label.chars().count()).max().unwrap_or(0).max(5);
    if !report.curves.is_empty() {
        let _ = writeln!(said, "computed - measured, % of the maximum (depth doses) or the axis (profiles):");
        let _ = writeln!(
            said,
            "{:wide$}  {:>6}  {:>8}  {:>11}  {:>7}  outside",
            "curve", "mean", "greatest", "high dose *", "DTA mm"
        );
    }
    report.curves.iter().for_each(|curve| row(said, curve, wide));
    if report.curves.iter().any(|c| c.high_dose_percent.is_some()) {
        let _ = writeln!(said, "* greatest, % of the local dose");
    }
    for f in &report.output_factors {
        let [x, y] = f.field_mm;
        let _ = writeln!(
            said,
            "output factor {x} x {y} mm: measured {:.4}, computed {:.4}, {:+.2} %",
            f.measured, f.computed, f.difference_percent
        );
    }
    let outside = report.outside();
    let _ = writeln!(said, "tolerances: {}", tolerances());
    match outside.is_empty() {
        true => said.push_str("all within tolerance\n"),
        false => outside.iter().for_each(|line| {
            let _ = writeln!(said, "OUTSIDE: {line}");
        }),
    }
    remarks.iter().for_each(|remark| {
        let _ = writeln!(said, "remark: {remark}");
    });
    data.report.iter().for_each(|path| {
        let _ = writeln!(said, "report written to {}", path.display());
    });
    if let Some(all) = json.as_object_mut() {
        all.insert("curves".to_owned(), json!(report.curves));
        all.insert("output_factors".to_owned(), json!(report.output_factors));
        all.insert("tolerances".to_owned(), json!(tolerances()));
        all.insert("within_tolerance".to_owned(), json!(report.is_within()));
        all.insert("outside".to_owned(), json!(outside));
        all.insert("quality".to_owned(), json!(data.sampling().quality));
        all.insert("remarks".to_owned(), json!(remarks));
        all.insert("report".to_owned(), json!(data.report));
    }
}

fn row(said: &mut String, curve: &CurveReport, wide: usize) {
    let or_dash = |value: Option<f64>, text: fn(f64) -> String| value.map_or_else(|| "-".to_owned(), text);
    let _ = writeln!(
        said,
        "{:wide$}  {:>+6.2}  {:>+8.2}  {:>11}  {:>7}  {} of {}",
        curve.label,
        curve.mean_percent,
        curve.greatest_percent,
        or_dash(curve.high_dose_percent, |v| format!("{v:+.2}")),
        or_dash(curve.dta_mm, |v| format!("{v:.1}")),
        curve.outside,
        curve.judged
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_by_name() {
        assert_eq!(parameter("focal-x"), Ok(Parameter::FocalX));
        assert!(parameter("focal").unwrap_err().contains("extra-focal-share"));
    }
}
