//! `beamsight bench path` and `bench cccs`: tables of a job's time by voxel and direction.

use super::{Args, Failure, Peer, VerbOutput, number};
use engine::bench::{Options, Report};
use engine::{Compute, DeviceChoice, DeviceError, JobControl};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub const PEER_OF_PATH: Peer = Peer {
    case: ["case", "way"],
    times_ms: |row, _| {
        Some((
            number(row, "ms")?,
            number(row, "paper_ms")?,
            "de Greef 2009, GTX 280",
        ))
    },
};
pub const PEER_OF_CCCS: Peer = Peer {
    case: ["case", "way"],
    times_ms: |row, _| {
        Some((
            number(row, "ms")?,
            number(row, "paper_ms")?,
            "Xiao 2012, Tesla C2050",
        ))
    },
};

/// # Errors
/// A failing device; unknown cases.
pub fn run(
    args: &Args,
    choice: DeviceChoice,
    report: fn(&Compute, &Options, &JobControl) -> Result<Report, DeviceError>,
) -> Result<VerbOutput, Failure> {
    let device = choice.resolve()?;
    let options = args.options(&device);
    let report = report(&device, &options, &JobControl::new())?;
    if report.rows.is_empty() {
        return Err(Failure::Words(format!(
            "no case of {} is named {}",
            args.job,
            args.cases.join(", ")
        )));
    }
    Ok(VerbOutput {
        json: as_json(&report),
        text: as_text(&report, options.runs),
    })
}

fn as_text(report: &Report, runs: usize) -> String {
    let Report {
        job,
        device,
        copy_gb_per_s,
        rows,
    } = report;
    let mut text = format!(
        "{job} on {device}: median of {runs} runs; a large copy moves {copy_gb_per_s:.0} GB/s (read plus written)\n\
         {:<8} {:<8} {:>10} {:>5} {:>10} {:>9} {:>7} {:>6} {:>10} {:>10} {:>8}  measured on\n",
        "case",
        "way",
        "voxels",
        "dirs",
        "ms",
        "ns each",
        "GB/s",
        "share",
        "call ms",
        "paper ms",
        "ratio"
    );
    for row in rows {
        let _ = write!(
            text,
            "{:<8} {:<8} {:>10} {:>5} {:>10.4} {:>9.5} {:>7.0} {:>5.1}% {:>10.3}",
            row.case,
            row.way,
            row.voxels,
            row.directions,
            row.ms,
            row.ns_each(),
            row.gb_per_s(),
            100.0 * row.gb_per_s() / copy_gb_per_s,
            row.call_ms,
        );
        let _ = match row.paper {
            Some((ms, on)) => writeln!(text, " {ms:>10.0} {:>8.0}  {on}", ms / row.ms),
            None => writeln!(text),
        };
    }
    text
}

fn as_json(report: &Report) -> Value {
    let rows = report.rows.iter().map(|row| {
        json!({
            "case": row.case,
            "way": row.way,
            "voxels": row.voxels,
            "directions": row.directions,
            "ms": row.ms,
            "ns_per_voxel_and_direction": row.ns_each(),
            "gb_per_s": row.gb_per_s(),
            "share_of_copy": row.gb_per_s() / report.copy_gb_per_s,
            "call_ms": row.call_ms,
            "paper_ms": row.paper.map(|(ms, _)| ms),
            "paper_device": row.paper.map(|(_, on)| on),
            "ratio_to_paper": row.paper.map(|(ms, _)| ms / row.ms),
        })
    });
    let rows: Vec<Value> = rows.collect();
    json!({ "job": report.job, "device": report.device, "copy_gb_per_s": report.copy_gb_per_s, "rows": rows })
}
