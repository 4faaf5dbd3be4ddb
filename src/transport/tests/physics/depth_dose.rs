//! Dose of a 10 cm x 10 cm field of 6 MV in water against EGSnrc (data set `mc_water10`).

use super::common::{shared_text, tables};
use glam::DVec3;
use physics::Material;
use transport::draws::Draws;
use transport::run::{Emission, RunLength, Source, Tally, run};
use transport::tables::Thresholds;
use transport::{Kind, Settings, VoxelGrid, Voxels, World};

const SIDE: usize = 120;
const SPACING_CM: f64 = 0.25;
/// Source to surface, and half the side of the field there, cm.
const SURFACE_CM: f64 = 100.0;
const HALF_FIELD_CM: f64 = 5.0;
/// Gy for a MeV in a gram.
const GY_PER_MEV_G: f64 = 1.602_176_634e-10;

/// Point source of the data set: even per solid angle within the field, energies even within the bins of a spectrum.
struct Point {
    edges_mev: Vec<[f64; 2]>,
    cumulative: Vec<f64>,
}

impl Point {
    fn read() -> Option<Self> {
        let rows = rows(&shared_text("spectra/mohan6.csv")?);
        let mut sum = 0.0;
        let cumulative = rows
            .iter()
            .map(|row| {
                sum += row[2];
                sum
            })
            .collect();
        Some(Self {
            edges_mev: rows.iter().map(|row| [row[0], row[1]]).collect(),
            cumulative,
        })
    }

    fn energy_mev(&self, draws: &mut Draws) -> f64 {
        let last = self.cumulative.len() - 1;
        let target = draws.uniform() * self.cumulative[last];
        let bin = self
            .cumulative
            .partition_point(|&sum| sum <= target)
            .min(last);
        let [low, high] = self.edges_mev[bin];
        low + (high - low) * draws.uniform()
    }
}

impl Source for Point {
    fn emit(&self, draws: &mut Draws) -> Emission {
        let energy_mev = self.energy_mev(draws);
        loop {
            let x = HALF_FIELD_CM * (2.0 * draws.uniform() - 1.0);
            let y = HALF_FIELD_CM * (2.0 * draws.uniform() - 1.0);
            let ray = DVec3::new(x, y, SURFACE_CM);
            // A plane element is seen under the cube of the cosine.
            if draws.uniform() < (SURFACE_CM / ray.length()).powi(3) {
                return Emission {
                    kind: Kind::Photon,
                    energy_mev,
                    position_cm: DVec3::new(0.0, 0.0, -SURFACE_CM),
                    direction: ray.normalize(),
                };
            }
        }
    }
}

fn rows(csv: &str) -> Vec<Vec<f64>> {
    csv.lines()
        .filter_map(|line| line.split(',').map(|field| field.parse().ok()).collect())
        .collect()
}

fn phantom() -> Voxels {
    let half_cm = SIDE as f64 * SPACING_CM / 2.0;
    let grid = VoxelGrid {
        shape: [SIDE; 3],
        origin_cm: DVec3::new(-half_cm, -half_cm, 0.0),
        spacing_cm: DVec3::splat(SPACING_CM),
        periodic: [false; 3],
    };
    let count = SIDE * SIDE * SIDE;
    Voxels::new(grid, vec![Material::Water; count], vec![1.0; count]).expect("a phantom")
}

/// Solid angle of the field, sr, as of a rectangle before a point.
fn solid_angle() -> f64 {
    let [a, d] = [HALF_FIELD_CM, SURFACE_CM];
    4.0 * (a * a / (a * a + d * d)).asin()
}

/// Dose in a group of voxels for a photon fluence of 1/cm2 on the axis at the surface, Gy cm2, with its standard error.
fn dose_gy_cm2(tally: &Tally, voxels: &[usize]) -> [f64; 2] {
    let energy = tally.energy_mev(voxels);
    let fluence_per_history = 1.0 / (solid_angle() * SURFACE_CM * SURFACE_CM);
    let mass_g = voxels.len() as f64 * SPACING_CM.powi(3);
    [energy.mean, energy.sigma].map(|mev| mev / mass_g * GY_PER_MEV_G / fluence_per_history)
}

/// Voxels in a length.
fn voxels_in(cm: f64) -> usize {
    (cm / SPACING_CM).round() as usize
}

fn voxels_about_axis(half_cm: f64) -> std::ops::Range<usize> {
    SIDE / 2 - voxels_in(half_cm)..SIDE / 2 + voxels_in(half_cm)
}

/// Voxels between depths and within x and y of the axis, cm.
fn group(phantom: &Voxels, depths_cm: [f64; 2], half_x_cm: f64, half_y_cm: f64) -> Vec<usize> {
    let mut voxels = Vec::new();
    for z in voxels_in(depths_cm[0])..voxels_in(depths_cm[1]) {
        for y in voxels_about_axis(half_y_cm) {
            for x in voxels_about_axis(half_x_cm) {
                voxels.push(phantom.index([x, y, z]));
            }
        }
    }
    voxels
}

struct Comparison {
    tally: Tally,
    phantom: Voxels,
}

fn computed(settings: Settings, length: RunLength) -> Option<Comparison> {
    let source = Point::read()?;
    let phantom = phantom();
    let world = World::new(&phantom, tables(), settings).expect("a world");
    let tally = run(&world, &source, length);
    assert_eq!(tally.ledger.exhausted_particles, 0);
    Some(Comparison { tally, phantom })
}

/// Profile of the data set between depths, averaged over |x| to 4 cm: |y| to 0.5 cm.
fn reference_band(profiles: &[Vec<f64>], depths_cm: [f64; 2]) -> f64 {
    let [mut sum, mut weight] = [0.0; 2];
    for row in profiles {
        let within = row[0] >= depths_cm[0] && row[1] <= depths_cm[1];
        if within && row[2] >= -4.0 && row[3] <= 4.0 {
            let volume = (row[1] - row[0]) * (row[3] - row[2]);
            sum += volume * row[4];
            weight += volume;
        }
    }
    sum / weight
}

/// Broad bands of the field, where a short run is precise: 1 % beside four standard errors.
#[test]
fn bands_of_the_field_are_those_of_egsnrc() {
    let settings = Settings {
        splitting: 5,
        ..Settings::for_thresholds(Thresholds::STANDARD)
    };
    let length = RunLength {
        seed: 1,
        batches: 10,
        histories_per_batch: 12_000,
    };
    let Some(profiles) = shared_text("mc_water10/water10_profiles.csv") else {
        return;
    };
    let Some(Comparison { tally, phantom }) = computed(settings, length) else {
        return;
    };
    let profiles = rows(&profiles);
    for depths_cm in [[0.5, 3.0], [3.0, 10.0], [10.0, 20.0], [20.0, 30.0]] {
        let [value, sigma] = dose_gy_cm2(&tally, &group(&phantom, depths_cm, 4.0, 0.5));
        let expected = reference_band(&profiles, depths_cm);
        let text = format!(
            "{depths_cm:?} cm: {:+.2} % +- {:.2}",
            100.0 * (value / expected - 1.0),
            100.0 * sigma / value
        );
        println!("{text}");
        assert!(
            (value - expected).abs() < 0.01 * expected + 4.0 * sigma,
            "{text}"
        );
    }
}

/// Figures of the axis, bin by bin; histories of a batch in `BEAMSIGHT_HISTORIES`.
#[test]
#[ignore = "an hour of one core"]
fn depth_dose_is_that_of_egsnrc() {
    let per_batch = std::env::var("BEAMSIGHT_HISTORIES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000_000);
    let settings = Settings {
        splitting: 5,
        ..Settings::for_thresholds(Thresholds::STANDARD)
    };
    let length = RunLength {
        seed: 2,
        batches: 10,
        histories_per_batch: per_batch,
    };
    let Some(reference) = shared_text("mc_water10/water10_dd.csv") else {
        return;
    };
    let start = std::time::Instant::now();
    let Some(Comparison { tally, phantom }) = computed(settings, length) else {
        return;
    };
    let seconds = start.elapsed().as_secs_f64();
    println!("{} histories in {seconds:.0} s", 10 * per_batch);
    let [mut chi2, mut weighted, mut weight, mut count] = [0.0; 4];
    for row in rows(&reference) {
        let [value, sigma] = dose_gy_cm2(&tally, &group(&phantom, [row[0], row[1]], 0.5, 0.5));
        let error = sigma.hypot(row[3]);
        println!(
            "{} to {} cm: {:+.2} % +- {:.2}",
            row[0],
            row[1],
            100.0 * (value / row[2] - 1.0),
            100.0 * error / row[2]
        );
        chi2 += ((value - row[2]) / error).powi(2);
        weighted += (value - row[2]) * row[2] / (error * error);
        weight += (row[2] / error).powi(2);
        count += 1.0;
    }
    println!(
        "mean {:+.2} % +- {:.2}, chi2/n {:.2} of {count}",
        100.0 * weighted / weight,
        100.0 / f64::sqrt(weight),
        chi2 / count
    );
}
