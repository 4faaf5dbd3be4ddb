//! Beams shaped to a target: jaws and leaves at the isocentre plane.

use case::{Beam, ControlPoint, Jaws, Mlc, MlcAxis};
use geometry::{BeamFrame, PatientPosition};
use glam::DVec3;

/// Source-axis distance of the linear accelerators in the demo plans, mm.
const SAD_MM: f64 = 1000.0;

/// Leaf sides of a 60-pair MLC with 40 leaves of 5 mm in the middle and 10 of 10 mm on either side
/// (Varian Millennium 120), mm at the isocentre plane.
pub fn millennium_120() -> Vec<f64> {
    let outer = (0..10).map(|n| f64::from(n) * 10.0);
    let low = outer.clone().map(|d| -200.0 + d);
    let middle = (0..40).map(|n| -100.0 + f64::from(n) * 5.0);
    let high = outer.map(|d| 100.0 + d);
    low.chain(middle).chain(high).chain([200.0]).collect()
}

/// A static beam onto a ball.
pub struct RoundBeam<'a> {
    pub name: &'a str,
    pub number: u32,
    pub gantry_deg: f64,
    /// Middle of the ball, patient LPS, mm.
    pub centre_mm: DVec3,
    pub radius_mm: f64,
    /// From the ball's shadow to the tips of the leaves, mm.
    pub margin_mm: f64,
    pub isocentre_mm: DVec3,
    pub mu: f64,
}

/// A beam whose leaves open round its ball; jaws at the edge of the opening, closed leaves parked under a jaw.
pub fn round_beam(beam: &RoundBeam<'_>) -> Beam {
    let &RoundBeam {
        name,
        number,
        gantry_deg,
        centre_mm,
        radius_mm,
        margin_mm,
        isocentre_mm,
        mu,
    } = beam;
    let frame = BeamFrame::new(
        PatientPosition::Hfs,
        gantry_deg,
        0.0,
        0.0,
        isocentre_mm,
        SAD_MM,
    );
    let centre = frame.project(centre_mm).map_or([0.0, 0.0], |(xy, _)| xy);
    let r = radius_mm + margin_mm;
    let boundaries_mm = millennium_120();
    let leaves_mm = boundaries_mm
        .windows(2)
        .map(|side| {
            // The widest part of the circle within this leaf's width.
            let y = centre[1].clamp(side[0], side[1]) - centre[1];
            let half = (r * r - y * y).max(0.0).sqrt();
            if half > 0.0 {
                [centre[0] - half, centre[0] + half]
            } else {
                [centre[0] - r - 10.0; 2]
            }
        })
        .map(|tips| tips.map(tenth))
        .collect();
    let jaws = Jaws {
        x: [tenth(centre[0] - r), tenth(centre[0] + r)],
        y: [tenth(centre[1] - r), tenth(centre[1] + r)],
    };
    Beam {
        mlc: Some(Mlc {
            axis: MlcAxis::X,
            boundaries_mm,
        }),
        control_points: vec![ControlPoint {
            meterset_weight: 1.0,
            gantry_deg,
            collimator_deg: 0.0,
            couch_deg: 0.0,
            jaws,
            leaves_mm,
        }],
        ..Beam::fixed(name, number, gantry_deg, isocentre_mm, jaws, mu)
    }
}

/// Leaves and jaws are set in tenths of a mm.
fn tenth(mm: f64) -> f64 {
    (mm * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_open_round_the_target() {
        let b = millennium_120();
        assert_eq!(
            (b.len(), b[0], b[10], b[30], b[50], b[60]),
            (61, -200.0, -100.0, 0.0, 100.0, 200.0)
        );
        let beam = round_beam(&RoundBeam {
            name: "B",
            number: 1,
            gantry_deg: 90.0,
            centre_mm: DVec3::new(5.0, 10.0, 20.0),
            radius_mm: 20.0,
            margin_mm: 5.0,
            isocentre_mm: DVec3::ZERO,
            mu: 100.0,
        });
        let point = &beam.control_points[0];
        // Gantry 90: Xb is +y, Yb is +z; 5 mm nearer to the source than the axis magnifies by 1000/995.
        let pair = b.partition_point(|&side| side <= 20.1) - 1;
        let [low, high] = point.leaves_mm[pair];
        assert!((high - low - 50.0).abs() < 0.2, "{low} {high}");
        assert!((low + high - 2.0 * 10.0 * 1000.0 / 995.0).abs() < 0.2);
        assert!(
            point.leaves_mm[0][0] == point.leaves_mm[0][1]
                && point.leaves_mm[0][0] < point.jaws.x[0]
        );
    }
}
