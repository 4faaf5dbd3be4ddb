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
    beam.control_points
        .iter()
        .map(|p| [p.gantry_deg, p.collimator_deg, p.couch_deg])
        .collect()
}

/// The fits of this window by their resulting aperture, so that undo and manual leaf edits need no book-keeping.
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
    /// The fit that produced the aperture of a beam, and what has moved since; `None` where it still fits, was not fitted in this
    /// window or was changed by hand.
    pub fn misfit(&self, beam: &Beam) -> Option<(&Fit, &'static str)> {
        let fits = self
            .fits
            .by_aperture
            .get(&aperture_key(beam))
            .filter(|_| beam.read_only.is_none())?;
        let fit = fits.last()?;
        let why = self.fit_change(fit, beam)?;
        // One fit that still holds is enough: different fits may result in equal apertures.
        let holds = fits.iter().any(|fit| self.fit_change(fit, beam).is_none());
        (!holds).then_some((fit, why))
    }

    /// Name of the part that has moved since a fit of a beam; `None` if none has, or if the structure has no contours.
    fn fit_change(&self, fit: &Fit, beam: &Beam) -> Option<&'static str> {
        let structure = self.case().structures.by_number(fit.structure)?;
        match fit {
            _ if structure.contours.is_empty() => None,
            fit if fit.contours != structure.contours.id() => Some("the structure has changed"),
            fit if fit.isocentre_mm != beam.isocentre_mm => Some("the isocentre has moved"),
            fit if fit.angles_deg != angles_deg(beam) => Some("its angles have changed"),
            _ => None,
        }
    }

    /// Structure and settings of the fit that no longer holds for a beam.
    pub(crate) fn lost_fit(&self, beam: &Beam) -> Option<(u32, FitSettings)> {
        self.misfit(beam).map(|(fit, _)| (fit.structure, fit.how))
    }

    /// Indices of the beams of the plan on show whose apertures no longer fit.
    pub fn misfits(&self) -> Vec<usize> {
        let beams = self
            .plan()
            .map(|plan| plan.beams.as_slice())
            .unwrap_or_default();
        (0..beams.len())
            .filter(|n| self.misfit(&beams[*n]).is_some())
            .collect()
    }
}
