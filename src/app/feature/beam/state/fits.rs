//! Apertures that were fitted, and whether they still fit: gantry, isocentre or target may have moved since.

use crate::state::State;
use analysis::FitSettings;
use case::{Beam, Structure};
use glam::DVec3;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The fit of an aperture.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// ROI number, and the identity of its contours.
    pub structure: u32,
    contours: u64,
    pub how: FitSettings,
    isocentre_mm: DVec3,
    /// Gantry, collimator and couch of each control point.
    angles_deg: Vec<[f64; 3]>,
}

impl Fit {
    fn new(beam: &Beam, structure: &Structure, how: &FitSettings) -> Self {
        Self {
            structure: structure.number,
            contours: structure.contours.id(),
            how: *how,
            isocentre_mm: beam.isocentre_mm,
            angles_deg: angles_deg(beam),
        }
    }
}

fn angles_deg(beam: &Beam) -> Vec<[f64; 3]> {
    beam.control_points.iter().map(|p| [p.gantry_deg, p.collimator_deg, p.couch_deg]).collect()
}

/// The fits of this window by the aperture that they made: undo, and a leaf moved by hand, need no book-keeping.
#[derive(Debug, Default)]
pub struct Fits {
    by_aperture: HashMap<u64, Vec<Fit>>,
    /// Steps that a refit joined.
    joined: u64,
}

impl Fits {
    /// Remembers what the aperture of a beam was fitted to.
    pub fn remember(&mut self, beam: &Beam, structure: &Structure, how: &FitSettings) {
        let fit = Fit::new(beam, structure, how);
        let fits = self.by_aperture.entry(aperture_key(beam)).or_default();
        if !fits.contains(&fit) {
            fits.push(fit);
        }
    }

    /// A gesture that no other step has, for one that a refit may join.
    pub fn own_gesture(&mut self) -> u64 {
        self.joined += 1;
        0x6669_7473 ^ self.joined.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Digest of the jaws and leaves at all control points.
fn aperture_key(beam: &Beam) -> u64 {
    let mut hasher = DefaultHasher::new();
    for point in &beam.control_points {
        let jaws = [point.jaws.x, point.jaws.y];
        let ends = jaws.iter().chain(&point.leaves_mm).flatten();
        ends.for_each(|mm| mm.to_bits().hash(&mut hasher));
    }
    hasher.finish()
}

impl State {
    /// The fit that the aperture of a beam was made by, and what moved since; `None` where it still fits, was not fitted in this
    /// window or was changed by hand.
    pub fn misfit(&self, beam: &Beam) -> Option<(&Fit, &'static str)> {
        let fits = self.fits.by_aperture.get(&aperture_key(beam)).filter(|_| beam.read_only.is_none())?;
        let set = &self.case().structures;
        let moved = |fit: &Fit| {
            let structure = set.by_number(fit.structure)?;
            let is_drawn = !structure.contours.is_empty();
            match fit {
                _ if !is_drawn => None,
                fit if fit.contours != structure.contours.id() => Some("the structure has changed"),
                fit if fit.isocentre_mm != beam.isocentre_mm => Some("the isocentre has moved"),
                fit if fit.angles_deg != angles_deg(beam) => Some("its angles have changed"),
                _ => None,
            }
        };
        // One fit that holds is enough: equal apertures may come of several.
        let (fit, why) = fits.iter().map(|fit| (fit, moved(fit))).next_back()?;
        let holds = fits.iter().any(|fit| moved(fit).is_none());
        why.filter(|_| !holds).map(|why| (fit, why))
    }

    /// Indices of the beams of the plan on show whose apertures no longer fit.
    pub fn misfits(&self) -> Vec<usize> {
        let beams = self.plan().map(|plan| plan.beams.as_slice()).unwrap_or_default();
        (0..beams.len()).filter(|n| self.misfit(&beams[*n]).is_some()).collect()
    }
}
