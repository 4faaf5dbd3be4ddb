//! Stored pixel values, compressed or not.

use super::DicomError;
use super::object::{Attributes, Object, open, root_cause};
use dicom_core::value::Value;
use dicom_dictionary_std::{tags, uids};
use dicom_pixeldata::PixelDecoder;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Explicit VR Big Endian: retired, still found in archives.
const BIG_ENDIAN: &str = "1.2.840.10008.1.2.2";

/// How a stored value lies in its sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// 8, 16 or 32.
    pub allocated: u32,
    pub stored: u32,
    pub high_bit: u32,
    pub signed: bool,
}

/// Samples as they are stored, and how to understand them.
pub struct Samples {
    pub raw: Vec<u32>,
    pub layout: Layout,
}

impl Layout {
    fn of(object: &Object, path: &Path) -> Result<Self, DicomError> {
        let bits = |tag| object.whole(tag).and_then(|n| u32::try_from(n).ok());
        let allocated = bits(tags::BITS_ALLOCATED)
            .ok_or_else(|| DicomError::Missing { path: path.to_owned(), attribute: "BitsAllocated" })?;
        let stored = bits(tags::BITS_STORED).unwrap_or(allocated);
        let high_bit = bits(tags::HIGH_BIT).unwrap_or(stored.saturating_sub(1));
        let layout =
            Self { allocated, stored, high_bit, signed: bits(tags::PIXEL_REPRESENTATION) == Some(1) };
        let whole = matches!(allocated, 8 | 16 | 32);
        if !whole || stored == 0 || stored > allocated || high_bit >= allocated || high_bit + 1 < stored {
            let what = format!(
                "{stored} bits stored of {allocated} allocated with the highest bit {high_bit} is no pixel format"
            );
            return Err(DicomError::Contradiction { path: path.to_owned(), what });
        }
        Ok(layout)
    }

    /// The value of a sample: other bits (old overlays) masked away, the sign extended.
    pub fn value(self, raw: u32) -> i64 {
        let mask = if self.stored == 32 { u32::MAX } else { (1 << self.stored) - 1 };
        let value = (raw >> (self.high_bit + 1 - self.stored)) & mask;
        if self.signed && value >> (self.stored - 1) & 1 == 1 {
            i64::from(value) - (1i64 << self.stored)
        } else {
            i64::from(value)
        }
    }
}

/// Reads the `expected` samples (columns x rows x frames) of the file with this header.
///
/// # Errors
/// [`DicomError`] where there are none, fewer than expected, several per pixel, or the compression is unknown.
pub fn read_samples(header: &Object, path: &Path, expected: usize) -> Result<Samples, DicomError> {
    match samples_at_end(header, path, expected)? {
        Some(samples) => Ok(samples),
        None => parsed_samples(&open(path)?, path, expected),
    }
}

/// Uncompressed pixels that end the file, as they nearly always do, are taken from there as they are: parsing them
/// value by value takes several times as long. `None` where the file is otherwise.
fn samples_at_end(header: &Object, path: &Path, expected: usize) -> Result<Option<Samples>, DicomError> {
    // Tag, in explicit VR also the VR with two reserved bytes; then 32 bits of length.
    let starts: [&[u8]; 2] = match syntax(header) {
        uids::EXPLICIT_VR_LITTLE_ENDIAN => [b"\xe0\x7f\x10\x00OW\0\0", b"\xe0\x7f\x10\x00OB\0\0"],
        uids::IMPLICIT_VR_LITTLE_ENDIAN => [b"\xe0\x7f\x10\x00"; 2],
        _ => return Ok(None),
    };
    if header.whole(tags::SAMPLES_PER_PIXEL).is_some_and(|n| n != 1) {
        return Ok(None);
    }
    let layout = Layout::of(header, path)?;
    let bytes = expected.saturating_mul(layout.allocated as usize / 8);
    let Ok(length) = u32::try_from(bytes + bytes % 2) else { return Ok(None) };
    let front = starts[0].len() + 4;
    let io = |source| DicomError::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io)?;
    let whole = file.metadata().map_err(io)?.len();
    let Some(at) = whole.checked_sub(u64::from(length) + front as u64) else { return Ok(None) };
    file.seek(SeekFrom::Start(at)).map_err(io)?;
    let mut element = Vec::with_capacity(front + length as usize);
    file.read_to_end(&mut element).map_err(io)?;
    let fits = element.len() == front + length as usize
        && starts.iter().any(|start| element.starts_with(start))
        && element[front - 4..front] == length.to_le_bytes();
    Ok(fits.then(|| Samples { raw: unpack(&element[front..front + bytes], layout.allocated), layout }))
}

fn parsed_samples(object: &Object, path: &Path, expected: usize) -> Result<Samples, DicomError> {
    let Some(element) = object.get(tags::PIXEL_DATA) else {
        return Err(DicomError::Missing { path: path.to_owned(), attribute: "PixelData" });
    };
    if let Some(per_pixel) = object.whole(tags::SAMPLES_PER_PIXEL).filter(|&n| n != 1) {
        let what =
            format!("{per_pixel} samples per pixel: this is a colour picture, not an image of density");
        return Err(DicomError::Unsupported { path: path.to_owned(), what });
    }
    let mut layout = Layout::of(object, path)?;
    let raw = match element.value() {
        Value::Primitive(value) => unpack(&value.to_bytes(), layout.allocated),
        _ => {
            let decoded = object.decode_pixel_data().map_err(|e| DicomError::Unsupported {
                path: path.to_owned(),
                what: match syntax(object) {
                    uids::JPEGLS_LOSSLESS | uids::JPEGLS_NEAR_LOSSLESS => {
                        "its pixels are compressed as JPEG-LS, which is not read; export it uncompressed, or as JPEG or RLE \
                         lossless"
                            .to_owned()
                    }
                    other => format!(
                        "its compressed pixels ({other}) cannot be decoded ({}); export it uncompressed",
                        root_cause(&e)
                    ),
                },
            })?;
            layout.allocated = u32::from(decoded.bits_allocated());
            unpack(decoded.data(), layout.allocated)
        }
    };
    let big_endian = syntax(object) == BIG_ENDIAN;
    let mut raw = raw;
    if big_endian && layout.allocated == 32 {
        // The parser swaps the bytes of each 16-bit word; the words are still high first.
        raw.iter_mut().for_each(|v| *v = v.rotate_left(16));
    }
    if raw.len() < expected {
        let reason = format!("{} pixels where {expected} belong", raw.len());
        return Err(DicomError::Broken { path: path.to_owned(), reason });
    }
    raw.truncate(expected);
    Ok(Samples { raw, layout })
}

/// Transfer syntax UID without padding.
fn syntax(object: &Object) -> &str {
    object.meta().transfer_syntax().trim_end_matches(['\0', ' '])
}

fn unpack(bytes: &[u8], allocated: u32) -> Vec<u32> {
    match allocated {
        8 => bytes.iter().map(|&b| u32::from(b)).collect(),
        16 => bytes.chunks_exact(2).map(|b| u32::from(u16::from_le_bytes([b[0], b[1]]))).collect(),
        _ => bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_masked_and_signed() {
        let twelve = Layout { allocated: 16, stored: 12, high_bit: 11, signed: true };
        assert_eq!(twelve.value(0x0fff), -1);
        assert_eq!(twelve.value(0xf7ff), 2047);
        assert_eq!(twelve.value(0x0800), -2048);
        let high = Layout { allocated: 16, stored: 12, high_bit: 15, signed: false };
        assert_eq!(high.value(0xabcf), 0xabc);
        let full = Layout { allocated: 32, stored: 32, high_bit: 31, signed: false };
        assert_eq!(full.value(u32::MAX), i64::from(u32::MAX));
        assert_eq!(Layout { signed: true, ..full }.value(u32::MAX), -1);
    }
}
