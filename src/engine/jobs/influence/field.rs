//! The voxels that the focal source lights, and the part of each beamlet in their TERMA.

use super::{InfluenceRequest, OpenField};
use crate::jobs::cccs::angles::TiltNorm;
use crate::jobs::cccs::beam::{Superposition, mass_of};
use crate::jobs::cccs::medium::Medium;
use crate::jobs::cccs::terma::open_terma;
use crate::{Cancelled, JobControl};
use bytemuck::{Pod, Zeroable};
use geometry::Volume;
use physics::Shares;
use physics::kernel_beam::CHANNELS;
use rayon::prelude::*;

/// Voxels with focal TERMA of any beamlet.
#[derive(Default)]
pub struct Lit {
    /// Indices into the medium's grid, ascending.
    pub voxels: Vec<u32>,
    /// TERMA by channel of a voxel under the unobstructed focal source, Gy for one photon per cm2 on the axis at the isocentre, tilt
    /// normalisation included.
    pub terma: Vec<[f32; CHANNELS]>,
    pub tubes: Tubes,
}

/// The lit voxels of each beamlet, one beamlet after another.
#[derive(Default)]
pub struct Tubes {
    /// First share of each beamlet, and one past the last.
    pub first: Vec<u32>,
    /// Shares of the unobstructed focal fluence, by lit voxel.
    pub shares: Vec<Share>,
}

/// A part of something numbered: a lit or sampled voxel, or a beamlet.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Share {
    pub number: u32,
    pub share: f32,
}

impl Tubes {
    pub fn of(&self, beamlet: usize) -> &[Share] {
        &self.shares[self.first[beamlet] as usize..self.first[beamlet + 1] as usize]
    }
}

/// One plane's part of [`Lit`].
#[derive(Default)]
struct Plane {
    voxels: Vec<u32>,
    terma: Vec<[f32; CHANNELS]>,
    /// Beamlet among those asked for, number of the lit voxel in the plane, share.
    entries: Vec<(u32, u32, f32)>,
}

impl Lit {
    pub fn new(
        request: &InfluenceRequest,
        field: &OpenField,
        (beam, tilt): (&Superposition, &TiltNorm),
        medium: &Medium,
        depth_mm: &Volume<f32>,
        control: &JobControl,
    ) -> Result<Self, Cancelled> {
        let [.., nz] = medium.grid.size();
        let mut asked = vec![u32::MAX; field.map.values.len()];
        request.beamlets.iter().enumerate().for_each(|(n, beamlet)| asked[*beamlet] = n as u32);
        let planes: Vec<Plane> = (0..nz)
            .into_par_iter()
            .map(|k| {
                control.check()?;
                Ok(plane(k, field, (beam, tilt), medium, depth_mm, &asked))
            })
            .collect::<Result<_, Cancelled>>()?;
        let mut counts = vec![0_u32; request.beamlets.len() + 1];
        planes.iter().flat_map(|plane| &plane.entries).for_each(|entry| counts[entry.0 as usize + 1] += 1);
        for n in 1..counts.len() {
            counts[n] += counts[n - 1];
        }
        let mut lit = Self::default();
        let mut next = counts.clone();
        lit.tubes =
            Tubes { first: counts, shares: vec![Share::default(); *next.last().unwrap_or(&0) as usize] };
        for plane in planes {
            let before = lit.voxels.len() as u32;
            for (beamlet, voxel, share) in plane.entries {
                let at = &mut next[beamlet as usize];
                lit.tubes.shares[*at as usize] = Share { number: before + voxel, share };
                *at += 1;
            }
            lit.voxels.extend(plane.voxels);
            lit.terma.extend(plane.terma);
        }
        Ok(lit)
    }
}

fn plane(
    k: usize,
    field: &OpenField,
    (beam, tilt): (&Superposition, &TiltNorm),
    medium: &Medium,
    depth_mm: &Volume<f32>,
    asked: &[u32],
) -> Plane {
    let grid = &medium.grid;
    let [nx, ny, _] = grid.size();
    let mut out = Plane::default();
    let mut shares = [Shares::new(), Shares::new()];
    for (j, i) in (0..ny).flat_map(|j| (0..nx).map(move |i| (j, i))) {
        let voxel = grid.index(i, j, k);
        if medium.equivalent_g_cm3.data()[voxel] <= 0.0 {
            continue;
        }
        let centre_mm = grid.centre_mm(i, j, k);
        let Some((at, distance_mm)) = field.frame.project(centre_mm) else { continue };
        let focal = field.beamlets.focal_at(at, distance_mm, grid.spacing_xy_mm()[0], &mut shares);
        let number = out.voxels.len() as u32;
        let before = out.entries.len();
        for (row, of_row) in &shares[1] {
            for (column, of_column) in &shares[0] {
                let beamlet = asked[row * field.map.columns + column];
                if beamlet != u32::MAX {
                    out.entries.push((beamlet, number, (of_row * of_column) as f32));
                }
            }
        }
        if out.entries.len() > before {
            let place = (at, centre_mm, depth_mm.data()[voxel]);
            out.voxels.push(voxel as u32);
            out.terma.push(open_terma(beam, &field.frame, tilt, place, focal));
        }
    }
    out
}

/// The sampled voxels in the medium's grid.
pub struct Sampled {
    pub voxels: Vec<u32>,
    /// Gy of the beam's monitor units for an energy per volume of 1 (Gy g/cm3 for one photon per cm2); 0 in vacuum.
    pub gy_per_energy: Vec<f32>,
}

impl Sampled {
    /// `photons` per cm2 on the axis at the isocentre for all of the beam's monitor units.
    pub fn new(request: &InfluenceRequest, medium: &Medium, photons: f64) -> Self {
        let grid = &request.dose.grid;
        let [x, y, z] = medium.offset;
        let mass = mass_of(medium, request.dose.dose_to).data();
        let in_medium = |voxel: &usize| {
            let [i, j, k] = grid.voxel_of(*voxel);
            medium.grid.index(i + x, j + y, k + z) as u32
        };
        let voxels: Vec<u32> = request.voxels.iter().map(in_medium).collect();
        let per_energy = |voxel: &u32| match mass[*voxel as usize] {
            mass if mass > crate::jobs::cccs::beam::VACUUM_G_CM3 => (photons / f64::from(mass)) as f32,
            _ => 0.0,
        };
        let gy_per_energy = voxels.iter().map(per_energy).collect();
        Self { voxels, gy_per_energy }
    }
}
