//! Each reader as a fuzz target: a file of its own, read as the program reads it.

use beamsight::analysis::second_check::Tolerances;
use beamsight::case::Placement;
use beamsight::dicom;
use beamsight::engine::histories::PartTally;
use beamsight::files::{GoalTemplate, measured, mha, picture, plan_toml, session};
use beamsight::geometry::PatientPosition;
use beamsight::input;
use beamsight::physics::{HuTable, Machine};
use glam::DVec3;
use std::path::Path;

/// A target: its folder in the corpus, the ending of its files, and the reader.
pub struct Target {
    pub name: &'static str,
    pub ending: &'static str,
    pub read: fn(&Path),
}

pub const TARGETS: [Target; 13] = [
    Target {
        name: "dicom",
        ending: "dcm",
        read: read_dicom,
    },
    Target {
        name: "png",
        ending: "png",
        read: read_picture,
    },
    Target {
        name: "tiff",
        ending: "tif",
        read: read_picture,
    },
    Target {
        name: "sidecar",
        ending: "toml",
        read: read_sidecar,
    },
    Target {
        name: "mha",
        ending: "mha",
        read: read_mha,
    },
    Target {
        name: "session",
        ending: "json",
        read: read_session,
    },
    Target {
        name: "plan",
        ending: "toml",
        read: read_plan,
    },
    Target {
        name: "machine",
        ending: "toml",
        read: read_machine,
    },
    Target {
        name: "goals",
        ending: "toml",
        read: read_goals,
    },
    Target {
        name: "tolerances",
        ending: "toml",
        read: read_tolerances,
    },
    Target {
        name: "hu",
        ending: "toml",
        read: read_hu,
    },
    Target {
        name: "measured",
        ending: "txt",
        read: read_measured,
    },
    Target {
        name: "tally",
        ending: "tally",
        read: read_tally,
    },
];

#[allow(dead_code, reason = "the targets of libFuzzer name theirs")]
pub fn target(name: &str) -> &'static Target {
    TARGETS
        .iter()
        .find(|t| t.name == name)
        .expect("a target's name")
}

// The reader's answer is ignored: it may refuse everything, with a message, but must return.

fn read_tally(path: &Path) {
    if let Ok((file, bytes)) = input::open(path) {
        let _ = PartTally::read(file, bytes).map_err(|e| e.to_string());
    }
}

fn read_dicom(path: &Path) {
    if let Ok(found) = dicom::scan(path, &|_| true) {
        let _ = dicom::load(&found, dicom::Choice::default(), &|_| true).map_err(|e| e.to_string());
    }
    let _ = dicom::read_dose(path);
    let _ = dicom::read_plan(path, None);
    let _ = dicom::read_stated_dose(path);
    let _ = dicom::read_stated_plan(path);
    let _ = dicom::read_structures(path);
    let _ = dicom::read_radiograph(path, &placed());
}

fn placed() -> Placement {
    Placement {
        gantry_deg: Some(90.0),
        isocentre_mm: Some(DVec3::new(1.0, 2.0, 3.0)),
        sad_mm: Some(1000.0),
        sid_mm: Some(1500.0),
        pixel_mm: Some([0.5, 0.5]),
        ..Placement::default()
    }
}

fn read_picture(path: &Path) {
    let _ = picture::read(path, &placed()).map_err(|e| e.to_string());
}

/// The text beside a sound picture.
fn read_sidecar(path: &Path) {
    let beside = path.with_extension("png");
    if std::fs::write(&beside, include_bytes!("corpus/png/grey.png")).is_ok() {
        let _ = picture::read(&beside, &Placement::default()).map_err(|e| e.to_string());
    }
}

fn read_mha(path: &Path) {
    let _ = mha::read(path).map_err(|e| e.to_string());
}

fn read_session(path: &Path) {
    let _ = session::read(path).map_err(|e| e.to_string());
}

fn read_plan(path: &Path) {
    let _ = plan_toml::read(path, PatientPosition::Hfs).map_err(|e| e.to_string());
}

fn read_machine(path: &Path) {
    let _ = Machine::resolve(&path.to_string_lossy()).map_err(|e| e.to_string());
}

fn read_goals(path: &Path) {
    let _ = GoalTemplate::read(path).map_err(|e| e.to_string());
}

fn read_tolerances(path: &Path) {
    let _ = Tolerances::read(path).map_err(|e| e.to_string());
}

fn read_hu(path: &Path) {
    let _ = HuTable::resolve(&path.to_string_lossy()).map_err(|e| e.to_string());
}

fn read_measured(path: &Path) {
    let _ = measured::read_curves(path).map_err(|e| e.to_string());
    let _ = measured::read_output_factors(path).map_err(|e| e.to_string());
}
