//! Parameters of a machine that a fit to measured data may change: a few numbers, each relative to the machine it
//! starts from.

use super::kernel::KernelTable;
use super::{Curve, Machine, Spectrum};

/// Radii at the isocentre plane where the off-axis curve is multiplied by a separate factor each, mm; lines between them,
/// level beyond.
pub const OFF_AXIS_NODES_MM: [f64; 4] = [50.0, 100.0, 150.0, 200.0];

/// A number that may be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// Power of the energy by which the photons of each bin are multiplied.
    SpectrumSlope,
    /// Water that hardens the spectrum (negative: is taken away), g/cm2.
    SpectrumFilter,
    /// Factors on the off-axis curve at [`OFF_AXIS_NODES_MM`].
    OffAxis50,
    OffAxis100,
    OffAxis150,
    OffAxis200,
    /// Factor on the excess of the softening over 1.
    Softening,
    /// Standard deviation of the focal spot, mm.
    FocalX,
    FocalY,
    ExtraFocalShare,
    /// Standard deviation of the extra-focal source, mm.
    ExtraFocalSigma,
    ElectronShare,
    /// Fall-off of the electrons with depth, per mm.
    ElectronFalloff,
    /// Spread of the electrons from each point of the aperture, mm.
    ElectronSigma,
    /// Offset of the leaf tips, mm at the isocentre plane.
    LeafOffset,
}

/// The range of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowed {
    pub low: f64,
    pub high: f64,
    /// Standard deviation about the starting value that is believed before any measurement. It holds what the data leave open.
    pub believed: f64,
}

impl Parameter {
    pub const ALL: [Self; 15] = [
        Self::SpectrumSlope,
        Self::SpectrumFilter,
        Self::OffAxis50,
        Self::OffAxis100,
        Self::OffAxis150,
        Self::OffAxis200,
        Self::Softening,
        Self::FocalX,
        Self::FocalY,
        Self::ExtraFocalShare,
        Self::ExtraFocalSigma,
        Self::ElectronShare,
        Self::ElectronFalloff,
        Self::ElectronSigma,
        Self::LeafOffset,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::SpectrumSlope => "spectrum-slope",
            Self::SpectrumFilter => "spectrum-filter",
            Self::OffAxis50 => "off-axis-50",
            Self::OffAxis100 => "off-axis-100",
            Self::OffAxis150 => "off-axis-150",
            Self::OffAxis200 => "off-axis-200",
            Self::Softening => "softening",
            Self::FocalX => "focal-x",
            Self::FocalY => "focal-y",
            Self::ExtraFocalShare => "extra-focal-share",
            Self::ExtraFocalSigma => "extra-focal-sigma",
            Self::ElectronShare => "electron-share",
            Self::ElectronFalloff => "electron-falloff",
            Self::ElectronSigma => "electron-sigma",
            Self::LeafOffset => "leaf-offset",
        }
    }

    pub fn unit(self) -> &'static str {
        match self {
            Self::SpectrumFilter => "g/cm2",
            Self::FocalX
            | Self::FocalY
            | Self::ExtraFocalSigma
            | Self::ElectronSigma
            | Self::LeafOffset => "mm",
            Self::ElectronFalloff => "per mm",
            _ => "",
        }
    }

    /// Bounds within the bounds of machine files; beliefs of the size of the ranges in `assets/PHYSICS.md`.
    pub fn allowed(self) -> Allowed {
        let (low, high, believed) = match self {
            Self::SpectrumSlope => (-1.5, 1.5, 0.3),
            Self::SpectrumFilter => (-15.0, 30.0, 5.0),
            Self::OffAxis50 | Self::OffAxis100 | Self::OffAxis150 | Self::OffAxis200 => {
                (0.7, 1.3, 0.04)
            }
            Self::Softening => (-1.0, 3.0, 0.5),
            Self::FocalX | Self::FocalY => (0.05, 4.0, 0.5),
            Self::ExtraFocalShare => (0.0, 0.3, 0.04),
            Self::ExtraFocalSigma => (5.0, 60.0, 5.0),
            Self::ElectronShare => (0.0, 0.4, 0.05),
            Self::ElectronFalloff => (0.02, 0.6, 0.05),
            Self::ElectronSigma => (10.0, 200.0, 20.0),
            // Leaf banks are calibrated to some tenths of a millimetre (AAPM TG-142, Med. Phys. 36, 4197 (2009): 1 mm).
            Self::LeafOffset => (-0.5, 2.0, 0.3),
        };
        Allowed {
            low,
            high,
            believed,
        }
    }

    /// The radius of a factor on the off-axis curve, mm.
    pub fn node_mm(self) -> Option<f64> {
        let node = match self {
            Self::OffAxis50 => 0,
            Self::OffAxis100 => 1,
            Self::OffAxis150 => 2,
            Self::OffAxis200 => 3,
            _ => return None,
        };
        Some(OFF_AXIS_NODES_MM[node])
    }

    /// Whether the dose of electrons alone depends on it, which needs no transport.
    pub fn is_of_electrons(self) -> bool {
        matches!(
            self,
            Self::ElectronShare | Self::ElectronFalloff | Self::ElectronSigma
        )
    }

    /// Its value in a machine to start from; `None` where the machine lacks the part.
    pub fn start(self, machine: &Machine) -> Option<f64> {
        match self {
            Self::SpectrumSlope | Self::SpectrumFilter => Some(0.0),
            Self::OffAxis50 | Self::OffAxis100 | Self::OffAxis150 | Self::OffAxis200 => Some(1.0),
            Self::Softening => machine
                .softening
                .points()
                .iter()
                .any(|p| p[1] != 1.0)
                .then_some(1.0),
            Self::FocalX => Some(machine.focal_sigma_mm[0]),
            Self::FocalY => Some(machine.focal_sigma_mm[1]),
            Self::ExtraFocalShare => machine.extra_focal.map(|e| e.share),
            Self::ExtraFocalSigma => machine.extra_focal.map(|e| e.sigma_mm),
            Self::ElectronShare => machine.electrons.map(|e| e.surface_share),
            Self::ElectronFalloff => machine.electrons.map(|e| e.falloff_per_mm),
            Self::ElectronSigma => machine.electrons.map(|e| e.sigma_mm),
            Self::LeafOffset => machine.leaves.as_ref().map(|leaves| leaves.offset_mm),
        }
    }
}

impl Machine {
    /// The machine with parameters changed; those not given stay. Factors on the off-axis curve that are not given
    /// beyond the last that is have its value.
    #[must_use]
    pub fn adjusted(&self, values: &[(Parameter, f64)]) -> Self {
        let mut machine = self.clone();
        let slope = value_of(Parameter::SpectrumSlope, values).unwrap_or(0.0);
        let filter_cm = value_of(Parameter::SpectrumFilter, values).unwrap_or(0.0);
        machine.spectrum = reshaped(&self.spectrum, slope, filter_cm);
        machine.off_axis = self.off_axis_times(values);
        if let Some(factor) = value_of(Parameter::Softening, values) {
            let scaled = self
                .softening
                .points()
                .iter()
                .map(|p| [p[0], 1.0 + factor * (p[1] - 1.0)]);
            machine.softening =
                Curve::try_from(scaled.collect::<Vec<_>>()).unwrap_or(machine.softening);
        }
        for (axis, parameter) in [Parameter::FocalX, Parameter::FocalY]
            .into_iter()
            .enumerate()
        {
            machine.focal_sigma_mm[axis] =
                value_of(parameter, values).unwrap_or(machine.focal_sigma_mm[axis]);
        }
        if let Some(source) = &mut machine.extra_focal {
            source.share = value_of(Parameter::ExtraFocalShare, values).unwrap_or(source.share);
            source.sigma_mm =
                value_of(Parameter::ExtraFocalSigma, values).unwrap_or(source.sigma_mm);
        }
        if let Some(electrons) = &mut machine.electrons {
            electrons.surface_share =
                value_of(Parameter::ElectronShare, values).unwrap_or(electrons.surface_share);
            electrons.falloff_per_mm =
                value_of(Parameter::ElectronFalloff, values).unwrap_or(electrons.falloff_per_mm);
            electrons.sigma_mm =
                value_of(Parameter::ElectronSigma, values).unwrap_or(electrons.sigma_mm);
        }
        if let Some(leaves) = &mut machine.leaves {
            leaves.offset_mm = value_of(Parameter::LeafOffset, values).unwrap_or(leaves.offset_mm);
        }
        machine
    }

    fn off_axis_times(&self, values: &[(Parameter, f64)]) -> Curve {
        let mut nodes = vec![[0.0, 1.0]];
        nodes.extend(
            values
                .iter()
                .filter_map(|(p, v)| p.node_mm().map(|node| [node, *v])),
        );
        nodes.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let Ok(factor) = Curve::try_from(nodes.clone()) else {
            return self.off_axis.clone();
        };
        if nodes.iter().all(|n| n[1] == 1.0) {
            return self.off_axis.clone();
        }
        let mut radii: Vec<f64> = self
            .off_axis
            .points()
            .iter()
            .chain(&nodes)
            .map(|p| p[0])
            .collect();
        radii.sort_by(f64::total_cmp);
        radii.dedup();
        let points: Vec<[f64; 2]> = radii
            .iter()
            .map(|r| [*r, self.off_axis.at(*r) * factor.at(*r)])
            .collect();
        Curve::try_from(points).unwrap_or_else(|_| self.off_axis.clone())
    }
}

fn value_of(wanted: Parameter, values: &[(Parameter, f64)]) -> Option<f64> {
    values.iter().find(|(p, _)| *p == wanted).map(|(_, v)| *v)
}

/// Photons times a power of the energy and the transmission of water.
fn reshaped(spectrum: &Spectrum, slope: f64, filter_cm: f64) -> Spectrum {
    if slope == 0.0 && filter_cm == 0.0 {
        return spectrum.clone();
    }
    let (table, mean) = (KernelTable::water(), spectrum.mean_energy_mev());
    let at_mean = table.mu_over_rho_cm2_g(mean);
    let photons: Vec<f64> = spectrum
        .bins()
        .map(|(energy, photons): (f64, f64)| {
            let through = (-(table.mu_over_rho_cm2_g(energy) - at_mean) * filter_cm).exp();
            photons * (energy / mean).powf(slope) * through
        })
        .collect();
    let sum: f64 = photons.iter().sum();
    let photons = photons.into_iter().map(|p| p / sum).collect();
    Spectrum::new(spectrum.energies_mev.clone(), photons).unwrap_or_else(|_| spectrum.clone())
}
