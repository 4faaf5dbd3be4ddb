//! Transmission of the leaves of a multileaf collimator, as seen from the focal spot.

use super::Leaves;
use case::Bank;

/// Absorption behind a rounded leaf tip, in steps along the direction of travel.
///
/// The position of a tip is where the ray that grazes the leaf end crosses the isocentre plane (the edge of the light
/// field, which plans state). A ray that passes `p` below that tangent crosses the end circle of radius R in a chord of
/// `2 sqrt(2 R p - p^2)`, whatever its direction; no path is longer than the leaf is high.
#[derive(Clone, Debug)]
pub struct LeafEnd {
    /// Mean absorption of pixels whose centres lie `(n - 0.5) .. ` steps behind the tip; entry 0 is the pixel on it.
    steps: Vec<f64>,
    full: f64,
}

impl LeafEnd {
    /// `magnification` is from the leaf plane to the isocentre plane; `height` the part of the leaf that stands in the
    /// way: 1, or a half in the joint between two leaves.
    pub fn new(leaves: &Leaves, magnification: f64, step_mm: f64, height: f64) -> Self {
        let full = 1.0 - leaves.transmission.powf(height);
        // The chord reaches the leaf's height at this distance behind the tip.
        let r = leaves.end_radius_mm;
        let half = 0.5 * leaves.thickness_mm.min(2.0 * r);
        let reach_mm = (r - (r * r - half * half).sqrt()) * magnification;
        let count = (reach_mm / step_mm).ceil() as usize + 2;
        Self {
            steps: (0..count)
                .map(|n: usize| {
                    // The chord rises as a square root from the tip: fine sampling of the pixel.
                    const SAMPLES: usize = 64;
                    (0..SAMPLES)
                        .map(|s| {
                            absorption(
                                leaves,
                                ((n as f64 - 0.5 + (s as f64 + 0.5) / SAMPLES as f64) * step_mm)
                                    / magnification,
                                height,
                            )
                        })
                        .sum::<f64>()
                        / SAMPLES as f64
                })
                .collect(),
            full,
        }
    }

    /// Number of steps behind the tip after which the absorption is the whole leaf's.
    pub fn reach(&self) -> usize {
        self.steps.len()
    }

    /// Absorption by the whole leaf.
    pub fn full(&self) -> f64 {
        self.full
    }

    /// Adds the mean absorption by leaves whose tips are distributed as `tips` (mass a step, same steps as `out` with
    /// [`Self::reach`] more at each end), each leaf covering the pixels before its tip.
    pub fn absorb(&self, tips: &[f64], out: &mut [f64]) {
        let pad = self.reach();
        let mut beyond = 0.0;
        // From the far end: every tip further on than the reach covers this pixel in full.
        for (i, value) in out.iter_mut().enumerate().rev() {
            beyond += if i + 2 * pad < tips.len() {
                tips[i + 2 * pad]
            } else {
                0.0
            };
            *value += beyond * self.full;
        }
        for (n, &a) in self.steps.iter().enumerate() {
            out.iter_mut()
                .zip(&tips[pad + n..])
                .for_each(|(value, mass)| *value += mass * a);
        }
    }
}

impl Leaves {
    /// Tips of a pair where they stand, for those that a plan states, mm at the isocentre plane. Tips that would pass each other meet.
    pub fn standing_tips_mm(&self, [low, high]: Bank) -> Bank {
        let tips = [low - self.offset_mm, high + self.offset_mm];
        if self.offset_mm < 0.0 && tips[0] > tips[1] {
            [0.5 * (low + high); 2]
        } else {
            tips
        }
    }

    /// A sharp leaf end that lets through as much as the rounded one lies so far behind the tip that plans state, mm at the isocentre plane:
    /// the offset of the tips, and the transmission behind the tip in excess of the whole leaf's, integrated. Twice of it is the dosimetric
    /// leaf gap.
    pub fn end_retreat_mm(&self, sad_mm: f64) -> f64 {
        self.offset_mm + self.rounded_end_mm(sad_mm)
    }

    /// The part of the retreat that the rounded end has.
    pub fn rounded_end_mm(&self, sad_mm: f64) -> f64 {
        const STEPS: usize = 4000;
        // The chord has reached the leaf's height there.
        let step = self.end_radius_mm.min(self.thickness_mm) / STEPS as f64;
        let full = 1.0 - self.transmission;
        (0..STEPS)
            .map(|n: usize| 1.0 - absorption(self, (n as f64 + 0.5) * step, 1.0) / full)
            .sum::<f64>()
            * step
            * sad_mm
            / self.distance_mm
    }

    /// Part of a ray's photons that passes the leaves: the ray crosses their mid-plane at `u` along their travel and `v` across
    /// (mm, scaled to the isocentre plane at `magnification`). `sides_mm` are the leaves' sides and `tips` gives a row's tips, both
    /// as plans state them, at the isocentre plane. The joint between two rows is as in the pictures of the aperture: half
    /// the height of either leaf stands in it.
    pub fn ray_transmission(
        &self,
        sides_mm: &[f64],
        magnification: f64,
        tips: impl Fn(usize) -> Bank,
        [u, v]: [f64; 2],
    ) -> f64 {
        let above = sides_mm.partition_point(|side| *side <= v);
        if above == 0 || above == sides_mm.len() {
            return 1.0;
        }
        let row = above - 1;
        let last = sides_mm.len() - 2;
        let half_tongue = 0.5 * self.tongue_mm * magnification;
        let t = self.transmission;
        let open = |[from, to]: Bank, height: f64| {
            let absorbed = absorption(self, (from - u) / magnification, height)
                + absorption(self, (u - to.max(from)) / magnification, height);
            (1.0 - absorbed / (1.0 - t.powf(height))).max(0.0)
        };
        let other = if row > 0 && v - sides_mm[row] < half_tongue {
            row - 1
        } else if row < last && sides_mm[row + 1] - v < half_tongue {
            row + 1
        } else {
            return t + (1.0 - t) * open(tips(row), 1.0);
        };
        let (a, b) = (tips(row), tips(other));
        let common = [a[0].max(b[0]), a[1].min(b[1])];
        let both = if common[0] > common[1] {
            0.0
        } else {
            open(common, 0.5)
        };
        let (a, b) = (open(a, 0.5), open(b, 0.5));
        both + t.sqrt() * (a + b - 2.0 * both) + self.interleaf_transmission * (1.0 - a - b + both)
    }
}

/// Absorption on a ray that passes `behind_mm` (at the leaf plane) behind the tangent of a leaf end.
fn absorption(leaves: &Leaves, behind_mm: f64, height: f64) -> f64 {
    if behind_mm <= 0.0 {
        return 0.0;
    }
    let r = leaves.end_radius_mm;
    let chord = if behind_mm < r {
        (2.0 * (2.0 * r * behind_mm - behind_mm * behind_mm).sqrt()).min(leaves.thickness_mm)
    } else {
        leaves.thickness_mm
    };
    1.0 - leaves
        .transmission
        .powf(height * chord / leaves.thickness_mm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    fn millennium() -> Leaves {
        Machine::resolve("generic-6mv")
            .expect("shipped")
            .leaves
            .clone()
            .expect("leaves")
    }

    /// Brute force: length of a straight ray inside a disc, found by stepping along it.
    #[test]
    fn the_chord_is_the_length_inside_the_end_circle() {
        let leaves = millennium();
        let r = leaves.end_radius_mm;
        for behind in [0.05, 0.3, 1.0, 4.0] {
            for tilt_deg in [0.0_f64, 5.0, 10.0] {
                // The ray touches the circle (centre at the origin) at distance r - behind from the centre.
                let (s, c) = tilt_deg.to_radians().sin_cos();
                let n = 400_000;
                let inside = (0..n).filter(|&i| {
                    let l = (f64::from(i) / f64::from(n) - 0.5) * 100.0;
                    let (x, y) = ((r - behind) * c - l * s, (r - behind) * s + l * c);
                    x * x + y * y < r * r
                });
                let chord = inside.count() as f64 * 100.0 / f64::from(n);
                let mu = -leaves.transmission.ln() / leaves.thickness_mm;
                let want = 1.0 - (-mu * chord).exp();
                let got = absorption(&leaves, behind, 1.0);
                assert!(
                    (got - want).abs() < 1e-3,
                    "{behind} mm, {tilt_deg} deg: {got} against {want}"
                );
            }
        }
        assert_eq!(absorption(&leaves, -0.1, 1.0), 0.0);
        assert!((absorption(&leaves, 50.0, 1.0) - (1.0 - leaves.transmission)).abs() < 1e-12);
    }

    /// Closed form without the limit by the leaf's height, which a dense leaf does not reach: exp(-k sqrt(p)) integrates to 2 / k^2; and
    /// a gap between tips in the picture of rays is wider by the retreat at either side.
    #[test]
    fn a_rounded_end_is_a_sharp_one_behind_its_tip() {
        let mut leaves = millennium();
        assert!(
            (leaves.end_retreat_mm(1000.0) - retreat_by_rays(&leaves)).abs() < 0.01,
            "{}",
            retreat_by_rays(&leaves)
        );
        leaves.transmission = 1e-6;
        let k = -leaves.transmission.ln() * 2.0 * (2.0 * leaves.end_radius_mm).sqrt()
            / leaves.thickness_mm;
        let want = 2.0 / (k * k) * 1000.0 / leaves.distance_mm;
        let got = leaves.end_retreat_mm(1000.0);
        assert!((got / want - 1.0).abs() < 0.02, "{got} for {want}");
    }

    fn retreat_by_rays(leaves: &Leaves) -> f64 {
        let t = leaves.transmission;
        0.5 * ((-6000..6000)
            .map(|n: i32| {
                let u = (f64::from(n) + 0.5) * 0.01;
                let through = leaves.ray_transmission(
                    &[-10.0, 10.0],
                    1000.0 / leaves.distance_mm,
                    |_| [-15.0, 15.0],
                    [u, 0.0],
                );
                (through - t) / (1.0 - t)
            })
            .sum::<f64>()
            * 0.01
            - 30.0)
    }

    #[test]
    fn an_offset_opens_either_side_and_never_crosses_tips() {
        let mut leaves = millennium();
        let round = leaves.end_retreat_mm(1000.0);
        leaves.offset_mm = 0.4;
        assert!((leaves.end_retreat_mm(1000.0) - round - 0.4).abs() < 1e-12);
        assert_eq!(leaves.standing_tips_mm([-10.0, 20.0]), [-10.4, 20.4]);
        leaves.offset_mm = -0.3;
        assert_eq!(leaves.standing_tips_mm([-10.0, 20.0]), [-9.7, 19.7]);
        assert_eq!(leaves.standing_tips_mm([5.0, 5.2]), [5.1, 5.1]);
    }

    /// The convolution against the sum over tips written out.
    #[test]
    fn absorbed_by_a_distribution_of_tips() {
        let leaves = millennium();
        let end = LeafEnd::new(&leaves, 1000.0 / leaves.distance_mm, 0.5, 1.0);
        let pad = end.reach();
        let n = 60;
        let mut tips = vec![0.0; n + 2 * pad];
        for (j, mass) in [
            (0, 0.1),
            (pad, 0.2),
            (pad + 30, 0.3),
            (pad + 31, 0.15),
            (n + 2 * pad - 1, 0.25),
        ] {
            tips[j] = mass;
        }
        let mut out = vec![0.0; n];
        end.absorb(&tips, &mut out);
        for (i, got) in out.iter().enumerate() {
            let mut want = 0.0;
            for (j, mass) in tips.iter().enumerate() {
                let behind = j as isize - pad as isize - i as isize;
                want += mass
                    * match behind {
                        b if b < 0 => 0.0,
                        b => end.steps.get(b as usize).copied().unwrap_or(end.full),
                    };
            }
            assert!((got - want).abs() < 1e-12, "{i}: {got} against {want}");
        }
    }
}
