//! `beamsight drr`: a digitally reconstructed radiograph.

mod out;

use super::outputs::{OutputArgs, Outputs};
use super::words::{self, CaseArgs, SourceArgs};
use super::{Failure, VerbOutput};
use analysis::{hu_remarks, shows_patient};
use anyhow::{Context as _, anyhow};
use case::{Ct, Pose, Radiograph};
use clap::ValueEnum;
use dicom::Belonging;
use engine::drr::{Drr, DrrRequest, Integrator, Pixels, Region, Spread, drr};
use engine::{DeviceChoice, JobControl};
use files::mha;
use geometry::{ImagingSetup, PatientPosition, Projection, Volume};
use glam::DVec3;
use open::CaseWord;
use physics::{AttenuationCurve, BeyondTable, CurveKind, HuTable};
use results::{AttenuationOf, Graph};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The image lies opposite the source at right angles to the beam axis; rows count from the top of the picture \
(towards the gantry), columns from its left, as seen from the source. --size and --pixel are of the image itself, at --sid.\n\
--pose moves the patient in front of source and image, which stay: turned about the isocentre by rx about x, then ry about y, \
then rz about z (degrees, right-handed), then shifted by tx,ty,tz (mm); x to the patient's left, y to his back, z to his \
head (DICOM patient axes). assets/drr/pose.svg shows it.\n\
Where --isocentre is left out and the case has no beam, the isocentre is the middle of the volume. Trilinear values are held \
from the outermost voxel centres to the voxels' faces, beyond which there is nothing.\n\
--out .mha holds 32-bit floats (one plane, its place in patient axes; NaN where --pixels left a pixel out), .png a window of \
them, .dcm an RT image of 16 bits with its geometry.\n\n\
Examples:\n  \
beamsight drr demo:thorax --gantry 0 --out ap.png\n  \
beamsight drr ~/ct/patient-7 --gantry 270 --isocentre -10,0,25.5 --bone 2 --threshold -300 --out lat.dcm\n  \
beamsight drr demo:thorax --gantry 30 --pose 5,0,-2.5,0,0,1.5 --integrator exact --out moved.mha\n  \
beamsight drr mu.mha --values attenuation --isocentre 0,0,0 --size 750x750 --pixel 0.4 --region 175,262,400,225 --out roi.mha\n  \
beamsight drr mu.mha --values attenuation --pixels 1024 --spread low-discrepancy --step 0.5 --device cuda --json"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    #[command(flatten)]
    source: SourceArgs,

    /// Source to image distance, mm
    #[arg(long, value_name = "MM", default_value = "1500", value_parser = words::distance)]
    sid: f64,

    /// Columns x rows of the image
    #[arg(long, value_name = "CxR", default_value = "750x750", value_parser = size)]
    size: [usize; 2],

    /// Distance of pixels in the image's plane, mm: one number, or columns,rows
    #[arg(long, value_name = "MM", default_value = "0.4", value_parser = pixel)]
    pixel: [f64; 2],

    /// How far the image's middle lies from the beam axis, to the right and up as seen from the source, mm
    #[arg(long, value_name = "X,Y", default_value = "0,0", value_parser = shift)]
    shift: [f64; 2],

    /// In place of the angles, distances and pixel: a 3x4 matrix row by row, (x,y,z,1) -> w (column,row,1); --sid says how far
    /// the image is
    #[arg(long, value_name = "12 NUMBERS", value_parser = matrix,
          conflicts_with_all = ["gantry", "couch", "sad", "pixel", "shift"])]
    matrix: Option<Matrix>,

    /// Pose of the patient: six numbers, mm and degrees
    #[arg(long, value_name = "TX,TY,TZ,RX,RY,RZ", default_value = "0,0,0,0,0,0")]
    pose: Pose,

    /// How attenuation is summed; texture: trilinear by a card's 8-bit filter, for pictures
    #[arg(long, value_enum, default_value = "trilinear")]
    integrator: IntegratorArg,

    /// Longest step of trilinear, mm; left out: half the smallest side of a voxel
    #[arg(long, value_name = "MM", value_parser = words::within(0.01, 1000.0))]
    step: Option<f64>,

    /// Values of the volume: HU, or attenuation in 1/mm (a .mha)
    #[arg(long, value_enum, default_value = "hu")]
    values: Values,

    /// HU to attenuation: water (mu_water (1 + HU/1000)) or tissue (densities of --hu-table, their materials)
    #[arg(long, value_name = "CURVE", default_value = "water")]
    curve: CurveKind,

    /// Photon energy of the attenuation, MeV
    #[arg(long, value_name = "MEV", default_value_t = AttenuationCurve::KILOVOLT_MEV, value_parser = words::energy_mev)]
    energy_mev: f64,

    /// HU to density for --curve tissue: the name of a shipped table or a file
    #[arg(long, value_name = "TABLE", default_value = HuTable::DEFAULT)]
    hu_table: String,

    /// Voxels below this HU count as nothing
    #[arg(long, value_name = "HU", value_parser = words::finite)]
    threshold: Option<f64>,

    /// Bone emphasis: what attenuates more than 150 HU does so FACTOR times as much beyond
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = words::within(0.01, 100.0))]
    bone: f64,

    /// integral: of attenuation along the ray; intensity: exp(-integral)
    #[arg(long, value_enum, default_value = "integral")]
    quantity: Quantity,

    /// Only this rectangle of the image
    #[arg(long, value_name = "COLUMN,ROW,COLUMNS,ROWS", value_parser = words::region)]
    region: Option<Region>,

    /// Only this many pixels of it
    #[arg(long, value_name = "N", value_parser = words::count::<usize>)]
    pixels: Option<usize>,

    /// How they are spread over it: random, or low-discrepancy (a Sobol sequence: no heaps, no holes)
    #[arg(
        long,
        value_name = "SPREAD",
        default_value = "random",
        requires = "pixels"
    )]
    spread: Spread,

    /// Which of such pixels
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = words::whole::<u64>, requires = "pixels")]
    seed: u64,

    /// Values shown black and white in a .png; left out: the least and the greatest
    #[arg(long, value_name = "LOW,HIGH", value_parser = window)]
    window: Option<[f64; 2]>,

    /// Bits of a .png's pixel: 8 or 16
    #[arg(long, value_name = "BITS", default_value = "8", value_parser = bits)]
    bits: u8,

    /// File for the image (.png, .mha, .dcm)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum IntegratorArg {
    Exact,
    Trilinear,
    Texture,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Values {
    Hu,
    Attenuation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Quantity {
    Integral,
    Intensity,
}

/// A 3x4 matrix, its rows.
type Matrix = [[f64; 4]; 3];

fn numbers<const N: usize>(word: &str, what: &str) -> Result<[f64; N], String> {
    let numbers: Result<Vec<f64>, _> = word.split(',').map(words::finite).collect();
    numbers
        .ok()
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| what.to_owned())
}

fn side_of_imager(word: &str) -> Option<usize> {
    let pixels = word.trim().parse().ok();
    pixels.filter(|n| (1..=Projection::MOST_PIXELS).contains(n))
}

fn size(word: &str) -> Result<[usize; 2], String> {
    let sides = word
        .split_once(['x', 'X'])
        .and_then(|(columns, rows)| Some([side_of_imager(columns)?, side_of_imager(rows)?]));
    sides.ok_or_else(|| {
        format!(
            "it is columns x rows, 1 to {} each, like 750x750",
            Projection::MOST_PIXELS
        )
    })
}

fn pixel(word: &str) -> Result<[f64; 2], String> {
    let each: Option<Vec<f64>> = word.split(',').map(|mm| words::pixel(mm).ok()).collect();
    match each.as_deref() {
        Some(&[both]) => Ok([both, both]),
        Some(&[columns, rows]) => Ok([columns, rows]),
        _ => {
            Err("it is one number from 0.001 to 1000 in mm, or two with a comma between".to_owned())
        }
    }
}

fn bits(word: &str) -> Result<u8, String> {
    words::whole(word)
        .ok()
        .filter(|n| matches!(n, 8 | 16))
        .ok_or_else(|| "it is 8 or 16".to_owned())
}

fn shift(word: &str) -> Result<[f64; 2], String> {
    numbers(
        word,
        "it is two numbers in mm with a comma between, like 0,-20",
    )
}

fn window(word: &str) -> Result<[f64; 2], String> {
    let what = "it is two numbers, the first less than the second, like 0,6.5";
    numbers(word, what).and_then(|[low, high]| {
        if low < high {
            Ok([low, high])
        } else {
            Err(what.to_owned())
        }
    })
}

fn matrix(word: &str) -> Result<Matrix, String> {
    let n: [f64; 12] = numbers(word, "it is twelve numbers with commas between, row by row")?;
    Ok([
        [n[0], n[1], n[2], n[3]],
        [n[4], n[5], n[6], n[7]],
        [n[8], n[9], n[10], n[11]],
    ])
}

/// The volume that is projected.
struct Subject {
    name: String,
    attenuation: Arc<Volume<f32>>,
    position: PatientPosition,
    first_beam_mm: Option<DVec3>,
    belonging: Belonging,
    /// The HU curve, in words.
    curve: String,
    /// The images and the attenuation of water, 1/mm, where the volume is in HU.
    ct: Option<(Arc<Ct>, f64)>,
    /// On HU beyond the table.
    remarks: Vec<String>,
}

/// # Errors
/// Errors of opening, geometry or writing; an image on which no part of the volume is projected.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    if let Some(out) = &args.out {
        let ending = words::ending(out, &["png", "mha", "dcm"])?;
        if ending == "dcm" && (args.matrix.is_some() || args.pixels.is_some()) {
            let why = "an RT image says where it was taken by gantry and couch angles and has all its pixels: write .mha, or \
                       leave --matrix and --pixels out";
            return Err(Failure::Words(why.to_owned()));
        }
    }
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", &args.out);
    outputs.reads_case(&args.case.case);
    outputs.reads_word("the HU table", &args.hu_table);
    outputs.check()?;
    if args.integrator == IntegratorArg::Exact && args.step.is_some() {
        return Err(Failure::Words(
            "--integrator exact takes no steps: leave --step out".to_owned(),
        ));
    }
    let device = device.resolve_for_cuda()?;
    let control = JobControl::new();
    let subject = subject(args, &control)?;
    let isocentre_mm = args
        .source
        .isocentre
        .or(subject.first_beam_mm)
        .unwrap_or_else(|| subject.attenuation.grid().middle_mm());
    let (setup, projection) = geometry(args, subject.position, isocentre_mm)?;
    let step_mm = args.step;
    let request = DrrRequest {
        attenuation: Arc::clone(&subject.attenuation),
        projection,
        poses: vec![args.pose],
        pose_centre_mm: isocentre_mm,
        integrator: match args.integrator {
            IntegratorArg::Exact => Integrator::Exact,
            IntegratorArg::Trilinear => Integrator::Trilinear { step_mm },
            IntegratorArg::Texture => Integrator::Texture { step_mm },
        },
        pixels: match (args.pixels, args.region) {
            (Some(count), region) => Pixels::Subset {
                region,
                count,
                spread: args.spread,
                seed: args.seed,
            },
            (None, Some(region)) => Pixels::Region(region),
            (None, None) => Pixels::All,
        },
    };
    let mut answer = drr(&request, &device, &control)?;
    Arc::make_mut(&mut answer.receipt)
        .warnings
        .extend(subject.remarks.iter().cloned());
    if let Some(why) = answer
        .receipt
        .warnings
        .iter()
        .find(|w| w.contains("nothing is seen"))
    {
        return Err(anyhow!("{}: {why}", subject.name).into());
    }
    let region = args.region.unwrap_or(Region::whole(&projection));
    let seen = subject.ct.as_ref().map(|(ct, water)| (&*ct.hu, *water));
    if !shows_patient(seen, &request, region, &answer) {
        return Err(anyhow!(
            "{}: the picture misses the patient, no ray meets more than air; look at --isocentre, angles, --pose, --shift and \
             the size of the picture (and --threshold, where it is given)",
            subject.name
        )
        .into());
    }
    let image = out::image(
        &answer,
        &projection,
        region,
        args.quantity == Quantity::Intensity,
        setup,
    )?;
    if let Some(path) = &args.out {
        outputs.write(|| out::write(path, &image, args, &subject.belonging))?;
    }
    Ok(say(
        args,
        &subject,
        isocentre_mm,
        &projection,
        &answer,
        &image,
    ))
}

fn subject(args: &Args, control: &JobControl) -> Result<Subject, Failure> {
    if args.values == Values::Attenuation {
        let CaseWord::Mha(path) = &args.case.case else {
            let why =
                "--values attenuation reads a .mha volume in 1/mm; name one, or leave --values out";
            return Err(Failure::Words(why.to_owned()));
        };
        return Ok(Subject {
            name: args.case.case.to_string(),
            attenuation: Arc::new(mha::read_as(path, mha::Quantity::Attenuation)?.0),
            position: args.case.position.unwrap_or_default(),
            first_beam_mm: None,
            belonging: Belonging::new(&case::Case::default()),
            curve: "attenuation as given".to_owned(),
            ct: None,
            remarks: Vec::new(),
        });
    }
    let table = HuTable::resolve(&args.hu_table)?;
    let curve = AttenuationCurve::new(args.curve, &table, args.energy_mev)
        .with_threshold(args.threshold)
        .with_bone(args.bone);
    let case = args.case.open()?;
    let ct = words::ct_of(&case)?;
    let water = f64::from(curve.at(0.0));
    let remarks = match args.curve {
        CurveKind::Tissue => hu_remarks(
            &BeyondTable::count(&ct, &table, None, &[]),
            &table,
            "of the CT",
        ),
        CurveKind::Water => Vec::new(),
    };
    Ok(Subject {
        attenuation: Graph::default().full(
            &AttenuationOf {
                ct: Arc::clone(&ct),
                curve,
            },
            control,
        )?,
        position: ct.position,
        first_beam_mm: words::first_isocentre(&case),
        belonging: Belonging::new(&case),
        curve: format!("{} at {} MeV", args.curve.word(), args.energy_mev),
        name: case.source,
        ct: Some((ct, water)),
        remarks,
    })
}

fn geometry(
    args: &Args,
    position: PatientPosition,
    isocentre_mm: DVec3,
) -> anyhow::Result<(Option<ImagingSetup>, Projection)> {
    if let Some(matrix) = args.matrix {
        let projection = Projection::from_matrix(matrix, args.sid, args.size, isocentre_mm);
        return Ok((None, projection.context("--matrix")?));
    }
    let setup = ImagingSetup {
        position,
        gantry_deg: args.source.gantry,
        couch_deg: args.source.couch,
        isocentre_mm,
        sad_mm: args.source.sad,
        sid_mm: args.sid,
        shift_mm: args.shift,
        pixel_mm: args.pixel,
        columns: args.size[0],
        rows: args.size[1],
    };
    let projection = setup.projection()?;
    if args.sid <= args.source.sad {
        tracing::warn!(
            "the image ({} mm) lies before the isocentre ({} mm)",
            args.sid,
            args.source.sad
        );
    }
    Ok((Some(setup), projection))
}

fn say(
    args: &Args,
    subject: &Subject,
    isocentre_mm: DVec3,
    projection: &Projection,
    answer: &Drr,
    image: &Radiograph,
) -> VerbOutput {
    let receipt = &answer.receipt;
    let seen = image.values.iter().copied().filter(|v| v.is_finite());
    let (low, high, sum) = seen.fold((f32::INFINITY, f32::NEG_INFINITY, 0.0), |(a, b, s), v| {
        (a.min(v), b.max(v), s + f64::from(v))
    });
    let mean = sum / answer.integrals.len() as f64;
    let quantity = if args.quantity == Quantity::Integral {
        "line integral"
    } else {
        "intensity"
    };
    let place = isocentre_mm.to_array().map(|v| format!("{v:.1}")).join(",");
    let mut text = format!(
        "{}: {}, {}, isocentre {place} mm, pose {}\n{quantity} {low:.4} to {high:.4}, mean {mean:.4}; {} of {} x {} pixels, {}, \
         in {:.2} ms on {}\n",
        subject.name,
        match args.matrix {
            Some(_) => "projection by matrix".to_owned(),
            None => format!(
                "gantry {}, couch {}, {}",
                args.source.gantry, args.source.couch, subject.position
            ),
        },
        subject.curve,
        args.pose,
        receipt.work,
        projection.columns(),
        projection.rows(),
        answer_way(args),
        receipt.total_ms(),
        receipt.device,
    );
    for warning in &receipt.warnings {
        text += &format!("warning: {warning}\n");
    }
    if let Some(out) = &args.out {
        text += &format!("written to {}\n", out.display());
    }
    let json = json!({
        "case": subject.name,
        "position": subject.position.code(),
        "gantry_deg": args.matrix.is_none().then_some(args.source.gantry),
        "couch_deg": args.matrix.is_none().then_some(args.source.couch),
        "isocentre_mm": isocentre_mm.to_array(),
        "sid_mm": args.sid,
        "source_mm": projection.source_mm().to_array(),
        "first_pixel_mm": projection.origin_mm().to_array(),
        "column_step_mm": projection.column_step_mm().to_array(),
        "row_step_mm": projection.row_step_mm().to_array(),
        "projection_matrix": projection.matrix(),
        "pose": args.pose,
        "pose_matrix": args.pose.matrix(isocentre_mm).transpose().to_cols_array_2d(),
        "curve": subject.curve,
        "integrator": answer_way(args),
        "quantity": quantity,
        "pixels": receipt.work,
        "least": low,
        "greatest": high,
        "mean": mean,
        "ms": receipt.total_ms(),
        "device": receipt.device,
        "receipt": **receipt,
        "out": args.out,
    });
    VerbOutput { json, text }
}

fn answer_way(args: &Args) -> String {
    match (args.integrator, args.step) {
        (IntegratorArg::Exact, _) => "exact".to_owned(),
        (IntegratorArg::Trilinear, None) => "trilinear".to_owned(),
        (IntegratorArg::Texture, None) => "texture".to_owned(),
        (IntegratorArg::Trilinear, Some(mm)) => format!("trilinear, {mm} mm"),
        (IntegratorArg::Texture, Some(mm)) => format!("texture, {mm} mm"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_image() {
        assert_eq!(size("750x600"), Ok([750, 600]));
        assert_eq!(pixel("0.4"), Ok([0.4, 0.4]));
        assert_eq!(pixel("0.4,0.6"), Ok([0.4, 0.6]));
        assert_eq!(
            words::region("1,2,3,4"),
            Ok(Region {
                column: 1,
                row: 2,
                columns: 3,
                rows: 4
            })
        );
        assert_eq!(window("-1,2.5"), Ok([-1.0, 2.5]));
        for wrong in ["750", "0x5", "x", "40000x4", "-3x3"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert!(pixel("0").is_err() && pixel("1,-1").is_err() && pixel("1,2,3").is_err());
        assert!(words::region("1,2,3").is_err() && words::region("1,2,3,-4").is_err());
        assert!(window("2,1").is_err() && matrix("1,2,3").is_err());
    }
}
