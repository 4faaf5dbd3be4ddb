//! Photon fluence through the aperture: the part of each source that a point sees.
//!
//! Sources and their shares: `physics.md` 8 and 9; two-source models: Ahnesjo, Med. Phys. 21, 225 (1994); Yang et al.,
//! Med. Phys. 29, 1900 (2002). Positions are in the beam limiting device frame, scaled to the isocentre plane.

use super::normal::{above_edge, cumulative};
use super::{Exposure, ExtraFocal, Machine, Segment};
use crate::case::Beam;
use thiserror::Error;

/// Why there is no fluence for a beam.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FluenceError {
    #[error(
        "beam '{beam}' has no monitor units to deliver: give it control points with ascending meterset weights"
    )]
    Nothing { beam: String },
    #[error("beam '{beam}', control point {point}: {what} is not a finite number; correct the plan")]
    NotFinite { beam: String, point: usize, what: &'static str },
}

/// Relative photon fluence of one exposure, averaged over its control points.
///
/// 1 on the axis at the isocentre for the open reference field (100 x 100 mm where the machine's calibration names none),
/// without inverse square: multiply by `(sad / distance from the source to the point)^2`.
#[derive(Clone, Debug)]
pub struct Fluence {
    /// Jaw settings and their weights.
    openings: Vec<Opening>,
    optics: Optics,
    /// Brings the reference field to 1.
    scale: f64,
}

/// A jaw setting, mm at the isocentre plane.
#[derive(Clone, Copy, Debug)]
struct Opening {
    x: [f64; 2],
    y: [f64; 2],
    weight: f64,
}

/// What of the machine the fluence depends on.
#[derive(Clone, Debug)]
struct Optics {
    sad_mm: f64,
    focal_sigma_mm: [f64; 2],
    jaw_distance_mm: [f64; 2],
    jaw_transmission: f64,
    extra_focal: Option<ExtraFocal>,
    off_axis: super::Curve,
}

impl Fluence {
    /// The fluence of an exposure of a beam.
    ///
    /// # Errors
    /// [`FluenceError`] where the exposure is empty or not finite.
    pub fn new(machine: &Machine, beam: &Beam, exposure: &Exposure<'_>) -> Result<Self, FluenceError> {
        for (i, p) in beam.control_points.iter().enumerate() {
            if p.jaws.x.iter().chain(&p.jaws.y).any(|v| !v.is_finite()) {
                return Err(FluenceError::NotFinite {
                    beam: beam.name.clone(),
                    point: i,
                    what: "a jaw position",
                });
            }
        }
        let openings = openings(&exposure.segments);
        if openings.is_empty() {
            return Err(FluenceError::Nothing { beam: beam.name.clone() });
        }
        let optics = Optics::new(machine);
        let reference = machine.reference_opening();
        let scale = 1.0 / optics.open(&[reference], 0.0, 0.0, optics.sad_mm, 0.0);
        Ok(Self { openings, optics, scale })
    }

    /// Fluence where the ray through `(x_iso, y_iso)` of the isocentre plane reaches `distance_mm` from the source along
    /// the axis, averaged over a square of `footprint_mm` there.
    pub fn at(&self, x_iso_mm: f64, y_iso_mm: f64, distance_mm: f64, footprint_mm: f64) -> f64 {
        self.scale * self.optics.open(&self.openings, x_iso_mm, y_iso_mm, distance_mm, footprint_mm)
    }
}

impl Machine {
    fn reference_opening(&self) -> Opening {
        let [x, y] = match self.calibration {
            super::Calibration::Reference { field_mm, .. } => field_mm,
            super::Calibration::PhotonFluence => [100.0, 100.0],
        };
        Opening { x: [-0.5 * x, 0.5 * x], y: [-0.5 * y, 0.5 * y], weight: 1.0 }
    }
}

/// Jaw settings of an exposure; equal ones fall together. Jaws that move count at the middle of each segment.
fn openings(segments: &[Segment<'_>]) -> Vec<Opening> {
    let mut out: Vec<Opening> = Vec::new();
    for s in segments {
        let t = 0.5 * (s.span[0] + s.span[1]);
        let between = |a: [f64; 2], b: [f64; 2]| [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
        let x = between(s.from.jaws.x, s.to.jaws.x);
        let y = between(s.from.jaws.y, s.to.jaws.y);
        match out.iter_mut().find(|o| o.x == x && o.y == y) {
            Some(o) => o.weight += s.weight,
            None => out.push(Opening { x, y, weight: s.weight }),
        }
    }
    out
}

impl Optics {
    fn new(machine: &Machine) -> Self {
        Self {
            sad_mm: machine.sad_mm,
            focal_sigma_mm: machine.focal_sigma_mm,
            jaw_distance_mm: [machine.jaws.x_distance_mm, machine.jaws.y_distance_mm],
            jaw_transmission: machine.jaws.transmission,
            extra_focal: machine.extra_focal,
            off_axis: machine.off_axis.clone(),
        }
    }

    /// Fluence of both sources through the jaws, in units of the unobstructed fluence on the axis.
    fn open(&self, openings: &[Opening], x: f64, y: f64, distance_mm: f64, footprint_mm: f64) -> f64 {
        let horn = self.off_axis.at(x.hypot(y));
        let share = self.extra_focal.map_or(0.0, |e| e.share);
        openings
            .iter()
            .map(|o| {
                let focal = horn * self.focal(o, x, y, distance_mm, footprint_mm);
                let scattered = self.extra_focal.map_or(0.0, |e| self.scattered(&e, o, x, y, distance_mm));
                o.weight * ((1.0 - share) * focal + share * scattered)
            })
            .sum()
    }

    /// Part of the focal spot seen through the jaws. Both the Gaussian spot and the rectangle separate into x and y.
    fn focal(&self, o: &Opening, x: f64, y: f64, distance_mm: f64, footprint_mm: f64) -> f64 {
        // The blur of an edge and the footprint, both scaled to the isocentre plane.
        let width = footprint_mm * self.sad_mm / distance_mm;
        let sigma = |axis: usize| {
            let magnification = self.sad_mm * (1.0 / self.jaw_distance_mm[axis] - 1.0 / distance_mm);
            self.focal_sigma_mm[axis] * magnification.max(0.0)
        };
        let through = |edges: [f64; 2], v: f64, sigma: f64| {
            let open =
                (above_edge(v, edges[0], sigma, width) - above_edge(v, edges[1], sigma, width)).max(0.0);
            self.jaw_transmission + (1.0 - self.jaw_transmission) * open
        };
        through(o.x, x, sigma(0)) * through(o.y, y, sigma(1))
    }

    /// Part of the extra-focal source seen through the jaws, times the ratio of its inverse square to the target's.
    fn scattered(&self, source: &ExtraFocal, o: &Opening, x: f64, y: f64, distance_mm: f64) -> f64 {
        let seen = |edges: [f64; 2], v: f64, jaw_mm: f64| {
            let on_source = |edge: f64| {
                let point = v * distance_mm / self.sad_mm;
                let at_jaw = edge * jaw_mm / self.sad_mm;
                point + (at_jaw - point) * (distance_mm - source.distance_mm) / (distance_mm - jaw_mm)
            };
            let open = (cumulative(on_source(edges[1]) / source.sigma_mm)
                - cumulative(on_source(edges[0]) / source.sigma_mm))
            .max(0.0);
            self.jaw_transmission + (1.0 - self.jaw_transmission) * open
        };
        let ratio = (self.sad_mm - source.distance_mm) / (distance_mm - source.distance_mm) * distance_mm
            / self.sad_mm;
        seen(o.x, x, self.jaw_distance_mm[0]) * seen(o.y, y, self.jaw_distance_mm[1]) * ratio * ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Jaws;
    use crate::physics::exposures;
    use glam::DVec3;

    fn fluence(machine: &str, jaws: Jaws) -> Fluence {
        let m = Machine::resolve(machine).expect("shipped");
        let b = Beam::fixed("b", 1, 0.0, DVec3::ZERO, jaws, 100.0);
        Fluence::new(&m, &b, &exposures(&b, 2.0)[0]).expect("a fluence")
    }

    #[test]
    fn the_point_machine_is_uniform_inside_the_jaws_and_nothing_outside() {
        let f = fluence("point-6mv", Jaws { x: [-30.0, 50.0], y: [-50.0, 20.0] });
        for (x, y, want) in
            [(0.0, 0.0, 1.0), (-29.9, 19.9, 1.0), (49.9, -49.9, 1.0), (-30.1, 0.0, 0.0), (0.0, 20.1, 0.0)]
        {
            assert_eq!(f.at(x, y, 1000.0, 0.0), want, "{x} {y}");
        }
        // A footprint of 4 mm at 800 mm is 5 mm at the isocentre plane: 1 mm inside the edge, 3.5 of 5 mm are open.
        assert!((f.at(49.0, 0.0, 800.0, 4.0) - 0.7).abs() < 1e-12);
    }

    #[test]
    fn the_reference_field_is_1_on_the_axis() {
        for machine in Machine::shipped() {
            let f = fluence(&machine, Jaws::symmetric(100.0, 100.0));
            assert!((f.at(0.0, 0.0, 1000.0, 2.0) - 1.0).abs() < 1e-9, "{machine}");
        }
    }

    /// design/physics.md 8: S_c(40) / S_c(10) is 1.04 to 1.05 at 6 MV; larger fields see more of the head.
    #[test]
    fn output_factors_in_air_rise_with_the_field() {
        let sc = |side: f64| fluence("generic-6mv", Jaws::symmetric(side, side)).at(0.0, 0.0, 1000.0, 1.0);
        let sides = [20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 400.0];
        let factors: Vec<f64> = sides.iter().map(|&s| sc(s)).collect();
        assert!(factors.windows(2).all(|w| w[0] < w[1]), "{factors:?}");
        let ratio = factors[8] / factors[4];
        assert!((1.04..=1.05).contains(&ratio), "S_c(40)/S_c(10) = {ratio}");
        // The upper jaws matter more: a field long in x (lower jaws open) shows less of the source than one long in y.
        let long = |x: f64, y: f64| fluence("generic-6mv", Jaws::symmetric(x, y)).at(0.0, 0.0, 1000.0, 1.0);
        assert!(long(50.0, 300.0) > long(300.0, 50.0), "collimator exchange");
    }
}
