//! Sampling from many weights in constant time: the alias method of Walker (1977), tables as Vose (1991) makes them.

/// For each entry: the chance to keep it, and which to take instead. Weights that are not positive are never drawn.
///
/// `None` where no weight is positive.
pub fn alias_table(weights: &[f64]) -> Option<Vec<(f32, u32)>> {
    let sum: f64 = weights.iter().filter(|w| **w > 0.0).sum();
    if !(sum.is_finite() && sum > 0.0) {
        return None;
    }
    let mut scaled: Vec<f64> = weights
        .iter()
        .map(|w| w.max(0.0) / sum * weights.len() as f64)
        .collect();
    let mut table: Vec<(f32, u32)> = (0..weights.len()).map(|i| (1.0, i as u32)).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..weights.len()).partition(|i| scaled[*i] < 1.0);
    while let (Some(&little), Some(&much)) = (small.last(), large.last()) {
        small.pop();
        table[little] = (scaled[little] as f32, much as u32);
        scaled[much] -= 1.0 - scaled[little];
        if scaled[much] < 1.0 {
            large.pop();
            small.push(much);
        }
    }
    // Rounding may leave an entry of no weight among the last: it is replaced by one that has some.
    let heaviest = (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b]))?;
    for i in small {
        if weights[i] <= 0.0 {
            table[i] = (0.0, heaviest as u32);
        }
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_back_the_weights() {
        let weights = [0.0, 3.0, 1e-9, 0.5, 0.0, 12.0, 2.25];
        let table = alias_table(&weights).expect("weights");
        let mut got = [0.0; 7];
        for (i, (keep, other)) in table.iter().enumerate() {
            got[i] += f64::from(*keep) / 7.0;
            got[*other as usize] += (1.0 - f64::from(*keep)) / 7.0;
        }
        let sum: f64 = weights.iter().sum();
        for (got, want) in got.iter().zip(weights) {
            assert!((got - want / sum).abs() < 1e-7, "{got} for {}", want / sum);
        }
        assert_eq!((got[0], got[4]), (0.0, 0.0));
        assert!(alias_table(&[0.0, 0.0]).is_none() && alias_table(&[f64::NAN]).is_none());
        assert!(alias_table(&[]).is_none());
    }
}
