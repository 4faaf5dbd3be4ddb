//! Photon fluence through the aperture: the part of each source that a point sees.
//!
//! Two-source models: Ahnesjo, Med. Phys. 21, 225 (1994); Yang et al., Med. Phys. 29, 1900 (2002); numbers:
//! `assets/PHYSICS.md`. Positions are in the beam limiting device frame, scaled to the isocentre plane.

mod beamlets;
mod map;
mod opening;
mod tables;

pub use beamlets::{BeamletFluence, LEAST_SHARE, Shares};
pub use tables::{FluenceTables, Picture, SpanTables, WideTables};

use super::aperture::{Edge, Motion, Raster, leaf_transmission};
use super::focal::{MeanMap, blur, shade};
use super::normal::mean_cumulative;
use super::scatter::{Head, ScatterMap, Shutter, on_source};
use super::{Calibration, Curve, Electrons, Exposure, ExtraFocal, Leaves, Machine, Segment};
use case::{
    Beam, FluenceMap, FluenceMapError, LeafBoundaryError, Mlc, MlcAxis, check_leaf_boundaries,
};
use map::map_picture;
use opening::{Opening, jaws_of, motion_of, openings, parts, raster_over};
use thiserror::Error;

/// Why there is no fluence for a beam.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FluenceError {
    #[error(
        "beam '{beam}' has no monitor units to deliver: give it control points with ascending meterset weights"
    )]
    Nothing { beam: String },
    #[error(
        "beam '{beam}', control point {point}: {what} is not a finite number; correct the plan"
    )]
    NotFinite {
        beam: String,
        point: usize,
        what: &'static str,
    },
    #[error(
        "beam '{beam}' has leaves or a fluence map but the machine '{machine}' has none: choose a machine with an MLC"
    )]
    NoLeaves { beam: String, machine: String },
    #[error(
        "beam '{beam}', control point {point} has {found} leaf pairs where its leaf sides ask for {want}"
    )]
    LeafCount {
        beam: String,
        point: usize,
        found: usize,
        want: usize,
    },
    #[error("beam '{beam}': {why}")]
    Map { beam: String, why: FluenceMapError },
    #[error("beam '{beam}': {why}")]
    LeafBoundaries {
        beam: String,
        why: LeafBoundaryError,
    },
    #[error(
        "beam '{beam}': leaf pair {pair} is {width_mm} mm wide, narrower than the joint between leaves of the machine \
         '{machine}' ({joint_mm:.2} mm at the isocentre plane); correct the sides of the leaves, or the machine's tongue_mm"
    )]
    Joints {
        beam: String,
        machine: String,
        pair: usize,
        width_mm: f64,
        joint_mm: f64,
    },
}

/// Relative photon fluence of one exposure, averaged over its control points.
///
/// 1 on the axis at the isocentre for the open reference field (100 x 100 mm where the machine's calibration names none),
/// without inverse square: multiply by `(sad / distance from the source to the point)^2`.
///
/// Jaws and leaves that move are averaged over their travel. Through jaws alone it is a closed form; leaves are drawn once
/// into a picture of half-millimetre pixels.
#[derive(Clone, Debug)]
pub struct Fluence {
    /// Jaw settings and their weights.
    openings: Vec<Opening>,
    optics: Optics,
    through_leaves: Option<ThroughLeaves>,
    /// Brings the reference field to 1.
    scale: f64,
    electron_scale: f64,
}

/// Pixels of the picture of the leaves, mm at the isocentre plane.
const PIXEL_MM: f64 = 0.5;

/// Pixels of the coarse pictures for the extra-focal source and for the points it is seen from, mm.
const COARSE_MM: f64 = 4.0;
const POINTS_MM: f64 = 10.0;

/// How far beyond the jaws' shadow the extra-focal source still shines, mm at the isocentre plane.
const COARSE_MARGIN_MM: f64 = 60.0;

/// No jaw opens wider than this from the axis, mm at the isocentre plane.
const WIDEST_MM: f64 = 400.0;

/// The machine's properties that fluence depends on.
#[derive(Clone, Debug)]
struct Optics {
    sad_mm: f64,
    focal_sigma_mm: [f64; 2],
    jaw_distance_mm: [f64; 2],
    jaw_transmission: f64,
    extra_focal: Option<ExtraFocal>,
    electrons: Option<Electrons>,
    /// Off-axis factor at whole mm from the axis.
    horn: Vec<f64>,
}

/// The aperture of jaws and leaves as pictures, axes along (u) and across (v) the leaves.
#[derive(Clone, Debug)]
struct ThroughLeaves {
    /// Leaves travel along y: u is y.
    along_y: bool,
    leaf_distance_mm: f64,
    /// Blurred as at the isocentre.
    focal: MeanMap,
    scattered: Option<ScatterMap>,
    electrons: Option<MeanMap>,
}

/// The device that shapes the field within the jaws.
#[derive(Clone, Copy)]
enum Shape<'a> {
    Leaves(&'a Mlc),
    /// Ideal leaves, as far from the target as the machine's leaves: nothing passes where the map is 0.
    Map(&'a FluenceMap),
}

impl<'a> Shape<'a> {
    /// A map stands in place of the leaves, where a beam has both.
    fn new(beam: &'a Beam) -> Option<Self> {
        let map = beam.fluence.as_ref().map(Self::Map);
        map.or_else(|| beam.mlc.as_ref().map(Self::Leaves))
    }

    fn axis(self) -> MlcAxis {
        match self {
            Self::Leaves(mlc) => mlc.axis,
            Self::Map(map) => map.axis,
        }
    }

    /// Transmission, averaged over the motion of the leaves.
    fn picture(self, leaves: &Leaves, sad_mm: f64, motions: &[Motion], r: &Raster) -> Vec<f32> {
        match self {
            Self::Leaves(mlc) => leaf_transmission(leaves, &mlc.boundaries_mm, sad_mm, motions, r),
            Self::Map(map) => map_picture(map, r),
        }
    }
}

impl Fluence {
    /// How far from the axis the widest jaw opening reaches, mm at the isocentre plane.
    pub fn widest_mm(&self) -> f64 {
        let ends = self
            .openings
            .iter()
            .flat_map(Opening::edges)
            .flat_map(Edge::ends);
        ends.map(f64::abs).fold(0.0, f64::max)
    }

    /// The fluence of an exposure of a beam.
    ///
    /// # Errors
    /// [`FluenceError`] where the exposure is empty, not finite, or its leaves do not fit.
    pub fn new(
        machine: &Machine,
        beam: &Beam,
        exposure: &Exposure<'_>,
    ) -> Result<Self, FluenceError> {
        check(beam)?;
        let segments = parts(&exposure.segments, beam.mlc.is_some());
        let openings = openings(&segments);
        if openings.is_empty() {
            return Err(FluenceError::Nothing {
                beam: beam.name.clone(),
            });
        }
        let optics = Optics::new(machine);
        let [scale, electron_scale] = optics.scales(machine);
        let through_leaves = match Shape::new(beam) {
            None => None,
            Some(shape) => {
                let Some(leaves) = &machine.leaves else {
                    return Err(FluenceError::NoLeaves {
                        beam: beam.name.clone(),
                        machine: machine.name.clone(),
                    });
                };
                if let Shape::Leaves(mlc) = shape {
                    check_joints(beam, mlc, machine, leaves)?;
                }
                Some(optics.through_leaves(shape, leaves, &segments, &openings))
            }
        };
        Ok(Self {
            openings,
            optics,
            through_leaves,
            scale,
            electron_scale,
        })
    }

    /// Fluence where the ray through `(x_iso, y_iso)` of the isocentre plane reaches `distance_mm` from the source along
    /// the axis, averaged over a square of `footprint_mm` there.
    pub fn at(&self, x_iso_mm: f64, y_iso_mm: f64, distance_mm: f64, footprint_mm: f64) -> f64 {
        let [focal, scattered] = self.sources_at(x_iso_mm, y_iso_mm, distance_mm, footprint_mm);
        focal + scattered
    }

    /// As [`Self::at`], of the focal and of the extra-focal source.
    pub fn sources_at(
        &self,
        x_iso_mm: f64,
        y_iso_mm: f64,
        distance_mm: f64,
        footprint_mm: f64,
    ) -> [f64; 2] {
        let iso_mm = [x_iso_mm, y_iso_mm];
        let parts = match &self.through_leaves {
            None => self
                .optics
                .open(&self.openings, iso_mm, distance_mm, footprint_mm),
            Some(t) => self
                .optics
                .behind_leaves(t, iso_mm, distance_mm, footprint_mm),
        };
        parts.map(|part| self.scale * part)
    }

    /// Photons per cm2 on the axis at the isocentre of a source without anything in its way, for the 1 of the open reference field.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Electrons that come with the photons at a point of the isocentre plane, 1 on the axis of the reference field.
    pub fn electrons_at(&self, x_iso_mm: f64, y_iso_mm: f64) -> f64 {
        let iso_mm = [x_iso_mm, y_iso_mm];
        let through = match &self.through_leaves {
            None => self.optics.electrons(&self.openings, iso_mm),
            Some(t) => t
                .electrons
                .as_ref()
                .map_or(0.0, |map| map.mean(t.uv(iso_mm), [COARSE_MM; 2])),
        };
        self.electron_scale * through
    }
}

impl Machine {
    fn reference_opening(&self) -> Opening {
        let [x, y] = match self.calibration {
            Calibration::Reference { field_mm, .. } => field_mm,
            Calibration::PhotonFluence {} => [100.0, 100.0],
        };
        Opening::still([-0.5 * x, 0.5 * x], [-0.5 * y, 0.5 * y])
    }
}

fn check(beam: &Beam) -> Result<(), FluenceError> {
    let name = || beam.name.clone();
    let sides = beam.mlc.as_ref().map(|mlc| &mlc.boundaries_mm);
    if let Some(why) = beam.fluence.as_ref().and_then(|map| map.check().err()) {
        return Err(FluenceError::Map { beam: name(), why });
    }
    if let Some(sides) = sides {
        check_leaf_boundaries(sides)
            .map_err(|why| FluenceError::LeafBoundaries { beam: name(), why })?;
    }
    for (point, p) in beam.control_points.iter().enumerate() {
        let fault = |what| FluenceError::NotFinite {
            beam: name(),
            point,
            what,
        };
        if p.jaws.x.iter().chain(&p.jaws.y).any(|v| !v.is_finite()) {
            return Err(fault("a jaw position"));
        }
        let Some(sides) = sides else { continue };
        let (pairs, want) = (p.leaves_mm.len(), sides.len() - 1);
        if pairs != want {
            return Err(FluenceError::LeafCount {
                beam: name(),
                point,
                found: pairs,
                want,
            });
        }
        if p.leaves_mm.iter().flatten().any(|v| !v.is_finite()) {
            return Err(fault("a leaf position"));
        }
    }
    Ok(())
}

/// Joints that overlapped would count a leaf twice.
fn check_joints(
    beam: &Beam,
    mlc: &Mlc,
    machine: &Machine,
    leaves: &Leaves,
) -> Result<(), FluenceError> {
    let joint_mm = leaves.tongue_mm * machine.sad_mm / leaves.distance_mm;
    let widths = mlc.boundaries_mm.windows(2).map(|w| w[1] - w[0]);
    match widths
        .enumerate()
        .find(|(_, width_mm)| *width_mm < joint_mm)
    {
        None => Ok(()),
        Some((row, width_mm)) => Err(FluenceError::Joints {
            beam: beam.name.clone(),
            machine: machine.name.clone(),
            pair: row + 1,
            width_mm,
            joint_mm,
        }),
    }
}

impl Optics {
    fn new(machine: &Machine) -> Self {
        Self {
            sad_mm: machine.sad_mm,
            focal_sigma_mm: machine.focal_sigma_mm,
            jaw_distance_mm: [machine.jaws.x_distance_mm, machine.jaws.y_distance_mm],
            jaw_transmission: machine.jaws.transmission,
            extra_focal: machine.extra_focal,
            electrons: machine.electrons,
            horn: horn_table(&machine.off_axis),
        }
    }

    fn horn(&self, iso_mm: [f64; 2]) -> f64 {
        // Not hypot, which is five times as slow: nothing here overflows.
        let r = (iso_mm[0] * iso_mm[0] + iso_mm[1] * iso_mm[1]).sqrt();
        let i = (r as usize).min(self.horn.len() - 2);
        self.horn[i] + (self.horn[i + 1] - self.horn[i]) * (r - i as f64).min(1.0)
    }

    /// Blur of an edge at `edge_mm` from the target for a point at `distance_mm`, scaled to the isocentre plane: a
    /// source point off by s moves the edge's shadow by `s (distance / edge - 1)` at the point's own distance.
    fn edge_sigma(&self, axis: usize, edge_mm: f64, distance_mm: f64) -> f64 {
        self.focal_sigma_mm[axis] * (self.sad_mm * (1.0 / edge_mm - 1.0 / distance_mm)).max(0.0)
    }

    /// The extra-focal source's inverse square relative to the target's.
    fn nearer_source(&self, source: &ExtraFocal, distance_mm: f64) -> f64 {
        let ratio = (self.sad_mm - source.distance_mm) / (distance_mm - source.distance_mm)
            * distance_mm
            / self.sad_mm;
        ratio * ratio
    }

    fn mixed(
        &self,
        iso_mm: [f64; 2],
        distance_mm: f64,
        focal: f64,
        scattered: impl Fn(&ExtraFocal) -> f64,
    ) -> [f64; 2] {
        let primary = self.horn(iso_mm) * focal;
        match &self.extra_focal {
            None => [primary, 0.0],
            Some(e) => [
                (1.0 - e.share) * primary,
                e.share * scattered(e) * self.nearer_source(e, distance_mm),
            ],
        }
    }

    /// Fluence of either source through the jaws, in units of the unobstructed fluence on the axis.
    fn open(
        &self,
        openings: &[Opening],
        iso_mm: [f64; 2],
        distance_mm: f64,
        footprint_mm: f64,
    ) -> [f64; 2] {
        let mut sum = [0.0; 2];
        for o in openings {
            let focal = self.focal(o, iso_mm, distance_mm, footprint_mm);
            let parts = self.mixed(iso_mm, distance_mm, focal, |e| {
                self.scattered(e, o, iso_mm, distance_mm)
            });
            (0..2).for_each(|source| sum[source] += o.weight * parts[source]);
        }
        sum
    }

    /// Part of the focal spot seen through the jaws. Both the Gaussian spot and the rectangle separate into x and y.
    fn focal(&self, o: &Opening, iso_mm: [f64; 2], distance_mm: f64, footprint_mm: f64) -> f64 {
        let width = footprint_mm * self.sad_mm / distance_mm;
        let through = |edges: [Edge; 2], axis: usize| {
            let sigma = self.edge_sigma(axis, self.jaw_distance_mm[axis], distance_mm);
            let above = |edge: Edge| edge.open_above(iso_mm[axis], sigma, width);
            self.jaw_transmission
                + (1.0 - self.jaw_transmission) * (above(edges[0]) - above(edges[1])).max(0.0)
        };
        through(o.x, 0) * through(o.y, 1)
    }

    /// Part of the extra-focal source seen through the jaws.
    fn scattered(
        &self,
        source: &ExtraFocal,
        o: &Opening,
        iso_mm: [f64; 2],
        distance_mm: f64,
    ) -> f64 {
        let seen = |edges: [Edge; 2], axis: usize| {
            let jaw = self.jaw_distance_mm[axis];
            let point = iso_mm[axis] * distance_mm / self.sad_mm;
            let below = |edge: Edge| {
                let limit = on_source(
                    source,
                    point,
                    distance_mm,
                    edge.middle_mm * jaw / self.sad_mm,
                    jaw,
                );
                let travel = edge.travel_mm * jaw / self.sad_mm
                    * (distance_mm - source.distance_mm)
                    / (distance_mm - jaw);
                mean_cumulative(limit / source.sigma_mm, travel.abs() / source.sigma_mm)
            };
            self.jaw_transmission
                + (1.0 - self.jaw_transmission) * (below(edges[1]) - below(edges[0])).max(0.0)
        };
        seen(o.x, 0) * seen(o.y, 1)
    }

    /// Electrons from the whole opening, spread about each of its points.
    fn electrons(&self, openings: &[Opening], iso_mm: [f64; 2]) -> f64 {
        let Some(e) = &self.electrons else { return 0.0 };
        openings
            .iter()
            .map(|o| {
                o.weight * electron_spread(o.x, iso_mm[0], e) * electron_spread(o.y, iso_mm[1], e)
            })
            .sum()
    }

    fn behind_leaves(
        &self,
        t: &ThroughLeaves,
        iso_mm: [f64; 2],
        distance_mm: f64,
        footprint_mm: f64,
    ) -> [f64; 2] {
        let widths =
            self.widths_behind_leaves(t.along_y, t.leaf_distance_mm, distance_mm, footprint_mm);
        let focal = t.focal.mean(t.uv(iso_mm), widths);
        self.mixed(iso_mm, distance_mm, focal, |_| {
            t.scattered
                .as_ref()
                .map_or(0.0, |s| s.at(t.uv(iso_mm), distance_mm))
        })
    }

    /// Widths along u and v over which a picture that is blurred as at the isocentre is averaged elsewhere. There the edge is
    /// sharper or softer: a box of width w adds w^2 / 12 to the variance of an edge, so the footprint takes up the difference.
    fn widths_behind_leaves(
        &self,
        along_y: bool,
        leaf_distance_mm: f64,
        distance_mm: f64,
        footprint_mm: f64,
    ) -> [f64; 2] {
        [0, 1].map(|a| {
            let axis = if along_y { 1 - a } else { a };
            let sigma_here = self.edge_sigma(axis, leaf_distance_mm, distance_mm);
            let drawn = self.edge_sigma(axis, leaf_distance_mm, self.sad_mm);
            let width = footprint_mm * self.sad_mm / distance_mm;
            (width * width + 12.0 * (sigma_here * sigma_here - drawn * drawn))
                .max(0.0)
                .sqrt()
        })
    }

    fn through_leaves(
        &self,
        shape: Shape<'_>,
        leaves: &Leaves,
        segments: &[Segment<'_>],
        openings: &[Opening],
    ) -> ThroughLeaves {
        let along_y = shape.axis() == MlcAxis::Y;
        let order = |xy: [f64; 2]| if along_y { [xy[1], xy[0]] } else { xy };
        let jaw_distance_mm = order(self.jaw_distance_mm);
        let sigma = |edge_mm: [f64; 2]| {
            order([0, 1].map(|a| self.edge_sigma(a, order(edge_mm)[a], self.sad_mm)))
        };
        let leaf_sigma = sigma([leaves.distance_mm; 2]);
        let jaw_sigma = sigma(jaw_distance_mm);
        // Leaves and jaws are blurred together as leaves are; what more the jaws need comes before.
        let more = [0, 1].map(|a| {
            (jaw_sigma[a].powi(2) - leaf_sigma[a].powi(2))
                .max(0.0)
                .sqrt()
        });
        let margin = 6.0 * jaw_sigma[0].max(jaw_sigma[1]) + 4.0 * PIXEL_MM;
        let fine = raster_over(openings, along_y, margin, PIXEL_MM);
        let coarse = raster_over(openings, along_y, COARSE_MARGIN_MM, COARSE_MM);
        let mut focal = vec![0.0_f32; fine.len()];
        let mut shaded = vec![
            0.0_f32;
            if self.electrons.is_some() {
                coarse.len()
            } else {
                0
            }
        ];
        let head = Head {
            sad_mm: self.sad_mm,
            jaw_distance_mm,
            jaw_transmission: self.jaw_transmission,
            leaf_distance_mm: leaves.distance_mm,
        };
        let points = raster_over(openings, along_y, COARSE_MARGIN_MM, POINTS_MM);
        let mut scattered = self
            .extra_focal
            .as_ref()
            .map(|source| ScatterMap::dark(source, &head, points));
        for o in openings {
            let motions: Vec<Motion> = segments
                .iter()
                .filter(|s| jaws_of(s) == (o.x, o.y))
                .map(|s| Motion {
                    weight: s.weight / o.weight,
                    ..motion_of(s, leaves)
                })
                .collect();
            let edges = if along_y { [o.y, o.x] } else { [o.x, o.y] };
            let picture = |r: &Raster| shape.picture(leaves, self.sad_mm, &motions, r);
            let mut image = picture(&fine);
            shade(&mut image, edges, more, self.jaw_transmission, &fine);
            add(&mut focal, &image, o.weight);
            let image = picture(&coarse);
            if !shaded.is_empty() {
                let mut within = image.clone();
                shade(&mut within, edges, [0.0; 2], 0.0, &coarse);
                add(&mut shaded, &within, o.weight);
            }
            if let Some(map) = &mut scattered {
                // Jaws that move stand at a row of places: the source is wide.
                let stops: Vec<_> = o.stops(along_y, COARSE_MM).collect();
                let weight = o.weight / stops.len() as f64;
                stops.into_iter().for_each(|edges| {
                    map.add(&Shutter {
                        edges,
                        weight,
                        leaves: &image,
                        raster: &coarse,
                    });
                });
            }
        }
        let electrons = self
            .electrons
            .map(|e| MeanMap::new(coarse, &blur(shaded, [e.sigma_mm; 2], &coarse)));
        let focal = MeanMap::new(fine, &blur(focal, leaf_sigma, &fine));
        ThroughLeaves {
            along_y,
            leaf_distance_mm: leaves.distance_mm,
            focal,
            scattered,
            electrons,
        }
    }
}

fn electron_spread(edges: [Edge; 2], x: f64, e: &Electrons) -> f64 {
    let below = |edge: Edge| {
        mean_cumulative(
            (edge.middle_mm - x) / e.sigma_mm,
            edge.travel_mm.abs() / e.sigma_mm,
        )
    };
    (below(edges[1]) - below(edges[0])).max(0.0)
}

impl ThroughLeaves {
    fn uv(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        if self.along_y { [y, x] } else { [x, y] }
    }
}

fn add(sum: &mut [f32], image: &[f32], weight: f64) {
    sum.iter_mut()
        .zip(image)
        .for_each(|(s, v)| *s += weight as f32 * v);
}

fn horn_table(off_axis: &Curve) -> Vec<f64> {
    (0..=WIDEST_MM as usize * 2)
        .map(|r| off_axis.at(r as f64))
        .collect()
}

#[cfg(test)]
mod tests;
