//! MetaImage volumes (`.mha`): header and data in one file. Positions are patient LPS, mm, as ITK writes them.

mod facts;

pub use facts::{Facts, Quantity};

use super::replace_file;
use flate2::read::ZlibDecoder;
use geometry::{Grid, GridError, Volume};
use glam::DVec3;
use input::{self, OverBudget, check_unpacked};
use rayon::prelude::*;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why a volume could not be read or written.
#[derive(Debug, Error)]
pub enum MhaError {
    #[error("cannot read '{path}': {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("'{path}' is not a MetaImage this program reads: {problem}")]
    Header { path: PathBuf, problem: String },
    #[error(
        "'{path}' is damaged: its header promises {promised} bytes of voxels, the file holds {found}; copy it again \
         from where it came"
    )]
    Size {
        path: PathBuf,
        promised: u64,
        found: u64,
    },
    #[error("'{path}': {source}; it is not read: write it uncompressed, and whole")]
    OverBudget { path: PathBuf, source: OverBudget },
    #[error("'{path}' does not say where its voxels are: {source}")]
    Grid { path: PathBuf, source: GridError },
    #[error("cannot write '{path}': {source}; choose a folder you may write to with --out")]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "'{path}' cannot be written: a .mha file has one plane spacing, and these planes are uneven"
    )]
    Uneven { path: PathBuf },
    #[error("'{path}' holds the {found}, as its header says, not the {wanted}; name another file")]
    OtherQuantity {
        path: PathBuf,
        found: String,
        wanted: Quantity,
    },
}

/// Stored type of a voxel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Uchar,
    Char,
    Short,
    Ushort,
    Int,
    Uint,
    Float,
    Double,
}

const ELEMENTS: [(&str, Element, usize); 8] = [
    ("MET_UCHAR", Element::Uchar, 1),
    ("MET_CHAR", Element::Char, 1),
    ("MET_SHORT", Element::Short, 2),
    ("MET_USHORT", Element::Ushort, 2),
    ("MET_INT", Element::Int, 4),
    ("MET_UINT", Element::Uint, 4),
    ("MET_FLOAT", Element::Float, 4),
    ("MET_DOUBLE", Element::Double, 8),
];

/// Longest header: its lines are short, so a file without a line end until here is no MetaImage.
const LONGEST_HEADER: u64 = 64 * 1024;

/// Voxels are read in parts of this many bytes, whole voxels of every type.
const PART_BYTES: usize = 4 << 20;

/// Reads a volume. A two-dimensional image is one plane; a left-handed third axis is reversed with its
/// planes, so that the grid is right-handed.
///
/// # Errors
/// [`MhaError`]: a malformed header, numbers that form no grid (NaN or zero spacing), sizes that do not agree
/// with the file (found before any allocation).
pub fn read(path: &Path) -> Result<Volume<f32>, MhaError> {
    read_any(path, None).map(|(volume, _)| volume)
}

/// As [`read`], of a quantity: a file that states another is refused before its voxels are read. With what the header states.
///
/// # Errors
/// As [`read`]; [`MhaError::OtherQuantity`].
pub fn read_as(path: &Path, quantity: Quantity) -> Result<(Volume<f32>, Facts), MhaError> {
    read_any(path, Some(quantity))
}

fn read_any(path: &Path, wanted: Option<Quantity>) -> Result<(Volume<f32>, Facts), MhaError> {
    let (file, length) = input::open(path).map_err(|source| io_error(source, path))?;
    let held = file
        .metadata()
        .map_or(length, |metadata| input::held_bytes(&metadata));
    let mut reader = BufReader::new(file);
    let fields = header_fields(&mut reader).map_err(|e| e.named(path))?;
    let facts = Facts::read(|key| fields.text(key));
    if let Some((wanted, bytes_read)) =
        wanted.and_then(|wanted| Some((wanted, facts.contradicts(wanted)?)))
    {
        return Err(MhaError::OtherQuantity {
            path: path.to_owned(),
            found: bytes_read,
            wanted,
        });
    }
    let header = Header::new(&fields).map_err(|problem| MhaError::Header {
        path: path.to_owned(),
        problem,
    })?;
    let (grid, reversed) = header.grid().map_err(|e| e.named(path))?;
    let promised = header.bytes().ok_or_else(|| MhaError::Header {
        path: path.to_owned(),
        problem: format!("DimSize = {:?} is larger than any file", header.size),
    })?;
    let left = length.saturating_sub(fields.bytes);
    let wanted = (promised / header.bytes_each as u64).saturating_mul(size_of::<f32>() as u64);
    let read = if header.compressed {
        // Zlib compresses by 1032 at most: a header that promises more is damaged, not only large.
        if promised / 1032 > left {
            return Err(size_error(left, path, promised));
        }
        check_budget(held, wanted.max(promised), path)?;
        header.read_values(ZlibDecoder::new(reader).take(promised + 1), promised)
    } else {
        if left < promised {
            return Err(size_error(left, path, promised));
        }
        check_budget(held, wanted.max(promised), path)?;
        header.read_values(reader.take(promised), promised)
    };
    let (mut values, bytes_read) = read.map_err(|source| io_error(source, path))?;
    if bytes_read != promised {
        return Err(size_error(bytes_read, path, promised));
    }
    if reversed {
        let plane = header.size[0] * header.size[1];
        values = values.chunks(plane).rev().flatten().copied().collect();
    }
    if !values
        .par_chunks(1 << 16)
        .all(|part: &[f32]| part.iter().fold(true, |so_far, v| so_far & v.is_finite()))
        && let Some(n) = values.iter().position(|v| !v.is_finite())
    {
        let problem = format!(
            "voxel {n} is {}; every voxel must be a finite number",
            values[n]
        );
        return Err(MhaError::Header {
            path: path.to_owned(),
            problem,
        });
    }
    Ok((Volume::new(Arc::new(grid), values), facts))
}

fn io_error(source: io::Error, path: &Path) -> MhaError {
    MhaError::Read {
        path: path.to_owned(),
        source,
    }
}

fn size_error(bytes: u64, path: &Path, promised: u64) -> MhaError {
    MhaError::Size {
        path: path.to_owned(),
        promised,
        found: bytes,
    }
}

fn check_budget(held: u64, bytes: u64, path: &Path) -> Result<(), MhaError> {
    check_unpacked(held, bytes).map_err(|source| MhaError::OverBudget {
        path: path.to_owned(),
        source,
    })
}

/// Writes a volume as 32-bit floats, uncompressed, that states nothing of itself beside its grid.
///
/// # Errors
/// [`MhaError::Uneven`] where the planes are uneven, [`MhaError::Write`] from the file system.
pub fn write(path: &Path, volume: &Volume<f32>) -> Result<(), MhaError> {
    write_with(path, volume, &Facts::default())
}

/// As [`write()`], with what it is and whose.
///
/// # Errors
/// As [`write()`].
pub fn write_with(path: &Path, volume: &Volume<f32>, facts: &Facts) -> Result<(), MhaError> {
    let facts = facts.lines();
    let grid = volume.grid();
    let dz = grid
        .even_plane_spacing_mm()
        .ok_or_else(|| MhaError::Uneven {
            path: path.to_owned(),
        })?;
    let [nx, ny, nz] = grid.size();
    let [dx, dy] = grid.spacing_xy_mm();
    let o = grid.origin_mm();
    let axes: Vec<String> = grid
        .axes()
        .iter()
        .map(|a| format!("{} {} {}", a.x, a.y, a.z))
        .collect();
    let header = format!(
        "ObjectType = Image\nNDims = 3\n{facts}BinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n\
         TransformMatrix = {}\nOffset = {} {} {}\nCenterOfRotation = 0 0 0\nAnatomicalOrientation = RAI\n\
         ElementSpacing = {dx} {dy} {dz}\nDimSize = {nx} {ny} {nz}\nElementType = MET_FLOAT\nElementDataFile = LOCAL\n",
        axes.join(" "),
        o.x,
        o.y,
        o.z,
    );
    replace_file(path, |out| {
        out.write_all(header.as_bytes())?;
        volume.data().chunks(1 << 16).try_for_each(|values| {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            out.write_all(&bytes)
        })
    })
    .map_err(|source| MhaError::Write {
        path: path.to_owned(),
        source,
    })
}

/// An error before its file's name is added.
enum Problem {
    Io(io::Error),
    Header(String),
    Grid(GridError),
}

impl Problem {
    fn named(self, path: &Path) -> MhaError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => MhaError::Read { path, source },
            Self::Header(problem) => MhaError::Header { path, problem },
            Self::Grid(source) => MhaError::Grid { path, source },
        }
    }
}

/// The `key = value` lines before the voxels, and their length in bytes.
struct Fields {
    lines: Vec<(String, String)>,
    bytes: u64,
}

fn header_fields(reader: &mut impl BufRead) -> Result<Fields, Problem> {
    let mut fields = Fields {
        lines: Vec::new(),
        bytes: 0,
    };
    loop {
        let mut line = Vec::new();
        let read = reader
            .by_ref()
            .take(LONGEST_HEADER)
            .read_until(b'\n', &mut line)
            .map_err(Problem::Io)?;
        fields.bytes += read as u64;
        let text = String::from_utf8_lossy(&line);
        let Some((key, value)) = text.split_once('=') else {
            return Err(Problem::Header(match fields.lines.is_empty() {
                true => "it does not begin with 'key = value' lines".to_owned(),
                false => "its header ends without an ElementDataFile line".to_owned(),
            }));
        };
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        let last = key == "ElementDataFile";
        fields.lines.push((key, value));
        if last {
            return Ok(fields);
        }
        if fields.bytes > LONGEST_HEADER {
            return Err(Problem::Header("its header does not end".to_owned()));
        }
    }
}

impl Fields {
    fn text(&self, key: &str) -> Option<&str> {
        self.lines
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    fn flag(&self, key: &str) -> bool {
        self.text(key)
            .is_some_and(|v| v.eq_ignore_ascii_case("true") || v == "1")
    }

    fn numbers(&self, keys: &[&str], count: usize) -> Result<Option<Vec<f64>>, String> {
        let Some((key, text)) = keys.iter().find_map(|k| self.text(k).map(|t| (k, t))) else {
            return Ok(None);
        };
        let numbers: Option<Vec<f64>> = text.split_whitespace().map(|w| w.parse().ok()).collect();
        match numbers {
            Some(n) if n.len() == count => Ok(Some(n)),
            _ => Err(format!("{key} = {text} should be {count} numbers")),
        }
    }
}

struct Header {
    size: [usize; 3],
    spacing: [f64; 3],
    origin: DVec3,
    axes: [DVec3; 3],
    element: Element,
    bytes_each: usize,
    big_endian: bool,
    compressed: bool,
    /// Stored number -> value: slope, intercept (MetaImage's `ElementToIntensityFunction...`).
    rescale: [f64; 2],
}

impl Header {
    fn new(fields: &Fields) -> Result<Self, String> {
        let dims: usize = match fields.text("NDims") {
            Some("2") => 2,
            Some("3") => 3,
            other => {
                return Err(format!(
                    "NDims = {}; it must be 2 or 3",
                    other.unwrap_or("(none)")
                ));
            }
        };
        if fields.text("ElementDataFile") != Some("LOCAL") {
            return Err(
                "its voxels are in another file; join header and voxels in one .mha file"
                    .to_owned(),
            );
        }
        if fields.text("BinaryData").is_some() && !fields.flag("BinaryData") {
            return Err("its voxels are text; write them as binary data".to_owned());
        }
        if fields
            .text("ElementNumberOfChannels")
            .is_some_and(|n| n != "1")
        {
            return Err("it has several channels a voxel; one is needed".to_owned());
        }
        let name = fields.text("ElementType").unwrap_or("(none)");
        let &(_, element, bytes_each) = ELEMENTS.iter().find(|e| e.0 == name).ok_or_else(|| {
            format!(
                "ElementType = {name}; the types read are {}",
                ELEMENTS.map(|e| e.0).join(", ")
            )
        })?;
        let sizes = fields
            .numbers(&["DimSize"], dims)?
            .ok_or("it has no DimSize")?;
        let mut size = [1usize; 3];
        for (to, from) in size.iter_mut().zip(&sizes) {
            // Exact in f64, and far above any image.
            if !(from.fract() == 0.0 && (1.0..=1e6).contains(from)) {
                return Err(format!("DimSize = {from} is not a number of voxels"));
            }
            *to = *from as usize;
        }
        let spacing = three(
            fields.numbers(&["ElementSpacing", "ElementSize"], dims)?,
            1.0,
        );
        let origin = DVec3::from(three(
            fields.numbers(&["Offset", "Position", "Origin"], dims)?,
            0.0,
        ));
        let matrix =
            fields.numbers(&["TransformMatrix", "Orientation", "Rotation"], dims * dims)?;
        let axes = match (dims, matrix) {
            (_, None) => [DVec3::X, DVec3::Y, DVec3::Z],
            (2, Some(m)) => [
                DVec3::new(m[0], m[1], 0.0),
                DVec3::new(m[2], m[3], 0.0),
                DVec3::Z,
            ],
            (_, Some(m)) => {
                std::array::from_fn(|a| DVec3::new(m[3 * a], m[3 * a + 1], m[3 * a + 2]))
            }
        };
        let rescale_part = |key| {
            fields
                .numbers(&[key], 1)
                .map(|n| n.and_then(|n| n.first().copied()))
        };
        let rescale = [
            rescale_part("ElementToIntensityFunctionSlope")?.unwrap_or(1.0),
            rescale_part("ElementToIntensityFunctionOffset")?.unwrap_or(0.0),
        ];
        let big_endian =
            fields.flag("BinaryDataByteOrderMSB") || fields.flag("ElementByteOrderMSB");
        let compressed = fields.flag("CompressedData");
        Ok(Self {
            size,
            spacing,
            origin,
            axes,
            element,
            bytes_each,
            big_endian,
            compressed,
            rescale,
        })
    }

    /// The grid, and whether its planes run against the file's (a left-handed file).
    fn grid(&self) -> Result<(Grid, bool), Problem> {
        let [row, column, normal] = self.axes;
        let right = row.cross(column);
        let along = normal.dot(right);
        if (normal.length() - 1.0).abs() > 1e-3 || (along.abs() - 1.0).abs() > 1e-3 {
            return Err(Problem::Header(
                "the third axis of TransformMatrix is not square to the others".to_owned(),
            ));
        }
        let dz = self.spacing[2];
        if !(dz.is_finite() && dz > 0.0) {
            return Err(Problem::Grid(GridError::Spacing(dz)));
        }
        let planes: Vec<f64> = (0..self.size[2]).map(|k| k as f64 * dz).collect();
        let reversed = along < 0.0;
        let last = planes.last().copied().unwrap_or(0.0);
        let origin = if reversed {
            self.origin + normal * last
        } else {
            self.origin
        };
        let xy = [self.spacing[0], self.spacing[1]];
        Grid::new(
            origin,
            row,
            column,
            xy,
            [self.size[0], self.size[1]],
            &planes,
        )
        .map(|grid| (grid, reversed))
        .map_err(Problem::Grid)
    }

    /// Bytes of uncompressed voxels; `None` on overflow.
    fn bytes(&self) -> Option<u64> {
        self.size
            .iter()
            .try_fold(self.bytes_each as u64, |product, n| {
                product.checked_mul(*n as u64)
            })
    }

    /// The values of voxels of `promised` bytes, and how many bytes there were. Their stored form is never there as a whole: a
    /// CT takes half as much again.
    fn read_values(&self, mut stored: impl Read, promised: u64) -> io::Result<(Vec<f32>, u64)> {
        let mut values = Vec::with_capacity((promised / self.bytes_each as u64) as usize);
        let (mut part, mut bytes_read) = (Vec::with_capacity(PART_BYTES), 0);
        loop {
            part.clear();
            let read = stored
                .by_ref()
                .take(PART_BYTES as u64)
                .read_to_end(&mut part)?;
            if read == 0 {
                return Ok((values, bytes_read));
            }
            bytes_read += read as u64;
            if bytes_read <= promised {
                values.par_extend(self.values(&part));
            }
        }
    }

    fn values<'a>(&'a self, data: &'a [u8]) -> impl IndexedParallelIterator<Item = f32> + 'a {
        let [slope, intercept] = self.rescale;
        let value = move |bytes: &[u8]| {
            // Little-endian bytes, at the front.
            let mut b = [0u8; 8];
            b[..bytes.len()].copy_from_slice(bytes);
            if self.big_endian {
                b[..bytes.len()].reverse();
            }
            let [b0, b1, b2, b3, ..] = b;
            match self.element {
                Element::Uchar => f64::from(b0),
                Element::Char => f64::from(b0 as i8),
                Element::Short => f64::from(i16::from_le_bytes([b0, b1])),
                Element::Ushort => f64::from(u16::from_le_bytes([b0, b1])),
                Element::Int => f64::from(i32::from_le_bytes([b0, b1, b2, b3])),
                Element::Uint => f64::from(u32::from_le_bytes([b0, b1, b2, b3])),
                Element::Float => f64::from(f32::from_le_bytes([b0, b1, b2, b3])),
                Element::Double => f64::from_le_bytes(b),
            }
        };
        data.par_chunks_exact(self.bytes_each)
            .map(move |c| (value(c) * slope + intercept) as f32)
    }
}

fn three(numbers: Option<Vec<f64>>, default: f64) -> [f64; 3] {
    let mut values = [default; 3];
    if let Some(n) = numbers {
        values[..n.len()].copy_from_slice(&n);
    }
    values
}

#[cfg(test)]
mod tests;
