//! `beamsight bench register`: accuracy, capture range and time of registration.

use super::{Args, Failure, VerbOutput};
use crate::words;
use engine::{DeviceChoice, JobControl};
use open::{OpenOptions, open};
use registration::bench::{Bench, FAULTY, Line, Run, TRIALS, Trial};
use serde_json::json;
use std::fmt::Write as _;

/// Bins of start distances, mm.
const BINS: [[f64; 2]; 6] = [
    [0.0, 10.0],
    [10.0, 20.0],
    [20.0, 30.0],
    [30.0, 40.0],
    [40.0, 60.0],
    [60.0, f64::INFINITY],
];

pub fn cases() -> String {
    let trials: Vec<&str> = TRIALS.iter().chain(&FAULTY).map(|t| t.name).collect();
    trials.join(", ")
}

/// # Errors
/// A CASE without CT; unknown trials; a failing device.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let Args {
        ct,
        cases: names,
        runs,
        ..
    } = args;
    let starts = runs.unwrap_or(100) as usize;
    let faulty = FAULTY
        .iter()
        .filter(|trial| names.iter().any(|n| n == trial.name));
    let trials: Vec<Trial> = TRIALS
        .iter()
        .filter(|trial| names.is_empty() || names.iter().any(|name| name == trial.name))
        .chain(faulty)
        .copied()
        .collect();
    if trials.is_empty() {
        return Err(Failure::Words(format!(
            "the cases of register are {}",
            cases()
        )));
    }
    let device = choice.resolve_for_cuda()?;
    let case = open(ct, OpenOptions::default(), &|_| true)?;
    let ct = words::ct_of(&case)?;
    let control = JobControl::new();
    let bench = Bench::new(&ct, &device, &control).map_err(anyhow::Error::from)?;
    let mut text = format!(
        "2D/3D registration of {} on {device}: {starts} random starts round hidden poses; mTRE over targets of the body within \
         100 mm, found below 2 mm\n{:<14} {:>5} {:>9} {:>6} {:>7} {:>7} {:>8} {:>8} {:>8} {:>6}  found of starts by mTRE at the start, mm\n",
        case.source,
        "case",
        "views",
        "start",
        "found",
        "matches",
        "median",
        "95th",
        "s median",
        "s 95th",
        "DRRs"
    );
    let mut rows = Vec::new();
    for trial in trials {
        // Warms up the device: the first search includes one-time setup.
        bench
            .run(trial, 1, &device, &control, &|_| ())
            .map_err(anyhow::Error::from)?;
        let line = bench
            .run(trial, starts, &device, &control, &|_| ())
            .map_err(anyhow::Error::from)?;
        text += &in_words(&line);
        rows.push(as_json(&line));
    }
    Ok(VerbOutput {
        json: json!({ "job": "register", "device": device.to_string(), "case": case.source, "rows": rows }),
        text,
    })
}

fn in_words(line: &Line) -> String {
    let Trial {
        name,
        views,
        mm,
        deg,
        ..
    } = line.trial;
    let [hits, total] = line.found_from(0.0, f64::INFINITY);
    let [end_median, end_95] = [0.5, 0.95].map(|share| line.percentile(share, |r: &Run| r.end_mm));
    let [s_median, s_95] = [0.5, 0.95].map(|share| line.percentile(share, |r: &Run| r.seconds));
    let mut text = format!(
        "{name:<14} {views:>5} {:>9} {:>5.1}% {:>7} {:>7.3} {:>8.3} {:>8.3} {:>8.3} {:>6.0} ",
        format!("{mm},{deg}"),
        100.0 * hits as f64 / total.max(1) as f64,
        line.matches(),
        end_median,
        end_95,
        s_median,
        s_95,
        line.percentile(0.5, |r| r.drrs as f64),
    );
    for [low, high] in BINS {
        let [hits, total] = line.found_from(low, high);
        if total > 0 {
            let until = if high.is_finite() {
                format!("{high:.0}")
            } else {
                String::new()
            };
            let _ = write!(text, " {low:.0}-{until}: {hits}/{total}");
        }
    }
    text + "\n"
}

fn as_json(line: &Line) -> serde_json::Value {
    let Trial {
        name,
        views,
        mm,
        deg,
        share,
        metric,
        method,
        ..
    } = line.trial;
    let [hits, total] = line.found_from(0.0, f64::INFINITY);
    let bins: Vec<_> = BINS
        .iter()
        .map(|&[low, high]| {
            let [hits, total] = line.found_from(low, high);
            json!({ "from_mm": low, "to_mm": high.is_finite().then_some(high), "found": hits, "starts": total })
        })
        .collect();
    json!({
        "case": name,
        "views": views,
        "start_mm": mm,
        "start_deg": deg,
        "share": share,
        "metric": metric.word(),
        "method": method.word(),
        "found": hits,
        "matches": line.matches(),
        "runs": line.runs.iter().map(|r| json!({ "start_mm": r.start_mm, "end_mm": r.end_mm, "match": r.is_match,
            "image_metric": r.image_metric, "alone_mm": r.alone_mm, "again_mm": r.again_mm, "depth_mm": r.depth_mm,
            "depth_off_mm": r.depth_off_mm })).collect::<Vec<_>>(),
        "starts": total,
        "mtre_median_mm": line.percentile(0.5, |r| r.end_mm),
        "mtre_95_mm": line.percentile(0.95, |r| r.end_mm),
        "seconds_median": line.percentile(0.5, |r| r.seconds),
        "seconds_95": line.percentile(0.95, |r| r.seconds),
        "drrs_median": line.percentile(0.5, |r| r.drrs as f64),
        "by_start": bins,
    })
}
