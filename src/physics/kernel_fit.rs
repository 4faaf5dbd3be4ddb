//! Kernels as sums of exponentials with shared decay constants, for transport by recursion.
//!
//! A cone's cumulative energy is written as `C(r) = sum_k A_k (1 - exp(-a_k r))` (the form of A. Ahnesjo, Med. Phys. 16,
//! 577 (1989), with more terms). The constants `a_k` double from one to the next and are the same for all cones,
//! energies and classes; the amplitudes are signed least squares. The transport state of a line is then linear
//! in the TERMA along it, whatever the angle of each voxel's ray: tilted kernels cost nothing extra.

use super::kernel::{CONES, ConeTable, KernelClass, SHELLS};

/// Decay constants of all terms.
// Two exponentials for each cone are off by 2 to 3 % of a ring's energy and six shared terms by 0.6 %; without the fastest term the fit
// within 1 mm fails.
pub const TERMS: usize = 9;
/// The slowest decay, per g/cm2; each next one is twice as fast.
pub const SLOWEST_PER_CM: f64 = 0.04;

/// The terms a class uses: short ranges for electrons, long ones for scattered photons.
pub const fn terms_of(class: KernelClass) -> std::ops::Range<usize> {
    match class {
        KernelClass::Primary => 3..9,
        KernelClass::Scatter => 0..5,
    }
}

/// Decay constant of a term, per g/cm2.
pub fn decay_per_cm(term: usize) -> f64 {
    SLOWEST_PER_CM * (1u32 << term) as f64
}

/// A kernel of total energy 1 as exponentials: amplitudes `A_k` `[cone][term]`, energy in the cone.
#[derive(Clone, Debug)]
pub struct ExponentialKernel {
    pub amplitudes: Vec<[f64; TERMS]>,
}

impl ExponentialKernel {
    /// Fits a cumulative table. `total` is its energy out to infinity: what lies beyond the last shell goes to the
    /// cones in the proportion of the outer shells. The result is normalised to 1.
    pub fn fit(class: KernelClass, table: &ConeTable, radii_cm: &[f64], total: f64) -> Self {
        let last = &table[SHELLS - 1];
        let inside: f64 = last.iter().sum();
        let outer: Vec<f64> = (0..CONES).map(|c| last[c] - table[SHELLS - 4][c]).collect();
        let outer_sum: f64 = outer.iter().sum();
        let beyond = (total - inside).max(0.0);
        let mut amplitudes: Vec<[f64; TERMS]> = (0..CONES)
            .map(|cone| {
                let column: Vec<f64> = table.iter().map(|row| row[cone]).collect();
                let share = if outer_sum > 0.0 {
                    beyond * outer[cone] / outer_sum
                } else {
                    0.0
                };
                fit_cone(class, &column, radii_cm, last[cone] + share)
            })
            .collect();
        let sum: f64 = amplitudes.iter().flatten().sum();
        amplitudes.iter_mut().flatten().for_each(|a| *a /= sum);
        Self { amplitudes }
    }

    /// Energy in a cone within a radius (g/cm2).
    pub fn cumulative(&self, cone: usize, radius_cm: f64) -> f64 {
        let a = &self.amplitudes[cone];
        (0..TERMS)
            .map(|k| a[k] * -(-decay_per_cm(k) * radius_cm).exp_m1())
            .sum()
    }
}

/// Least squares of one cone: the shells as rows, infinity as one more.
fn fit_cone(class: KernelClass, column: &[f64], radii_cm: &[f64], total: f64) -> [f64; TERMS] {
    // Holds the amplitudes down where two terms would fight each other over noise.
    const RIDGE: f64 = 1e-6;
    let terms = terms_of(class);
    let n = terms.len();
    let mut normal = vec![vec![0.0; n + 1]; n];
    let mut add = |row: &[f64], y: f64| {
        for i in 0..n {
            for j in 0..n {
                normal[i][j] += row[i] * row[j];
            }
            normal[i][n] += row[i] * y;
        }
    };
    for (r, y) in radii_cm.iter().zip(column) {
        let row: Vec<f64> = terms
            .clone()
            .map(|k| -(-decay_per_cm(k) * r).exp_m1())
            .collect();
        add(&row, *y);
    }
    add(&vec![1.0; n], total);
    for (i, row) in normal.iter_mut().enumerate() {
        row[i] += RIDGE;
    }
    let solution = solve(normal);
    let mut amplitudes = [0.0; TERMS];
    amplitudes[terms].copy_from_slice(&solution);
    amplitudes
}

/// Solves a symmetric positive system given as rows with the right-hand side last (Gauss elimination).
fn solve(mut m: Vec<Vec<f64>>) -> Vec<f64> {
    let n = m.len();
    for i in 0..n {
        let pivot = m[i].clone();
        for row in m.iter_mut().skip(i + 1) {
            let f = row[i] / pivot[i];
            for (x, p) in row.iter_mut().zip(&pivot).skip(i) {
                *x -= f * p;
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let solved: f64 = (i + 1..n).map(|j| m[i][j] * x[j]).sum();
        x[i] = (m[i][n] - solved) / m[i][i];
    }
    x
}
