//! The open parts of a beam's field on its way: what passes between jaws and leaves, or where its fluence map has fluence.

use case::{Beam, ControlPoint, FluenceMap, MlcAxis};
use geometry::{BeamFrame, PatientPosition};
use glam::DVec3;
use physics::exposures;

/// Steps of an arc between its control points, degrees: an edge of a couch is not stepped over.
const STEP_DEG: f64 = 10.0;

/// An open rectangle of a field at the isocentre plane, mm: along the leaves' travel and across it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub along_mm: [f64; 2],
    pub across_mm: [f64; 2],
    axis: MlcAxis,
}

impl Window {
    /// The place (x, y) of the device frame at a place along and across the leaves.
    pub(super) fn xy(&self, along: f64, across: f64) -> [f64; 2] {
        if self.axis == MlcAxis::X {
            [along, across]
        } else {
            [across, along]
        }
    }

    /// Low and high side of a part of it across the leaves, by shares from 0 to 1.
    pub(super) fn band(self, shares: [f64; 2]) -> Self {
        let [low, high] = self.across_mm;
        Self {
            across_mm: shares.map(|share| low + share * (high - low)),
            ..self
        }
    }

    fn distance_mm(&self, [x, y]: [f64; 2]) -> f64 {
        let [along, across] = if self.axis == MlcAxis::X {
            [x, y]
        } else {
            [y, x]
        };
        beyond_mm(along, self.along_mm).hypot(beyond_mm(across, self.across_mm))
    }
}

/// How far a coordinate lies outside a range, mm; 0 inside.
fn beyond_mm(coordinate: f64, [low, high]: [f64; 2]) -> f64 {
    (low - coordinate).max(coordinate - high).max(0.0)
}

/// The field at a stop of a beam.
pub(super) struct Opening {
    pub frame: BeamFrame,
    windows: Vec<Window>,
    /// Lowest and highest x and y of all windows.
    bounds_mm: [[f64; 2]; 2],
}

impl Opening {
    fn new(beam: &Beam, point: &ControlPoint, position: PatientPosition, sad_mm: f64) -> Self {
        let windows = windows(beam, point);
        let mut bounds_mm = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        for window in &windows {
            for [along, across] in
                [0, 1].map(|side| [window.along_mm[side], window.across_mm[side]])
            {
                for (bounds, coordinate_mm) in bounds_mm.iter_mut().zip(window.xy(along, across)) {
                    *bounds = [bounds[0].min(coordinate_mm), bounds[1].max(coordinate_mm)];
                }
            }
        }
        Self {
            frame: beam.frame_at(point, position, sad_mm),
            windows,
            bounds_mm,
        }
    }

    /// How far a place (patient LPS) lies beside the field at its own depth, mm: 0 inside it. `None` where that is more than `most_mm`,
    /// the field is closed, or the place lies behind the source.
    pub(super) fn beside_mm(&self, place_mm: DVec3, most_mm: f64) -> Option<f64> {
        let (projected, depth_mm) = self.frame.project(place_mm)?;
        let magnification = depth_mm / self.frame.sad_mm;
        let most_mm_at_isocentre = most_mm / magnification;
        let is_near = projected
            .into_iter()
            .zip(self.bounds_mm)
            .all(|(coordinate, [low, high])| {
                coordinate >= low - most_mm_at_isocentre
                    && coordinate <= high + most_mm_at_isocentre
            });
        if !is_near {
            return None;
        }
        let nearest = self
            .windows
            .iter()
            .map(|window| window.distance_mm(projected))
            .fold(f64::INFINITY, f64::min);
        Some(nearest * magnification).filter(|mm| *mm <= most_mm)
    }
}

/// The fields of a beam at all its stops.
pub(super) fn openings(position: PatientPosition, beam: &Beam, sad_mm: f64) -> Vec<Opening> {
    stops(beam)
        .iter()
        .map(|point| Opening::new(beam, point, position, sad_mm))
        .collect()
}

/// Control points, and where a beam turns the middle of each step on its way.
pub(super) fn stops(beam: &Beam) -> Vec<ControlPoint> {
    let mut stops = beam.control_points.clone();
    let steps = exposures(beam, STEP_DEG);
    let middles = steps.iter().filter_map(|step| {
        let s = step.segments.first()?;
        let (gantry_deg, collimator_deg, couch_deg) =
            (step.gantry_deg, step.collimator_deg, step.couch_deg);
        let point = s.from.on_the_way_to(s.to, 0.5 * (s.span[0] + s.span[1]));
        Some(ControlPoint {
            gantry_deg,
            collimator_deg,
            couch_deg,
            ..point
        })
    });
    if steps.len() > 1 {
        stops.extend(middles);
    }
    stops
}

/// The open rectangles of a control point: one a leaf pair, one of jaws alone, one a row of a fluence map; none where the field is closed.
pub(super) fn windows(beam: &Beam, point: &ControlPoint) -> Vec<Window> {
    if let Some(map) = &beam.fluence {
        return windows_of_map(map);
    }
    let jaws = point.jaws;
    let axis = beam.mlc.as_ref().map_or(MlcAxis::X, |mlc| mlc.axis);
    let [along_mm, across_mm] = if axis == MlcAxis::X {
        [jaws.x, jaws.y]
    } else {
        [jaws.y, jaws.x]
    };
    let Some(mlc) = beam.mlc.as_ref().filter(|_| !point.leaves_mm.is_empty()) else {
        let window = Window {
            along_mm,
            across_mm,
            axis,
        };
        return if jaws.is_open() {
            vec![window]
        } else {
            Vec::new()
        };
    };
    let pairs = mlc.boundaries_mm.windows(2).zip(&point.leaves_mm);
    let open = pairs.filter_map(|(sides, tips)| {
        let across_mm = overlap([sides[0], sides[1]], across_mm)?;
        Some(Window {
            along_mm: overlap(*tips, along_mm)?,
            across_mm,
            axis,
        })
    });
    open.collect()
}

/// One window a row, from its first beamlet with fluence to its last.
fn windows_of_map(map: &FluenceMap) -> Vec<Window> {
    let windows = (0..map.rows()).filter_map(|row| {
        let values = map.values.get(row * map.columns..(row + 1) * map.columns)?;
        let first = values.iter().position(|value| *value > 0.0)?;
        let last = values.iter().rposition(|value| *value > 0.0)?;
        let [[low, _], across_mm] = map.sides_mm(row * map.columns + first);
        let [[_, high], _] = map.sides_mm(row * map.columns + last);
        Some(Window {
            along_mm: [low, high],
            across_mm,
            axis: map.axis,
        })
    });
    windows.collect()
}

fn overlap(a: [f64; 2], b: [f64; 2]) -> Option<[f64; 2]> {
    let both = [a[0].max(b[0]), a[1].min(b[1])];
    (both[1] > both[0]).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Jaws, Mlc};

    fn opening(beam: &Beam) -> Opening {
        Opening::new(beam, &beam.control_points[0], PatientPosition::Hfs, 1000.0)
    }

    /// A field of 100 x 60 mm from the front: at z = 40 mm it is missed by 10 mm at the isocentre, by 9 mm 100 mm before it.
    #[test]
    fn distances_from_a_field_are_those_at_the_depth_of_the_place() {
        let jaws = Jaws {
            x: [-50.0, 50.0],
            y: [-30.0, 30.0],
        };
        let beam = Beam::fixed("AP", 1, 0.0, DVec3::ZERO, jaws, 100.0);
        let distance_mm = |x, y, z| opening(&beam).beside_mm(DVec3::new(x, y, z), 50.0);
        assert_eq!(distance_mm(49.0, 0.0, -29.0), Some(0.0));
        assert!((distance_mm(0.0, 0.0, 40.0).unwrap() - 10.0).abs() < 1e-9);
        assert!((distance_mm(0.0, -100.0, 36.0).unwrap() - 9.0).abs() < 1e-9);
        assert!((distance_mm(53.0, 0.0, 34.0).unwrap() - 5.0).abs() < 1e-9);
        assert_eq!(distance_mm(0.0, 0.0, 81.0), None);
        assert_eq!(distance_mm(0.0, -1001.0, 0.0), None, "behind the source");
    }

    #[test]
    fn closed_leaves_and_beamlets_without_fluence_open_nothing() {
        let jaws = Jaws::symmetric(100.0, 100.0);
        let mut beam = Beam::fixed("AP", 1, 0.0, DVec3::ZERO, jaws, 100.0);
        beam.mlc = Some(Mlc {
            axis: MlcAxis::X,
            boundaries_mm: vec![-20.0, 0.0, 20.0],
        });
        beam.control_points[0].leaves_mm = vec![[-5.0, -5.0], [-30.0, 10.0]];
        let open = windows(&beam, &beam.control_points[0]);
        assert_eq!(
            open,
            [Window {
                along_mm: [-30.0, 10.0],
                across_mm: [0.0, 20.0],
                axis: MlcAxis::X
            }]
        );
        beam.fluence = Some(FluenceMap {
            axis: MlcAxis::Y,
            rows_mm: vec![-10.0, 0.0, 10.0],
            first_mm: -20.0,
            step_mm: 10.0,
            columns: 4,
            values: vec![0.0, 0.5, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0],
        });
        let open = windows(&beam, &beam.control_points[0]);
        assert_eq!(
            open,
            [Window {
                along_mm: [-10.0, 20.0],
                across_mm: [-10.0, 0.0],
                axis: MlcAxis::Y
            }]
        );
    }
}
