//! Peers that are silent, wrong or hostile: each is told apart, leaves nothing, and the next one is served.

use crate::peer::{GO_ON, Raw, STEP, Served, encoded, large_slice, request, store_command, until};
use crate::synthetic::slice;
use beamsight::dicom::Identifier;
use beamsight::network::{Event, ReceiveOptions, echo};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use dicom_transfer_syntax_registry::entries::EXPLICIT_VR_LITTLE_ENDIAN;
use dicom_ul::pdu::{PDataValue, PDataValueType, Pdu, write_pdu};
use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

const CT: &str = uids::CT_IMAGE_STORAGE;

fn explicit(object: &InMemDicomObject) -> Vec<u8> {
    let mut bytes = Vec::new();
    object
        .write_dataset_with_ts(&mut bytes, &EXPLICIT_VR_LITTLE_ENDIAN.erased())
        .unwrap();
    bytes
}

fn hasty(options: &mut ReceiveOptions) {
    options.patience.idle = Duration::from_millis(300);
    options.patience.pdu = Duration::from_millis(300);
}

#[test]
fn silence_ends() {
    let served = Served::with("silent", hasty);
    let mut silent = Raw::connect(served.address);
    served.broke(0, "was silent");
    assert!(matches!(silent.read(), Some(Pdu::AbortRQ { .. }) | None));
    // After the first bytes of a PDU, and inside an association.
    let mut slow = Raw::connect(served.address);
    slow.bytes(&[1, 0, 0]);
    served.broke(2, "was silent");
    let mut idle = Raw::associated(served.address);
    served.broke(4, "TESTER at 127.0.0.1 was silent");
    assert!(matches!(idle.read(), Some(Pdu::AbortRQ { .. })));
}

#[test]
fn dripping_bytes_keep_no_slot() {
    let served = Served::with("dripping", hasty);
    // Each byte comes in time, the PDU never: a request for an association, and an element of data.
    let mut request = Raw::connect(served.address);
    request.bytes(&[1, 0, 0, 1, 0, 0]);
    drip(request, &[0]);
    served.broke(0, "was too slow while its request");
    let mut pdu = Raw::associated(served.address);
    pdu.bytes(&[4, 0, 0, 1, 0, 0]);
    drip(pdu, &[0]);
    served.broke(2, "was too slow while its next message");
    // Each PDU comes in time, the message never: a fragment of a byte in each, of a command and of an object.
    let fragment = |control: u8| [4, 0, 0, 0, 0, 7, 0, 0, 0, 3, 1, control, 0];
    drip(Raw::associated(served.address), &fragment(1));
    served.broke(4, "was too slow while its next message");
    let mut object = Raw::associated(served.address);
    object.store(CT, "1.2.3.300.1");
    drip(object, &fragment(0));
    served.broke(6, "was too slow while an object");
}

/// Sends the same bytes again and again, until the other side has ended the connection.
fn drip(mut raw: Raw, bytes: &[u8]) {
    until("it is served still", || {
        sleep(STEP);
        raw.0.write_all(bytes).is_err()
    });
}

/// Anyone who reaches the port can open a connection and say nothing, or half a header.
#[test]
fn half_open_connections_shut_nobody_out() {
    let served = Served::new("half-open");
    let open = |n: usize| {
        let mut raw = Raw::connect(served.address);
        if n.is_multiple_of(2) {
            raw.bytes(&[1, 0, 0]);
        }
        raw
    };
    let mut crowd: Vec<Raw> = (0..30).map(open).collect();
    echo(&served.call(), &GO_ON).unwrap();
    // Those that made way were told so, and an association that is open is not among them.
    let cut_off = (0..)
        .map(|n| served.event(n))
        .find(|event| matches!(event, Event::Broken { .. }))
        .unwrap();
    assert!(
        cut_off
            .to_string()
            .contains("asked for nothing when others called"),
        "{cut_off}"
    );
    let mut held = Raw::associated(served.address);
    crowd.extend((0..30).map(open));
    held.release();
    echo(&served.call(), &GO_ON).unwrap();
}

#[test]
fn garbage_is_no_pdu() {
    let served = Served::new("garbage");
    Raw::connect(served.address).bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    served.broke(0, "what it sent is no PDU");
    // Random bytes behind the header of each kind of PDU: none may bring the listener down.
    let mut state = 1u32;
    let mut told = 2;
    for kind in 1..=7u8 {
        for length in [0u8, 1, 3, 4, 17, 68, 200] {
            let mut bytes = vec![kind, 0, 0, 0, 0, length];
            bytes.extend((0..length).map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            }));
            Raw::connect(served.address).bytes(&bytes);
            let event = served.event(told);
            assert!(
                matches!(event, Event::Broken { begun: false, .. }),
                "{kind} {length}: {event}"
            );
            told += 1;
        }
    }
    served.broke(told - 1, "");
}

/// A wrong length in a sub-item of a request must not overflow, whatever it claims.
#[test]
fn sub_items_that_lie_are_refused() {
    let served = Served::new("sub-items");
    for length in [0u16, 1, 0x7fff, 0xfffe, 0xffff] {
        let mut items = vec![0x50, 0, 0, 8, 0x56, 0];
        items.extend(length.to_be_bytes());
        items.extend(0xffffu16.to_be_bytes());
        items.extend([0, 0]);
        let mut body = vec![0, 1, 0, 0];
        body.extend([b' '; 32]);
        body.extend([0; 32]);
        body.extend(items);
        let mut bytes = vec![1, 0];
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        Raw::connect(served.address).bytes(&bytes);
    }
    for n in 0..5 {
        assert!(
            matches!(served.event(n), Event::Broken { .. }),
            "{}",
            served.event(n)
        );
    }
    served.broke(4, "");
}

#[test]
fn lengths_that_lie_take_no_memory() {
    let served = Served::with("lying", hasty);
    // A request and a piece of data of 4 GB, a value longer than its PDU, a PDU longer than what comes.
    Raw::connect(served.address).bytes(&[1, 0, 0xff, 0xff, 0xff, 0xff, 0, 1]);
    served.broke(0, "claims 4294967295 bytes where 1048576 are the most");
    Raw::associated(served.address).bytes(&[4, 0, 0xff, 0xff, 0xff, 0xff]);
    served.broke(2, "claims 4294967295 bytes where 131072 are the most");
    Raw::associated(served.address).bytes(&[4, 0, 0, 0, 0, 8, 0x7f, 0xff, 0xff, 0xff, 1, 3, 0, 0]);
    served.broke(4, "broke the rules");
    let mut short = Raw::associated(served.address);
    short.bytes(&[4, 0, 0, 0, 1, 0, 0, 0, 0, 8]);
    served.broke(6, "was silent");
    // Commands: an element longer than the command, and one without end.
    let mut command = store_command(CT, "1.2.3.300.1");
    let length = command.len();
    command[length - 4..].copy_from_slice(b"1234");
    command[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    Raw::associated(served.address).value(PDataValueType::Command, &command, true);
    served.broke(8, "claims 4294967295 bytes where");
    let mut endless = Raw::associated(served.address);
    for _ in 0..9 {
        endless.value(PDataValueType::Command, &[0; 8192], false);
    }
    served.broke(10, "more bytes than any can have");
    // PDUs that hold nothing, and data before any command.
    Raw::associated(served.address).bytes(&[4, 0, 0, 0, 0, 0]);
    served.broke(12, "a PDU of data is empty");
    Raw::associated(served.address).value(PDataValueType::Data, &[1, 2], true);
    served.broke(14, "data came where a command belongs");
    Raw::associated(served.address).value(PDataValueType::Command, &[], false);
    served.broke(16, "a fragment is empty");
}

#[test]
fn of_a_sender_that_dies_nothing_is_kept() {
    let served = Served::new("dies");
    let (whole, large) = (explicit(&large_slice(1)), explicit(&large_slice(2)));
    let mut raw = Raw::associated(served.address);
    raw.store(CT, "1.2.3.300.1");
    whole
        .chunks(16000)
        .for_each(|part| raw.value(PDataValueType::Data, part, false));
    raw.value(PDataValueType::Data, &[], true);
    assert_eq!(raw.status(), 0);
    raw.store(CT, "1.2.3.300.2");
    large[..100_000]
        .chunks(16000)
        .for_each(|part| raw.value(PDataValueType::Data, part, false));
    drop(raw);
    served.broke(0, "closed the connection while an object was received");
    let Event::Broken { begun, dropped, .. } = served.event(0) else {
        unreachable!()
    };
    assert!(begun && dropped == 1);

    // The same by an abort between two objects, and by a release inside one.
    let mut raw = Raw::associated(served.address);
    raw.store(CT, "1.2.3.300.1");
    raw.value(PDataValueType::Data, &explicit(&slice(1, 0.0, 0)), true);
    assert_eq!(raw.status(), 0);
    raw.bytes(&[7, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    served.broke(2, "aborted the association");
    let mut raw = Raw::associated(served.address);
    raw.store(CT, "1.2.3.300.1");
    raw.value(PDataValueType::Data, &large[..1000], false);
    raw.pdu(&Pdu::ReleaseRQ);
    served.broke(4, "released the association inside an object");
}

#[test]
fn an_object_beyond_the_limit_ends_its_association() {
    let served = Served::with("large", |options| options.object_bytes = 100_000);
    let mut raw = Raw::associated(served.address);
    raw.store(CT, "1.2.3.300.1");
    let bytes = explicit(&large_slice(1));
    bytes
        .chunks(16000)
        .for_each(|part| raw.value(PDataValueType::Data, part, false));
    served.broke(0, "more than the 100.0 kB that are taken");
}

/// Stores one object and gives the status of the answer.
fn status_of(raw: &mut Raw, class: &str, instance: &str, data: &[u8]) -> u16 {
    raw.store(class, instance);
    raw.value(PDataValueType::Data, data, true);
    raw.status()
}

#[test]
fn faulty_objects_are_refused_one_by_one() {
    let served = Served::new("faulty");
    let good = explicit(&slice(1, 0.0, 0));
    let mut raw = Raw::associated(served.address);
    for path in [
        "../1.2.3",
        "/tmp/1",
        "1..2",
        "",
        ".",
        "1.2.3\\4",
        "C:1",
        &"1.".repeat(40),
        "1.2.a",
    ] {
        assert_eq!(status_of(&mut raw, CT, path, &good), 0x0117, "'{path}'");
    }
    // A class that was not agreed on, an object that is another one, no DICOM, one that is cut short, one whose lengths lie.
    assert_eq!(
        status_of(&mut raw, uids::MR_IMAGE_STORAGE, "1.2.3.300.1", &good),
        0xa900
    );
    assert_eq!(status_of(&mut raw, CT, "1.2.3.300.2", &good), 0xa900);
    assert_eq!(
        status_of(&mut raw, CT, "1.2.3.300.1", b"nothing of the kind"),
        0xc000
    );
    assert_eq!(
        status_of(&mut raw, CT, "1.2.3.300.1", &good[..good.len() - 2]),
        0xc000
    );
    let mut lying = good.clone();
    let pixels = lying.len() - 16;
    lying[pixels..pixels + 4].copy_from_slice(&u32::MAX.wrapping_sub(1).to_le_bytes());
    assert_eq!(status_of(&mut raw, CT, "1.2.3.300.1", &lying), 0xc000);
    // A good one among them is kept; again the same, and another under its UID.
    assert_eq!(status_of(&mut raw, CT, "1.2.3.300.1", &good), 0);
    assert_eq!(status_of(&mut raw, CT, "1.2.3.300.1", &good), 0);
    assert_eq!(
        status_of(&mut raw, CT, "1.2.3.300.1", &explicit(&slice(1, 5.0, 0))),
        0x0111
    );
    // What is not offered is answered too.
    raw.release();
    let Event::Delivered(delivery) = served.event(0) else {
        panic!("{}", served.event(0))
    };
    assert_eq!((delivery.objects, delivery.refused), (2, 15));
    assert!(
        delivery.refusals[0].contains("'../1.2.3'"),
        "{:?}",
        delivery.refusals
    );
    assert_eq!(
        crate::peer::names(&delivery.folder.unwrap()),
        ["1.2.3.300.1.dcm"]
    );
    assert_eq!(served.inbox().len(), 1);
    assert!(!served.folder.0.join("../1.2.3.dcm").exists());
}

#[test]
fn a_folder_that_takes_no_more_is_told_to_the_sender() {
    let served = Served::new("vanishes");
    std::fs::remove_dir_all(&served.folder.0).unwrap();
    let mut raw = Raw::associated(served.address);
    let good = explicit(&slice(1, 0.0, 0));
    assert_eq!(status_of(&mut raw, CT, "1.2.3.300.1", &good), 0xa700);
    raw.release();
    let Event::Delivered(delivery) = served.event(0) else {
        panic!("{}", served.event(0))
    };
    assert!(
        delivery.folder.is_none() && delivery.refusals[0].contains("cannot be written"),
        "{delivery:?}"
    );
    // Once it is there again, the next association is served.
    std::fs::create_dir_all(&served.folder.0).unwrap();
    let mut raw = Raw::associated(served.address);
    assert_eq!(status_of(&mut raw, CT, "1.2.3.300.1", &good), 0);
    raw.release();
    assert!(matches!(served.event(1), Event::Delivered(_)));
}

/// A disk without space: `/dev/full` cannot be a folder, a small tmpfs needs root and is asked for where there is one.
#[test]
fn a_full_disk_is_told_to_the_sender() {
    let served = Served::new("full");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
        .arg(&served.folder.0)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("no small disk can be mounted here");
        return;
    }
    let mut raw = Raw::associated(served.address);
    raw.store(CT, "1.2.3.300.1");
    explicit(&large_slice(1))
        .chunks(16000)
        .for_each(|part| raw.value(PDataValueType::Data, part, false));
    raw.value(PDataValueType::Data, &[], true);
    let full = raw.status();
    // What there is space for is still taken.
    let small = status_of(&mut raw, CT, "1.2.3.300.2", &explicit(&slice(2, 0.0, 0)));
    raw.release();
    let event = served.event(0);
    let inbox = served.inbox();
    let _ = std::process::Command::new("umount")
        .arg(&served.folder.0)
        .status();
    assert_eq!((full, small), (0xa700, 0), "{event}");
    assert_eq!(inbox.len(), 1, "{inbox:?}");
}

/// The same damage in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn damaged(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 => bytes[at] = self.below(256) as u8,
                1 => bytes[at] ^= 1 << self.below(8),
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, [0, 0xff][self.below(2)]),
            }
        }
        bytes
    }
}

/// A whole conversation: association, an object, release.
fn conversation() -> Vec<u8> {
    let request = Pdu::AssociationRQ(request("BEAMSIGHT", "TESTER"));
    let value = |value_type, data: Vec<u8>| Pdu::PData {
        data: vec![PDataValue {
            presentation_context_id: 1,
            value_type,
            is_last: true,
            data,
        }],
    };
    let command = value(PDataValueType::Command, store_command(CT, "1.2.3.300.1"));
    let object = value(PDataValueType::Data, explicit(&slice(1, 0.0, 0)));
    let mut bytes = Vec::new();
    [request, command, object, Pdu::ReleaseRQ]
        .iter()
        .for_each(|pdu| write_pdu(&mut bytes, pdu).unwrap());
    bytes
}

#[test]
fn damaged_conversations_leave_whole_objects_or_nothing() {
    const CONVERSATIONS: usize = 400;
    let served = Served::with("damaged", hasty);
    let (whole, mut dice) = (conversation(), Dice(1));
    for n in 0..CONVERSATIONS {
        let bytes = if n == 0 {
            whole.clone()
        } else {
            dice.damaged(whole.clone())
        };
        let mut raw = Raw::connect(served.address);
        raw.bytes(&bytes);
        raw.0.shutdown(std::net::Shutdown::Write).unwrap();
        // What is answered does not matter here, only that it ends.
        let _ = std::io::copy(&mut raw.0, &mut std::io::sink());
        served.event(n);
    }
    let Event::Delivered(_) = served.event(0) else {
        panic!("{}", served.event(0))
    };
    let delivered = (0..CONVERSATIONS)
        .filter(|n| matches!(served.event(*n), Event::Delivered(_)))
        .count();
    let kept = crate::peer::files(&served.folder.0);
    eprintln!(
        "{delivered} of {CONVERSATIONS} conversations were delivered, {} objects kept",
        kept.len()
    );
    assert!(
        delivered < CONVERSATIONS && kept.len() <= delivered,
        "{delivered}"
    );
    for (_, path) in kept {
        beamsight::dicom::transferable(&path).unwrap();
    }
    assert!(
        served.inbox().iter().all(|name| !name.starts_with('.')),
        "{:?}",
        served.inbox()
    );
    echo(&served.call(), &GO_ON).unwrap();
}

/// Answers to queries come from others too.
#[test]
fn damaged_answers_are_errors() {
    let (whole, mut dice) = (encoded(&slice(1, 0.0, 0)), Dice(2));
    assert_eq!(
        Identifier::read(whole.clone())
            .unwrap()
            .text(tags::PATIENT_ID),
        "T1"
    );
    let read = (0..5000)
        .filter(|_| Identifier::read(dice.damaged(whole.clone())).is_ok())
        .count();
    assert!(read > 0 && read < 5000, "{read}");
}
