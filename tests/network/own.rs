//! The program with itself, and with the associations of `dicom-ul`.

use crate::peer::{GO_ON, Raw, Served, call, data_set, encoded, files, large_slice, names, study};
use crate::synthetic::{Folder, structures};
use beamsight::dicom::transferables;
use beamsight::network::{Event, NetworkError, Sent, echo, send};
use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use dicom_ul::association::ClientAssociationOptions;
use dicom_ul::pdu::{AssociationRJ, AssociationRJResult, PDataValue, PDataValueType, Pdu};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Sends all files of a folder.
pub fn send_folder(folder: &Path, to: &beamsight::network::Call) -> Sent {
    let found = transferables(&[folder.to_owned()], &|_| true).unwrap();
    assert!(found.faulty.is_empty(), "{:?}", found.faulty);
    send(to, &found.objects, &GO_ON, &|_| ())
}

#[test]
fn what_is_sent_arrives_to_the_byte_in_every_syntax() {
    let (study, served) = (study("sent"), Served::new("received"));
    study.put_as(
        "deflated.dcm",
        &large_slice(11),
        uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN,
    );
    study.put_as("big.dcm", &large_slice(12), "1.2.840.10008.1.2.2");
    std::fs::write(study.0.join("notes.txt"), "no DICOM").unwrap();
    let sent = send_folder(&study.0, &served.call());
    assert!(sent.broken.is_none() && sent.refused.is_empty(), "{sent:?}");
    assert_eq!(sent.sent, 7);
    let Event::Delivered(delivery) = served.event(0) else {
        panic!("{}", served.event(0))
    };
    assert_eq!((delivery.objects, delivery.refused), (7, 0));
    let folder = delivery.folder.unwrap();
    // One folder, under a name with the sender's title; the temporary one is gone.
    assert_eq!(
        served.inbox(),
        [folder.file_name().unwrap().to_string_lossy()]
    );
    assert!(
        folder.to_string_lossy().ends_with("-TESTER"),
        "{}",
        folder.display()
    );
    let (before, after) = (files(&study.0), files(&folder));
    assert_eq!(after.len(), 7);
    for ((uid, before), (same, after)) in before.iter().zip(&after) {
        assert_eq!((uid, format!("{uid}.dcm")), (same, names_of(after)));
        assert_eq!(data_set(before), data_set(after), "{uid}");
        let syntax = |path: &Path| {
            dicom_object::open_file(path)
                .unwrap()
                .meta()
                .transfer_syntax()
                .to_owned()
        };
        assert_eq!(syntax(before), syntax(after));
    }
    // What has arrived is a case like any other.
    let catalogue = beamsight::dicom::scan(&folder, &|_| true).unwrap();
    assert!(
        catalogue.unreadable.is_empty() && catalogue.structure_sets.len() == 1,
        "{catalogue:?}"
    );

    // The same again, at the same time of day or not, has a folder of its own.
    send_folder(&study.0, &served.call());
    served.event(1);
    assert_eq!(served.inbox().len(), 2);
}

fn names_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn titles_decide_who_comes_in() {
    let served = Served::with("titles", |o| {
        o.allow = vec!["PACS".parse().unwrap(), "TPS".parse().unwrap()]
    });
    echo(&call(served.address, "BEAMSIGHT", "TPS"), &GO_ON).unwrap();
    assert!(matches!(served.event(0), Event::Echoed { .. }));

    let error = echo(&call(served.address, "BEAMSIGHT", "STRANGER"), &GO_ON)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("calling AE title") && error.contains("have your own title entered"),
        "{error}"
    );
    assert!(
        served
            .event(1)
            .to_string()
            .contains("STRANGER is not on the list"),
        "{}",
        served.event(1)
    );
    let error = echo(&call(served.address, "OTHER", "PACS"), &GO_ON)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("called AE title") && error.contains("check the title"),
        "{error}"
    );
    assert!(
        served.event(2).to_string().contains("it called OTHER"),
        "{}",
        served.event(2)
    );
    echo(&call(served.address, "BEAMSIGHT", "PACS"), &GO_ON).unwrap();
}

#[test]
fn nobody_there_is_said() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = echo(&call(nobody, "PACS", "ME"), &GO_ON).unwrap_err();
    assert!(
        matches!(error, NetworkError::Connect { .. }) && error.to_string().contains("PACS at"),
        "{error}"
    );
    let mut nowhere = call(nobody, "PACS", "ME");
    nowhere.to = "127.0.0.1".to_owned();
    assert!(matches!(
        echo(&nowhere, &GO_ON),
        Err(NetworkError::Address { .. })
    ));
}

/// An association of `dicom-ul`, which negotiates and fragments in its own way, and takes short PDUs.
#[test]
fn another_implementation_stores_and_is_answered() {
    let served = Served::new("other");
    let mut association = ClientAssociationOptions::new()
        .with_presentation_context(
            uids::CT_IMAGE_STORAGE,
            vec![uids::IMPLICIT_VR_LITTLE_ENDIAN],
        )
        .with_presentation_context(
            "1.2.840.10008.5.1.4.31",
            vec![uids::IMPLICIT_VR_LITTLE_ENDIAN],
        )
        .calling_ae_title("OTHER")
        .called_ae_title("BEAMSIGHT")
        .max_pdu_length(4096)
        .establish(served.address)
        .unwrap();
    // A worklist is not offered, and takes nothing from the rest.
    let accepted = association.presentation_contexts().to_vec();
    assert_eq!(accepted.len(), 1);
    let (id, object) = (accepted[0].id, large_slice(4));
    let instance = "1.2.3.300.4";
    let command = crate::peer::store_command(uids::CT_IMAGE_STORAGE, instance);
    let value = PDataValue {
        presentation_context_id: id,
        value_type: PDataValueType::Command,
        is_last: true,
        data: command,
    };
    association.send(&Pdu::PData { data: vec![value] }).unwrap();
    let bytes = encoded(&object);
    {
        use std::io::Write as _;
        let mut writer = association.send_pdata(id);
        writer.write_all(&bytes).unwrap();
        writer.finish().unwrap();
    }
    let Pdu::PData { data } = association.receive().unwrap() else {
        panic!("no answer")
    };
    let syntax = dicom_transfer_syntax_registry::entries::IMPLICIT_VR_LITTLE_ENDIAN.erased();
    let answer = InMemDicomObject::read_dataset_with_ts(&data[0].data[..], &syntax).unwrap();
    assert_eq!(
        answer
            .element(tags::STATUS)
            .unwrap()
            .to_int::<u16>()
            .unwrap(),
        0
    );
    assert_eq!(
        answer
            .element(tags::COMMAND_FIELD)
            .unwrap()
            .to_int::<u16>()
            .unwrap(),
        0x8001
    );
    assert_eq!(
        answer
            .element(tags::MESSAGE_ID_BEING_RESPONDED_TO)
            .unwrap()
            .to_int::<u16>()
            .unwrap(),
        1
    );
    association.release().unwrap();
    let Event::Delivered(delivery) = served.event(0) else {
        panic!("{}", served.event(0))
    };
    let folder = delivery.folder.unwrap();
    assert_eq!(data_set(&folder.join("1.2.3.300.4.dcm")), bytes);
}

#[test]
fn the_ninth_association_waits_for_its_turn() {
    let served = Served::new("many");
    let mut held: Vec<Raw> = (0..8).map(|_| Raw::associated(served.address)).collect();
    let answer = Raw::connect(served.address).request("BEAMSIGHT", "TESTER");
    let Pdu::AssociationRJ(AssociationRJ { result, source }) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(
        (result, source.to_string().as_str()),
        (AssociationRJResult::Transient, "local limit exceeded")
    );
    served.event(0);
    held.pop().unwrap().release();
    served.event(1);
    crate::peer::until("there is no room again", || {
        matches!(
            Raw::connect(served.address).request("BEAMSIGHT", "TESTER"),
            Pdu::AssociationAC(_)
        )
    });
}

#[test]
fn a_stopped_sender_aborts_and_counts() {
    let (study, served) = (study("stopped"), Served::new("stopped-inbox"));
    let found = transferables(std::slice::from_ref(&study.0), &|_| true).unwrap();
    let (stop, told) = (AtomicBool::new(false), AtomicUsize::new(0));
    let sent = send(&served.call(), &found.objects, &stop, &|done| {
        told.store(done, Ordering::Relaxed);
        stop.store(done == 2, Ordering::Relaxed);
    });
    assert!(
        matches!(sent.broken, Some(NetworkError::Stopped)),
        "{sent:?}"
    );
    assert_eq!((sent.sent, sent.left, told.into_inner()), (2, 3, 2));
    served.broke(0, "TESTER at 127.0.0.1 aborted the association");
    assert!(
        served
            .event(0)
            .to_string()
            .contains("2 objects that had come whole"),
        "{}",
        served.event(0)
    );
}

#[test]
fn damaged_files_are_named_and_not_sent() {
    let folder = Folder::new("damaged");
    let whole = folder.put("whole.dcm", &large_slice(1));
    let bytes = std::fs::read(&whole).unwrap();
    std::fs::write(folder.0.join("cut.dcm"), &bytes[..bytes.len() - 1000]).unwrap();
    let mut directory = structures();
    directory.put(DataElement::new(
        tags::SOP_CLASS_UID,
        VR::UI,
        PrimitiveValue::from(uids::MEDIA_STORAGE_DIRECTORY_STORAGE),
    ));
    folder.put("DICOMDIR", &directory);
    let found = transferables(&[folder.0.clone(), whole], &|_| true).unwrap();
    assert_eq!(found.objects.len(), 1, "each file once");
    assert_eq!(found.faulty[0].file, "cut.dcm");
    assert!(
        found.faulty[0].why.contains("(7FE0,0010)"),
        "{:?}",
        found.faulty
    );
    assert_eq!(found.passed_over[0].file, "DICOMDIR");
    assert_eq!(names(&folder.0).len(), 3);
}
