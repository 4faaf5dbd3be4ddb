//! The spectrum off the axis: what a machine's softening of the attenuation means for the share of each energy.

use super::tables::{RADII, RADIUS_STEP_MM};
use crate::physics::Machine;
use crate::physics::kernel::{KernelClass, KernelTable};

/// Depth at which the softened spectrum's transmission is that of the softened attenuation coefficients, g/cm2.
const DEPTH_CM: f64 = 10.0;
/// Water that may be thought away or added, g/cm2.
const MOST_CM: f64 = 200.0;

/// For each energy of the spectrum, its photons off the axis over those on the axis at each radius of the tables.
///
/// A flattening filter hardens the beam less off the axis. The spectrum there is that of the axis with a layer of water taken
/// away in front, as thick as it takes for the transmission of 10 cm of water (collision kerma) to be the one that the
/// machine's softening factor on the attenuation coefficients gives. The collision kerma in air stays that of the axis: the
/// machine's off-axis factor holds it already (`assets/machines/README.md`).
pub fn softened(machine: &Machine) -> Vec<[f32; RADII]> {
    let table = KernelTable::water();
    let lines: Vec<Line> = machine
        .spectrum
        .bins()
        .map(|(energy, photons)| {
            let mu = table.mu_over_rho_cm2_g(energy);
            Line { mu, kerma: photons * energy * mu * table.class_fraction(KernelClass::Primary, energy) }
        })
        .collect();
    let mut out = vec![[1.0; RADII]; lines.len()];
    for n in 0..RADII {
        let factor = machine.softening(machine.off_axis_deg(n as f64 * RADIUS_STEP_MM, 0.0));
        if (factor - 1.0).abs() < 1e-9 {
            continue;
        }
        let less_cm = layer(&lines, factor);
        let whole: f64 = lines.iter().map(|l| l.kerma).sum();
        let changed: f64 = lines.iter().map(|l| l.kerma * (l.mu * less_cm).exp()).sum();
        for (row, line) in out.iter_mut().zip(&lines) {
            row[n] = ((line.mu * less_cm).exp() * whole / changed) as f32;
        }
    }
    out
}

struct Line {
    mu: f64,
    /// Collision kerma in air or water, relative.
    kerma: f64,
}

/// Thickness of the layer of water to take away (negative: to add), g/cm2.
fn layer(lines: &[Line], factor: f64) -> f64 {
    let through = |less_cm: f64, factor: f64| {
        let before: f64 = lines.iter().map(|l| l.kerma * (l.mu * less_cm).exp()).sum();
        let after: f64 =
            lines.iter().map(|l| l.kerma * (l.mu * less_cm - factor * l.mu * DEPTH_CM).exp()).sum();
        after / before
    };
    let wanted = through(0.0, factor);
    // The more is taken away, the softer the beam and the less comes through.
    let (mut low, mut high) = (-MOST_CM, MOST_CM);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if through(middle, 1.0) > wanted { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_is_softened_and_kerma_kept() {
        let machine = Machine::resolve("generic-6mv").expect("shipped");
        let rows = softened(&machine);
        let table = KernelTable::water();
        let sum = |n: usize, depth_cm: f64, factor: f64| -> f64 {
            let one = |((e, photons), row): ((f64, f64), &[f32; RADII])| {
                let mu = table.mu_over_rho_cm2_g(e);
                let kerma = photons * e * mu * table.class_fraction(KernelClass::Primary, e);
                kerma * f64::from(row[n]) * (-factor * mu * depth_cm).exp()
            };
            machine.spectrum.bins().zip(&rows).map(one).sum()
        };
        for n in [0, 10, 20, 40] {
            let factor = machine.softening(machine.off_axis_deg(n as f64 * RADIUS_STEP_MM, 0.0));
            assert!((sum(n, 0.0, 1.0) / sum(0, 0.0, 1.0) - 1.0).abs() < 1e-5, "kerma in air at {n}");
            for (depth_cm, bound) in [(5.0, 0.004), (10.0, 1e-5), (20.0, 0.015)] {
                let ratio = sum(n, depth_cm, 1.0) / sum(0, depth_cm, factor);
                println!("radius {n}, {depth_cm} cm: {ratio}");
                assert!((ratio - 1.0).abs() < bound, "{n} at {depth_cm} cm: {ratio}");
            }
        }
        let point = Machine::resolve("point-6mv").expect("shipped");
        assert!(softened(&point).iter().flatten().all(|r| *r == 1.0));
    }
}
