//! Whether the lengths in a file fit the file. The parser takes memory for whatever length it reads, so one damaged
//! byte would otherwise cost gigabytes and minutes.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const IMPLICIT: &[u8] = b"1.2.840.10008.1.2";
/// Deflated and big endian data sets are left to the parser.
const NOT_WALKED: [&[u8]; 2] = [b"1.2.840.10008.1.2.1.99", b"1.2.840.10008.1.2.2"];
const PIXEL_DATA: [u8; 4] = [0xe0, 0x7f, 0x10, 0x00];
const ITEM: [u8; 4] = [0xfe, 0xff, 0x00, 0xe0];
const UNDEFINED: u32 = u32::MAX;

/// Walks the elements from byte `start` on, up to the pixel data or (`whole`) through them. `explicit` tells the VR of a data set without a
/// meta group; after a meta group (`None`) its transfer syntax tells.
///
/// `Ok(Err(words))` says which element is longer than the file.
pub fn check(path: &Path, start: u64, explicit: Option<bool>, whole: bool) -> io::Result<Result<(), String>> {
    let file = File::open(path)?;
    let mut left = file.metadata()?.len().saturating_sub(start);
    let mut reader = BufReader::new(file);
    reader.seek_relative(i64::try_from(start).unwrap_or(i64::MAX))?;
    let mut syntax = Vec::new();
    let mut explicit_now = explicit.unwrap_or(true);
    let mut in_meta = explicit.is_none();
    let mut fragments = false;
    // Fewer than eight bytes are no element; the parser says what it thinks of them.
    while left >= 8 {
        let mut head = [0; 8];
        reader.read_exact(&mut head)?;
        left -= 8;
        let tag = [head[0], head[1], head[2], head[3]];
        if in_meta && tag[..2] != [2, 0] {
            in_meta = false;
            let uid = syntax.trim_ascii_end();
            if NOT_WALKED.contains(&uid) {
                return Ok(Ok(()));
            }
            explicit_now = uid != IMPLICIT;
        }
        if tag == PIXEL_DATA && !whole {
            return Ok(Ok(()));
        }
        // Items and their ends have no VR.
        let delimiter = tag[..2] == ITEM[..2];
        let vr = (explicit_now && !delimiter).then_some([head[4], head[5]]);
        let Some(length) = length_of(&head, vr, &mut reader, &mut left)? else { return Ok(Ok(())) };
        let sequence = delimiter || vr == Some(*b"SQ") || (!explicit_now && length == UNDEFINED);
        if length != UNDEFINED && u64::from(length) > left {
            let tag = words(tag);
            return Ok(Err(format!("element ({tag}) claims {length} bytes where {left} are left")));
        }
        if tag == PIXEL_DATA && length == UNDEFINED {
            // Compressed: what follows are fragments, items of bytes in place of elements.
            fragments = true;
            continue;
        }
        if sequence && !fragments {
            continue;
        }
        if length == UNDEFINED {
            // A sequence of unknown VR has a syntax of its own and is left to the parser.
            let unknown = vr == Some(*b"UN");
            return Ok(if unknown { Ok(()) } else { Err(format!("element ({}) has no end", words(tag))) });
        }
        left -= u64::from(length);
        if tag == [2, 0, 0x10, 0] {
            syntax.resize(length as usize, 0);
            reader.read_exact(&mut syntax)?;
            syntax.retain(|&b| b != 0);
        } else if !explicit_now && length >= 8 {
            // Without VR a sequence is known by the item it starts with.
            let mut front = [0; 4];
            reader.read_exact(&mut front)?;
            if front == ITEM {
                reader.seek_relative(4)?;
                left += u64::from(length - 8);
            } else {
                reader.seek_relative(i64::from(length - 4))?;
            }
        } else {
            reader.seek_relative(i64::from(length))?;
        }
    }
    Ok(Ok(()))
}

fn words(tag: [u8; 4]) -> String {
    format!("{:02X}{:02X},{:02X}{:02X}", tag[1], tag[0], tag[3], tag[2])
}

/// The length an element's header tells, reading on where it has 32 bits of its own; `None` where the file ends.
fn length_of(
    head: &[u8; 8],
    vr: Option<[u8; 2]>,
    reader: &mut impl Read,
    left: &mut u64,
) -> io::Result<Option<u32>> {
    match vr {
        None => Ok(Some(u32::from_le_bytes([head[4], head[5], head[6], head[7]]))),
        Some(vr) if is_short(vr) => Ok(Some(u32::from(u16::from_le_bytes([head[6], head[7]])))),
        Some(_) if *left < 4 => Ok(None),
        Some(_) => {
            let mut long = [0; 4];
            reader.read_exact(&mut long)?;
            *left -= 4;
            Ok(Some(u32::from_le_bytes(long)))
        }
    }
}

/// Value representations with a length of 16 bits (PS3.5 table 7.1-2).
fn is_short(vr: [u8; 2]) -> bool {
    const SHORT: &[u8] = b"AEASATCSDADSDTFLFDISLOLTPNSHSLSSSTTMUIULUS";
    SHORT.chunks_exact(2).any(|short| short == vr)
}
