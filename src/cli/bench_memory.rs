//! `beamsight bench memory`: memory of the program at rest, at the peak, and after a case is closed.

use super::{Answer, Failure};
use engine::bench::memory::lines;
use engine::{Compute, JobControl};
use serde_json::json;
use std::fmt::Write as _;

/// # Errors
/// A failing device.
pub fn run(device: &Compute) -> Result<Answer, Failure> {
    let lines = lines(device, &JobControl::new())?;
    let mut text = format!(
        "memory on {device}, MiB\n{:<16} {:>9} {:>9} {:>8} {:>8}\n",
        "after", "resident", "peak", "caches", "cards"
    );
    for line in &lines {
        let mib = |bytes: u64| format!("{:.0}", bytes as f64 / f64::from(1 << 20));
        let [now, most] = line.resident.map_or_else(|| ["-"; 2].map(str::to_owned), |both| both.map(mib));
        let [host, cards] = [line.kept.host_bytes, line.kept.card_bytes].map(|bytes| mib(bytes as u64));
        let _ = writeln!(text, "{:<16} {now:>9} {most:>9} {host:>8} {cards:>8}", line.step);
    }
    let rows: Vec<_> = lines
        .iter()
        .map(|line| {
            json!({
                "after": line.step,
                "resident_bytes": line.resident.map(|r| r[0]),
                "peak_bytes": line.resident.map(|r| r[1]),
                "cache_bytes": line.kept.host_bytes,
                "card_bytes": line.kept.card_bytes,
            })
        })
        .collect();
    Ok(Answer { json: json!({ "job": "memory", "device": device.to_string(), "rows": rows }), text })
}
