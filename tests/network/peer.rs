//! Peers of the tests: a listener of the program, a peer that sends bytes as they are, objects to send.

use crate::synthetic::{Folder, dose, set, set_u16, set_words, slice, structures};
use beamsight::network::{AeTitle, Call, Event, Patience, ReceiveOptions, Receiver, Until, echo};
use dicom_core::{DataElement, PrimitiveValue, Tag, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use dicom_transfer_syntax_registry::entries::IMPLICIT_VR_LITTLE_ENDIAN;
use dicom_ul::pdu::{
    AssociationRQ, PDataValue, PDataValueType, Pdu, PresentationContextProposed, UserVariableItem,
    read_pdu, write_pdu,
};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

pub const STEP: Duration = Duration::from_millis(20);
/// Ends a test that would hang.
const LIMIT: Duration = Duration::from_secs(60);

pub static GO_ON: AtomicBool = AtomicBool::new(false);

pub fn title(word: &str) -> AeTitle {
    word.parse().unwrap()
}

pub fn call(to: SocketAddr, called: &str, calling: &str) -> Call {
    Call {
        to: to.to_string(),
        called: title(called),
        calling: title(calling),
        patience: Patience::default(),
    }
}

/// Waits for a condition.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "{what}");
        sleep(STEP);
    }
}

/// A listener of the program in a thread.
pub struct Served {
    pub address: SocketAddr,
    pub folder: Folder,
    events: Arc<Mutex<Vec<Event>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub fn new(name: &str) -> Self {
        Self::with(name, |_| ())
    }

    pub fn with(name: &str, change: impl FnOnce(&mut ReceiveOptions)) -> Self {
        let folder = Folder::new(name);
        let mut options = ReceiveOptions::local(title("BEAMSIGHT"), folder.0.clone());
        change(&mut options);
        let receiver = Receiver::bind(options).unwrap();
        let address = receiver.address();
        assert!(address.ip().is_loopback());
        let (events, stop) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicBool::new(false)),
        );
        let (heard, ends) = (Arc::clone(&events), Arc::clone(&stop));
        let serve = move || {
            let told = |event: &Event| heard.lock().unwrap().push(event.clone());
            receiver.serve(Until::default(), &ends, &told).unwrap();
        };
        Self {
            address,
            folder,
            events,
            stop,
            thread: Some(std::thread::spawn(serve)),
        }
    }

    pub fn call(&self) -> Call {
        call(self.address, "BEAMSIGHT", "TESTER")
    }

    /// The nth event, once it has happened.
    pub fn event(&self, n: usize) -> Event {
        until("the listener told nothing", || {
            self.events.lock().unwrap().len() > n
        });
        self.events.lock().unwrap()[n].clone()
    }

    /// All names in its folder, hidden ones too.
    pub fn inbox(&self) -> Vec<String> {
        names(&self.folder.0)
    }

    /// A conversation that broke off with these words has left nothing, and the next one is served.
    pub fn broke(&self, n: usize, words: &str) {
        let event = self.event(n);
        assert!(matches!(event, Event::Broken { .. }), "{event}");
        assert!(
            event.to_string().contains(words),
            "no '{words}' in: {event}"
        );
        assert_eq!(self.inbox(), Vec::<String>::new(), "nothing is left of it");
        echo(&self.call(), &GO_ON).unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(
            ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking(),
            "the listener panicked"
        );
    }
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut all: Vec<_> = entries
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    all.sort();
    all
}

/// A peer that sends what it is told to.
pub struct Raw(pub TcpStream);

impl Raw {
    pub fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self(stream)
    }

    /// With an association for CT images in explicit VR little endian, number 1.
    pub fn associated(to: SocketAddr) -> Self {
        let mut raw = Self::connect(to);
        let answer = raw.request("BEAMSIGHT", "TESTER");
        assert!(matches!(answer, Pdu::AssociationAC(_)), "{answer:?}");
        raw
    }

    pub fn request(&mut self, called: &str, calling: &str) -> Pdu {
        self.pdu(&Pdu::AssociationRQ(request(called, calling)));
        self.read().expect("an answer to the request")
    }

    pub fn pdu(&mut self, pdu: &Pdu) {
        let mut bytes = Vec::new();
        write_pdu(&mut bytes, pdu).unwrap();
        self.bytes(&bytes);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        // The listener may have hung up already.
        let _ = self.0.write_all(bytes);
    }

    pub fn value(&mut self, value_type: PDataValueType, data: &[u8], is_last: bool) {
        let data = data.to_vec();
        self.pdu(&Pdu::PData {
            data: vec![PDataValue {
                presentation_context_id: 1,
                value_type,
                is_last,
                data,
            }],
        });
    }

    /// Begins to store an object of this class and UID.
    pub fn store(&mut self, class: &str, instance: &str) {
        self.value(
            PDataValueType::Command,
            &store_command(class, instance),
            true,
        );
    }

    /// The next PDU; `None` at the end of the connection.
    pub fn read(&mut self) -> Option<Pdu> {
        let mut bytes = vec![0; 6];
        self.0.read_exact(&mut bytes).ok()?;
        let length = u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
        bytes.resize(6 + length as usize, 0);
        self.0.read_exact(&mut bytes[6..]).ok()?;
        read_pdu(&bytes[..], 1 << 20, false).unwrap()
    }

    /// The status of the next answer.
    pub fn status(&mut self) -> u16 {
        let Some(Pdu::PData { data }) = self.read() else {
            panic!("no answer")
        };
        let answer = InMemDicomObject::read_dataset_with_ts(
            &data[0].data[..],
            &IMPLICIT_VR_LITTLE_ENDIAN.erased(),
        );
        answer
            .unwrap()
            .element(tags::STATUS)
            .unwrap()
            .to_int()
            .unwrap()
    }

    pub fn release(&mut self) {
        self.pdu(&Pdu::ReleaseRQ);
        assert!(matches!(self.read(), Some(Pdu::ReleaseRP)));
    }
}

/// A request for an association with one context: CT images in explicit VR little endian.
pub fn request(called: &str, calling: &str) -> AssociationRQ {
    AssociationRQ {
        protocol_version: 1,
        calling_ae_title: calling.to_owned(),
        called_ae_title: called.to_owned(),
        application_context_name: "1.2.840.10008.3.1.1.1".to_owned(),
        presentation_contexts: vec![PresentationContextProposed {
            id: 1,
            abstract_syntax: uids::CT_IMAGE_STORAGE.to_owned(),
            transfer_syntaxes: vec![uids::EXPLICIT_VR_LITTLE_ENDIAN.to_owned()],
        }],
        user_variables: vec![UserVariableItem::MaxLength(16384)],
    }
}

/// A request to store, encoded by `dicom-object`.
pub fn store_command(class: &str, instance: &str) -> Vec<u8> {
    let text = |tag, vr, text: &str| DataElement::new(tag, vr, PrimitiveValue::from(text));
    let number = |tag, n: u16| DataElement::new(tag, VR::US, PrimitiveValue::from(n));
    let command = InMemDicomObject::command_from_element_iter([
        text(tags::AFFECTED_SOP_CLASS_UID, VR::UI, class),
        number(tags::COMMAND_FIELD, 0x0001),
        number(tags::MESSAGE_ID, 1),
        number(tags::PRIORITY, 0),
        number(tags::COMMAND_DATA_SET_TYPE, 0x0000),
        text(tags::AFFECTED_SOP_INSTANCE_UID, VR::UI, instance),
    ]);
    encoded(&command)
}

pub fn encoded(object: &InMemDicomObject) -> Vec<u8> {
    let mut bytes = Vec::new();
    object
        .write_dataset_with_ts(&mut bytes, &IMPLICIT_VR_LITTLE_ENDIAN.erased())
        .unwrap();
    bytes
}

/// A CT slice of half a megabyte: several PDUs of any peer.
pub fn large_slice(number: u32) -> InMemDicomObject {
    let mut slice = slice(number, f64::from(number), 7);
    let pixels: Vec<u16> = (0..512u32 * 512)
        .map(|p| ((p * 31 + number * 7) % 4001) as u16)
        .collect();
    set_u16(&mut slice, tags::ROWS, 512);
    set_u16(&mut slice, tags::COLUMNS, 512);
    set_words(&mut slice, &pixels);
    in_series(&mut slice, "1.2.3.200");
    slice
}

fn in_series(object: &mut InMemDicomObject, series: &str) {
    set(object, tags::SERIES_INSTANCE_UID, VR::UI, series);
    set(object, tags::STUDY_ID, VR::SH, "7");
    set(object, tags::STUDY_DATE, VR::DA, "20260102");
    set(object, tags::STUDY_TIME, VR::TM, "101112");
    set(object, tags::STUDY_DESCRIPTION, VR::LO, "Chest");
    set(object, tags::SERIES_NUMBER, VR::IS, "3");
}

/// A study of one patient as files: CT, structures in implicit VR, dose.
pub fn study(name: &str) -> Folder {
    let folder = Folder::new(name);
    for number in 1..=3 {
        folder.put(&format!("CT{number}.dcm"), &large_slice(number));
    }
    let mut set = structures();
    in_series(&mut set, "1.2.3.201");
    folder.put_as("RS.dcm", &set, uids::IMPLICIT_VR_LITTLE_ENDIAN);
    let mut dose = dose(32, &[0.0, 1.0]);
    in_series(&mut dose, "1.2.3.202");
    folder.put("RD.dcm", &dose);
    folder
}

/// The bytes of a file after its meta group, whose length its first element has (PS3.10 7.1).
pub fn data_set(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let length = u32::from_le_bytes(bytes[140..144].try_into().unwrap()) as usize;
    bytes[144 + length..].to_vec()
}

/// All DICOM files of a folder and its subfolders, by SOP instance UID.
pub fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if let Ok(object) = dicom_object::open_file(&path) {
            let uid = object
                .element(tags::SOP_INSTANCE_UID)
                .unwrap()
                .to_str()
                .unwrap();
            all.push((uid.trim_end_matches(['\0', ' ']).to_owned(), path));
        }
    }
    all.sort();
    all
}

/// Two folders have the same objects, element by element: other programs may encode them in their own way.
pub fn same_objects(a: &Path, b: &Path) {
    let (a, b) = (files(a), files(b));
    let uids =
        |files: &[(String, PathBuf)]| files.iter().map(|(uid, _)| uid.clone()).collect::<Vec<_>>();
    assert_eq!(uids(&a), uids(&b));
    for ((uid, a), (_, b)) in a.iter().zip(&b) {
        let [a, b] = [a, b].map(|path| words(&dicom_object::open_file(path).unwrap().into_inner()));
        assert_eq!(a, b, "{uid}");
    }
}

/// Elements and values in words, without what belongs to an encoding.
fn words(object: &InMemDicomObject) -> Vec<(Tag, String)> {
    use dicom_core::header::Header as _;
    let value = |element: &dicom_object::mem::InMemElement| match element.items() {
        Some(items) => format!("{:?}", items.iter().map(words).collect::<Vec<_>>()),
        None if element.tag() == tags::PIXEL_DATA => format!("{:?}", element.to_bytes().unwrap()),
        None => element
            .to_str()
            .map(|text| text.trim().to_owned())
            .unwrap_or_default(),
    };
    object
        .iter()
        .filter(|e| e.tag().element() != 0)
        .map(|e| (e.tag(), value(e)))
        .collect()
}
