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
    /// Shares of the unobstructed focal fluence by lit voxel, of each beamlet.
    pub tubes: ShareLists,
}

/// A part of something numbered: a lit or sampled voxel, or a beamlet.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Share {
    pub number: u32,
    pub share: f32,
}

/// Shares of a group each, one group after another.
#[derive(Default)]
pub struct ShareLists {
    /// First share of each group, and one past the last.
    pub first: Vec<u32>,
    pub shares: Vec<Share>,
}

impl ShareLists {
    /// Shares with the numbers of their groups; those of a group keep their order.
    pub fn of(groups: usize, all: impl Iterator<Item = (u32, Share)> + Clone) -> Self {
        let mut first = vec![0_u32; groups + 1];
        all.clone().for_each(|(group, _)| first[group as usize + 1] += 1);
        for n in 1..first.len() {
            first[n] += first[n - 1];
        }
        let mut next = first.clone();
        let mut shares = vec![Share::default(); first[groups] as usize];
        for (group, share) in all {
            let at = &mut next[group as usize];
            shares[*at as usize] = share;
            *at += 1;
        }
        Self { first, shares }
    }

    pub fn group(&self, group: usize) -> &[Share] {
        &self.shares[self.first[group] as usize..self.first[group + 1] as usize]
    }

    /// Groups in turn, each as often as it has shares.
    pub fn groups(&self) -> impl Iterator<Item = u32> + Clone {
        let counts = self.first.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        counts.enumerate().flat_map(|(group, count)| std::iter::repeat_n(group as u32, count))
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
        let mut lit = Self::default();
        let mut before = Vec::with_capacity(planes.len());
        for plane in &planes {
            before.push(lit.voxels.len() as u32);
            lit.voxels.extend(&plane.voxels);
            lit.terma.extend(&plane.terma);
        }
        let of_plane = |(before, plane): (u32, &'_ Plane)| {
            let share = move |(beamlet, voxel, share): &(u32, u32, f32)| {
                (*beamlet, Share { number: before + voxel, share: *share })
            };
            plane.entries.iter().map(share).collect::<Vec<_>>()
        };
        let entries: Vec<_> = before.into_iter().zip(&planes).flat_map(of_plane).collect();
        lit.tubes = ShareLists::of(request.beamlets.len(), entries.into_iter());
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
