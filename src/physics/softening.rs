//! The spectrum off the axis: the share of each energy that follows from a machine's softening of the attenuation.
//!
//! A flattening filter hardens the beam less off the axis. The spectrum there is the axis' spectrum with a layer of water taken
//! away in front, as thick as it takes for the transmission of 10 cm of water (collision kerma) to be the one that the
//! machine's softening factor on the attenuation coefficients gives. The collision kerma in air is as on the axis: the
//! machine's off-axis factor holds it already (`assets/machines/README.md`).
//!
//! Softer photons of equal collision kerma scatter more of their energy: 15 % more at 20 cm off the axis of a 6 MV beam. A
//! factor on the attenuation alone would leave that out, 1 to 4 % of the dose in fields of 30 to 40 cm.

use super::Machine;
use super::kernel::{KernelClass, KernelTable};

/// Depth at which the softened spectrum's transmission equals the softened attenuation coefficients', g/cm2.
const DEPTH_CM: f64 = 10.0;
/// Water that may be thought away or added, g/cm2; shipped machines ask for 23.
pub const MOST_LAYER_CM: f64 = 40.0;
/// Step and number of the radii of the table, mm at the isocentre plane; level beyond.
const STEP_MM: f64 = 5.0;
const RADII: usize = 81;

/// The layer of water by distance from the axis.
#[derive(Clone, Debug)]
pub struct Softening {
    layers: Vec<Layer>,
}

/// Change of the axis' spectrum at a distance from the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// Water taken away in front, g/cm2; negative where the beam is harder than on the axis.
    pub less_cm: f64,
    /// Factor that preserves the collision kerma in air: `exp(mu less_cm) kept` photons for one on the axis.
    pub kept: f64,
}

impl Softening {
    pub fn new(machine: &Machine) -> Self {
        let table = KernelTable::water();
        let lines: Vec<Line> = machine
            .spectrum
            .bins()
            .map(|(energy, photons)| {
                let mu = table.mu_over_rho_cm2_g(energy);
                Line {
                    mu,
                    kerma: photons
                        * energy
                        * mu
                        * table.class_fraction(KernelClass::Primary, energy),
                }
            })
            .collect();
        Self {
            layers: (0..RADII)
                .map(|n: usize| {
                    let factor = machine.softening(machine.off_axis_deg(n as f64 * STEP_MM, 0.0));
                    if (factor - 1.0).abs() < 1e-9 {
                        return Layer {
                            less_cm: 0.0,
                            kept: 1.0,
                        };
                    }
                    let less_cm = thickness(&lines, factor);
                    let total: f64 = lines.iter().map(|l| l.kerma).sum();
                    let changed: f64 = lines.iter().map(|l| l.kerma * (l.mu * less_cm).exp()).sum();
                    Layer {
                        less_cm,
                        kept: total / changed,
                    }
                })
                .collect(),
        }
    }

    /// The layers and the step of their radii, mm.
    pub fn layers(&self) -> (&[Layer], f64) {
        (&self.layers, STEP_MM)
    }

    /// At a distance from the axis at the isocentre plane.
    pub fn at(&self, radius_mm: f64) -> Layer {
        let x = (radius_mm / STEP_MM).clamp(0.0, (RADII - 1) as f64);
        let i = (x as usize).min(RADII - 2);
        let (a, b, t) = (self.layers[i], self.layers[i + 1], x - i as f64);
        Layer {
            less_cm: a.less_cm + (b.less_cm - a.less_cm) * t,
            kept: a.kept + (b.kept - a.kept) * t,
        }
    }
}

impl Layer {
    /// Photons of an attenuation coefficient (cm2/g) for one on the axis.
    pub fn photons(&self, mu_cm2_g: f64) -> f64 {
        (mu_cm2_g * self.less_cm).exp() * self.kept
    }
}

struct Line {
    mu: f64,
    /// Collision kerma in air or water, relative.
    kerma: f64,
}

/// Part of the kerma that passes `DEPTH_CM` of water with attenuation times `factor`, of a beam from which a layer of water is taken
/// away.
fn transmitted(lines: &[Line], less_cm: f64, factor: f64) -> f64 {
    let unattenuated: f64 = lines.iter().map(|l| l.kerma * (l.mu * less_cm).exp()).sum();
    let after: f64 = lines
        .iter()
        .map(|l| l.kerma * (l.mu * less_cm - factor * l.mu * DEPTH_CM).exp())
        .sum();
    after / unattenuated
}

/// Thickness of the layer of water to take away (negative: to add), g/cm2.
fn thickness(lines: &[Line], factor: f64) -> f64 {
    let wanted = transmitted(lines, 0.0, factor);
    // The more is taken away, the softer the beam and the less comes through.
    let (mut low, mut high) = (-MOST_LAYER_CM, MOST_LAYER_CM);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if transmitted(lines, middle, 1.0) > wanted {
            low = middle
        } else {
            high = middle
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_beam::BeamKernel;

    #[test]
    fn transmission_is_softened_and_kerma_kept() {
        let machine = Machine::resolve("generic-6mv").expect("shipped");
        let softening = Softening::new(&machine);
        let table = KernelTable::water();
        let axis = softening.at(0.0);
        for radius_mm in [0.0, 50.0, 100.0, 200.0] {
            let factor = machine.softening(machine.off_axis_deg(radius_mm, 0.0));
            let layer = softening.at(radius_mm);
            assert!(
                (kerma_behind(layer, 0.0, 1.0, &machine, table)
                    / kerma_behind(axis, 0.0, 1.0, &machine, table)
                    - 1.0)
                    .abs()
                    < 1e-9,
                "kerma at {radius_mm}"
            );
            for (depth_cm, bound) in [(5.0, 0.004), (10.0, 1e-9), (20.0, 0.015)] {
                let ratio = kerma_behind(layer, depth_cm, 1.0, &machine, table)
                    / kerma_behind(axis, depth_cm, factor, &machine, table);
                println!("{radius_mm} mm off, {depth_cm} cm: {ratio}");
                assert!(
                    (ratio - 1.0).abs() < bound,
                    "{radius_mm} mm at {depth_cm} cm: {ratio}"
                );
            }
        }
        let point = Machine::resolve("point-6mv").expect("shipped");
        let level = Layer {
            less_cm: 0.0,
            kept: 1.0,
        };
        assert!(
            Softening::new(&point)
                .layers()
                .0
                .iter()
                .all(|l| *l == level)
        );
    }

    fn kerma_behind(
        layer: Layer,
        depth_cm: f64,
        factor: f64,
        machine: &Machine,
        table: &KernelTable,
    ) -> f64 {
        machine
            .spectrum
            .bins()
            .map(|(e, photons): (f64, f64)| {
                let mu = table.mu_over_rho_cm2_g(e);
                let kerma = photons * e * mu * table.class_fraction(KernelClass::Primary, e);
                kerma * layer.photons(mu) * (-factor * mu * depth_cm).exp()
            })
            .sum()
    }

    /// Off the axis a voxel has the TERMA of the softened spectrum, class by class: a sum over its energies.
    #[test]
    fn terma_off_the_axis_is_that_of_the_softened_spectrum() {
        let table = KernelTable::water();
        for name in ["generic-6mv", "generic-10mv", "generic-15mv"] {
            let machine = Machine::resolve(name).expect("shipped");
            let (softening, spectrum) = (Softening::new(&machine), &machine.spectrum);
            let (layers, _) = softening.layers();
            let deepest = layers.iter().map(|l| l.less_cm.abs()).fold(0.0, f64::max);
            assert!(deepest < 0.75 * MOST_LAYER_CM, "{name}: {deepest} cm");
            let kernel = BeamKernel::new(&spectrum.energies_mev, &spectrum.photon_weights);
            for (radius_mm, depth_cm) in [
                (0.0, 0.0),
                (75.0, 0.0),
                (150.0, 10.0),
                (240.0, 0.0),
                (240.0, 25.0),
            ] {
                let layer = softening.at(radius_mm);
                let got = kernel
                    .terma(depth_cm - layer.less_cm)
                    .map(|r| r * layer.kept);
                for (class, got) in KernelClass::ALL
                    .into_iter()
                    .zip([got[0] + got[1], got[2] + got[3]])
                {
                    let want = spectrum
                        .bins()
                        .map(|(e, photons): (f64, f64)| {
                            let mu = table.mu_over_rho_cm2_g(e);
                            let kerma = photons * layer.photons(mu) * (-mu * depth_cm).exp();
                            kerma * e * mu * table.class_fraction(class, e)
                        })
                        .sum::<f64>()
                        * crate::kernel_beam::GY_G_PER_MEV;
                    let ratio = got / want;
                    assert!(
                        (ratio - 1.0).abs() < 1e-4,
                        "{name}, {class:?}, {radius_mm} mm, {depth_cm} cm: {ratio}"
                    );
                }
            }
        }
    }
}
