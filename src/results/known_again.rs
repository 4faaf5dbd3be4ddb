//! Doses of beams that are known again in another run of the program: by the content of all that they are made from. Within a run
//! identities stand for content, and those of another run say nothing.

use super::beam::DoseOfBeam;
use case::{Ct, Structure};
use geometry::VolumeId;
use input::{content_digest, content_digest_of};
use physics::{Machine, MachineContents};
use std::fmt::Write as _;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

impl DoseOfBeam {
    /// The key of the dose, which another run of the same program gives to equal inputs alone; `None` where a file that it depends
    /// on cannot be read.
    pub fn key_of_content(&self) -> Option<String> {
        let inputs = &**self.inputs();
        let contents = Machine::contents(&inputs.machine);
        if contents == MachineContents::Unreadable {
            return None;
        }
        let mut text = String::new();
        let _ = writeln!(text, "{}\n{}", program()?, of_ct(self.densities().ct())?);
        let _ = writeln!(text, "{:?} {contents:?} {:?}", inputs.machine, inputs.position);
        let _ = writeln!(text, "{:?}\n{:?}", inputs.settings.computation(), inputs.beam);
        let _ = writeln!(text, "{:?}\n{}", inputs.patient.choice, inputs.patient.hu_table.to_toml());
        for structure in self.densities().counted_structures() {
            add_structure(&mut text, structure);
        }
        content_digest_of(&mut text.as_bytes()).ok()
    }
}

fn add_structure(text: &mut String, structure: &Structure) {
    let Structure { number, name, kind, density, contours, .. } = structure;
    let _ = writeln!(text, "{number} {name:?} {kind:?} {density:?}");
    contours.iter().for_each(|contour| {
        let _ = writeln!(text, "{:?}", contour.points_mm);
    });
}

/// Another build may compute otherwise.
fn program() -> Option<&'static str> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    let digest = || content_digest(&std::env::current_exe().ok()?).ok();
    PROGRAM.get_or_init(digest).as_deref()
}

fn of_ct(ct: &Ct) -> Option<String> {
    /// The one of the case on show.
    static LAST: Mutex<Option<(VolumeId, String)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, digest)) = last.as_ref().filter(|(id, _)| *id == ct.hu.id()) {
        return Some(digest.clone());
    }
    let values =
        content_digest_of(&mut io::Cursor::new(bytemuck::cast_slice::<f32, u8>(ct.hu.data()))).ok()?;
    let digest = format!("{values} {:?} {:?} {}", ct.hu.grid(), ct.position, ct.frame_of_reference_uid);
    *last = Some((ct.hu.id(), digest.clone()));
    Some(digest)
}
