//! Parts of a Monte Carlo run: one by itself, and the sums of all.

use super::super::outputs::Outputs;
use super::super::{Failure, VerbOutput};
use anyhow::Context as _;
use engine::JobControl;
use engine::histories::{PartTally, RunPart};
use files::replace_file;
use results::{PlanJob, compute_part};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs a part's histories and writes their sums.
pub fn run(
    part: RunPart,
    tally: Option<&Path>,
    job: &PlanJob,
    outputs: &Outputs,
) -> Result<VerbOutput, Failure> {
    let sums = compute_part(job, part, &JobControl::new())?;
    if let Some(path) = tally {
        outputs.write(|| {
            replace_file(path, |file| sums.write(file))
                .with_context(|| format!("cannot write {}", path.display()))
        })?;
    }
    let (on, seconds) = (sums.devices().join(" and "), sums.ms() * 1e-3);
    let text = format!(
        "part {part}: {:.2} million histories in {} batches, {seconds:.2} s on {on}\n",
        sums.histories() as f64 * 1e-6,
        sums.batches(),
    );
    let json = json!({
        "part": part, "histories": sums.histories(), "batches": sums.batches(), "device": on, "seconds": seconds,
        "tally": tally,
    });
    Ok(VerbOutput { json, text })
}

/// The sums of all parts together; `None` without any.
pub fn read(paths: &[PathBuf]) -> anyhow::Result<Option<Arc<PartTally>>> {
    let mut sum: Option<PartTally> = None;
    for path in paths {
        add_part(path, &mut sum).with_context(|| format!("--merge {}", path.display()))?;
    }
    Ok(sum.map(Arc::new))
}

fn add_part(path: &Path, sum: &mut Option<PartTally>) -> anyhow::Result<()> {
    let (file, _) = input::open(path)?;
    let held = input::held_bytes(&file.metadata()?);
    let part = PartTally::read(file, held)?;
    match sum {
        None => *sum = Some(part),
        Some(sum) => sum.add(&part)?,
    }
    Ok(())
}
