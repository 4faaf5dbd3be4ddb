//! The dose of a plan in a card's memory, for others who compute there.

use crate::CudaError;
use crate::cuda::{Arg, Buffer, CardLock, Device, Handed, Shape};
use geometry::Volume;
use std::sync::Arc;

const THREADS: usize = 128;

/// A dose of all fractions on a card, beside the host's.
pub struct CardDose {
    /// Gy, `[z][y][x]`.
    pub gy: Handed<f32>,
}

impl CardDose {
    /// The sum of beam doses, each times its weight, all times `factor`, as the host adds them, to the bit. Doses that the card has
    /// kept are read there and let go; others are copied to it.
    ///
    /// # Errors
    /// [`CudaError`]: a card without memory for them among them.
    pub fn sum(
        device: &Arc<Device>,
        beams: &[(Arc<Volume<f32>>, f32)],
        factor: f32,
    ) -> Result<Self, CudaError> {
        let count = beams.first().map_or(0, |(gy, _)| gy.data().len());
        if beams.iter().any(|(gy, _)| gy.data().len() != count) {
            let what = "doses of several sizes".to_owned();
            return Err(CudaError::Call {
                kernel: "dose_add".to_owned(),
                what,
            });
        }
        let mut card = device.lock();
        card.fits_int("a dose", count)?;
        let zeros = |card: &mut CardLock<'_>| {
            let buffer = card.alloc(count)?;
            card.fill(&buffer, 0)?;
            Ok::<_, CudaError>(buffer)
        };
        let add = |card: &mut CardLock<'_>, gy: &Buffer<f32>, times: f32, sum: &Buffer<f32>| {
            let args = [
                Arg::int(count),
                Arg::value(&times),
                Arg::from(gy),
                Arg::from(sum),
            ];
            let shape = Shape::covering([count, 1, 1], [THREADS as u32, 1, 1]);
            card.launch("terma", "dose_add", shape, &args)
        };
        let mut sum = zeros(&mut card)?;
        for (gy, times) in beams {
            let gy = card.taken(gy)?;
            add(&mut card, &gy, *times, &sum)?;
        }
        if factor != 1.0 {
            let scaled = zeros(&mut card)?;
            add(&mut card, &sum, factor, &scaled)?;
            sum = scaled;
        }
        drop(card);
        Ok(Self {
            gy: Handed::new(device, sum),
        })
    }
}
