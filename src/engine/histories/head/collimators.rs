//! Transmission of jaws, leaves and fluence maps for a single ray.

use super::source::HeadSource;
use super::tables::{BeamPosition, Head, Segment};
use physics::Leaves;

/// A photon on its way from a point of the head through a place of the isocentre plane.
#[derive(Clone, Copy, Debug)]
pub struct HeadRay<'a> {
    pub position: &'a BeamPosition,
    pub head: &'a Head,
    /// Number of its machine.
    pub machine: usize,
    /// Across the axis, and below the target, mm.
    pub from_mm: [f32; 3],
    /// At the isocentre plane.
    pub through_mm: [f32; 2],
}

impl HeadRay<'_> {
    /// Crossing with a plane of the head, scaled to the isocentre plane as positions of collimators are.
    fn crossing_mm(&self, axis: usize, plane_mm: f32) -> f32 {
        let sad_mm = self.head.sad_mm;
        let part = (plane_mm - self.from_mm[2]) / (sad_mm - self.from_mm[2]);
        let from = self.from_mm[axis];
        (from + (self.through_mm[axis] - from) * part) * sad_mm / plane_mm
    }
}

impl HeadSource {
    /// Transmission of jaws and leaves at a time of the beam position: `unit` chooses the segment, `time` the place within it, each a
    /// part of the whole.
    pub(super) fn transmission(&self, ray: &HeadRay<'_>, [unit, time]: [f32; 2]) -> f32 {
        let position = ray.position;
        let segments =
            &self.segments[position.segments_at as usize..][..position.segments as usize];
        let number = segments
            .partition_point(|s| s.until <= unit)
            .min(segments.len() - 1);
        let segment = &segments[number];
        let by_jaws = jaw_transmission(ray, segment, time);
        if by_jaws == 0.0 || position.pairs == 0 {
            return by_jaws;
        }
        let xy = [0, 1].map(|axis| ray.crossing_mm(axis, ray.head.leaf_distance_mm));
        let uv = if position.along_y == 1 {
            [xy[1], xy[0]]
        } else {
            xy
        };
        if position.map_columns > 0 {
            return by_jaws * self.map_value(position, uv);
        }
        let Some(leaves) = &self.machines[ray.machine].machine.leaves else {
            return by_jaws;
        };
        by_jaws * self.leaf_transmission(leaves, ray, segment, time, uv)
    }

    /// Value of a fluence map where a ray crosses the plane of the leaves, in whose place it stands; 0 beside its beamlets.
    fn map_value(&self, position: &BeamPosition, [u, v]: [f32; 2]) -> f32 {
        let rows = position.pairs as usize;
        let sides = &self.leaf_boundaries_mm[position.boundaries_at as usize..][..=rows];
        let above = sides.partition_point(|side| *side <= f64::from(v));
        let column = ((u - position.map_first_mm) / position.map_step_mm).floor();
        if above == 0 || above > rows || !(0.0..position.map_columns as f32).contains(&column) {
            return 0.0;
        }
        let beamlet = (above - 1) * position.map_columns as usize + column as usize;
        self.map_values[position.map_at as usize + beamlet]
    }

    fn leaf_transmission(
        &self,
        leaves: &Leaves,
        ray: &HeadRay<'_>,
        segment: &Segment,
        time: f32,
        uv: [f32; 2],
    ) -> f32 {
        let pairs = ray.position.pairs as usize;
        let sides = &self.leaf_boundaries_mm[ray.position.boundaries_at as usize..][..=pairs];
        let tips = &self.tips_mm[segment.tips_at as usize..][..4 * pairs];
        let tips_of_pair = |pair: usize| {
            [0, 1].map(|bank| {
                let (from, to) = (tips[2 * pair + bank], tips[2 * (pairs + pair) + bank]);
                f64::from(from + time * (to - from))
            })
        };
        let magnification = f64::from(ray.head.sad_mm / ray.head.leaf_distance_mm);
        leaves.ray_transmission(sides, magnification, tips_of_pair, uv.map(f64::from)) as f32
    }
}

fn jaw_transmission(ray: &HeadRay<'_>, segment: &Segment, time: f32) -> f32 {
    let mut transmission = 1.0;
    for axis in 0..2 {
        let [low, high] = [0, 1].map(|side| {
            let from = segment.jaws_from_mm[2 * axis + side];
            let to = segment.jaws_to_mm[2 * axis + side];
            from + time * (to - from)
        });
        let crossing = ray.crossing_mm(axis, ray.head.jaw_distance_mm[axis]);
        if crossing < low || crossing > high {
            transmission *= ray.head.jaw_transmission;
        }
    }
    transmission
}
