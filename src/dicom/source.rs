//! The bytes of a DICOM file: begin and encoding of its data set, inflated where it is deflated, and never
//! more bytes than the file's budget.

use super::DicomError;
use dicom_dictionary_std::uids;
use flate2::read::DeflateDecoder;
use input::{self, OverBudget, check_unpacked};
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// Explicit VR Big Endian: retired, still found in archives.
pub const BIG_ENDIAN: &str = "1.2.840.10008.1.2.2";
const DEFLATED: [&str; 2] = [
    uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN,
    uids::JPIP_REFERENCED_DEFLATE,
];
/// The common prefix of the standard's transfer syntaxes.
const STANDARD: &str = "1.2.840.10008.1.2";
/// Longest AE and SH values (PS3.5 6.2).
const TITLE_LETTERS: usize = 16;

/// Encoding of a data set's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Implicit,
    Explicit,
    ExplicitBig,
}

/// An error of a file, before its name is added.
#[derive(Debug)]
pub enum Fault {
    Io(io::Error),
    Broken(String),
    Budget(OverBudget),
}

impl Fault {
    pub fn in_file(self, path: &Path) -> DicomError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => DicomError::Io { path, source },
            Self::Broken(reason) => DicomError::Broken { path, reason },
            Self::Budget(source) => DicomError::OverBudget { path, source },
        }
    }
}

/// A file opened as far as the start of its data set.
pub struct OpenedFile {
    /// Transfer syntax UID; empty where the file has none.
    pub syntax: String,
    /// SOP class and instance of the meta group; empty where there are none.
    pub class: String,
    pub instance: String,
    pub encoding: Encoding,
    /// Offset of the data set in the file, deflated or not.
    pub data_set_at: u64,
    pub bytes: Bytes,
    /// Oddities of the meta group.
    pub oddities: Vec<String>,
}

/// Bytes of a data set, read once from front to end.
pub struct Bytes {
    reader: Box<dyn Read>,
    /// Unread bytes of a data set that is not deflated.
    left: Option<u64>,
    /// Bytes read.
    pub position: u64,
    /// Bytes that the file holds, which its budget follows from.
    pub file: u64,
}

impl Bytes {
    /// Bytes in memory, such as an answer from the network.
    pub fn in_memory(file_bytes: Vec<u8>) -> Self {
        let file = file_bytes.len() as u64;
        Self {
            reader: Box::new(Cursor::new(file_bytes)),
            left: Some(file),
            position: 0,
            file,
        }
    }

    /// The next bytes; `None` where fewer are left.
    pub fn next<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Fault> {
        let mut next = Vec::with_capacity(N);
        self.read(N as u64, &mut next)?;
        Ok(next.try_into().ok())
    }

    /// Remaining bytes, as far as their number is known.
    pub fn left(&self) -> u64 {
        self.left.unwrap_or(u64::MAX)
    }

    /// Appends `count` bytes; `Ok(false)` where fewer are left.
    pub fn copy(&mut self, count: u64, to: &mut Vec<u8>) -> Result<bool, Fault> {
        Ok(self.read(count, to)? == count)
    }

    /// Skips `count` bytes; `Ok(false)` where fewer are left.
    pub fn skip(&mut self, count: u64) -> Result<bool, Fault> {
        let read = io::copy(&mut self.reader.by_ref().take(count), &mut io::sink());
        Ok(self.counted(read)? == count)
    }

    fn read(&mut self, count: u64, to: &mut Vec<u8>) -> Result<u64, Fault> {
        if let Some(left) = self.left {
            to.reserve(count.min(left) as usize);
        }
        let read = self
            .reader
            .by_ref()
            .take(count)
            .read_to_end(to)
            .map(|n| n as u64);
        self.counted(read)
    }

    fn counted(&mut self, read: io::Result<u64>) -> Result<u64, Fault> {
        let count = read.map_err(|e| match self.left {
            Some(_) => Fault::Io(e),
            None => Fault::Broken(format!("it cannot be inflated: {e}")),
        })?;
        self.position += count;
        match &mut self.left {
            Some(left) => *left = left.saturating_sub(count),
            None => check_unpacked(self.file, self.position).map_err(Fault::Budget)?,
        }
        Ok(count)
    }
}

/// Opens a file as far as the start of its data set.
///
/// # Errors
/// [`DicomError::Io`], [`DicomError::NotDicom`], [`DicomError::Broken`], and a private transfer syntax.
pub fn open(path: &Path) -> Result<OpenedFile, DicomError> {
    let (file, length) = input::open(path).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidInput => {
            let what = format!("{e}; name a DICOM file or a folder of them");
            DicomError::Unsupported {
                path: path.to_owned(),
                what,
            }
        }
        _ => DicomError::io(path)(e),
    })?;
    let held = file
        .metadata()
        .map_or(length, |metadata| input::held_bytes(&metadata));
    let mut file = BufReader::new(file);
    let mut head = Vec::with_capacity(132);
    file.by_ref()
        .take(132)
        .read_to_end(&mut head)
        .map_err(DicomError::io(path))?;
    let Some((start, meta)) = beginning(&head) else {
        return Err(DicomError::NotDicom {
            path: path.to_owned(),
        });
    };
    let after_preamble = head.split_off(start);
    let bytes = Bytes {
        reader: Box::new(Cursor::new(after_preamble).chain(file)),
        left: Some(length.saturating_sub(start as u64)),
        position: 0,
        file: held,
    };
    let source = OpenedFile {
        syntax: String::new(),
        class: String::new(),
        instance: String::new(),
        encoding: Encoding::Explicit,
        data_set_at: start as u64,
        bytes,
        oddities: Vec::new(),
    };
    let source = if meta {
        source.past_meta()
    } else {
        source.bare()
    }
    .map_err(|fault| fault.in_file(path))?;
    if !source.syntax.is_empty() && !source.syntax.starts_with(STANDARD) {
        let what = format!(
            "its transfer syntax {} is none of the standard; export it as Explicit VR Little Endian",
            source.syntax
        );
        return Err(DicomError::Unsupported {
            path: path.to_owned(),
            what,
        });
    }
    Ok(source)
}

/// Offset at which meta group or data set begins by the first 132 bytes of a file, and whether it is the meta group.
fn beginning(head: &[u8]) -> Option<(usize, bool)> {
    if head.len() == 132 && &head[128..] == b"DICM" {
        return Some((132, true));
    }
    if head.starts_with(b"DICM") {
        return Some((4, true));
    }
    (begins_with_group(2, head) || begins_with_group(8, head))
        .then_some((0, begins_with_group(2, head)))
}

fn begins_with_group(g: u8, head: &[u8]) -> bool {
    head.len() >= 8 && head[0] == g && head[1] == 0 && head[3] == 0
}

/// Whether a regular file begins as DICOM files do; what else it holds is for its reader to judge.
pub fn begins_as_dicom(path: &Path) -> bool {
    let Ok((file, _)) = input::open(path) else {
        return false;
    };
    let mut head = Vec::with_capacity(132);
    file.take(132).read_to_end(&mut head).is_ok() && beginning(&head).is_some()
}

impl OpenedFile {
    /// Reads the meta group (PS3.10 7.1), always explicit VR little endian.
    fn past_meta(mut self) -> Result<Self, Fault> {
        let mut end = None;
        let start = self.data_set_at;
        loop {
            self.data_set_at = start + self.bytes.position;
            let deflated = DEFLATED.contains(&self.syntax.as_str());
            if deflated && end.is_some_and(|end| self.bytes.position >= end) {
                // Deflated bytes may look like an element of the group.
                return self.inflated(&[]);
            }
            let Some(head) = self.bytes.next::<8>()? else {
                return Ok(self);
            };
            if head[..2] != [2, 0] {
                return if deflated {
                    self.inflated(&head)
                } else {
                    self.data_set(&head)
                };
            }
            let long = is_long([head[4], head[5]]);
            let length = if long {
                let Some(length) = self.bytes.next::<4>()? else {
                    return Err(Fault::Broken("it ends inside its meta group".to_owned()));
                };
                u32::from_le_bytes(length)
            } else {
                u32::from(u16::from_le_bytes([head[6], head[7]]))
            };
            if u64::from(length) > self.bytes.left() {
                let (element, left) = (u16::from_le_bytes([head[2], head[3]]), self.bytes.left());
                let words = format!(
                    "element (0002,{element:04X}) claims {length} bytes where {left} are left"
                );
                return Err(Fault::Broken(words));
            }
            self.meta_element([head[2], head[3]], length, &mut end)?;
        }
    }

    fn meta_element(
        &mut self,
        element: [u8; 2],
        length: u32,
        end: &mut Option<u64>,
    ) -> Result<(), Fault> {
        const READ_BYTES: u32 = 1024;
        let mut value = Vec::new();
        if length > READ_BYTES {
            self.bytes.skip(u64::from(length))?;
        } else {
            self.bytes.copy(u64::from(length), &mut value)?;
        }
        let title = match u16::from_le_bytes(element) {
            0x0000 => {
                let length = value.try_into().map(u32::from_le_bytes);
                *end = length
                    .ok()
                    .map(|length| self.bytes.position + u64::from(length));
                return Ok(());
            }
            0x0002 => {
                self.class = text_of(&value);
                return Ok(());
            }
            0x0003 => {
                self.instance = text_of(&value);
                return Ok(());
            }
            0x0010 => {
                self.syntax = text_of(&value);
                return Ok(());
            }
            0x0013 => "ImplementationVersionName",
            0x0016 => "SourceApplicationEntityTitle",
            0x0017 => "SendingApplicationEntityTitle",
            0x0018 => "ReceivingApplicationEntityTitle",
            _ => return Ok(()),
        };
        if length > READ_BYTES || text_of(&value).chars().count() > TITLE_LETTERS {
            self.oddities.push(format!(
                "{title} has more than {TITLE_LETTERS} letters; it is passed over"
            ));
        }
        Ok(())
    }

    /// Puts back the bytes already read of the following data set.
    fn data_set(mut self, head: &[u8; 8]) -> Result<Self, Fault> {
        self.encoding = match self.syntax.as_str() {
            "" => {
                self.oddities
                    .push("the file names no transfer syntax; it is read as it looks".to_owned());
                encoding_by(head)
            }
            uids::IMPLICIT_VR_LITTLE_ENDIAN => Encoding::Implicit,
            BIG_ENDIAN => Encoding::ExplicitBig,
            _ => Encoding::Explicit,
        };
        self.put_back(head);
        Ok(self)
    }

    fn bare(mut self) -> Result<Self, Fault> {
        let Some(head) = self.bytes.next::<8>()? else {
            return Ok(self);
        };
        self.encoding = encoding_by(&head);
        let explicit = self.encoding == Encoding::Explicit;
        let syntax = if explicit {
            uids::EXPLICIT_VR_LITTLE_ENDIAN
        } else {
            uids::IMPLICIT_VR_LITTLE_ENDIAN
        };
        self.syntax = syntax.to_owned();
        self.put_back(&head);
        Ok(self)
    }

    fn put_back(&mut self, head: &[u8]) {
        let reader = std::mem::replace(&mut self.bytes.reader, Box::new(io::empty()));
        self.bytes.reader = Box::new(Cursor::new(head.to_vec()).chain(reader));
        self.bytes.position = 0;
        self.bytes.left = self.bytes.left.map(|left| left + head.len() as u64);
    }

    fn inflated(mut self, head: &[u8]) -> Result<Self, Fault> {
        self.put_back(head);
        let deflated = std::mem::replace(&mut self.bytes.reader, Box::new(io::empty()));
        self.bytes.reader = Box::new(BufReader::new(DeflateDecoder::new(deflated)));
        self.bytes.left = None;
        Ok(self)
    }
}

fn text_of(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .to_owned()
}

/// Explicit VR is recognised by its two letters.
fn encoding_by(head: &[u8; 8]) -> Encoding {
    let letters = head[4].is_ascii_uppercase() && head[5].is_ascii_uppercase();
    if letters {
        Encoding::Explicit
    } else {
        Encoding::Implicit
    }
}

/// Whether a value representation has a length of 32 bits, after two reserved bytes (PS3.5 table 7.1-1).
pub fn is_long(vr: [u8; 2]) -> bool {
    const SHORT: &[u8] = b"AEASATCSDADSDTFLFDISLOLTPNSHSLSSSTTMUIULUS";
    !SHORT.chunks_exact(2).any(|short| short == vr)
}
