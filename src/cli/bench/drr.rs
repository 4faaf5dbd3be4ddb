//! `beamsight bench drr`: the table of Tornai 2012, on this machine.

use super::{Args, Failure, Peer, VerbOutput, number};
use engine::drr::Integrator;
use engine::drr::bench::{Block, Line, Report, report};
use engine::drr::cuda::Launch;
use engine::{Compute, DeviceChoice, JobControl};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub const CASES: &str = "slices, ap, gantry30, gold, blocks";
pub const PEER: Peer = Peer {
    case: ["view", "pixels"],
    times_ms: |row, _| {
        Some((
            1e-3 * number(row, "us")?,
            1e-3 * number(row, "paper_us")?,
            "Tornai 2012, GTX 580",
        ))
    },
};

/// # Errors
/// A failing device; unknown cases.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let device = choice.resolve_for_cuda()?;
    let options = args.options(&device);
    let report = report(&device, &options, &JobControl::new())?;
    if report.lines.is_empty() && report.blocks.is_empty() {
        let words = format!(
            "no case of drr is named {}; there are {CASES}",
            options.cases.join(", ")
        );
        return Err(Failure::Words(words));
    }
    Ok(VerbOutput {
        json: as_json(&report, &device),
        text: as_text(&report, &device, options.runs),
    })
}

fn way(integrator: Integrator) -> String {
    match integrator {
        Integrator::Exact => "exact".to_owned(),
        Integrator::Trilinear { step_mm } | Integrator::Texture { step_mm } => {
            format!(
                "{} {}",
                integrator.word(),
                step_mm.map_or("half voxel".to_owned(), |mm| format!("{mm} mm"))
            )
        }
    }
}

fn as_text(report: &Report, device: &Compute, runs: usize) -> String {
    let timed = match device {
        Compute::Cpu | Compute::Wgpu(_) => {
            "of the processor on one thread, call us by the clock on all"
        }
        Compute::Cuda(_) => "of the kernel, call us with poses sent and integrals brought back",
    };
    let mut text = format!(
        "drr on {device}: 400x225 (40000: 200x200) of 750x750 pixels of 0.4 mm, a trunk of 512x512x72 voxels (0.521, 0.521, \
         1.25 mm; gold: 512x512x825, 0.566, 0.566, 0.4 mm)\nview slices: along the slices' normal, the paper's; ap: from the \
         front; gantry30: the reference pose, all others within 20 mm and 15 degrees, new at each of {runs} runs\nus an image: \
         mean and standard deviation, {timed}; bs: threads of a block x threads a ray, tile; naive: blocks of 256 in a row\n\
         looking through the volume once: {:.1} ms\n",
        report.prepare_ms
    );
    if !report.lines.is_empty() {
        let _ = writeln!(
            text,
            "{:<12} {:<20} {:>7} {:>5} {:>7} {:>10} {:>8} {:>10} {:>12} {:>10} {:>8} | {:>8} {:>4} {:>8} {:>6}",
            "view",
            "way",
            "pixels",
            "batch",
            "samples",
            "us",
            "sd",
            "call us",
            "bs",
            "naive us",
            "G/s",
            "580 GTX",
            "bs",
            "naive",
            "ratio"
        );
    }
    for line in &report.lines {
        let _ = write!(
            text,
            "{:<12} {:<20} {:>7} {:>5} {:>7.0} {:>10.2} {:>8.2} {:>10.1} {:>12} {:>10} {:>8.2}",
            line.case,
            way(line.integrator),
            line.pixels,
            line.batch,
            line.samples,
            line.us,
            line.sd_us,
            line.call_us,
            line.launch.map_or_else(String::new, |l| format!(
                "{}x{} {}",
                l.threads, l.lanes, l.tile_width
            )),
            line.naive_us
                .map_or_else(String::new, |us| format!("{us:.2}")),
            giga_samples(line),
        );
        let _ = match line.paper {
            Some((us, block, naive)) => {
                writeln!(
                    text,
                    " | {us:>8.0} {block:>4} {naive:>8.0} {:>6.1}",
                    us / line.us
                )
            }
            None => writeln!(text, " |"),
        };
    }
    blocks(&mut text, &report.blocks);
    text
}

/// Samples a second, air skipped among them, 1e9.
fn giga_samples(line: &Line) -> f64 {
    line.samples * line.pixels as f64 / line.us / 1e3
}

/// One row a number of pixels, one column a layout: the best of the tiles.
fn blocks(text: &mut String, blocks: &[Block]) {
    let mut sizes: Vec<usize> = blocks.iter().map(|b| b.pixels).collect();
    sizes.dedup();
    for pixels in sizes {
        let _ = write!(text, "blocks, {pixels:>5} pixels, us:");
        for lanes in Launch::LANES {
            for threads in [32, 64, 128, 256, 512] {
                let candidates = blocks.iter().filter(|b| {
                    (b.pixels, b.launch.lanes, b.launch.threads) == (pixels, lanes, threads)
                });
                if let Some(best) = candidates.min_by(|a, b| a.us.total_cmp(&b.us)) {
                    let _ = write!(
                        text,
                        " {threads}x{lanes} {:.2} ({})",
                        best.us, best.launch.tile_width
                    );
                }
            }
        }
        text.push('\n');
    }
}

fn as_json(report: &Report, device: &Compute) -> Value {
    let lines = report.lines.iter().map(|line| {
        json!({
            "view": line.case,
            "way": way(line.integrator),
            "pixels": line.pixels,
            "batch": line.batch,
            "samples_per_ray": line.samples,
            "us": line.us,
            "sd_us": line.sd_us,
            "call_us": line.call_us,
            "block": line.launch.map(|l| l.threads),
            "lanes": line.launch.map(|l| l.lanes),
            "tile_width": line.launch.map(|l| l.tile_width),
            "naive_us": line.naive_us,
            "paper_us": line.paper.map(|p| p.0),
            "paper_block": line.paper.map(|p| p.1),
            "paper_naive_us": line.paper.map(|p| p.2),
        })
    });
    let blocks = report.blocks.iter().map(|b| json!({ "pixels": b.pixels, "block": b.launch.threads, "lanes": b.launch.lanes, "tile_width": b.launch.tile_width, "us": b.us }));
    json!({
        "job": "drr",
        "device": device.to_string(),
        "prepare_ms": report.prepare_ms,
        "rows": lines.collect::<Vec<_>>(),
        "blocks": blocks.collect::<Vec<_>>(),
    })
}
