//! Dose of a square field anywhere in a box of water, by direct integration of the tabulated kernels in f64.
//!
//! Independent of voxels, directions, exponentials and channels: each energy of the spectrum has a TERMA and
//! a kernel of its own, on the axis and, softened, off it; kernels are tilted along the ray; the fluence is
//! that of the sources seen through the jaws.

use super::phantom::cone_solid_angle_sr;
use beamsight::case::Jaws;
use beamsight::physics::kernel::{CONES, ConeTable, KernelClass, KernelTable, SHELLS};
use beamsight::physics::kernel_beam::GY_G_PER_MEV;
use beamsight::physics::{Calibration, Machine, Softening};
use std::f64::consts::{PI, SQRT_2};
use std::sync::Arc;

/// Angles sampled within a kernel's cone, and azimuths over half of the turn.
const WITHIN_CONE: usize = 2;
const AZIMUTHS: usize = 16;

/// A field of jaws (symmetric in y) on a box of water under gantry 0.
pub struct Direct {
    machine: Arc<Machine>,
    jaws: Jaws,
    ssd_mm: f64,
    /// Sides of the box across the beam, and its depth.
    across_mm: f64,
    deep_mm: f64,
    softening: Softening,
    /// Gy for a monitor unit over Gy cm2 for a photon.
    mu_worth: f64,
    lines: Vec<Line>,
    /// Middles of the intervals of radius, and the energy deposited per sr by `[interval][cone][energy]`.
    middles_cm: Vec<f64>,
    cells: Vec<Vec<Vec<f64>>>,
}

/// An energy of the spectrum: Gy cm2 at the surface for a photon fluence of 1, and its attenuation.
struct Line {
    gy_cm2: f64,
    mu_cm2_g: f64,
}

/// Ends of the intervals of radius, cm.
fn radii_cm() -> Vec<f64> {
    let steps = |from: f64, step: f64, n: u32| (1..=n).map(move |i| from + step * f64::from(i));
    let near = std::iter::once(0.0)
        .chain(steps(0.0, 0.02, 25))
        .chain(steps(0.5, 0.05, 30));
    near.chain(steps(2.0, 0.125, 64))
        .chain(steps(10.0, 1.0, 50))
        .collect()
}

/// Energy within a radius by cone, linear within a shell.
fn within(table: &ConeTable, radius_cm: f64) -> [f64; CONES] {
    let radii = KernelTable::water().outer_radii_cm();
    let n = radii.partition_point(|r| *r < radius_cm).min(SHELLS - 1);
    let (from, inner) = if n == 0 {
        (0.0, [0.0; CONES])
    } else {
        (radii[n - 1], table[n - 1])
    };
    let t = ((radius_cm - from) / (radii[n] - from)).min(1.0);
    std::array::from_fn(|c| inner[c] + t * (table[n][c] - inner[c]))
}

impl Direct {
    pub fn new(machine: &Arc<Machine>, jaws: Jaws, ssd_mm: f64, sides_mm: [f64; 2]) -> Self {
        let mut new = Self::uncalibrated(machine, jaws, ssd_mm, sides_mm);
        if let Calibration::Reference {
            field_mm: [x, y],
            ssd_mm,
            depth_mm,
            gy_per_mu,
        } = machine.calibration
        {
            let reference =
                Self::uncalibrated(machine, Jaws::symmetric(x, y), ssd_mm, [400.0, 300.0]);
            let electrons = machine
                .electrons
                .map_or(0.0, |e| e.surface_share * e.at_depth(depth_mm));
            new.mu_worth = gy_per_mu * (1.0 - electrons) / reference.dose(0.0, depth_mm);
        }
        new
    }

    fn uncalibrated(
        machine: &Arc<Machine>,
        jaws: Jaws,
        ssd_mm: f64,
        [across_mm, deep_mm]: [f64; 2],
    ) -> Self {
        let table = KernelTable::water();
        let edges = radii_cm();
        let mut cells = vec![vec![Vec::new(); CONES]; edges.len() - 1];
        let mut lines = Vec::new();
        for (mev, photons) in machine.spectrum.bins() {
            let mu_cm2_g = table.mu_over_rho_cm2_g(mev);
            lines.push(Line {
                gy_cm2: photons * mev * mu_cm2_g * GY_G_PER_MEV,
                mu_cm2_g,
            });
            let [mut kernel, scatter] = KernelClass::ALL.map(|class| table.cumulative(class, mev));
            kernel
                .iter_mut()
                .flatten()
                .zip(scatter.iter().flatten())
                .for_each(|(all, s)| *all += s);
            let ends: Vec<[f64; CONES]> = edges.iter().map(|r| within(&kernel, *r)).collect();
            for (cell, ends) in cells.iter_mut().zip(ends.windows(2)) {
                for (cone, cell) in cell.iter_mut().enumerate() {
                    cell.push((ends[1][cone] - ends[0][cone]) / cone_solid_angle_sr(cone));
                }
            }
        }
        Self {
            machine: Arc::clone(machine),
            jaws,
            ssd_mm,
            across_mm,
            deep_mm,
            softening: Softening::new(machine),
            mu_worth: 1.0,
            lines,
            middles_cm: edges.windows(2).map(|w| 0.5 * (w[0] + w[1])).collect(),
            cells,
        }
    }

    /// Gy of photons for a monitor unit of the machine at a distance off the axis along x and a depth.
    pub fn gy_per_mu(&self, x_mm: f64, depth_mm: f64) -> f64 {
        self.dose(x_mm, depth_mm) * self.mu_worth
    }

    /// Gy cm2 for one photon on the axis at the isocentre plane with unobstructed sources.
    ///
    /// Cells are sampled in the kernel's own angle at the interaction, which makes a triangle with source and
    /// point: the ray's angle follows by the law of sines.
    fn dose(&self, x_mm: f64, depth_mm: f64) -> f64 {
        let point = [x_mm, self.ssd_mm + depth_mm];
        let distance = point[0].hypot(point[1]);
        // Along the ray, and across it in the plane of the axis.
        let (along, across) = (
            [point[0] / distance, point[1] / distance],
            [point[1] / distance, -point[0] / distance],
        );
        let mut sum = 0.0;
        for cone in 0..CONES {
            let [near, far] = KernelTable::cone_edges_deg(cone).map(|d| d.to_radians().cos());
            let sr = cone_solid_angle_sr(cone) / WITHIN_CONE as f64;
            for n in 0..WITHIN_CONE {
                let cos = near + (far - near) * (n as f64 + 0.5) / WITHIN_CONE as f64;
                let sin = (1.0 - cos * cos).sqrt();
                for (length_cm, cells) in self.middles_cm.iter().zip(&self.cells) {
                    let r = 10.0 * length_cm;
                    let sine = r * sin / distance;
                    if sine >= 1.0 {
                        continue;
                    }
                    let way = cos.acos() - sine.asin();
                    // Solid angle as seen from the point over that of the kernel.
                    let share =
                        way.sin() / sin * (1.0 - r * cos / distance / (1.0 - sine * sine).sqrt());
                    let mut turn = 0.0;
                    for a in 0..AZIMUTHS {
                        let (y, u) = ((a as f64 + 0.5) / AZIMUTHS as f64 * PI).sin_cos();
                        let (ahead, aside) = (r * way.cos(), r * way.sin());
                        let from = [
                            point[0] - ahead * along[0] - aside * u * across[0],
                            -aside * y,
                            point[1] - ahead * along[1] - aside * u * across[1],
                        ];
                        turn += self.released(from, &cells[cone]);
                    }
                    sum += sr * share * turn / AZIMUTHS as f64;
                }
            }
        }
        sum
    }

    /// A kernel cell's share of the TERMA at a position (mm from the source).
    fn released(&self, [x, y, z]: [f64; 3], cell: &[f64]) -> f64 {
        let depth = z - self.ssd_mm;
        let beside = x.abs().max(y.abs()) > 0.5 * self.across_mm;
        if beside || !(0.0..self.deep_mm).contains(&depth) {
            return 0.0;
        }
        let sad = self.machine.sad_mm;
        let fluence = self.fluence([x * sad / z, y * sad / z], z);
        if fluence < 1e-5 {
            return 0.0;
        }
        let far = (x * x + y * y + z * z).sqrt();
        let water_cm = 0.1 * depth * far / z;
        let layer = self.softening.at((x * x + y * y).sqrt() * sad / z);
        let of = |(line, energy): (&Line, &f64)| {
            energy * line.gy_cm2 * layer.photons(line.mu_cm2_g) * (-line.mu_cm2_g * water_cm).exp()
        };
        let released: f64 = self.lines.iter().zip(cell).map(of).sum();
        released * fluence * (sad / far).powi(2)
    }

    /// Visible share of each source, with the horn, for a ray through the isocentre plane at a distance from
    /// the source.
    fn fluence(&self, at: [f64; 2], z: f64) -> f64 {
        let m = &self.machine;
        let places = [m.jaws.x_distance_mm, m.jaws.y_distance_mm];
        let edges = [self.jaws.x, self.jaws.y];
        let through = |open: f64| m.jaws.transmission + (1.0 - m.jaws.transmission) * open.max(0.0);
        let focal = |axis: usize| {
            let blur = m.focal_sigma_mm[axis] * m.sad_mm * (1.0 / places[axis] - 1.0 / z);
            let [low, high] = edges[axis].map(|edge| normal(at[axis] - edge, blur));
            through(low - high)
        };
        let primary = m.off_axis.at(at[0].hypot(at[1])) * focal(0) * focal(1);
        let Some(e) = &m.extra_focal else {
            return primary;
        };
        let seen = |axis: usize| {
            let [point, jaw] = [at[axis] * z / m.sad_mm, places[axis]];
            let [low, high] = edges[axis].map(|edge| {
                let slope = (edge * jaw / m.sad_mm - point) / (z - jaw);
                normal(point + slope * (z - e.distance_mm), e.sigma_mm)
            });
            through(high - low)
        };
        let nearer = (m.sad_mm - e.distance_mm) / (z - e.distance_mm) * z / m.sad_mm;
        (1.0 - e.share) * primary + e.share * seen(0) * seen(1) * nearer * nearer
    }
}

/// Cumulative normal distribution; a step where `sigma` is zero. Abramowitz and Stegun 7.1.26, within 1e-7.
fn normal(x: f64, sigma: f64) -> f64 {
    if sigma <= 0.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let x = x / sigma / SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let series = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let above = 0.5 * series * (-x * x).exp();
    if x > 0.0 { 1.0 - above } else { above }
}
