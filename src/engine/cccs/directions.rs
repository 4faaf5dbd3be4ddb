//! Along which directions the energy of a kernel is collapsed.

use crate::physics::kernel::CONES;
use glam::DVec3;

/// One collapsed cone: its axis and the solid angle it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// Unit vector; z is the photon's direction.
    pub axis: DVec3,
    pub solid_angle_sr: f64,
}

/// `count` directions of equal energy on a golden-angle spiral: the polar edges divide the kernel's energy evenly, and
/// each direction turns on by the golden angle, so that no azimuth is left empty at any polar angle. Kernels tilted
/// against the spiral's axis are sampled as evenly as untilted ones.
pub fn equal_energy_spiral(energy_by_cone: &[f64; CONES], count: usize) -> Vec<Direction> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let total: f64 = energy_by_cone.iter().sum();
    // Polar angle within which a part of the energy lies; within a cone, energy goes with the solid angle.
    let polar_cos = |part: f64| {
        let mut left = part * total;
        for (cone, energy) in energy_by_cone.iter().enumerate() {
            if left <= *energy || cone + 1 == CONES {
                let [inner, outer] =
                    crate::physics::kernel::KernelTable::cone_edges_deg(cone).map(|d| d.to_radians().cos());
                return inner + (outer - inner) * (left / energy).clamp(0.0, 1.0);
            }
            left -= energy;
        }
        -1.0
    };
    (0..count)
        .map(|n| {
            let edge = |m: usize| polar_cos(m as f64 / count as f64);
            let (inner, outer) = (edge(n), edge(n + 1));
            let cos = 0.5 * (inner + outer);
            let sin = (1.0 - cos * cos).max(0.0).sqrt();
            let (s, c) = (n as f64 * golden).sin_cos();
            Direction {
                axis: DVec3::new(sin * c, sin * s, cos),
                solid_angle_sr: 2.0 * std::f64::consts::PI * (inner - outer),
            }
        })
        .collect()
}
