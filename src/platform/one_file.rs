//! Two names of one file.

use std::fs::Metadata;
use std::path::Path;

/// Whether two paths lead to one ordinary file, by whichever name (hard links).
pub fn is_one_file(a: &Path, b: &Path) -> bool {
    match (a.metadata(), b.metadata()) {
        (Ok(of_a), Ok(of_b)) => {
            of_a.is_file() && of_b.is_file() && has_one_number(a, b, &of_a, &of_b)
        }
        _ => false,
    }
}

/// Two names of one file have the same device and inode number.
#[cfg(unix)]
fn has_one_number(_: &Path, _: &Path, of_a: &Metadata, of_b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (of_a.dev(), of_a.ino()) == (of_b.dev(), of_b.ino())
}

/// Two names of one file have the same volume and index number.
#[cfg(windows)]
fn has_one_number(a: &Path, b: &Path, of_a: &Metadata, of_b: &Metadata) -> bool {
    // Most files differ in length: none of these is opened.
    of_a.len() == of_b.len() && number(a).is_some_and(|of_a| number(b) == Some(of_a))
}

#[cfg(windows)]
#[expect(
    unsafe_code,
    reason = "GetFileInformationByHandle, which writes to the structure it is given; std has its numbers in nightly alone"
)]
fn number(path: &Path) -> Option<[u32; 3]> {
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::os::windows::io::AsRawHandle as _;
    use windows_sys::Win32::Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, GetFileInformationByHandle,
    };
    // Opened without access, so that a file that another program has open is known.
    let file = std::fs::File::options().access_mode(0).open(path).ok()?;
    let mut numbers = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open and `numbers` outlives the call.
    let is_known =
        unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut numbers) } != 0;
    is_known.then_some([
        numbers.dwVolumeSerialNumber,
        numbers.nFileIndexHigh,
        numbers.nFileIndexLow,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_hard_link_is_the_file_and_a_copy_is_not() {
        let folder = std::env::temp_dir().join(format!("beamsight-one-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [file, link, copy] = ["file", "link", "copy"].map(|name| folder.join(name));
        fs::write(&file, "dose").unwrap();
        fs::hard_link(&file, &link).unwrap();
        fs::copy(&file, &copy).unwrap();
        assert!(is_one_file(&file, &link) && is_one_file(&file, &file));
        assert!(!is_one_file(&file, &copy) && !is_one_file(&file, &folder));
        assert!(!is_one_file(&file, &folder.join("none")));
        fs::remove_dir_all(folder).unwrap();
    }
}
