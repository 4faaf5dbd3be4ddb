//! `beamsight bench all`: every table on every device, and a page that holds them beside the papers.

use super::{Args, Failure, JOBS, VerbOutput};
use crate::selftest::devices;
use crate::{chain, tell};
use engine::DeviceChoice;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A figure beside a paper's.
struct Beside {
    case: String,
    ms: f64,
    paper_ms: f64,
    on: &'static str,
}

/// # Errors
/// No table at all. A table that fails is named, and the others are made.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let (mut text, mut tables, mut failed) = (String::new(), Vec::new(), Vec::new());
    let devices = devices(choice, &mut text);
    let best = devices.last().copied().unwrap_or_default();
    for device in &devices {
        let on_cpu = !device.is_for_a_card();
        for job in &JOBS {
            if job.is_of_the_window && *device != best {
                continue;
            }
            tell(&format!(
                "{} on {}",
                job.name,
                if on_cpu { "the CPU" } else { "a card" }
            ));
            let (cases, runs) = job.on_the_cpu;
            let job_args = Args {
                job: job.name.to_owned(),
                cases: cases
                    .iter()
                    .filter(|_| on_cpu)
                    .map(|&case| case.to_owned())
                    .collect(),
                runs: args.runs.or(on_cpu.then_some(runs)),
                works: false,
                ..args.clone()
            };
            match (job.run)(&job_args, *device) {
                Ok(VerbOutput { json, text: table }) => {
                    let _ = writeln!(text, "{table}");
                    tables.push(json);
                }
                Err(Failure::Words(why)) => failed.push((job.name, why)),
                Err(Failure::Work(error)) => failed.push((job.name, chain(&error))),
                Err(
                    Failure::Checks(VerbOutput { text: why, .. })
                    | Failure::NotJudged(VerbOutput { text: why, .. })
                    | Failure::NoMatch(VerbOutput { text: why, .. }),
                ) => {
                    failed.push((job.name, why));
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
        return Ok(VerbOutput { json, text });
    };
    Err(anyhow::anyhow!("{}: {}", first.0, first.1).into())
}

fn device_of(table: &Value) -> (&str, &str) {
    let [job, device] = ["job", "device"].map(|key| table[key].as_str().unwrap_or_default());
    (job, device)
}

/// The rows of a table that stand beside a paper's.
fn peers(table: &Value) -> Vec<Beside> {
    let (name, device) = device_of(table);
    let Some(peer) = JOBS
        .iter()
        .find(|job| job.name == name)
        .and_then(|job| job.peer.as_ref())
    else {
        return Vec::new();
    };
    let rows = table["rows"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let peers = rows.iter().filter_map(|row| {
        let [case, way] = peer.case;
        let case = format!(
            "{} {}",
            row[case].as_str()?,
            row[way].to_string().trim_matches('"')
        );
        let (ms, paper_ms, on) = (peer.times_ms)(row, device.starts_with("cpu"))?;
        Some(Beside {
            case,
            ms,
            paper_ms,
            on,
        })
    });
    peers.collect()
}

fn summary_json(table: &Value) -> Vec<Value> {
    let (job, device) = device_of(table);
    let rows = peers(table).into_iter().map(|peer| {
        let Beside {
            case,
            ms,
            paper_ms,
            on,
        } = peer;
        json!({
            "job": job, "device": device, "case": case.trim(), "ms": ms, "paper_ms": paper_ms, "paper": on,
            "ratio": paper_ms / ms,
        })
    });
    rows.collect()
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
        for Beside {
            case,
            ms,
            paper_ms,
            on,
        } in peers(table)
        {
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

    fn table(job: &str, device: &str, row: Value) -> Value {
        json!({ "job": job, "device": device, "rows": [row] })
    }

    #[test]
    fn ratios_are_the_papers_time_over_ours() {
        let gamma = json!({ "case": "table1-H2", "method": "bounded", "ms": 2.0, "paper_gpu_s": 7.56, "paper_cpu_s": 245.34 });
        let on_card = &summary_json(&table("gamma", "cuda:0 NVIDIA H200", gamma.clone()))[0];
        assert_eq!(
            (on_card["ratio"].as_f64(), &on_card["paper"]),
            (Some(3780.0), &json!("Gu 2010, Tesla C1060"))
        );
        let on_cpu = &summary_json(&table("gamma", "cpu (2 threads)", gamma))[0];
        assert_eq!(on_cpu["paper_ms"].as_f64(), Some(245_340.0));
        // 80 batches in 63 s.
        let mccs = json!({ "case": "phantom", "variant": "own", "ms_per_672000": 7.875, "paper_gtx260_s": 63.0, "paper_quad_core_s": 713.0 });
        assert_eq!(
            summary_json(&table("mccs", "cuda:0", mccs))[0]["ratio"].as_f64(),
            Some(100.0)
        );
        assert!(
            summary_json(&table(
                "path",
                "cpu",
                json!({ "case": "A-I", "ms": 1.0, "paper_ms": null })
            ))
            .is_empty()
        );
    }
}
