//! `beamsight demo`: the built-in cases, as DICOM files for any system.

use super::outputs::{OutputArgs, Outputs};
use super::{Failure, VerbOutput};
use analysis::Engine;
use anyhow::{Context as _, bail};
use case::{Plan, Pose};
use engine::{Compute, JobControl};
use files::{Temporary, demo, picture, plan_toml, replace_file};
use glam::DVec3;
use open::{CaseWord, OpenOptions, open, write_demo};
use registration::Random;
use registration::simulate::{self, Exposure};
use results::{Settings, compute_written_plan};
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
beamsight demo                         list the built-in cases\n  \
beamsight demo thorax --out chest      write CT, structures and plan into the folder chest\n  \
beamsight chest                        open them like any other case\n  \
beamsight demo:thorax                  the same without writing anything yourself\n  \
beamsight demo thorax --xray xrays     two X-rays of it, the patient in a pose that is not shown\n  \
beamsight register demo:thorax --image xrays/gantry-0.png --image xrays/gantry-90.png")]
pub struct Args {
    /// water, slab, tg119 or thorax; left out: list them
    name: Option<String>,

    /// Folder to write into: made where it is missing, refused where it is not empty
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Folder for two made-up X-rays from gantry 0 and 90, with their geometry; made where it is missing
    #[arg(long, value_name = "DIR")]
    xray: Option<PathBuf>,

    /// Which hidden pose the X-rays show; the same number shows the same
    #[arg(long, value_name = "N", default_value = "1", value_parser = super::words::whole::<u64>)]
    seed: u64,

    #[command(flatten)]
    output: OutputArgs,
}

/// # Errors
/// An unknown name, a missing or used folder, errors of writing.
pub fn run(args: &Args) -> Result<VerbOutput, Failure> {
    let Some(name) = &args.name else {
        return Ok(list());
    };
    // The window's spelling is accepted too.
    let name = name.strip_prefix("demo:").unwrap_or(name);
    let plan = demo::plan(name).map_err(|e| Failure::Words(e.to_string()))?;
    if args.out.is_none() && args.xray.is_none() {
        return Err(Failure::Words(format!(
            "name a folder to write to: beamsight demo {name} --out DIR"
        )));
    }
    // What may not be written is refused before anything is.
    let xray_files = args
        .xray
        .as_deref()
        .map(|folder| XrayFiles::checked(folder, args.output))
        .transpose()?;
    let mut written = serde_json::Map::from_iter([("demo".to_owned(), json!(name))]);
    let mut lines = Vec::new();
    if let Some(folder) = &args.out {
        let (files, said) = write(name, &plan, folder)?;
        written.insert("folder".to_owned(), json!(folder));
        written.insert("files".to_owned(), json!(files));
        written.insert("plan".to_owned(), json!(folder.join("plan.toml")));
        let folder = folder.display();
        lines.push(format!(
            "demo:{name}: {files} DICOM files and plan.toml written to {folder}"
        ));
        lines.extend(said.map(|said| format!("note: {said}")));
        lines.push(format!("open them with: beamsight {folder}"));
    }
    if let Some(files) = xray_files {
        write_xrays(name, &plan, &files, args.seed)?;
        let XrayFiles {
            folder,
            pictures,
            hidden,
            ..
        } = files;
        let words: Vec<String> = pictures
            .iter()
            .map(|path| format!("--image {}", path.display()))
            .collect();
        let folder = folder.display();
        lines.push(format!(
            "two X-rays of demo:{name} written to {folder}, the patient in a pose that is not shown"
        ));
        lines.push(format!(
            "find it with: beamsight register demo:{name} {}",
            words.join(" ")
        ));
        written.insert("images".to_owned(), json!(pictures));
        written.insert("hidden_pose".to_owned(), json!(hidden));
    }
    Ok(VerbOutput {
        json: written.into(),
        text: lines.join("\n"),
    })
}

/// The files of two X-rays.
struct XrayFiles {
    folder: PathBuf,
    /// From gantry 0 and 90.
    pictures: [PathBuf; 2],
    hidden: PathBuf,
    outputs: Outputs,
}

impl XrayFiles {
    /// The files in a folder, which is made; none that is there already is replaced unasked.
    fn checked(folder: &Path, output: OutputArgs) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).with_context(|| {
            format!(
                "cannot make the folder {}; choose one you may write to with --xray",
                folder.display()
            )
        })?;
        let pictures = [0, 90].map(|gantry| folder.join(format!("gantry-{gantry}.png")));
        let hidden = folder.join("hidden-pose.txt");
        let mut outputs = Outputs::new(output);
        outputs.file(
            "--xray",
            pictures
                .iter()
                .chain(&pictures.each_ref().map(|path| picture::sidecar(path))),
        );
        outputs.file("--xray", [&hidden]);
        outputs.check()?;
        Ok(Self {
            folder: folder.to_owned(),
            pictures,
            hidden,
            outputs,
        })
    }
}

/// X-rays of a demo at a hidden pose within 12 mm and 6 degrees; the pose is written to another file.
fn write_xrays(name: &str, plan: &Plan, files: &XrayFiles, seed: u64) -> Result<(), Failure> {
    let XrayFiles {
        pictures,
        hidden,
        outputs,
        ..
    } = files;
    let case = demo::build(name).map_err(|e| Failure::Words(e.to_string()))?;
    let ct = super::words::ct_of(&case)?;
    let isocentre = plan.beams.first().map_or(DVec3::ZERO, |b| b.isocentre_mm);
    let mut random = Random::new(seed);
    let [shift_mm, turn_deg] = [12.0, 6.0].map(|reach: f64| {
        [(); 3].map(|()| (random.between(-reach, reach) * 100.0).round() / 100.0)
    });
    let pose = Pose::new(shift_mm, turn_deg);
    let attenuation = simulate::attenuation(&ct.hu);
    let mut images = Vec::new();
    for gantry in [0.0, 90.0] {
        let exposure = Exposure {
            seed: 2 * seed + u64::from(gantry > 0.0),
            ..Exposure::default()
        };
        let setup = simulate::imager(gantry, ct.position, isocentre);
        let image = simulate::xray(
            &attenuation,
            setup,
            pose,
            &exposure,
            &Compute::Cpu,
            &JobControl::new(),
        )?;
        images.push((image, exposure.within_mm()));
    }
    outputs.write(|| {
        for (path, (image, field_mm)) in pictures.iter().zip(&images) {
            picture::write(path, image, Some(*field_mm))?;
        }
        replace_file(hidden, |file| writeln!(file, "{pose}"))
            .with_context(|| format!("cannot write {}", hidden.display()))
    })?;
    Ok(())
}

fn list() -> VerbOutput {
    let mut text = String::new();
    for (name, what) in demo::DEMOS {
        let _ = writeln!(text, "demo:{name:<8} {what}");
    }
    let demos: Vec<_> = demo::DEMOS
        .iter()
        .map(|(name, what)| json!({ "name": name, "what": what }))
        .collect();
    VerbOutput {
        json: json!({ "demos": demos }),
        text,
    }
}

/// The plan with the monitor units that deliver its normalisation, which DICOM does not hold, and a sentence on them.
fn as_delivered(name: &str, plan: &Plan) -> anyhow::Result<(Plan, Option<String>)> {
    if plan.normalisation.is_none() {
        return Ok((plan.clone(), None));
    }
    let case = open(
        &CaseWord::Demo(name.to_owned()),
        OpenOptions::default(),
        &|_| true,
    )?;
    let settings = Settings::default();
    let engine = Engine::default();
    let (result, _) = compute_written_plan(
        &case,
        plan,
        engine,
        &settings,
        &JobControl::new(),
        &super::tell,
    )?;
    let said = format!(
        "RP.dcm has the monitor units that deliver the plan's normalisation, {:.4} times those of plan.toml, which has the \
         normalisation",
        result.factor
    );
    Ok((result.plan, Some(said)))
}

/// Writes all files or none.
fn write(name: &str, plan: &Plan, folder: &Path) -> anyhow::Result<(usize, Option<String>)> {
    let missing = !folder.exists();
    std::fs::create_dir_all(folder).with_context(|| {
        format!(
            "cannot make the folder {}; choose one you may write to with --out",
            folder.display()
        )
    })?;
    let mut entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot look into {}", folder.display()))?;
    if entries.next().is_some() {
        bail!(
            "the folder {} is not empty, and two cases in one folder cannot be told apart; name a new one with --out",
            folder.display()
        );
    }
    let written = write_into(folder, name, plan);
    if written.is_err() && missing {
        // Of the folders made on the way only the last, which is empty, is removed.
        let _ = std::fs::remove_dir(folder);
    }
    written
}

/// Writes the files of a demo with its plan into an empty folder, all or none.
fn write_into(folder: &Path, name: &str, plan: &Plan) -> anyhow::Result<(usize, Option<String>)> {
    let staged = Temporary::folder_in(folder).with_context(|| {
        format!(
            "cannot write to {}; choose a folder you may write to with --out",
            folder.display()
        )
    })?;
    let (delivered, said) = as_delivered(name, plan)?;
    let files = write_demo(name, staged.path(), &delivered, &|_| true)?;
    plan_toml::write(&staged.path().join("plan.toml"), plan)?;
    staged
        .move_contents(folder)
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok((files, said))
}
