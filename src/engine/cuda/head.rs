//! Tables of a head source on a card.

use super::{CardLock, CudaError, Resident};
use crate::histories::head::HeadSource;
use bytemuck::{Pod, Zeroable};

/// `struct HeadTables` of `kernels/head.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct HeadTables {
    bins: u64,
    heads: u64,
    beam_positions: u64,
    segments: u64,
    cells: u64,
    horns: u64,
    softening: u64,
    tips_mm: u64,
    leaf_boundaries_mm: u64,
    map_values: u64,
    bin_count: u32,
    seed: [u32; 2],
    padding: u32,
}

impl HeadTables {
    /// Uploads the tables of a source, whose histories are numbered under `seed`; the card has them as long as `alive` lives.
    ///
    /// # Errors
    /// A card's fault.
    pub fn uploaded(
        card: &mut CardLock<'_>,
        alive: &mut Vec<Box<dyn Resident>>,
        source: &HeadSource,
        seed: u64,
    ) -> Result<Self, CudaError> {
        let boundaries = source.leaf_boundaries_mm.iter().map(|mm| *mm as f32);
        let softening: Vec<f32> = source.softening.iter().flatten().copied().collect();
        Ok(Self {
            bins: uploaded(card, alive, &source.bins)?,
            heads: uploaded(card, alive, &source.heads)?,
            beam_positions: uploaded(card, alive, &source.beam_positions)?,
            segments: uploaded(card, alive, &source.segments)?,
            cells: uploaded(card, alive, &source.cells)?,
            horns: uploaded(card, alive, &source.horns)?,
            softening: uploaded(card, alive, &softening)?,
            tips_mm: uploaded(card, alive, &source.tips_mm)?,
            leaf_boundaries_mm: uploaded(card, alive, &boundaries.collect::<Vec<_>>())?,
            map_values: uploaded(card, alive, &source.map_values)?,
            bin_count: source.bins.len() as u32,
            seed: [seed as u32, (seed >> 32) as u32],
            padding: 0,
        })
    }
}

/// Uploads a table and returns its address; an empty one as a single zero.
///
/// # Errors
/// A card's fault.
pub(crate) fn uploaded<T: Pod>(
    card: &mut CardLock<'_>,
    alive: &mut Vec<Box<dyn Resident>>,
    values: &[T],
) -> Result<u64, CudaError> {
    let zero = [T::zeroed()];
    let buffer = card.upload(if values.is_empty() { &zero } else { values })?;
    let address = buffer.address();
    alive.push(Box::new(buffer));
    Ok(address)
}

#[cfg(test)]
mod tests {
    use crate::cuda::kernels::constant;
    use crate::histories::head::tables::{ELECTRON, RADII, RADIUS_STEP_MM};
    use crate::histories::head::{ENGINE_PLACES, PLACE_DELIVERY};

    /// The kernels repeat constants of the tables.
    #[test]
    fn the_kernels_count_on_the_same_numbers() {
        let sources = [include_str!("../../../kernels/head.cuh")];
        for (name, value) in [
            ("RADII", RADII as f64),
            ("RADIUS_STEP_MM", RADIUS_STEP_MM),
            ("ELECTRON", f64::from(ELECTRON)),
            ("PLACE_DELIVERY", f64::from(PLACE_DELIVERY)),
            ("ENGINE_PLACES", f64::from(ENGINE_PLACES)),
        ] {
            assert_eq!(constant(&sources, name), value, "{name}");
        }
    }
}
