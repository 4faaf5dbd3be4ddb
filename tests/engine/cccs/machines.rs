//! The shipped machines: numbers equal to their files' sources, depth doses of their nominal energies.

use super::axis::{Field, Kernels};
use super::kernel_sets::KernelSet;
use super::phantom::{csv, machine};
use crate::common::physics_data;

/// Largest relative difference of two lists.
fn off(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a / b - 1.0).abs())
        .fold(0.0, f64::max)
}

/// Photons of a table (energy, photons), normalised to a sum of 1.
fn normalised(bins: &[[f64; 2]]) -> (Vec<f64>, Vec<f64>) {
    let sum: f64 = bins.iter().map(|b| b[1]).sum();
    bins.iter().map(|b| (b[0], b[1] / sum)).unzip()
}

fn table(file: &str) -> Option<Vec<[f64; 2]>> {
    Some(
        csv(&format!("spectra/{file}"))?
            .iter()
            .map(|r| [r[0], r[1]])
            .collect(),
    )
}

/// Rebinned to half a MeV at the bins' mean energy.
fn halves_of_a_mev(lines: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut bins: Vec<[f64; 2]> = Vec::new();
    let mut last = usize::MAX;
    for [energy, photons] in lines {
        let bin = (energy / 0.5 + 1e-9) as usize;
        if bin != last {
            bins.push([0.0; 2]);
            last = bin;
        }
        let [sum, all] = bins.last_mut().expect("a bin");
        *sum += energy * photons;
        *all += photons;
    }
    bins.iter().map(|[sum, all]| [sum / all, *all]).collect()
}

/// Behind 4.5 mm of copper of 8.96 g/cm3 (NIST).
fn through_copper(lines: &[[f64; 2]], copper: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let mu = |energy: f64| {
        let i = copper
            .partition_point(|r| r[0] <= energy)
            .clamp(1, copper.len() - 1);
        let (a, b) = (&copper[i - 1], &copper[i]);
        let t = (energy / a[0]).ln() / (b[0] / a[0]).ln();
        (a[1].ln() * (1.0 - t) + b[1].ln() * t).exp()
    };
    lines
        .iter()
        .map(|[energy, photons]| [*energy, photons * (-mu(*energy) * 8.96 * 0.45).exp()])
        .collect()
}

#[test]
fn spectra_are_those_that_the_files_name() {
    let Some(varian) = table("sb_varian_6MV.csv") else {
        return;
    };
    let mohan = csv("spectra/mohan6.csv").expect("beside it");
    let mohan: Vec<[f64; 2]> = mohan.iter().map(|r| [0.5 * (r[0] + r[1]), r[2]]).collect();
    let ali_rogers =
        [10, 15].map(|mv| table(&format!("ali_rogers_varian_{mv}MV.csv")).expect("beside it"));
    let unflattened = table("ucla_spec_6XFFF.csv").expect("beside it");
    let copper = csv("attenuation/nist_copper.csv").expect("beside it");
    for (name, bins) in [
        ("generic-6mv", varian),
        ("point-6mv", mohan),
        ("generic-10mv", halves_of_a_mev(&ali_rogers[0])),
        ("generic-15mv", halves_of_a_mev(&ali_rogers[1])),
        ("generic-6mv-fff", through_copper(&unflattened, &copper)),
    ] {
        let (energies, photons) = normalised(&bins);
        let spectrum = &machine(name).spectrum;
        let worst = [
            off(&spectrum.energies_mev, &energies),
            off(&spectrum.photon_weights, &photons),
        ];
        println!(
            "{name}: energies within {:.1e}, photons within {:.1e}",
            worst[0], worst[1]
        );
        // The files have five or six significant digits.
        assert!(worst[0] < 1e-4 && worst[1] < 2e-5, "{name}: {worst:?}");
    }
}

#[test]
fn leaves_are_laid_out_as_the_table_says() {
    let Some(path) = physics_data("machine/mlc_leaves.csv") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("readable");
    for (name, wanted) in [
        ("generic-6mv", "varian_millennium120"),
        ("generic-6mv-hd120", "varian_hd120"),
    ] {
        let machine = machine(name);
        let sides = &machine.leaves.as_ref().expect("leaves").boundaries_mm;
        let rows = text.lines().filter(|l| l.starts_with(wanted));
        let rows: Vec<Vec<f64>> = rows
            .map(|l| {
                l.split(',')
                    .skip(1)
                    .map(|x| x.parse().expect("a number"))
                    .collect()
            })
            .collect();
        assert_eq!(rows.len() + 1, sides.len(), "{name}");
        for (pair, row) in sides.windows(2).zip(&rows) {
            let (width, middle) = (pair[1] - pair[0], 0.5 * (pair[0] + pair[1]));
            assert!(
                (width - row[1]).abs() + (middle - row[2]).abs() < 1e-9,
                "{name}: {pair:?} for {row:?}"
            );
        }
    }
}

/// Tailor et al., Med. Phys. 25, 662 (1998), as in beam_model_numbers.json.
#[test]
fn softening_is_the_published_polynomial() {
    for name in ["generic-6mv", "generic-10mv", "generic-15mv"] {
        let machine = machine(name);
        for t in [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0_f64] {
            let want = 1.0 + 0.00181 * t + 0.00202 * t.powi(2) - 0.000_094_2 * t.powi(3);
            assert!(
                (machine.softening(t) - want).abs() < 1e-4,
                "{name} at {t}: {want}"
            );
        }
    }
}

/// Beam qualities of the spectra alone (point source, kernels as tabulated), as TPR20,10 = 1.2661 D20/D10 - 0.0595 (IAEA TRS-398) of
/// 10 x 10 cm2 at SSD 100. Measured beams of these energies have 0.66 to 0.68, 0.63, 0.73 to 0.74 and 0.75 to 0.77.
#[test]
fn spectra_have_the_quality_of_their_energy() {
    for (name, low, high, maximum_cm) in [
        ("generic-6mv", 0.655, 0.68, [1.2, 1.7]),
        ("generic-6mv-fff", 0.62, 0.64, [1.1, 1.6]),
        ("generic-10mv", 0.725, 0.745, [2.0, 2.6]),
        ("generic-15mv", 0.745, 0.77, [2.4, 3.2]),
    ] {
        let kernels = Kernels::mixed(&KernelSet::shipped(), &machine(name).spectrum);
        let dose = |depth_cm: f64| kernels.dose_on_axis(&Field::ten(100.0, 60.0), depth_cm);
        let ratio = dose(20.0) / dose(10.0);
        let tpr = 1.2661 * ratio - 0.0595;
        let depths = (4..18).map(|n| 0.2 * f64::from(n));
        let curve: Vec<[f64; 2]> = depths.map(|d| [d, dose(d)]).collect();
        let deepest = curve
            .iter()
            .max_by(|a, b| a[1].total_cmp(&b[1]))
            .expect("depths")[0];
        println!("{name}: D20/D10 {ratio:.4}, TPR20,10 {tpr:.3}, maximum at {deepest:.1} cm");
        assert!((low..high).contains(&tpr), "{name}: {tpr}");
        assert!(
            (maximum_cm[0]..maximum_cm[1]).contains(&deepest),
            "{name}: {deepest} cm"
        );
    }
}
