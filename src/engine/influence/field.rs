//! The voxels that the focal source lights, and the part of each beamlet in their TERMA.

use super::request::{InfluenceRequest, OpenField};
use crate::cccs::angles::TiltNorm;
use crate::cccs::beam::Superposition;
use crate::cccs::terma::open_terma;
use crate::dose::medium::Medium;
use crate::dose::medium::mass_of;
use crate::{Cancelled, JobControl};
use bytemuck::{Pod, Zeroable};
use geometry::Volume;
use physics::kernel_beam::CHANNELS;
use physics::{LEAST_SHARE, Shares};
use rayon::prelude::*;

/// Voxels with focal TERMA of any beamlet.
#[derive(Default)]
pub struct Lit {
    /// Indices into the medium's grid, ascending.
    pub voxels: Vec<u32>,
    /// TERMA by channel of a voxel under the unobstructed focal source, Gy for one photon per cm2 on the axis at the isocentre, tilt
    /// normalisation included.
    pub terma: Vec<[f32; CHANNELS]>,
    /// Shares of the unobstructed focal fluence of each lit voxel, by requested beamlet, ascending.
    pub beamlets: ShareLists,
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
    /// Shares with the numbers of their groups; the shares of a group keep their order.
    pub fn grouped(
        groups: usize,
        numbered_shares: impl Iterator<Item = (u32, Share)> + Clone,
    ) -> Self {
        let mut first = vec![0_u32; groups + 1];
        numbered_shares
            .clone()
            .for_each(|(group, _)| first[group as usize + 1] += 1);
        for n in 1..first.len() {
            first[n] += first[n - 1];
        }
        let mut next = first.clone();
        let mut shares = vec![Share::default(); first[groups] as usize];
        for (group, share) in numbered_shares {
            let next_of_group = &mut next[group as usize];
            shares[*next_of_group as usize] = share;
            *next_of_group += 1;
        }
        Self { first, shares }
    }

    pub fn group(&self, group: usize) -> &[Share] {
        &self.shares[self.first[group] as usize..self.first[group + 1] as usize]
    }

    /// Groups in turn, each as often as it has shares.
    pub fn groups(&self) -> impl Iterator<Item = u32> + Clone {
        let counts = self
            .first
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as usize);
        counts
            .enumerate()
            .flat_map(|(group, count)| std::iter::repeat_n(group as u32, count))
    }
}

/// One plane's part of [`Lit`].
#[derive(Default)]
struct Plane {
    voxels: Vec<u32>,
    terma: Vec<[f32; CHANNELS]>,
    beamlets: Vec<Share>,
    /// Shares of each voxel.
    counts: Vec<u32>,
}

impl Lit {
    pub fn new(
        request: &InfluenceRequest,
        field: &OpenField,
        beam: &Superposition,
        tilt: &TiltNorm,
        medium: &Medium,
        depth_mm: &Volume<f32>,
        control: &JobControl,
    ) -> Result<Self, Cancelled> {
        let [.., nz] = medium.grid.size();
        let mut number_by_beamlet = vec![u32::MAX; field.map.values.len()];
        request
            .beamlets
            .iter()
            .enumerate()
            .for_each(|(n, beamlet)| number_by_beamlet[*beamlet] = n as u32);
        let planes: Vec<Plane> = (0..nz)
            .into_par_iter()
            .map(|k| {
                control.check()?;
                Ok(plane(
                    k,
                    field,
                    beam,
                    tilt,
                    medium,
                    depth_mm,
                    &number_by_beamlet,
                ))
            })
            .collect::<Result<_, Cancelled>>()?;
        let mut lit = Self::default();
        lit.beamlets.first.push(0);
        for plane in planes {
            lit.voxels.extend(plane.voxels);
            lit.terma.extend(plane.terma);
            lit.beamlets.shares.extend(plane.beamlets);
            let mut end = lit.beamlets.first.last().copied().unwrap_or_default();
            lit.beamlets
                .first
                .extend(plane.counts.into_iter().map(|count| {
                    end += count;
                    end
                }));
        }
        Ok(lit)
    }

    /// The tube of each of `beamlets` beamlets: its shares, by lit voxel.
    pub fn tubes(&self, beamlets: usize) -> ShareLists {
        let shares = self.beamlets.groups().zip(&self.beamlets.shares);
        ShareLists::grouped(
            beamlets,
            shares.map(|(voxel, of_beamlet)| {
                (
                    of_beamlet.number,
                    Share {
                        number: voxel,
                        share: of_beamlet.share,
                    },
                )
            }),
        )
    }
}

fn plane(
    k: usize,
    field: &OpenField,
    beam: &Superposition,
    tilt: &TiltNorm,
    medium: &Medium,
    depth_mm: &Volume<f32>,
    number_by_beamlet: &[u32],
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
        let Some((isocentre_plane_mm, distance_mm)) = field.frame.project(centre_mm) else {
            continue;
        };
        let focal = field.beamlets.focal_at(
            isocentre_plane_mm,
            distance_mm,
            grid.spacing_xy_mm()[0],
            &mut shares,
        );
        if focal == 0.0 {
            continue;
        }
        let first_share = out.beamlets.len();
        for (row, of_row) in &shares[1] {
            for (column, of_column) in &shares[0] {
                let beamlet = number_by_beamlet[row * field.map.columns + column];
                if beamlet != u32::MAX && of_row * of_column > LEAST_SHARE {
                    out.beamlets.push(Share {
                        number: beamlet,
                        share: (of_row * of_column) as f32,
                    });
                }
            }
        }
        if out.beamlets.len() > first_share {
            out.counts.push((out.beamlets.len() - first_share) as u32);
            out.voxels.push(voxel as u32);
            let depth_mm = depth_mm.data()[voxel];
            out.terma.push(open_terma(
                beam,
                &field.frame,
                tilt,
                isocentre_plane_mm,
                centre_mm,
                depth_mm,
                focal,
            ));
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
        let voxels: Vec<u32> = request
            .voxels
            .iter()
            .map(|voxel| {
                let [i, j, k] = grid.voxel_of(*voxel);
                medium.grid.index(i + x, j + y, k + z) as u32
            })
            .collect();
        let gy_per_energy = voxels
            .iter()
            .map(|voxel| match mass[*voxel as usize] {
                mass if mass > crate::dose::medium::VACUUM_G_CM3 => {
                    (photons / f64::from(mass)) as f32
                }
                _ => 0.0,
            })
            .collect();
        Self {
            voxels,
            gy_per_energy,
        }
    }

    /// Values of the medium's voxels at the sampled ones.
    pub fn gather(&self, values: &[f32]) -> Vec<f32> {
        self.voxels
            .iter()
            .map(|voxel| values[*voxel as usize])
            .collect()
    }
}
