//! Rows of a map with fewer rises: each rise costs monitor units, and all that leaks grows with those of the slowest row.

/// Sum of the rises along a row, from 0 on.
pub fn rises(row: &[f64]) -> f64 {
    let previous = std::iter::once(&0.0).chain(row);
    row.iter()
        .zip(previous)
        .map(|(value, previous)| (value - previous).max(0.0))
        .sum()
}

/// Rows within a part of their fluences of those given, whose slowest rises the least; others change no more than that asks for.
pub fn flattened(rows: &[Vec<f64>], part: f64) -> Vec<Vec<f64>> {
    let max_rises = rows
        .iter()
        .map(|row| rises(&least_rises(row, part)))
        .fold(0.0, f64::max);
    rows.iter()
        .map(|row| flattened_to(row, part, max_rises))
        .collect()
}

/// A row whose rises are at most `max_rises`, by the smallest relative change of its fluences that achieves it, at most `part`.
fn flattened_to(row: &[f64], part: f64, max_rises: f64) -> Vec<f64> {
    if rises(row) <= max_rises {
        return row.to_vec();
    }
    let [mut low, mut high] = [0.0, part];
    for _ in 0..12 {
        let middle = 0.5 * (low + high);
        let half = if rises(&least_rises(row, middle)) <= max_rises {
            &mut high
        } else {
            &mut low
        };
        *half = middle;
    }
    least_rises(row, high)
}

/// A row that rises little within a part of each fluence: runs as long as one value lies within the parts of all their
/// cells; runs above both their neighbours take the least such value, runs below the greatest, others that nearest their mean.
fn least_rises(row: &[f64], part: f64) -> Vec<f64> {
    let mut runs: Vec<(std::ops::Range<usize>, [f64; 2])> = Vec::new();
    for (n, value) in row.iter().enumerate() {
        let [low, high] = [value * (1.0 - part), value * (1.0 + part)];
        match runs.last_mut() {
            Some((run, bounds)) if low <= bounds[1] && bounds[0] <= high => {
                run.end = n + 1;
                *bounds = [bounds[0].max(low), bounds[1].min(high)];
            }
            _ => runs.push((n..n + 1, [low, high])),
        }
    }
    let mut out = Vec::with_capacity(row.len());
    for (n, (run, [low, high])) in runs.iter().enumerate() {
        let is_above = |other: Option<&(_, [f64; 2])>| other.map(|(_, bounds)| *low > bounds[1]);
        let previous = n.checked_sub(1).and_then(|n| runs.get(n));
        let value = match (is_above(previous), is_above(runs.get(n + 1))) {
            (Some(true), Some(true)) => *low,
            (Some(false), Some(false)) => *high,
            _ => (row[run.clone()].iter().sum::<f64>() / run.len() as f64).clamp(*low, *high),
        };
        out.resize(run.end, value);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wiggles_go_and_steps_stay() {
        let row = [
            0.0, 94.0, 70.0, 71.0, 71.0, 102.0, 132.0, 0.0, 0.0, 93.0, 96.0, 24.0, 76.0, 75.0,
            98.0, 0.0,
        ];
        assert_eq!(least_rises(&row, 0.0), row);
        // By hand: 94 + 1 + 31 + 30, 93 + 3 + 52 + 23.
        assert_eq!(rises(&row), 327.0);
        let flat = least_rises(&row, 0.2);
        assert!(rises(&flat) < 0.75 * rises(&row), "{flat:?}");
        for (flat, value) in flat.iter().zip(row) {
            assert!(
                (flat - value).abs() <= 0.2 * value + 1e-9,
                "{flat} for {value}"
            );
        }
        // Plateaus at the ends keep their level, and a ramp its mean: what a row delivers over its width stays.
        assert_eq!(least_rises(&[80.0, 80.0, 80.0], 0.3), [80.0, 80.0, 80.0]);
        let ramp: Vec<f64> = (0..10).map(|n| 50.0 + 5.0 * f64::from(n)).collect();
        let mean = |row: &[f64]| row.iter().sum::<f64>() / row.len() as f64;
        assert!(
            (mean(&least_rises(&ramp, 0.1)) - mean(&ramp)).abs() < 1.0,
            "{:?}",
            least_rises(&ramp, 0.1)
        );
    }

    /// Rows that do not hold the field up stay as they are.
    #[test]
    fn quick_rows_stay() {
        let rows = vec![
            vec![10.0, 12.0, 10.0, 12.0],
            vec![100.0, 60.0, 100.0, 60.0, 100.0],
        ];
        let flat = flattened(&rows, 0.1);
        assert_eq!(flat[0], rows[0]);
        assert!(rises(&flat[1]) < rises(&rows[1]));
    }
}
