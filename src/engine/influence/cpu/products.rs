//! Products of the influence matrix on the CPU.

use rayon::prelude::*;

/// Steps of a column, and the Gy of one.
type Column<'a> = (&'a [i16], f32);

/// Doses of the rows for fluences of the columns, added to `offset_gy`. The order of the sums does not depend on the threads.
pub fn doses<'a>(columns: impl Iterator<Item = Column<'a>>, fluences: &[f64], offset_gy: &[f32]) -> Vec<f32> {
    const BLOCK: usize = 1024;
    let used = columns.zip(fluences).filter(|(_, fluence)| **fluence != 0.0);
    let used: Vec<Column<'_>> =
        used.map(|((steps, gy), fluence)| (steps, (f64::from(gy) * fluence) as f32)).collect();
    let mut doses = offset_gy.to_vec();
    doses.par_chunks_mut(BLOCK).enumerate().for_each(|(block, doses)| {
        let from = block * BLOCK;
        for (steps, gy) in &used {
            doses.iter_mut().zip(&steps[from..]).for_each(|(dose, step)| *dose += gy * f32::from(*step));
        }
    });
    doses
}

/// Gradient by fluence, from that by the doses of the rows.
pub fn transposed<'a>(columns: impl Iterator<Item = Column<'a>>, by_dose: &[f32]) -> Vec<f64> {
    by_column(columns, by_dose, |step, by| step * by).map(|(sum, gy)| sum * gy).collect()
}

/// Sum of the squares of each column, Gy2, weighed by row.
pub fn squares<'a>(columns: impl Iterator<Item = Column<'a>>, weights: &[f32]) -> Vec<f64> {
    by_column(columns, weights, |step, weight| step * step * weight).map(|(sum, gy)| sum * gy * gy).collect()
}

/// Sums over the rows of each column, with the Gy of its steps.
fn by_column<'a>(
    columns: impl Iterator<Item = Column<'a>>,
    by_row: &[f32],
    of: impl Fn(f32, f32) -> f32 + Sync + Send,
) -> impl IndexedParallelIterator<Item = (f64, f64)> {
    const LANES: usize = 16;
    let sum = move |(steps, gy): Column<'_>| {
        let (whole, rest) = steps.as_chunks::<LANES>();
        let (by_whole, by_rest) = by_row.as_chunks::<LANES>();
        let mut total = 0.0_f64;
        // Single precision is summed in short runs alone.
        for (run, by_run) in whole.chunks(64).zip(by_whole.chunks(64)) {
            let mut sums = [0.0_f32; LANES];
            for (steps, by) in run.iter().zip(by_run) {
                (0..LANES).for_each(|lane| sums[lane] += of(f32::from(steps[lane]), by[lane]));
            }
            total += sums.iter().map(|sum| f64::from(*sum)).sum::<f64>();
        }
        let rest = rest.iter().zip(by_rest).map(|(step, by)| f64::from(of(f32::from(*step), *by)));
        (total + rest.sum::<f64>(), f64::from(gy))
    };
    let columns: Vec<Column<'_>> = columns.collect();
    columns.into_par_iter().map(sum)
}
