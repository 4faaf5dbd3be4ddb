//! The focal spot seen through leaves and jaws: a picture at the isocentre plane, blurred by the spot.

use super::aperture::{Edge, Raster, jaw_transmission, lines_mut};
use rayon::prelude::*;

/// A picture that is read as the mean over a rectangle, whatever its size, from a summed-area table.
#[derive(Clone, Debug)]
pub struct MeanMap {
    raster: Raster,
    /// Sums over the pixels below and left of each pixel corner, `[v][u]`, one more than the pixels along each axis.
    sums: Vec<f64>,
}

impl MeanMap {
    pub fn new(raster: Raster, image: &[f32]) -> Self {
        let [nu, nv] = raster.size;
        let mut sums = vec![0.0; (nu + 1) * (nv + 1)];
        for j in 0..nv {
            let (done, following) = sums.split_at_mut((j + 1) * (nu + 1));
            let below = &done[j * (nu + 1)..];
            let line = &image[j * nu..(j + 1) * nu];
            let mut along = 0.0;
            for (i, &value) in line.iter().enumerate() {
                along += f64::from(value);
                following[i + 1] = below[i + 1] + along;
            }
        }
        Self { raster, sums }
    }

    pub fn raster(&self) -> &Raster {
        &self.raster
    }

    /// Sums over the pixels below and left of each corner.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// Mean over a rectangle of `width` (at least a pixel) round a position. Near and beyond the rim the rectangle is
    /// moved back inside.
    pub fn mean(&self, centre_mm: [f64; 2], width: [f64; 2]) -> f64 {
        let mut low = [0.0; 2];
        let mut high = [0.0; 2];
        for a in 0..2 {
            let n = self.raster.size[a] as f64;
            let half = (0.5 * width[a] / self.raster.step_mm).clamp(0.5, 0.5 * n);
            let centre = (self.raster.index(a, centre_mm[a]) + 0.5).clamp(half, n - half);
            low[a] = centre - half;
            high[a] = centre + half;
        }
        let total =
            self.sum(high[0], high[1]) - self.sum(low[0], high[1]) - self.sum(high[0], low[1])
                + self.sum(low[0], low[1]);
        total / ((high[0] - low[0]) * (high[1] - low[1]))
    }

    /// Integral of the picture below and left of a corner, in pixels; exact for pixels of uniform value.
    fn sum(&self, u: f64, v: f64) -> f64 {
        let [nu, nv] = self.raster.size;
        let (i, j) = ((u as usize).min(nu - 1), (v as usize).min(nv - 1));
        let (s, t) = (u - i as f64, v - j as f64);
        let row = j * (nu + 1) + i;
        let above = row + nu + 1;
        let low = self.sums[row] + s * (self.sums[row + 1] - self.sums[row]);
        let high = self.sums[above] + s * (self.sums[above + 1] - self.sums[above]);
        low + t * (high - low)
    }
}

/// Multiplies a picture by the jaws' transmission: factors along u and along v.
pub fn shade(
    image: &mut [f32],
    edges: [[Edge; 2]; 2],
    sigma_mm: [f64; 2],
    transmission: f64,
    r: &Raster,
) {
    let along_u = jaw_transmission(edges[0], sigma_mm[0], transmission, 0, r);
    let along_v = jaw_transmission(edges[1], sigma_mm[1], transmission, 1, r);
    lines_mut(image, r.size[0])
        .zip(along_v)
        .for_each(|(line, v)| {
            line.iter_mut()
                .zip(&along_u)
                .for_each(|(value, u)| *value *= u * v);
        });
}

/// Gaussian blur of a picture, standard deviations in mm along u and v; values beyond the rim equal the rim's.
pub fn blur(image: Vec<f32>, sigma_mm: [f64; 2], r: &Raster) -> Vec<f32> {
    let [nu, nv] = r.size;
    let kernels = sigma_mm.map(|s| kernel(s, r.step_mm));
    let mut across = image;
    if kernels[0].len() > 1 {
        lines_mut(&mut across, nu).for_each_init(
            || vec![0.0_f32; nu + kernels[0].len() - 1],
            |padded, line| {
                let half = kernels[0].len() / 2;
                padded[..half].fill(line[0]);
                padded[half..half + nu].copy_from_slice(line);
                padded[half + nu..].fill(line[nu - 1]);
                line.fill(0.0);
                for (t, w) in kernels[0].iter().enumerate() {
                    line.iter_mut()
                        .zip(&padded[t..])
                        .for_each(|(out, p)| *out += w * p);
                }
            },
        );
    }
    if kernels[1].len() == 1 {
        return across;
    }
    let mut out = vec![0.0_f32; nu * nv];
    let half = kernels[1].len() / 2;
    lines_mut(&mut out, nu).enumerate().for_each(|(j, line)| {
        for (t, w) in kernels[1].iter().enumerate() {
            let from = (j + t).saturating_sub(half).min(nv - 1);
            line.iter_mut()
                .zip(&across[from * nu..(from + 1) * nu])
                .for_each(|(out, p)| *out += w * p);
        }
    });
    out
}

/// Weights of a Gaussian over pixels. The pixels' own spread (a twelfth of their side squared) is taken off it.
fn kernel(sigma_mm: f64, step_mm: f64) -> Vec<f32> {
    let variance = (sigma_mm / step_mm).powi(2) - 1.0 / 12.0;
    if variance <= 0.0 {
        return vec![1.0];
    }
    let half = (4.0 * variance.sqrt()).ceil() as i32;
    let sum: f64 = (-half..=half).map(|n| gaussian(n, variance)).sum();
    (-half..=half)
        .map(|n| (gaussian(n, variance) / sum) as f32)
        .collect()
}

fn gaussian(n: i32, variance: f64) -> f64 {
    (-0.5 * f64::from(n * n) / variance).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_over_rectangles_are_those_of_the_pixels() {
        let r = Raster::over([-4.0, 4.0], [-3.0, 3.0], 1.0);
        let image: Vec<f32> = (0..r.len()).map(|n| ((n * 7919) % 13) as f32).collect();
        let map = MeanMap::new(r, &image);
        assert!((map.mean([-3.5, -2.5], [1.0, 1.0]) - pixel(0, 0, &image)).abs() < 1e-12);
        let want = (0..4)
            .map(|n| pixel(2 + n % 2, 1 + n / 2, &image))
            .sum::<f64>()
            / 4.0;
        assert!((map.mean([-1.0, -1.0], [2.0, 2.0]) - want).abs() < 1e-12);
        // Half a pixel on: half of either neighbour.
        let want = 0.5 * (pixel(4, 3, &image) + pixel(5, 3, &image));
        assert!((map.mean([1.0, 0.5], [1.0, 1.0]) - want).abs() < 1e-12);
        assert!(
            (map.mean([100.0, -100.0], [1.0, 1.0]) - pixel(7, 0, &image)).abs() < 1e-12,
            "beyond the rim"
        );
        let mean_of_image = image.iter().map(|&v| f64::from(v)).sum::<f64>() / 48.0;
        assert!((map.mean([0.3, 0.3], [50.0, 50.0]) - mean_of_image).abs() < 1e-12);
    }

    fn pixel(i: usize, j: usize, image: &[f32]) -> f64 {
        f64::from(image[j * 8 + i])
    }

    /// A blurred edge against the cumulative normal distribution.
    #[test]
    fn a_blurred_edge_is_the_error_function() {
        let r = Raster::over([-10.0, 10.0], [-10.0, 10.0], 0.5);
        for (sigma, along_u) in [([0.8, 0.0], true), ([0.0, 1.5], false)] {
            let mut image = vec![1.0_f32; r.len()];
            let edges = if along_u {
                [[0.2, 99.0], [-99.0, 99.0]]
            } else {
                [[-99.0, 99.0], [0.2, 99.0]]
            };
            shade(
                &mut image,
                edges.map(|pair| pair.map(Edge::still)),
                [0.0, 0.0],
                0.0,
                &r,
            );
            let out = blur(image, sigma, &r);
            for n in 4..36 {
                let x = r.centre(0, n);
                let got = if along_u {
                    out[20 * 40 + n]
                } else {
                    out[n * 40 + 20]
                };
                let want = super::super::normal::cumulative((x - 0.2) / sigma[0].max(sigma[1]));
                assert!(
                    (f64::from(got) - want).abs() < 4e-3,
                    "{x}: {got} against {want}"
                );
            }
        }
    }
}
