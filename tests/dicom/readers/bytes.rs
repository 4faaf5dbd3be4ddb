//! DICOM files written byte by byte, because a writer of sound files cannot write these.

use std::path::{Path, PathBuf};

pub const EXPLICIT: &str = "1.2.840.10008.1.2.1";
pub const IMPLICIT: &str = "1.2.840.10008.1.2";
pub const DEFLATED: &str = "1.2.840.10008.1.2.1.99";
pub const RLE: &str = "1.2.840.10008.1.2.5";
pub const JPEG_LOSSLESS: &str = "1.2.840.10008.1.2.4.70";
pub const JPEG_2000: &str = "1.2.840.10008.1.2.4.90";
pub const UNDEFINED: u32 = u32::MAX;

/// A tag, then a length of 32 bits: an element of implicit VR, an item, a delimiter.
pub fn bare(tag: u32, length: u32) -> Vec<u8> {
    let mut bytes = [(tag >> 16) as u16, tag as u16].map(u16::to_le_bytes).concat();
    bytes.extend(length.to_le_bytes());
    bytes
}

/// The header of an element of explicit VR with a length of 32 bits.
pub fn long(tag: u32, vr: &[u8; 2], length: u32) -> Vec<u8> {
    let mut bytes = bare(tag, 0);
    bytes.truncate(4);
    bytes.extend(vr);
    bytes.extend([0, 0]);
    bytes.extend(length.to_le_bytes());
    bytes
}

/// An element of explicit VR.
pub fn element(tag: u32, vr: &[u8; 2], value: &[u8]) -> Vec<u8> {
    let mut bytes = if [b"OB", b"OW", b"UN", b"SQ", b"UT"].contains(&vr) {
        long(tag, vr, value.len() as u32)
    } else {
        let mut short = bare(tag, 0);
        short.truncate(4);
        short.extend(vr);
        short.extend((value.len() as u16).to_le_bytes());
        short
    };
    bytes.extend(value);
    bytes
}

/// A text of even length.
pub fn text(tag: u32, vr: &[u8; 2], words: &str) -> Vec<u8> {
    let mut value = words.as_bytes().to_vec();
    value.resize(value.len().next_multiple_of(2), b' ');
    element(tag, vr, &value)
}

pub fn number(tag: u32, value: u16) -> Vec<u8> {
    element(tag, b"US", &value.to_le_bytes())
}

/// The elements of a CT of 3 x 2 pixels before its pixels, with `more` inserted by tag.
pub fn ct_header(columns: u16, rows: u16, more: Vec<Vec<u8>>) -> Vec<u8> {
    let mut all = vec![
        text(0x0008_0016, b"UI", "1.2.840.10008.5.1.4.1.1.2"),
        text(0x0008_0018, b"UI", "1.2.3.4"),
        text(0x0008_0060, b"CS", "CT"),
        text(0x0010_0010, b"PN", "Test^One"),
        text(0x0010_0020, b"LO", "T1"),
        text(0x0018_5100, b"CS", "HFS"),
        text(0x0020_000d, b"UI", "1.2.3.1"),
        text(0x0020_000e, b"UI", "1.2.3.2"),
        text(0x0020_0013, b"IS", "1"),
        text(0x0020_0032, b"DS", "-10\\-20\\5"),
        text(0x0020_0037, b"DS", "1\\0\\0\\0\\1\\0"),
        text(0x0020_0052, b"UI", "1.2.3.3"),
        number(0x0028_0002, 1),
        text(0x0028_0004, b"CS", "MONOCHROME2"),
        number(0x0028_0010, rows),
        number(0x0028_0011, columns),
        text(0x0028_0030, b"DS", "2.5\\1.5"),
        number(0x0028_0100, 16),
        number(0x0028_0101, 16),
        number(0x0028_0102, 15),
        number(0x0028_0103, 0),
        text(0x0028_1052, b"DS", "-1000"),
        text(0x0028_1053, b"DS", "1"),
    ];
    for one in more {
        all.retain(|other| other[..4] != one[..4]);
        all.push(one);
    }
    all.sort_by_key(|e| [e[1], e[0], e[3], e[2]]);
    all.concat()
}

/// Uncompressed pixels.
pub fn pixels(words: &[u16]) -> Vec<u8> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    element(0x7fe0_0010, b"OW", &bytes)
}

/// Compressed pixels: an empty table of offsets, then the fragments.
pub fn fragments(all: &[&[u8]]) -> Vec<u8> {
    let mut bytes = long(0x7fe0_0010, b"OB", UNDEFINED);
    bytes.extend(bare(0xfffe_e000, 0));
    for fragment in all {
        bytes.extend(bare(0xfffe_e000, fragment.len() as u32));
        bytes.extend(*fragment);
    }
    bytes.extend(bare(0xfffe_e0dd, 0));
    bytes
}

/// Preamble and meta group, with `more` of its elements, then a data set.
pub fn file(syntax: &str, more: &[u8], data_set: &[u8]) -> Vec<u8> {
    let mut uid = syntax.as_bytes().to_vec();
    uid.resize(uid.len().next_multiple_of(2), 0);
    let mut group = element(0x0002_0002, b"UI", b"1.2.840.10008.5.1.4.1.1.2\0");
    group.extend(element(0x0002_0010, b"UI", &uid));
    group.extend(more);
    let mut bytes = vec![0; 128];
    bytes.extend(b"DICM");
    bytes.extend(element(0x0002_0000, b"UL", &(group.len() as u32).to_le_bytes()));
    bytes.extend(group);
    bytes.extend(data_set);
    bytes
}

pub fn put(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// So many megabytes of zeros, deflated: one repeated block of a megabyte, so that making it is quick.
pub fn deflated_zeros(megabytes: usize) -> Vec<u8> {
    let mut one = flate2::Compress::new(flate2::Compression::best(), false);
    let zeros = vec![0u8; 1 << 20];
    let mut block = Vec::with_capacity(1 << 16);
    one.compress_vec(&zeros, &mut block, flate2::FlushCompress::Full).unwrap();
    assert_eq!(one.total_in(), 1 << 20);
    let mut all = block.repeat(megabytes);
    // The last block, of fixed codes, is empty.
    all.extend([0x03, 0x00]);
    all
}
