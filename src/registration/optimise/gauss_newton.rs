//! Gauss-Newton with Levenberg-Marquardt damping, within bounds.

use super::linear::solve;
use super::{Best, Range};

/// Settings of a refinement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussNewton {
    pub steps: usize,
    /// The refinement ends where no number moves by more than this.
    pub tolerance: f64,
    /// Longest step of a number.
    pub longest: f64,
}

/// A value, its gradient, and the Gauss-Newton matrix at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Quadratic {
    pub value: f64,
    pub gradient: Vec<f64>,
    /// Symmetric, positive semidefinite.
    pub matrix: Vec<Vec<f64>>,
}

/// Finds the minimum near `start`. `model` returns `None` for a point without a value; the answer is `None`
/// where the start has none.
///
/// # Errors
/// Errors of `model`.
pub fn refine<E>(
    start: &[f64],
    ranges: &[Range],
    settings: GaussNewton,
    mut model: impl FnMut(&[f64]) -> Result<Option<Quadratic>, E>,
) -> Result<Option<Best>, E> {
    let mut at: Vec<f64> = start.iter().zip(ranges).map(|(x, r)| r.clamp(*x)).collect();
    let Some(mut here) = model(&at)? else {
        return Ok(None);
    };
    let mut damping = 1e-3;
    for _ in 0..settings.steps {
        let step = step(&at, &here, ranges, damping, settings.longest);
        let far = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
        if far == 0.0 {
            break;
        }
        let next: Vec<f64> = at
            .iter()
            .zip(&step)
            .zip(ranges)
            .map(|((x, s), r)| r.clamp(x + s))
            .collect();
        match model(&next)? {
            Some(there) if there.value <= here.value => {
                (at, here) = (next, there);
                damping = (damping * 0.2).max(1e-7);
                if far < settings.tolerance {
                    break;
                }
            }
            _ => {
                damping *= 10.0;
                if damping > 1e6 || far < settings.tolerance {
                    break;
                }
            }
        }
    }
    Ok(Some(Best {
        point: at,
        value: here.value,
    }))
}

/// The damped step; numbers at a bound do not leave their range.
fn step(at: &[f64], here: &Quadratic, ranges: &[Range], damping: f64, longest: f64) -> Vec<f64> {
    let n = at.len();
    let held = |i: usize| {
        let (x, g, r) = (at[i], here.gradient[i], ranges[i]);
        r.low >= r.high || (x <= r.low && g > 0.0) || (x >= r.high && g < 0.0)
    };
    let free: Vec<usize> = (0..n).filter(|&i| !held(i)).collect();
    let mean = free.iter().map(|&i| here.matrix[i][i]).sum::<f64>() / free.len().max(1) as f64;
    let mut damping = damping;
    let mut out = vec![0.0; n];
    for _ in 0..12 {
        let entry = |i: usize, j: usize| {
            let own = if i == j {
                damping * (here.matrix[i][i] + 1e-3 * mean)
            } else {
                0.0
            };
            here.matrix[i][j] + own
        };
        let matrix: Vec<Vec<f64>> = free
            .iter()
            .map(|&i| free.iter().map(|&j| entry(i, j)).collect())
            .collect();
        let right: Vec<f64> = free.iter().map(|&i| -here.gradient[i]).collect();
        if let Some(x) = solve(&matrix, &right) {
            let far = x.iter().fold(0.0f64, |m, s| m.max(s.abs()));
            let scale = if far > longest { longest / far } else { 1.0 };
            free.iter().zip(&x).for_each(|(&i, s)| out[i] = s * scale);
            return out;
        }
        damping = damping.max(1e-6) * 10.0;
    }
    out
}
