//! The near-maximum of a dose: what stands for its maximum and is moved by no single voxel, be it noise or a fault.

use crate::cache::{ByteSize, Cache};
use geometry::Volume;
use rayon::prelude::*;
use std::convert::Infallible;

/// A voxel with all that touch it, which may be wrong together.
const CLUSTER: usize = 27;
/// Share of the voxels above half that have more: the near-maximum of ICRU report 83 is D2%.
const SHARE: f64 = 0.02;
/// Values of a piece of a count.
const PIECE: usize = 1 << 20;

struct NearMaximum(f32);

impl ByteSize for NearMaximum {}

/// The near-maximum of a dose, cached, Gy.
pub(super) fn of_dose(dose: &Volume<f32>, cache: &Cache) -> f32 {
    match cache.get(dose.id(), || {
        Ok::<_, Infallible>(NearMaximum(near_maximum(dose.data())))
    }) {
        Ok(near_maximum) => near_maximum.0,
        Err(never) => match never {},
    }
}

/// The dose that 2 % of the voxels above half have, and 27 voxels at least: above half of the dose that 27 voxels have. Where
/// there are few voxels, half of them have it. `values` are finite and 0 or more; 0 where all are.
pub fn near_maximum(values: &[f32]) -> f32 {
    let reach = |gy: f32| values.par_iter().filter(|value| **value >= gy).count();
    let dosed = values.par_iter().filter(|value| **value > 0.0).count();
    if dosed == 0 {
        return 0.0;
    }
    let seed = greatest_but(values, CLUSTER.min((dosed - 1) / 2));
    let above = reach(0.5 * seed);
    let more = ((SHARE * above as f64) as usize)
        .max(CLUSTER)
        .min((above - 1) / 2);
    greatest_but(values, more)
}

/// The greatest value but `more`, which is fewer than there are. The bits of numbers from 0 up order as the numbers do: two counts, by
/// the upper and by the lower half of the bits, find it without a sorted copy.
fn greatest_but(values: &[f32], more: usize) -> f32 {
    let (upper, more) = bin_of(values, more, |bits| Some((bits >> 16) as usize));
    let (lower, _) = bin_of(values, more, |bits| {
        (bits >> 16 == upper).then_some((bits & 0xffff) as usize)
    });
    f32::from_bits(upper << 16 | lower)
}

/// The bin of the greatest value but `more`, and how many of that bin are greater.
fn bin_of(values: &[f32], more: usize, bin: impl Fn(u32) -> Option<usize> + Sync) -> (u32, usize) {
    let count = |values: &[f32]| {
        let mut counts = vec![0_usize; 1 << 16];
        // Minus nothing is nothing.
        for n in values
            .iter()
            .filter_map(|value| bin((value + 0.0).to_bits()))
        {
            counts[n] += 1;
        }
        counts
    };
    let counts = values.par_chunks(PIECE).map(count).reduce(
        || vec![0; 1 << 16],
        |mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        },
    );
    let mut left = more;
    for (n, count) in counts.iter().enumerate().rev() {
        if left < *count {
            return (n as u32, left);
        }
        left -= count;
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By sorting.
    fn plain(values: &[f32]) -> f32 {
        let mut sorted = values.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let dosed = sorted.iter().filter(|v| **v > 0.0).count();
        let seed = sorted[27.min((dosed - 1) / 2)];
        let above = sorted.iter().filter(|v| **v >= seed / 2.0).count();
        sorted[(above / 50).max(27).min((above - 1) / 2)]
    }

    #[test]
    fn as_by_sorting() {
        let mut next = 7_u32;
        for (size, zeros) in [
            (1, 0),
            (2, 0),
            (9, 3),
            (60, 0),
            (1000, 400),
            (70_000, 30_000),
        ] {
            let values: Vec<f32> = (0..size)
                .map(|n| {
                    next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if n < zeros {
                        -0.0
                    } else {
                        (next >> 8) as f32 * 1e-5
                    }
                })
                .collect();
            assert_eq!(near_maximum(&values), plain(&values), "{size}");
        }
        assert_eq!((near_maximum(&[0.0; 9]), near_maximum(&[])), (0.0, 0.0));
    }

    /// A flat dose is its own near-maximum, whatever a voxel and its neighbours have, and however much air is round it.
    #[test]
    fn neither_hot_voxels_nor_air_move_it() {
        let mut values = vec![2.0_f32; 4000];
        values.extend([0.01; 90_000]);
        assert_eq!(near_maximum(&values), 2.0);
        values[..27].fill(6.4);
        assert_eq!(near_maximum(&values), 2.0);
    }

    /// A flat dose of 2 Gy with noise of 4.2 %, standard deviation: its noisiest voxel lies four of them high, and as 100 % would widen
    /// every criterion by as much; the near-maximum lies two high.
    #[test]
    fn noise_moves_it_by_half_of_what_it_moves_the_maximum() {
        let mut next = 7_u32;
        let mut unit = || {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(next >> 8) / f64::from(1 << 24)
        };
        // Twelve uniform numbers: near enough to normal up to three deviations.
        let mut normal = || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        let values: Vec<f32> = (0..100_000)
            .map(|_| (2.0 * (1.0 + 0.042 * normal())) as f32)
            .collect();
        let greatest = f64::from(values.iter().copied().fold(0.0, f32::max));
        let near = f64::from(near_maximum(&values));
        assert!(greatest > 2.0 * 1.145, "{greatest}");
        // The upper 2 % of a normal distribution begin 2.054 deviations high; of twelve uniform numbers, 2.04.
        assert!((near / 2.0 - (1.0 + 2.04 * 0.042)).abs() < 0.004, "{near}");
    }

    /// D2% of the upper half of a dose that rises evenly from 0 to 10 Gy: 9.9 Gy.
    #[test]
    fn two_percent_of_the_upper_half_have_more() {
        let values: Vec<f32> = (0..=100_000).map(|n| n as f32 * 1e-4).collect();
        assert!((near_maximum(&values) - 9.9).abs() < 1e-3);
    }
}
