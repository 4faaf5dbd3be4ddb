//! The picture by which a recent case is known again.

use super::pictures::of_displayed;
use crate::kit::theme::is_doubtful;
use crate::state::State;
use crate::state::roi::target_middle_mm;
use analysis::Side;
use files::CasePicture;
use geometry::AnatomicalPlane;
use report::{Pictures, Subject};

/// Content of the picture: the axial plane through the plan's isocentre, else the target, else the crosshair, with the dose
/// on show where that is one of the case as it stands. `None` without a CT.
pub fn of_recent(state: &State) -> Option<Pictures> {
    state.case().ct.as_ref()?;
    let isocentre = state
        .plan()
        .and_then(|plan| plan.beams.first())
        .map(|beam| beam.isocentre_mm);
    let at_mm = isocentre
        .or_else(|| target_middle_mm(state.case()))
        .unwrap_or(state.crosshair_mm);
    let mut pictures = of_displayed(state);
    pictures.plane = AnatomicalPlane::Axial;
    pictures.crosshair_mm = at_mm;
    let sure = state
        .results
        .shown_status()
        .is_some_and(|status| !is_doubtful(status));
    pictures.doses = pictures.doses.map(|dose| dose.filter(|_| sure));
    Some(pictures)
}

pub fn drawn_recent(pictures: &Pictures) -> Option<CasePicture> {
    let image = pictures.draw(Subject::Dose(Side::A), CasePicture::SIZE.map(|n| n as u32));
    CasePicture::new(image.rgb)
}
