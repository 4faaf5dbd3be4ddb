//! Objects between files and the network: which an object is, where its data set lies in its file, and the head of the
//! file that a received data set is kept in.

use super::catalogue::files_under;
use super::object::{Attributes as _, Item, Opened, file_name, open_parts, parse, root_cause};
use super::source::{BIG_ENDIAN, Bytes, Encoding, Fault};
use super::walk::{pass_pixels, walk};
use super::{DicomError, Progress};
use dicom_core::Tag;
use dicom_dictionary_std::{tags, uids};
use dicom_object::FileMetaTableBuilder;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Transfer syntaxes that the readers know, the plainest first.
pub const SYNTAXES: [&str; 14] = [
    uids::EXPLICIT_VR_LITTLE_ENDIAN,
    uids::IMPLICIT_VR_LITTLE_ENDIAN,
    BIG_ENDIAN,
    uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN,
    uids::JPEG_LOSSLESS_SV1,
    uids::JPEG_LOSSLESS,
    uids::JPEG2000_LOSSLESS,
    uids::RLE_LOSSLESS,
    uids::JPEG2000,
    uids::JPEG_BASELINE8_BIT,
    uids::JPEG_EXTENDED12_BIT,
    uids::HTJ2K_LOSSLESS,
    uids::HTJ2K_LOSSLESS_RPCL,
    uids::HTJ2K,
];

/// A file whose object can be sent as it is.
#[derive(Clone, Debug)]
pub struct Transferable {
    pub path: PathBuf,
    /// SOP class and instance UID.
    pub class: String,
    pub instance: String,
    /// The data set has both UIDs itself, not only the meta group.
    pub names_itself: bool,
    pub syntax: String,
    /// Offset of the data set in the file, and its bytes.
    pub start: u64,
    pub length: u64,
}

/// Reads what a file holds, and that its pixel data is whole.
///
/// # Errors
/// [`DicomError`] where the file cannot be read, is cut short, has no UIDs, or is a directory of files.
pub fn transferable(path: &Path) -> Result<Transferable, DicomError> {
    read(path)?.ok_or_else(|| DicomError::Unsupported {
        path: path.to_owned(),
        what: "it is a directory of files (DICOMDIR), no object".to_owned(),
    })
}

/// `None`: a directory of files.
fn read(path: &Path) -> Result<Option<Transferable>, DicomError> {
    let Opened {
        mut source,
        item,
        pixels,
        ..
    } = open_parts(path)?;
    if let Some(pixels) = pixels {
        pass_pixels(&mut source.bytes, pixels).map_err(|fault| fault.in_file(path))?;
    }
    let class = uid_or(
        tags::SOP_CLASS_UID,
        &source.class,
        "SOPClassUID",
        path,
        &item,
    )?;
    if class == uids::MEDIA_STORAGE_DIRECTORY_STORAGE {
        return Ok(None);
    }
    let syntax = match (&source.syntax, source.encoding) {
        (said, _) if !said.is_empty() => said.clone(),
        (_, Encoding::Implicit) => uids::IMPLICIT_VR_LITTLE_ENDIAN.to_owned(),
        (_, Encoding::Explicit) => uids::EXPLICIT_VR_LITTLE_ENDIAN.to_owned(),
        (_, Encoding::ExplicitBig) => BIG_ENDIAN.to_owned(),
    };
    Ok(Some(Transferable {
        path: path.to_owned(),
        class,
        names_itself: [tags::SOP_CLASS_UID, tags::SOP_INSTANCE_UID]
            .iter()
            .all(|tag| item.text(*tag).is_some()),
        instance: uid_or(
            tags::SOP_INSTANCE_UID,
            &source.instance,
            "SOPInstanceUID",
            path,
            &item,
        )?,
        syntax,
        start: source.data_set_at,
        length: file_length(path)?.saturating_sub(source.data_set_at),
    }))
}

/// A UID of the object; the file head's where the object states none.
fn uid_or(
    tag: Tag,
    of_meta: &str,
    attribute: &'static str,
    path: &Path,
    item: &Item,
) -> Result<String, DicomError> {
    let uid = item.text(tag).unwrap_or_else(|| of_meta.to_owned());
    if uid.is_empty() {
        Err(DicomError::Missing {
            path: path.to_owned(),
            attribute,
        })
    } else {
        Ok(uid)
    }
}

fn file_length(path: &Path) -> Result<u64, DicomError> {
    let read = std::fs::metadata(path).map(|metadata| metadata.len());
    read.map_err(|source| DicomError::Io {
        path: path.to_owned(),
        source,
    })
}

/// A file that is not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unsent {
    pub file: String,
    pub why: String,
}

/// Files found to be sent.
#[derive(Clone, Debug, Default)]
pub struct ToSend {
    pub objects: Vec<Transferable>,
    /// DICOM files that cannot be sent.
    pub faulty: Vec<Unsent>,
    /// Paths that hold no object: links that leave the folder, directories of files, files of other formats.
    pub passed_over: Vec<Unsent>,
}

/// The objects under paths (folders are searched with their subfolders), each file once. Files of other formats are
/// passed over, except where they are named themselves.
///
/// # Errors
/// Paths that cannot be read; [`DicomError::Cancelled`].
pub fn transferables(paths: &[PathBuf], progress: Progress) -> Result<ToSend, DicomError> {
    let (mut files, mut to_send) = (Vec::new(), ToSend::default());
    for path in paths {
        let listing = files_under(path)?;
        let remarks = listing.remarks().into_iter();
        to_send.passed_over.extend(remarks.map(|r| Unsent {
            file: file_name(path),
            why: r.message,
        }));
        files.extend(listing.files);
    }
    files.sort();
    files.dedup();
    for (n, path) in files.iter().enumerate() {
        if !progress(n as f32 / files.len() as f32) {
            return Err(DicomError::Cancelled);
        }
        let file = file_name(path);
        match read(path) {
            Ok(Some(object)) => to_send.objects.push(object),
            Ok(None) => to_send.passed_over.push(Unsent {
                file,
                why: "it is a directory of files".to_owned(),
            }),
            Err(DicomError::NotDicom { .. }) if !paths.contains(path) => {
                to_send.passed_over.push(Unsent {
                    file,
                    why: "it is not a DICOM file".to_owned(),
                });
            }
            Err(error) => to_send.faulty.push(Unsent {
                file,
                why: error.to_string(),
            }),
        }
    }
    Ok(to_send)
}

/// The preamble and meta group of the file that a received data set is kept in.
///
/// # Errors
/// The words of the writer.
pub fn file_head(
    class: &str,
    instance: &str,
    syntax: &str,
    sender: &str,
) -> Result<Vec<u8>, String> {
    let meta = FileMetaTableBuilder::new()
        .media_storage_sop_class_uid(class)
        .media_storage_sop_instance_uid(instance)
        .transfer_syntax(syntax)
        .source_application_entity_title(sender)
        .build()
        .map_err(|e| root_cause(&e))?;
    let mut head = vec![0; 128];
    head.extend(b"DICM");
    meta.write(&mut head).map_err(|e| root_cause(&e))?;
    Ok(head)
}

/// The data set of a query's answer.
#[derive(Debug)]
pub struct Identifier(Item);

impl Identifier {
    /// Reads an answer in implicit VR little endian.
    ///
    /// # Errors
    /// Lengths that do not fit, more memory than its size allows, the words of the parser.
    pub fn read(bytes: Vec<u8>) -> Result<Self, String> {
        let walked =
            walk(&mut Bytes::in_memory(bytes), Encoding::Implicit).map_err(
                |fault| match fault {
                    Fault::Io(error) => error.to_string(),
                    Fault::Broken(reason) => reason,
                    Fault::Budget(over) => over.to_string(),
                },
            )?;
        parse(&walked, Encoding::Implicit).map(Self)
    }

    /// Text without padding and control characters; empty where there is none.
    pub fn text(&self, tag: Tag) -> String {
        self.0.text(tag).unwrap_or_default()
    }
}
