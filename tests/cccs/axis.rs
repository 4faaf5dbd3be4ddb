//! The axis of a field in water by direct integration of the tabulated kernels, in f64.
//!
//! Knows nothing of voxels, directions, exponentials or channels: dose at a point is what the cells of the kernel bring from
//! everywhere upstream of them, with the TERMA in closed form.

use crate::kernel_sets::KernelSet;
use crate::phantom::{csv, cube, dose, machine, on_axis, point_source, request};
use beamsight::engine::cccs::Quality;
use beamsight::physics::Spectrum;
use beamsight::physics::kernel::{CONES, KernelTable};

/// A square field of a point source at the origin on water from `ssd_cm` on, along +z.
pub struct Field {
    ssd_cm: f64,
    /// Half the field's side over the distance from the source.
    half_tangent: f64,
    /// Sides of the phantom across the beam and its depth.
    across_cm: f64,
    deep_cm: f64,
    /// Photons per cm2 on the axis are 1 here.
    reference_cm: f64,
    /// Kernels turn with the local ray; false keeps them along the axis.
    tilted: bool,
}

impl Field {
    /// 10 x 10 cm2 at 100 cm.
    pub fn ten(ssd_cm: f64, side_cm: f64) -> Self {
        Self {
            ssd_cm,
            half_tangent: 0.05,
            across_cm: side_cm,
            deep_cm: side_cm,
            reference_cm: 100.0,
            tilted: true,
        }
    }
}

/// The kernels of a spectrum between radii, per sr, weighted with what a photon fluence of 1 releases (Gy cm2).
pub struct Kernels {
    mu_per_cm: Vec<f64>,
    middles_cm: Vec<f64>,
    /// `[interval][cone][energy]`.
    cells: Vec<Vec<Vec<f64>>>,
}

impl Kernels {
    pub fn of(set: &KernelSet, spectrum: &Spectrum) -> Self {
        let edges: Vec<f64> = std::iter::once(0.0)
            .chain((1..=25).map(|n| 0.02 * f64::from(n)))
            .chain((1..=30).map(|n| 0.5 + 0.05 * f64::from(n)))
            .chain((1..=64).map(|n| 2.0 + 0.125 * f64::from(n)))
            .chain((1..=50).map(|n| 10.0 + f64::from(n)))
            .collect();
        let mut cells = vec![vec![Vec::new(); CONES]; edges.len() - 1];
        let mut mu_per_cm = Vec::new();
        for (energy, photons) in spectrum.bins() {
            let mu = KernelTable::water().mu_over_rho_cm2_g(energy);
            mu_per_cm.push(mu);
            let weight = photons * energy * mu * 1.602_176_634e-10;
            let within: Vec<[f64; CONES]> = edges.iter().map(|r| set.within(energy, *r)).collect();
            for (cell, ends) in cells.iter_mut().zip(within.windows(2)) {
                for (cone, cell) in cell.iter_mut().enumerate() {
                    let sr = KernelTable::cone_solid_angle_sr(cone);
                    cell.push(weight * (ends[1][cone] - ends[0][cone]) / sr);
                }
            }
        }
        let middles_cm = edges.windows(2).map(|w| 0.5 * (w[0] + w[1])).collect();
        Self { mu_per_cm, middles_cm, cells }
    }

    /// Dose (Gy cm2, per photon fluence on the axis at `reference_cm`) on the axis.
    ///
    /// Cells are taken in the kernel's own angle, at the place of the interaction: in the triangle of source, interaction and point
    /// the law of sines gives the rest. (In directions at the point, cones of 3.75 degrees that turn with the ray by a tenth
    /// of a degree would need a hundred samples each.)
    pub fn dose_on_axis(&self, field: &Field, depth_cm: f64) -> f64 {
        const WITHIN_CONE: usize = 2;
        let point_cm = field.ssd_cm + depth_cm;
        let mut sum = 0.0;
        for cone in 0..CONES {
            let [near, far] = KernelTable::cone_edges_deg(cone).map(|d| d.to_radians().cos());
            let sr = KernelTable::cone_solid_angle_sr(cone) / WITHIN_CONE as f64;
            for n in 0..WITHIN_CONE {
                let angle = (near + (far - near) * (n as f64 + 0.5) / WITHIN_CONE as f64).acos();
                for (r, cells) in self.middles_cm.iter().zip(&self.cells) {
                    // Angle of the local ray to the axis.
                    let tilt = if field.tilted { (r * angle.sin() / point_cm).asin() } else { 0.0 };
                    let way = angle - tilt;
                    // Solid angle seen from the point over that of the kernel.
                    let turning =
                        if field.tilted { 1.0 - r * angle.cos() / (point_cm * tilt.cos()) } else { 1.0 };
                    let share = turning * way.sin() / angle.sin();
                    let at_cm = [r * way.sin(), point_cm - r * way.cos()];
                    sum += sr * share * self.released(field, at_cm, &cells[cone]);
                }
            }
        }
        sum
    }

    /// What a cell of the kernel brings from a distance off the axis and along it, averaged over the turn.
    fn released(&self, field: &Field, [aside_cm, along_cm]: [f64; 2], cell: &[f64]) -> f64 {
        // The field is the same in each eighth of the turn.
        const AZIMUTHS: usize = 12;
        let depth_cm = along_cm - field.ssd_cm;
        if !(0.0..field.deep_cm).contains(&depth_cm) {
            return 0.0;
        }
        let reach = (field.half_tangent * along_cm).min(0.5 * field.across_cm);
        let turn = |n: usize| (n as f64 + 0.5) / AZIMUTHS as f64 * std::f64::consts::FRAC_PI_4;
        let inside =
            (0..AZIMUTHS).filter(|n| aside_cm * turn(*n).cos() < reach).count() as f64 / AZIMUTHS as f64;
        if inside == 0.0 {
            return 0.0;
        }
        let far_cm = aside_cm.hypot(along_cm);
        let path_cm = depth_cm * far_cm / along_cm;
        let here: f64 = cell.iter().zip(&self.mu_per_cm).map(|(c, mu)| c * (-mu * path_cm).exp()).sum();
        inside * here * (field.reference_cm / far_cm).powi(2)
    }
}

/// Depths between the surface and the far side where neither build-up nor the exit decides, cm.
const DEPTHS_CM: [f64; 11] = [2.0, 3.0, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0, 25.0, 28.0];

/// The engine has the dose that the tabulated kernels give, absolute, at every depth.
#[test]
fn engine_on_the_axis() {
    let kernels = Kernels::of(&KernelSet::shipped(), &machine("point-6mv").spectrum);
    let truth = DEPTHS_CM.map(|d| kernels.dose_on_axis(&Field::ten(100.0, 30.0), d));
    for (quality, most) in [(Quality::Full, 0.005), (Quality::Standard, 0.006)] {
        let engine = dose(&request(&cube(0.0), &machine("point-6mv"), 100.0, quality));
        let ratios: Vec<f64> =
            DEPTHS_CM.iter().zip(&truth).map(|(d, t)| on_axis(&engine, 0.0, 10.0 * d) / t).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        println!("{quality:?}: engine / direct integral, mean {mean:.4}, by depth {ratios:.4?}");
        assert!((mean - 1.0).abs() < 0.002, "{quality:?}: mean {mean}");
        assert!(ratios.iter().all(|r| (r - 1.0).abs() < most), "{quality:?}: {ratios:?}");
    }
}

/// Mean of ratios at 10 cm and their slope per 10 cm, weighted by the reference's statistics.
fn trend(points: &[[f64; 3]]) -> [f64; 2] {
    let [mut n, mut x, mut y, mut xx, mut xy] = [0.0; 5];
    for [depth_cm, ratio, sigma] in points {
        let (weight, d) = (sigma.powi(-2), depth_cm / 10.0 - 1.0);
        n += weight;
        x += weight * d;
        y += weight * ratio;
        xx += weight * d * d;
        xy += weight * d * ratio;
    }
    let slope = (n * xy - x * y) / (n * xx - x * x);
    [(y - slope * x) / n, slope]
}

/// The tabulated kernels against the Monte Carlo, over all its bins. Kernels must turn with the ray: kept parallel they
/// give 1.9 % too much at 10 cm, and a depth dose too flat by 0.8 % in 10 cm.
#[test]
fn tabulated_kernels_against_monte_carlo() {
    let Some(table) = csv("mc_water10/water10_dd.csv") else { return };
    let kernels = Kernels::of(&KernelSet::shipped(), &machine("point-6mv").spectrum);
    let of = |tilted: bool| {
        let field = Field { tilted, ..Field::ten(100.0, 30.0) };
        let bins = table.iter().filter(|r| r[0] >= 1.5 && r[1] <= 28.0);
        let points: Vec<[f64; 3]> = bins
            .map(|r| {
                let depth = 0.5 * (r[0] + r[1]);
                [depth, kernels.dose_on_axis(&field, depth) / r[2], r[3] / r[2]]
            })
            .collect();
        trend(&points)
    };
    let [tilted, parallel] = [true, false].map(of);
    println!("at 10 cm and per 10 cm: tilted {tilted:.4?}, parallel {parallel:.4?}");
    // One sigma: 0.0005 of the mean, 0.0007 of the slope; cross sections of two settings of the same code.
    assert!((tilted[0] - 1.0).abs() < 0.006 && tilted[1].abs() < 0.0025, "{tilted:?}");
    assert!(parallel[0] - 1.0 > 0.015 && parallel[1] > 0.005, "{parallel:?}");
}

/// The depth-dose figures of physics.md: of parallel kernels. Turned with the ray, as they must be, the same data give 0.7 %
/// less, which is where the engine stands.
#[test]
fn published_figures_are_of_parallel_kernels() {
    for (file, published) in [("sb_varian_6MV.csv", [0.573, 0.668]), ("sb_elekta_6MV.csv", [0.587, 0.686])] {
        let Some(table) = csv(&format!("spectra/{file}")) else { return };
        let column = |i: usize| table.iter().map(|r| r[i]).collect::<Vec<f64>>();
        let machine = point_source(&column(0), &column(1));
        let kernels = Kernels::of(&KernelSet::shipped(), &machine.spectrum);
        let of = |tilted: bool| {
            // Nothing is missing beside or behind: the figures are of a large phantom.
            let field = Field { tilted, ..Field::ten(100.0, 60.0) };
            let d = [20.0, 10.0, 1.5].map(|d| kernels.dose_on_axis(&field, d));
            [d[0] / d[1], d[1] / d[2]]
        };
        let [tilted, parallel] = [true, false].map(of);
        println!(
            "{file}: D20/D10, D10/D1.5 tilted {tilted:.4?}, parallel {parallel:.4?}, published {published:?}"
        );
        // The second figure holds the depth of maximum, where the sets of kernels differ (parallel, Mackie: 0.6687 and 0.6866).
        assert!((parallel[0] / published[0] - 1.0).abs() < 0.002, "{file}: {parallel:?}");
        assert!((parallel[1] / published[1] - 1.0).abs() < 0.003, "{file}: {parallel:?}");
        let engine = dose(&request(&cube(0.0), &machine, 100.0, Quality::Standard));
        let d = [20.0, 10.0, 1.5].map(|d| on_axis(&engine, 0.0, 10.0 * d));
        assert!((d[0] / d[1] / tilted[0] - 1.0).abs() < 0.005, "{file}: D20/D10 {}", d[0] / d[1]);
        assert!((d[1] / d[2] / tilted[1] - 1.0).abs() < 0.006, "{file}: D10/D1.5 {}", d[1] / d[2]);
    }
}
