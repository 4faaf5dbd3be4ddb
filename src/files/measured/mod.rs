//! Measured beam data of a water tank: depth doses, profiles and output factors.
//!
//! Four forms are read, told apart by their content: the table of `assets/guide/machine.md`, W2CAD (Varian), the ASCII dump of the
//! RFA300 (OmniPro-Accept) and PTW's `.mcc`. Curves that are of no open photon field across or along the axis are left out, by name.

mod mcc;
mod output_factors;
mod rfa300;
mod table;
mod w2cad;

pub use output_factors::{OutputFactor, OutputFactors, output_factors_of, read_output_factors};

use input::{self, MEASURED_BYTES, beginning, plain};
use std::io::Read as _;
use std::path::Path;
use thiserror::Error;

/// Most curves of a file and points of a curve.
const MOST_CURVES: usize = 1000;
const MOST_POINTS: usize = 20_000;
const LEAST_POINTS: usize = 5;

/// Why measured data cannot be used.
#[derive(Debug, Error)]
pub enum MeasuredError {
    #[error("cannot read the measured data {file}: {source}")]
    Read {
        file: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{file}, line {line}: {problem}")]
    Line {
        file: String,
        line: usize,
        problem: String,
    },
}

/// A wrong line of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// From 1 on.
    pub line: usize,
    pub problem: String,
}

impl Fault {
    fn new(line: usize, problem: impl Into<String>) -> Self {
        Self {
            line,
            problem: problem.into(),
        }
    }
}

/// The direction of a profile, as IEC 61217 names the axes of the beam limiting device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanAxis {
    /// X: crossline, crossplane, A-B.
    Crossline,
    /// Y: inline, inplane, gun-target.
    Inline,
}

impl ScanAxis {
    pub fn word(self) -> &'static str {
        match self {
            Self::Crossline => "x",
            Self::Inline => "y",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scan {
    /// Along the axis: positions are depths.
    Depth,
    /// Across it at a depth.
    Profile { axis: ScanAxis, depth_mm: f64 },
}

/// Bounds of a field: jaws, or leaves within jaws that stand wider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldEdges {
    #[default]
    Jaws,
    Leaves,
}

/// A measured curve of an open field.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCurve {
    pub scan: Scan,
    /// Sides along X and Y at the isocentre plane, mm.
    pub field_mm: [f64; 2],
    pub edges: FieldEdges,
    /// Source to surface, mm.
    pub ssd_mm: f64,
    /// Position (mm, at the place of measurement) and dose in any unit; ascending.
    pub points: Vec<[f64; 2]>,
}

impl MeasuredCurve {
    /// Kind of curve, field and distance in words: `depth dose 100 x 100 mm, SSD 900`.
    pub fn label(&self) -> String {
        let ([x, y], ssd_mm) = (self.field_mm, self.ssd_mm);
        let by = if self.edges == FieldEdges::Leaves {
            " by leaves"
        } else {
            ""
        };
        match self.scan {
            Scan::Depth => format!("depth dose {x} x {y} mm{by}, SSD {ssd_mm}"),
            Scan::Profile { axis, depth_mm } => {
                format!(
                    "profile {} {x} x {y} mm{by}, SSD {ssd_mm}, depth {depth_mm}",
                    axis.word()
                )
            }
        }
    }
}

/// The curves of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredFile {
    pub curves: Vec<MeasuredCurve>,
    /// Curves that were left out, each with the reason, and what was taken for granted.
    pub remarks: Vec<String>,
    /// CRC-32 and length of the file.
    pub digest: String,
}

/// Reads the curves of a file.
///
/// # Errors
/// [`MeasuredError`].
pub fn read_curves(path: &Path) -> Result<MeasuredFile, MeasuredError> {
    let (text, digest) = read(path)?;
    let file = curves_of(&text).map_err(|fault| named(path, fault))?;
    Ok(MeasuredFile { digest, ..file })
}

/// The curves of a text.
///
/// # Errors
/// [`Fault`]: the first line that is wrong.
pub fn curves_of(text: &str) -> Result<MeasuredFile, Fault> {
    let file = if has_line_with(&["$STOM", "$NUMS"], text) {
        w2cad::curves(text)?
    } else if has_line_with(&["BEGIN_SCAN"], text) {
        mcc::curves(text)?
    } else if has_line_with(&[":MSR", ":SYS", "%VNR"], text) {
        rfa300::curves(text)?
    } else {
        table::curves(text)?
    };
    if file.curves.is_empty() {
        let why = if file.remarks.is_empty() {
            String::new()
        } else {
            format!(" ({})", file.remarks.join("; "))
        };
        let line = text.lines().count().max(1);
        return Err(Fault::new(
            line,
            beginning(&format!(
                "the file ends without a curve that can be used{why}"
            )),
        ));
    }
    Ok(file)
}

fn has_line_with(marks: &[&str], text: &str) -> bool {
    text.lines()
        .any(|l| marks.iter().any(|m| l.trim_start().starts_with(m)))
}

/// The text of a file, with replacement characters where it is no UTF-8 (headers of scanners are Latin-1), and its digest.
fn read(path: &Path) -> Result<(String, String), MeasuredError> {
    let (file, _) = input::open(path).map_err(|source| read_error(source, path))?;
    let mut bytes = Vec::new();
    file.take(MEASURED_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| read_error(source, path))?;
    if bytes.len() as u64 > MEASURED_BYTES {
        let words = format!(
            "it is longer than the {} MB that are read",
            MEASURED_BYTES >> 20
        );
        return Err(read_error(
            std::io::Error::new(std::io::ErrorKind::InvalidData, words),
            path,
        ));
    }
    let mut crc = flate2::Crc::new();
    crc.update(&bytes);
    let digest = format!("CRC-32 {:08x}, {} bytes", crc.sum(), bytes.len());
    // Spreadsheets begin a text in UTF-8 with the mark of byte order.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Ok((String::from_utf8_lossy(text).into_owned(), digest))
}

fn read_error(source: std::io::Error, path: &Path) -> MeasuredError {
    MeasuredError::Read {
        file: path.display().to_string(),
        source,
    }
}

fn named(path: &Path, fault: Fault) -> MeasuredError {
    let problem = plain(&beginning(&fault.problem)).into_owned();
    MeasuredError::Line {
        file: path.display().to_string(),
        line: fault.line,
        problem,
    }
}

/// A finite number in a range; `what` is for the message.
fn number(line: usize, what: &str, word: &str, [low, high]: [f64; 2]) -> Result<f64, Fault> {
    let word = word.trim();
    let value: f64 = word
        .parse()
        .map_err(|_| Fault::new(line, beginning(&format!("{what}: '{word}' is no number"))))?;
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(Fault::new(
        line,
        format!("{what}: {value} is not possible; it lies from {low} to {high}"),
    ))
}

const FIELD_MM: [f64; 2] = [5.0, 400.0];
const SSD_MM: [f64; 2] = [500.0, 2000.0];
const DEPTH_MM: [f64; 2] = [0.0, 400.0];
const PLACE_MM: [f64; 2] = [-500.0, 500.0];
const DOSE: [f64; 2] = [-1e12, 1e12];

/// Sides of a field: two numbers with `x`, `*`, a comma or blanks between, or one of a square field.
fn field(line: usize, words: &str) -> Result<[f64; 2], Fault> {
    let sides: Vec<&str> = words
        .split(|c: char| matches!(c, 'x' | 'X' | '*' | ',') || c.is_whitespace())
        .filter(|w| !w.is_empty())
        .collect();
    match sides[..] {
        [one] => Ok([field_side(one, line)?; 2]),
        [x, y] => Ok([field_side(x, line)?, field_side(y, line)?]),
        _ => Err(Fault::new(
            line,
            beginning(&format!(
                "field size: '{words}' is not two sides in mm, like 100 x 100"
            )),
        )),
    }
}

fn field_side(word: &str, line: usize) -> Result<f64, Fault> {
    number(line, "field size", word, FIELD_MM)
}

/// A curve of a file on its way in.
#[derive(Debug, Default)]
struct Draft {
    /// The line where it begins.
    line: usize,
    scan: Option<Scan>,
    field_mm: Option<[f64; 2]>,
    edges: FieldEdges,
    ssd_mm: Option<f64>,
    points: Vec<[f64; 2]>,
    /// Why it is left out.
    refused: Option<String>,
}

impl Draft {
    fn at(line: usize) -> Self {
        Self {
            line,
            ..Self::default()
        }
    }

    fn add(&mut self, line: usize, point: [f64; 2]) -> Result<(), Fault> {
        has_room(line, self.points.len())?;
        self.points.push(point);
        Ok(())
    }

    /// Takes the points of a scan in the tank's coordinates; refuses what is along no axis.
    fn take_scan(&mut self, points: &[[f64; 4]]) {
        match scan_of(points) {
            Err(why) => self.refuse(&why),
            Ok((scan, points)) => {
                self.scan = Some(scan);
                self.points = points;
            }
        }
    }

    fn refuse(&mut self, why: &str) {
        self.refused.get_or_insert_with(|| why.to_owned());
    }

    /// Adds the curve to a file, or the reason why it is left out.
    fn finish(self, file: &mut MeasuredFile) -> Result<(), Fault> {
        if file.curves.len() + file.remarks.len() >= MOST_CURVES {
            return Err(Fault::new(
                self.line,
                format!("the file has more than the {MOST_CURVES} curves that are read"),
            ));
        }
        if let Some(why) = self.refused {
            file.remarks.push(format!(
                "the curve of line {} is left out: {why}",
                self.line
            ));
            return Ok(());
        }
        let missing = |what: &str| {
            Fault::new(
                self.line,
                format!("the curve that begins here has no {what}"),
            )
        };
        let scan = self
            .scan
            .ok_or_else(|| missing("kind (depth dose or profile)"))?;
        let field_mm = self.field_mm.ok_or_else(|| missing("field size"))?;
        let ssd_mm = self.ssd_mm.ok_or_else(|| missing("SSD"))?;
        let mut points = self.points;
        if scan == Scan::Depth {
            points.retain(|p| p[0] >= 0.0);
        }
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        points.dedup_by(|b, a| (b[0] - a[0]).abs() < 1e-3);
        if points.len() < LEAST_POINTS {
            let count = points.len();
            return Err(Fault::new(
                self.line,
                format!(
                    "the curve that begins here has {count} points where {LEAST_POINTS} are the least"
                ),
            ));
        }
        if points.iter().all(|p| p[1] <= 0.0) {
            return Err(Fault::new(
                self.line,
                "the curve that begins here has no dose above 0",
            ));
        }
        let edges = self.edges;
        file.curves.push(MeasuredCurve {
            scan,
            field_mm,
            edges,
            ssd_mm,
            points,
        });
        Ok(())
    }
}

/// Whether a curve of this many points may have another.
fn has_room(line: usize, points: usize) -> Result<(), Fault> {
    if points < MOST_POINTS {
        Ok(())
    } else {
        Err(Fault::new(
            line,
            format!("the curve has more than the {MOST_POINTS} points that are read"),
        ))
    }
}

/// A point in the tank's coordinates: crossline, inline, depth (mm), and the dose there.
fn point(line: usize, [x, y, depth, dose]: [&str; 4]) -> Result<[f64; 4], Fault> {
    Ok([
        place_mm(x, line)?,
        place_mm(y, line)?,
        place_mm(depth, line)?,
        number(line, "dose", dose, DOSE)?,
    ])
}

fn place_mm(word: &str, line: usize) -> Result<f64, Fault> {
    number(line, "position", word, PLACE_MM)
}

/// The scan that points of three coordinates (crossline, inline, depth; mm) describe, with their positions along it; the reason
/// where they describe none that is compared.
fn scan_of(points: &[[f64; 4]]) -> Result<(Scan, Vec<[f64; 2]>), String> {
    let (x, y, depth) = (
        extent_along(0, points),
        extent_along(1, points),
        extent_along(2, points),
    );
    let along = if depth > x && depth > y {
        2
    } else if x >= y {
        0
    } else {
        1
    };
    // Of the other axes the scan keeps its place.
    const STILL_MM: f64 = 2.0;
    if (0..3).any(|axis| axis != along && [x, y, depth][axis] > STILL_MM) {
        return Err("it is along no axis (a diagonal?)".to_owned());
    }
    if (0..2).any(|axis| axis != along && !points.iter().all(|p| p[axis].abs() <= STILL_MM)) {
        return Err("it does not pass through the axis of the beam".to_owned());
    }
    let flip = if along == 2 && points.iter().map(|p| p[2]).sum::<f64>() < 0.0 {
        -1.0
    } else {
        1.0
    };
    let scan = match along {
        2 => Scan::Depth,
        axis => Scan::Profile {
            axis: if axis == 0 {
                ScanAxis::Crossline
            } else {
                ScanAxis::Inline
            },
            depth_mm: points.first().map_or(0.0, |p| p[2].abs()),
        },
    };
    Ok((
        scan,
        points.iter().map(|p| [flip * p[along], p[3]]).collect(),
    ))
}

fn extent_along(axis: usize, points: &[[f64; 4]]) -> f64 {
    values_along(axis, points).fold(f64::NEG_INFINITY, f64::max)
        - values_along(axis, points).fold(f64::INFINITY, f64::min)
}

fn values_along(axis: usize, points: &[[f64; 4]]) -> impl Iterator<Item = f64> {
    points.iter().map(move |p| p[axis])
}
