//! Commands of the aperture tools and of the beam's-eye view.

use crate::feature::beam::state::Aperture;
use analysis::AperturePart;

/// One command of the user. Beams are indices in the displayed plan; jaws and leaves belong to the displayed control point.
#[derive(Debug)]
pub enum ApertureAction {
    /// Sets the tools.
    Set(Aperture),
    /// Displays a control point of a beam, by number; `plays` goes on to the next ones.
    Show {
        beam: u32,
        point: usize,
        plays: bool,
    },
    /// Fits jaws and leaves to the chosen structure: of a beam, or (`None`) of all.
    Fit(Option<usize>),
    /// Fits all apertures of the plan again that no longer fit, each to its own structure.
    Refit,
    /// Closes leaves over the chosen structure, as [`Self::Fit`].
    Shield(Option<usize>),
    /// Moves a jaw or leaf.
    Move {
        beam: usize,
        part: AperturePart,
        to_mm: f64,
        gesture: Option<u64>,
    },
    /// Bounds the fluence along a path in the isocentre plane, (x, y) in mm, with the brush in the hand.
    Limit {
        beam: usize,
        from_mm: [f64; 2],
        to_mm: [f64; 2],
    },
    /// Takes all bounds of a beam's fluence away.
    ClearLimits(usize),
    /// Sets the tips of a bank along a path in the isocentre plane, (x, y) in mm.
    Brush {
        beam: usize,
        bank: usize,
        from_mm: [f64; 2],
        to_mm: [f64; 2],
    },
}
