//! Powell's direction set method (Powell 1964; Press, Numerical Recipes 3rd ed., section 10.7) with Brent's parabolic line
//! search, within bounds.

use super::{Best, Range};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowellSettings {
    /// First step of a line search, equal along every axis.
    pub step: f64,
    /// Accuracy of a line search.
    pub tolerance: f64,
    /// Most rounds over all directions.
    pub rounds: usize,
}

/// Finds the minimum near `start`. `value` returns the cost of a point; NaN counts as infinite.
///
/// # Errors
/// Errors of `value`.
pub fn powell<E>(
    start: &[f64],
    ranges: &[Range],
    settings: PowellSettings,
    mut value: impl FnMut(&[f64]) -> Result<f64, E>,
) -> Result<Best, E> {
    let n = start.len();
    let mut cost = |point: &[f64]| value(point).map(|v| if v.is_nan() { f64::INFINITY } else { v });
    let mut at: Vec<f64> = start.iter().zip(ranges).map(|(x, r)| r.clamp(*x)).collect();
    let mut least = cost(&at)?;
    let mut ways: Vec<Vec<f64>> =
        (0..n).map(|r| (0..n).map(|c| f64::from(u8::from(r == c))).collect()).collect();
    for _ in 0..settings.rounds {
        let (begin, first) = (at.clone(), least);
        let mut largest = (0.0, 0);
        for (d, way) in ways.iter().enumerate() {
            let before = least;
            least = along(&mut at, way, least, ranges, settings, &mut cost)?;
            if before - least > largest.0 {
                largest = (before - least, d);
            }
        }
        let moved: Vec<f64> = at.iter().zip(&begin).map(|(a, b)| a - b).collect();
        let far = moved.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if far < settings.tolerance {
            break;
        }
        // A further step along the round's total displacement decides whether it becomes a direction.
        let on: Vec<f64> = at.iter().zip(&moved).zip(ranges).map(|((a, m), r)| r.clamp(a + m)).collect();
        let beyond = cost(&on)?;
        let fall = 2.0 * (first - 2.0 * least + beyond) * (first - least - largest.0).powi(2);
        if beyond < first && fall < largest.0 * (first - beyond).powi(2) {
            let length = moved.iter().map(|m| m * m).sum::<f64>().sqrt();
            let way: Vec<f64> = moved.iter().map(|m| m / length).collect();
            least = along(&mut at, &way, least, ranges, settings, &mut cost)?;
            ways.remove(largest.1);
            ways.push(way);
        }
    }
    Ok(Best { point: at, value: least })
}

/// Moves a point to the minimum along a direction and returns its value.
fn along<E>(
    at: &mut Vec<f64>,
    way: &[f64],
    least: f64,
    ranges: &[Range],
    settings: PowellSettings,
    cost: &mut impl FnMut(&[f64]) -> Result<f64, E>,
) -> Result<f64, E> {
    // The range of the step within the bounds.
    let (mut back, mut on) = (f64::NEG_INFINITY, f64::INFINITY);
    for ((x, d), r) in at.iter().zip(way).zip(ranges) {
        if *d != 0.0 {
            let (a, b) = ((r.low - x) / d, (r.high - x) / d);
            back = back.max(a.min(b));
            on = on.min(a.max(b));
        }
    }
    let (back, on) = (back.min(0.0), on.max(0.0));
    if on - back < settings.tolerance {
        return Ok(least);
    }
    let from = at.clone();
    let point = |t: f64| -> Vec<f64> {
        from.iter().zip(way).zip(ranges).map(|((x, d), r)| r.clamp(x + t * d)).collect()
    };
    let mut f = |t: f64| cost(&point(t));
    let bracket = bracket(least, settings.step, [back, on], &mut f)?;
    let (t, value) = brent(bracket, settings.tolerance, &mut f)?;
    if value < least {
        *at = point(t);
        return Ok(value);
    }
    Ok(least)
}

/// Three positions with their values, the middle one not above the others unless it is at a bound.
type Bracket = [(f64, f64); 3];

fn bracket<E>(
    here: f64,
    step: f64,
    [back, on]: [f64; 2],
    f: &mut impl FnMut(f64) -> Result<f64, E>,
) -> Result<Bracket, E> {
    const GROWTH: f64 = 1.618_034;
    let right = step.min(on);
    let right = (right, if right > 0.0 { f(right)? } else { here });
    let mut middle = (0.0, here);
    let mut low;
    let mut high;
    if right.1 < here {
        low = middle;
        middle = right;
        loop {
            let t = (middle.0 + GROWTH * (middle.0 - low.0)).min(on);
            if t <= middle.0 {
                high = middle;
                break;
            }
            high = (t, f(t)?);
            if high.1 >= middle.1 {
                break;
            }
            low = middle;
            middle = high;
        }
    } else {
        high = right;
        loop {
            let t = (middle.0 - if middle.0 == 0.0 { step } else { GROWTH * (high.0 - middle.0) }).max(back);
            if t >= middle.0 {
                low = middle;
                break;
            }
            low = (t, f(t)?);
            if low.1 >= middle.1 {
                break;
            }
            high = middle;
            middle = low;
        }
    }
    Ok([low, middle, high])
}

/// Parabolas where they converge, golden sections otherwise (Brent 1973, chapter 5).
fn brent<E>(
    [low, middle, high]: Bracket,
    tolerance: f64,
    f: &mut impl FnMut(f64) -> Result<f64, E>,
) -> Result<(f64, f64), E> {
    const GOLDEN: f64 = 0.381_966;
    const MOST: usize = 40;
    let (mut a, mut b) = (low.0, high.0);
    let mut x = middle;
    // Second best position, and the previous second best.
    let (mut w, mut v) = if low.1 < high.1 { (low, high) } else { (high, low) };
    let mut before = b - a;
    let mut last = before;
    for _ in 0..MOST {
        let centre = 0.5 * (a + b);
        if (x.0 - centre).abs() <= 2.0 * tolerance - 0.5 * (b - a) {
            break;
        }
        let r = (x.0 - w.0) * (x.1 - v.1);
        let q = (x.0 - v.0) * (x.1 - w.1);
        let (mut p, mut q) = ((x.0 - v.0) * q - (x.0 - w.0) * r, 2.0 * (q - r));
        if q > 0.0 {
            p = -p;
        }
        q = q.abs();
        let fits =
            p.is_finite() && p.abs() < (0.5 * q * before).abs() && p > q * (a - x.0) && p < q * (b - x.0);
        let mut step = if fits {
            before = last;
            p / q
        } else {
            before = if x.0 >= centre { a - x.0 } else { b - x.0 };
            GOLDEN * before
        };
        if step.abs() < tolerance {
            step = tolerance.copysign(if step == 0.0 { centre - x.0 } else { step });
        }
        last = step;
        let t = (x.0 + step).clamp(a.min(b), a.max(b));
        let u = (t, f(t)?);
        if u.1 <= x.1 {
            if u.0 >= x.0 {
                a = x.0
            } else {
                b = x.0
            }
            (v, w, x) = (w, x, u);
        } else {
            if u.0 < x.0 {
                a = u.0
            } else {
                b = u.0
            }
            if u.1 <= w.1 || w.0 == x.0 {
                (v, w) = (w, u);
            } else if u.1 <= v.1 {
                v = u;
            }
        }
    }
    Ok((x.0, x.1))
}
