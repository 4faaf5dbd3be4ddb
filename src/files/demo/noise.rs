//! Seeded image noise: the same phantom has the same noise on every machine.

use rayon::prelude::*;

/// A well-mixed 64-bit hash (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Nearly Gaussian, mean 0, standard deviation 1: the sum of four uniform 16-bit numbers.
fn gaussian(seed: u64) -> f32 {
    let bits = mix(seed);
    let sum: u64 = (0..4).map(|n| (bits >> (16 * n)) & 0xffff).sum();
    // Four uniforms of variance 1/12 each.
    ((sum as f64 / 65_536.0 - 2.0) / (4.0_f64 / 12.0).sqrt()) as f32
}

/// Adds noise to planes of `nx` by `ny` values: standard deviation `sigma(value)`, grain about two voxels
/// wide, as behind a reconstruction filter.
pub fn add_noise(
    hu: &mut [f32],
    [nx, ny]: [usize; 2],
    seed: u64,
    sigma: impl Fn(f32) -> f32 + Sync,
) {
    // Weights 1-2-1 in both directions reduce the standard deviation to 6/16.
    const NORM: f32 = 16.0 / 6.0;
    hu.par_chunks_mut(nx * ny)
        .enumerate()
        .for_each(|(k, plane)| {
            let white: Vec<f32> = (0..nx * ny)
                .map(|n| gaussian(mix(seed) ^ (k * nx * ny + n) as u64))
                .collect();
            let across: Vec<f32> = (0..nx * ny)
                .map(|n| {
                    let i = n % nx;
                    let neighbour =
                        |d: isize| white[n - i + (i as isize + d).rem_euclid(nx as isize) as usize];
                    0.25 * neighbour(-1) + 0.5 * neighbour(0) + 0.25 * neighbour(1)
                })
                .collect();
            for (n, value) in plane.iter_mut().enumerate() {
                let (i, j) = (n % nx, n / nx);
                let neighbour =
                    |d: isize| across[(j as isize + d).rem_euclid(ny as isize) as usize * nx + i];
                *value += (0.25 * neighbour(-1) + 0.5 * neighbour(0) + 0.25 * neighbour(1))
                    * NORM
                    * sigma(*value);
            }
        });
}

/// Smooth texture between -1 and 1 with grains of `size_mm`: interpolated values of lattice points.
pub fn texture(p: glam::DVec3, size_mm: f64, seed: u64) -> f64 {
    let q = p / size_mm;
    let base = q.floor();
    let t = q - base;
    let t = t * t * (3.0 - 2.0 * t);
    let mut sum = 0.0;
    for corner in 0..8u64 {
        let d = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
        let mut weight = 1.0;
        let mut hash = seed;
        for a in 0..3 {
            weight *= if d[a] == 1 { t[a] } else { 1.0 - t[a] };
            hash = mix(hash ^ (base[a] as i64 + d[a] as i64) as u64);
        }
        sum += weight * ((hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_sigma_asked_for_and_repeats() {
        let mut a = vec![40.0f32; 64 * 64 * 4];
        add_noise(&mut a, [64, 64], 7, |_| 12.0);
        let mean = a.iter().sum::<f32>() / a.len() as f32;
        let sd = (a.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / a.len() as f32).sqrt();
        assert!((mean - 40.0).abs() < 0.5, "{mean}");
        assert!((sd - 12.0).abs() < 0.5, "{sd}");
        let mut b = vec![40.0f32; 64 * 64 * 4];
        add_noise(&mut b, [64, 64], 7, |_| 12.0);
        assert_eq!(a, b);
    }

    #[test]
    fn texture_stays_in_its_bounds_and_is_continuous() {
        for n in 0..1000 {
            let p = glam::DVec3::new(f64::from(n) * 0.37, f64::from(n) * -0.21, 3.0);
            let v = texture(p, 5.0, 3);
            assert!((-1.0..=1.0).contains(&v));
            assert!((texture(p + 0.01, 5.0, 3) - v).abs() < 0.05);
        }
    }
}
