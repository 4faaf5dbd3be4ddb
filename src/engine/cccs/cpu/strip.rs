//! One strip of sixteen lines through one voxel row: its source term and its transport.

use super::block::{F32x16, LANES};
use crate::cccs::angles::{Coefficients, PRIMARY, SCATTER};
use crate::lanes::F32xN;
use physics::kernel_beam::CHANNELS;
use physics::kernel_fit::{SLOWEST_PER_CM, TERMS};

/// A term's state decays to this, not to zero, in units of the greatest TERMA: denormal numbers are slow.
pub const FLOOR: f32 = 1e-20;

/// `1 - exp(-a y)` of the slowest term.
#[inline(always)]
pub fn slowest_loss<const N: usize>(path: F32xN<N>) -> F32xN<N> {
    let x = path * SLOWEST_PER_CM as f32;
    let one = F32xN::splat(1.0);
    x * (one - x * 0.5 * (one - x * (1.0 / 3.0) * (one - x * 0.25)))
}

/// Source term `S` of the transport along a line: TERMA times kernel coefficients.
pub struct SourceTerm {
    /// Energy per length.
    pub sum: F32x16,
    /// State of each term at equilibrium: `S / a`.
    pub equilibrium: [F32x16; TERMS],
}

impl SourceTerm {
    pub const NONE: Self = Self {
        sum: F32x16::ZERO,
        equilibrium: [F32x16::splat(FLOOR); TERMS],
    };
}

/// Strips longer than this have three nodes, others two; near the beam axis eight and four.
// With two nodes in long strips the dose moves by up to 0.083 %, and two fields of `mccs::wide` are beyond the 0.6 % that it allows.
const LONG_STRIP_MM: f64 = 60.0;

/// Nodes of a strip, in voxels from its first: the zeros of Chebyshev's polynomial, which keep the
/// interpolation error least. A single one would be 0.35 % off in single voxels at 2.5 mm (`benches/DECISIONS.md`).
pub fn nodes(strip_mm: f64, near_beam_axis: bool) -> Vec<f32> {
    let count = match (strip_mm > LONG_STRIP_MM, near_beam_axis) {
        (false, false) => 2.0,
        (true, false) => 3.0,
        (false, true) => 4.0,
        (true, true) => 8.0,
    };
    (0..count as usize)
        .map(|n| {
            let zero = ((n as f64 + 0.5) * std::f64::consts::PI / count).cos();
            (0.5 * (LANES as f64 * (1.0 + zero) - 1.0)) as f32
        })
        .collect()
}

/// Weights of the nodes for each voxel of a strip: Lagrange's polynomials.
pub fn shares(nodes: &[f32]) -> Vec<F32x16> {
    nodes
        .iter()
        .map(|node| {
            F32xN(std::array::from_fn(|lane| {
                lagrange(nodes, *node, lane as f32)
            }))
        })
        .collect()
}

/// Lagrange's polynomial that is 1 at `node` and 0 at all others of `nodes`.
fn lagrange(nodes: &[f32], node: f32, x: f32) -> f32 {
    nodes
        .iter()
        .filter(|other| **other != node)
        .map(|other| (x - other) / (node - other))
        .product::<f32>()
}

/// Source term of a strip, coefficients interpolated between its nodes.
#[inline(always)]
pub fn source_term<const FUSED: bool>(
    terma: &[F32x16; CHANNELS],
    shares: &[F32x16],
    nodes: &[Coefficients],
) -> SourceTerm {
    // Sums are local variables: the compiler would keep the members of a `SourceTerm` in memory from node to node.
    let SourceTerm {
        mut sum,
        mut equilibrium,
    } = SourceTerm::NONE;
    for (share, node) in shares.iter().zip(nodes) {
        let [p_shallow, p_deep, s_shallow, s_deep] = *terma;
        let primary = [p_shallow * *share, p_deep * *share];
        let scatter = [s_shallow * *share, s_deep * *share];
        sum = add::<FUSED>(sum, primary, &[node.sums[0], node.sums[1]]);
        sum = add::<FUSED>(sum, scatter, &[node.sums[2], node.sums[3]]);
        for (term, equilibrium) in equilibrium.iter_mut().enumerate() {
            if SCATTER.contains(&term) {
                *equilibrium =
                    add::<FUSED>(*equilibrium, scatter, &node.scatter[term - SCATTER.start]);
            }
            if PRIMARY.contains(&term) {
                *equilibrium =
                    add::<FUSED>(*equilibrium, primary, &node.primary[term - PRIMARY.start]);
            }
        }
    }
    SourceTerm { sum, equilibrium }
}

/// Transport through a voxel: `R <- R e + (S/a)(1 - e)` for every term, `R` over `a`; returns the deposit. `LOW_DENSITY`: some voxels
/// have, where `1 - e` has too few digits in single precision and the loss is computed by itself.
#[inline(always)]
pub fn transport_strip<const FUSED: bool, const LOW_DENSITY: bool>(
    path: F32x16,
    source_term: &SourceTerm,
    state: &mut [f32],
    width: usize,
    line: usize,
) -> F32x16 {
    let one = F32x16::splat(1.0);
    // Decay constants double from term to term. The chain of `e` is one product a term; a chain of `1 - e` would be twice as long, and
    // its latency is the time of this loop.
    let mut loss = slowest_loss(path);
    let mut transmitted = one - loss;
    let mut deposited = path * source_term.sum;
    for (term, equilibrium) in source_term.equilibrium.iter().enumerate() {
        // In air the difference of two energies is 0.24 % off.
        let absorbed = if LOW_DENSITY { loss } else { one - transmitted };
        transport_term::<FUSED>(
            &mut state[term * width + line..],
            *equilibrium,
            absorbed,
            &mut deposited,
        );
        loss = loss * (one + one - loss);
        transmitted = transmitted * transmitted;
    }
    deposited
}

/// `to` plus the two channels of a class along a term.
#[inline(always)]
fn add<const FUSED: bool>(to: F32x16, terma: [F32x16; 2], a: &[f32; 2]) -> F32x16 {
    let shallow = terma[0].mul_add::<FUSED>(F32x16::splat(a[0]), to);
    terma[1].mul_add::<FUSED>(F32x16::splat(a[1]), shallow)
}

/// A term through one voxel: its state moves towards equilibrium by `loss`; energy gained by the state is not deposited.
#[inline(always)]
fn transport_term<const FUSED: bool>(
    lines: &mut [f32],
    equilibrium: F32x16,
    loss: F32x16,
    deposited: &mut F32x16,
) {
    let radiant = F32x16::load(lines, 0);
    let missing = equilibrium - radiant;
    loss.mul_add::<FUSED>(missing, radiant).store(lines);
    *deposited = (-loss).mul_add::<FUSED>(missing, *deposited);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dose::medium::LOW_DENSITY_G_CM3;

    /// Deposit and state against exponentials in f64, at every density.
    #[test]
    fn a_voxels_deposit_is_exact_at_any_density() {
        for density in [1.2e-4, 1.2e-3, 0.01, 0.04, 0.06, 0.3, 1.0, 2.0] {
            for length_cm in [0.013, 0.05, 0.31] {
                let path = density * length_cm;
                let radiant = |term: usize| 3.0 / (1.0 + term as f64);
                let equilibrium = |term: usize| 1.0 + 0.2 * term as f64;
                let a = |term: usize| SLOWEST_PER_CM * f64::from(1 << term);
                let source_term = SourceTerm {
                    sum: F32x16::splat(
                        (0..TERMS).map(|t| a(t) * equilibrium(t)).sum::<f64>() as f32
                    ),
                    equilibrium: std::array::from_fn(|t| F32x16::splat(equilibrium(t) as f32)),
                };
                let mut state: Vec<f32> = (0..TERMS * LANES)
                    .map(|i| radiant(i / LANES) as f32)
                    .collect();
                // Single precision resolves `e` to a fraction of the loss.
                let (transport, rounding): (fn(_, &_, &mut _, _, _) -> _, f64) =
                    if density < f64::from(LOW_DENSITY_G_CM3) {
                        (transport_strip::<true, true>, 0.0)
                    } else {
                        (
                            transport_strip::<true, false>,
                            2e-7 / (SLOWEST_PER_CM * path),
                        )
                    };
                let deposited: F32x16 = transport(
                    F32x16::splat(path as f32),
                    &source_term,
                    &mut state[..],
                    LANES,
                    0,
                );
                let loss = |term: usize| -(-a(term) * path).exp_m1();
                let want: f64 = (0..TERMS)
                    .map(|term| {
                        loss(term) * (radiant(term) - equilibrium(term))
                            + a(term) * path * equilibrium(term)
                    })
                    .sum();
                let off = f64::from(deposited.0[0]) / want - 1.0;
                assert!(
                    off.abs() < 1e-5 + rounding,
                    "{density} g/cm3, {length_cm} cm: {off:e}"
                );
                for term in 0..TERMS {
                    let want = radiant(term) + loss(term) * (equilibrium(term) - radiant(term));
                    assert!(
                        (f64::from(state[term * LANES]) / want - 1.0).abs() < 1e-4,
                        "{density}, {term}"
                    );
                }
            }
        }
    }
}
