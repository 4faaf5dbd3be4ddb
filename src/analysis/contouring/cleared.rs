//! Contours cleared on a slice, or all on one side of it.

use super::{ContouringError, MadeContours, OperationContext};
use case::Structure;
use geometry::polygons::{self, Boolean, Ring};
use geometry::{Plane, Stack};
use glam::DVec3;

/// The part of a structure that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleared {
    /// The slice of the CT at the position: one voxel thick.
    Slice,
    /// All beyond that slice, towards the greater coordinates of the patient (left, posterior, superior) or the smaller ones.
    Beyond { greater: bool },
}

impl OperationContext<'_> {
    /// Clears a part along an axis of the patient: x for sagittal slices, y for coronal and z for axial ones. Slices are the
    /// CT's, along the axis of its grid that lies nearest.
    pub(super) fn cleared(
        &self,
        structure: &Structure,
        stack: &Stack,
        at_mm: DVec3,
        axis: usize,
        part: Cleared,
    ) -> Result<MadeContours, ContouringError> {
        let cosines = self.grid.axes().map(|grid_axis| grid_axis[axis]);
        let along = (0..3)
            .max_by(|a, b| cosines[*a].abs().total_cmp(&cosines[*b].abs()))
            .unwrap_or(axis);
        let edges = self.grid.edges_mm(along);
        let local_mm = self.grid.local_from_patient(at_mm)[along];
        let k = edges
            .partition_point(|e| *e <= local_mm)
            .clamp(1, edges.len() - 1)
            - 1;
        let ascending = cosines[along] >= 0.0;
        let [low, high] = match part {
            Cleared::Slice => [edges[k], edges[k + 1]],
            Cleared::Beyond { greater } if greater == ascending => [edges[k + 1], f64::INFINITY],
            Cleared::Beyond { .. } => [f64::NEG_INFINITY, edges[k]],
        };
        let contours = if along == 2 {
            structure.contours.replaced(
                |c| self.height_mm(c).is_some_and(|z| low <= z && z < high),
                Vec::new(),
            )
        } else {
            self.cut_across(structure, stack, along, [low, high])?
        };
        if contours == structure.contours {
            return Err(ContouringError::NothingThere(structure.name.clone()));
        }
        let between = along == 2 && part == Cleared::Slice && {
            let heights = contours.iter().filter_map(|c| c.points_mm.first());
            let heights: Vec<f64> = heights
                .map(|p| self.grid.local_from_patient(*p).z)
                .collect();
            heights.iter().any(|z| *z < low) && heights.iter().any(|z| *z >= high)
        };
        let told = "the slice lies between drawn ones, which fill it half-way: volume and dose count it until all on one side is \
                    cleared";
        let remarks = between.then(|| told.to_owned()).into_iter().collect();
        Ok(MadeContours {
            contours,
            done: None,
            remarks,
        })
    }

    /// The contours without the strip from `low` to `high` along axis 0 or 1 of the grid. Planes that it does not meet keep theirs.
    fn cut_across(
        &self,
        structure: &Structure,
        stack: &Stack,
        along: usize,
        [low, high]: [f64; 2],
    ) -> Result<case::Contours, ContouringError> {
        let mut cut = Vec::new();
        for plane in &stack.planes {
            self.check()?;
            let [reach, across] = [along, 1 - along].map(|axis| reach(&plane.rings, axis));
            if reach[0] < high && low < reach[1] {
                let ([from, to], [left, right]) = (
                    [low.max(reach[0] - 1.0), high.min(reach[1] + 1.0)],
                    [across[0] - 1.0, across[1] + 1.0],
                );
                let mut corners = vec![[from, left], [to, left], [to, right], [from, right]];
                if along == 1 {
                    corners.iter_mut().for_each(|corner| corner.swap(0, 1));
                }
                let strip: [Ring; 1] = [corners];
                let rings = polygons::combine(&plane.rings, &strip, Boolean::Difference);
                cut.push(Plane {
                    z_mm: plane.z_mm,
                    rings,
                });
            }
        }
        let contours = structure.contours.replaced(
            |c| {
                let height_mm = self.height_mm(c);
                height_mm.is_some_and(|z| {
                    cut.iter()
                        .any(|plane| (plane.z_mm - z).abs() < super::SAME_PLANE_MM)
                })
            },
            self.contours(&cut),
        );
        Ok(contours)
    }
}

/// Least and greatest coordinate of rings along an axis.
fn reach(rings: &[Ring], axis: usize) -> [f64; 2] {
    let along = rings.iter().flatten().map(|p| p[axis]);
    along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| {
        [low.min(x), high.max(x)]
    })
}
