use super::*;
use crate::children::{self, no_forks};
use crate::{remove_leftovers, session};
use case::{Case, DoseStatus, Receipt, StructureSet};
use geometry::{Grid, Volume};
use glam::DVec3;
use std::process::{Command, Stdio};
use std::time::Duration;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("beamsight-kept-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A dose with every number that a file could lose: signed zeros, what is not finite, subnormal values.
fn dose(factor: f32) -> Dose {
    let planes = [0.1, 2.6, 5.300000000000001];
    let (row, column) = (DVec3::NEG_X, DVec3::NEG_Y);
    let origin = DVec3::new(0.1, -7.7, 1e-3);
    let grid = Grid::new(origin, row, column, [2.5, 1.1], [6, 5], &planes).unwrap();
    let mut values: Vec<f32> = (0..90).map(|n| (n as f32).sqrt() * factor).collect();
    values[..6].copy_from_slice(&[
        -0.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e-42,
        f32::MAX,
    ]);
    let receipt = Receipt {
        digest: "d".to_owned(),
        phases_ms: vec![("transport".to_owned(), 0.1 + 0.2)],
        ..Receipt::default()
    };
    Dose {
        gy: Arc::new(Volume::new(Arc::new(grid), values)),
        status: DoseStatus::Partial,
        label: "Beam 1\n".to_owned(),
        frame_of_reference_uid: "1.2".to_owned(),
        receipt: Some(Arc::new(receipt)),
        caveats: vec!["wedge not modelled".to_owned()],
        remarks: Vec::new(),
        part: None,
    }
}

fn inputs(beam: &str) -> InputDigests {
    let [program, images, patient, machine, settings] =
        ["p", "i", "b", "m", "s"].map(str::to_owned);
    InputDigests {
        program,
        images,
        patient,
        machine,
        settings,
        beam: beam.to_owned(),
    }
}

fn to_keep(beam: u32, name: &str, dose: Option<Dose>) -> DoseToKeep {
    DoseToKeep {
        of: BeamPlace { plan: 0, beam },
        inputs: inputs(name),
        dose: dose.map(Arc::new),
    }
}

fn bits(dose: &Dose) -> Vec<u32> {
    dose.gy.data().iter().map(|gy| gy.to_bits()).collect()
}

fn assert_same(a: &Dose, b: &Dose) {
    assert_eq!((a.gy.grid(), bits(a)), (b.gy.grid(), bits(b)));
    assert_eq!((a.status_text(), &a.label), (b.status_text(), &b.label));
    assert_eq!(
        (&a.receipt, &a.frame_of_reference_uid),
        (&b.receipt, &b.frame_of_reference_uid)
    );
}

#[test]
fn a_dose_of_unsaved_work_comes_back_whole_or_not_at_all() {
    let folder = folder("unsaved");
    let kept = KeptDoses::of_unsaved(&folder.join("work.json"));
    let [one, other] =
        [("one", 0.1), ("other", 0.2)].map(|(name, f)| to_keep(1, name, Some(dose(f))));
    kept.write(&one).unwrap();
    kept.write(&other).unwrap();
    assert_same(&kept.read(&inputs("one")).unwrap(), &dose(0.1));
    assert_same(&kept.read(&inputs("other")).unwrap(), &dose(0.2));
    assert!(kept.read(&inputs("none")).is_none());

    // Another's dose under the name of this one.
    let [path, from] = [&one, &other].map(|kept_dose| dose_file(kept.path(), &kept_dose.inputs));
    fs::copy(from, &path).unwrap();
    assert!(kept.read(&inputs("one")).is_none() && kept.read(&inputs("other")).is_some());
    let mut is_kept: Vec<bool> = kept
        .survey()
        .doses
        .iter()
        .map(|dose| dose.is_whole)
        .collect();
    is_kept.sort();
    assert_eq!(
        is_kept,
        [false, true],
        "one that is not found counts as none"
    );
    kept.keep_only(std::slice::from_ref(&other));
    assert!(!path.exists() && kept.read(&inputs("other")).is_some());
    kept.remove();
    assert!(!kept.path().exists());
    fs::remove_dir_all(folder).unwrap();
}

/// Each byte of a file of two doses is changed in turn, and the file cut after each: what is read is one of the doses as written.
#[test]
fn no_changed_byte_gives_another_dose() {
    let folder = folder("tampered");
    let session = folder.join("plan.json");
    let both = [("one", 0.1), ("other", 0.2)].map(|(name, f)| to_keep(1, name, Some(dose(f))));
    assert_eq!(write_beside(&session, &both, &[]).unwrap().len(), 2);
    let kept = KeptDoses::of_session(&session);
    let record = fs::read(kept.path()).unwrap();
    let survey = kept.survey();
    assert!(
        !survey.is_damaged
            && survey.doses.len() == 2
            && survey.doses.iter().all(|dose| dose.is_whole)
    );
    let check = |bytes: &[u8]| {
        fs::write(kept.path(), bytes).unwrap();
        let read = ["one", "other"].map(|name| kept.read(&inputs(name)));
        for (dose, factor) in read.iter().zip([0.1, 0.2]) {
            if let Some(read) = dose {
                assert_same(read, &self::dose(factor));
            }
        }
        let survey = kept.survey();
        let is_seen =
            survey.is_damaged || survey.doses.iter().filter(|dose| dose.is_whole).count() < 2;
        (read.iter().flatten().count(), is_seen)
    };
    assert_eq!(check(&record), (2, false));
    for byte in 0..record.len() {
        let mut changed = record.clone();
        changed[byte] ^= 1 << (byte % 8);
        let (read, is_seen) = check(&changed);
        assert!(read < 2 && is_seen, "byte {byte}");
        if byte % 7 == 0 {
            assert!(check(&record[..byte]).0 < 2, "cut after {byte}");
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn doses_of_a_session_are_written_once_copied_and_bounded() {
    let folder = folder("session");
    let [a, b] = ["a.json", "b.json"].map(|name| folder.join(name));
    let one = to_keep(1, "one", Some(dose(0.1)));
    // The beam of a copied plan has the same dose.
    let copy = DoseToKeep {
        of: BeamPlace { plan: 1, beam: 1 },
        ..one.clone()
    };
    assert_eq!(
        write_beside(&a, &[one.clone(), copy.clone()], &[]).unwrap(),
        [one.of, copy.of]
    );
    let of_a = KeptDoses::of_session(&a);
    assert_eq!(of_a.survey().doses.len(), 1);

    // Values that are not at hand come from the previous file; what nobody has is not there.
    let without = [to_keep(1, "one", None), to_keep(2, "none", None)];
    assert_eq!(
        write_beside(&b, &without, &[b.clone(), a.clone()]).unwrap(),
        [one.of]
    );
    let of_b = KeptDoses::of_session(&b);
    assert_eq!(
        fs::read(of_a.path()).unwrap(),
        fs::read(of_b.path()).unwrap()
    );
    // Under the name of another session the doses answer for themselves.
    fs::rename(of_b.path(), of_a.path()).unwrap();
    assert!(of_a.read(&inputs("one")).is_some() && of_b.read(&inputs("one")).is_none());

    assert_eq!(
        write_beside(&b, &[to_keep(1, "none", None)], &[a]).unwrap(),
        []
    );
    assert!(!of_b.path().exists(), "no file for no dose");
    // A file of the user's own is nobody's to replace.
    fs::write(of_b.path(), "mine").unwrap();
    let refused = write_beside(&b, &[one], &[]).unwrap_err().to_string();
    assert!(refused.contains("no file of kept doses"), "{refused}");
    remove_beside(&b);
    assert_eq!(fs::read(of_b.path()).unwrap(), b"mine");
    fs::remove_dir_all(folder).unwrap();
}

/// A process that saves doses of two states in turn is killed at any moment: session and doses are whole, and the next save leaves
/// nothing else in the folder.
#[test]
fn a_kill_in_the_middle_of_a_save_leaves_whole_files() {
    const VARIABLE: &str = "BEAMSIGHT_TEST_SAVES_TO";
    if let Some(session) = std::env::var_os(VARIABLE) {
        for doses in states().iter().cycle() {
            assert!(save(Path::new(&session), doses).is_none());
        }
    }
    let folder = folder("killed");
    let session = folder.join("plan.json");
    for round in 0..20 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "kept_doses::tests::a_kill_in_the_middle_of_a_save_leaves_whole_files",
            ])
            .env(VARIABLE, &session);
        command.stderr(Stdio::null()).stdout(Stdio::null());
        let mut child = children::spawn(&mut command).unwrap();
        while !session.exists() {
            assert!(
                child.try_wait().unwrap().is_none(),
                "it saves until it is killed"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(1700 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let _no_forks = no_forks();
        assert_eq!(
            session::read(&session).unwrap().doses,
            [BeamPlace { plan: 0, beam: 1 }]
        );
        let kept = KeptDoses::of_session(&session);
        let (survey, read) = (
            kept.survey(),
            ["one", "other"].map(|name| kept.read(&inputs(name))),
        );
        assert!(!survey.is_damaged && read.iter().flatten().count() == 1);
        read.iter()
            .zip([0.1, 0.2])
            .for_each(|(read, f)| read.iter().for_each(|read| assert_same(read, &dose(f))));
        remove_leftovers(&folder);
        assert!(save(&session, &states()[0]).is_none());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_file(&session).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
}

fn states() -> [[DoseToKeep; 1]; 2] {
    [("one", 0.1), ("other", 0.2)].map(|(name, f)| [to_keep(1, name, Some(dose(f)))])
}

/// The error of the doses beside a saved session.
fn save(session: &Path, doses: &[DoseToKeep]) -> Option<io::Error> {
    let (case, set) = (Case::default(), StructureSet::default());
    let new = session::Session::new(&case, "demo:slab", &set, serde_json::Value::Null);
    session::write_with_doses(session, new, doses, &[]).unwrap()
}

/// Records whose digests are right and whose content is not.
#[test]
fn a_made_up_record_is_refused_before_it_takes_memory() {
    let folder = folder("made_up");
    let kept = KeptDoses::of_session(&folder.join("plan.json"));
    let record = record_of(BeamPlace { plan: 0, beam: 1 }, &inputs("one"), &dose(0.1))
        .unwrap()
        .unwrap();
    let [line, after_line] = record
        .splitn(2, |byte| *byte == b'\n')
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let lengths = std::str::from_utf8(line).unwrap().split(' ').skip(1);
    let [header, _] = lengths
        .map(|n| n.parse().unwrap())
        .collect::<Vec<usize>>()
        .try_into()
        .unwrap();
    let (header, values) = after_line.split_at(header);
    let header: serde_json::Value = serde_json::from_slice(header).unwrap();
    let is_read = |member: &str, value: serde_json::Value, values: &[u8]| {
        let mut header = header.clone();
        header[member] = value;
        let header = serde_json::to_vec(&header).unwrap();
        let digest = content_digest_of(&mut [&header, values].concat().as_slice()).unwrap();
        let line = format!("{digest} {} {}\n", header.len(), values.len());
        fs::write(
            kept.path(),
            [MAGIC, line.as_bytes(), &header, values].concat(),
        )
        .unwrap();
        kept.survey();
        kept.read(&inputs("one")).is_some()
    };
    assert!(
        is_read("label", "another".into(), values),
        "such a record is read"
    );
    for size in [
        serde_json::json!([1u64 << 40, 1u64 << 40]),
        [1 << 14, 1 << 14].into(),
        [6, 4].into(),
    ] {
        assert!(!is_read("size_xy", size, values));
    }
    assert!(!is_read("status", "better".into(), values) && !is_read("of", 7.into(), values));
    assert!(!is_read("label", "".into(), &values[1..]) && !is_read("label", "".into(), &[]));
    // A thousand times the values of the grid.
    let [long, mut packed] = [vec![0u8; 360_000], Vec::new()];
    std::io::Read::read_to_end(
        &mut flate2::read::ZlibEncoder::new(&long[..], flate2::Compression::fast()),
        &mut packed,
    )
    .unwrap();
    assert!(!is_read("label", "".into(), &packed));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_first_difference_is_said_in_words() {
    let digests = inputs("one");
    assert_eq!(digests.difference(&digests), None);
    assert_eq!(
        digests.difference(&inputs("other")),
        Some("of an earlier plan")
    );
    let other = InputDigests {
        images: "j".to_owned(),
        ..inputs("other")
    };
    assert_eq!(digests.difference(&other), Some("of other images"));
}
