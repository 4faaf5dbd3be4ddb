//! Transmission of jaws, leaves and fluence maps for a single ray.

use super::shutter::Shutter;
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

/// Collimators at an instant of a beam position.
#[derive(Clone, Copy, Debug)]
pub struct Instant<'a> {
    segment: &'a Segment,
    /// Part of the segment's units given.
    time: f32,
}

impl Instant<'_> {
    /// Jaws of an axis, mm at the isocentre plane.
    fn jaws_mm(&self, axis: usize) -> [f32; 2] {
        [0, 1].map(|side| {
            let from = self.segment.jaws_from_mm[2 * axis + side];
            let to = self.segment.jaws_to_mm[2 * axis + side];
            from + self.time * (to - from)
        })
    }
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
    /// Instant of a beam position: `unit` chooses the segment, `time` the place within it, each a part of the whole.
    pub(super) fn instant(&self, position: &BeamPosition, [unit, time]: [f32; 2]) -> Instant<'_> {
        let segments =
            &self.segments[position.segments_at as usize..][..position.segments as usize];
        let number = segments
            .partition_point(|s| s.until <= unit)
            .min(segments.len() - 1);
        Instant {
            segment: &segments[number],
            time,
        }
    }

    /// Transmission of what shapes a field within the jaws: leaves, or a map in their place.
    pub(super) fn transmission_within_jaws(&self, ray: &HeadRay<'_>, instant: Instant<'_>) -> f32 {
        let position = ray.position;
        if position.pairs == 0 {
            return 1.0;
        }
        let xy = [0, 1].map(|axis| ray.crossing_mm(axis, ray.head.leaf_distance_mm));
        let uv = if position.along_y == 1 {
            [xy[1], xy[0]]
        } else {
            xy
        };
        if position.map_columns > 0 {
            return self.map_value(position, uv);
        }
        match &self.machines[ray.machine].machine.leaves {
            Some(leaves) => self.leaf_transmission(leaves, ray, instant, uv),
            None => 1.0,
        }
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
        instant: Instant<'_>,
        uv: [f32; 2],
    ) -> f32 {
        let Instant { segment, time } = instant;
        let pairs = ray.position.pairs as usize;
        let sides = &self.leaf_boundaries_mm[ray.position.boundaries_at as usize..][..=pairs];
        let tips = &self.tips_mm[segment.tips_at as usize..][..4 * pairs];
        let magnification = f64::from(ray.head.sad_mm / ray.head.leaf_distance_mm);
        leaves.ray_transmission(
            sides,
            magnification,
            |pair| {
                [0, 1].map(|bank| {
                    let (from, to) = (tips[2 * pair + bank], tips[2 * (pairs + pair) + bank]);
                    f64::from(from + time * (to - from))
                })
            },
            uv.map(f64::from),
        ) as f32
    }
}

/// Transmission of the jaws.
pub(super) fn jaw_transmission(ray: &HeadRay<'_>, instant: Instant<'_>) -> f32 {
    let mut transmission = 1.0;
    for axis in 0..2 {
        let [low, high] = instant.jaws_mm(axis);
        let crossing = ray.crossing_mm(axis, ray.head.jaw_distance_mm[axis]);
        if crossing < low || crossing > high {
            transmission *= ray.head.jaw_transmission;
        }
    }
    transmission
}

/// Jaws of an axis as they open the extra-focal source to where the ray goes.
pub(super) fn extra_focal_shutter(ray: &HeadRay<'_>, instant: Instant<'_>, axis: usize) -> Shutter {
    let head = ray.head;
    let jaw_mm = head.jaw_distance_mm[axis];
    let part = (jaw_mm - head.extra_distance_mm) / (head.sad_mm - head.extra_distance_mm);
    let edges = instant.jaws_mm(axis).map(|edge_mm| {
        let source_mm =
            (edge_mm * jaw_mm / head.sad_mm - ray.through_mm[axis] * part) / (1.0 - part);
        source_mm / head.extra_sigma_mm
    });
    Shutter::new(edges, head.jaw_transmission)
}
