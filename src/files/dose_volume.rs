//! A dose as a `.mha` volume in Gy with its status, so that a partial dose or a preview is still one when it
//! is read again.

use super::mha::{self, MhaError};
use crate::case::{Dose, DoseStatus};
use crate::geometry::Volume;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Begin of the comment in a volume written here; the status of the dose follows.
const MARK: &str = "Beamsight: ";
/// End of the status: no status and no caveat contains it.
const END: &str = " | ";

/// Why a volume is no dose.
#[derive(Debug, Error)]
pub enum DoseVolumeError {
    #[error(transparent)]
    Mha(#[from] MhaError),
    #[error("'{path}' has values down to {lowest}: this is no dose in Gy; is it a CT?")]
    NoDose { path: PathBuf, lowest: f32 },
}

/// Writes a volume that belongs to a dose (`what`: the dose itself, its standard deviation) with the dose's
/// status.
///
/// # Errors
/// [`MhaError`].
pub fn write_dose_volume(path: &Path, what: &str, volume: &Volume<f32>, dose: &Dose) -> Result<(), MhaError> {
    let comment =
        format!("{MARK}{}{END}{what} in Gy of '{}', not for clinical use", dose.status_text(), dose.label);
    mha::write_with_comment(path, volume, &comment)
}

/// Reads a dose in Gy: imported, or of its own status where that is worse.
///
/// # Errors
/// [`DoseVolumeError`].
pub fn read_dose_volume(path: &Path) -> Result<Dose, DoseVolumeError> {
    let (gy, comment) = mha::read_with_comment(path)?;
    let lowest = gy.data().iter().copied().fold(f32::INFINITY, f32::min);
    if lowest < -100.0 {
        return Err(DoseVolumeError::NoDose { path: path.to_owned(), lowest });
    }
    let (own, caveats) = worth_of(&comment);
    Ok(Dose {
        gy: Arc::new(gy),
        status: DoseStatus::Imported.worst(own),
        label: path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats,
    })
}

/// The dose status in a comment; final for another program's volume.
fn worth_of(comment: &str) -> (DoseStatus, Vec<String>) {
    let Some(rest) = comment.strip_prefix(MARK) else { return (DoseStatus::Final, Vec::new()) };
    let status_text = rest.split(END).next().unwrap_or(rest);
    let (word, caveats) = status_text.split_once(": ").unwrap_or((status_text, ""));
    let caveats = caveats.split(", ").filter(|c| !c.is_empty()).map(str::to_owned).collect();
    // A status of a later version is unknown, so the dose is not to be trusted.
    (DoseStatus::from_word(word).unwrap_or(DoseStatus::Failed), caveats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;
    use glam::DVec3;

    #[test]
    fn a_dose_read_again_is_worth_no_more_than_it_was() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [3, 3, 3]).expect("a grid");
        let gy = Arc::new(Volume::new(Arc::new(grid), vec![1.0; 27]));
        let path = std::env::temp_dir().join(format!("beamsight-dose-volume-{}.mha", std::process::id()));
        let read_back = |status, caveats: &[&str]| {
            let dose = Dose {
                gy: Arc::clone(&gy),
                status,
                label: "Plan 'a | b'".to_owned(),
                frame_of_reference_uid: String::new(),
                receipt: None,
                caveats: caveats.iter().map(|c| (*c).to_owned()).collect(),
            };
            write_dose_volume(&path, "dose", &dose.gy, &dose).expect("written");
            read_dose_volume(&path).expect("read").status_text()
        };
        assert_eq!(read_back(DoseStatus::Final, &[]), "imported");
        assert_eq!(read_back(DoseStatus::Final, &["bolus"]), "imported: bolus");
        assert_eq!(read_back(DoseStatus::Coarse, &[]), "coarse");
        assert_eq!(
            read_back(DoseStatus::Partial, &["2 of 3 beams", "table pitch 3 degrees"]),
            "partial: 2 of 3 beams, table pitch 3 degrees"
        );
        assert_eq!(read_back(DoseStatus::Preview, &[&"long ".repeat(60)]).split(':').next(), Some("preview"));
        mha::write(&path, &gy).expect("written");
        assert_eq!(read_dose_volume(&path).expect("read").status_text(), "imported");
        std::fs::remove_file(&path).expect("removed");
    }
}
