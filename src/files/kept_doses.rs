//! Computed doses beside the unsaved work that they belong to. Each is named by a key of all that it was made from, and is taken
//! only by that key and as whole as it was written.

use super::replace_file;
use case::{Dose, DoseStatus, Receipt};
use geometry::{Grid, Volume};
use glam::DVec3;
use input::{KEPT_DOSES_BYTES, content_digest_of, open};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ending of the folder beside a session, and of each dose in it.
pub(super) const FOLDER: &str = "doses";
const FILE: &str = "dose";

/// The doses of recovered work.
#[derive(Clone, Debug)]
pub struct KeptDoses {
    folder: PathBuf,
}

/// All of a dose but its values.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    key: String,
    status: String,
    label: String,
    frame_of_reference_uid: String,
    caveats: Vec<String>,
    receipt: Option<Receipt>,
    origin_mm: DVec3,
    row: DVec3,
    column: DVec3,
    spacing_xy_mm: [f64; 2],
    size_xy: [usize; 2],
    planes_mm: Vec<f64>,
}

impl Header {
    fn of(key: &str, dose: &Dose) -> Self {
        let grid = dose.gy.grid();
        let ([row, column, _], [nx, ny, _]) = (grid.axes(), grid.size());
        Self {
            key: key.to_owned(),
            status: dose.status.word().to_owned(),
            label: dose.label.clone(),
            frame_of_reference_uid: dose.frame_of_reference_uid.clone(),
            caveats: dose.caveats.clone(),
            receipt: dose.receipt.as_deref().cloned(),
            origin_mm: grid.origin_mm(),
            row,
            column,
            spacing_xy_mm: grid.spacing_xy_mm(),
            size_xy: [nx, ny],
            planes_mm: grid.planes_mm().to_vec(),
        }
    }

    fn grid(&self) -> Option<Grid> {
        let Self { origin_mm, row, column, spacing_xy_mm, size_xy, planes_mm, .. } = self;
        Grid::new(*origin_mm, *row, *column, *spacing_xy_mm, *size_xy, planes_mm).ok()
    }
}

impl KeptDoses {
    /// Doses beside a session file.
    pub fn beside(session: &Path) -> Self {
        Self { folder: session.with_extension(FOLDER) }
    }

    /// The dose of a key; `None` where there is none, or it is damaged.
    pub fn read(&self, key: &str) -> Option<Dose> {
        let (file, length) = open(&self.folder.join(key).with_extension(FILE)).ok()?;
        let mut bytes = Vec::new();
        file.take(length.min(KEPT_DOSES_BYTES)).read_to_end(&mut bytes).ok()?;
        let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
        let (digest, header, values) = (parts.next()?, parts.next()?, parts.next()?);
        if content_digest_of(&mut &bytes[digest.len() + 1..]).ok()?.as_bytes() != digest {
            return None;
        }
        let header: Header =
            serde_json::from_slice(header).ok().filter(|header: &Header| header.key == key)?;
        let grid = header.grid()?;
        let values: Vec<f32> =
            values.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        if values.len() != grid.len() {
            return None;
        }
        Some(Dose {
            gy: Arc::new(Volume::new(Arc::new(grid), values)),
            status: DoseStatus::from_word(&header.status)?,
            label: header.label,
            frame_of_reference_uid: header.frame_of_reference_uid,
            receipt: header.receipt.map(Arc::new),
            caveats: header.caveats,
        })
    }

    /// Writes a dose that is not there yet, in a folder of the user's own; whether it is there then. One whose grid a file does not
    /// give back to the bit is not kept.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(super) fn write(&self, key: &str, dose: &Dose) -> io::Result<bool> {
        let path = self.folder.join(key).with_extension(FILE);
        if path.is_file() {
            return Ok(true);
        }
        let header = Header::of(key, dose);
        if header.grid().as_ref() != Some(&**dose.gy.grid()) {
            return Ok(false);
        }
        let mut bytes = serde_json::to_vec(&header).map_err(io::Error::from)?;
        bytes.push(b'\n');
        bytes.extend(dose.gy.data().iter().flat_map(|gy| gy.to_le_bytes()));
        let digest = content_digest_of(&mut &bytes[..])?;
        match fs::create_dir(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        replace_file::<io::Error>(&path, |out| {
            writeln!(out, "{digest}")?;
            out.write_all(&bytes)
        })?;
        Ok(true)
    }

    /// Removes all doses but those of these keys.
    pub(super) fn keep_only(&self, is_kept: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let key = path.file_stem().filter(|_| path.extension().is_some_and(|e| e == FILE));
            if !key.and_then(|key| key.to_str()).is_some_and(&is_kept) {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Removes all of them.
    pub(super) fn remove(&self) {
        // Where that fails they go with the work that they lie beside.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Moves them beside another session.
    pub(super) fn move_beside(&self, session: &Path) {
        // Doses that do not move are computed again.
        let _ = fs::rename(&self.folder, session.with_extension(FOLDER));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dose_comes_back_whole_or_not_at_all() {
        let session = std::env::temp_dir().join(format!("beamsight-kept-{}.json", std::process::id()));
        let kept = KeptDoses::beside(&session);
        kept.remove();
        let planes = [0.1, 2.6, 5.300000000000001];
        let (row, column) = (DVec3::NEG_X, DVec3::NEG_Y);
        let grid = Grid::new(DVec3::new(0.1, -7.7, 1e-3), row, column, [2.5, 1.1], [3, 2], &planes).unwrap();
        let values: Vec<f32> = (0..18).map(|n| (n as f32).sqrt() / 7.0).collect();
        let receipt = Receipt {
            digest: "d".to_owned(),
            phases_ms: vec![("transport".to_owned(), 0.1 + 0.2)],
            ..Receipt::default()
        };
        let dose = Dose {
            gy: Arc::new(Volume::new(Arc::new(grid), values)),
            status: DoseStatus::Partial,
            label: "Beam 1\n".to_owned(),
            frame_of_reference_uid: "1.2".to_owned(),
            receipt: Some(Arc::new(receipt)),
            caveats: vec!["wedge not modelled".to_owned()],
        };
        assert!(kept.write("10-ab", &dose).unwrap() && kept.write("11-cd", &dose).unwrap());
        let back = kept.read("10-ab").unwrap();
        assert_eq!((back.gy.grid(), back.gy.data()), (dose.gy.grid(), dose.gy.data()));
        assert_eq!((back.status_text(), &back.label), (dose.status_text(), &dose.label));
        assert_eq!(
            (&back.receipt, &back.frame_of_reference_uid),
            (&dose.receipt, &dose.frame_of_reference_uid)
        );
        assert!(kept.read("12-ef").is_none());

        // A bit of the values, a byte less, another's name: none is taken.
        let path = kept.folder.join("10-ab.dose");
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() - 2] ^= 1;
        let zeroed = [&whole[..whole.len() - 8], &[0; 8]].concat();
        for damaged in [&flipped[..], &zeroed, &whole[..whole.len() - 1], &[]] {
            fs::write(&path, damaged).unwrap();
            assert!(kept.read("10-ab").is_none());
        }
        fs::write(&path, fs::read(kept.folder.join("11-cd.dose")).unwrap()).unwrap();
        assert!(kept.read("10-ab").is_none() && kept.read("11-cd").is_some());
        kept.keep_only(|key| key == "11-cd");
        assert!(!path.exists() && kept.read("11-cd").is_some());
        kept.remove();
        assert!(!kept.folder.exists());
    }
}
