//! `beamsight dvh`: metrics and curves of the structures of a case in a dose.

use super::outputs::{OutputArgs, Outputs};
use super::plan_args::{DoseBy, PlanArgs};
use super::scorecard::{self, Scorecard};
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput, doses};
use analysis::{Dvh, DvhError, Metric, NoValue, dvh_csv, dvhs_of};
use anyhow::{Context as _, anyhow};
use case::{Case, Dose, Structure};
use engine::{DeviceChoice, JobControl};
use files::replace_file;
use open::read_dose;
use results::patient_grid;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Metrics: Dmin, Dmean, Dmax; D95% and D0.03cc, the dose that the hottest 95 % or 0.03 cm3 get at least, Gy; V20Gy and \
V95%, the volume that gets 20 Gy or 95 % of the prescription, in percent of the structure; CI, the conformity index of Paddick (2000); HI, \
the homogeneity index (D2% - D98%) / D50% of ICRU 83; gEUD(a=8), the generalised equivalent uniform dose of Niemierko (1999), Gy. A \
volume in cm3 is V20Gy[cc], a dose in percent of the prescription D95%[%]. What cannot be said is null, with the reason in a remark. \
Percent are of the volume that lies inside the dose grid; how much does not is stated.\n\n\
Examples:\n  \
beamsight dvh demo:thorax --dose plan --grid 5 --quality fast\n  \
beamsight dvh ~/ct/patient-7 --dose RD.1.dcm --structure PTV --metrics D95%,D0.03cc,CI --json\n  \
beamsight dvh demo:thorax --dose plan --goals quantec-thorax\n  \
beamsight dvh demo:tg119 --dose dose.mha --prescription 50 --metrics V95%,HI --out dvh.csv"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    /// The dose: an RTDOSE file, a .mha in Gy, or `plan`: the dose of the case's plan is computed
    #[arg(long, value_name = "FILE|plan")]
    dose: PathBuf,

    /// Only this structure; may be given several times; left out: all
    #[arg(long, value_name = "NAME")]
    structure: Vec<String>,

    /// Metrics with commas between [default: D98%,D95%,D50%,D2%,Dmean,Dmin,Dmax]
    #[arg(long, value_name = "LIST", value_parser = metrics)]
    metrics: Option<MetricList>,

    /// Goals to hold the dose against: a template (.toml), or a shipped one by its word, like quantec-thorax; left out: the goals
    /// of the session, if any
    #[arg(long, value_name = "FILE|WORD")]
    goals: Option<String>,

    /// The 100 % dose, Gy; left out: what the plan prescribes
    #[arg(long, value_name = "GY", value_parser = words::positive)]
    prescription: Option<f64>,

    /// Take a dose of a patient with another ID, too
    #[arg(long)]
    any_patient: bool,

    #[command(flatten)]
    plan: PlanArgs,

    /// File to write: .csv the curves, .json the metrics
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Metrics with the spelling of the request.
#[derive(Clone, Debug)]
struct MetricList(Vec<(String, Metric)>);

fn metrics(list: &str) -> Result<MetricList, String> {
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    // No metric begins with a digit: the list was split at a decimal comma.
    let mut further = words.iter().skip(1);
    if let Some(decimals) = further.find(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(format!(
            "',{decimals}' follows a decimal comma; numbers of metrics have a point, like D0.03cc, and commas stand between metrics"
        ));
    }
    let metrics = words.into_iter().map(|word| {
        let metric = word.parse::<Metric>().map_err(|e| e.to_string())?;
        Ok((word.to_owned(), metric))
    });
    metrics.collect::<Result<_, String>>().map(MetricList)
}

/// A structure with its DVH and its metrics.
struct StructureRow<'a> {
    structure: &'a Structure,
    dvh: Result<Dvh, DvhError>,
    /// In the order of the request.
    values: Vec<Option<f64>>,
    remarks: Vec<String>,
    /// Why its metrics decide nothing.
    doubt: Option<String>,
}

/// # Errors
/// Contradicting options and unknown structures; doses that cannot be read or computed; files that cannot be
/// written.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    let ending = args
        .out
        .as_deref()
        .map(|out| words::ending(out, &["csv", "json"]))
        .transpose()?;
    let computes = args.dose.as_os_str() == "plan";
    if let Some(option) = args.plan.computing.of_computing().filter(|_| !computes) {
        return Err(Failure::Words(format!(
            "{option} says how --dose plan is computed; leave it out with a file"
        )));
    }
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", &args.out);
    outputs.reads_case(&args.case.case);
    outputs.reads("--dose", (!computes).then_some(&args.dose));
    args.goals
        .iter()
        .for_each(|word| outputs.reads_word("--goals", word));
    args.plan.reads(&mut outputs);
    outputs.check()?;
    device.check()?;
    args.plan.check()?;
    let file = if computes {
        None
    } else {
        Some(read_dose(&args.dose)?)
    };
    let case = args.case.open()?;
    let goals = scorecard::goals_of(&case, args.goals.as_deref())?;
    let mut structures = structures(args, &case)?;
    let asked_for = structures.len();
    for structure in goals
        .iter()
        .flat_map(|card| scorecard::structures_of(&case, &card.goals))
    {
        if !structures
            .iter()
            .any(|listed| listed.number == structure.number)
        {
            structures.push(structure);
        }
    }
    let mut remarks = Vec::new();
    let (dose, computed, prescription) = match file {
        Some(mut file) => {
            doses::check(&mut file, &case, args.any_patient)?;
            remarks.extend(doses::remarks_of(&file));
            (file.dose, None, args.plan.prescription_gy(&case)?)
        }
        None => {
            let plan = args.plan.plan(&case)?;
            let result =
                args.plan
                    .computing
                    .compute(&case, plan, DoseBy::collapsed_cone(device))?;
            remarks.extend(result.remarks.iter().cloned());
            let prescription = result
                .plan
                .prescription_gy
                .ok_or("the plan does not say what is prescribed");
            let with_matter = args.plan.computing.with_matter_outside(
                &case,
                (&result, goals.as_ref()),
                DoseBy::collapsed_cone(device),
            )?;
            (
                result.dose.clone(),
                Some((result, with_matter)),
                prescription,
            )
        }
    };
    let prescription = args.prescription.map_or(prescription, Ok);
    let grid = match patient_grid(&case) {
        Some((grid, _)) => grid,
        None => {
            remarks.push(
                "the case has no images: of the structures only what lies in the dose grid counts"
                    .to_owned(),
            );
            Arc::clone(dose.gy.grid())
        }
    };
    let metrics_asked = args.metrics.clone().unwrap_or_else(|| {
        MetricList(
            Metric::USUAL
                .into_iter()
                .map(|metric| (metric.to_string(), metric))
                .collect(),
        )
    });
    let mut dvhs = dvhs_of(structures, &grid, &dose, &JobControl::new())?;
    let hundred_gy = prescription.ok();
    let goals = goals.map(|goals| match &computed {
        Some((result, Some(with_matter))) => {
            Scorecard::of_plan(&case, goals, (result, Some(with_matter)), hundred_gy)
        }
        _ => Scorecard::new(&case, goals, &dose, &dvhs, hundred_gy),
    });
    dvhs.truncate(asked_for);
    let rows: Vec<StructureRow<'_>> = dvhs
        .into_iter()
        .map(|(structure, dvh)| StructureRow {
            doubt: case.structures.doubt(structure),
            ..tell_of(structure, dvh, &metrics_asked, prescription)
        })
        .collect();
    let json = json!({
        "case": case.source,
        "dose": dose.label,
        "status": dose.status,
        "caveats": dose.caveats,
        "prescription_gy": prescription.ok(),
        "units": metrics_asked.0.iter().map(|(word, m)| (word.clone(), m.unit().symbol().into())).collect::<Map<_, _>>(),
        "structures": rows.iter().map(|row| row.json(&metrics_asked)).collect::<Vec<_>>(),
        "goals": goals.as_ref().map(Scorecard::json),
        "remarks": remarks,
        "out": args.out,
    });
    let mut text = table(&dose, prescription.ok(), &metrics_asked, &rows);
    text += &goals.as_ref().map(Scorecard::text).unwrap_or_default();
    remarks
        .iter()
        .for_each(|remark| _ = writeln!(text, "note: {remark}"));
    if rows.iter().all(|row| row.dvh.is_err()) {
        return Err(Failure::Checks(VerbOutput {
            json,
            text: text + "error: no structure has a DVH in this dose\n",
        }));
    }
    if let (Some(out), Some(ending)) = (&args.out, ending) {
        let content = if ending == "csv" {
            curves(&dose, &rows)
        } else {
            format!("{json:#}\n")
        };
        outputs.write(|| {
            replace_file(out, |file| file.write_all(content.as_bytes()))
                .with_context(|| format!("cannot write {}", out.display()))
        })?;
        let _ = writeln!(
            text,
            "written to {} ({})",
            out.display(),
            dose.status_text()
        );
    }
    Ok(VerbOutput { json, text })
}

/// The requested structures, else all drawn ones.
fn structures<'a>(args: &Args, case: &'a Case) -> Result<Vec<&'a Structure>, Failure> {
    let set = &case.structures;
    let drawn: Vec<&Structure> = set
        .structures
        .iter()
        .filter(|s| !s.contours.is_empty())
        .collect();
    if drawn.is_empty() {
        return Err(anyhow!(
            "{} has no structure with contours; add the folder with its RTSTRUCT",
            case.source
        )
        .into());
    }
    if args.structure.is_empty() {
        return Ok(drawn);
    }
    let mut named: Vec<&Structure> = Vec::new();
    for name in &args.structure {
        let structure = set.by_name(name).ok_or_else(|| {
            let names: Vec<&str> = drawn.iter().map(|s| s.name.as_str()).collect();
            Failure::Words(format!(
                "{} has no structure '{name}'; it has {}",
                case.source,
                names.join(", ")
            ))
        })?;
        if !named.iter().any(|listed| listed.number == structure.number) {
            named.push(structure);
        }
    }
    Ok(named)
}

/// The metrics of a structure; for one without a value, the reason.
fn tell_of<'a>(
    structure: &'a Structure,
    dvh: Result<Dvh, DvhError>,
    metrics_asked: &MetricList,
    prescription: Result<f64, &str>,
) -> StructureRow<'a> {
    let mut remarks = match &dvh {
        Ok(dvh) => dvh.remarks(),
        Err(why) => vec![why.to_string()],
    };
    let values = metrics_asked.0.iter().map(|(word, metric)| {
        match dvh.as_ref().ok()?.metric(*metric, prescription.ok()) {
            Ok(value) => Some(value),
            Err(NoValue::NoHundred) => {
                let why = prescription.err().unwrap_or("there is no prescription");
                remarks.push(format!("{word}: {why}; give it with --prescription GY"));
                None
            }
            Err(why) => {
                remarks.push(format!("{word}: {why}"));
                None
            }
        }
    });
    let values = values.collect();
    StructureRow {
        structure,
        dvh,
        values,
        remarks,
        doubt: None,
    }
}

impl StructureRow<'_> {
    fn json(&self, metrics_asked: &MetricList) -> Value {
        let metrics: Map<String, Value> = metrics_asked
            .0
            .iter()
            .zip(&self.values)
            .map(|((word, _), value)| (word.clone(), json!(value)))
            .collect();
        let dvh = self.dvh.as_ref().ok();
        json!({
            "name": self.structure.name,
            "volume_cm3": dvh.map(Dvh::volume_cm3),
            "outside_percent": dvh.map(Dvh::outside_percent)
                .or((self.dvh == Err(DvhError::Outside)).then_some(100.0)),
            "metrics": metrics,
            "remarks": self.remarks,
            "undecided": self.doubt,
        })
    }
}

/// The metrics as a table, a row a structure.
fn table(
    dose: &Dose,
    prescription_gy: Option<f64>,
    metrics_asked: &MetricList,
    structures: &[StructureRow<'_>],
) -> String {
    let hundred = prescription_gy.map_or(String::new(), |gy| format!(", 100 % is {gy:.2} Gy"));
    let mut text = format!("{} ({}){hundred}\n", dose.label, dose.status_text());
    let mut rows = vec![vec!["structure".to_owned(), "cm3".to_owned()]];
    rows[0].extend(metrics_asked.0.iter().map(|(word, metric)| {
        let head = format!("{word} {}", metric.unit().symbol());
        head.trim_end().to_owned()
    }));
    for row in structures {
        let volume_cm3 = row.dvh.as_ref().ok().map(Dvh::volume_cm3);
        let cm3 = volume_cm3.map_or("-".to_owned(), |cm3| format!("{cm3:.2}"));
        let values = row
            .values
            .iter()
            .map(|value| value.map_or("-".to_owned(), |v| format!("{v:.3}")));
        let cells = [row.structure.name.clone(), cm3];
        rows.push(cells.into_iter().chain(values).collect());
    }
    let widths = (0..rows[0].len()).map(|column| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    });
    let widths: Vec<usize> = widths.collect();
    for row in &rows {
        let _ = write!(text, "  {:<width$}", row[0], width = widths[0]);
        row.iter()
            .zip(&widths)
            .skip(1)
            .for_each(|(cell, width)| _ = write!(text, "  {cell:>width$}"));
        text.push('\n');
    }
    for row in structures {
        row.remarks
            .iter()
            .for_each(|remark| _ = writeln!(text, "note: {}: {remark}", row.structure.name));
        row.doubt.iter().for_each(|why| {
            _ = writeln!(
                text,
                "note: {}: its metrics decide nothing: {why}",
                row.structure.name
            )
        });
    }
    text
}

/// The curves of the structures that have one.
fn curves(dose: &Dose, rows: &[StructureRow<'_>]) -> String {
    let with = rows
        .iter()
        .filter_map(|row| Some((row.structure.name.as_str(), row.dvh.as_ref().ok()?)));
    dvh_csv(&dose.status_with_remarks(), &with.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_metrics() {
        let MetricList(list) = metrics("d95 %, V20Gy[cc]").unwrap();
        let words: Vec<&str> = list.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words, ["d95 %", "V20Gy[cc]"]);
        for (list, says) in [
            ("D0,03cc", "decimal comma"),
            ("Dmean,gEUD(a=0,5)", "decimal comma"),
            ("Dmean,", "'' is no metric"),
            ("D95%;Dmean", "is no metric"),
        ] {
            let why = metrics(list).unwrap_err();
            assert!(why.contains(says), "{list}: {why}");
        }
    }
}
