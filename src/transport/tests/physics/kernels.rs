//! Primary energy deposition kernels of water against shells of EGSnrc (data set `edk_water_egsnrc`).

use super::common::{boundless, fine_tables, key, shared_text, tables, with_cut_off};
use glam::DVec3;
use physics::Material;
use rayon::prelude::*;
use transport::draws::Draws;
use transport::energy::{QUANTUM_MEV, quantised_mev};
use transport::tables::{MaterialTables, Thresholds};
use transport::{Deposit, Histories, Kind, Particle, Scorer, Settings, World};

const BATCHES: u64 = 16;

/// Kernel of EGSnrc: shares of the photon's energy, by shell, then by cone.
struct Reference {
    photon_mev: f64,
    radii_cm: Vec<f64>,
    /// Primary component.
    fraction: Vec<Vec<f64>>,
    relative_sigma: Vec<Vec<f64>>,
}

impl Reference {
    fn read(photon_mev: f64) -> Option<Self> {
        let text = shared_text(&format!(
            "edk_water_egsnrc/edk_water_{photon_mev:07.3}MeV.json"
        ))?;
        let json: serde_json::Value = serde_json::from_str(&text).expect("a kernel");
        Some(Self {
            photon_mev,
            radii_cm: numbers(&json["radii_cm"]),
            fraction: primary_table(&json, "fraction"),
            relative_sigma: primary_table(&json, "rel_uncertainty_1sigma"),
        })
    }

    /// Sum of a shell with its standard error.
    fn shell(&self, shell: usize) -> [f64; 2] {
        let sum: f64 = self.fraction[shell].iter().sum();
        let variance: f64 = self.fraction[shell]
            .iter()
            .zip(&self.relative_sigma[shell])
            .map(|(value, relative)| (value * relative).powi(2))
            .sum();
        [sum, variance.sqrt()]
    }

    fn sum(&self) -> f64 {
        self.fraction.iter().flatten().sum()
    }

    /// Energy within a range of cones of 3.75 degrees.
    fn cones(&self, cones: std::ops::Range<usize>) -> f64 {
        self.fraction
            .iter()
            .map(|shell| shell[cones.clone()].iter().sum::<f64>())
            .sum()
    }
}

/// Table of the primary component, by shell, then by cone.
fn primary_table(json: &serde_json::Value, name: &str) -> Vec<Vec<f64>> {
    let shells = json[name]["primary"].as_array().expect("shells");
    shells.iter().map(numbers).collect()
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    let array = value.as_array().expect("numbers");
    array
        .iter()
        .map(|v| v.as_f64().expect("a number"))
        .collect()
}

/// Sums by shell and by cone; a deposit counts at a place drawn evenly along its track.
struct Shells<'a> {
    radii_cm: &'a [f64],
    draws: Draws,
    by_shell: Vec<f64>,
    by_cone: [f64; 48],
}

impl Scorer for Shells<'_> {
    fn deposit(&mut self, deposit: &Deposit) {
        let along = deposit.end_cm - deposit.start_cm;
        let place = deposit.start_cm + along * self.draws.uniform();
        let radius = place.length();
        let energy_mev = deposit.quanta as f64 * QUANTUM_MEV;
        let shell = self.radii_cm.partition_point(|&edge| edge <= radius);
        if let Some(sum) = self.by_shell.get_mut(shell.max(1) - 1) {
            *sum += energy_mev;
        }
        // At the origin no cone is the right one; 10 keV electrons of EGSnrc go on for 2 um.
        if radius == 0.0 {
            return;
        }
        let degrees = (place.z / radius).clamp(-1.0, 1.0).acos().to_degrees();
        self.by_cone[((degrees / 3.75) as usize).min(47)] += energy_mev;
    }
}

/// Means over photons, as shares of their energy, with standard errors.
struct Kernel {
    by_shell: Vec<[f64; 2]>,
    by_cone: [f64; 48],
    sum: f64,
}

fn kernel(
    reference: &Reference,
    tables: &[MaterialTables],
    settings: Settings,
    photons: u64,
) -> Kernel {
    let voxels = boundless(Material::Water);
    let world = World::new(&voxels, tables, settings).expect("a world");
    let batches: Vec<(Vec<f64>, [f64; 48])> = (0..BATCHES)
        .into_par_iter()
        .map(|batch| {
            let mut scorer = Shells {
                radii_cm: &reference.radii_cm,
                draws: Draws::with_key(batch),
                by_shell: vec![0.0; reference.radii_cm.len() - 1],
                by_cone: [0.0; 48],
            };
            let mut histories = Histories::new(&world, &mut scorer).without_secondary_photons();
            let count = photons / BATCHES;
            for number in 0..count {
                histories.run_collision(Particle {
                    kind: Kind::Photon,
                    energy_mev: quantised_mev(reference.photon_mev),
                    position_cm: DVec3::ZERO,
                    direction: DVec3::Z,
                    weight: 1,
                    key: key(batch, number),
                });
            }
            assert!(histories.ledger().is_closed());
            assert_eq!(histories.ledger().exhausted_particles, 0);
            let scale = 1.0 / (count as f64 * reference.photon_mev);
            (
                scorer.by_shell.iter().map(|sum| sum * scale).collect(),
                scorer.by_cone.map(|sum| sum * scale),
            )
        })
        .collect();
    let count = BATCHES as f64;
    let by_shell = (0..reference.radii_cm.len() - 1)
        .map(|shell| {
            let mean = batches.iter().map(|batch| batch.0[shell]).sum::<f64>() / count;
            let squares: f64 = batches
                .iter()
                .map(|batch| (batch.0[shell] - mean).powi(2))
                .sum();
            [mean, (squares / (count * (count - 1.0))).sqrt()]
        })
        .collect();
    let mut by_cone = [0.0; 48];
    for batch in &batches {
        for (sum, value) in by_cone.iter_mut().zip(batch.1) {
            *sum += value / count;
        }
    }
    let sums = batches.iter().map(|batch| batch.0.iter().sum::<f64>());
    Kernel {
        by_shell,
        sum: sums.sum::<f64>() / count,
        by_cone,
    }
}

/// Kernel to compare, and how.
struct Case<'a> {
    photon_mev: f64,
    tables: &'a [MaterialTables],
    settings: Settings,
    photons: u64,
    /// Relative, for shells that hold more than a percent.
    tolerance: f64,
}

/// Compares, prints, and returns what is not as in the reference: shells that hold more than a percent beyond `tolerance` and four
/// standard errors, forward cones beyond 3 %.
fn compare(case: &Case) -> Vec<String> {
    let Case {
        photon_mev,
        tables,
        settings,
        photons,
        tolerance,
    } = *case;
    let Some(reference) = Reference::read(photon_mev) else {
        return Vec::new();
    };
    let kernel = kernel(&reference, tables, settings, photons);
    println!(
        "{photon_mev} MeV, cut-off {} MeV, step loss {}: sum {:+.2} %",
        settings.cut_off_mev,
        settings.step_loss,
        100.0 * (kernel.sum / reference.sum() - 1.0)
    );
    let mut faults = Vec::new();
    for (shell, &[value, sigma]) in kernel.by_shell.iter().enumerate() {
        let [expected, expected_sigma] = reference.shell(shell);
        if expected < 0.01 {
            continue;
        }
        let deviation = value / expected - 1.0;
        let error = sigma.hypot(expected_sigma) / expected;
        let text = format!(
            "{photon_mev} MeV to {} cm: {:+.2} % +- {:.2}, holds {:.1} %",
            reference.radii_cm[shell + 1],
            100.0 * deviation,
            100.0 * error,
            100.0 * expected
        );
        println!("{text}");
        if deviation.abs() > tolerance + 4.0 * error {
            faults.push(text);
        }
    }
    for first in (0..48).step_by(4) {
        let value: f64 = kernel.by_cone[first..first + 4].iter().sum();
        let expected = reference.cones(first..first + 4);
        let text = format!(
            "{photon_mev} MeV from {} degrees: {:+.2} %, holds {:.2} %",
            3.75 * first as f64,
            100.0 * (value / expected - 1.0),
            100.0 * expected
        );
        println!("{text}");
        if first < 24 && expected > 0.03 && (value / expected - 1.0).abs() > 0.03 {
            faults.push(text);
        }
    }
    if (kernel.sum / reference.sum() - 1.0).abs() > 0.004 {
        faults.push(format!("{photon_mev} MeV: the sum"));
    }
    faults
}

/// Sums to 0.4 %, shells that hold a percent to 1.5 %, forward cones to 3 %: with the fine thresholds. The standard ones leave out
/// so much straggling that the end of the range is 4 to 7 % low.
#[test]
fn primary_kernels_are_those_of_egsnrc() {
    for photon_mev in [1.25, 6.0] {
        let faults = compare(&Case {
            photon_mev,
            tables: fine_tables(),
            settings: Settings {
                step_loss: 0.1,
                ..with_cut_off(0.02)
            },
            photons: 60_000,
            tolerance: 0.015,
        });
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

#[test]
#[ignore = "minutes: figures of all energies and step losses"]
fn primary_kernels_at_all_energies() {
    let lowest = Thresholds {
        electron_mev: 0.02,
        photon_mev: 0.01,
    };
    let water = &tables()[Material::Water as usize];
    let low_tables = [water.for_thresholds(lowest)];
    for photon_mev in [1.25, 6.0, 0.5, 15.0] {
        for (name, tables, cut_off_mev, step_loss) in [
            ("thresholds 20/10 keV", &low_tables[..], 0.02, 0.1),
            ("thresholds 100/20 keV", fine_tables(), 0.02, 0.1),
            ("standard", tables(), 0.02, 0.1),
            ("standard", tables(), 0.2, 0.2),
        ] {
            println!("{name}");
            let faults = compare(&Case {
                photon_mev,
                tables,
                settings: Settings {
                    step_loss,
                    ..with_cut_off(cut_off_mev)
                },
                photons: 200_000,
                tolerance: 0.01,
            });
            faults.iter().for_each(|fault| println!("FAULT {fault}"));
        }
    }
}
