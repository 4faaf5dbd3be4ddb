//! `beamsight render`: the window, drawn into a file.

use super::dose::histories;
use super::outputs::{OutputArgs, Outputs};
use super::words;
use super::{Failure, VerbOutput};
use analysis::BodyWord;
use anyhow::{Context as _, anyhow};
use app::feature::compare::state::Layout;
use app::feature::register::state::{Mode, Pair};
use app::state::ViewKind;
use app::state::Workspace;
use app::state::display::WashOf;
use app::state::results::{EndsAt, EngineChoice};
use app::{CompareOptions, Compared, DoseWord, OneView, Options, RegisterOptions, picture};
use case::{DoseEngine, Pose, status_text};
use engine::DeviceChoice;
use files::{Temporary, ThemeChoice, plan_toml, replace_file};
use geometry::PatientPosition;
use glam::DVec3;
use open::CaseWord;
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Timeout of the picture: a full dose of many beams on two cores is slow, but a hanging job must still end.
pub const PATIENCE: Duration = Duration::from_secs(3600);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Waits until everything in the window is computed. Needs no display, only a graphics driver; the \
software one of Mesa will do (on Debian: apt-get install libvulkan1 mesa-vulkan-drivers).\n\n\
Examples:\n  \
beamsight render demo:thorax --out shot.png\n  \
beamsight render ~/ct/patient-7 --plan plan.toml --workspace plan --size 1600x1000 --out shot.png\n  \
beamsight render demo:thorax --report plan.pdf --out shot.png\n  \
beamsight render demo:thorax --view room --out room.png\n  \
beamsight render demo:thorax --engine mccs --histories 5e6 --out shot.png\n  \
beamsight render ~/ct/patient-7 --workspace compare --a dose:1 --b plan --layout gamma --out shot.png"
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

    /// With plan: one view alone, axial, sagittal, coronal, bev (the beam's eye) or room
    #[arg(long, value_name = "VIEW", value_parser = one_view)]
    view: Option<OneView>,

    /// With register: an X-ray (RT image, DX, CR, XA, PNG, TIFF), or a second one from another side
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,

    /// With register: a pair of X-rays made up from the CT
    #[arg(long, conflicts_with = "image")]
    made_up: bool,

    /// With register: where the patient is, tx,ty,tz,rx,ry,rz in mm and degrees
    #[arg(long, value_name = "POSE")]
    pose: Option<Pose>,

    /// With register: blend, colours, checkerboard, swipe, spyglass, difference, edges, xray or drr
    #[arg(long, value_name = "MODE")]
    overlay: Option<Mode>,

    /// With register: the two colours of --overlay colours, red-cyan or orange-blue
    #[arg(long, value_name = "PAIR")]
    pair: Option<Pair>,

    /// With register: bone dark, as on film
    #[arg(long)]
    bone_dark: bool,

    /// Width and height in points: pixels, at --scale 1
    #[arg(long, value_name = "WxH", default_value = "1600x1000", value_parser = size)]
    size: [u32; 2],

    /// Pixels a point, 0.5 to 4: 2 draws the same window twice as fine, as on a HiDPI screen
    #[arg(long, value_name = "F", default_value = "1", value_parser = words::within(0.5, 4.0))]
    scale: f64,

    /// Theme of the panels, dark or light; images and plots are dark in both
    #[arg(long, value_name = "THEME", default_value = "dark", value_parser = theme)]
    theme: ThemeChoice,

    #[command(flatten)]
    dose: DoseArgs,

    #[command(flatten)]
    compare: CompareArgs,

    /// Picture to write (.png)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

/// How the dose on show is computed and drawn.
#[derive(Debug, clap::Args)]
struct DoseArgs {
    /// Engine of the first plan; left out: the session's engine, else cccs
    #[arg(long, value_name = "ENGINE", value_parser = words::engines())]
    engine: Option<DoseEngine>,

    /// With mccs or mc: photons to run, like 5e7
    #[arg(long, value_name = "N", value_parser = histories, conflicts_with = "uncertainty")]
    histories: Option<u64>,

    /// With mccs or mc: run until the mean standard deviation of voxels above half the maximum is this, percent [default: 1]
    #[arg(long, value_name = "PERCENT", value_parser = words::within(0.1, 10.0))]
    uncertainty: Option<f64>,

    /// With mccs or mc: equal seeds give equal doses
    #[arg(long, value_name = "N", value_parser = words::whole::<u64>)]
    seed: Option<u64>,

    /// Spacing of the dose grid, mm [default: 2.5]
    #[arg(long, value_name = "MM", value_parser = words::grid)]
    grid: Option<f64>,

    /// Outside of it nothing counts: auto (found in the CT), none (everything counts) or the name of a structure; left
    /// out: the body that is drawn, else auto
    #[arg(long, value_name = "BODY")]
    body: Option<BodyWord>,

    /// Values of the colourwash: the dose, or with mccs and mc its uncertainty
    #[arg(long, value_name = "WHAT", default_value = "dose", value_parser = wash_of)]
    wash: WashOf,
}

impl DoseArgs {
    /// # Errors
    /// Monte Carlo options without Monte Carlo, and values that the window does not offer.
    fn engine(&self) -> anyhow::Result<Option<EngineChoice>> {
        let engine = self.engine.unwrap_or_default();
        let has_histories =
            self.histories.is_some() || self.uncertainty.is_some() || self.seed.is_some();
        anyhow::ensure!(
            engine.is_statistical() || !has_histories,
            "{}",
            words::needs_histories("--histories, --uncertainty and --seed are options")
        );
        let default = EngineChoice::default();
        let choice = EngineChoice {
            engine,
            ends_at: if self.histories.is_some() {
                EndsAt::Histories
            } else {
                EndsAt::Uncertainty
            },
            uncertainty_percent: self.uncertainty.unwrap_or(default.uncertainty_percent),
            histories_million: self
                .histories
                .map_or(default.histories_million, |n| n as f64 * 1e-6),
            seed: self.seed.unwrap_or(default.seed),
            ..default
        };
        anyhow::ensure!(
            choice.sound() == choice,
            "the window runs to an uncertainty of 0.1 to 10 %, or 1e4 to 1e11 histories"
        );
        Ok(self.engine.map(|_| choice))
    }
}

fn wash_of(word: &str) -> Result<WashOf, String> {
    match word {
        "dose" => Ok(WashOf::Dose),
        "uncertainty" => Ok(WashOf::Uncertainty),
        _ => Err("it is dose or uncertainty".to_owned()),
    }
}

/// Arguments of the Compare workspace.
#[derive(Debug, clap::Args)]
struct CompareArgs {
    /// Dose A: plan, plan:N, dose:N (from 1), or a file (RTDOSE, .mha in Gy)
    #[arg(long, value_name = "DOSE")]
    a: Option<DoseWord>,

    /// Dose B, likewise
    #[arg(long, value_name = "DOSE")]
    b: Option<DoseWord>,

    /// side-by-side, swipe, checkerboard, spyglass, flicker, difference or gamma
    #[arg(long, value_name = "LAYOUT", value_parser = layout)]
    layout: Option<Layout>,

    /// axial, sagittal or coronal
    #[arg(long, value_name = "PLANE", value_parser = plane)]
    plane: Option<ViewKind>,

    /// Point where the planes meet, patient LPS, mm
    #[arg(long, value_name = "X,Y,Z", value_parser = words::position)]
    at: Option<DVec3>,

    /// Report to write beside the picture: of the plan (.pdf), or of the comparison (.pdf, .csv, .json)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl CompareArgs {
    /// `report` is the path at which the window writes it.
    fn choice(&self, report: Option<PathBuf>) -> CompareOptions {
        CompareOptions {
            sides: [self.a.clone(), self.b.clone()],
            layout: self.layout.unwrap_or_default(),
            plane: self.plane,
            at_mm: self.at,
            report,
        }
    }

    fn is_used(&self) -> bool {
        let views = self.layout.is_some() || self.plane.is_some() || self.at.is_some();
        views || self.a.is_some() || self.b.is_some()
    }
}

fn layout(word: &str) -> Result<Layout, String> {
    let layout = Layout::ALL.into_iter().find(|layout| {
        let name = layout.name().to_lowercase().replace(' ', "-");
        name == word || name.trim_end_matches("-map") == word
    });
    layout.ok_or_else(|| {
        "it is side-by-side, swipe, checkerboard, spyglass, flicker, difference or gamma".to_owned()
    })
}

fn plane(word: &str) -> Result<ViewKind, String> {
    let planes = [ViewKind::Axial, ViewKind::Sagittal, ViewKind::Coronal];
    let plane = planes
        .into_iter()
        .find(|p| p.name().eq_ignore_ascii_case(word));
    plane.ok_or_else(|| "it is axial, sagittal or coronal".to_owned())
}

fn one_view(word: &str) -> Result<OneView, String> {
    match word {
        "room" => Ok(OneView::Room),
        "bev" => Ok(OneView::Of(ViewKind::Bev)),
        _ => plane(word)
            .map(OneView::Of)
            .map_err(|_| "it is axial, sagittal, coronal, bev or room".to_owned()),
    }
}

fn workspace(word: &str) -> Result<Workspace, String> {
    Workspace::ALL
        .into_iter()
        .find(|w| w.name().eq_ignore_ascii_case(word))
        .ok_or_else(|| "it is plan, compare or register".to_owned())
}

fn theme(word: &str) -> Result<ThemeChoice, String> {
    match word {
        "dark" => Ok(ThemeChoice::Dark),
        "light" => Ok(ThemeChoice::Light),
        _ => Err("it is dark or light".to_owned()),
    }
}

fn size(word: &str) -> Result<[u32; 2], String> {
    let sides: Option<Vec<u32>> = word.split('x').map(|w| w.parse().ok()).collect();
    match sides.as_deref() {
        Some(&[width, height])
            if (320..=16_384).contains(&width) && (240..=16_384).contains(&height) =>
        {
            Ok([width, height])
        }
        _ => Err(
            "it is width x height in points, like 1600x1000, from 320x240 to 16384x16384"
                .to_owned(),
        ),
    }
}

/// The initial options of the Register workspace.
fn register(args: &Args) -> anyhow::Result<Option<RegisterOptions>> {
    let choice = RegisterOptions {
        images: args.image.clone(),
        made_up: args.made_up,
        pose: args.pose,
        mode: args.overlay,
        pair: args.pair,
        bone_dark: args.bone_dark,
    };
    if args.workspace != Workspace::Register {
        anyhow::ensure!(
            choice == RegisterOptions::default(),
            "--image, --made-up, --pose, --overlay, --pair and --bone-dark belong to --workspace register"
        );
        return Ok(None);
    }
    let max_images = app::feature::register::state::MOST_IMAGES;
    anyhow::ensure!(
        args.image.len() <= max_images,
        "--image is given {} times; {max_images} at most",
        args.image.len()
    );
    Ok(Some(choice))
}

fn outputs(args: &Args) -> Outputs {
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", [&args.out]);
    outputs.file("--report", &args.compare.report);
    outputs.reads_case(&args.case);
    outputs.reads("the plan", &args.plan);
    outputs.reads("an X-ray", &args.image);
    for dose in [&args.compare.a, &args.compare.b].into_iter().flatten() {
        if let DoseWord::File(path) = dose {
            outputs.reads("a dose", [path]);
        }
    }
    outputs
}

/// The report as the window writes it: a temporary file until the picture exists too.
struct StagedReport(Option<(Temporary, PathBuf)>);

impl StagedReport {
    fn new(args: &CompareArgs) -> anyhow::Result<Self> {
        let Some(report) = &args.report else {
            return Ok(Self(None));
        };
        let folder = report
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let staged = Temporary::folder_in(folder)
            .with_context(|| format!("cannot write {}", report.display()))?;
        Ok(Self(Some((staged, report.clone()))))
    }

    fn path(&self) -> Option<PathBuf> {
        self.0
            .as_ref()
            .map(|(staged, report)| staged.path().join(report.file_name().unwrap_or_default()))
    }

    /// The window's message about it, with its final name.
    fn with_final_path(&self, text: &str) -> String {
        match (self.path(), &self.0) {
            (Some(staged_path), Some((_, report))) => {
                let report = report.display().to_string();
                // The window names files from the root.
                let absolute =
                    std::path::absolute(&staged_path).unwrap_or_else(|_| staged_path.clone());
                let text = text.replace(&absolute.display().to_string(), &report);
                text.replace(&staged_path.display().to_string(), &report)
            }
            _ => text.to_owned(),
        }
    }

    fn put_in_place(&self) -> anyhow::Result<()> {
        let (Some(path), Some((_, report))) = (self.path(), &self.0) else {
            return Ok(());
        };
        let written = std::fs::read(path)
            .and_then(|bytes| replace_file(report, |file| file.write_all(&bytes)));
        written.with_context(|| format!("cannot write {}", report.display()))
    }
}

/// # Errors
/// A case or plan that does not open, no graphics driver, a file that cannot be written.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    words::ending(&args.out, &["png"])?;
    if args.workspace != Workspace::Compare && args.compare.is_used() {
        let text = "--a, --b, --layout, --plane and --at belong to --workspace compare";
        return Err(Failure::Words(text.to_owned()));
    }
    if args.workspace == Workspace::Register && args.compare.report.is_some() {
        return Err(Failure::Words(
            "--report belongs to --workspace plan or compare".to_owned(),
        ));
    }
    if args.workspace != Workspace::Plan && args.view.is_some() {
        return Err(Failure::Words(
            "--view belongs to --workspace plan".to_owned(),
        ));
    }
    if let Some(report) = &args.compare.report {
        let of_plan = args.workspace == Workspace::Plan;
        words::ending_of(
            report,
            if of_plan {
                &["pdf"]
            } else {
                &report::comparison::ENDINGS
            },
            "--report",
        )?;
    }
    let outputs = outputs(args);
    outputs.check()?;
    device.check()?;
    if let Some(path) = &args.plan {
        plan_toml::read(path, PatientPosition::default())?;
    }
    let start = Instant::now();
    let staged = StagedReport::new(&args.compare)?;
    let options = Options {
        case: Some(args.case.to_string()),
        plan: args.plan.clone(),
        workspace: args.workspace,
        engine: args.dose.engine()?,
        body: args.dose.body.clone(),
        grid_mm: args.dose.grid,
        wash_of: args.dose.wash,
        plan_report: staged.path().filter(|_| args.workspace == Workspace::Plan),
        view: args.view,
        compare: (args.workspace == Workspace::Compare).then(|| args.compare.choice(staged.path())),
        device,
        register: register(args)?,
        state_folder: None,
        access_tree: None,
        theme: Some(args.theme),
    };
    let size_px = args
        .size
        .map(|points| (f64::from(points) * args.scale).round() as u32);
    let shot = picture(options, size_px, args.scale as f32, PATIENCE)
        .map_err(|e| anyhow!(staged.with_final_path(&e.to_string())))?;
    outputs.write(|| {
        staged.put_in_place()?;
        write_png(&args.out, &shot.picture)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let mut text = format!(
        "{} drawn into {} in {seconds:.1} s\n",
        args.case,
        args.out.display()
    );
    if let Some(status) = shot.status {
        let certainty = shot
            .certainty
            .as_ref()
            .map(|c| format!(", Monte Carlo {c}"))
            .unwrap_or_default();
        text += &format!("dose: {}{certainty}\n", status_text(status, &shot.caveats));
    }
    if let Some(Compared {
        doses: [a, b],
        note,
    }) = &shot.compared
    {
        text += &format!("A: {} ({})\nB: {} ({})\n", a.0, a.1, b.0, b.1);
        text += &note
            .iter()
            .map(|n| format!("note: {n}\n"))
            .collect::<String>();
    }
    if let Some(report) = &args.compare.report {
        text += &format!("report: {}\n", report.display());
    }
    let notices: Vec<String> = shot
        .notices
        .iter()
        .map(|notice| staged.with_final_path(notice))
        .collect();
    for notice in &notices {
        text += &format!("note: {notice}\n");
    }
    let json = json!({
        "case": args.case.to_string(),
        "out": args.out,
        "size": size_px,
        "scale": args.scale,
        "dose_status": shot.status,
        "caveats": shot.caveats,
        "certainty": shot.certainty,
        "compared": shot.compared,
        "report": args.compare.report,
        "notices": notices,
        "seconds": seconds,
    });
    Ok(VerbOutput { json, text })
}

/// # Errors
/// Errors of the file system.
pub fn write_png(path: &Path, picture: &app::render::offscreen::Picture) -> anyhow::Result<()> {
    replace_file(path, |file| picture.write_png(file))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_name_the_report_where_it_will_be() {
        let folder = Temporary::folder_in(Path::new(".")).unwrap();
        let staged = StagedReport(Some((folder, PathBuf::from("plan.pdf"))));
        let report = std::path::absolute(staged.path().unwrap()).unwrap();
        assert_eq!(
            staged.with_final_path(&format!("Saved {}.", report.display())),
            "Saved plan.pdf."
        );
    }
}
