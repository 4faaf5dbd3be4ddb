//! Errors of conversations: with whom, what happened, what to do.

use dicom::DicomError;
use input::in_words;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a conversation failed.
#[derive(Debug, Error)]
pub enum NetworkError {
    #[error("'{address}' is no address of a system ({why}); name HOST:PORT")]
    Address { address: String, why: String },
    #[error(
        "cannot reach {who}: {source}; check host and port, and that the system there is running"
    )]
    Connect { who: String, source: io::Error },
    #[error(
        "cannot listen on {address}: {source}; choose another port or address, or end the program that has it"
    )]
    Listen { address: String, source: io::Error },
    #[error("{who} was silent for {seconds} s while {doing}; the connection was ended")]
    Silent {
        who: String,
        seconds: u64,
        doing: &'static str,
    },
    #[error("{who} was too slow while {doing}; the connection was ended")]
    Slow { who: String, doing: &'static str },
    #[error("{who} closed the connection while {doing}")]
    Closed { who: String, doing: &'static str },
    #[error("the connection with {who} broke while {doing}: {source}")]
    Broke {
        who: String,
        doing: &'static str,
        source: io::Error,
    },
    #[error("{who} aborted the association ({reason})")]
    Aborted { who: String, reason: String },
    #[error("{who} rejected the association: {reason}; {remedy}")]
    Rejected {
        who: String,
        reason: String,
        remedy: &'static str,
    },
    #[error("{who} was turned away: {reason}")]
    TurnedAway { who: String, reason: String },
    #[error("{who} broke the rules of DICOM's protocol: {what}; the association was aborted")]
    Protocol { who: String, what: String },
    #[error("{who} does not offer {service}; have it switched on there, or ask another system")]
    NoService { who: String, service: &'static str },
    #[error("{who} refused {what}: {reason}")]
    Refused {
        who: String,
        what: String,
        reason: String,
    },
    #[error("{who} has more than {most} answers; ask for less, such as one --study")]
    TooMany { who: String, most: usize },
    #[error("an object of {who} has more than the {} that are taken; the association was aborted", in_words(*.most))]
    TooLarge { who: String, most: u64 },
    #[error("cannot write to {}: {source}; choose a folder with space that you may write to", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("{} changed or vanished while it was sent: {source}; the association was aborted", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("stopped")]
    Stopped,
    #[error(transparent)]
    Dicom(#[from] DicomError),
}
