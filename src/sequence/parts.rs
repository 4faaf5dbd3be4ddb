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
        Self {
            columns: 0..columns,
            shares: vec![1.0; columns],
            ends_at_jaws: [true; 2],
        }
    }

    /// The fewest parts of at most `max_width_mm`, equally wide but for a column; `None` where they would be no wider than they fade.
    pub fn split(columns: usize, step_mm: f64, max_width_mm: f64) -> Option<Vec<Self>> {
        let columns_per_part = (max_width_mm / step_mm).floor().max(0.0) as usize;
        let feather = (FEATHER_MM / step_mm).round().max(1.0) as usize;
        if columns_per_part >= columns {
            return Some(vec![Self::whole(columns)]);
        }
        if columns_per_part < 2 * feather {
            return None;
        }
        let count = (columns - feather).div_ceil(columns_per_part - feather);
        let starts: Vec<usize> = (0..=count)
            .map(|n| (n * (columns - feather)) / count)
            .collect();
        let parts = starts.windows(2).enumerate().map(|(n, pair)| {
            let ends_at_jaws = [n == 0, n + 1 == count];
            Self::fading(pair[0]..pair[1] + feather, feather, ends_at_jaws)
        });
        Some(parts.collect())
    }

    /// A part that fades over `feather` columns at the ends without a jaw.
    fn fading(columns: Range<usize>, feather: usize, ends_at_jaws: [bool; 2]) -> Self {
        let count = columns.len();
        let shares = (0..count).map(|column| {
            let rise = if ends_at_jaws[0] {
                1.0
            } else {
                fading_share(column, feather)
            };
            let fall = if ends_at_jaws[1] {
                1.0
            } else {
                fading_share(count - 1 - column, feather)
            };
            rise * fall
        });
        Self {
            shares: shares.collect(),
            columns,
            ends_at_jaws,
        }
    }

    /// The part's share of fluences, `[row][column]`.
    pub fn share_of(&self, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        rows.iter()
            .map(|row| self.share_of_row(&row[self.columns.clone()]))
            .collect()
    }

    fn share_of_row(&self, row: &[f64]) -> Vec<f64> {
        row.iter()
            .zip(&self.shares)
            .map(|(mu, share)| mu * share)
            .collect()
    }
}

/// Share of the fluence in a column that lies so many columns within the end of a part.
fn fading_share(columns_within: usize, feather: usize) -> f64 {
    if columns_within >= feather {
        1.0
    } else {
        (columns_within as f64 + 0.5) / feather as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_map_and_stay_on_the_carriage() {
        for (columns, max_width_mm, count) in [
            (28, 140.0, 1),
            (29, 140.0, 2),
            (40, 140.0, 2),
            (60, 140.0, 3),
            (80, 60.0, 10),
        ] {
            let parts = MapPart::split(columns, 5.0, max_width_mm).expect("parts");
            assert_eq!(parts.len(), count, "{columns} columns");
            let mut sum = vec![0.0; columns];
            for part in &parts {
                assert!(part.columns.len() as f64 * 5.0 <= max_width_mm, "{part:?}");
                let ones = part.share_of(&[vec![1.0; columns]]);
                part.columns
                    .clone()
                    .zip(&ones[0])
                    .for_each(|(column, share)| sum[column] += share);
            }
            assert!(
                sum.iter().all(|sum| (sum - 1.0).abs() < 1e-12),
                "{columns}: {sum:?}"
            );
        }
        assert_eq!(MapPart::split(40, 5.0, 35.0), None);
    }
}
