//! Comparison of two doses: whether it is possible, and new doses made of both.

use super::plan_sum::caveats_of;
use super::sampler::Sampler;
use case::{Dose, Receipt};
use geometry::{Grid, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;
use thiserror::Error;

/// Why two doses cannot be compared.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PairError {
    #[error(
        "'{0}' and '{1}' lie in different frames of reference ({2} and {3}): positions in one mean nothing in the other; \
         register them and export both doses in one frame"
    )]
    Frames(String, String, String, String),
    #[error(
        "'{0}' and '{1}' do not overlap anywhere: they belong to different places or patients; choose doses of one case"
    )]
    NoOverlap(String, String),
    #[error("the weights {0} and {1} make no dose; give two numbers that are not both 0")]
    Weights(f64, f64),
}

/// Whether two doses can be compared, with a warning where frames of reference are not named.
///
/// # Errors
/// [`PairError`].
pub fn check_pair(a: &Dose, b: &Dose) -> Result<Option<String>, PairError> {
    let [frame_a, frame_b] = [a, b].map(|d| d.frame_of_reference_uid.trim());
    if !frame_a.is_empty() && !frame_b.is_empty() && frame_a != frame_b {
        return Err(PairError::Frames(
            a.label.clone(),
            b.label.clone(),
            frame_a.to_owned(),
            frame_b.to_owned(),
        ));
    }
    if !overlap(a.gy.grid(), b.gy.grid()) {
        return Err(PairError::NoOverlap(a.label.clone(), b.label.clone()));
    }
    let unnamed: Vec<&str> = [("A", frame_a), ("B", frame_b)]
        .into_iter()
        .filter(|(_, frame)| frame.is_empty())
        .map(|(side, _)| side)
        .collect();
    Ok((!unnamed.is_empty()).then(|| {
        let which = unnamed.join(" and ");
        format!("Frame of reference of {which} not named: both are taken to lie in one frame.")
    }))
}

/// The ratio of the maxima of two doses, of which one is likely in cGy. A treatment of 80 to 125 fractions beside one of them is not.
const LIKE_CGY: std::ops::RangeInclusive<f64> = 80.0..=125.0;

/// Whether a maximum is likely in cGy beside another in Gy.
fn is_likely_in_cgy(high: f64, low: f64) -> bool {
    low > 0.0 && LIKE_CGY.contains(&(high / low))
}

/// The remark on two doses one of which is likely written in cGy: `DoseUnits` has no word for it, and a `.mha` none for any unit.
pub fn unit_remark(reference_gy: f64, evaluated_gy: f64) -> Option<String> {
    let which = match (
        is_likely_in_cgy(reference_gy, evaluated_gy),
        is_likely_in_cgy(evaluated_gy, reference_gy),
    ) {
        (true, _) => "reference",
        (_, true) => "evaluated",
        _ => return None,
    };
    let ratio = (reference_gy / evaluated_gy).max(evaluated_gy / reference_gy);
    Some(format!(
        "the maxima of the two doses, {reference_gy:.2} and {evaluated_gy:.2} Gy, differ by a factor of {ratio:.1}: the {which} dose \
         is likely in cGy and not in Gy"
    ))
}

/// Whether two boxes of voxels overlap: they do unless an axis separates them (the faces' normals and the
/// cross products of the edges; Gottschalk 1996).
fn overlap(a: &Grid, b: &Grid) -> bool {
    let corners = [a, b].map(Grid::corners_mm);
    let crossed = a
        .axes()
        .into_iter()
        .flat_map(|x| b.axes().map(|y| x.cross(y)));
    let mut axes = a.axes().into_iter().chain(b.axes()).chain(crossed);
    !axes.any(|axis| {
        if axis.length_squared() < 1e-12 {
            return false;
        }
        let [[low_a, high_a], [low_b, high_b]] = corners.map(|c| {
            c.iter()
                .map(|p: &DVec3| p.dot(axis))
                .fold([f64::MAX, f64::MIN], |[l, h], v| [l.min(v), h.max(v)])
        });
        high_a <= low_b || high_b <= low_a
    })
}

/// `weights[0]` A + `weights[1]` B as a new dose, on the finer of the two grids (read trilinearly from the
/// other) and NaN where one of the two is unknown; its status is the worse of theirs. A weight of zero leaves
/// a dose out.
///
/// # Errors
/// [`PairError`].
pub fn combined(label: &str, a: &Dose, b: &Dose, weights: [f64; 2]) -> Result<Dose, PairError> {
    let used: Vec<(&Dose, f64)> = [a, b]
        .into_iter()
        .zip(weights)
        .filter(|(_, w)| *w != 0.0)
        .collect();
    if used.is_empty() || weights.iter().any(|w| !w.is_finite()) {
        return Err(PairError::Weights(weights[0], weights[1]));
    }
    if let [(a, _), (b, _)] = used[..] {
        check_pair(a, b)?;
    }
    // `used` is not empty: see above.
    let base = used
        .iter()
        .min_by(|x, y| {
            x.0.gy
                .grid()
                .voxel_cm3(0)
                .total_cmp(&y.0.gy.grid().voxel_cm3(0))
        })
        .map_or(a, |(d, _)| d);
    let grid = base.gy.grid().clone();
    let [nx, ny, _] = grid.size();
    let mut sum = vec![0.0_f32; grid.len()];
    for (dose, weight) in &used {
        let same = **dose.gy.grid() == *grid;
        let sampler = Sampler::new(&dose.gy);
        sum.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
            for (i, out) in out.iter_mut().enumerate() {
                let value = if same {
                    Some(dose.gy.data()[row * nx + i])
                } else {
                    let point_mm = grid.centre_mm(i, row % ny, row / ny);
                    sampler.at_local(dose.gy.grid().local_from_patient(point_mm))
                };
                *out += (weight * f64::from(value.unwrap_or(f32::NAN))) as f32;
            }
        });
    }
    let status = used.iter().map(|(d, _)| d.status).max().unwrap_or(a.status);
    let frame = used
        .iter()
        .map(|(d, _)| &d.frame_of_reference_uid)
        .find(|f| !f.is_empty());
    let receipts: Vec<_> = used
        .iter()
        .filter_map(|(d, w)| Some((w, d.receipt.as_ref()?)))
        .collect();
    Ok(Dose {
        gy: Arc::new(Volume::new(grid, sum)),
        status,
        label: label.to_owned(),
        frame_of_reference_uid: frame.cloned().unwrap_or_default(),
        receipt: Some(Arc::new(Receipt {
            job: "sum".to_owned(),
            digest: receipts
                .iter()
                .map(|(w, r)| format!("{w} x {}", r.digest))
                .collect::<Vec<_>>()
                .join(" + "),
            device: "cpu".to_owned(),
            warnings: receipts
                .iter()
                .flat_map(|(_, r)| r.warnings.clone())
                .collect(),
            ..Receipt::default()
        })),
        caveats: caveats_of(used.iter().map(|(d, _)| &d.caveats)),
        remarks: caveats_of(used.iter().map(|(d, _)| &d.remarks)),
        part: used.iter().find_map(|(d, _)| d.part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::DoseStatus;

    fn dose(
        label: &str,
        origin: DVec3,
        spacing: f64,
        size: usize,
        gy: impl Fn(DVec3) -> f64,
    ) -> Dose {
        let grid = Grid::axis_aligned(origin, DVec3::splat(spacing), [size; 3]).unwrap();
        let voxels = (0..grid.len()).map(|n| (n % size, n / size % size, n / size / size));
        let data = voxels
            .map(|(i, j, k)| gy(grid.centre_mm(i, j, k)) as f32)
            .collect();
        Dose {
            gy: Arc::new(Volume::new(Arc::new(grid), data)),
            status: DoseStatus::Final,
            label: label.to_owned(),
            frame_of_reference_uid: "1.2".to_owned(),
            receipt: None,
            caveats: Vec::new(),
            remarks: Vec::new(),
            part: None,
        }
    }

    #[test]
    fn frames_and_places_that_do_not_agree_are_refused_by_name() {
        let a = dose("a", DVec3::ZERO, 2.0, 10, |_| 1.0);
        let mut b = dose("b", DVec3::splat(5.0), 3.0, 4, |_| 1.0);
        assert_eq!(check_pair(&a, &b), Ok(None));
        b.frame_of_reference_uid = "9.9".to_owned();
        let text = check_pair(&a, &b).unwrap_err().to_string();
        assert!(
            ["'a'", "'b'", "1.2", "9.9"]
                .iter()
                .all(|w| text.contains(w)),
            "{text}"
        );
        b.frame_of_reference_uid.clear();
        assert!(
            check_pair(&a, &b)
                .unwrap()
                .unwrap()
                .contains("of B not named")
        );
        // A's box ends at 19 mm, the far one begins there.
        let far = dose("far", DVec3::new(20.0, 0.0, 0.0), 2.0, 4, |_| 1.0);
        assert_eq!(
            check_pair(&a, &far),
            Err(PairError::NoOverlap("a".into(), "far".into()))
        );
        let near = dose("near", DVec3::new(19.9, 0.0, 0.0), 2.0, 4, |_| 1.0);
        assert_eq!(check_pair(&a, &near), Ok(None));
    }

    #[test]
    fn a_dose_a_hundred_times_another_is_likely_in_cgy() {
        for (a, b, which) in [(70.0, 7012.0, "evaluated"), (6990.0, 70.0, "reference")] {
            let said = unit_remark(a, b).expect("a remark");
            assert!(
                said.contains(&format!("the {which} dose is likely in cGy")),
                "{said}"
            );
        }
        for (a, b) in [
            (70.0, 70.0),
            (70.0, 2.0),
            (1.0, 40.0),
            (0.0, 70.0),
            (70.0, 0.0),
            (0.0, 0.0),
        ] {
            assert_eq!(unit_remark(a, b), None, "{a} {b}");
        }
    }

    #[test]
    fn a_turned_box_beside_a_corner_does_not_overlap() {
        let a = dose("a", DVec3::ZERO, 2.0, 10, |_| 1.0);
        let s = 0.5_f64.sqrt();
        let turned = |x: f64| {
            let (row, column) = (DVec3::new(s, s, 0.0), DVec3::new(-s, s, 0.0));
            Grid::new(
                DVec3::new(x, 9.0, 0.0),
                row,
                column,
                [2.0; 2],
                [10; 2],
                &[0.0, 2.0, 4.0],
            )
            .unwrap()
        };
        // The turned box's lowest corner lies at x, its sides run up at 45 degrees: boxes along the axes overlap.
        assert!(overlap(a.gy.grid(), &turned(18.0)));
        let shifted = Grid::new(
            DVec3::new(31.0, 10.0, 0.0),
            DVec3::new(s, s, 0.0),
            DVec3::new(-s, s, 0.0),
            [2.0; 2],
            [10; 2],
            &[0.0, 2.0, 4.0],
        )
        .unwrap();
        // Its leftmost corner lies at 31 - 19 s = 17.6 at y = 23.4, above A's corner at (19, 19).
        assert!(!overlap(a.gy.grid(), &shifted));
    }

    #[test]
    fn weights_make_sums_and_differences_on_the_finer_grid() {
        fn linear(p: DVec3) -> f64 {
            5.0 + 0.1 * p.x - 0.02 * p.y + 0.05 * p.z
        }
        let a = dose("a", DVec3::ZERO, 2.0, 10, linear);
        let mut b = dose("b", DVec3::splat(-4.0), 4.0, 8, linear);
        b.status = DoseStatus::Preview;
        let combination = combined("b - a", &a, &b, [-1.0, 3.0]).unwrap();
        assert_eq!(
            (combination.status, combination.label.as_str()),
            (DoseStatus::Preview, "b - a")
        );
        assert_eq!(**combination.gy.grid(), **a.gy.grid());
        for (i, j, k) in [(0, 0, 0), (3, 7, 2), (9, 9, 9)] {
            let want = 2.0 * linear(a.gy.grid().centre_mm(i, j, k));
            assert!((f64::from(combination.gy.at(i, j, k)) - want).abs() < 1e-4);
        }
        // A copy is the dose itself, whatever the other dose is.
        let mut other = b.clone();
        other.frame_of_reference_uid = "9.9".to_owned();
        let copy = combined("copy", &a, &other, [1.0, 0.0]).unwrap();
        assert_eq!(
            (copy.gy.data(), copy.status),
            (a.gy.data(), DoseStatus::Final)
        );
        assert!(matches!(
            combined("x", &a, &b, [0.0, 0.0]),
            Err(PairError::Weights(..))
        ));
        assert!(matches!(
            combined("x", &a, &other, [1.0, 1.0]),
            Err(PairError::Frames(..))
        ));
    }

    #[test]
    fn where_one_is_not_known_the_sum_is_not() {
        let a = dose("a", DVec3::ZERO, 2.0, 10, |_| 1.0);
        let b = dose("b", DVec3::splat(10.0), 3.0, 4, |_| 1.0);
        let combination = combined("sum", &a, &b, [1.0, 1.0]).unwrap();
        assert!(combination.gy.at(0, 0, 0).is_nan());
        assert_eq!(combination.gy.at(7, 7, 7), 2.0);
    }
}
