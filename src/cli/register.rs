//! `beamsight register`: the pose of a CT whose DRRs match one or two X-rays best.

use super::outputs::{OutputArgs, Outputs};
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput};
use anyhow::anyhow;
use case::{Case, Ct, Placement, Pose, Radiograph, Remark};
use dicom::{Belonging, write_registration};
use engine::drr::Region;
use engine::{DeviceChoice, JobControl};
use glam::DVec3;
use physics::{AttenuationCurve, CurveKind, HuTable};
use registration::{
    AXIS_WORDS, Alone, Found, Method, Metric, PoseStanding, Request, View, beyond_couch, register,
    spatial_registration,
};
use results::{AttenuationOf, Graph, xray_of_case};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The pose moves the CT within the room of the X-rays: tx,ty,tz in mm along patient x (left), y (back), z (head), \
rx,ry,rz in degrees about them, x first, right-handed, about the isocentre. The matrix takes positions of the CT to where they \
lie in the room; the registration object holds the same one, from the CT's frame of reference into that of the X-rays.\n\n\
A match says how sure it is: the metric of each X-ray and the pose that each finds alone, where searches end that begin beside the \
pose, and how well the X-rays tell the depth along the beam. Where one of these speaks against it, the search stops at the end of \
--reach, or the pictures are as unlike as those of two things, there is no match: exit 4, and --out is not written.\n\
X-rays are RT images, DX, CR or XA, or grey PNG and TIFF with a file beside them (xray.toml for xray.png: gantry_deg, \
isocentre_mm, sad_mm, sid_mm, pixel_mm). Words go before files; --gantry and --region are given once for each image, in their order.\n\n\
Examples:\n  \
beamsight demo thorax --xray xrays\n  \
beamsight register demo:thorax --image xrays/gantry-0.png --image xrays/gantry-90.png\n  \
beamsight register ~/ct/patient-7 --image kv0.dcm --image kv90.dcm --out reg.dcm --json\n  \
beamsight register ~/ct/patient-7 --image ap.png --gantry 0 --isocentre -10,0,5 --sad 1000 --sid 1500 --pixel 0.4\n  \
beamsight register ~/ct/patient-7 --image kv.dcm --lock rx,ry --start 5,0,0,0,0,2 --metric mi --method powell"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    /// An X-ray; give it twice for two, which are matched together
    #[arg(long = "image", value_name = "FILE", required = true)]
    images: Vec<PathBuf>,

    /// Pose at which the search starts: tx,ty,tz,rx,ry,rz
    #[arg(long, value_name = "POSE", default_value = "0,0,0,0,0,0")]
    start: Pose,

    /// How alike pictures are: ncc, local-ncc, gradient-ncc, gradient, mi, rank
    #[arg(long, value_name = "METRIC", default_value = "gradient")]
    metric: Metric,

    /// How the pose is looked for: auto, cma, powell, gradient
    #[arg(long, value_name = "METHOD", default_value = "auto")]
    method: Method,

    /// Numbers of the pose that stay as they are, like rx,ry
    #[arg(long, value_name = "AXES", value_parser = axes)]
    lock: Option<Axes>,

    /// How far from the start each shift (mm) and each turn (degrees) may go
    #[arg(long, value_name = "MM,DEG", default_value = "40,25", value_parser = two)]
    reach: [f64; 2],

    /// Share of the pixels looked at, 0.001 to 1
    #[arg(long, value_name = "PART", default_value = "1", value_parser = words::within(0.001, 1.0))]
    share: f64,

    /// Seed of the search; the same seed leads the same way
    #[arg(long, value_name = "N", default_value = "1", value_parser = words::whole::<u64>)]
    seed: u64,

    /// Photon energy of the DRRs' attenuation, MeV
    #[arg(long, value_name = "MEV", default_value_t = AttenuationCurve::KILOVOLT_MEV, value_parser = words::energy_mev)]
    energy_mev: f64,

    /// Gantry angle of an image, degrees; once for each
    #[arg(long, value_name = "DEG", value_parser = words::angle)]
    gantry: Vec<f64>,

    /// Isocentre, patient LPS, mm
    #[arg(long, value_name = "X,Y,Z", value_parser = words::position)]
    isocentre: Option<DVec3>,

    /// Source to axis distance, mm
    #[arg(long, value_name = "MM", value_parser = words::distance)]
    sad: Option<f64>,

    /// Source to image distance, mm
    #[arg(long, value_name = "MM", value_parser = words::distance)]
    sid: Option<f64>,

    /// Size of a pixel in the image's own plane, mm
    #[arg(long, value_name = "MM", value_parser = words::pixel)]
    pixel: Option<f64>,

    /// Opening of the jaws at the axis, mm; beside it the pictures say nothing
    #[arg(long, value_name = "X,Y", value_parser = two)]
    field: Option<[f64; 2]>,

    /// Only this rectangle of an image's pixels counts; once for each
    #[arg(long, value_name = "COLUMN,ROW,COLUMNS,ROWS", value_parser = words::region)]
    region: Vec<Region>,

    /// Bone is dark in the pictures
    #[arg(long)]
    bone_dark: bool,

    /// Match an X-ray of a patient with another ID, too, as --accept-patient-mismatch does
    #[arg(long)]
    any_patient: bool,

    /// File for the registration (.dcm)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// The locked numbers of a pose.
#[derive(Clone, Copy, Debug)]
struct Axes([bool; 6]);

fn axes(word: &str) -> Result<Axes, String> {
    let mut locked = [false; 6];
    for name in word.split(',') {
        let axis = AXIS_WORDS.iter().position(|a| *a == name.trim());
        locked[axis.ok_or_else(|| "it is some of tx,ty,tz,rx,ry,rz".to_owned())?] = true;
    }
    Ok(Axes(locked))
}

fn two(word: &str) -> Result<[f64; 2], String> {
    let numbers = word
        .split_once(',')
        .and_then(|(a, b)| Some([words::positive(a).ok()?, words::positive(b).ok()?]));
    numbers.ok_or_else(|| "it is two numbers above 0 with a comma between, like 40,25".to_owned())
}

/// The files that it writes and reads.
pub fn outputs(args: &Args) -> Outputs {
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", &args.out);
    outputs.reads_case(&args.case.case);
    outputs.reads("an X-ray", &args.images);
    outputs
}

/// # Errors
/// Errors of opening, reading, the search or writing.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    if let Some(out) = &args.out {
        words::ending(out, &["dcm"])?;
    }
    let outputs = outputs(args);
    outputs.check()?;
    if args.images.len() > 2 {
        return Err(Failure::Words(
            "one or two X-rays are matched; give --image once or twice".to_owned(),
        ));
    }
    if args.gantry.len() > args.images.len() {
        return Err(Failure::Words(
            "--gantry is given once for each --image".to_owned(),
        ));
    }
    if args.region.len() > args.images.len() {
        return Err(Failure::Words(
            "--region is given once for each --image".to_owned(),
        ));
    }
    let device = device.resolve_for_cuda()?;
    let (graph, control) = (Graph::default(), JobControl::new());
    let case = args.case.open()?;
    let ct = words::ct_of(&case)?;
    let mut remarks = Vec::new();
    let images = (0..args.images.len())
        .map(|n| image(args, n, &case, &ct, &mut remarks).map(Arc::new))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let centre_mm = args
        .isocentre
        .or_else(|| images.iter().find_map(|i| i.setup.map(|s| s.isocentre_mm)))
        .or_else(|| words::first_isocentre(&case))
        .ok_or_else(|| {
            anyhow!("where the isocentre is, is not known; give it with --isocentre x,y,z")
        })?;
    let table = HuTable::shipped_default();
    let curve = AttenuationCurve::new(CurveKind::Water, &table, args.energy_mev);
    let curve = curve.with_threshold(Some(-900.0));
    let attenuation = graph.full(
        &AttenuationOf {
            ct: Arc::clone(&ct),
            curve,
        },
        &control,
    )?;
    let views = images
        .iter()
        .enumerate()
        .map(|(n, image)| match args.region.get(n) {
            Some(&Region {
                column,
                row,
                columns,
                rows,
            }) => View::new(Arc::clone(image)).within(
                column..column.saturating_add(columns),
                row..row.saturating_add(rows),
            ),
            None => View::new(Arc::clone(image)),
        });
    let views = views.collect();
    let request = Request {
        start: args.start,
        metric: args.metric,
        method: args.method,
        reach_mm: args.reach[0],
        reach_deg: args.reach[1],
        locked: args.lock.map_or([false; 6], |l| l.0),
        share: args.share,
        seed: args.seed,
        ..Request::new(attenuation, views, centre_mm)
    };
    let registered = register(&request, &device, &control, &|_| ())?;
    let standing = registered.standing();
    if let (Some(out), true) = (&args.out, standing.is_match()) {
        let object = spatial_registration(
            (&registered.pose, &standing),
            centre_mm,
            &images[0],
            &ct,
            &case,
        );
        outputs.write(|| {
            Ok(write_registration(
                out,
                &object,
                &ct,
                &Belonging::new(&case),
            )?)
        })?;
    }
    let answer = answer(args, &case, &request, &registered, &remarks);
    if standing.is_match() {
        Ok(answer)
    } else {
        Err(Failure::NoMatch(answer))
    }
}

/// The X-ray of a place among the words.
fn image(
    args: &Args,
    n: usize,
    case: &Case,
    ct: &Ct,
    remarks: &mut Vec<Remark>,
) -> anyhow::Result<Radiograph> {
    let path = &args.images[n];
    let placement = Placement {
        gantry_deg: args.gantry.get(n).copied(),
        isocentre_mm: args.isocentre,
        sad_mm: args.sad,
        sid_mm: args.sid,
        pixel_mm: args.pixel.map(|p| [p; 2]),
        field_mm: args.field,
        bone_is_bright: args.bone_dark.then_some(false),
        ..Placement::default()
    };
    let accepted = args.any_patient || args.case.accept_patient_mismatch;
    let (image, said) = xray_of_case(path, &placement, case, ct, accepted)?;
    remarks.extend(said);
    Ok(image)
}

fn answer(
    args: &Args,
    case: &Case,
    request: &Request,
    registered: &Found,
    remarks: &[Remark],
) -> VerbOutput {
    let (pose, standing) = (registered.pose, registered.standing());
    let is_match = standing.is_match();
    let (t, r) = (pose.translation_mm, pose.rotation_deg);
    let matrix = pose.matrix(request.centre_mm).transpose().to_cols_array();
    let rows: Vec<&[f64]> = matrix.chunks_exact(4).collect();
    let mut text = format!(
        "{}: {} X-ray(s), metric {}, method {}\npose {:.3},{:.3},{:.3} mm {:.3},{:.3},{:.3} degrees about {:.1},{:.1},{:.1} mm\n",
        case.source,
        request.views.len(),
        request.metric,
        request.method,
        t.x,
        t.y,
        t.z,
        r.x,
        r.y,
        r.z,
        request.centre_mm.x,
        request.centre_mm.y,
        request.centre_mm.z
    );
    for row in &rows {
        let _ = writeln!(
            text,
            "  {:>12.7} {:>12.7} {:>12.7} {:>12.5}",
            row[0], row[1], row[2], row[3]
        );
    }
    let _ = writeln!(
        text,
        "{} {:.4} at the start, {:.4} there; {} DRRs in {:.2} s on {}",
        request.metric.name(),
        registered.before,
        registered.after,
        registered.drrs,
        registered.seconds,
        registered.device
    );
    let stopped: Vec<&str> = AXIS_WORDS
        .into_iter()
        .zip(registered.at_bound)
        .filter(|b| b.1)
        .map(|b| b.0)
        .collect();
    let evidence = &registered.evidence;
    for image in &evidence.images {
        let _ = write!(text, "{}: {:.4}", image.image, image.metric);
        if let Some(Alone { off_mm, metric, .. }) = image.alone {
            let _ = write!(
                text,
                "; alone {metric:.4}, {off_mm:.2} mm from the pose as it sees it"
            );
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "searches begun beside the pose end within {:.2} mm of it",
        evidence.again_mm
    );
    if let Some(mm) = evidence.depth_mm {
        let _ = writeln!(
            text,
            "the depth that the X-rays see least is told to ±{mm:.1} mm"
        );
    }
    let couch = beyond_couch(&pose);
    couch.iter().for_each(|what| {
        let _ = writeln!(text, "{what}");
    });
    match &standing {
        PoseStanding::NoMatch { .. } => {
            let _ = writeln!(text, "error: this is no match");
            registered.doubts.iter().for_each(|why| {
                let _ = writeln!(text, "  {why}");
            });
        }
        _ => {
            let _ = writeln!(text, "match: {}", standing.words());
        }
    }
    for remark in remarks {
        let _ = writeln!(text, "{}: {}", remark.files.join(", "), remark.message);
    }
    if let (Some(out), true) = (&args.out, is_match) {
        let _ = writeln!(text, "written to {}", out.display());
    }
    let images: Vec<Value> = evidence
        .images
        .iter()
        .map(|image| {
            let alone = image
                .alone
                .map(|alone| json!({ "pose": alone.pose, "metric": alone.metric, "off_mm": alone.off_mm }));
            json!({ "image": image.image, "metric": image.metric, "alone": alone })
        })
        .collect();
    let flipped = { evidence.flipped.iter() }.map(|flipped| {
        json!({ "image": flipped.image, "flip": flipped.flip.words(), "metric": flipped.metric,
            "metric_as_it_is": flipped.metric_as_it_is })
    });
    let flipped: Vec<Value> = flipped.collect();
    let phases: Vec<Value> = registered
        .phases_ms
        .iter()
        .map(|(n, ms)| json!({ "phase": n, "ms": ms }))
        .collect();
    let json = json!({
        "case": case.source,
        "images": args.images,
        "pose": { "tx_mm": t.x, "ty_mm": t.y, "tz_mm": t.z, "rx_deg": r.x, "ry_deg": r.y, "rz_deg": r.z },
        "centre_mm": request.centre_mm.to_array(),
        "matrix": rows,
        "metric": request.metric.word(),
        "method": request.method.word(),
        "metric_before": registered.before,
        "metric_after": registered.after,
        "stopped_at_reach": stopped,
        "match": is_match,
        "state": standing.words(),
        "no_match": (!is_match).then_some(&registered.doubts),
        "evidence": { "images": images, "again_mm": evidence.again_mm, "depth_mm": evidence.depth_mm,
            "negative_metric": evidence.negative, "flipped": flipped },
        "beyond_couch": couch,
        "drrs": registered.drrs,
        "seconds": registered.seconds,
        "phases": phases,
        "device": registered.device,
        "remarks": remarks,
        "out": args.out.as_ref().filter(|_| is_match),
    });
    VerbOutput { json, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_axes_and_reach() {
        assert_eq!(
            axes("rx, tz").map(|a| a.0),
            Ok([false, false, true, true, false, false])
        );
        assert!(axes("rx,q").is_err() && axes("").is_err());
        assert_eq!(two("40,25"), Ok([40.0, 25.0]));
        assert!(two("40").is_err() && two("0,3").is_err() && two("x,3").is_err());
    }
}
