//! `beamsight path`: radiological depth from the source to every voxel.

use super::outputs::{OutputArgs, Outputs};
use super::words::{self, CaseArgs, SourceArgs};
use super::{Failure, VerbOutput};
use analysis::depths;
use anyhow::anyhow;
use case::Case;
use engine::path::DepthMap;
use engine::{DeviceChoice, JobControl};
use files::mha::{self, Facts, Quantity};
use geometry::BeamFrame;
use glam::DVec3;
use physics::HuTable;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The depth is the line integral of the relative electron density along the ray, in mm of water, \
at the centre of every voxel of the CT. Angles are IEC 61217, positions patient LPS in mm. Uneven planes are walked as \
they are; a .mha has even ones, so there the depth is given on planes as close as the closest of the CT.\n\n\
Examples:\n  \
beamsight path demo:thorax --out depth.mha\n  \
beamsight path ~/ct/patient-7 --gantry 30 --couch 20 --isocentre -10,0,5 --out depth.mha\n  \
beamsight path ct.mha --position HFP --gantry 90 --isocentre 0,0,0 --json"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    #[command(flatten)]
    source: SourceArgs,

    /// HU to density: the name of a shipped table or a file
    #[arg(long, value_name = "TABLE", default_value = HuTable::DEFAULT)]
    hu_table: String,

    /// File for the depths (.mha)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// # Errors
/// Errors of opening, of the table or of writing; an isocentre outside the CT.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    if let Some(out) = &args.out {
        words::ending(out, &["mha"])?;
    }
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", &args.out);
    outputs.reads_case(&args.case.case);
    outputs.reads_word("the HU table", &args.hu_table);
    outputs.check()?;
    let device = device.resolve()?;
    let table = HuTable::resolve(&args.hu_table)?;
    let case = args.case.open()?;
    let ct = words::ct_of(&case)?;
    let isocentre = isocentre(args, &case)?;
    let frame = BeamFrame::new(
        ct.position,
        args.source.gantry,
        0.0,
        args.source.couch,
        isocentre,
        args.source.sad,
    );
    let DepthMap {
        depth_mm: depth,
        receipt,
    } = depths(
        &ct,
        &case.source,
        &table,
        &frame,
        isocentre,
        &device,
        &JobControl::new(),
    )?;
    let ms = receipt.total_ms();
    let at_isocentre = depth.trilinear(isocentre);
    let largest = depth.data().iter().copied().fold(0.0, f32::max);
    if let Some(out) = &args.out {
        outputs.write(|| {
            let frame = case.stated_frames().next().unwrap_or_default();
            let facts = Facts::new(Quantity::RadiologicalDepth, &case.patient, frame);
            Ok(mha::write_with(out, &depth, &facts)?)
        })?;
    }
    let angles = format!(
        "gantry {}, couch {}, {}",
        args.source.gantry, args.source.couch, ct.position
    );
    let mut text = format!(
        "{}: {angles}, isocentre {}, source {}\ndepth at the isocentre {:.2} mm of water, greatest {largest:.2} mm; \
         {} voxels in {ms:.1} ms on {}\n",
        case.source,
        millimetres(isocentre),
        millimetres(frame.source_mm),
        at_isocentre.unwrap_or(f32::NAN),
        receipt.work,
        receipt.device,
    );
    for warning in &receipt.warnings {
        text += &format!("warning: {warning}\n");
    }
    if let Some(out) = &args.out {
        text += &format!("written to {}\n", out.display());
    }
    let json = json!({
        "case": case.source,
        "position": ct.position.code(),
        "gantry_deg": args.source.gantry,
        "couch_deg": args.source.couch,
        "isocentre_mm": isocentre.to_array(),
        "source_mm": frame.source_mm.to_array(),
        "hu_table": table.name,
        "depth_at_isocentre_mm": at_isocentre,
        "greatest_depth_mm": largest,
        "voxels": receipt.work,
        "ms": ms,
        "device": receipt.device,
        "receipt": *receipt,
        "out": args.out,
    });
    Ok(VerbOutput { json, text })
}

fn isocentre(args: &Args, case: &Case) -> anyhow::Result<DVec3> {
    args.source
        .isocentre
        .or_else(|| words::first_isocentre(case))
        .ok_or_else(|| {
            anyhow!(
                "{}, to take the isocentre from; give it with --isocentre x,y,z",
                case.no_plan()
            )
        })
}

fn millimetres(p: DVec3) -> String {
    format!("{:.1},{:.1},{:.1} mm", p.x, p.y, p.z)
}
