//! Doses that the wide sources add to the columns, on a card (`kernels/influence_smooth.cu`): as
//! [`Smooth`](crate::influence::smooth::Smooth).

use super::lit::SampledOnCard;
use super::tables::{SmoothSpans, TablesOnCard};
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Shape};
use bytemuck::{Pod, Zeroable};

/// As in `kernels/influence_smooth.cu`.
const THREADS: u32 = 256;

/// `struct SmoothField` of `kernels/influence_smooth.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct SmoothField {
    lines: [SmoothSpans; 2],
    electrons_gy: f32,
    sampled: u32,
    beamlets: u32,
    has_extra_focal: i32,
}

/// `struct Profiles` of `kernels/influence_smooth.cu`: addresses, 0 where there is nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Profiles {
    columns: u64,
    rows: u64,
}

/// Profiles of columns and of rows at the sampled voxels, `[span][voxel]`.
struct SourceProfiles {
    columns: Buffer<f32>,
    rows: Buffer<f32>,
}

impl SourceProfiles {
    fn new(
        card: &mut CardLock<'_>,
        lines: &[SmoothSpans; 2],
        sampled: usize,
    ) -> Result<Self, CudaError> {
        let [columns, rows] = lines.map(|line| line.electrons.spans as usize * sampled);
        Ok(Self {
            columns: card.alloc(columns)?,
            rows: card.alloc(rows)?,
        })
    }

    fn addresses(&self) -> Profiles {
        Profiles {
            columns: self.columns.address(),
            rows: self.rows.address(),
        }
    }
}

/// The smooth part of every column.
pub struct SmoothOnCard {
    extra_focal: Option<SourceProfiles>,
    electrons: Option<SourceProfiles>,
    pub gy_per_energy: Buffer<f32>,
}

/// Inputs of the profiles, on the medium's grid.
pub struct WideSources<'a> {
    pub density: &'a Buffer<f32>,
    pub depth_mm: &'a Buffer<f32>,
    /// Energy per volume that the extra-focal source gives through all beamlets, where the machine has one.
    pub extra_focal: Option<&'a Buffer<f32>>,
    /// Surface dose of electrons in the reference field, for one photon per cm2 on the axis.
    pub electrons_gy: f64,
}

impl SmoothOnCard {
    /// Queues the profiles.
    pub fn new(
        card: &mut CardLock<'_>,
        tables: &TablesOnCard,
        sampled: &SampledOnCard,
        gy_per_energy: &[f32],
        sources: &WideSources<'_>,
    ) -> Result<Self, CudaError> {
        let count = sampled.voxels.count();
        let mut part = |is_there: bool| {
            is_there
                .then(|| SourceProfiles::new(card, &tables.wide, count))
                .transpose()
        };
        let extra_focal = part(sources.extra_focal.is_some())?;
        let electrons = part(sources.electrons_gy > 0.0)?;
        let smooth = Self {
            extra_focal,
            electrons,
            gy_per_energy: card.upload(gy_per_energy)?,
        };
        let field = SmoothField {
            lines: tables.wide,
            electrons_gy: sources.electrons_gy as f32,
            sampled: count as u32,
            beamlets: tables.places.count() as u32,
            has_extra_focal: i32::from(smooth.extra_focal.is_some()),
        };
        let [extra_focal, electrons] = smooth.profiles();
        let args = [
            Arg::value(&tables.field),
            Arg::value(&field),
            Arg::from(&tables.numbers),
            Arg::from(&tables.sides_mm),
            Arg::from(&tables.sums),
            Arg::from(&tables.places),
            Arg::from(&sampled.voxels),
            Arg::from(sources.density),
            Arg::from(sources.depth_mm),
            Arg::from(sources.extra_focal.unwrap_or(sources.density)),
            Arg::from(&smooth.gy_per_energy),
            Arg::value(&extra_focal),
            Arg::value(&electrons),
        ];
        if count > 0 && [extra_focal, electrons] != [Profiles::default(); 2] {
            let shape = Shape::covering([count, 1, 1], [THREADS, 1, 1]);
            card.launch("influence_smooth", "smooth_profiles", shape, &args)?;
        }
        Ok(smooth)
    }

    /// Addresses for the extra-focal source, and for electrons.
    pub fn profiles(&self) -> [Profiles; 2] {
        [&self.extra_focal, &self.electrons].map(|part| {
            part.as_ref()
                .map_or_else(Profiles::default, SourceProfiles::addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cccs::field_tables::Field;
    use crate::cuda::kernels::{constant, ptx};
    use crate::cuda::signature;

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("influence_smooth").expect("kernels");
        let (field, smooth, profiles) = (
            size_of::<Field>(),
            size_of::<SmoothField>(),
            size_of::<Profiles>(),
        );
        let want = [vec![field, smooth], vec![8; 9], vec![profiles; 2]].concat();
        assert_eq!(signature(ptx, "smooth_profiles"), Some(want));
        let source = include_str!("../../../../kernels/influence_smooth.cu");
        assert_eq!(constant(&[source], "THREADS"), f64::from(THREADS));
    }
}
