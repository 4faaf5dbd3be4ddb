//! Contaminant electrons of the head: their dose falls off along their ray with the depth in g/cm2, as a machine file states it. They
//! are a model of dose and not of particles, so that an engine deposits them and transports nothing.

use super::head::Particle;
use crate::dose::lattice::Lattice;
use geometry::walk::even::{EvenWalk, within};
use physics::Electrons;

/// Nodes of a cumulative row: depth `LAST_CM (n / (NODES - 1))^2`, g/cm2.
pub const NODES: usize = 129;
pub const LAST_CM: f64 = 60.0;

/// Depths of the nodes, g/cm2.
pub fn node_depths_g_cm2() -> impl Iterator<Item = f64> {
    (0..NODES).map(|n| LAST_CM * (n as f64 / (NODES - 1) as f64).powi(2))
}

/// The fall-off of contaminant electrons as a row, and its integral over depth, g/cm2.
pub fn electron_row(electrons: &Electrons) -> (Vec<f32>, f64) {
    const STEPS: usize = 4000;
    let step_cm = 0.1 * electrons.range_mm / STEPS as f64;
    let mut integral = vec![0.0; STEPS + 1];
    for n in 0..STEPS {
        integral[n + 1] =
            integral[n] + step_cm * electrons.at_depth((n as f64 + 0.5) * step_cm * 10.0);
    }
    let total = integral[STEPS];
    let row = node_depths_g_cm2().map(|depth| {
        let x = (depth / step_cm).min(STEPS as f64);
        let i = (x as usize).min(STEPS - 1);
        ((integral[i] + (integral[i + 1] - integral[i]) * (x - i as f64)) / total) as f32
    });
    (row.collect(), total)
}

/// Share of a row within a depth, linear between its nodes.
#[inline(always)]
pub fn share_within(row: &[f32], depth_g_cm2: f32) -> f32 {
    const PER_ROOT: f32 = (NODES - 1) as f32;
    let x = (depth_g_cm2 * (1.0 / LAST_CM as f32)).sqrt() * PER_ROOT;
    // By `u32`: a float converts to that in one instruction, to `u64` in several.
    let node = (x as u32 as usize).min(NODES - 2);
    (row[node] + (row[node + 1] - row[node]) * (x - node as f32)).min(1.0)
}

/// Deposits an electron, whose weight is in quanta, along its ray through a lattice of densities, g/cm3.
pub fn deposit(
    lattice: &Lattice,
    densities_g_cm3: &[f32],
    row: &[f32],
    electron: &Particle,
    quanta: &mut [u64],
) {
    let per_cm = lattice.spacing_mm.map(|mm| (10.0 / mm) as f32);
    let [from, direction] = [electron.position_cm, electron.direction]
        .map(|vector| std::array::from_fn(|axis| vector[axis] * per_cm[axis]));
    let Some([entry, _]) = within(lattice.size, from, direction) else {
        return;
    };
    let start = std::array::from_fn(|axis| {
        (from[axis] + entry * direction[axis]).clamp(0.0, lattice.size[axis] as f32)
    });
    let mut walk = EvenWalk::new(lattice.size, start, direction);
    let mut depth_g_cm2 = 0.0_f32;
    let mut share_before = 0.0_f32;
    while let Some((voxel, cm)) = walk.step() {
        depth_g_cm2 += densities_g_cm3[voxel] * cm;
        let share = share_within(row, depth_g_cm2);
        let deposited = (share - share_before) * electron.weight;
        quanta[voxel] += ((deposited + 0.5) as i64).max(0) as u64;
        share_before = share;
        if share >= 1.0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn electrons_fall_off_to_their_range() {
        let e = Electrons {
            surface_share: 0.06,
            range_mm: 22.0,
            falloff_per_mm: 0.13,
            sigma_mm: 60.0,
        };
        let (row, total) = electron_row(&e);
        let end = (-0.13 * 22.0_f64).exp();
        // Closed form, cm: (1 - e^-kr - k r e^-kr) / (k (1 - e^-kr)).
        let want = 0.1 * (1.0 - end - 0.13 * 22.0 * end) / (0.13 * (1.0 - end));
        assert!((total - want).abs() < 1e-6, "{total} for {want}");
        assert!(row[0] == 0.0 && row[NODES - 1] == 1.0 && row.windows(2).all(|w| w[0] <= w[1]));
    }

    /// Every quantum of an electron that ends within the lattice lies in it, most of them at the surface.
    #[test]
    fn an_electron_leaves_its_weight() {
        let lattice = Lattice {
            size: [3, 3, 10],
            spacing_mm: [5.0; 3],
        };
        let (row, _) = electron_row(&Electrons {
            surface_share: 0.06,
            range_mm: 22.0,
            falloff_per_mm: 0.13,
            sigma_mm: 60.0,
        });
        let electron = Particle {
            bin: 0,
            kind: super::super::head::tables::ELECTRON,
            energy_mev: 0.0,
            weight: 1e6,
            position_cm: [0.75, 0.75, -10.0],
            direction: [0.0, 0.0, 1.0],
        };
        let mut quanta = vec![0; lattice.voxels()];
        deposit(&lattice, &[1.0; 90], &row, &electron, &mut quanta);
        let total: u64 = quanta.iter().sum();
        assert!(total.abs_diff(1_000_000) <= 5, "{total}");
        let on_axis: Vec<u64> = (0..10).map(|k| quanta[9 * k + 4]).collect();
        assert!(on_axis.windows(2).all(|pair| pair[0] >= pair[1]));
        assert_eq!(on_axis.iter().sum::<u64>(), total);
    }
}
