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
    let mut point: Vec<f64> = start.iter().zip(ranges).map(|(x, r)| r.clamp(*x)).collect();
    let Some(mut model_here) = model(&point)? else {
        return Ok(None);
    };
    let mut damping = 1e-3;
    for _ in 0..settings.steps {
        let step = step(&point, &model_here, ranges, damping, settings.longest);
        let far = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
        if far == 0.0 {
            break;
        }
        let next: Vec<f64> = point
            .iter()
            .zip(&step)
            .zip(ranges)
            .map(|((x, s), r)| r.clamp(x + s))
            .collect();
        match model(&next)? {
            Some(model_there) if model_there.value <= model_here.value => {
                (point, model_here) = (next, model_there);
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
        point,
        value: model_here.value,
    }))
}

/// The damped step; numbers at a bound do not leave their range.
fn step(
    point: &[f64],
    quadratic: &Quadratic,
    ranges: &[Range],
    damping: f64,
    longest: f64,
) -> Vec<f64> {
    let n = point.len();
    let held = |i: usize| {
        let (x, g, r) = (point[i], quadratic.gradient[i], ranges[i]);
        r.low >= r.high || (x <= r.low && g > 0.0) || (x >= r.high && g < 0.0)
    };
    let free: Vec<usize> = (0..n).filter(|&i| !held(i)).collect();
    let mean = free.iter().map(|&i| quadratic.matrix[i][i]).sum::<f64>() / free.len().max(1) as f64;
    let mut damping = damping;
    let mut out = vec![0.0; n];
    for _ in 0..12 {
        let matrix: Vec<Vec<f64>> = free
            .iter()
            .map(|&i| {
                free.iter()
                    .map(|&j| {
                        let damping_term = if i == j {
                            damping * (quadratic.matrix[i][i] + 1e-3 * mean)
                        } else {
                            0.0
                        };
                        quadratic.matrix[i][j] + damping_term
                    })
                    .collect()
            })
            .collect();
        let right: Vec<f64> = free.iter().map(|&i| -quadratic.gradient[i]).collect();
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
