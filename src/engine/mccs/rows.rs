//! Cumulative monoenergetic kernels, tabulated for look-up along a ray.

use crate::histories::contaminant::{NODES, node_depths_g_cm2};
use physics::kernel::{CONES, KernelClass, KernelTable};

/// The kernel of one photon energy, all classes of scatter together (Mackie 1988).
pub struct KernelRows {
    /// Part of the photon's energy that comes to rest within the last radius.
    pub fraction: f64,
    /// Part of that energy in the cones up to each; the last is 1.
    pub cones: Vec<f32>,
    /// For each cone, the part of its energy within the radii of the nodes.
    pub rows: Vec<f32>,
}

impl KernelRows {
    pub fn new(energy_mev: f64) -> Self {
        let table = KernelTable::water();
        let [primary, scatter] = KernelClass::ALL.map(|class| table.cumulative(class, energy_mev));
        let mut radii = vec![0.0];
        radii.extend_from_slice(table.outer_radii_cm());
        let mut rows = Vec::with_capacity(CONES * NODES);
        let mut cones = Vec::with_capacity(CONES);
        let mut sum = 0.0;
        for cone in 0..CONES {
            let within = primary.iter().zip(&scatter).map(|(p, s)| p[cone] + s[cone]);
            let curve: Vec<f64> = std::iter::once(0.0).chain(within).collect();
            let total = curve[curve.len() - 1];
            sum += total;
            cones.push(sum);
            rows.extend(node_depths_g_cm2().map(|r| (monotone(&radii, &curve, r) / total) as f32));
        }
        Self {
            fraction: sum,
            cones: cones.into_iter().map(|c| (c / sum) as f32).collect(),
            rows,
        }
    }

    /// Radius (g/cm2) within which the charged particles of the first interaction come to rest, but for a hundredth.
    pub fn primary_range_cm(energy_mev: f64) -> f64 {
        let table = KernelTable::water();
        let primary = table
            .cumulative(KernelClass::Primary, energy_mev)
            .map(|shell| shell.iter().sum::<f64>());
        let total = primary[primary.len() - 1];
        let reached = primary.iter().position(|within| *within >= 0.99 * total);
        table.outer_radii_cm()[reached.unwrap_or(primary.len() - 1)]
    }
}

/// A rising curve through points, smooth and rising everywhere: cubic pieces after Fritsch and Butland (1984).
fn monotone(x: &[f64], y: &[f64], position: f64) -> f64 {
    let last = x.len() - 1;
    let i = x.partition_point(|v| *v <= position).clamp(1, last) - 1;
    let rise = |k: usize| (y[k + 1] - y[k]) / (x[k + 1] - x[k]);
    let slope = |k: usize| {
        if k == 0 {
            return rise(0);
        }
        if k == last {
            return rise(last - 1);
        }
        let (a, b) = (rise(k - 1), rise(k));
        if a <= 0.0 || b <= 0.0 {
            return 0.0;
        }
        let (width_before, after) = (x[k] - x[k - 1], x[k + 1] - x[k]);
        3.0 * (width_before + after)
            / ((2.0 * after + width_before) / a + (after + 2.0 * width_before) / b)
    };
    let h = x[i + 1] - x[i];
    let t = ((position - x[i]) / h).clamp(0.0, 1.0);
    let (t2, t3) = (t * t, t * t * t);
    y[i] * (2.0 * t3 - 3.0 * t2 + 1.0)
        + h * slope(i) * (t3 - 2.0 * t2 + t)
        + y[i + 1] * (3.0 * t2 - 2.0 * t3)
        + h * slope(i + 1) * (t3 - t2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histories::contaminant::LAST_CM;

    #[test]
    fn rows_are_the_kernel() {
        for energy in [0.1, 0.9, 2.0, 5.9] {
            let kernel = KernelRows::new(energy);
            let table = KernelTable::water();
            let want = 1.0 - table.beyond_last_shell(energy);
            assert!(
                (kernel.fraction - want).abs() < 0.004,
                "{energy}: {} for {want}",
                kernel.fraction
            );
            assert_eq!(
                (kernel.cones.len(), kernel.rows.len()),
                (CONES, CONES * NODES)
            );
            assert!((kernel.cones[CONES - 1] - 1.0).abs() < 1e-6);
            for row in kernel.rows.chunks(NODES) {
                assert!(row[0] == 0.0 && (row[NODES - 1] - 1.0).abs() < 1e-6);
                assert!(row.windows(2).all(|w| w[0] <= w[1]));
            }
            // Energy within a radius of the table, all cones: linear look-up between the nodes.
            let curves = KernelClass::ALL.map(|class| table.cumulative(class, energy));
            for (shell, radius) in table.outer_radii_cm().iter().enumerate() {
                let want: f64 = curves.iter().map(|c| c[shell].iter().sum::<f64>()).sum();
                let x = (radius / LAST_CM).sqrt() * (NODES - 1) as f64;
                let i = (x as usize).min(NODES - 2);
                let t = x - i as f64;
                let mut got = 0.0;
                for cone in 0..CONES {
                    let row = &kernel.rows[cone * NODES..];
                    let part = f64::from(row[i]) * (1.0 - t) + f64::from(row[i + 1]) * t;
                    let within_last = if cone == 0 {
                        0.0
                    } else {
                        kernel.cones[cone - 1]
                    };
                    got += part * f64::from(kernel.cones[cone] - within_last) * kernel.fraction;
                }
                // Linear between nodes, half a millimetre apart where electrons stop: errors reach no further.
                let bound = if *radius < 0.15 {
                    0.02
                } else if *radius < 1.0 {
                    0.005
                } else {
                    0.001
                };
                assert!(
                    (got - want).abs() < bound,
                    "{energy} MeV, {radius} cm: {got} for {want}"
                );
            }
        }
    }
}
