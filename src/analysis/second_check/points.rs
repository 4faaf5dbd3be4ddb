//! Points at which a second check compares doses: a point where the plan states one, else the isocentre or the greatest
//! dose.

use crate::value_at;
use case::{Beam, BeamDose, Plan};
use geometry::Volume;
use glam::DVec3;

/// A point with less than this share of the greatest dose lies in the penumbra or outside the beam, where a small shift makes a
/// large difference.
const LEAST_SHARE: f64 = 0.3;

/// Stated points nearer than this are one, mm.
const SAME_PLACE_MM: f64 = 0.5;

/// A point and what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct DosePoint {
    pub place: String,
    pub point_mm: DVec3,
}

impl DosePoint {
    fn new(place: &str, point_mm: DVec3) -> Self {
        Self {
            place: place.to_owned(),
            point_mm,
        }
    }
}

/// The point of a plan: a dose reference point, the common point of its beam doses, the common isocentre, else the place of the
/// greatest planned dose. `None` for a dose that is zero everywhere.
pub fn plan_point(
    plan: &Plan,
    references: &[(String, DVec3)],
    beam_doses: &[BeamDose],
    planned: &Volume<f32>,
) -> Option<DosePoint> {
    let stated = references.iter().map(|(name, point_mm)| {
        DosePoint::new(&format!("the dose reference point '{name}'"), *point_mm)
    });
    let common = common_point(beam_doses.iter().map(|dose| dose.point_mm));
    let common =
        common.map(|point_mm| DosePoint::new("the point of the plan's beam doses", point_mm));
    let treated = plan
        .beams
        .iter()
        .filter(|beam| !beam.setup)
        .map(|beam| beam.isocentre_mm);
    let isocentre = common_point(treated).map(|point_mm| DosePoint::new("the isocentre", point_mm));
    chosen(stated.chain(common).chain(isocentre), planned)
}

/// The point of a beam: the point of its stated dose, its isocentre, else the place of its greatest planned dose.
pub fn beam_point(
    beam: &Beam,
    beam_doses: &[BeamDose],
    planned: &Volume<f32>,
) -> Option<DosePoint> {
    let stated = beam_doses.iter().find(|dose| dose.beam == beam.number);
    let stated = stated.map(|dose| DosePoint::new("the point of its beam dose", dose.point_mm));
    let isocentre = DosePoint::new("the isocentre", beam.isocentre_mm);
    chosen(stated.into_iter().chain([isocentre]), planned)
}

/// The one place of all points.
pub fn common_point(mut points: impl Iterator<Item = DVec3>) -> Option<DVec3> {
    let first = points.next()?;
    points
        .all(|point| point.distance(first) < SAME_PLACE_MM)
        .then_some(first)
}

fn chosen(
    mut candidates: impl Iterator<Item = DosePoint>,
    planned: &Volume<f32>,
) -> Option<DosePoint> {
    let (greatest_gy, greatest_mm) = greatest(planned)?;
    let in_beam = candidates.find(|point| {
        value_at(planned, point.point_mm).is_some_and(|gy| gy >= LEAST_SHARE * greatest_gy)
    });
    in_beam.or_else(|| Some(DosePoint::new("the greatest planned dose", greatest_mm)))
}

/// Whether all face neighbours of a voxel have half of its dose or more.
fn has_supporting_neighbours(volume: &Volume<f32>, n: usize) -> bool {
    let [nx, ny, nz] = volume.grid().size();
    let data = volume.data();
    let half_gy = 0.5 * data[n];
    [
        (n % nx, nx, 1),
        (n / nx % ny, ny, nx),
        (n / (nx * ny), nz, nx * ny),
    ]
    .iter()
    .all(|&(index, size, step)| {
        (index == 0 || data[n - step] >= half_gy)
            && (index + 1 == size || data[n + step] >= half_gy)
    })
}

/// The greatest dose above zero, Gy, and its place: of the voxels whose neighbours have half of it or more, since a voxel by itself is
/// noise or a fault; of all where none has.
fn greatest(volume: &Volume<f32>) -> Option<(f64, DVec3)> {
    let [nx, ny, _] = volume.grid().size();
    let data = volume.data();
    let candidates = data
        .iter()
        .enumerate()
        .filter(|(_, gy)| gy.is_finite() && **gy > 0.0);
    let supported = candidates
        .clone()
        .filter(|(n, _)| has_supporting_neighbours(volume, *n));
    let (n, gy) = supported
        .max_by(|a, b| a.1.total_cmp(b.1))
        .or_else(|| candidates.max_by(|a, b| a.1.total_cmp(b.1)))?;
    Some((
        f64::from(*gy),
        volume.grid().centre_mm(n % nx, n / nx % ny, n / (nx * ny)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;
    use geometry::Grid;
    use std::sync::Arc;

    /// 10 Gy from x = 0 to 20 mm, 1 Gy beyond, 11 Gy at one voxel.
    fn volume() -> Volume<f32> {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [20, 3, 3]).unwrap();
        let mut data: Vec<f32> = (0..grid.len())
            .map(|n| if n % 20 <= 10 { 10.0 } else { 1.0 })
            .collect();
        data[grid.index(3, 1, 2)] = 11.0;
        Volume::new(Arc::new(grid), data)
    }

    fn plan(isocentres: &[DVec3]) -> Plan {
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = isocentres
            .iter()
            .enumerate()
            .map(|(n, isocentre_mm)| {
                Beam::fixed(
                    "B",
                    n as u32 + 1,
                    0.0,
                    *isocentre_mm,
                    Jaws::symmetric(100.0, 100.0),
                    1.0,
                )
            })
            .collect();
        plan
    }

    #[test]
    fn stated_points_go_first_where_they_lie_in_the_dose() {
        let (inside, outside) = (DVec3::new(8.0, 2.0, 2.0), DVec3::new(36.0, 2.0, 2.0));
        let reference = |point_mm| vec![("MUREF".to_owned(), point_mm)];
        let beam_dose = |beam, point_mm| BeamDose {
            beam,
            point_mm,
            gy: 1.0,
        };
        let place = |references: &[(String, DVec3)], doses: &[BeamDose], isocentres: &[DVec3]| {
            plan_point(&plan(isocentres), references, doses, &volume())
                .unwrap()
                .place
        };
        assert!(place(&reference(inside), &[], &[inside]).contains("'MUREF'"));
        // A reference point of an organ at risk lies in low dose.
        assert_eq!(place(&reference(outside), &[], &[inside]), "the isocentre");
        let doses = [beam_dose(1, inside), beam_dose(2, inside)];
        assert_eq!(
            place(&[], &doses, &[outside]),
            "the point of the plan's beam doses"
        );
        assert_eq!(
            place(&[], &[], &[inside, outside]),
            "the greatest planned dose"
        );
        let point_mm = plan_point(&plan(&[]), &[], &[], &volume())
            .unwrap()
            .point_mm;
        assert_eq!(point_mm, DVec3::new(6.0, 2.0, 4.0));
        let beam = &plan(&[inside, outside]).beams[1];
        assert_eq!(
            beam_point(beam, &doses, &volume()).unwrap().place,
            "the point of its beam dose"
        );
        assert_eq!(
            beam_point(beam, &[], &volume()).unwrap().place,
            "the greatest planned dose"
        );
    }

    /// A voxel of 64 Gy is not the point, and does not put voxels of 10 Gy into the penumbra.
    #[test]
    fn a_hot_voxel_is_no_point() {
        let mut hot = volume();
        let voxel = hot.grid().index(5, 0, 0);
        let mut data = hot.data().to_vec();
        data[voxel] = 64.0;
        hot = Volume::new(Arc::clone(hot.grid()), data);
        let inside = DVec3::new(16.0, 2.0, 2.0);
        assert_eq!(
            plan_point(&plan(&[inside]), &[], &[], &hot).unwrap().place,
            "the isocentre"
        );
        assert_eq!(
            plan_point(&plan(&[]), &[], &[], &hot).unwrap().point_mm,
            DVec3::new(6.0, 2.0, 4.0)
        );
    }

    #[test]
    fn a_dose_of_nothing_has_no_point() {
        let grid = Arc::clone(volume().grid());
        let zero = Volume::new(Arc::clone(&grid), vec![0.0; grid.len()]);
        assert_eq!(plan_point(&plan(&[DVec3::ZERO]), &[], &[], &zero), None);
        let unknown = Volume::new(Arc::clone(&grid), vec![f32::NAN; grid.len()]);
        assert_eq!(plan_point(&plan(&[DVec3::ZERO]), &[], &[], &unknown), None);
    }
}
