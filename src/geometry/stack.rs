//! A structure as planes of rings in the frame of a grid, for what is calculated with its shape.

use super::Grid;
use super::polygons::Ring;
use super::slabs::{self, MAX_GAP, Slab};
use glam::DVec3;
use thiserror::Error;

/// A contour whose points leave the grid's planes by less lies along them, mm.
const FLAT_MM: f64 = 0.25;

/// The rings of one plane; they combine by exclusive-or.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// Along the grid's normal, from its first plane, mm.
    pub z_mm: f64,
    /// The grid's frame, mm.
    pub rings: Vec<Ring>,
}

/// A structure's planes, ascending.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    pub planes: Vec<Plane>,
    slabs: Vec<Slab>,
    /// How far the structure goes on beyond each plane, below and above: to the next plane, or to its own end.
    pub(super) ends: Vec<[End; 2]>,
}

/// The structure beyond a plane, on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// The structure goes on to the next plane.
    Joined,
    /// The structure ends this far from the plane, mm.
    After(f64),
}

/// Why contours make no stack.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StackError {
    #[error("contour {0} has a coordinate that is no number")]
    NotFinite(usize),
    #[error("its contours lie across the planes of the CT")]
    Across,
    #[error("cancelled")]
    Cancelled,
}

impl Stack {
    /// Closed contours, patient LPS, mm; contours of fewer than three points are passed over.
    ///
    /// # Errors
    /// [`StackError`].
    pub fn new(grid: &Grid, contours: &[&[DVec3]]) -> Result<Self, StackError> {
        if let Some(n) = contours
            .iter()
            .position(|c| c.iter().any(|p| !p.is_finite()))
        {
            return Err(StackError::NotFinite(n));
        }
        let closed = contours.iter().filter(|c| c.len() >= 3);
        let local: Vec<Vec<DVec3>> = closed
            .map(|c| c.iter().map(|&p| grid.local_from_patient(p)).collect())
            .collect();
        if !local
            .iter()
            .all(|c: &Vec<DVec3>| c.iter().all(|p| (p.z - c[0].z).abs() < FLAT_MM))
        {
            return Err(StackError::Across);
        }
        if local.is_empty() {
            return Ok(Self::default());
        }
        let slabs = slabs::level(&local, grid);
        let (z, rings) = slabs::by_plane(&local);
        let ends = ends(&z, grid);
        let planes = z
            .into_iter()
            .zip(rings)
            .map(|(z_mm, rings)| Plane { z_mm, rings })
            .collect();
        Ok(Self {
            planes,
            slabs,
            ends,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.planes.is_empty()
    }

    /// The rings at a height: the rings of the contour plane that stands for it in the volume and the DVH.
    pub fn section(&self, z_mm: f64) -> &[Ring] {
        let slab = self
            .slabs
            .iter()
            .find(|s| s.reach_mm[0] <= z_mm && z_mm < s.reach_mm[1]);
        slab.map_or(&[], |s| &s.polygons)
    }

    /// Lowest and highest coordinates of the corners, in the plane.
    pub(super) fn bounds(&self) -> [[f64; 2]; 2] {
        let mut bounds = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        for p in self.planes.iter().flat_map(|p| &p.rings).flatten() {
            for axis in 0..2 {
                bounds[axis] = [bounds[axis][0].min(p[axis]), bounds[axis][1].max(p[axis])];
            }
        }
        bounds
    }

    /// Lowest and highest end along the normal, mm; `None` where the stack is empty.
    pub(super) fn reach_mm(&self) -> Option<[f64; 2]> {
        let end = |n: usize, side: usize| match self.ends[n][side] {
            End::Joined => 0.0,
            End::After(mm) => mm,
        };
        let last = self.planes.len().checked_sub(1)?;
        Some([
            self.planes[0].z_mm - end(0, 0),
            self.planes[last].z_mm + end(last, 1),
        ])
    }
}

/// Planes are joined where the next is not far (as for the volume); elsewhere they end as there: half a step beyond, and no
/// further than the plane of the grid reaches.
fn ends(z: &[f64], grid: &Grid) -> Vec<[End; 2]> {
    let centres = grid.planes_mm();
    let edges = grid.edges_mm(2);
    let nearest = |z: f64| edges.partition_point(|&e| e <= z).clamp(1, centres.len()) - 1;
    let mut steps: Vec<f64> = z.windows(2).map(|w| w[1] - w[0]).collect();
    steps.sort_by(f64::total_cmp);
    let lone = edges[nearest(z[0]) + 1] - edges[nearest(z[0])];
    let usual = steps
        .get((steps.len().max(1) - 1) / 2)
        .copied()
        .unwrap_or(lone);
    let neighbours = |a: f64, b: f64| {
        let on = |z: f64| (centres[nearest(z)] - z).abs() < 0.1;
        on(a) && on(b) && nearest(b) == nearest(a) + 1
    };
    let joined = |n: usize| z[n + 1] - z[n] <= MAX_GAP * usual || neighbours(z[n], z[n + 1]);
    (0..z.len())
        .map(|n: usize| {
            let below = n > 0 && joined(n - 1);
            let above = n + 1 < z.len() && joined(n);
            let half = 0.5
                * match (below, above) {
                    (true, false) => z[n] - z[n - 1],
                    (false, true) => z[n + 1] - z[n],
                    _ => usual,
                };
            // Ends that taper would be right for spheres and wrong for whatever ends flat.
            let beyond = slabs::beyond_mm(z[n], grid, half);
            [(below, beyond[0]), (above, beyond[1])]
                .map(|(joined, mm)| if joined { End::Joined } else { End::After(mm) })
        })
        .collect()
}
