//! Fluence of every beamlet of a map at once: products of a profile along the leaves and one across them.
//!
//! Beamlets, jaws, focal spot and the sources' Gaussians are all rectangles or separate into u and v, so that what a point sees of a
//! beamlet is a column's profile times a row's: what [`Fluence::new`](super::Fluence::new) draws into a picture for a map of one
//! beamlet. `tests` hold both together.

use super::map::shares;
use super::opening::openings;
use super::{COARSE_MARGIN_MM, COARSE_MM, Fluence, FluenceError, Optics, PIXEL_MM, check};
use crate::aperture::{Edge, Raster, jaw_transmission};
use crate::focal::{MeanMap, blur};
use crate::normal::cumulative;
use crate::scatter::on_source;
use crate::{Exposure, Machine};
use case::{Beam, FluenceMap, MlcAxis};
use std::ops::Range;

/// Shares of a span below this are left out, and so are products of two below it: a dozen neighbours at most shine so far.
pub const LEAST_SHARE: f64 = 1e-5;

/// Distance at which a Gaussian has fallen to [`LEAST_SHARE`], standard deviations.
const LEAST_SIGMAS: f64 = 4.3;

/// Fluences of the beamlets of a map, each of value 1, relative as in [`Fluence`].
#[derive(Clone, Debug)]
pub struct BeamletFluence {
    pub(super) optics: Optics,
    along_y: bool,
    leaf_distance_mm: f64,
    /// Columns along u, then rows along v.
    pub(super) lines: [Line; 2],
    pub(super) scale: f64,
    electron_scale: f64,
}

/// The spans of all columns, or of all rows.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) sides_mm: Vec<[f64; 2]>,
    /// Jaws along the same axis, mm at the isocentre plane.
    pub(super) jaws_mm: [f64; 2],
    pub(super) jaw_distance_mm: f64,
    jaw_transmission: f64,
    /// How far beyond its sides a span shines, mm at the isocentre plane: the blur of the focal spot.
    pub(super) blur_mm: f64,
    pub(super) focal: Vec<MeanMap>,
    pub(super) electrons: Vec<MeanMap>,
}

/// Shares of neighbouring spans that a point sees; the others have none.
pub type Shares = Vec<(usize, f64)>;

impl Line {
    fn new(
        optics: &Optics,
        edges: [Edge; 2],
        axis: usize,
        sides_mm: Vec<[f64; 2]>,
        leaf_mm: f64,
    ) -> Self {
        let [leaf, jaw] = [leaf_mm, optics.jaw_distance_mm[axis]]
            .map(|mm| optics.edge_sigma(axis, mm, optics.sad_mm));
        let more = (jaw * jaw - leaf * leaf).max(0.0).sqrt();
        let margin = 6.0 * leaf.max(jaw) + 4.0 * PIXEL_MM;
        let raster = |margin_mm: f64, step_mm: f64| {
            let ends = [
                edges[0].middle_mm - margin_mm,
                edges[1].middle_mm + margin_mm,
            ];
            Raster::over(ends, [0.0, step_mm], step_mm)
        };
        let (fine, coarse) = (
            raster(margin, PIXEL_MM),
            raster(COARSE_MARGIN_MM, COARSE_MM),
        );
        // One span behind the jaws, blurred; the spans are drawn as the spans of a map are.
        let pictures = |jaws: &[f32], r: &Raster, sigma_mm: f64| -> Vec<MeanMap> {
            shares(&sides_mm, r, 0)
                .into_iter()
                .map(|pixels: Vec<(usize, f64)>| {
                    let mut image = vec![0.0_f32; r.size[0]];
                    pixels
                        .into_iter()
                        .for_each(|(n, part)| image[n] = part as f32 * jaws[n]);
                    MeanMap::new(*r, &blur(image, [sigma_mm, 0.0], r))
                })
                .collect()
        };
        let focal = pictures(
            &jaw_transmission(edges, more, optics.jaw_transmission, 0, &fine),
            &fine,
            leaf,
        );
        let open = jaw_transmission(edges, 0.0, 0.0, 0, &coarse);
        let electrons = optics
            .electrons
            .map_or_else(Vec::new, |e| pictures(&open, &coarse, e.sigma_mm));
        Self {
            jaws_mm: edges.map(|edge| edge.middle_mm),
            jaw_distance_mm: optics.jaw_distance_mm[axis],
            jaw_transmission: optics.jaw_transmission,
            blur_mm: LEAST_SIGMAS * leaf.max(jaw) + 2.0 * PIXEL_MM,
            focal,
            electrons,
            sides_mm,
        }
    }

    /// Spans that shine on a width round a place.
    fn near(&self, at_mm: f64, width_mm: f64) -> Range<usize> {
        let reach = self.blur_mm + 0.5 * width_mm;
        let first = self
            .sides_mm
            .partition_point(|side| side[1] < at_mm - reach);
        first
            ..self
                .sides_mm
                .partition_point(|side| side[0] <= at_mm + reach)
                .max(first)
    }

    fn focal_shares(&self, at_mm: f64, width_mm: f64, shares: &mut Shares) {
        shares.clear();
        for n in self.near(at_mm, width_mm) {
            let share = self.focal[n].mean([at_mm, 0.0], [width_mm, 0.0]);
            if share > LEAST_SHARE {
                shares.push((n, share));
            }
        }
    }
}

impl BeamletFluence {
    /// The beamlets of the map of a beam, whatever their values.
    ///
    /// # Errors
    /// [`FluenceError`] where the beam has no map, does not stand still, or does not fit the machine.
    pub fn new(
        machine: &Machine,
        beam: &Beam,
        map: &FluenceMap,
        exposure: &Exposure<'_>,
    ) -> Result<Self, FluenceError> {
        check(beam)?;
        let segment_openings = openings(&exposure.segments);
        let Some(opening) = segment_openings.first() else {
            return Err(FluenceError::Nothing {
                beam: beam.name.clone(),
            });
        };
        let Some(leaves) = &machine.leaves else {
            return Err(FluenceError::NoLeaves {
                beam: beam.name.clone(),
                machine: machine.name.clone(),
            });
        };
        let optics = Optics::new(machine);
        let [scale, electron_scale] = optics.scales(machine);
        let along_y = map.axis == MlcAxis::Y;
        let edges = if along_y {
            [opening.y, opening.x]
        } else {
            [opening.x, opening.y]
        };
        let axes = if along_y { [1, 0] } else { [0, 1] };
        let columns = (0..map.columns).map(|n| map.sides_mm(n)[0]).collect();
        let rows = map
            .rows_mm
            .windows(2)
            .map(|side| [side[0], side[1]])
            .collect();
        let line =
            |n: usize, sides| Line::new(&optics, edges[n], axes[n], sides, leaves.distance_mm);
        let lines = [line(0, columns), line(1, rows)];
        Ok(Self {
            along_y,
            leaf_distance_mm: leaves.distance_mm,
            lines,
            scale,
            electron_scale,
            optics,
        })
    }

    fn uv(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        if self.along_y { [y, x] } else { [x, y] }
    }

    /// Focal fluence of the open machine where the ray through `(x, y)` of the isocentre plane reaches `distance_mm`, and the shares
    /// of columns and rows in it over a square of `footprint_mm` there: a beamlet's fluence is the product of the three.
    pub fn focal_at(
        &self,
        at_mm: [f64; 2],
        distance_mm: f64,
        footprint_mm: f64,
        shares: &mut [Shares; 2],
    ) -> f64 {
        let widths = self.optics.widths_behind_leaves(
            self.along_y,
            self.leaf_distance_mm,
            distance_mm,
            footprint_mm,
        );
        let uv = self.uv(at_mm);
        let of_axes = self
            .lines
            .iter()
            .zip(shares)
            .zip(uv.into_iter().zip(widths));
        for ((line, shares), (position, width)) in of_axes.rev() {
            line.focal_shares(position, width, shares);
            if shares.is_empty() {
                return 0.0;
            }
        }
        self.open_focal() * self.optics.horn(at_mm)
    }

    /// Extra-focal fluence in the same way: the fluence of an unobstructed source, and what is seen of it through each column and row.
    pub fn extra_focal_at(
        &self,
        at_mm: [f64; 2],
        distance_mm: f64,
        shares: &mut [Vec<f64>; 2],
    ) -> f64 {
        let Some(source) = &self.optics.extra_focal else {
            shares.iter_mut().for_each(Vec::clear);
            return 0.0;
        };
        let uv = self.uv(at_mm);
        for (axis, (line, shares)) in self.lines.iter().zip(shares).enumerate() {
            let point = uv[axis] * distance_mm / self.optics.sad_mm;
            let on = |mm: f64, plane_mm: f64| {
                on_source(
                    source,
                    point,
                    distance_mm,
                    mm * plane_mm / self.optics.sad_mm,
                    plane_mm,
                ) / source.sigma_mm
            };
            let [low, high] = line.jaws_mm.map(|mm| on(mm, line.jaw_distance_mm));
            // Part of the source below a side of a span, and of that what the jaws leave open.
            let below = |side_mm: f64| {
                let jaw_mm = on(side_mm, self.leaf_distance_mm);
                let unclamped = cumulative(jaw_mm);
                let within = jaw_mm.clamp(low, high.max(low));
                [
                    unclamped,
                    if within == jaw_mm {
                        unclamped
                    } else {
                        cumulative(within)
                    },
                ]
            };
            shares.clear();
            let mut previous_edge: Option<(f64, [f64; 2])> = None;
            for side in &line.sides_mm {
                // Spans lie beside each other: the low side is the high one of the last.
                let first = previous_edge
                    .filter(|(mm, _)| *mm == side[0])
                    .map_or_else(|| below(side[0]), |(_, cumulated)| cumulated);
                let last = below(side[1]);
                let [full, within] = [0, 1].map(|n| (last[n] - first[n]).max(0.0));
                shares.push(line.jaw_transmission * full + (1.0 - line.jaw_transmission) * within);
                previous_edge = Some((side[1], last));
            }
        }
        self.scale * source.share * self.optics.nearer_source(source, distance_mm)
    }

    /// Electrons likewise: 1 on the axis of the reference field, times the shares; none where the machine has no electrons.
    pub fn electrons_at(&self, at_mm: [f64; 2], shares: &mut [Vec<f64>; 2]) -> f64 {
        let uv = self.uv(at_mm);
        for (axis, (line, shares)) in self.lines.iter().zip(shares).enumerate() {
            shares.clear();
            shares.extend(
                line.electrons
                    .iter()
                    .map(|map| map.mean([uv[axis], 0.0], [COARSE_MM, 0.0])),
            );
        }
        self.electron_scale
    }
}

impl Fluence {
    /// The part of the fluence that the extra-focal source gives alone, without electrons.
    #[must_use]
    pub fn extra_focal_alone(&self) -> Self {
        let mut alone = self.clone();
        if let Some(through) = &mut alone.through_leaves {
            let raster = *through.focal.raster();
            through.focal = MeanMap::new(raster, &vec![0.0; raster.len()]);
            through.electrons = None;
        }
        alone
    }
}

impl Optics {
    /// Factors that bring fluence and electrons of the reference field to 1 on its axis.
    pub(super) fn scales(&self, machine: &Machine) -> [f64; 2] {
        let reference = machine.reference_opening();
        let [focal, scattered] = self.open(&[reference], [0.0, 0.0], self.sad_mm, 0.0);
        let electrons = self
            .electrons(&[reference], [0.0, 0.0])
            .max(f64::MIN_POSITIVE);
        [1.0 / (focal + scattered), 1.0 / electrons]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposures;
    use case::Jaws;
    use glam::DVec3;
    use std::sync::Arc;

    fn fluence_of(machine: &Machine, beam: &Beam) -> Fluence {
        Fluence::new(machine, beam, &exposures(beam, 2.0)[0]).expect("fluence")
    }

    /// Products of profiles are the pictures of maps of single beamlets: focal, extra-focal and electrons.
    #[test]
    fn beamlets_of_profiles_are_those_of_pictures() {
        let machine = Arc::unwrap_or_clone(Machine::resolve("generic-6mv").expect("shipped"));
        for axis in [MlcAxis::X, MlcAxis::Y] {
            let jaws = Jaws {
                x: [-22.0, 31.0],
                y: [-25.0, 12.0],
            };
            let mut beam = Beam::fixed("b", 1, 0.0, DVec3::ZERO, jaws, 100.0);
            let rows_mm = vec![-25.0, -15.0, -5.0, 0.0, 10.0];
            let mut map = FluenceMap {
                axis,
                rows_mm,
                first_mm: -12.0,
                step_mm: 6.0,
                columns: 4,
                values: vec![0.0; 16],
            };
            map.values.fill(1.0);
            beam.fluence = Some(map.clone());
            let sums = fluence_of(&machine, &beam);
            let with_map = beam.clone();
            let exposure = &exposures(&with_map, 2.0)[0];
            let beamlets = BeamletFluence::new(&machine, &beam, &map, exposure).expect("beamlets");
            for beamlet in [0, 6, 11, 15] {
                map.values.fill(0.0);
                map.values[beamlet] = 1.0;
                beam.fluence = Some(map.clone());
                let one = fluence_of(&machine, &beam);
                let alone = one.extra_focal_alone();
                let points =
                    (0..36).map(|n| [(n % 6) as f64 * 14.0 - 35.7, (n / 6) as f64 * 14.0 - 36.2]);
                for point in points {
                    for distance_mm in [900.0, 1000.0, 1150.0] {
                        let [row, column] = [beamlet / 4, beamlet % 4];
                        let mut shares = [Shares::new(), Shares::new()];
                        let open = beamlets.focal_at(point, distance_mm, 2.5, &mut shares);
                        let got = open * share_of(&shares[0], column) * share_of(&shares[1], row);
                        let [want, scattered] =
                            one.sources_at(point[0], point[1], distance_mm, 2.5);
                        assert!(
                            (got - want).abs() < 2e-5,
                            "{axis:?} {beamlet} {point:?}: {got} for {want}"
                        );
                        assert_eq!(
                            alone.sources_at(point[0], point[1], distance_mm, 2.5),
                            [0.0, scattered]
                        );
                        let mut seen = [Vec::new(), Vec::new()];
                        let extra_focal = beamlets.extra_focal_at(point, distance_mm, &mut seen);
                        let got = extra_focal * seen[0][column] * seen[1][row];
                        // Pictures of the extra-focal source have pixels of 4 mm.
                        assert!(
                            (got - scattered).abs() < 4e-4,
                            "{axis:?} {beamlet} {point:?}: {got} for {scattered}"
                        );
                        let sum =
                            extra_focal * seen[0].iter().sum::<f64>() * seen[1].iter().sum::<f64>();
                        let want = sums.sources_at(point[0], point[1], distance_mm, 2.5)[1];
                        assert!(
                            (sum - want).abs() < 1e-3,
                            "{axis:?} {point:?}: {sum} for {want}"
                        );
                        let electrons = beamlets.electrons_at(point, &mut seen);
                        let (got, want) = (
                            electrons * seen[0][column] * seen[1][row],
                            one.electrons_at(point[0], point[1]),
                        );
                        assert!(
                            (got - want).abs() < 1e-4 * electrons,
                            "{axis:?} {beamlet} {point:?}: {got} for {want}"
                        );
                    }
                }
            }
        }
    }

    fn share_of(shares: &Shares, n: usize) -> f64 {
        shares
            .iter()
            .find(|(index, _)| *index == n)
            .map_or(0.0, |(_, share)| *share)
    }
}
