//! `beamsight bench gamma`: the tables of Gu 2010.

use super::{Args, Failure, Peer, VerbOutput, number};
use engine::gamma::bench::{Line, lines};
use engine::{Compute, DeviceChoice, JobControl};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub const CASES: &str = "table1-L1 ... table1-H4, table2-, table3-H2, figure2-H2";
pub const PEER: Peer = Peer {
    case: ["case", "method"],
    times_ms: |row, is_cpu| {
        let (key, on) = if is_cpu {
            ("paper_cpu_s", "Gu 2010, Xeon 2.27 GHz")
        } else {
            ("paper_gpu_s", "Gu 2010, Tesla C1060")
        };
        Some((number(row, "ms")?, 1e3 * number(row, key)?, on))
    },
};

/// # Errors
/// A failing device; unknown cases.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let device = choice.resolve()?;
    let options = args.options(&device);
    let lines = lines(&device, &options, &JobControl::new(), &|line: &Line| {
        eprintln!("{} {}: {:.2} ms", line.name(), line.criterion, line.ms)
    })?;
    if lines.is_empty() {
        let names = options.cases.join(", ");
        return Err(Failure::Words(format!(
            "no case of gamma is named {names}; there are {CASES}"
        )));
    }
    let rows: Vec<Value> = lines.iter().map(as_json).collect();
    let json =
        json!({ "job": "gamma", "device": device.to_string(), "runs": options.runs, "rows": rows });
    Ok(VerbOutput {
        json,
        text: as_text(&lines, options.runs, &device),
    })
}

/// The program's search; the paper's is timed by another bench.
const SEARCH: &str = "bounded";

fn as_text(lines: &[Line], runs: usize, device: &Compute) -> String {
    let mut text = format!(
        "gamma on {device}: median of {runs} runs\n{:<10} {:>11} {:>9} {:>6} {:<13} {:>8} {:>7} {:>6} {:>11} {:>9} {:>9} \
         {:>9} {:>9} {:>9} {:>8} {:>8} {:>7}\n",
        "case",
        "voxels",
        "criterion",
        "from %",
        "search",
        "points",
        "pass %",
        "worst",
        "sum gamma^3",
        "ms",
        "search ms",
        "us/point",
        "call ms",
        "again ms",
        "GPU s",
        "CPU s",
        "ratio"
    );
    for line in lines {
        let [nx, ny, nz] = line.size;
        let size = format!("{nx}x{ny}x{nz}");
        let criterion = format!(
            "{}%/{}mm",
            line.criterion.dose_percent, line.criterion.dta_mm
        );
        let _ = write!(
            text,
            "{:<10} {size:>11} {criterion:>9} {:>6} {:<13} {:>8} {:>7.2} {:>6.2} {:>11.4e} {:>9.3} {:>9.3} {:>9.5} {:>9.2} {:>9.2}",
            line.name(),
            line.threshold_percent,
            SEARCH,
            line.points,
            line.pass_rate_percent,
            line.most,
            line.sum_of_cubes,
            line.ms,
            line.search_ms,
            line.cpu_us_per_point,
            line.call_ms,
            line.again_ms,
        );
        let _ = match line.paper_s {
            Some([gpu, cpu]) => {
                let theirs = if matches!(device, Compute::Cpu) {
                    cpu
                } else {
                    gpu
                };
                writeln!(
                    text,
                    " {gpu:>8.2} {cpu:>8.2} {:>7.0}",
                    1e3 * theirs / line.ms
                )
            }
            None => writeln!(text),
        };
    }
    text += "GPU s, CPU s: the search in Gu 2010 (Tesla C1060, an Intel Xeon of 2.27 GHz); ratio: theirs on the like device \
             over ms; us/point: time of all the host's threads; call ms: with both doses new to the device, results on the host\n";
    text
}

fn as_json(line: &Line) -> Value {
    let [paper_gpu_s, paper_cpu_s] = [0, 1].map(|n| line.paper_s.map(|times| times[n]));
    json!({
        "case": line.name(),
        "size": line.size,
        "voxels": line.voxels(),
        "criterion": line.criterion,
        "threshold_percent": line.threshold_percent,
        "method": SEARCH,
        "points": line.points,
        "pass_rate_percent": line.pass_rate_percent,
        "max_gamma": line.most,
        "sum_of_gamma_cubed": line.sum_of_cubes,
        "ms": line.ms,
        "search_ms": line.search_ms,
        "cpu_us_per_point": line.cpu_us_per_point,
        "call_ms": line.call_ms,
        "again_ms": line.again_ms,
        "paper_gpu_s": paper_gpu_s,
        "paper_cpu_s": paper_cpu_s,
    })
}
