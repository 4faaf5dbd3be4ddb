//! Energy deposition kernels of photons in water: the shipped table.
//!
//! Monoenergetic point kernels (T.R. Mackie et al., Phys. Med. Biol. 33, 1 (1988)) computed with EGSnrc; where they
//! come from stands in `assets/kernels/README.md`. Photons travel along the kernel's axis and interact at the origin;
//! a cell is a spherical shell within a cone about the axis, over all azimuths. Radii are radiological, g/cm2 of water.

use serde::Deserialize;
use std::sync::OnceLock;

/// Cones of 3.75 degrees.
pub const CONES: usize = 48;
/// Spherical shells out to 60 cm.
pub const SHELLS: usize = 30;

/// The particles that transport energy from the first interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelClass {
    /// Charged particles set moving by the first interaction: driven by the collision kerma.
    Primary,
    /// Scattered, annihilation and bremsstrahlung photons and their electrons: driven by TERMA less collision kerma.
    Scatter,
}

impl KernelClass {
    pub const ALL: [Self; 2] = [Self::Primary, Self::Scatter];
}

/// Cumulative energy `[shell][cone]`: the part of the energy deposited in the cone within the shell's outer radius.
pub type ConeTable = [[f64; CONES]; SHELLS];

/// The table of kernels, as tabulated (no fit).
#[derive(Debug)]
pub struct KernelTable {
    head: Head,
    /// Per class and energy.
    cumulative: [Vec<ConeTable>; 2],
}

/// `edk_water.toml`.
#[derive(Debug, Deserialize)]
struct Head {
    energies_mev: Vec<f64>,
    mu_over_rho_cm2_g: Vec<f64>,
    /// Part of the energy that goes further than the last shell (all of it scatter).
    beyond_last_shell: Vec<f64>,
    outer_radii_cm: Vec<f64>,
}

impl KernelTable {
    /// The shipped kernels of water, 0.05 to 20 MeV.
    ///
    /// # Panics
    /// When the asset compiled into the program is damaged, which a test excludes.
    pub fn water() -> &'static Self {
        static TABLE: OnceLock<KernelTable> = OnceLock::new();
        TABLE.get_or_init(|| {
            let head: Head = toml::from_str(include_str!("../../assets/kernels/edk_water.toml"))
                .expect("the shipped kernel header is valid");
            Self::from_parts(head, include_bytes!("../../assets/kernels/edk_water.f32"))
        })
    }

    fn from_parts(head: Head, bytes: &[u8]) -> Self {
        let energies = head.energies_mev.len();
        assert_eq!(
            head.outer_radii_cm.len(),
            SHELLS,
            "shells of the shipped kernels"
        );
        assert_eq!(
            bytes.len(),
            4 * 2 * energies * SHELLS * CONES,
            "size of the shipped kernels"
        );
        let values: Vec<f64> = bytes
            .chunks_exact(4)
            .map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
            .collect();
        let cumulative = [0, 1].map(|class| {
            (0..energies)
                .map(|e| {
                    let mut cumulative = [[0.0; CONES]; SHELLS];
                    let first = (class * energies + e) * SHELLS * CONES;
                    for shell in 0..SHELLS {
                        for cone in 0..CONES {
                            let inner = if shell == 0 {
                                0.0
                            } else {
                                cumulative[shell - 1][cone]
                            };
                            cumulative[shell][cone] = inner + values[first + shell * CONES + cone];
                        }
                    }
                    cumulative
                })
                .collect()
        });
        Self { head, cumulative }
    }

    /// Photon energies of the table, MeV, ascending.
    pub fn energies_mev(&self) -> &[f64] {
        &self.head.energies_mev
    }

    /// Outer radii of the shells, g/cm2.
    pub fn outer_radii_cm(&self) -> &[f64] {
        &self.head.outer_radii_cm
    }

    /// Edges of a cone, degrees from the photon's direction.
    pub fn cone_edges_deg(cone: usize) -> [f64; 2] {
        let width = 180.0 / CONES as f64;
        [cone as f64 * width, (cone + 1) as f64 * width]
    }

    /// Total attenuation of water without coherent scattering, as the Monte Carlo used it, cm2/g; log-log between
    /// the energies of the table, which bound it.
    pub fn mu_over_rho_cm2_g(&self, energy_mev: f64) -> f64 {
        let (i, t) = self.bracket(energy_mev);
        let mu = &self.head.mu_over_rho_cm2_g;
        (mu[i].ln() * (1.0 - t) + mu[i + 1].ln() * t).exp()
    }

    /// Part of the energy of a photon's interactions that a class carries (both classes sum to 1).
    /// For the primary class it is mu_en/mu.
    pub fn class_fraction(&self, class: KernelClass, energy_mev: f64) -> f64 {
        let (i, t) = self.bracket(energy_mev);
        let [low, high] = [i, i + 1].map(|e| self.cumulative[0][e][SHELLS - 1].iter().sum::<f64>());
        let p = low * (1.0 - t) + high * t;
        match class {
            KernelClass::Primary => p,
            KernelClass::Scatter => 1.0 - p,
        }
    }

    /// Part of the energy deposited beyond the last shell.
    pub fn beyond_last_shell(&self, energy_mev: f64) -> f64 {
        let (i, t) = self.bracket(energy_mev);
        self.head.beyond_last_shell[i] * (1.0 - t) + self.head.beyond_last_shell[i + 1] * t
    }

    /// Cumulative energy of a class, interpolated in the logarithm of the energy.
    pub fn cumulative(&self, class: KernelClass, energy_mev: f64) -> ConeTable {
        let (i, t) = self.bracket(energy_mev);
        let tables = &self.cumulative[class as usize];
        let mut mixed = [[0.0; CONES]; SHELLS];
        for (shell, row) in mixed.iter_mut().enumerate() {
            for (cone, value) in row.iter_mut().enumerate() {
                *value = tables[i][shell][cone] * (1.0 - t) + tables[i + 1][shell][cone] * t;
            }
        }
        mixed
    }

    /// The pair of energies round an energy and the place between them in the logarithm.
    fn bracket(&self, energy_mev: f64) -> (usize, f64) {
        let e = &self.head.energies_mev;
        let energy = energy_mev.clamp(e[0], e[e.len() - 1]);
        let i = e.partition_point(|&x| x <= energy).clamp(1, e.len() - 1) - 1;
        (i, (energy / e[i]).ln() / (e[i + 1] / e[i]).ln())
    }
}
