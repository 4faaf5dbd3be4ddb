//! Storage as its user (PS3.4 annex B): objects to another system, each in the transfer syntax of its file.

use super::NetworkError;
use super::association::{Association, CONTEXTS_MOST, Call};
use super::command::{AFFECTED_INSTANCE, Command, PRIORITY, SUCCESS, Service};
use super::negotiation::Proposal;
use dicom::{Transferable, Unsent};
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};

/// Outcome of sending objects.
#[derive(Debug, Default)]
pub struct Sent {
    pub sent: usize,
    /// Objects that the other side took with a warning.
    pub warned: Vec<Unsent>,
    /// Objects that it did not take.
    pub refused: Vec<Unsent>,
    /// Why the rest was not sent; all before it was.
    pub broken: Option<NetworkError>,
    /// Objects that were not tried, or whose answer did not come.
    pub left: usize,
}

/// Sends objects, in as many associations as their kinds need; `progress` is told how many were answered.
pub fn send(
    call: &Call,
    objects: &[Transferable],
    stop: &AtomicBool,
    progress: &dyn Fn(usize),
) -> Sent {
    let mut sent = Sent::default();
    let mut done = 0;
    for batch in batches(objects) {
        let outcome = send_batch(call, batch, stop, &mut sent, &mut || {
            done += 1;
            progress(done);
        });
        if let Err(error) = outcome {
            sent.left = objects.len() - done;
            sent.broken = Some(error);
            break;
        }
    }
    sent
}

/// The kinds of objects: class and transfer syntax, each of which has a context.
fn kinds(objects: &[Transferable]) -> Vec<(&str, &str)> {
    let mut kinds: Vec<_> = objects
        .iter()
        .map(|o| (o.class.as_str(), o.syntax.as_str()))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Runs of objects with no more kinds than an association has contexts.
fn batches(objects: &[Transferable]) -> Vec<&[Transferable]> {
    let (mut batches, mut remaining) = (Vec::new(), objects);
    while !remaining.is_empty() {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        let fits = remaining.iter().take_while(|object| {
            let kind = (object.class.as_str(), object.syntax.as_str());
            if !seen.contains(&kind) {
                seen.push(kind);
            }
            seen.len() <= CONTEXTS_MOST
        });
        let (batch, after) = remaining.split_at(fits.count());
        batches.push(batch);
        remaining = after;
    }
    batches
}

fn send_batch(
    call: &Call,
    objects: &[Transferable],
    stop: &AtomicBool,
    sent: &mut Sent,
    done: &mut dyn FnMut(),
) -> Result<(), NetworkError> {
    let proposals: Vec<Proposal> = kinds(objects)
        .iter()
        .map(|(class, syntax): &(&str, &str)| Proposal {
            class: (*class).to_owned(),
            syntaxes: vec![(*syntax).to_owned()],
            to_us: false,
        })
        .collect();
    let mut association = Association::request(call, &proposals, stop)?;
    for object in objects {
        if stop.load(Ordering::Relaxed) {
            return Err(NetworkError::Stopped);
        }
        let said = |why| Unsent {
            file: file_name(object),
            why,
        };
        match send_one(&mut association, object)? {
            StoreOutcome::Stored => sent.sent += 1,
            StoreOutcome::Warned(why) => {
                sent.sent += 1;
                sent.warned.push(said(why));
            }
            StoreOutcome::Refused(why) => sent.refused.push(said(why)),
        }
        done();
    }
    // Every object has its answer: what goes wrong now changes nothing.
    let _ = association.release();
    Ok(())
}

fn file_name(object: &Transferable) -> String {
    object
        .path
        .file_name()
        .unwrap_or(object.path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

enum StoreOutcome {
    Stored,
    Warned(String),
    Refused(String),
}

fn send_one(
    association: &mut Association,
    object: &Transferable,
) -> Result<StoreOutcome, NetworkError> {
    let is_kind = |class: &str, syntax: &str| class == object.class && syntax == object.syntax;
    let context = association
        .contexts()
        .iter()
        .find(|c| is_kind(&c.class, &c.syntax))
        .map(|c| c.id);
    let Some(context) = context else {
        let why = format!(
            "{} takes no objects of class {} in transfer syntax {}",
            association.who(),
            object.class,
            object.syntax
        );
        return Ok(StoreOutcome::Refused(why));
    };
    let failed = |source| NetworkError::File {
        path: object.path.clone(),
        source,
    };
    let mut file = File::open(&object.path).map_err(failed)?;
    file.seek(SeekFrom::Start(object.start)).map_err(failed)?;
    let message = association.message_id();
    let mut request = Command::new(Service::Store, &object.class, message, true);
    request.put_uid(AFFECTED_INSTANCE, &object.instance);
    request.put(PRIORITY, 0);
    association.send_command(context, &request)?;
    association.send_data(context, &mut file, object.length, failed)?;
    let answer = association.answer(
        |a| a.is_answer_to(Service::Store, message),
        "an answer was awaited",
    )?;
    Ok(match answer.status() {
        SUCCESS => StoreOutcome::Stored,
        // Warnings of storage (PS3.4 table B.2-1) and of any service (PS3.7 C.3).
        0xb000..=0xbfff | 0x0001 | 0x0107 | 0x0116 => StoreOutcome::Warned(answer.reason()),
        _ => StoreOutcome::Refused(answer.reason()),
    })
}
