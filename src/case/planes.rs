//! Contours of a structure by plane, those that repeat or overlap one another on it mended.

use super::Contour;
use geometry::polygons::{Ring, area_mm2, clean, signed_area_mm2};
use geometry::{OverlapRule, Resolved, is_same_ring, resolved};
use glam::DVec3;
use std::sync::Arc;

/// Contours closer along the normal lie on one plane, as for the voxels of a structure, mm.
const SAME_PLANE_MM: f64 = 0.1;

/// Points of a contour leave its plane by less, mm.
const FLAT_MM: f64 = 0.25;

/// How many contours were not taken as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Contours that are there again on their plane, or go round twice: they count once.
    pub repeated: usize,
    /// Contours that overlap another on their plane: their union counts.
    pub overlapping: usize,
    /// Contours of planes where too many lie across one another: they combine by exclusive-or.
    pub unclear: usize,
}

impl Mended {
    /// Remarks on it.
    pub fn remarks(&self) -> Vec<String> {
        let remarks = [
            (
                self.repeated,
                "repeat another on their plane, within 0.1 mm, and count once",
            ),
            (
                self.overlapping,
                "overlap others on their plane without being holes: their union counts",
            ),
            (
                self.unclear,
                "lie on planes where too many overlap to be told apart: they combine by exclusive-or, and what two of them \
                 share is left out; correct them in the planning system",
            ),
        ];
        let counted = remarks.into_iter().filter(|(contours, _)| *contours > 0);
        counted
            .map(|(contours, what)| format!("{contours} contour(s) {what}"))
            .collect()
    }
}

/// The contours with repetitions once, and the union in place of those that overlap.
pub(super) fn mended(list: Vec<Arc<Contour>>, rule: OverlapRule) -> (Vec<Arc<Contour>>, Mended) {
    let mut mended = Mended::default();
    let mut list = list;
    if rule == OverlapRule::Union {
        for contour in &mut list {
            if let Some(points_mm) = gone_round_once(&contour.points_mm) {
                mended.repeated += 1;
                *contour = Arc::new(Contour {
                    points_mm,
                    image_uid: contour.image_uid.clone(),
                });
            }
        }
    }
    let Some(frame) = Frame::new(&list) else {
        return (list, mended);
    };
    // What becomes of each contour: it stays, or goes with others in its place.
    let mut goes = vec![false; list.len()];
    let mut more: Vec<Arc<Contour>> = Vec::new();
    for (z_mm, plane) in frame.planes(&list) {
        if plane.len() < 2 {
            continue;
        }
        let rings: Vec<Ring> = plane.iter().map(|&n| frame.ring(&list[n])).collect();
        match resolved(&rings, rule) {
            Resolved::AsTheyAre => {}
            Resolved::TooMany => mended.unclear += plane.len(),
            Resolved::Kept(kept) => {
                mended.repeated += plane.len() - kept.len();
                plane.iter().for_each(|&n| goes[n] = true);
                kept.iter().for_each(|&k| goes[plane[k]] = false);
            }
            Resolved::Remade {
                rings,
                repeated,
                overlapping,
            } => {
                mended.repeated += repeated;
                mended.overlapping += overlapping;
                plane.iter().for_each(|&n| goes[n] = true);
                let image_uid = &list[plane[0]].image_uid;
                more.extend(rings.iter().map(|ring| {
                    let points_mm = ring
                        .iter()
                        .map(|p| frame.patient([p[0], p[1], z_mm]))
                        .collect();
                    Arc::new(Contour {
                        points_mm,
                        image_uid: image_uid.clone(),
                    })
                }));
            }
        }
    }
    let mut goes = goes.into_iter();
    list.retain(|_| !goes.next().unwrap_or(false));
    list.extend(more);
    (list, mended)
}

/// The first round of a contour whose points go round twice.
fn gone_round_once(points_mm: &[DVec3]) -> Option<Vec<DVec3>> {
    let (&first, half) = (points_mm.first()?, points_mm.len() / 2);
    let again = (half.saturating_sub(1)..=half + 1).find(|n| {
        *n > 2
            && points_mm
                .get(*n)
                .is_some_and(|p| p.distance(first) < SAME_PLANE_MM)
    })?;
    let frame = Frame::across(normal(&points_mm[..again])?);
    let [once, twice] = [&points_mm[..again], &points_mm[again..]].map(|points| {
        points
            .iter()
            .map(|p| frame.local(*p))
            .map(|[x, y, _]| [x, y])
            .collect::<Ring>()
    });
    is_same_ring(&once, &twice).then(|| points_mm[..again].to_vec())
}

/// The area that a ring holds by the even-odd rule is less than its signed area by twice the parts that it goes round twice; as a share of
/// it, and in mm2: more than rounding and slivers have.
const LEAST_WOUND_TWICE: f64 = 0.002;
const LEAST_WOUND_TWICE_MM2: f64 = 2.0;

/// Whether a ring goes round a part of its area twice in one sense.
pub(super) fn winds_twice(points_mm: &[DVec3]) -> bool {
    let Some(normal) = normal(points_mm) else {
        return false;
    };
    let frame = Frame::across(normal);
    let ring: Ring = points_mm
        .iter()
        .map(|p| frame.local(*p))
        .map(|[x, y, _]| [x, y])
        .collect();
    let signed_mm2 = signed_area_mm2(&ring).abs();
    let even_odd_mm2 = area_mm2(&clean(&[ring]));
    signed_mm2 - even_odd_mm2 > (LEAST_WOUND_TWICE * signed_mm2).max(LEAST_WOUND_TWICE_MM2)
}

/// Axes of the planes that contours lie on: two along them and the normal.
struct Frame([DVec3; 3]);

impl Frame {
    /// Axial where all contours are, else across the largest; `None` where none is closed.
    fn new(list: &[Arc<Contour>]) -> Option<Self> {
        let mut closed = list
            .iter()
            .map(|c| &c.points_mm)
            .filter(|points| points.len() > 2);
        if closed.clone().all(|points| is_flat(points, DVec3::Z)) {
            return closed.next().map(|_| Self([DVec3::X, DVec3::Y, DVec3::Z]));
        }
        let newell = closed.map(|points| area_normal(points));
        let largest = newell.max_by(|a, b| a.length_squared().total_cmp(&b.length_squared()))?;
        Some(Self::across(largest.try_normalize()?))
    }

    fn across(normal: DVec3) -> Self {
        let x = normal.any_orthonormal_vector();
        Self([x, normal.cross(x), normal])
    }

    fn local(&self, patient_mm: DVec3) -> [f64; 3] {
        self.0.map(|axis| axis.dot(patient_mm))
    }

    fn patient(&self, local_mm: [f64; 3]) -> DVec3 {
        self.0
            .iter()
            .zip(local_mm)
            .map(|(axis, mm)| *axis * mm)
            .sum()
    }

    fn ring(&self, contour: &Contour) -> Ring {
        contour
            .points_mm
            .iter()
            .map(|p| self.local(*p))
            .map(|[x, y, _]| [x, y])
            .collect()
    }

    /// Heights of the planes, mm, and the places in the list of the contours on each; contours across the planes are on none.
    fn planes(&self, list: &[Arc<Contour>]) -> Vec<(f64, Vec<usize>)> {
        let [_, _, normal] = self.0;
        let points = list.iter().map(|c| c.points_mm.as_slice()).enumerate();
        let flat = points.filter(|(_, points)| points.len() > 2 && is_flat(points, normal));
        let mut heights: Vec<(f64, usize)> = flat
            .map(|(n, points)| (height_mm(points, normal), n))
            .collect();
        heights.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut planes: Vec<(f64, Vec<usize>)> = Vec::new();
        for (z, n) in heights {
            match planes.last_mut() {
                Some((first, plane)) if z - *first < SAME_PLANE_MM => plane.push(n),
                _ => planes.push((z, vec![n])),
            }
        }
        // In the order of the list: of repetitions the first stays.
        planes
            .iter_mut()
            .for_each(|(_, plane)| plane.sort_unstable());
        planes
    }
}

/// Mean height of points along a normal, mm.
fn height_mm(points_mm: &[DVec3], normal: DVec3) -> f64 {
    points_mm.iter().map(|p| p.dot(normal)).sum::<f64>() / points_mm.len() as f64
}

fn is_flat(points_mm: &[DVec3], normal: DVec3) -> bool {
    let along = points_mm.iter().map(|p| p.dot(normal));
    let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), z| {
        (l.min(z), h.max(z))
    });
    high - low < FLAT_MM
}

/// The normal of a polygon, as long as twice its area (Newell).
fn area_normal(points_mm: &[DVec3]) -> DVec3 {
    points_mm
        .windows(2)
        .map(|w| (w[0] - points_mm[0]).cross(w[1] - points_mm[0]))
        .sum()
}

fn normal(points_mm: &[DVec3]) -> Option<DVec3> {
    area_normal(points_mm).try_normalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contours;
    use geometry::{Grid, Mask};

    fn rectangle([x0, x1]: [f64; 2], z: f64) -> Contour {
        let corners = [[x0, -20.0], [x1, -20.0], [x1, 20.0], [x0, 20.0]];
        Contour {
            points_mm: corners.map(|[x, y]| DVec3::new(x, y, z)).to_vec(),
            image_uid: None,
        }
    }

    /// `rings` on 11 planes of 3 mm, turned by `turn`: its volume, cm3.
    fn volume_cm3(turn: glam::DQuat, rings: &[[f64; 2]]) -> (f64, Mended) {
        let planes = (-5..=5).map(|k| 3.0 * f64::from(k));
        let rectangles = planes.flat_map(|z| rings.iter().map(move |x| rectangle(*x, z)));
        let turned = rectangles.map(|mut c| {
            c.points_mm.iter_mut().for_each(|p| *p = turn * *p);
            c
        });
        let contours: Contours = turned.collect();
        let grid =
            Grid::axis_aligned(DVec3::splat(-48.0), DVec3::splat(3.0), [33; 3]).expect("a grid");
        let points: Vec<&[DVec3]> = contours.iter().map(|c| c.points_mm.as_slice()).collect();
        let mask = Mask::from_contours(&Arc::new(grid), &points, &|_| true).expect("a mask");
        (mask.volume_cm3(), contours.mended())
    }

    /// An outline of 40 x 40 mm that goes on round its inner 20 x 20 mm, in the same sense or in the other.
    #[test]
    fn a_keyhole_does_not_wind_twice_and_a_second_round_does() {
        let unit_square = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let [outline, inner] = [20.0, 10.0]
            .map(|half_mm| unit_square.map(|[x, y]| DVec3::new(half_mm * x, half_mm * y, 7.0)));
        let mut other_sense = inner;
        other_sense[1..].reverse();
        let [second_round, keyhole] = [inner, other_sense]
            .map(|inner| [&outline[..], &outline[..1], &inner[..], &inner[..1]].concat());
        assert!(!winds_twice(&outline) && !winds_twice(&keyhole) && winds_twice(&second_round));
        let [a, b, c, d] = outline;
        assert!(!winds_twice(&[a, c, b, d]), "a figure of eight");
    }

    #[test]
    fn what_is_there_twice_or_overlaps_has_its_volume() {
        let oblique = glam::DQuat::from_euler(glam::EulerRot::XYZ, 0.3, -0.4, 0.2);
        for (turn, within) in [(glam::DQuat::IDENTITY, 0.05), (oblique, 0.6)] {
            let full_width = [-20.0, 20.0];
            for (rings, mended) in [
                (vec![full_width], Mended::default()),
                (
                    vec![full_width; 2],
                    Mended {
                        repeated: 11,
                        ..Mended::default()
                    },
                ),
                (
                    vec![full_width; 3],
                    Mended {
                        repeated: 22,
                        ..Mended::default()
                    },
                ),
                (
                    vec![full_width, [-20.02, 20.02]],
                    Mended {
                        repeated: 11,
                        ..Mended::default()
                    },
                ),
                (
                    vec![[-20.0, 5.0], [-5.0, 20.0]],
                    Mended {
                        overlapping: 22,
                        ..Mended::default()
                    },
                ),
            ] {
                let (cm3, said) = volume_cm3(turn, &rings);
                assert!((cm3 - 52.8).abs() < within, "{rings:?}: {cm3}");
                assert_eq!(said, mended, "{rings:?}");
            }
        }
    }

    #[test]
    fn a_contour_that_goes_round_twice_counts_once() {
        let round = rectangle([-20.0, 20.0], 3.0).points_mm;
        let back: Vec<DVec3> = round.iter().rev().copied().collect();
        for twice in [
            [round.clone(), round.clone()].concat(),
            [round.clone(), vec![round[0]], round.clone(), vec![round[0]]].concat(),
            [round.clone(), vec![round[0]], back].concat(),
        ] {
            let contours: Contours = vec![Contour {
                points_mm: twice,
                image_uid: None,
            }]
            .into();
            assert_eq!(contours.mended().repeated, 1);
            assert!(contours[0].points_mm.starts_with(&round));
        }
        let contours: Contours = vec![rectangle([-20.0, 20.0], 3.0)].into();
        assert_eq!(
            (contours.mended(), &contours[0].points_mm),
            (Mended::default(), &round)
        );
    }

    #[test]
    fn what_is_not_mended_is_what_came() {
        let came = vec![
            rectangle([-20.0, 20.0], 0.0),
            rectangle([-20.0, 20.0], 3.0),
            rectangle([30.0, 40.0], 0.0),
        ];
        let contours: Contours = came.clone().into();
        assert!(contours.iter().map(|c| Contour::clone(c)).eq(came));
        let line = Contour {
            points_mm: vec![DVec3::ZERO, DVec3::X],
            image_uid: None,
        };
        let odd = Contour {
            points_mm: vec![DVec3::splat(f64::NAN); 4],
            image_uid: None,
        };
        let contours: Contours = vec![line.clone(), odd.clone(), line, odd].into();
        assert_eq!((contours.len(), contours.mended()), (4, Mended::default()));
    }
}
