//! `beamsight render`: the window, drawn into a file.

use super::words;
use super::{Answer, Failure};
use crate::app::state::Workspace;
use crate::app::{Options, picture};
use crate::engine::Wish;
use crate::files::{plan_toml, replace_file};
use crate::geometry::PatientPosition;
use crate::open::CaseWord;
use anyhow::Context as _;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A full dose of many beams on two cores takes its time; a job that hangs must still end.
pub const PATIENCE: Duration = Duration::from_secs(3600);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Waits until everything in the window is computed. Needs no display, only a graphics driver; the \
software one of Mesa will do (apt-get install libvulkan1 mesa-vulkan-drivers).\n\n\
Examples:\n  \
beamsight render demo:thorax --out shot.png\n  \
beamsight render ~/ct/patient-7 --plan plan.toml --workspace plan --size 1600x1000 --out shot.png"
)]
pub struct Args {
    /// A folder of DICOM files, one file, a .mha volume in HU, a session, or demo:NAME
    #[arg(value_name = "CASE")]
    case: CaseWord,

    /// Plan file (.toml); left out: the case's own first plan
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// plan, compare or register
    #[arg(long, value_name = "WORKSPACE", default_value = "plan", value_parser = workspace)]
    workspace: Workspace,

    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1600x1000", value_parser = size)]
    size: [u32; 2],

    /// Picture to write (.png)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn workspace(word: &str) -> Result<Workspace, String> {
    Workspace::ALL
        .into_iter()
        .find(|w| w.name().eq_ignore_ascii_case(word))
        .ok_or_else(|| "it is plan, compare or register".to_owned())
}

fn size(word: &str) -> Result<[u32; 2], String> {
    let sides: Option<Vec<u32>> = word.split('x').map(|w| w.parse().ok()).collect();
    match sides.as_deref() {
        Some(&[width, height]) if (320..=16_384).contains(&width) && (240..=16_384).contains(&height) => {
            Ok([width, height])
        }
        _ => Err("it is width x height in pixels, like 1600x1000, from 320x240 to 16384x16384".to_owned()),
    }
}

/// # Errors
/// A case or plan that does not open, no graphics driver, a file that cannot be written.
pub fn run(args: &Args, device: Wish) -> Result<Answer, Failure> {
    words::ending(&args.out, &["png"])?;
    words::check_writable(&args.out)?;
    device.resolve()?;
    if let Some(path) = &args.plan {
        plan_toml::read(path, PatientPosition::default())?;
    }
    let start = Instant::now();
    let options = Options {
        case: Some(args.case.to_string()),
        plan: args.plan.clone(),
        workspace: args.workspace,
        device,
    };
    let shot = picture(options, args.size, PATIENCE)?;
    write_png(&args.out, &shot.picture)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut text = format!("{} drawn into {} in {seconds:.1} s\n", args.case, args.out.display());
    if let Some(status) = shot.status {
        text += &format!("dose: {status}\n");
    }
    for notice in &shot.notices {
        text += &format!("note: {notice}\n");
    }
    let json = json!({
        "case": args.case.to_string(),
        "out": args.out,
        "size": args.size,
        "dose_status": shot.status,
        "notices": shot.notices,
        "seconds": seconds,
    });
    Ok(Answer { json, text })
}

/// # Errors
/// What the file system says.
pub fn write_png(path: &Path, picture: &crate::app::offscreen::Picture) -> anyhow::Result<()> {
    replace_file(path, |file| picture.write_png(file))
        .with_context(|| format!("cannot write {}", path.display()))
}
