//! Directions onto which the energy of a kernel is collapsed.

use glam::DVec3;
use physics::kernel::CONES;

/// A collapsed cone: its axis and solid angle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// Unit vector; z is the photon's direction.
    pub axis: DVec3,
    pub solid_angle_sr: f64,
}

/// `count` directions (a multiple of 4) of equal energy on a golden-angle spiral: the polar edges divide the kernel's energy
/// evenly into levels of four directions at right angles, and each level turns on by the golden angle (over 4), so that
/// no azimuth is left empty at any polar angle. Four at right angles balance each other sideways, so that a field's opposite
/// edges fare alike. Kernels tilted against the spiral's axis are sampled as evenly as untilted ones.
pub fn equal_energy_spiral(energy_by_cone: &[f64; CONES], count: usize) -> Vec<Direction> {
    // Mirror images in place of right angles would make the doses of mirrored fields equal, but leave 1.64 % beside bone and air at 128
    // directions, of 1.5 % allowed.
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let total: f64 = energy_by_cone.iter().sum();
    // Polar angle within which a part of the energy lies; within a cone, energy goes with the solid angle.
    let polar_cos = |part: f64| {
        let mut left = part * total;
        for (cone, energy) in energy_by_cone.iter().enumerate() {
            if left <= *energy || cone + 1 == CONES {
                let [inner, outer] = physics::kernel::KernelTable::cone_edges_deg(cone)
                    .map(|d| d.to_radians().cos());
                return inner + (outer - inner) * (left / energy).clamp(0.0, 1.0);
            }
            left -= energy;
        }
        -1.0
    };
    let levels = count / 4;
    let mut directions = Vec::with_capacity(4 * levels);
    for level in 0..levels {
        let edge = |m: usize| polar_cos(m as f64 / levels as f64);
        let (inner, outer) = (edge(level), edge(level + 1));
        let cos = 0.5 * (inner + outer);
        let sin = (1.0 - cos * cos).max(0.0).sqrt();
        for quarter in 0..4 {
            let turn = (level as f64 + 0.25) * golden / 4.0
                + f64::from(quarter) * std::f64::consts::FRAC_PI_2;
            let (s, c) = turn.sin_cos();
            directions.push(Direction {
                axis: DVec3::new(sin * c, sin * s, cos),
                solid_angle_sr: 0.5 * std::f64::consts::PI * (inner - outer),
            });
        }
    }
    directions
}

/// Entry within a voxel of the lines of direction `n`: spread evenly over the directions (the additive recurrence of the
/// plastic number), so that the lattices of neighbouring directions do not all run along the same planes.
pub fn start(n: usize) -> [f64; 2] {
    const PLASTIC: f64 = 1.324_717_957_244_746;
    let n = n as f64 + 0.5;
    [n / PLASTIC, n / (PLASTIC * PLASTIC)].map(f64::fract)
}
