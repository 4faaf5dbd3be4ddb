//! `beamsight bench all`: every table on every device, and a page that holds them beside the papers.

use super::super::selftest::devices;
use super::super::{Answer, Failure, chain, tell};
use super::{Args, DRR, FRAME, GAMMA, LIVE, MCCS, MEMORY, REGISTER, STROKE};
use engine::DeviceChoice;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A table, and its cases that the CPU has done within a minute or two; none: all.
const TABLES: [(&str, &[&str]); 10] = [
    ("path", &["A"]),
    ("cccs", &["clinical"]),
    (MCCS, &["phantom"]),
    (DRR, &["slices", "ap"]),
    (GAMMA, &["table1-L"]),
    (REGISTER, &["two", "part"]),
    (MEMORY, &[]),
    (LIVE, &[]),
    (FRAME, &[]),
    (STROKE, &[]),
];
/// Tables of the window, which are made once.
const OF_THE_WINDOW: [&str; 3] = [LIVE, FRAME, STROKE];
/// Registrations on the CPU.
const STARTS: u32 = 20;

/// A figure beside a paper's.
struct Peer {
    case: String,
    ms: f64,
    paper_ms: f64,
    on: &'static str,
}

/// # Errors
/// No table at all. A table that fails is named, and the others are made.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<Answer, Failure> {
    let (mut text, mut tables, mut failed) = (String::new(), Vec::new(), Vec::new());
    let devices = devices(choice, &mut text);
    let best = devices.last().copied().unwrap_or_default();
    for device in &devices {
        let on_cpu = !device.is_for_a_card();
        for (job, on_the_cpu) in TABLES {
            if OF_THE_WINDOW.contains(&job) && *device != best {
                continue;
            }
            tell(&format!("{job} on {}", if on_cpu { "the CPU" } else { "a card" }));
            let fewer = if job == REGISTER { STARTS } else { 1 };
            let asked = Args {
                job: job.to_owned(),
                cases: on_the_cpu.iter().filter(|_| on_cpu).map(|&case| case.to_owned()).collect(),
                runs: args.runs.or(on_cpu.then_some(fewer)),
                ct: args.ct.clone(),
                minutes: args.minutes,
                works: false,
            };
            match super::run(&asked, *device) {
                Ok(Answer { json, text: table }) => {
                    let _ = writeln!(text, "{table}");
                    tables.push(json);
                }
                Err(Failure::Words(why)) => failed.push((job, why)),
                Err(Failure::Work(error)) => failed.push((job, chain(&error))),
                Err(
                    Failure::Checks(Answer { text: why, .. })
                    | Failure::NotJudged(Answer { text: why, .. })
                    | Failure::NoMatch(Answer { text: why, .. }),
                ) => {
                    failed.push((job, why));
                }
            }
        }
    }
    let Some(first) = failed.first().filter(|_| tables.is_empty()) else {
        let json = json!({
            "tables": tables,
            "summary": tables.iter().flat_map(summary_json).collect::<Vec<_>>(),
            "failed": failed.iter().map(|(job, why)| json!({ "job": job, "why": why })).collect::<Vec<_>>(),
        });
        text += &page(&tables, &failed);
        return Ok(Answer { json, text });
    };
    Err(anyhow::anyhow!("{}: {}", first.0, first.1).into())
}

fn device_of(table: &Value) -> (&str, &str) {
    let word = |key: &str| table[key].as_str().unwrap_or_default();
    (word("job"), word("device"))
}

/// The rows of a table that stand beside a paper's.
fn peers(table: &Value) -> Vec<Peer> {
    let (job, device) = device_of(table);
    let on_cpu = device.starts_with("cpu");
    let rows = table["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    let peer = |row: &Value| {
        let number = |key: &str| row[key].as_f64();
        let (case, way) = match job {
            DRR => ("view", "pixels"),
            GAMMA => ("case", "method"),
            MCCS => ("case", "variant"),
            _ => ("case", "way"),
        };
        let case = format!("{} {}", row[case].as_str()?, row[way].to_string().trim_matches('"'));
        let (ms, paper_ms, on) = match job {
            "path" => (number("ms")?, number("paper_ms")?, "de Greef 2009, GTX 280"),
            "cccs" => (number("ms")?, number("paper_ms")?, "Xiao 2012, Tesla C2050"),
            DRR => (number("us")? * 1e-3, number("paper_us")? * 1e-3, "Tornai 2012, GTX 580"),
            GAMMA if on_cpu => (number("ms")?, number("paper_cpu_s")? * 1e3, "Gu 2010, Xeon 2.27 GHz"),
            GAMMA => (number("ms")?, number("paper_gpu_s")? * 1e3, "Gu 2010, Tesla C1060"),
            // The paper's are of 80 batches.
            MCCS if on_cpu => {
                (number("ms_per_672000")?, number("paper_quad_core_s")? * 1e3 / 80.0, "Zhou 2010, quad-core")
            }
            MCCS => (number("ms_per_672000")?, number("paper_gtx260_s")? * 1e3 / 80.0, "Zhou 2010, GTX 260"),
            _ => return None,
        };
        Some(Peer { case, ms, paper_ms, on })
    };
    rows.iter().filter_map(peer).collect()
}

fn summary_json(table: &Value) -> Vec<Value> {
    let (job, device) = device_of(table);
    let row = |peer: Peer| {
        let Peer { case, ms, paper_ms, on } = peer;
        json!({
            "job": job, "device": device, "case": case.trim(), "ms": ms, "paper_ms": paper_ms, "paper": on,
            "ratio": paper_ms / ms,
        })
    };
    peers(table).into_iter().map(row).collect()
}

fn page(tables: &[Value], failed: &[(&str, String)]) -> String {
    let mut text = format!(
        "beamsight {}: each job beside its paper, ms\n{:<6} {:<34} {:<22} {:>11} {:>11} {:>8}  paper\n",
        env!("CARGO_PKG_VERSION"),
        "job",
        "device",
        "case",
        "ours",
        "paper",
        "ratio"
    );
    for table in tables {
        let (job, device) = device_of(table);
        for Peer { case, ms, paper_ms, on } in peers(table) {
            let ratio = paper_ms / ms;
            let _ = writeln!(
                text,
                "{job:<6} {device:<34} {:<22} {ms:>11.3} {paper_ms:>11.0} {ratio:>8.1}  {on}",
                case.trim()
            );
        }
    }
    for (job, why) in failed {
        let _ = writeln!(text, "{job}: not timed: {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_the_papers_time_over_ours() {
        let table =
            |job: &str, device: &str, row: Value| json!({ "job": job, "device": device, "rows": [row] });
        let gamma = json!({ "case": "table1-H2", "method": "bounded", "ms": 2.0, "paper_gpu_s": 7.56, "paper_cpu_s": 245.34 });
        let on_card = &summary_json(&table(GAMMA, "cuda:0 NVIDIA H200", gamma.clone()))[0];
        assert_eq!(
            (on_card["ratio"].as_f64(), &on_card["paper"]),
            (Some(3780.0), &json!("Gu 2010, Tesla C1060"))
        );
        let on_cpu = &summary_json(&table(GAMMA, "cpu (2 threads)", gamma))[0];
        assert_eq!(on_cpu["paper_ms"].as_f64(), Some(245_340.0));
        // 80 batches in 63 s.
        let mccs = json!({ "case": "phantom", "variant": "own", "ms_per_672000": 7.875, "paper_gtx260_s": 63.0, "paper_quad_core_s": 713.0 });
        assert_eq!(summary_json(&table(MCCS, "cuda:0", mccs))[0]["ratio"].as_f64(), Some(100.0));
        assert!(
            summary_json(&table("path", "cpu", json!({ "case": "A-I", "ms": 1.0, "paper_ms": null })))
                .is_empty()
        );
    }
}
