//! Verification (PS3.4 annex A): is anybody there who speaks DICOM.

use super::NetworkError;
use super::association::{Association, Call};
use super::command::{Command, SUCCESS, Service};
use super::negotiation::Proposal;
use dicom_dictionary_std::uids;
use std::sync::atomic::AtomicBool;

/// Asks a system whether it is there.
///
/// # Errors
/// [`NetworkError`]: it is not, or does not let us in.
pub fn echo(call: &Call, stop: &AtomicBool) -> Result<(), NetworkError> {
    let syntaxes = vec![uids::IMPLICIT_VR_LITTLE_ENDIAN.to_owned()];
    let proposal = Proposal {
        class: uids::VERIFICATION.to_owned(),
        syntaxes,
        to_us: false,
    };
    let mut association = Association::request(call, &[proposal], stop)?;
    let context = association.service(uids::VERIFICATION, "verification (C-ECHO)")?;
    let message = association.message_id();
    association.send_command(
        context,
        &Command::new(Service::Echo, uids::VERIFICATION, message, false),
    )?;
    let answer = association.answer(
        |a| a.is_answer_to(Service::Echo, message),
        "an echo was awaited",
    )?;
    let who = association.who().to_owned();
    association.release()?;
    match answer.status() {
        SUCCESS => Ok(()),
        _ => Err(NetworkError::Refused {
            who,
            what: "to echo".to_owned(),
            reason: answer.reason(),
        }),
    }
}
