//! Every reader on damaged files of `corpus/`, with equal damage in every run: none panics, none needs much
//! memory.
//!
//! `BEAMSIGHT_FUZZ=SEED,COUNT` tries COUNT files a file of the corpus, from another seed; `libfuzzer/run`
//! looks for new paths by coverage. A failing file is stored in `target/tmp`; once fixed, it joins the corpus
//! under a descriptive name. A program of its own, because the peak is that of the process.

mod mutate;
mod readers;
#[path = "../common/registration.rs"]
mod registration;
mod seeds;
mod tree;

use mutate::Dice;
use readers::{TARGETS, Target, target};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Memory limit: a few times the unpacked bytes of a small file (256 MiB), in several tests at once.
const MOST_KB: u64 = 2 << 20;

fn corpus(target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target.name);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

type Damage = fn(Vec<u8>, &mut Dice) -> Vec<u8>;

/// Reads each file of the corpus as it is, then `count` damaged versions of it.
fn fuzz(name: &str, count: usize, damage: &[Damage]) {
    let target = target(name);
    let told = std::env::var("BEAMSIGHT_FUZZ").ok();
    let told = told
        .as_deref()
        .and_then(|t| t.split_once(','))
        .map(|(a, b)| (a.parse(), b.parse()));
    let (seed, count) = match told {
        Some((Ok(seed), Ok(count))) => (seed, count),
        _ => (1, count),
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("fuzz-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let victim = folder.join(format!("victim.{}", target.ending));
    for (n, file) in corpus(target).iter().enumerate() {
        let whole = std::fs::read(file).unwrap();
        let mut dice = Dice::new(seed + 1000 * n as u64);
        for turn in 0..=count {
            let bytes = match turn {
                0 => whole.clone(),
                _ => damage[turn % damage.len()](whole.clone(), &mut dice),
            };
            std::fs::write(&victim, &bytes).unwrap();
            if catch_unwind(AssertUnwindSafe(|| (target.read)(&victim))).is_err() {
                let kept = folder.with_file_name(format!("fuzz-{name}-{turn}.{}", target.ending));
                std::fs::write(&kept, &bytes).unwrap();
                panic!("{} of {}: kept as {}", turn, file.display(), kept.display());
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|l| {
        l.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse::<u64>()
            .ok()
    });
    assert!(peak.unwrap_or(0) < MOST_KB, "{peak:?} kB");
}

#[test]
fn dicom() {
    fuzz(
        "dicom",
        300,
        &[mutate::bytes, mutate::elements, mutate::elements],
    );
}

#[test]
fn pictures() {
    fuzz("png", 300, &[mutate::bytes]);
    fuzz("tiff", 300, &[mutate::bytes]);
    fuzz("sidecar", 200, &[mutate::text]);
}

#[test]
fn volumes() {
    fuzz("mha", 500, &[mutate::bytes, mutate::text]);
    fuzz("tally", 500, &[mutate::bytes, mutate::text]);
}

#[test]
fn texts() {
    for name in [
        "session",
        "plan",
        "machine",
        "goals",
        "tolerances",
        "hu",
        "measured",
    ] {
        fuzz(name, 300, &[mutate::text]);
    }
}

/// The seeds are valid: undamaged, the X-ray and the registration are read.
#[test]
fn x_rays_and_registrations_of_the_corpus_are_sound() {
    let file = |name: &str| {
        corpus(target("dicom"))
            .into_iter()
            .find(|p| p.ends_with(name))
            .unwrap()
    };
    let (image, _) = beamsight::dicom::read_radiograph(
        &file("rtimage.dcm"),
        &beamsight::case::Placement::default(),
    )
    .unwrap();
    assert_eq!(
        [image.projection.columns(), image.projection.rows()],
        [3, 2]
    );
    let registration = registration::read_registration(&file("registration.dcm"));
    let moved = registration
        .matrix
        .transform_point3(glam::DVec3::new(1.0, 2.0, 3.0));
    assert!(
        (moved - glam::DVec3::new(1.5, -3.0, 8.25)).length() < 1e-9,
        "{moved}"
    );
}

/// All targets are run above, and the corpus is that of `seeds` with the failures found.
#[test]
fn the_corpus_is_whole() {
    let of = |name| corpus(target(name)).len();
    assert!(TARGETS.iter().all(|t| of(t.name) > 0));
    assert!(of("dicom") >= seeds::dicom().len());
}

/// Writes the sound files of the corpus anew: `cargo test --test fuzz write_corpus -- --ignored`.
#[test]
#[ignore = "writes into the repository"]
fn write_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    seeds::write(&folder);
}
