//! The shipped kernels against published sets: Mackie 1988 (EGS3) and EGSnrc 2022 (`assets/PHYSICS.md`).

use super::axis::{Field, Kernels};
use super::phantom::machine;
use crate::common::physics_data;
use beamsight::physics::kernel::{CONES, KernelClass, KernelTable};

/// Cumulative energy in a class by `[energy][shell][cone]`.
type Cumulative = Vec<Vec<[f64; CONES]>>;

/// Kernels of any source on cones of 3.75 degrees.
pub struct KernelSet {
    name: &'static str,
    energies_mev: Vec<f64>,
    /// Outer radii of the shells, g/cm2.
    radii_cm: Vec<f64>,
    total: Cumulative,
    primary: Cumulative,
}

impl KernelSet {
    /// The shipped kernels.
    pub fn shipped() -> Self {
        let table = KernelTable::water();
        let energies_mev = table.energies_mev().to_vec();
        let of = |energy: &f64| KernelClass::ALL.map(|class| table.cumulative(class, *energy));
        let both: Vec<_> = energies_mev.iter().map(of).collect();
        let sum = |p: &[f64; CONES], s: &[f64; CONES]| -> [f64; CONES] {
            std::array::from_fn(|c| p[c] + s[c])
        };
        let total = both
            .iter()
            .map(|[p, s]| p.iter().zip(s).map(|(p, s)| sum(p, s)).collect())
            .collect();
        let primary = both.iter().map(|[p, _]| p.to_vec()).collect();
        Self {
            name: "EGSnrc, shipped",
            energies_mev,
            radii_cm: table.outer_radii_cm().to_vec(),
            total,
            primary,
        }
    }

    /// A set of the data folder `physics/kernels`: header `FILE.json`, values `FILE.f32` by `[energy][cone][shell][component]`. The total is the
    /// sum of the components, or the first of two (total, primary).
    fn read(name: &'static str, file: &str) -> Option<Self> {
        let header = std::fs::read_to_string(physics_data(&format!("kernels/{file}.json"))?)
            .expect("readable");
        let bytes = std::fs::read(physics_data(&format!("kernels/{file}.f32"))?).expect("readable");
        let header: serde_json::Value = serde_json::from_str(&header).expect("JSON");
        let list = |key: &str| -> Vec<f64> {
            header[key]
                .as_array()
                .expect(key)
                .iter()
                .map(|v| v.as_f64().expect(key))
                .collect()
        };
        let (energies_mev, radii_cm) = (list("energies_MeV"), list("radius_upper_edge_cm"));
        let components = header["shape"][3].as_u64().expect("a shape") as usize;
        let sums = header["axes"][3] == "category";
        let values: Vec<f64> = bytes
            .chunks_exact(4)
            .map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
            .collect();
        assert_eq!(
            values.len(),
            energies_mev.len() * CONES * radii_cm.len() * components
        );
        let of = |value: &dyn Fn(&[f64]) -> f64| -> Cumulative {
            let mut all = Vec::new();
            for energy in 0..energies_mev.len() {
                let mut within = [0.0; CONES];
                let shells = (0..radii_cm.len()).map(|shell| {
                    for (cone, within) in within.iter_mut().enumerate() {
                        let first = ((energy * CONES + cone) * radii_cm.len() + shell) * components;
                        *within += value(&values[first..first + components]);
                    }
                    within
                });
                all.push(shells.collect());
            }
            all
        };
        let total = of(&|c| if sums { c.iter().sum() } else { c[0] });
        let primary = of(&|c| if sums { c[0] } else { c[1] });
        Some(Self {
            name,
            energies_mev,
            radii_cm,
            total,
            primary,
        })
    }

    pub fn radii_cm(&self) -> &[f64] {
        &self.radii_cm
    }

    pub fn all() -> Option<[Self; 3]> {
        let mackie = Self::read("Mackie 1988", "edk_mackie1988_mono")?;
        let egsnrc = Self::read("EGSnrc 2022", "edk_egsnrc2022_mono")?;
        Some([Self::shipped(), mackie, egsnrc])
    }

    /// Energy within a radius by cone: linear in the logarithm of the energy and, within a shell, in the radius.
    pub fn within(&self, energy_mev: f64, radius_cm: f64) -> [f64; CONES] {
        let e = &self.energies_mev;
        let energy = energy_mev.clamp(e[0], e[e.len() - 1]);
        let i = e.partition_point(|x| *x <= energy).clamp(1, e.len() - 1) - 1;
        let t = (energy / e[i]).ln() / (e[i + 1] / e[i]).ln();
        let [low, high] = [i, i + 1].map(|n| shell_at(&self.total[n], &self.radii_cm, radius_cm));
        std::array::from_fn(|c| low[c] * (1.0 - t) + high[c] * t)
    }
}

fn shell_at(table: &[[f64; CONES]], radii_cm: &[f64], r: f64) -> [f64; CONES] {
    let n = radii_cm.partition_point(|x| *x < r).min(radii_cm.len() - 1);
    let (r0, inner) = if n == 0 {
        (0.0, [0.0; CONES])
    } else {
        (radii_cm[n - 1], table[n - 1])
    };
    let t = ((r - r0) / (radii_cm[n] - r0)).min(1.0);
    std::array::from_fn(|c| inner[c] + t * (table[n][c] - inner[c]))
}

impl KernelSet {
    fn energy_index(&self, energy_mev: f64) -> Option<usize> {
        self.energies_mev
            .iter()
            .position(|e| (e / energy_mev - 1.0).abs() < 1e-6)
    }

    /// The figures of one energy; cells at the shells of `radii_cm`.
    fn figures(&self, energy: usize, radii_cm: &[f64]) -> Figures {
        let at = |table: &Cumulative, r: f64| shell_at(&table[energy], &self.radii_cm, r);
        let sum = |cones: [f64; CONES]| cones.iter().sum::<f64>();
        let angle = |table: &Cumulative, r: f64| {
            let cones = at(table, r);
            let middle = |cone: usize| (cone as f64 + 0.5) * 180.0 / CONES as f64;
            cones
                .iter()
                .enumerate()
                .map(|(c, e)| e * middle(c))
                .sum::<f64>()
                / sum(cones)
        };
        let by_shell = |table: &Cumulative| -> Vec<[f64; CONES]> {
            let mut before = [0.0; CONES];
            let shell = |r: &f64| {
                let within = at(table, *r);
                let inside: [f64; CONES] = std::array::from_fn(|c| within[c] - before[c]);
                before = within;
                inside
            };
            radii_cm.iter().map(shell).collect()
        };
        Figures {
            primary: sum(at(&self.primary, 60.0)),
            total: [1.0, 5.0, 60.0].map(|r| sum(at(&self.total, r))),
            mean_angle_deg: [angle(&self.primary, 60.0), angle(&self.total, 60.0)],
            cells: by_shell(&self.total),
        }
    }
}

struct Figures {
    primary: f64,
    /// Within 1, 5 and 60 cm.
    total: [f64; 3],
    /// Mean angles of the primary energy and of all energy.
    mean_angle_deg: [f64; 2],
    cells: Vec<[f64; CONES]>,
}

/// Sum of absolute differences of the cells over their sum.
fn distance(a: &Figures, b: &Figures) -> f64 {
    let pairs = || a.cells.iter().flatten().zip(b.cells.iter().flatten());
    pairs().map(|(a, b)| (a - b).abs()).sum::<f64>() / pairs().map(|(a, _)| a).sum::<f64>()
}

/// Allowed differences of a set from the shipped one: shares of the energy (relative), degrees, shares of the
/// cells' sum.
struct Tolerance {
    primary: f64,
    /// Within 1, 5 and 60 cm.
    total: [f64; 3],
    /// Mean angles of the primary energy and of all energy.
    mean_angle_deg: [f64; 2],
    cells: f64,
    energies: usize,
}

/// EGS3 of 1985: electrons scatter less and stop a little sooner (README of the data: 17 % of a shell's primary at 1 MeV).
const MACKIE: Tolerance = Tolerance {
    primary: 0.01,
    total: [0.013, 0.005, 0.0035],
    mean_angle_deg: [6.5, 1.3],
    cells: 0.055,
    energies: 20,
};

/// The same code with other settings (Rayleigh scattering on, the original tables).
const EGSNRC: Tolerance = Tolerance {
    primary: 0.004,
    total: [0.003, 0.002, 0.0025],
    mean_angle_deg: [0.05, 0.06],
    cells: 0.01,
    energies: 8,
};

/// Energies within a radius, by class, and mean angles, at every energy that two sets share.
#[test]
fn sets_agree_where_they_meet() {
    let Some([shipped, mackie, egsnrc]) = KernelSet::all() else {
        return;
    };
    // The shells of both are among the shipped ones.
    let radii = mackie.radii_cm.clone();
    assert_eq!(egsnrc.radii_cm, radii);
    println!(
        "set, MeV: primary; total within 1, 5, 60 cm; mean angle of the primary, of all; cell by cell"
    );
    for (other, most) in [(&mackie, MACKIE), (&egsnrc, EGSNRC)] {
        let mut shared = 0;
        for (i, energy) in shipped.energies_mev.iter().enumerate() {
            let Some(j) = other.energy_index(*energy) else {
                continue;
            };
            shared += 1;
            let (ours, theirs) = (shipped.figures(i, &radii), other.figures(j, &radii));
            let cells = distance(&ours, &theirs);
            for (name, f) in [(shipped.name, &ours), (other.name, &theirs)] {
                let ([near, middle, far], [primary, all]) = (f.total, f.mean_angle_deg);
                let (class, part) = (f.primary, 100.0 * cells);
                println!(
                    "{name:>15} {energy:6.2}: {class:.4}; {near:.4} {middle:.4} {far:.4}; {primary:5.2} {all:5.2}; {part:.1} %"
                );
            }
            let at = format!("{} at {energy} MeV", other.name);
            assert!(
                (theirs.primary / ours.primary - 1.0).abs() < most.primary,
                "{at}: primary"
            );
            for n in 0..3 {
                assert!(
                    (theirs.total[n] / ours.total[n] - 1.0).abs() < most.total[n],
                    "{at}: within {n}"
                );
            }
            for n in 0..2 {
                let turn = theirs.mean_angle_deg[n] - ours.mean_angle_deg[n];
                assert!(
                    turn.abs() < most.mean_angle_deg[n],
                    "{at}: mean angle {n} off by {turn}"
                );
            }
            assert!(cells < most.cells, "{at}: cell by cell {cells}");
        }
        assert_eq!(shared, most.energies, "energies shared with {}", other.name);
    }
}

/// Depth dose of 10 x 10 cm2 in water with each of the sets: within 0.3 % of the shipped one from 1 cm on.
#[test]
fn depth_dose_with_each_set() {
    let Some(sets) = KernelSet::all() else { return };
    let depths_cm = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 25.0];
    let curves = sets.each_ref().map(|set| {
        let kernels = Kernels::mixed(set, &machine("point-6mv").spectrum);
        depths_cm.map(|d| kernels.dose_on_axis(&Field::ten(100.0, 30.0), d) * 1e12)
    });
    println!("pGy cm2 at {depths_cm:?} cm");
    for (set, curve) in sets.iter().zip(&curves) {
        println!("{:>15}: {curve:.4?}", set.name);
        for ((depth, dose), shipped) in depths_cm.iter().zip(curve).zip(&curves[0]) {
            let most = if *depth < 1.0 { 0.007 } else { 0.003 };
            assert!(
                (dose / shipped - 1.0).abs() < most,
                "{} at {depth} cm: {dose} for {shipped}",
                set.name
            );
        }
    }
}
