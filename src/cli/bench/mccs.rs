//! `beamsight bench mccs`: the cases of Zhou 2010.

use super::{Args, Failure, Peer, VerbOutput, number};
use engine::mccs::Variant;
use engine::mccs::bench::{Line, PAPER_BATCH, lines};
use engine::{Compute, DeviceChoice, JobControl};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub const CASES: &str = "phantom, lung1, lung2, linear";
pub const PEER: Peer = Peer {
    case: ["case", "variant"],
    times_ms: |row, is_cpu| {
        let (key, on) = if is_cpu {
            ("paper_quad_core_s", "Zhou 2010, quad-core")
        } else {
            ("paper_gtx260_s", "Zhou 2010, GTX 260")
        };
        // The paper's are of 80 batches.
        Some((
            number(row, "ms_per_672000")?,
            1e3 * number(row, key)? / 80.0,
            on,
        ))
    },
};

/// # Errors
/// A failing device; unknown cases.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let options = args.options(&choice.resolve_for_cuda()?);
    let devices = choice.resolve_all(true)?;
    let on = devices
        .iter()
        .map(Compute::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let lines = lines(&devices, &options, &JobControl::new(), &|line: &Line| {
        eprintln!("{} {:?}: {:.1} ms", line.case, line.variant, line.call_ms)
    })?;
    if lines.is_empty() {
        let names = options.cases.join(", ");
        return Err(Failure::Words(format!(
            "no case of mccs is named {names}; there are {CASES}"
        )));
    }
    let rows: Vec<Value> = lines.iter().map(as_json).collect();
    Ok(VerbOutput {
        json: json!({ "job": "mccs", "device": on, "rows": rows }),
        text: as_text(&lines, &on),
    })
}

fn way(variant: Variant) -> &'static str {
    match variant {
        Variant::Own => "own",
        Variant::Paper => "paper",
    }
}

fn as_text(lines: &[Line], device: &str) -> String {
    let mut text = format!(
        "mccs on {device}\n{:<8} {:<6} {:>9} {:>11} {:>9} {:>10} {:>9} {:>7} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8}\n",
        "case",
        "way",
        "voxels",
        "histories",
        "call ms",
        "histor. ms",
        "ms/672000",
        "sd %",
        "eq.6 %",
        "eq.7 %",
        "eq.8 %",
        "mean %",
        "GTX260 s",
        "quad s",
        "ratio",
        "ratio"
    );
    for line in lines {
        let [sd, voxel, relative, average, mean] = [
            line.uncertainty_percent,
            line.apart.map(|a| a.voxel),
            line.apart.map(|a| a.relative),
            line.apart.map(|a| a.average),
            line.apart.map(|a| a.mean_dose),
        ]
        .map(|percent| percent.map_or("-".to_owned(), |percent| format!("{percent:.2}")));
        // The paper's times are of 53.76 million histories, which are 80 batches.
        let [gpu_ratio, cpu_ratio] = line
            .paper_s
            .map(|seconds| seconds * 1e3 / 80.0 / line.batch_ms());
        let _ = writeln!(
            text,
            "{:<8} {:<6} {:>9} {:>11} {:>9.1} {:>10.1} {:>9.2} {:>7} {:>8} {:>8} {:>8} {:>8} {:>9.0} {:>9.0} {:>8.0} {:>8.0}",
            line.case,
            way(line.variant),
            line.voxels,
            line.histories,
            line.call_ms,
            line.ms,
            line.batch_ms(),
            sd,
            voxel,
            relative,
            average,
            mean,
            line.paper_s[0],
            line.paper_s[1],
            gpu_ratio,
            cpu_ratio,
        );
    }
    let _ = writeln!(
        text,
        "Zhou 2010: times of 53.76 million histories (80 batches of {PAPER_BATCH}); on its quad-core 8.91 s a batch. Between its two\n\
         implementations (Table 4: phantom, lung 1, lung 2): eq. 6 4.43 % (of the lungs our copy has less than eq. 8, which cannot be),\n\
         eq. 7 2.14, 1.12, 1.17 %, eq. 8 2.63, 1.28, 1.77 %; mean dose 0.21, 0.39, 0.43 %; standard deviation at the isocentre 1.34 to\n\
         1.81 % (its text). Ours: two runs with numbers of their own; sd: voxels above half the maximum."
    );
    text
}

fn as_json(line: &Line) -> Value {
    json!({
        "case": line.case,
        "variant": way(line.variant),
        "voxels": line.voxels,
        "histories": line.histories,
        "call_ms": line.call_ms,
        "histories_ms": line.ms,
        "ms_per_672000": line.batch_ms(),
        "uncertainty_percent": line.uncertainty_percent,
        "eq6_percent": line.apart.map(|a| a.voxel),
        "eq7_percent": line.apart.map(|a| a.relative),
        "eq8_percent": line.apart.map(|a| a.average),
        "mean_dose_percent": line.apart.map(|a| a.mean_dose),
        "paper_gtx260_s": line.paper_s[0],
        "paper_quad_core_s": line.paper_s[1],
    })
}
