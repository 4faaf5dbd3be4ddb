//! Data beside the repository, for tests.

use crate::skip::{Missing, skip};
use physics::Material;
use std::path::Path;

/// Rows of a table of `data/physics`: in the folder `BEAMSIGHT_DATA`, else `../shared/data` beside the repository. `None`,
/// reported, where it is absent.
pub fn shared_rows(path: &str) -> Option<Vec<Vec<f64>>> {
    shared_text(path).map(|text| crate::table::rows(&text).collect())
}

pub fn shared_text(path: &str) -> Option<String> {
    let default_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("BEAMSIGHT_DATA").map_or(default_folder, Into::into);
    let file = folder.join("physics").join(path);
    let text = std::fs::read_to_string(&file).ok();
    if text.is_none() {
        skip(
            Missing::Data,
            &format!("no {} (set BEAMSIGHT_DATA)", file.display()),
        );
    }
    text
}

/// The name of a material in the files of `data/physics/electrons`.
pub fn electron_name(material: Material) -> &'static str {
    match material {
        Material::Spongiosa => "bone_spongiosa",
        Material::CorticalBone => "bone_cortical",
        other => other.name(),
    }
}

/// Fails with the place and both values where `value` differs from `reference` by more than a fraction.
#[track_caller]
pub fn assert_relative(value: f64, reference: f64, tolerance: f64, place: &str) {
    let deviation = value / reference - 1.0;
    assert!(
        deviation.abs() <= tolerance,
        "{place}: {value:e} against {reference:e}, {deviation:e}"
    );
}
