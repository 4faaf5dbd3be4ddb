//! Upper bounds of a beam's fluence, brushed beamlet by beamlet: they bind whoever finds the map.

use super::{Beam, FluenceMap, bounds};
use serde::{Deserialize, Serialize};

/// Upper bound of a beamlet. In monitor units: the values of a map are relative to the beam's monitor units, which change with the map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FluenceLimit {
    /// Place in the values of the beam's map.
    pub beamlet: usize,
    /// Monitor units a fraction.
    pub mu: f64,
}

impl FluenceLimit {
    /// The bound of a beamlet, if `limits` has one, monitor units a fraction.
    pub fn of_beamlet(beamlet: usize, limits: &[Self]) -> Option<f64> {
        let index = limits
            .binary_search_by_key(&beamlet, |limit| limit.beamlet)
            .ok()?;
        Some(limits[index].mu)
    }
}

/// A piece of a brush's stroke, (x, y) in the isocentre plane, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluenceStroke {
    pub from_mm: [f64; 2],
    pub to_mm: [f64; 2],
    pub radius_mm: f64,
    /// The bound, percent of the greatest fluence of the map; `None` takes bounds away.
    pub percent: Option<f64>,
}

impl Beam {
    /// Bounds the beamlets whose middle lies within the brush, and the one under its end. Unchanged without a map.
    pub fn brush_fluence(&mut self, stroke: &FluenceStroke) {
        let Some(map) = &self.fluence else { return };
        let most_mu = self.mu * f64::from(map.greatest());
        let (from, to) = (map.uv(stroke.from_mm), map.uv(stroke.to_mm));
        let under = map.beamlet_at(to);
        let met = (0..map.values.len()).filter(|beamlet| {
            let [u, v] = map.middle_mm(*beamlet);
            let way = [to[0] - from[0], to[1] - from[1]];
            let length = (way[0] * way[0] + way[1] * way[1]).max(f64::MIN_POSITIVE);
            let part = ((u - from[0]) * way[0] + (v - from[1]) * way[1]) / length;
            let part = part.clamp(0.0, 1.0);
            let off = (u - from[0] - part * way[0]).hypot(v - from[1] - part * way[1]);
            off <= stroke.radius_mm || under == Some(*beamlet)
        });
        let met: Vec<usize> = met.collect();
        self.fluence_limits
            .retain(|limit| met.binary_search(&limit.beamlet).is_err());
        if let Some(percent) = stroke.percent {
            let mu = 0.01 * percent.clamp(0.0, 100.0) * most_mu;
            self.fluence_limits
                .extend(met.into_iter().map(|beamlet| FluenceLimit { beamlet, mu }));
            self.fluence_limits
                .sort_unstable_by_key(|limit| limit.beamlet);
        }
    }

    /// The bounds as they lie on another map, beamlet by beamlet by the place of its middle.
    pub fn limits_on(&self, other: &FluenceMap) -> Vec<FluenceLimit> {
        let Some(map) = self
            .fluence
            .as_ref()
            .filter(|_| !self.fluence_limits.is_empty())
        else {
            return Vec::new();
        };
        let limits = (0..other.values.len()).filter_map(|beamlet| {
            let covered = map.beamlet_at(other.middle_mm(beamlet))?;
            Some(FluenceLimit {
                beamlet,
                mu: FluenceLimit::of_beamlet(covered, &self.fluence_limits)?,
            })
        });
        limits.collect()
    }

    /// The first bound that is none: of no beamlet, out of order, or no number of monitor units.
    pub(super) fn false_limit(&self) -> Option<FluenceLimit> {
        let of_leaves = self
            .cut_from
            .as_ref()
            .and_then(|from| false_limit(Some(&from.map), &from.limits));
        false_limit(self.fluence.as_ref(), &self.fluence_limits).or(of_leaves)
    }
}

fn false_limit(map: Option<&FluenceMap>, limits: &[FluenceLimit]) -> Option<FluenceLimit> {
    let beamlets = map.map_or(0, |map| map.values.len());
    let mut next = 0;
    limits.iter().copied().find(|limit| {
        let holds = (next..beamlets).contains(&limit.beamlet) && bounds::MU.contains(&limit.mu);
        next = limit.beamlet.saturating_add(1);
        !holds
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jaws;
    use crate::MlcAxis;
    use glam::DVec3;

    /// Two rows of three beamlets of 10 mm, 200 MU at the strongest.
    fn beam(axis: MlcAxis) -> Beam {
        let mut beam = Beam::fixed("B", 1, 0.0, DVec3::ZERO, Jaws::symmetric(30.0, 20.0), 100.0);
        beam.fluence = Some(FluenceMap {
            axis,
            rows_mm: vec![-10.0, 0.0, 10.0],
            first_mm: -15.0,
            step_mm: 10.0,
            columns: 3,
            values: vec![0.0, 1.0, 2.0, 1.0, 0.5, 0.0],
        });
        beam
    }

    fn stroke(from_mm: [f64; 2], to_mm: [f64; 2], percent: Option<f64>) -> FluenceStroke {
        FluenceStroke {
            from_mm,
            to_mm,
            radius_mm: 4.0,
            percent,
        }
    }

    fn limits(beam: &Beam) -> Vec<(usize, f64)> {
        beam.fluence_limits
            .iter()
            .map(|limit| (limit.beamlet, limit.mu))
            .collect()
    }

    #[test]
    fn a_stroke_bounds_what_it_meets_and_another_takes_it_away() {
        let mut b = beam(MlcAxis::X);
        b.brush_fluence(&stroke([-10.0, 5.0], [2.0, 5.0], Some(25.0)));
        assert_eq!(limits(&b), [(3, 50.0), (4, 50.0)]);
        // The beamlet under the pointer is met however small the brush is; a later stroke holds.
        b.brush_fluence(&stroke([4.9, 0.1], [4.9, 0.1], Some(0.0)));
        b.brush_fluence(&stroke([4.9, -0.1], [4.9, -0.1], Some(100.0)));
        assert_eq!(limits(&b), [(1, 200.0), (3, 50.0), (4, 0.0)]);
        assert_eq!(b.fault(), None);
        b.brush_fluence(&stroke([-10.0, 5.0], [-10.0, 5.0], None));
        assert_eq!(limits(&b), [(1, 200.0), (4, 0.0)]);
        // Leaves that travel along y: columns lie along y.
        let mut turned = beam(MlcAxis::Y);
        turned.brush_fluence(&stroke([5.0, -10.0], [5.0, 2.0], Some(25.0)));
        assert_eq!(limits(&turned), [(3, 50.0), (4, 50.0)]);
        let mut bare = Beam {
            fluence: None,
            ..b.clone()
        };
        bare.fluence_limits.clear();
        bare.brush_fluence(&stroke([0.0, 0.0], [0.0, 0.0], Some(5.0)));
        assert!(bare.fluence_limits.is_empty());
    }

    #[test]
    fn bounds_keep_their_place_on_another_map() {
        let mut b = beam(MlcAxis::X);
        b.brush_fluence(&stroke([-10.0, 5.0], [2.0, 5.0], Some(25.0)));
        // One column more on the left, half as wide.
        let fine = FluenceMap {
            first_mm: -25.0,
            step_mm: 5.0,
            columns: 8,
            values: vec![0.0; 16],
            ..b.fluence.clone().unwrap()
        };
        let on: Vec<usize> = b
            .limits_on(&fine)
            .iter()
            .map(|limit| limit.beamlet)
            .collect();
        assert_eq!(on, [10, 11, 12, 13]);
    }

    fn limit(beamlet: usize, mu: f64) -> FluenceLimit {
        FluenceLimit { beamlet, mu }
    }

    #[test]
    fn bounds_that_cannot_be_are_refused() {
        for limits in [
            vec![limit(6, 1.0)],
            vec![limit(0, -1.0)],
            vec![limit(0, f64::NAN)],
            vec![limit(3, 1.0), limit(2, 1.0)],
            vec![limit(3, 1.0), limit(3, 1.0)],
        ] {
            let b = Beam {
                fluence_limits: limits.clone(),
                ..beam(MlcAxis::X)
            };
            let said = b.fault().map(|fault| fault.to_string()).unwrap_or_default();
            assert!(said.contains("upper bound"), "{limits:?}: {said}");
        }
        let b = Beam {
            fluence: None,
            fluence_limits: vec![limit(0, 1.0)],
            ..beam(MlcAxis::X)
        };
        assert!(b.fault().is_some(), "bounds of no map");
    }
}
