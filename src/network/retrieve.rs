//! Retrieval of the Study Root model (PS3.4 annex C): over the association that asks (C-GET), which needs nothing set up at the
//! other side, or by a call back to a listener of ours (C-MOVE), whose title and address must be entered there.

use super::NetworkError;
use super::ae::is_uid;
use super::association::{Association, CONTEXTS_MOST, Call};
use super::command::{
    COMPLETED, Command, FAILED, MOVE_DESTINATION, PENDING, PRIORITY, REMAINING, SUCCESS, Service,
};
use super::find::{Keys, Match, Step, implicit, put, send_request, step};
use super::incoming::Incoming;
use super::negotiation::Proposal;
use super::receive::{Event, ReceiveOptions, Receiver, Until};
use dicom_dictionary_std::{tags, uids};
use input::OBJECT_BYTES;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Some objects failed (PS3.4 table C.4-2).
const SOME_FAILED: u16 = 0xb000;

/// How objects come.
#[derive(Clone, Copy, Debug)]
pub enum Route {
    /// Over the association that asks.
    Get,
    /// To a listener under our calling title at this address.
    Move(SocketAddr),
}

/// Objects that were retrieved.
#[derive(Clone, Debug, Default)]
pub struct Retrieval {
    pub objects: usize,
    /// Objects that the other side could not send, or that were not taken here.
    pub failed: usize,
    /// Why objects were not taken.
    pub refusals: Vec<String>,
    pub folders: Vec<PathBuf>,
}

impl Retrieval {
    /// Folders, failures and the sum of objects, a line each; `errors` are of whole studies.
    pub fn lines(&self, errors: &[String], into: &Path) -> Vec<String> {
        let folders = self
            .folders
            .iter()
            .map(|folder| folder.display().to_string());
        let failed = self
            .refusals
            .iter()
            .chain(errors)
            .map(|why| format!("failed: {why}"));
        let more = if self.failed > 0 {
            format!("; {} failed", self.failed)
        } else {
            String::new()
        };
        let sum = format!(
            "{} objects retrieved into {}{more}",
            self.objects,
            into.display()
        );
        folders.chain(failed).chain([sum]).collect()
    }
}

/// Classes that are proposed, classes of images first. An association has 128 contexts in all.
const IMAGES: [&str; 13] = [
    uids::CT_IMAGE_STORAGE,
    uids::ENHANCED_CT_IMAGE_STORAGE,
    uids::MR_IMAGE_STORAGE,
    uids::POSITRON_EMISSION_TOMOGRAPHY_IMAGE_STORAGE,
    uids::NUCLEAR_MEDICINE_IMAGE_STORAGE,
    uids::RT_IMAGE_STORAGE,
    uids::RT_DOSE_STORAGE,
    uids::COMPUTED_RADIOGRAPHY_IMAGE_STORAGE,
    uids::DIGITAL_X_RAY_IMAGE_STORAGE_FOR_PRESENTATION,
    uids::DIGITAL_X_RAY_IMAGE_STORAGE_FOR_PROCESSING,
    uids::X_RAY_ANGIOGRAPHIC_IMAGE_STORAGE,
    uids::X_RAY_RADIOFLUOROSCOPIC_IMAGE_STORAGE,
    uids::SECONDARY_CAPTURE_IMAGE_STORAGE,
];
const OTHERS: [&str; 14] = [
    uids::RT_STRUCTURE_SET_STORAGE,
    uids::RT_PLAN_STORAGE,
    uids::RT_ION_PLAN_STORAGE,
    uids::RT_BEAMS_TREATMENT_RECORD_STORAGE,
    uids::RT_ION_BEAMS_TREATMENT_RECORD_STORAGE,
    uids::RT_BRACHY_TREATMENT_RECORD_STORAGE,
    uids::RT_TREATMENT_SUMMARY_RECORD_STORAGE,
    uids::SPATIAL_REGISTRATION_STORAGE,
    uids::DEFORMABLE_SPATIAL_REGISTRATION_STORAGE,
    uids::SPATIAL_FIDUCIALS_STORAGE,
    uids::SEGMENTATION_STORAGE,
    uids::ENHANCED_MR_IMAGE_STORAGE,
    uids::ENHANCED_PET_IMAGE_STORAGE,
    uids::RAW_DATA_STORAGE,
];
/// Compressed images come as they are kept: a system need not be able to unpack them.
const COMPRESSED: [&str; 5] = [
    uids::JPEG_LOSSLESS_SV1,
    uids::JPEG2000_LOSSLESS,
    uids::RLE_LOSSLESS,
    uids::JPEG2000,
    uids::JPEG_BASELINE8_BIT,
];

fn proposals(class: &str) -> Vec<Proposal> {
    let plain = [
        uids::EXPLICIT_VR_LITTLE_ENDIAN,
        uids::IMPLICIT_VR_LITTLE_ENDIAN,
    ];
    let mut contexts = vec![implicit(class)];
    contexts.extend(
        IMAGES
            .iter()
            .chain(&OTHERS)
            .map(|class| proposal_to_us(class, &plain)),
    );
    contexts.extend(
        IMAGES
            .iter()
            .flat_map(|class| COMPRESSED.map(|syntax| proposal_to_us(class, &[syntax]))),
    );
    contexts.truncate(CONTEXTS_MOST);
    contexts
}

fn proposal_to_us(class: &&str, syntaxes: &[&str]) -> Proposal {
    Proposal {
        class: (*class).to_owned(),
        syntaxes: syntaxes.iter().map(|s| (*s).to_owned()).collect(),
        to_us: true,
    }
}

/// Retrieves a study, or a series, into a new folder; `progress` is told how many objects have come and are to come.
///
/// # Errors
/// [`NetworkError`]; nothing has appeared then, except folders of earlier associations of a C-MOVE.
pub fn retrieve(
    call: &Call,
    what: &Match,
    route: Route,
    into: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Retrieval, NetworkError> {
    // An empty UID, or one with a wildcard, would ask for more than was listed.
    let is_series = !what.series_uid.is_empty();
    if !is_uid(&what.study_uid) || (is_series && !is_uid(&what.series_uid)) {
        let (who, what) = (
            format!("{} at {}", call.called, call.to),
            "it listed a study or series without a UID".to_owned(),
        );
        return Err(NetworkError::Protocol { who, what });
    }
    match route {
        Route::Get => get(call, what, into, stop, progress),
        Route::Move(bind) => move_to_us(call, what, bind, into, stop, progress),
    }
}

/// Retrieves studies or series one after the other; what failed of whole ones is told beside.
pub fn retrieve_all(
    call: &Call,
    wanted: &[Match],
    route: Route,
    into: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> (Retrieval, Vec<String>) {
    let (mut total, mut errors) = (Retrieval::default(), Vec::new());
    for what in wanted {
        let earlier = total.objects;
        match retrieve(
            call,
            what,
            route,
            into,
            stop,
            &|come: usize, to_come: usize| progress(earlier + come, to_come),
        ) {
            Ok(one) => {
                total.objects += one.objects;
                total.failed += one.failed;
                total.refusals.extend(one.refusals);
                total.folders.extend(one.folders);
            }
            Err(error) => errors.push(format!("study {}: {error}", what.study_uid)),
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    (total, errors)
}

fn keys_of(what: &Match) -> Keys {
    let mut keys = Keys::new();
    put(
        &mut keys,
        tags::QUERY_RETRIEVE_LEVEL,
        if what.series_uid.is_empty() {
            "STUDY"
        } else {
            "SERIES"
        },
    );
    put(&mut keys, tags::STUDY_INSTANCE_UID, &what.study_uid);
    if !what.series_uid.is_empty() {
        put(&mut keys, tags::SERIES_INSTANCE_UID, &what.series_uid);
    }
    keys
}

fn get(
    call: &Call,
    what: &Match,
    into: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Retrieval, NetworkError> {
    let class = uids::STUDY_ROOT_QUERY_RETRIEVE_INFORMATION_MODEL_GET;
    let mut association = Association::request(call, &proposals(class), stop)?;
    let context = association.service(
        class,
        "retrieval over the same association (C-GET; --by move asks for C-MOVE)",
    )?;
    let message = association.message_id();
    let mut request = Command::new(Service::Get, class, message, true);
    request.put(PRIORITY, 0);
    send_request(&mut association, context, &request, &keys_of(what))?;
    let mut incoming = Incoming::new(into, OBJECT_BYTES);
    let last = loop {
        match step(&mut association, Service::Get, message)? {
            Step::Store { context, command } => {
                incoming.store(&mut association, context, &command)?
            }
            Step::Answer(answer) if PENDING.contains(&answer.status()) => {
                progress(
                    incoming.objects,
                    usize::from(answer.number(REMAINING).unwrap_or_default()),
                );
            }
            Step::Answer(answer) => break answer,
        }
    };
    let failed = check(&last, association.who())?;
    let peer = association.peer.clone();
    // Every object is here: what goes wrong now changes nothing.
    let _ = association.release();
    let folders = incoming.finish(&peer)?.into_iter().collect();
    // An object that was refused here has failed there too.
    let failed = failed.max(incoming.refused);
    Ok(Retrieval {
        objects: incoming.objects,
        failed,
        refusals: std::mem::take(&mut incoming.refusals),
        folders,
    })
}

/// How many objects failed, by the last answer.
fn check(last: &Command, who: &str) -> Result<usize, NetworkError> {
    let failed = usize::from(last.number(FAILED).unwrap_or_default());
    let refused = |reason| NetworkError::Refused {
        who: who.to_owned(),
        what: "the retrieval".to_owned(),
        reason,
    };
    match last.status() {
        SUCCESS | SOME_FAILED => Ok(failed),
        // Some systems report objects that failed as a failure of the whole.
        _ if last.number(COMPLETED).is_some_and(|n| n > 0) => Ok(failed.max(1)),
        _ => Err(refused(last.reason())),
    }
}

fn move_to_us(
    call: &Call,
    what: &Match,
    bind: SocketAddr,
    into: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Retrieval, NetworkError> {
    let options = ReceiveOptions {
        bind,
        allow: vec![call.called.clone()],
        patience: call.patience,
        ..ReceiveOptions::local(call.calling.clone(), into.to_owned())
    };
    let receiver = Receiver::bind(options)?;
    let (done, came) = (AtomicBool::new(false), Mutex::new(Retrieval::default()));
    let until = Until {
        done: Some(&done),
        ..Until::default()
    };
    let moved = thread::scope(|scope| {
        let serving = scope.spawn(|| {
            receiver.serve(until, stop, &|event: &Event| {
                let mut came = came.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    Event::Echoed { .. } => {}
                    Event::Delivered(delivery) => {
                        came.objects += delivery.objects;
                        came.failed += delivery.refused;
                        came.refusals.extend(delivery.refusals.iter().cloned());
                        came.folders.extend(delivery.folder.clone());
                    }
                    Event::Broken { why, dropped, .. } => {
                        came.failed += dropped;
                        came.refusals.push(why.clone());
                    }
                }
            })
        });
        let moved = ask_to_move(call, what, stop, progress);
        done.store(true, Ordering::Relaxed);
        let served = serving.join().unwrap_or(Ok(()));
        served.and(moved)
    });
    let failed = moved?;
    let mut came = came.into_inner().unwrap_or_else(PoisonError::into_inner);
    came.failed = came.failed.max(failed);
    Ok(came)
}

/// Asks that objects be sent to our title; how many failed.
fn ask_to_move(
    call: &Call,
    what: &Match,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<usize, NetworkError> {
    let class = uids::STUDY_ROOT_QUERY_RETRIEVE_INFORMATION_MODEL_MOVE;
    let mut association = Association::request(call, &[implicit(class)], stop)?;
    let context = association.service(class, "retrieval by a call back (C-MOVE)")?;
    let message = association.message_id();
    let mut request = Command::new(Service::Move, class, message, true);
    request.put(PRIORITY, 0);
    request.put_text(MOVE_DESTINATION, call.calling.as_str());
    send_request(&mut association, context, &request, &keys_of(what))?;
    loop {
        match step(&mut association, Service::Move, message)? {
            Step::Store { .. } => {
                let what =
                    "an object came over the association that asked for a call back".to_owned();
                return Err(NetworkError::Protocol {
                    who: association.who().to_owned(),
                    what,
                });
            }
            Step::Answer(answer) if PENDING.contains(&answer.status()) => {
                progress(count_in(COMPLETED, &answer), count_in(REMAINING, &answer));
            }
            Step::Answer(answer) => {
                let failed = check(&answer, association.who())?;
                let _ = association.release();
                return Ok(failed);
            }
        }
    }
}

fn count_in(element: u16, answer: &Command) -> usize {
    usize::from(answer.number(element).unwrap_or_default())
}
