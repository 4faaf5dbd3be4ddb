//! Files of kept doses: a line that says so, then a record for each dose. A record is a line with its digest and two lengths, a
//! header in JSON, and the values, packed without loss.

use super::{BeamPlace, InputDigests};
use case::{Dose, DoseStatus, Receipt};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use geometry::{Grid, Volume};
use glam::DVec3;
use input::{KEPT_DOSES_BYTES, check_unpacked, content_digest_of, open};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::sync::Arc;

/// The first line.
pub(super) const MAGIC: &[u8] = b"beamsight doses 1\n";
/// Longest first line of a record, and longest header: planes of a grid by the thousand.
const LINE_BYTES: u64 = 128;
const HEADER_BYTES: u64 = 4 << 20;

/// All of a dose but its values, and what it was computed from.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub of: BeamPlace,
    pub inputs: InputDigests,
    status: String,
    label: String,
    frame_of_reference_uid: String,
    caveats: Vec<String>,
    #[serde(default)]
    remarks: Vec<String>,
    receipt: Option<Receipt>,
    origin_mm: DVec3,
    row: DVec3,
    column: DVec3,
    spacing_xy_mm: [f64; 2],
    size_xy: [usize; 2],
    planes_mm: Vec<f64>,
}

impl Header {
    fn new(place: BeamPlace, inputs: &InputDigests, dose: &Dose) -> Self {
        let grid = dose.gy.grid();
        let ([row, column, _], [nx, ny, _]) = (grid.axes(), grid.size());
        Self {
            of: place,
            inputs: inputs.clone(),
            status: dose.status.word().to_owned(),
            label: dose.label.clone(),
            frame_of_reference_uid: dose.frame_of_reference_uid.clone(),
            caveats: dose.caveats.clone(),
            remarks: dose.remarks.clone(),
            receipt: dose.receipt.as_deref().cloned(),
            origin_mm: grid.origin_mm(),
            row,
            column,
            spacing_xy_mm: grid.spacing_xy_mm(),
            size_xy: [nx, ny],
            planes_mm: grid.planes_mm().to_vec(),
        }
    }

    fn grid(&self) -> Option<Grid> {
        let Self {
            origin_mm,
            row,
            column,
            spacing_xy_mm,
            size_xy,
            planes_mm,
            ..
        } = self;
        Grid::new(
            *origin_mm,
            *row,
            *column,
            *spacing_xy_mm,
            *size_xy,
            planes_mm,
        )
        .ok()
    }

    /// Bytes of the values in memory; `None` for more than are kept.
    pub fn unpacked_bytes(&self) -> Option<u64> {
        let [nx, ny] = self.size_xy;
        let voxels = nx.checked_mul(ny)?.checked_mul(self.planes_mm.len())?;
        u64::try_from(voxels)
            .ok()?
            .checked_mul(4)
            .filter(|bytes| *bytes <= KEPT_DOSES_BYTES)
    }

    fn dose(self, packed: &[u8]) -> Option<Dose> {
        let bytes = self.unpacked_bytes()?;
        check_unpacked(packed.len() as u64, bytes).ok()?;
        let grid = self.grid()?;
        let values = unpacked(packed, grid.len())?;
        let gy = Volume::new(Arc::new(grid), values);
        Some(Dose {
            gy: Arc::new(gy),
            status: DoseStatus::from_word(&self.status)?,
            label: self.label,
            frame_of_reference_uid: self.frame_of_reference_uid,
            receipt: self.receipt.map(Arc::new),
            caveats: self.caveats,
            remarks: self.remarks,
            part: None,
        })
    }
}

/// Values as differences of the bits of neighbours, sorted by byte: the high bytes of a smooth dose then repeat.
fn packed(values: &[f32]) -> io::Result<Vec<u8>> {
    let n = values.len();
    let (mut planes, mut previous) = (vec![0; 4 * n], 0);
    for (i, value) in values.iter().enumerate() {
        let bits = value.to_bits();
        for (k, byte) in bits
            .wrapping_sub(previous)
            .to_le_bytes()
            .into_iter()
            .enumerate()
        {
            planes[k * n + i] = byte;
        }
        previous = bits;
    }
    let mut out = ZlibEncoder::new(Vec::new(), Compression::fast());
    out.write_all(&planes)?;
    out.finish()
}

/// `None` where other than `n` values come out.
fn unpacked(bytes: &[u8], n: usize) -> Option<Vec<f32>> {
    let mut planes = Vec::new();
    ZlibDecoder::new(bytes)
        .take(4 * n as u64 + 1)
        .read_to_end(&mut planes)
        .ok()?;
    if planes.len() != 4 * n {
        return None;
    }
    let mut bits = 0u32;
    Some(
        (0..n)
            .map(|i: usize| {
                bits =
                    bits.wrapping_add(u32::from_le_bytes([0, 1, 2, 3].map(|k| planes[k * n + i])));
                f32::from_bits(bits)
            })
            .collect(),
    )
}

/// The record of a dose; `None` for a grid that a file does not give back to the bit.
pub(super) fn record_of(
    place: BeamPlace,
    inputs: &InputDigests,
    dose: &Dose,
) -> io::Result<Option<Vec<u8>>> {
    let header = Header::new(place, inputs, dose);
    if header.grid().as_ref() != Some(&**dose.gy.grid()) {
        return Ok(None);
    }
    let header = serde_json::to_vec(&header).map_err(io::Error::from)?;
    let values = packed(dose.gy.data())?;
    let digest = content_digest_of(&mut header.chain(&values[..]))?;
    let line = format!("{digest} {} {}\n", header.len(), values.len());
    Ok(Some([line.as_bytes(), &header, &values].concat()))
}

/// Records of a file, in order.
pub(super) struct Records {
    file: BufReader<File>,
    /// Bytes behind the record that was read last.
    left: u64,
}

/// A record, whose values are still in the file.
pub(super) struct Record {
    line: String,
    header_bytes: Vec<u8>,
    pub header: Header,
    values: u64,
}

impl Records {
    /// # Errors
    /// Errors of the file system; `InvalidData` for a file of anything else.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (file, length) = open(path)?;
        let mut file = BufReader::new(file);
        let mut first = Vec::new();
        file.by_ref()
            .take(MAGIC.len() as u64)
            .read_to_end(&mut first)?;
        if first != MAGIC {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is no file of kept doses",
            ));
        }
        Ok(Self {
            file,
            left: length.saturating_sub(MAGIC.len() as u64),
        })
    }

    /// The next record; its values are read or skipped before the one after it.
    ///
    /// # Errors
    /// Errors of the file system; `InvalidData` where no record begins.
    pub fn next(&mut self) -> io::Result<Option<Record>> {
        let mut line = Vec::new();
        self.file
            .by_ref()
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8(line).map_err(|_| damaged())?;
        let mut lengths = line.trim_end().split(' ').skip(1).map(str::parse::<u64>);
        let (Some(Ok(header)), Some(Ok(values))) = (lengths.next(), lengths.next()) else {
            return Err(damaged());
        };
        let used = (line.len() as u64)
            .checked_add(header)
            .and_then(|sum| sum.checked_add(values));
        self.left = used
            .and_then(|used| self.left.checked_sub(used))
            .ok_or_else(damaged)?;
        if header > HEADER_BYTES {
            return Err(damaged());
        }
        let mut header_bytes = Vec::new();
        self.file
            .by_ref()
            .take(header)
            .read_to_end(&mut header_bytes)?;
        let header = serde_json::from_slice(&header_bytes).map_err(|_| damaged())?;
        Ok(Some(Record {
            line,
            header_bytes,
            header,
            values,
        }))
    }

    /// # Errors
    /// Errors of the file system.
    pub fn skip(&mut self, record: &Record) -> io::Result<()> {
        // A file has fewer bytes.
        self.file
            .seek_relative(i64::try_from(record.values).unwrap_or(i64::MAX))
    }

    /// Whether a record is as it was written; its values are passed.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn is_whole(&mut self, record: &Record) -> io::Result<bool> {
        let values = self.file.by_ref().take(record.values);
        Ok(record.is_of(&content_digest_of(&mut record.header_bytes.chain(values))?))
    }

    /// The bytes of a record; `None` where they are not as they were written.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn bytes(&mut self, record: &Record) -> io::Result<Option<Vec<u8>>> {
        let Some(values) = self.values(record)? else {
            return Ok(None);
        };
        Ok(Some(
            [record.line.as_bytes(), &record.header_bytes, &values].concat(),
        ))
    }

    /// The dose of a record; `None` where it is not as it was written.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn dose(&mut self, record: Record) -> io::Result<Option<Dose>> {
        Ok(self
            .values(&record)?
            .and_then(|values| record.header.dose(&values)))
    }

    fn values(&mut self, record: &Record) -> io::Result<Option<Vec<u8>>> {
        let mut values = Vec::new();
        self.file
            .by_ref()
            .take(record.values.min(KEPT_DOSES_BYTES))
            .read_to_end(&mut values)?;
        let digest = content_digest_of(&mut record.header_bytes.chain(&values[..]))?;
        Ok(record.is_of(&digest).then_some(values))
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a record of it is damaged")
}

impl Record {
    fn is_of(&self, digest: &str) -> bool {
        self.line.split(' ').next() == Some(digest)
    }
}
