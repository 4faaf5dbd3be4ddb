//! The shipped kernels: equal to their source data, conserving energy, well fitted.

use crate::common::physics_data;
use beamsight::physics::kernel::{CONES, ConeTable, KernelClass, KernelTable, SHELLS};
use beamsight::physics::kernel_beam::BeamKernel;
use beamsight::physics::kernel_fit::ExponentialKernel;
use std::path::{Path, PathBuf};

#[test]
fn asset_equals_the_data_it_comes_from() {
    let Some(folder) = physics_data("edk_water_egsnrc") else {
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let read = |p: &PathBuf| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(p).expect("readable")).expect("JSON")
    };
    let all: Vec<serde_json::Value> = files.iter().map(read).collect();
    let number = |v: &serde_json::Value| v.as_f64().expect("a number");
    let mut values: Vec<u8> = Vec::new();
    for class in KernelClass::ALL {
        for file in &all {
            for shell in 0..SHELLS {
                for cone in 0..CONES {
                    let at = |component: &str| number(&file["fraction"][component][shell][cone]);
                    let value = match class {
                        KernelClass::Primary => at("primary"),
                        KernelClass::Scatter => at("total") - at("primary"),
                    };
                    values.extend((value as f32).to_le_bytes());
                }
            }
        }
    }
    let list = |v: Vec<f64>| format!("{v:?}");
    let each = |f: &dyn Fn(&serde_json::Value) -> f64| list(all.iter().map(f).collect());
    let radii = all[0]["radii_cm"]
        .as_array()
        .expect("radii")
        .iter()
        .skip(1)
        .map(number)
        .collect();
    let head = format!(
        "# Header of edk_water.f32; both made by tests/engine/cccs/kernel.rs from the EGSnrc data set edk_water_egsnrc (README.md).\n\
         energies_mev = {}\n# Without coherent scattering, as the Monte Carlo used it.\nmu_over_rho_cm2_g = {}\n\
         # Energy deposited beyond the last shell, part of 1.\nbeyond_last_shell = {}\nouter_radii_cm = {}\n",
        each(&|f| number(&f["energy_MeV"])),
        each(&|f| number(&f["mu_over_rho_cm2_g"])),
        each(&|f| number(&f["sum_beyond_60cm"]["total"])),
        list(radii),
    );
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/kernels");
    if std::env::var_os("BEAMSIGHT_WRITE_ASSETS").is_some() {
        std::fs::write(assets.join("edk_water.f32"), &values).expect("written");
        std::fs::write(assets.join("edk_water.toml"), &head).expect("written");
    }
    assert!(
        std::fs::read(assets.join("edk_water.f32")).expect("shipped") == values,
        "kernel values differ"
    );
    assert_eq!(
        std::fs::read_to_string(assets.join("edk_water.toml")).expect("shipped"),
        head
    );
}

/// Hubbell and Seltzer, NISTIR 5632: mu_en/rho of water, cm2/g.
#[test]
fn primary_class_sums_to_energy_absorption() {
    let k = KernelTable::water();
    for (energy, mu_en) in [
        (0.1, 0.02546),
        (0.5, 0.03299),
        (1.0, 0.03103),
        (2.0, 0.02608),
        (6.0, 0.01806),
        (10.0, 0.01566),
    ] {
        let got = k.class_fraction(KernelClass::Primary, energy) * k.mu_over_rho_cm2_g(energy);
        assert!(
            (got / mu_en - 1.0).abs() < 0.003,
            "{energy} MeV: {got} for {mu_en}"
        );
    }
}

/// Sums inside the 60 cm sphere: the kernels of Mackie 1988 (`assets/PHYSICS.md`).
#[test]
fn kernels_conserve_energy() {
    let k = KernelTable::water();
    for (energy, inside) in [(0.1, 0.998), (1.5, 0.965), (4.0, 0.941), (10.0, 0.930)] {
        let sum: f64 = KernelClass::ALL
            .iter()
            .map(|&c| k.cumulative(c, energy)[SHELLS - 1].iter().sum::<f64>())
            .sum();
        assert!((sum - inside).abs() < 0.0025, "{energy} MeV: {sum}");
        assert!(
            (sum + k.beyond_last_shell(energy) - 1.0).abs() < 2e-4,
            "{energy} MeV: beyond"
        );
    }
}

/// Greatest share of a kernel's energy that the fit places within another radius than tabulated, over all
/// radii, cone by cone.
fn misplaced(class: KernelClass, table: &ConeTable, total: f64) -> f64 {
    let radii = KernelTable::water().outer_radii_cm();
    let fit = ExponentialKernel::fit(class, table, radii, total);
    let sum: f64 = fit.amplitudes.iter().flatten().sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    let at = |(shell, r): (usize, &f64)| -> f64 {
        (0..CONES)
            .map(|c| (fit.cumulative(c, *r) * total - table[shell][c]).abs())
            .sum()
    };
    // No dose grid is finer than a millimetre.
    radii
        .iter()
        .enumerate()
        .filter(|(_, r)| **r >= 0.1)
        .map(at)
        .fold(0.0, f64::max)
}

/// The kernels that the engine uses: those of a beam's spectrum, near the surface and deep.
#[test]
fn exponentials_follow_the_kernels_of_a_beam() {
    let k = KernelTable::water();
    for name in [
        "point-6mv",
        "generic-6mv",
        "generic-6mv-fff",
        "generic-10mv",
        "generic-15mv",
    ] {
        let spectrum = &super::phantom::machine(name).spectrum;
        for depth_cm in [0.0, 10.0, 30.0] {
            let terma = |(energy, photons): (f64, f64)| {
                let mu = k.mu_over_rho_cm2_g(energy);
                (energy, photons * energy * mu * (-mu * depth_cm).exp())
            };
            let bins: Vec<(f64, f64)> = spectrum.bins().map(terma).collect();
            let all: f64 = bins.iter().map(|b| b.1).sum();
            for class in KernelClass::ALL {
                let mut mixed: ConeTable = [[0.0; CONES]; SHELLS];
                let mut total = 0.0;
                for (energy, weight) in &bins {
                    total += weight / all * k.class_fraction(class, *energy);
                    let table = k.cumulative(class, *energy);
                    for (to, from) in mixed.iter_mut().flatten().zip(table.iter().flatten()) {
                        *to += weight / all * from;
                    }
                }
                let worst = misplaced(class, &mixed, total);
                println!(
                    "{name}, {depth_cm} cm, {class:?}: {:.2} % of the energy misplaced",
                    100.0 * worst
                );
                // The unflattened spectrum is a template of 15 lines, a MeV apart in its main part.
                let allowed = if name == "generic-6mv-fff" {
                    0.009
                } else {
                    0.006
                };
                assert!(worst < allowed, "{name}, {depth_cm} cm, {class:?}: {worst}");
            }
        }
    }
}

/// Single energies, whose electrons all stop at one range, are the hardest to fit; no beam has only one.
#[test]
fn exponentials_follow_the_table() {
    let k = KernelTable::water();
    for energy in [0.5, 1.25, 2.0, 4.0, 6.0, 8.0] {
        for class in KernelClass::ALL {
            let worst = misplaced(
                class,
                &k.cumulative(class, energy),
                k.class_fraction(class, energy),
            );
            println!("{class:?} {energy} MeV: at most {worst:.5} of the photon's energy misplaced");
            let allowed = if class == KernelClass::Primary {
                0.03
            } else {
                0.012
            };
            assert!(worst < allowed, "{class:?} {energy} MeV: {worst}");
        }
    }
}

/// Amplitudes interpolated between the middles of the cones conserve the energy of every cone, without any
/// normalisation.
#[test]
fn interpolation_in_angle_keeps_each_cone() {
    let spectrum = &super::phantom::machine("point-6mv").spectrum;
    let beam = BeamKernel::new(&spectrum.energies_mev, &spectrum.photon_weights);
    let depth_cm = 10.0;
    let terma = beam.terma(depth_cm);
    let total: f64 = terma.iter().sum();
    for (cone, want) in beam.energy_by_cone(depth_cm).into_iter().enumerate() {
        let [from, to] = KernelTable::cone_edges_deg(cone);
        let steps = 500;
        let mut sum = 0.0;
        for n in 0..steps {
            let [a, b] = [n, n + 1].map(|m| from + (to - from) * f64::from(m) / f64::from(steps));
            let sr = std::f64::consts::TAU * (a.to_radians().cos() - b.to_radians().cos());
            for (channel, terma) in terma.iter().enumerate() {
                let amplitudes = beam.amplitudes_per_sr(channel, 0.5 * (a + b));
                sum += sr * terma * amplitudes.iter().sum::<f64>() / total;
            }
        }
        assert!(
            (sum / want - 1.0).abs() < 1e-4,
            "cone {cone}: {sum} for {want}"
        );
    }
}
