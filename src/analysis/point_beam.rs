//! The part of a dynamic beam that is delivered from one control point to the next.

use case::{Beam, ControlPoint};

/// The beam that delivers what `beam` delivers from a control point to the next (from the last but one, for the last), with its share of the
/// monitor units before normalisation; `None` for beams of one control point.
pub fn beam_of_point(beam: &Beam, point: usize) -> Option<Beam> {
    let points = &beam.control_points;
    let from = point.min(points.len().checked_sub(2)?);
    let [a, b] = [&points[from], &points[from + 1]];
    let total = points.last()?.meterset_weight - points.first()?.meterset_weight;
    let share = if total > 0.0 {
        (b.meterset_weight - a.meterset_weight) / total
    } else {
        0.0
    };
    let mu = beam.mu * share.max(0.0);
    let name = format!(
        "{}, control points {} to {} ({mu:.1} MU before normalisation)",
        beam.name,
        from + 1,
        from + 2
    );
    let control_points = [(a, 0.0), (b, 1.0)].map(|(point, meterset_weight)| ControlPoint {
        meterset_weight,
        ..point.clone()
    });
    Some(Beam {
        name,
        mu,
        control_points: control_points.to_vec(),
        ..beam.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;
    use glam::DVec3;
    use physics::exposures;

    fn arc() -> Beam {
        let mut beam = Beam::fixed(
            "A",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 50.0),
            200.0,
        );
        let start = beam.control_points[0].clone();
        beam.control_points = [
            (0.0, 0.0),
            (20.0, 0.1),
            (40.0, 0.7),
            (60.0, 0.7),
            (80.0, 1.0),
        ]
        .map(|(gantry_deg, meterset_weight)| ControlPoint {
            gantry_deg,
            meterset_weight,
            ..start.clone()
        })
        .to_vec();
        beam
    }

    /// All parts together have the exposures of the whole beam, by direction and monitor units.
    #[test]
    fn the_parts_of_an_arc_make_the_arc() {
        let beam = arc();
        let told = |beam: &Beam| -> Vec<(f64, f64)> {
            exposures(beam, 5.0)
                .iter()
                .map(|e| (e.gantry_deg, e.share * beam.mu))
                .collect()
        };
        let parts: Vec<(f64, f64)> = (0..4)
            .filter_map(|n| beam_of_point(&beam, n))
            .filter(|part| part.mu > 0.0)
            .flat_map(|part| told(&part))
            .collect();
        let expected = told(&beam);
        assert_eq!(parts.len(), expected.len());
        for (a, b) in parts.iter().zip(&expected) {
            assert!(
                (a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9,
                "{a:?} {b:?}"
            );
        }
        assert_eq!(beam_of_point(&beam, 2).map(|b| b.mu), Some(0.0));
        assert_eq!(beam_of_point(&beam, 4), beam_of_point(&beam, 3));
        let fixed = Beam {
            control_points: beam.control_points[..1].to_vec(),
            ..beam
        };
        assert_eq!(beam_of_point(&fixed, 0), None);
    }
}
