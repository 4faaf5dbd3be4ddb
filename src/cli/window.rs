//! The program without a verb: the window, or its main job where there is no display.

use super::outputs::{OutputArgs, Outputs};
use super::render::{PATIENCE, write_png};
use super::{Failure, VerbOutput, misspelt, words};
use analysis::{BodyChoice, DEFAULT_GRID_MM, PlanFigures};
use anyhow::{Context as _, anyhow};
use app::render::offscreen::OffscreenError;
use app::{Options, RunError, ShotError, has_display, picture};
use engine::dose::{DoseTo, Quality};
use engine::{DeviceChoice, JobControl};
use files::{is_taken, state_folder};
use open::{CaseWord, OpenOptions, open};
use physics::HuTable;
use results::{PlanJob, compute_plan};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The case that is drawn where there is no display to show the first page on.
const DEFAULT_CASE: &str = "demo:thorax";

/// Size of the picture, pixels.
const SIZE: [u32; 2] = [1600, 1000];

/// Opens the window and returns when it is closed.
///
/// # Errors
/// Wrong arguments; failures of the window, or of the work without one.
pub fn run(
    case: Option<String>,
    out: Option<PathBuf>,
    access_tree: Option<PathBuf>,
    output: OutputArgs,
    device: DeviceChoice,
) -> Result<Option<VerbOutput>, Failure> {
    device.check()?;
    let named = case.clone();
    let case: CaseWord = case
        .as_deref()
        .unwrap_or(DEFAULT_CASE)
        .parse()
        .map_err(|e| Failure::Words(format!("{e}")))?;
    if let Some(message) = misspelt::neither(&case) {
        return Err(Failure::Words(message));
    }
    if has_display() {
        // Without a CASE the first page stays until the user opens one: recent cases, demos, the tour.
        let case = named.map(|_| case.to_string());
        let options = Options {
            case,
            device,
            state_folder: state_folder(),
            access_tree,
            ..Options::default()
        };
        match app::run(options) {
            Ok(()) => return Ok(None),
            Err(RunError::NoDisplay) => {}
            Err(error) => {
                platform::tell_without_console(&error.to_string());
                return Err(error.into());
            }
        }
    }
    let out = out.unwrap_or_else(free_name);
    words::ending(&out, &["png"])?;
    let mut outputs = Outputs::new(output);
    outputs.file("--out", [&out]);
    outputs.reads_case(&case);
    outputs.check()?;
    eprintln!(
        "No display was found: {case} is computed and drawn into {} instead of a window.",
        out.display()
    );
    without_display(
        &case,
        &out,
        &outputs,
        device,
        &device.resolve()?.to_string(),
    )
    .map(Some)
}

fn without_display(
    case: &CaseWord,
    out: &Path,
    outputs: &Outputs,
    device: DeviceChoice,
    computing: &str,
) -> Result<VerbOutput, Failure> {
    let start = Instant::now();
    let options = Options {
        case: Some(case.to_string()),
        device,
        ..Options::default()
    };
    let (figures, drawn, trouble) = match picture(options, SIZE, 1.0, PATIENCE) {
        Ok(shot) => {
            outputs.write(|| write_png(out, &shot.picture))?;
            (shot.figures, true, None)
        }
        // Without a graphics driver the figures are still computed.
        Err(ShotError::Offscreen(error @ OffscreenError::NoDevice(_))) => {
            (Some(figures(case, device)?), false, Some(error.to_string()))
        }
        Err(error) => return Err(error.into()),
    };
    let figures = figures.ok_or_else(|| {
        anyhow!("{case} has no plan with a dose to print; open one that has, or demo:thorax")
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let mut text = format!("{figures}\n  whole run {seconds:.1} s on {computing}\n");
    match &trouble {
        None => text += &format!("picture of the workspace written to {}\n", out.display()),
        Some(why) => text += &format!("no picture: {why}\n"),
    }
    let json = json!({
        "case": case.to_string(),
        "display": false,
        "device": computing,
        "figures": figures,
        "seconds": seconds,
        "out": drawn.then_some(out),
        "no_picture": trouble,
    });
    Ok(VerbOutput { json, text })
}

/// The first free name of `beamsight.png`, `beamsight-2.png`, ...: a picture under a default name replaces no
/// file.
fn free_name() -> PathBuf {
    let numbered = (2..10_000).map(|n| format!("beamsight-{n}.png"));
    let mut names = std::iter::once("beamsight.png".to_owned())
        .chain(numbered)
        .map(PathBuf::from);
    names
        .find(|name| !is_taken(name))
        .unwrap_or_else(|| PathBuf::from("beamsight.png"))
}

/// The figures of the case's first plan, computed without the window's renderer.
fn figures(case: &CaseWord, device: DeviceChoice) -> anyhow::Result<PlanFigures> {
    let case = open(case, OpenOptions::default(), &|_| true)?;
    let plan = case.plans.first().with_context(|| case.no_plan())?;
    let job = PlanJob {
        ct: words::ct_of(&case)?,
        structures: Arc::clone(&case.structures),
        remarks: case.remarks.clone(),
        plan: (**plan).clone(),
        body: BodyChoice::default(),
        hu_table: HuTable::DEFAULT.to_owned(),
        grid_mm: DEFAULT_GRID_MM,
        quality: Quality::default(),
        dose_to: DoseTo::default(),
        device,
        engine: analysis::Engine::default(),
        parts: None,
    };
    Ok(compute_plan(&job, &JobControl::new(), &super::tell)?.figures)
}
