//! Directions onto which the energy of a kernel is collapsed.

use crate::physics::kernel::CONES;
use glam::DVec3;

/// A collapsed cone: its axis and solid angle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// Unit vector; z is the photon's direction.
    pub axis: DVec3,
    pub solid_angle_sr: f64,
}

/// Directions of one polar angle: the mirror images of each other in the planes through the beam's axis and its other two.
pub const FAMILY: usize = 4;

/// `count` directions (a multiple of [`FAMILY`]) of equal energy: the polar edges divide the kernel's energy evenly into levels of
/// one family each. Its azimuth goes on by the golden section of a right angle from level to level, so that none is left empty at any
/// polar angle. Whatever a direction does on one side of a field its image does on the other: doses of symmetric fields are
/// symmetric. Eight images, by exchange of x and y as well, would leave half as many polar angles (`benches/DECISIONS.md`).
pub fn equal_energy_families(energy_by_cone: &[f64; CONES], count: usize) -> Vec<Direction> {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let first = first_azimuth(count);
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
    let levels = count / FAMILY;
    let mut directions = Vec::with_capacity(FAMILY * levels);
    for level in 0..levels {
        let edge = |m: usize| polar_cos(m as f64 / levels as f64);
        let (inner, outer) = (edge(level), edge(level + 1));
        let cos = 0.5 * (inner + outer);
        let sin = (1.0 - cos * cos).max(0.0).sqrt();
        let azimuth = (first + level as f64 * GOLDEN).fract() * std::f64::consts::FRAC_PI_2;
        let (y, x) = azimuth.sin_cos();
        for [x, y] in [[x, y], [-x, y], [-x, -y], [x, -y]] {
            directions.push(Direction {
                axis: DVec3::new(sin * x, sin * y, cos),
                solid_angle_sr: std::f64::consts::TAU * (inner - outer) / FAMILY as f64,
            });
        }
    }
    directions
}

/// Azimuth of the first level, as part of a right angle: of few levels it decides how evenly tilted rays and small fields are sampled.
/// Those with the least error in water, fields of 4 and 8 cm, against thousands of directions (`benches/DECISIONS.md`).
fn first_azimuth(count: usize) -> f64 {
    if let Some(v) = std::env::var(format!("FA{count}")).ok().and_then(|v| v.parse().ok()) { return v; }
    match count {
        0..=40 => 0.975,
        41..=48 => 0.714,
        49..=72 => 0.925,
        73..=128 => 0.464,
        _ => 0.309,
    }
}

/// Entry within a voxel of the lines of direction `n`, which goes along `across` on the two axes across the slabs: spread evenly over
/// the families (the additive recurrence of the plastic number), so that the lattices of neighbouring directions do not all run along
/// the same planes. Images of a direction, by mirrors or an exchange of the lattice's axes, have the images of its lines.
pub fn start(n: usize, across: [f64; 2]) -> [f64; 2] {
    const PLASTIC: f64 = 1.324_717_957_244_746;
    let family = (n / FAMILY) as f64 + 0.5;
    let [steep, shallow] = [family / PLASTIC, family / (PLASTIC * PLASTIC)].map(f64::fract);
    let order = if across[0].abs() >= across[1].abs() { [steep, shallow] } else { [shallow, steep] };
    [0, 1].map(|axis| if across[axis] < 0.0 { 1.0 - order[axis] } else { order[axis] })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal energy in every cone: any count of directions has the images of all of them, and covers the sphere.
    #[test]
    fn directions_come_with_their_mirror_images() {
        for count in [40, 48, 72, 128, 384] {
            let directions = equal_energy_families(&[1.0; CONES], count);
            assert_eq!(directions.len(), count);
            let sphere: f64 = directions.iter().map(|d| d.solid_angle_sr).sum();
            assert!((sphere - 4.0 * std::f64::consts::PI).abs() < 1e-9, "{sphere}");
            for d in &directions {
                for mirror in [DVec3::new(-1.0, 1.0, 1.0), DVec3::new(1.0, -1.0, 1.0)] {
                    let image = |o: &&Direction| (o.axis - d.axis * mirror).length() < 1e-12;
                    assert!(directions.iter().any(|o| image(&o)), "{count}: {:?}", d.axis);
                }
            }
        }
    }

    #[test]
    fn images_of_a_direction_enter_at_images_of_its_place() {
        for n in [0, 5, 383] {
            let [u, v] = start(n, [0.3, 0.1]);
            assert_eq!(start(n, [-0.3, 0.1]), [1.0 - u, v]);
            assert_eq!(start(n, [0.3, -0.1]), [u, 1.0 - v]);
            assert_eq!(start(n, [0.1, 0.3]), [v, u]);
            assert_eq!(start(n / FAMILY * FAMILY, [0.3, 0.1]), [u, v]);
        }
    }
}
