//! Stored pixel values, compressed or not.

use super::DicomError;
use super::catalogue;
use super::codestream::{Frame, check_jpeg, check_jpeg_2000, decode_rle};
use super::object::{Attributes, Item, Object, root_cause};
use super::source::{self, Encoding};
use super::walk::{Fragments, fragments, walk};
use dicom_core::value::{PixelFragmentSequence, Value};
use dicom_core::{DataElement, PrimitiveValue, Tag, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::FileMetaTableBuilder;
use dicom_object::mem::InMemElement;
use dicom_pixeldata::PixelDecoder;
use input::{check_unpacked, fenced};
use std::path::Path;

/// A stored value in memory, independent of its width in the file.
const SAMPLE_BYTES: u64 = size_of::<u32>() as u64;

/// Bits of a stored value in its sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// 8, 16 or 32.
    pub allocated: u32,
    pub stored: u32,
    pub high_bit: u32,
    pub signed: bool,
}

/// Stored samples and their layout.
pub struct Samples {
    pub raw: Vec<u32>,
    pub layout: Layout,
}

impl Layout {
    fn read(object: &Object, path: &Path) -> Result<Self, DicomError> {
        let allocated =
            object
                .unsigned(tags::BITS_ALLOCATED)
                .ok_or_else(|| DicomError::Missing {
                    path: path.to_owned(),
                    attribute: "BitsAllocated",
                })?;
        let stored = object.unsigned(tags::BITS_STORED).unwrap_or(allocated);
        let high_bit = object
            .unsigned(tags::HIGH_BIT)
            .unwrap_or(stored.saturating_sub(1));
        let layout = Self {
            allocated,
            stored,
            high_bit,
            signed: object.unsigned(tags::PIXEL_REPRESENTATION) == Some(1),
        };
        let fills_bytes = matches!(allocated, 8 | 16 | 32);
        if !fills_bytes
            || stored == 0
            || stored > allocated
            || high_bit >= allocated
            || high_bit + 1 < stored
        {
            let what = format!(
                "{stored} bits stored of {allocated} allocated with the highest bit {high_bit} is no pixel format"
            );
            return Err(DicomError::Contradiction {
                path: path.to_owned(),
                what,
            });
        }
        Ok(layout)
    }

    /// The value of a sample: other bits (old overlays) masked, the sign extended.
    pub fn value(self, raw: u32) -> i64 {
        let mask = if self.stored == 32 {
            u32::MAX
        } else {
            (1 << self.stored) - 1
        };
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
/// [`DicomError`] where pixels are missing, too few, several per pixel, or of unknown compression.
pub fn read_samples(header: &Object, path: &Path, expected: usize) -> Result<Samples, DicomError> {
    if let Some(per_pixel) = header.whole(tags::SAMPLES_PER_PIXEL).filter(|&n| n != 1) {
        let what = format!(
            "{per_pixel} samples per pixel: this is a colour picture, not an image of density"
        );
        return Err(DicomError::Unsupported {
            path: path.to_owned(),
            what,
        });
    }
    let layout = Layout::read(header, path)?;
    let mut source = source::open(path)?;
    let wanted = (expected as u64).saturating_mul(SAMPLE_BYTES);
    check_unpacked(source.bytes.file, wanted).map_err(|source| DicomError::OverBudget {
        path: path.to_owned(),
        source,
    })?;
    let walked = walk(&mut source.bytes, source.encoding).map_err(|fault| fault.in_file(path))?;
    let Some(pixels) = walked.pixels else {
        return Err(DicomError::Missing {
            path: path.to_owned(),
            attribute: "PixelData",
        });
    };
    let raw = match pixels.length {
        Some(length) => {
            let bytes = (expected as u64).saturating_mul(u64::from(layout.allocated / 8));
            let mut value = Vec::new();
            source
                .bytes
                .copy(u64::from(length).min(bytes), &mut value)
                .map_err(|fault| fault.in_file(path))?;
            if source.encoding == Encoding::ExplicitBig {
                little_endian(&mut value, layout.allocated, pixels.words);
            }
            unpack(&value, layout.allocated)
        }
        None => {
            let frames = fragments(&mut source.bytes).map_err(|fault| fault.in_file(path))?;
            decompress(header, path, &source.syntax, frames, expected)?
        }
    };
    if raw.len() < expected {
        return Err(DicomError::broken(
            path,
            format!("{} pixels where {expected} belong", raw.len()),
        ));
    }
    Ok(Samples { raw, layout })
}

/// The pixel data of the file with this header as an element to be written again, none where it has none, and the transfer
/// syntax that the element is in: the file's where it is compressed, else implicit VR little endian.
///
/// # Errors
/// [`DicomError`] where the value is cut short, or larger than the budget of the file.
pub fn pixel_element(
    header: &Object,
    path: &Path,
) -> Result<(Option<InMemElement>, String), DicomError> {
    let plain = uids::IMPLICIT_VR_LITTLE_ENDIAN.to_owned();
    let mut source = source::open(path)?;
    let walked = walk(&mut source.bytes, source.encoding).map_err(|fault| fault.in_file(path))?;
    let Some(pixels) = walked.pixels else {
        return Ok((None, plain));
    };
    let Some(length) = pixels.length else {
        let Fragments { offsets, fragments } =
            fragments(&mut source.bytes).map_err(|fault| fault.in_file(path))?;
        let value = Value::PixelSequence(PixelFragmentSequence::new(offsets, fragments));
        return Ok((
            Some(DataElement::new(tags::PIXEL_DATA, VR::OB, value)),
            source.syntax,
        ));
    };
    let length = u64::from(length);
    check_unpacked(source.bytes.file, length).map_err(|source| DicomError::OverBudget {
        path: path.to_owned(),
        source,
    })?;
    let mut value = Vec::new();
    if !source
        .bytes
        .copy(length, &mut value)
        .map_err(|fault| fault.in_file(path))?
    {
        return Err(DicomError::Broken {
            path: path.to_owned(),
            reason: "its pixels are cut short".to_owned(),
        });
    }
    if source.encoding == Encoding::ExplicitBig {
        little_endian(
            &mut value,
            Layout::read(header, path)?.allocated,
            pixels.words,
        );
    }
    Ok((
        Some(DataElement::new(
            tags::PIXEL_DATA,
            VR::OW,
            PrimitiveValue::from(value),
        )),
        plain,
    ))
}

/// Swaps the bytes of big endian samples. Samples of 8 bits in words lie in pairs.
fn little_endian(value: &mut [u8], allocated: u32, words: bool) {
    let width = match (allocated, words) {
        (8, true) => 2,
        _ => allocated as usize / 8,
    };
    value.chunks_exact_mut(width).for_each(<[u8]>::reverse);
}

/// Decodes the frames of the `expected` samples in order.
fn decompress(
    header: &Object,
    path: &Path,
    syntax: &str,
    pixels: Fragments,
    expected: usize,
) -> Result<Vec<u32>, DicomError> {
    let [columns, rows] =
        catalogue::size_of(header).ok_or_else(|| DicomError::missing(path, "Rows and Columns"))?;
    let layout = Layout::read(header, path)?;
    let frame = Frame {
        columns,
        rows,
        bytes: layout.allocated as usize / 8,
    };
    let decoder = Decoder::for_syntax(syntax).map_err(|what| DicomError::Unsupported {
        path: path.to_owned(),
        what,
    })?;
    let wanted = expected / frame.pixels().max(1);
    let total = header
        .whole(tags::NUMBER_OF_FRAMES)
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(1);
    let streams = streams(pixels, total.max(1)).map_err(|what| DicomError::Contradiction {
        path: path.to_owned(),
        what,
    })?;
    let mut raw = Vec::new();
    for stream in streams.into_iter().take(wanted) {
        let stream = decoder
            .checked(stream, frame)
            .map_err(|what| DicomError::broken(path, what))?;
        let samples =
            decoder
                .decode(stream, header, syntax)
                .map_err(|what| DicomError::Unsupported {
                    path: path.to_owned(),
                    what,
                })?;
        raw.extend(unpack(&samples, layout.allocated));
    }
    Ok(raw)
}

/// The stream of each frame: all fragments of a single frame; of several, one fragment each or by the table
/// of offsets.
fn streams(pixels: Fragments, frames: usize) -> Result<Vec<Vec<u8>>, String> {
    let Fragments { offsets, fragments } = pixels;
    if frames == 1 {
        return Ok(vec![fragments.concat()]);
    }
    if fragments.len() == frames {
        return Ok(fragments);
    }
    let (count, declared) = (fragments.len(), offsets.len());
    if declared != frames || offsets.first() != Some(&0) {
        return Err(unclear_fragments(frames, count, declared));
    }
    let mut streams: Vec<Vec<u8>> = Vec::new();
    let mut item_offset: u64 = 0;
    for fragment in fragments {
        let begins = offsets
            .get(streams.len())
            .is_some_and(|&offset| u64::from(offset) == item_offset);
        // Offsets count the eight bytes of each fragment's header.
        item_offset += 8 + fragment.len() as u64;
        match streams.last_mut() {
            Some(stream) if !begins => stream.extend(fragment),
            _ => streams.push(fragment),
        }
    }
    if streams.len() == frames {
        Ok(streams)
    } else {
        Err(unclear_fragments(frames, count, declared))
    }
}

fn unclear_fragments(frames: usize, count: usize, declared: usize) -> String {
    format!("it has {frames} frames in {count} fragments, and offsets of {declared}")
}

/// The decoder of a stream.
#[derive(Clone, Copy)]
enum Decoder {
    AsItIs,
    Rle,
    Jpeg,
    Jpeg2000,
}

impl Decoder {
    /// The decoder of a transfer syntax; for an unsupported one its name and the remedy.
    fn for_syntax(syntax: &str) -> Result<Self, String> {
        let name = match syntax {
            uids::ENCAPSULATED_UNCOMPRESSED_EXPLICIT_VR_LITTLE_ENDIAN => return Ok(Self::AsItIs),
            uids::RLE_LOSSLESS => return Ok(Self::Rle),
            uids::JPEG_BASELINE8_BIT
            | uids::JPEG_EXTENDED12_BIT
            | uids::JPEG_LOSSLESS
            | uids::JPEG_LOSSLESS_SV1 => return Ok(Self::Jpeg),
            uids::JPEG2000_LOSSLESS
            | uids::JPEG2000
            | uids::HTJ2K_LOSSLESS
            | uids::HTJ2K_LOSSLESS_RPCL
            | uids::HTJ2K => return Ok(Self::Jpeg2000),
            uids::JPEGLS_LOSSLESS | uids::JPEGLS_NEAR_LOSSLESS => "JPEG-LS",
            // Retired in 2001; processes 10 and 12, and their arithmetic siblings.
            "1.2.840.10008.1.2.4.53" | "1.2.840.10008.1.2.4.54" => "JPEG spectral selection",
            "1.2.840.10008.1.2.4.55" | "1.2.840.10008.1.2.4.56" => "JPEG full progression",
            _ => "a kind that is not known here",
        };
        Err(format!(
            "its pixels are compressed as {name} ({syntax}), which is not read; export it uncompressed, or as JPEG or RLE lossless"
        ))
    }

    /// The stream of a frame, if it agrees with its file.
    fn checked(self, stream: Vec<u8>, frame: Frame) -> Result<Vec<u8>, String> {
        match self {
            Self::AsItIs => {}
            Self::Rle => return decode_rle(&stream, frame),
            Self::Jpeg => check_jpeg(&stream, frame)?,
            Self::Jpeg2000 => check_jpeg_2000(&stream, frame)?,
        }
        Ok(stream)
    }

    /// Samples of a checked stream, little endian.
    fn decode(self, stream: Vec<u8>, header: &Object, syntax: &str) -> Result<Vec<u8>, String> {
        if matches!(self, Self::AsItIs | Self::Rle) {
            return Ok(stream);
        }
        let one = one_frame(header, syntax, stream)?;
        fenced(|| one.decode_pixel_data().map(|decoded| decoded.into_data()).map_err(|e| root_cause(&e)))
            .and_then(|decoded| decoded)
            .map_err(|reason| {
                format!(
                    "its compressed pixels ({syntax}) cannot be decoded ({reason}); export it uncompressed"
                )
            })
    }
}

/// An object of a single frame in a single fragment: the only input of the decoders.
fn one_frame(header: &Object, syntax: &str, stream: Vec<u8>) -> Result<Object, String> {
    let mut one = Item::new_empty();
    let shape = [tags::COLUMNS, tags::ROWS, tags::BITS_ALLOCATED];
    for element in shape.into_iter().filter_map(|tag| header.get(tag)) {
        one.put(element.clone());
    }
    let allocated = header.whole(tags::BITS_ALLOCATED).unwrap_or_default() as u16;
    put(tags::SAMPLES_PER_PIXEL, VR::US, 1u16.into(), &mut one);
    put(tags::BITS_STORED, VR::US, allocated.into(), &mut one);
    put(
        tags::HIGH_BIT,
        VR::US,
        allocated.saturating_sub(1).into(),
        &mut one,
    );
    put(tags::PIXEL_REPRESENTATION, VR::US, 0u16.into(), &mut one);
    put(
        tags::PHOTOMETRIC_INTERPRETATION,
        VR::CS,
        "MONOCHROME2".into(),
        &mut one,
    );
    let fragments = PixelFragmentSequence::new_fragments(vec![stream]);
    one.put(DataElement::new(
        tags::PIXEL_DATA,
        VR::OB,
        Value::PixelSequence(fragments),
    ));
    let meta = FileMetaTableBuilder::new()
        .transfer_syntax(syntax)
        .media_storage_sop_class_uid(uids::CT_IMAGE_STORAGE)
        .media_storage_sop_instance_uid("");
    one.with_meta(meta).map_err(|e| root_cause(&e))
}

fn put(tag: Tag, vr: VR, value: PrimitiveValue, object: &mut Item) {
    object.put(DataElement::new(tag, vr, value));
}

fn unpack(bytes: &[u8], allocated: u32) -> Vec<u32> {
    match allocated {
        8 => bytes.iter().map(|&b| u32::from(b)).collect(),
        16 => bytes
            .chunks_exact(2)
            .map(|b| u32::from(u16::from_le_bytes([b[0], b[1]])))
            .collect(),
        _ => bytes
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_masked_and_signed() {
        let twelve = Layout {
            allocated: 16,
            stored: 12,
            high_bit: 11,
            signed: true,
        };
        assert_eq!(twelve.value(0x0fff), -1);
        assert_eq!(twelve.value(0xf7ff), 2047);
        assert_eq!(twelve.value(0x0800), -2048);
        let high = Layout {
            allocated: 16,
            stored: 12,
            high_bit: 15,
            signed: false,
        };
        assert_eq!(high.value(0xabcf), 0xabc);
        let full = Layout {
            allocated: 32,
            stored: 32,
            high_bit: 31,
            signed: false,
        };
        assert_eq!(full.value(u32::MAX), i64::from(u32::MAX));
        assert_eq!(
            Layout {
                signed: true,
                ..full
            }
            .value(u32::MAX),
            -1
        );
    }
}
