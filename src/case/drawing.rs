//! A stroke of a brush on a structure's contours.

use super::{Contour, Contours};
use geometry::polygons::{Boolean, Ring, area_mm2, clean, combine, signed_area_mm2, thinned};
use geometry::{Grid, Section, section_at};
use glam::DVec3;
use std::collections::BTreeMap;
use thiserror::Error;

/// Contours nearer than this to a plane of the CT lie on it, mm.
const SAME_PLANE_MM: f64 = 0.1;

/// Corners that move a contour by less are left out, mm: a tenth of a pixel of a CT.
const SIMPLE_MM: f64 = 0.05;

/// Corners of the stroke itself, mm: less, as its pieces are joined one by one.
const SIMPLE_STROKE_MM: f64 = 0.01;

/// Polygons smaller than this are crumbs of a stroke's edge, mm2.
const CRUMB_MM2: f64 = 0.02;

/// Why a structure cannot be drawn on.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DrawError {
    #[error("its contours do not lie on planes parallel to those of the CT")]
    Oblique,
}

/// A stroke in progress: what lay on each of its planes before, and what it covers there.
#[derive(Debug, Default)]
pub struct Drawn {
    erase: bool,
    planes: BTreeMap<usize, Touched>,
}

#[derive(Debug, Default)]
struct Touched {
    before: Vec<Ring>,
    stroke: Vec<Ring>,
    /// Area of the structure under the stroke so far.
    area_mm2: f64,
}

impl Drawn {
    pub fn new(erase: bool) -> Self {
        Self {
            erase,
            planes: BTreeMap::new(),
        }
    }

    /// Draws sections on the planes of `grid`, or erases them. `contours` are those that the last part of the stroke
    /// returned, at first the structure's. `None` where nothing changes.
    ///
    /// # Errors
    /// [`DrawError`].
    pub fn add(
        &mut self,
        contours: &Contours,
        grid: &Grid,
        sections: Vec<Section>,
    ) -> Result<Option<Contours>, DrawError> {
        let first = self.planes.is_empty();
        if first && contours.iter().any(|c| !is_level(c, grid)) {
            return Err(DrawError::Oblique);
        }
        let mut pieces: BTreeMap<usize, Vec<Ring>> = BTreeMap::new();
        for Section { plane, polygon } in sections {
            pieces.entry(plane).or_default().push(polygon);
        }
        let mut changed: BTreeMap<usize, Vec<Ring>> = BTreeMap::new();
        for (plane, polygons) in pieces {
            let touched = self.planes.entry(plane).or_insert_with(|| {
                let rings = on_plane(contours, grid, plane);
                Touched {
                    area_mm2: area_mm2(&clean(&rings)),
                    before: rings,
                    stroke: Vec::new(),
                }
            });
            let stroke = combine(&touched.stroke, &polygons, Boolean::Union);
            touched.stroke = stroke
                .iter()
                .map(|ring| thinned(ring, SIMPLE_STROKE_MM))
                .collect();
            let how = if self.erase {
                Boolean::Difference
            } else {
                Boolean::Union
            };
            let after = combine(&touched.before, &touched.stroke, how);
            // A stroke only adds, or only takes away: an equal area is an equal section.
            let area_mm2 = area_mm2(&after);
            if (area_mm2 - touched.area_mm2).abs() < CRUMB_MM2 {
                continue;
            }
            touched.area_mm2 = area_mm2;
            let rings = after
                .iter()
                .filter(|ring| signed_area_mm2(ring).abs() > CRUMB_MM2);
            changed.insert(plane, rings.map(|ring| thinned(ring, SIMPLE_MM)).collect());
        }
        if changed.is_empty() {
            return Ok(None);
        }
        let mut drawn: Vec<Contour> = Vec::new();
        for (plane, polygons) in &changed {
            let z = grid.planes_mm()[*plane];
            drawn.extend(polygons.iter().map(|polygon| {
                Contour {
                    points_mm: polygon
                        .iter()
                        .map(|p| grid.patient_from_local(DVec3::new(p[0], p[1], z)))
                        .collect(),
                    image_uid: None,
                }
            }));
        }
        Ok(Some(contours.replaced(
            |contour| plane_of(contour, grid).is_some_and(|plane| changed.contains_key(&plane)),
            drawn,
        )))
    }
}

/// The plane of the grid that a contour lies on.
fn plane_of(contour: &Contour, grid: &Grid) -> Option<usize> {
    let z = grid.local_from_patient(*contour.points_mm.first()?).z;
    let planes = grid.planes_mm();
    let after = planes.partition_point(|p| *p < z - SAME_PLANE_MM);
    (after < planes.len() && planes[after] <= z + SAME_PLANE_MM).then_some(after)
}

fn is_level(contour: &Contour, grid: &Grid) -> bool {
    let normal = grid.axes()[2];
    let along = contour.points_mm.iter().map(|p| p.dot(normal));
    let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), z| {
        (l.min(z), h.max(z))
    });
    contour.points_mm.len() < 3 || high - low < 2.0 * SAME_PLANE_MM
}

/// The structure on a plane of the grid: its contours there, else what its neighbouring contours say of it.
fn on_plane(contours: &Contours, grid: &Grid, plane: usize) -> Vec<Ring> {
    let on_plane = contours
        .iter()
        .filter(|c| plane_of(c, grid) == Some(plane) && c.points_mm.len() > 2);
    let rings: Vec<Ring> = { on_plane }
        .map(|c| {
            c.points_mm
                .iter()
                .map(|p| grid.local_from_patient(*p))
                .map(|p| [p.x, p.y])
                .collect()
        })
        .collect();
    if !rings.is_empty() {
        return rings;
    }
    let polygons: Vec<&[DVec3]> = contours.iter().map(|c| c.points_mm.as_slice()).collect();
    section_at(grid, &polygons, plane)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Case, Edit, History, Structure, StructureKind, StructureSet};
    use geometry::{Mask, disc_stroke, sphere_stroke};
    use std::collections::BTreeSet;
    use std::f64::consts::PI;
    use std::sync::Arc;

    fn grid() -> Arc<Grid> {
        let origin = DVec3::new(-49.5, -49.5, -30.0);
        Arc::new(Grid::axis_aligned(origin, DVec3::new(1.0, 1.0, 2.0), [100, 100, 31]).unwrap())
    }

    fn volume_cm3(grid: &Arc<Grid>, contours: &Contours) -> f64 {
        let polygons: Vec<&[DVec3]> = contours.iter().map(|c| c.points_mm.as_slice()).collect();
        Mask::from_contours(grid, &polygons, &|_| true)
            .expect("a mask")
            .volume_cm3()
    }

    fn near(got: f64, want: f64, share: f64) {
        assert!((got / want - 1.0).abs() < share, "{got} for {want}");
    }

    fn dab(contours: &Contours, radius_mm: f64, centre_mm: DVec3, erase: bool) -> Contours {
        let sections = disc_stroke(&grid(), DVec3::Z, centre_mm, centre_mm, radius_mm).unwrap();
        let drawn = Drawn::new(erase).add(contours, &grid(), sections).unwrap();
        drawn.unwrap_or_else(|| contours.clone())
    }

    #[test]
    fn a_disc_with_a_hole_has_the_area_between_two_circles() {
        let disc = dab(&Contours::default(), 20.0, DVec3::ZERO, false);
        near(volume_cm3(&grid(), &disc), PI * 400.0 * 2.0 / 1000.0, 3e-3);
        let ring = dab(&disc, 8.0, DVec3::new(2.0, -1.0, 0.0), true);
        assert_eq!(ring.len(), 2);
        near(
            volume_cm3(&grid(), &ring),
            PI * (400.0 - 64.0) * 2.0 / 1000.0,
            3e-3,
        );
        // Inside the disc nothing is left to draw.
        let again = disc_stroke(&grid(), DVec3::Z, DVec3::ZERO, DVec3::ZERO, 15.0).unwrap();
        let filled = Drawn::new(false)
            .add(&ring, &grid(), again)
            .unwrap()
            .expect("the hole is filled");
        near(
            volume_cm3(&grid(), &filled),
            PI * 400.0 * 2.0 / 1000.0,
            3e-3,
        );
        assert!(dab(&disc, 30.0, DVec3::ZERO, true).is_empty(), "erased");
        assert_eq!(
            dab(&disc, 15.0, DVec3::ZERO, false).id(),
            disc.id(),
            "nothing to add"
        );
        let outside_mm = DVec3::new(40.0, 0.0, 0.0);
        assert_eq!(
            dab(&disc, 5.0, outside_mm, true).id(),
            disc.id(),
            "nothing to take away"
        );
    }

    /// The union of many short pieces is the capsule of the whole way, and has few corners.
    #[test]
    fn a_stroke_in_pieces_is_the_stroke() {
        let mut contours = Contours::default();
        let mut drawn = Drawn::new(false);
        for n in 0..80 {
            let [from_mm, to_mm] =
                [n, n + 1].map(|n| DVec3::new(-20.0 + f64::from(n) * 0.5, 0.0, 4.0));
            let piece = disc_stroke(&grid(), DVec3::Z, from_mm, to_mm, 6.0).unwrap();
            if let Some(next) = drawn.add(&contours, &grid(), piece).unwrap() {
                contours = next;
            }
        }
        assert_eq!(contours.len(), 1);
        assert!(
            contours[0].points_mm.len() < 100,
            "{} corners",
            contours[0].points_mm.len()
        );
        near(
            volume_cm3(&grid(), &contours),
            (PI * 36.0 + 40.0 * 12.0) * 2.0 / 1000.0,
            5e-3,
        );
    }

    #[test]
    fn other_planes_stay_as_they_are() {
        let both = dab(
            &dab(&Contours::default(), 10.0, DVec3::ZERO, false),
            12.0,
            DVec3::Z * 2.0,
            false,
        );
        let cut = dab(&both, 5.0, DVec3::ZERO, true);
        let [above_both, above_cut] =
            [&both, &cut].map(|contours| contours.iter().find(|c| c.points_mm[0].z > 1.0).cloned());
        assert_eq!(above_both, above_cut);
        assert_eq!(cut.len(), 3);
    }

    /// The middle of a plane of the grid.
    fn plane(k: i32) -> DVec3 {
        DVec3::Z * (f64::from(k % 31) * 2.0 - 30.0)
    }

    fn structure(contours: Contours) -> Structure {
        Structure {
            contours,
            ..Structure::new("S", 1, StructureKind::Other)
        }
    }

    fn points(contours: &Contours) -> Vec<Contour> {
        contours.iter().map(|c| Contour::clone(c)).collect()
    }

    /// Steps hold more than once only the planes that strokes touched.
    #[test]
    fn undo_shares_the_planes_that_strokes_left_alone_and_returns_to_the_bit() {
        let cylinder = (0..31).fold(Contours::default(), |c, k| dab(&c, 25.0, plane(k), false));

        let set = StructureSet {
            structures: vec![structure(cylinder.clone())],
            ..StructureSet::default()
        };
        let mut history = History::new(Case {
            structures: Arc::new(set),
            ..Case::default()
        });

        let (mut steps, mut copies, mut drawn) = (
            vec![cylinder.clone()],
            vec![points(&cylinder)],
            cylinder.len(),
        );
        for n in 0..120 {
            let previous = &steps[steps.len() - 1];
            let (sin, cos) = f64::from(n).sin_cos();
            let centre_mm = plane(n) + DVec3::new(22.0 * cos, 22.0 * sin, 0.0);
            let after = dab(previous, 8.0, centre_mm, n % 3 == 0);
            assert_ne!(after.id(), previous.id());
            for contour in after.iter() {
                if (contour.points_mm[0].z - centre_mm.z).abs() < 0.1 {
                    drawn += 1;
                } else {
                    assert!(previous.iter().any(|c| Arc::ptr_eq(c, contour)));
                }
            }
            history
                .apply(
                    Edit::SetStructure {
                        index: 0,
                        value: structure(after.clone()),
                    },
                    None,
                )
                .unwrap();
            copies.push(points(&after));
            steps.push(after);
        }
        let held: BTreeSet<*const Contour> = steps.iter().flatten().map(Arc::as_ptr).collect();
        assert_eq!(held.len(), drawn);
        for (step, copy) in steps.iter().zip(&copies).rev() {
            let undone = &history.case().structures.structures[0].contours;
            assert_eq!((undone.id(), points(undone)), (step.id(), copy.clone()));
            history.undo();
        }
    }

    /// A structure on every third plane is erased between its contours as well.
    #[test]
    fn between_drawn_planes_the_stroke_meets_what_is_shown_there() {
        let sparse: Contours = (0..4).fold(Contours::default(), |c, n| {
            dab(&c, 20.0, DVec3::Z * f64::from(6 * n), false)
        });
        let sparse_cm3 = volume_cm3(&grid(), &sparse);
        let cut = dab(&sparse, 20.5, DVec3::new(20.0, 0.0, 8.0), true);
        let counts = [&sparse, &cut].map(|contours| {
            contours
                .iter()
                .filter(|c| (c.points_mm[0].z - 8.0).abs() < 0.1)
                .count()
        });
        assert_eq!(counts, [0, 1]);
        assert!(volume_cm3(&grid(), &cut) < sparse_cm3);
    }

    #[test]
    fn a_sphere_in_two_strokes_is_a_sphere() {
        let centre_mm = DVec3::new(3.0, 4.0, 1.0);
        let mut contours = Contours::default();
        for _ in 0..2 {
            let sphere = sphere_stroke(&grid(), centre_mm, centre_mm, 15.0).unwrap();
            contours = Drawn::new(false)
                .add(&contours, &grid(), sphere)
                .unwrap()
                .unwrap_or(contours);
        }
        near(volume_cm3(&grid(), &contours), 4.0 / 3.0 * PI * 3.375, 0.01);
    }

    #[test]
    fn contours_across_the_planes_are_not_drawn_on() {
        let points_mm = [[0.0, 0.0], [9.0, 0.0], [9.0, 9.0]]
            .map(|[x, z]| DVec3::new(x, 0.0, z))
            .to_vec();
        let coronal: Contours = vec![Contour {
            points_mm,
            image_uid: None,
        }]
        .into();
        let sections = disc_stroke(&grid(), DVec3::Z, DVec3::ZERO, DVec3::ZERO, 5.0).unwrap();
        assert_eq!(
            Drawn::new(false).add(&coronal, &grid(), sections),
            Err(DrawError::Oblique)
        );
    }
}
