//! `beamsight demo`: the built-in cases, as DICOM files for any system.

use super::{Answer, Failure};
use crate::files::{demo, plan_toml};
use crate::open::write_demo;
use anyhow::{Context as _, bail};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
beamsight demo                         list the built-in cases\n  \
beamsight demo thorax --out chest      write CT, structures and plan into the folder chest\n  \
beamsight chest                        open them like any other case\n  \
beamsight demo:thorax                  the same without writing anything yourself")]
pub struct Args {
    /// water, slab, tg119 or thorax; left out: list them
    name: Option<String>,

    /// Folder to write into: made where it is missing, refused where it is not empty
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// # Errors
/// An unknown name, no folder to write to, a folder in use, whatever writing says.
pub fn run(args: &Args) -> Result<Answer, Failure> {
    let Some(name) = &args.name else { return Ok(list()) };
    // Also as the window takes it.
    let name = name.strip_prefix("demo:").unwrap_or(name);
    let plan = demo::plan(name).map_err(|e| Failure::Words(e.to_string()))?;
    let Some(folder) = &args.out else {
        return Err(Failure::Words(format!("name a folder to write to: beamsight demo {name} --out DIR")));
    };
    let files = write(name, folder)?;
    let plan_file = folder.join("plan.toml");
    plan_toml::write(&plan_file, &plan)?;
    let mut text =
        format!("demo:{name}: {files} DICOM files and plan.toml written to {}\n", folder.display());
    let _ = write!(text, "open them with: beamsight {}", folder.display());
    Ok(Answer { json: json!({ "demo": name, "folder": folder, "files": files, "plan": plan_file }), text })
}

fn list() -> Answer {
    let mut text = String::new();
    for (name, what) in demo::DEMOS {
        let _ = writeln!(text, "demo:{name:<8} {what}");
    }
    let demos: Vec<_> =
        demo::DEMOS.iter().map(|(name, what)| json!({ "name": name, "what": what })).collect();
    Answer { json: json!({ "demos": demos }), text }
}

fn write(name: &str, folder: &Path) -> anyhow::Result<usize> {
    std::fs::create_dir_all(folder).with_context(|| {
        format!("cannot make the folder {}; choose one you may write to with --out", folder.display())
    })?;
    let mut entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot look into {}", folder.display()))?;
    if entries.next().is_some() {
        bail!(
            "the folder {} is not empty, and two cases in one folder cannot be told apart; name a new one with --out",
            folder.display()
        );
    }
    Ok(write_demo(name, folder, &|_| true)?)
}
