//! Regular files only: opening a pipe blocks, reading a device never ends.

use super::budget::in_words;
use super::trail;
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// The kind of a path that is neither a file nor a folder.
pub fn odd_kind(kind: FileType) -> Option<&'static str> {
    if kind.is_file() || kind.is_dir() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return Some("a named pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    Some("no regular file")
}

/// Opens a file for reading and returns its length. Paths other than regular files are refused without being
/// opened.
///
/// # Errors
/// Errors of the file system, or the kind of the path.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let (file, metadata) = open_regular(path)?;
    trail::add(path, &metadata);
    Ok((file, metadata.len()))
}

pub(super) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    if let Some(refusal) = refusal_of(&std::fs::metadata(path)?) {
        return Err(refusal);
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    match refusal_of(&metadata) {
        Some(refusal) => Err(refusal),
        None => Ok((file, metadata)),
    }
}

fn refusal_of(metadata: &Metadata) -> Option<io::Error> {
    let kind = metadata.file_type();
    let odd = if kind.is_dir() {
        Some("a folder")
    } else {
        odd_kind(kind)
    };
    odd.map(|odd| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("it is {odd}, not a file"),
        )
    })
}

/// Bytes that a file holds, which its budget follows from: a sparse file is longer than what was ever written of it.
pub fn held_bytes(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // Blocks of 512 bytes, whatever the file system's block size. Some file systems report none of any file.
        let written = metadata.blocks().saturating_mul(512);
        if written > 0 {
            return metadata.len().min(written);
        }
    }
    metadata.len()
}

/// Reads a text of at most `most` bytes.
///
/// # Errors
/// As [`open`]; a longer text, or one that is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let (file, length) = open(path)?;
    text_of(file, length, limit)
}

/// As [`read_text`], of what this program keeps for its own speed: no answer depends on it, so it is on no trail.
///
/// # Errors
/// As [`read_text`].
pub fn read_cached_text(path: &Path, limit: u64) -> io::Result<String> {
    let (file, metadata) = open_regular(path)?;
    text_of(file, metadata.len(), limit)
}

fn text_of(file: File, length: u64, limit: u64) -> io::Result<String> {
    if length > limit {
        return Err(too_long(length, limit));
    }
    let mut text = String::new();
    // Some system files report a length of 0: the bytes read count.
    file.take(limit + 1).read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(too_long(text.len() as u64, limit));
    }
    // Spreadsheets and editors of Windows begin a text in UTF-8 with the mark of byte order, which is no letter of it.
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

const BYTE_ORDER_MARK: char = '\u{feff}';

fn too_long(length: u64, limit: u64) -> io::Error {
    let words = format!(
        "it has {} where {} are the most for a text of its kind",
        in_words(length),
        in_words(limit)
    );
    io::Error::new(io::ErrorKind::InvalidData, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_somewhere() {
        let path = std::env::temp_dir().join(format!("beamsight-text-{}", std::process::id()));
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_text(&path, 10).unwrap(), "0123456789");
        let error = read_text(&path, 9).unwrap_err().to_string();
        assert!(
            error.contains("10 bytes") && error.contains("9 bytes"),
            "{error}"
        );
        std::fs::remove_file(&path).unwrap();
        assert!(
            open(&std::env::temp_dir())
                .unwrap_err()
                .to_string()
                .contains("a folder")
        );
        assert_eq!(open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_mark_of_byte_order_is_no_letter_of_a_text() {
        let path = std::env::temp_dir().join(format!("beamsight-mark-{}", std::process::id()));
        std::fs::write(&path, "\u{feff}\u{feff}name = 1\r\n").unwrap();
        assert_eq!(read_text(&path, 20).unwrap(), "\u{feff}name = 1\r\n");
        std::fs::remove_file(&path).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_sparse_file_holds_what_was_written() {
        use std::io::Write as _;
        let path = std::env::temp_dir().join(format!("beamsight-sparse-{}", std::process::id()));
        let mut file = File::create(&path).unwrap();
        file.write_all(&[7; 5000]).unwrap();
        assert_eq!(
            held_bytes(&file.metadata().unwrap()),
            5000,
            "what is written as a whole"
        );
        file.set_len(1 << 32).unwrap();
        let metadata = file.metadata().unwrap();
        assert!(
            metadata.len() == 1 << 32 && held_bytes(&metadata) < 1 << 20,
            "{}",
            held_bytes(&metadata)
        );
        // A text of it is refused by its length, before anything is read.
        assert!(
            read_text(&path, 1 << 30)
                .unwrap_err()
                .to_string()
                .contains("4.3 GB")
        );
        std::fs::remove_file(&path).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_opened() {
        let error = open(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("a device"), "{error}");
    }
}
