//! Parts of a map that is wider than a carriage holds: leaves deliver one after the other, and the carriage moves in between.

use std::ops::Range;

/// Neighbouring parts fade into each other over so far, mm: an edge that is off by a millimetre is then off by a twentieth of the
/// fluence. Chosen.
const FEATHER_MM: f64 = 20.0;

/// Columns of a map that are delivered from one place of the carriage.
#[derive(Clone, Debug, PartialEq)]
pub struct MapPart {
    pub columns: Range<usize>,
    /// Share of the fluence of each of its columns.
    shares: Vec<f64>,
    /// Whether its first and last column are the map's, with the jaws beside them.
    pub ends_at_jaws: [bool; 2],
}

impl MapPart {
    pub fn whole(columns: usize) -> Self {
        Self { columns: 0..columns, shares: vec![1.0; columns], ends_at_jaws: [true; 2] }
    }

    /// The fewest parts of `most_mm` at most, equally wide but for a column; `None` where they would be no wider than they fade.
    pub fn all_of(columns: usize, step_mm: f64, most_mm: f64) -> Option<Vec<Self>> {
        let most = (most_mm / step_mm).floor().max(0.0) as usize;
        let feather = (FEATHER_MM / step_mm).round().max(1.0) as usize;
        if most >= columns {
            return Some(vec![Self::whole(columns)]);
        }
        if most < 2 * feather {
            return None;
        }
        let count = (columns - feather).div_ceil(most - feather);
        let first = |n: usize| (n * (columns - feather)) / count;
        let fades = |n: usize| (n as f64 + 0.5) / feather as f64;
        let part = |n: usize| {
            let own = first(n)..first(n + 1) + feather;
            let ends_at_jaws = [n == 0, n + 1 == count];
            let share = |column: usize| {
                let [rise, fall] = [column - own.start, own.end - 1 - column];
                let rise = if ends_at_jaws[0] || rise >= feather { 1.0 } else { fades(rise) };
                let fall = if ends_at_jaws[1] || fall >= feather { 1.0 } else { fades(fall) };
                rise * fall
            };
            Self { shares: own.clone().map(share).collect(), columns: own, ends_at_jaws }
        };
        Some((0..count).map(part).collect())
    }

    /// Its share of fluences, `[row][column]`.
    pub fn share_of(&self, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let own = |row: &Vec<f64>| {
            row[self.columns.clone()].iter().zip(&self.shares).map(|(mu, share)| mu * share).collect()
        };
        rows.iter().map(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_map_and_stay_on_the_carriage() {
        for (columns, most_mm, count) in
            [(28, 140.0, 1), (29, 140.0, 2), (40, 140.0, 2), (60, 140.0, 3), (80, 60.0, 10)]
        {
            let parts = MapPart::all_of(columns, 5.0, most_mm).expect("parts");
            assert_eq!(parts.len(), count, "{columns} columns");
            let mut sum = vec![0.0; columns];
            for part in &parts {
                assert!(part.columns.len() as f64 * 5.0 <= most_mm, "{part:?}");
                let ones = part.share_of(&[vec![1.0; columns]]);
                part.columns.clone().zip(&ones[0]).for_each(|(column, share)| sum[column] += share);
            }
            assert!(sum.iter().all(|sum| (sum - 1.0).abs() < 1e-12), "{columns}: {sum:?}");
        }
        assert_eq!(MapPart::all_of(40, 5.0, 35.0), None);
    }
}
