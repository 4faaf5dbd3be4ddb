//! `beamsight machine`: a machine fitted to measured water-tank data, or compared with them.

use super::outputs::{OutputArgs, Outputs};
use super::plan_args::quality;
use super::{Failure, VerbOutput, tell, words};
use analysis::machine_fit::{
    COLUMNS, CurveReport, FitContext, FitJob, FitSettings, FittedMachine, LOCAL, Report, Sampling,
    TankFiles, Verdict, compare_files, parameter_line, tolerances,
};
use anyhow::Context as _;
use engine::dose::Quality;
use engine::{DeviceChoice, JobControl};
use files::replace_file;
use physics::Parameter;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
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
Curves, output factors and dose per MU that do not agree within published tolerances, and parameters that stop at the end of \
their range, are named, and the exit code is 1; the file is written all the same and says it too. What no data test is said to be \
not tested. Parameters to --fix: spectrum-slope, spectrum-filter, off-axis-50, off-axis-100, \
off-axis-150, off-axis-200, softening, focal-x, focal-y, extra-focal-share, extra-focal-sigma, electron-share, \
electron-falloff, electron-sigma, leaf-offset. The forms of the files stand in the guide.\n\n\
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
    after_help = "Measured data that a machine was not fitted to say how good it is. Exit code 1 where a curve, an output factor or the dose \
per MU does not agree within published tolerances, 3 where the data test nothing.\n\n\
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
    let mut parameters = Parameter::ALL.into_iter();
    parameters.find(|p| p.word() == word).ok_or_else(|| {
        let words = Parameter::ALL.map(Parameter::word);
        format!("it is one of {}", words.join(", "))
    })
}

/// # Errors
/// Files that cannot be read or written, data that cannot be fitted; curves outside their tolerance.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    match &args.what {
        What::Fit(args) => run_fit(args, device),
        What::Check(args) => run_check(args, device),
    }
}

fn run_fit(args: &FitArgs, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    words::ending(&args.out, &["toml"])?;
    let mut outputs = args.data.outputs(&args.start)?;
    outputs.file("--out", [&args.out]);
    outputs.check()?;
    let compute = device.resolve()?;
    let context = FitContext {
        device: &compute,
        control: &JobControl::new(),
        tell: &tell,
    };
    let settings = FitSettings {
        last: args.data.sampling(),
        ..FitSettings::default()
    };
    let (start, fixed) = (args.start.clone(), args.fix.clone());
    let fitted = FitJob {
        start,
        files: args.data.files(),
        fixed,
        settings,
    }
    .run(&context)?;
    let FittedMachine {
        fit, report, read, ..
    } = &fitted;
    let text = fitted.text(&args.out);
    outputs.write(|| {
        let written = replace_file(&args.out, |file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", args.out.display()))?;
        args.data
            .write_reports(&args.out.display().to_string(), report)
    })?;
    let parameters: Vec<Value> = fit.parameters.iter().map(|p| {
        json!({ "parameter": p.parameter.word(), "unit": p.parameter.unit(), "start": p.start, "value": p.value,
            "uncertainty": p.uncertainty, "standing": p.standing })
    }).collect();
    let mut said = format!(
        "{} fitted to measured data in {} rounds, {} doses\n",
        args.start, fit.rounds, fit.doses
    );
    fit.parameters.iter().for_each(|p| {
        let _ = writeln!(said, "{}", parameter_line(p));
    });
    let mut json = json!({
        "start": args.start,
        "parameters": parameters,
        "rounds": fit.rounds,
        "doses": fit.doses,
        "weighed_squares": fit.cost,
        "out": args.out,
    });
    tell_report(&mut said, &mut json, report, &read.remarks, &args.data);
    let _ = writeln!(said, "written to {}", args.out.display());
    ended(report, VerbOutput { json, text: said })
}

fn run_check(args: &CheckArgs, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    let outputs = args.data.outputs(&args.machine)?;
    outputs.check()?;
    let compute = device.resolve()?;
    let context = FitContext {
        device: &compute,
        control: &JobControl::new(),
        tell: &tell,
    };
    let (report, read) = compare_files(
        &args.machine,
        &args.data.files(),
        &args.data.sampling(),
        &context,
    )?;
    outputs.write(|| args.data.write_reports(&args.machine, &report))?;
    let (mut said, mut json) = (
        format!("{}\n", args.machine),
        json!({ "machine": args.machine }),
    );
    tell_report(&mut said, &mut json, &report, &read.remarks, &args.data);
    ended(&report, VerbOutput { json, text: said })
}

fn ended(report: &Report, answer: VerbOutput) -> Result<VerbOutput, Failure> {
    match report.verdict() {
        Verdict::Within | Verdict::WithinWhereTested => Ok(answer),
        Verdict::NotTested => Err(Failure::NotJudged(answer)),
        Verdict::Outside => Err(Failure::Checks(answer)),
    }
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
        Sampling {
            quality: self.quality.unwrap_or_default(),
            ..Sampling::FULL
        }
    }

    fn files(&self) -> TankFiles {
        let Self {
            pdd,
            profiles,
            output_factors,
            ..
        } = self;
        TankFiles {
            pdd: pdd.clone(),
            profiles: profiles.clone(),
            output_factors: output_factors.clone(),
        }
    }

    fn write_reports(&self, machine: &str, compared: &Report) -> anyhow::Result<()> {
        for path in &self.report {
            report::machine::write(path, machine, compared)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

fn tell_report(
    said: &mut String,
    json: &mut Value,
    report: &Report,
    remarks: &[String],
    data: &DataArgs,
) {
    if !report.curves.is_empty() {
        let _ = writeln!(
            said,
            "computed - measured, % of the maximum (depth doses) or the axis (profiles):"
        );
        let rows: Vec<[String; 7]> = report.curves.iter().map(CurveReport::cells).collect();
        let wide = rows
            .iter()
            .map(|row| row[0].chars().count())
            .max()
            .unwrap_or(0)
            .max(5);
        said.push_str(&row(COLUMNS, wide));
        rows.iter()
            .for_each(|cells| said.push_str(&row(cells.each_ref().map(String::as_str), wide)));
    }
    if report.curves.iter().any(|c| c.high_dose_percent.is_some()) {
        let _ = writeln!(said, "{LOCAL}");
    }
    report.output_factors.iter().for_each(|f| {
        let _ = writeln!(said, "{}", f.words());
    });
    if let Some(calibration) = &report.calibration {
        let _ = writeln!(said, "{}", calibration.words());
    }
    let (outside, not_tested) = (report.outside(), report.not_tested());
    let _ = writeln!(said, "tolerances: {}", tolerances());
    let _ = writeln!(said, "{}", report.verdict_words());
    outside.iter().for_each(|line| {
        let _ = writeln!(said, "OUTSIDE: {line}");
    });
    not_tested.iter().for_each(|line| {
        let _ = writeln!(said, "NOT TESTED: {line}");
    });
    remarks.iter().for_each(|remark| {
        let _ = writeln!(said, "remark: {remark}");
    });
    data.report.iter().for_each(|path| {
        let _ = writeln!(said, "report written to {}", path.display());
    });
    if let Some(object) = json.as_object_mut() {
        object.insert("curves".to_owned(), json!(report.curves));
        object.insert("output_factors".to_owned(), json!(report.output_factors));
        object.insert("calibration".to_owned(), json!(report.calibration));
        object.insert("verdict".to_owned(), json!(report.verdict()));
        object.insert("not_tested".to_owned(), json!(not_tested));
        object.insert("tolerances".to_owned(), json!(tolerances()));
        object.insert("within_tolerance".to_owned(), json!(report.is_within()));
        object.insert("outside".to_owned(), json!(outside));
        object.insert("quality".to_owned(), json!(data.sampling().quality));
        object.insert("remarks".to_owned(), json!(remarks));
        object.insert("report".to_owned(), json!(data.report));
    }
}

fn row([curve, mean, rms, greatest, high_dose, dta, outside]: [&str; 7], wide: usize) -> String {
    format!(
        "{curve:wide$}  {mean:>6}  {rms:>5}  {greatest:>8}  {high_dose:>11}  {dta:>7}  {outside}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_by_name() {
        assert_eq!(parameter("focal-x"), Ok(Parameter::FocalX));
        assert!(
            parameter("focal")
                .unwrap_err()
                .contains("extra-focal-share")
        );
    }
}
