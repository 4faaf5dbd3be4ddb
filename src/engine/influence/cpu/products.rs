//! Products of the influence matrix on the CPU. Memory bounds them: columns are passed through once, a few side by side.

use crate::lanes::F32xN;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use rayon::prelude::*;

/// Steps of a column, and the Gy of one.
type Column<'a> = (&'a [i16], f32);

/// Columns side by side.
const TOGETHER: usize = 4;

/// Rows whose steps lie together in a line of the cache.
const LINE: usize = 32;

/// Values side by side.
const LANES: usize = 16;
type F32x16 = F32xN<LANES>;

/// Doses of the rows for fluences of the columns, added to `offset_gy`. The order of the sums does not depend on the threads.
pub fn doses<'a>(
    columns: impl Iterator<Item = Column<'a>>,
    fluences: &[f64],
    offset_gy: &[f32],
) -> Vec<f32> {
    let used = columns
        .zip(fluences)
        .filter(|(_, fluence)| **fluence != 0.0);
    let used: Vec<Column<'_>> = used
        .map(|((steps, gy), fluence)| (steps, (f64::from(gy) * fluence) as f32))
        .collect();
    let mut doses = offset_gy.to_vec();
    // The longer a run of a column is, the sooner memory hears of it; the doses of a block stay in the cache.
    let block = (doses.len() / (2 * rayon::current_num_threads())).clamp(1024, 8192);
    doses
        .par_chunks_mut(block)
        .enumerate()
        .map(|(n, doses)| (n * block, doses))
        .for_each(|(block, doses)| add_columns(doses, block, &used));
    doses
}

/// Adds columns to the doses of rows from one on.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn add_columns(doses: &mut [f32], from: usize, columns: &[Column<'_>]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let end = from + doses.len();
    let (groups, single_columns) = columns.as_chunks::<TOGETHER>();
    for columns in groups {
        let [(a, of_a), (b, of_b), (c, of_c), (d, of_d)] = *columns;
        let [a, b, c, d] = [&a[from..end], &b[from..end], &c[from..end], &d[from..end]];
        for ((((dose, a), b), c), d) in doses.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let two = add::<FUSED>(of_b, *b, of_a * f32::from(*a));
            let four = add::<FUSED>(of_d, *d, add::<FUSED>(of_c, *c, two));
            *dose += four;
        }
    }
    for (steps, gy) in single_columns {
        doses
            .iter_mut()
            .zip(&steps[from..end])
            .for_each(|(dose, step)| *dose += gy * f32::from(*step));
    }
}

#[inline(always)]
fn add<const FUSED: bool>(gy: f32, steps: i16, to: f32) -> f32 {
    if FUSED {
        gy.mul_add(f32::from(steps), to)
    } else {
        gy * f32::from(steps) + to
    }
}

/// Gradient by fluence, from that by the doses of the rows.
pub fn transposed<'a>(columns: impl Iterator<Item = Column<'a>>, by_dose: &[f32]) -> Vec<f64> {
    by_column(columns, by_dose, false)
        .into_iter()
        .map(|(sum, gy)| sum * gy)
        .collect()
}

/// Sum of the squares of each column, Gy2, weighed by row.
pub fn squares<'a>(columns: impl Iterator<Item = Column<'a>>, weights: &[f32]) -> Vec<f64> {
    by_column(columns, weights, true)
        .into_iter()
        .map(|(sum, gy)| sum * gy * gy)
        .collect()
}

/// Sums over the rows of each column, of its steps or their squares, with the Gy of a step.
fn by_column<'a>(
    columns: impl Iterator<Item = Column<'a>>,
    by_row: &[f32],
    squared: bool,
) -> Vec<(f64, f64)> {
    // Rows that keep to their limits have no slope: a quarter of the lines for a target in a body.
    let lines: Vec<u32> = by_row
        .as_chunks::<LINE>()
        .0
        .iter()
        .enumerate()
        .filter_map(|(n, by)| by.iter().any(|by| *by != 0.0).then_some(n as u32))
        .collect();
    let columns: Vec<Column<'_>> = columns.collect();
    columns
        .par_chunks(TOGETHER)
        .flat_map_iter(|columns| {
            let steps = std::array::from_fn(|n| columns[n.min(columns.len() - 1)].0);
            let sums = sums(&steps, by_row, &lines, squared);
            columns
                .iter()
                .zip(sums)
                .map(|((_, gy), sum)| (sum, f64::from(*gy)))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn sums(
    steps: &[&[i16]; TOGETHER],
    by_row: &[f32],
    lines: &[u32],
    squared: bool,
) -> [f64; TOGETHER] {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    if squared {
        sums_of::<true, FUSED>(steps, by_row, lines)
    } else {
        sums_of::<false, FUSED>(steps, by_row, lines)
    }
}

/// Sums over lines of rows, and the rows behind the last whole line.
#[inline(always)]
fn sums_of<const SQUARED: bool, const FUSED: bool>(
    steps: &[&[i16]; TOGETHER],
    by_row: &[f32],
    lines: &[u32],
) -> [f64; TOGETHER] {
    let (by, _) = by_row.as_chunks::<LANES>();
    let of_columns = steps.map(|steps| steps.as_chunks::<LANES>().0);
    let mut totals = [[0.0_f64; LANES]; TOGETHER];
    // Single precision is summed in short runs alone.
    for lines in lines.chunks(32) {
        let mut sums = [F32x16::ZERO; TOGETHER];
        for line in lines {
            // Vectors of sixteen: loops over two halves of a line are compiled number by number, and a gradient takes 46 ms in place of 10.
            for chunk in [
                LINE / LANES * *line as usize,
                LINE / LANES * *line as usize + 1,
            ] {
                let by = F32xN(by[chunk]);
                for (sum, steps) in sums.iter_mut().zip(of_columns) {
                    *sum = term::<SQUARED>(&steps[chunk]).mul_add::<FUSED>(by, *sum);
                }
            }
        }
        for (totals, sums) in totals.iter_mut().zip(sums) {
            for lane in 0..LANES {
                totals[lane] += f64::from(sums.0[lane]);
            }
        }
    }
    let rows_in_lines = by_row.len() / LINE * LINE;
    for (totals, steps) in totals.iter_mut().zip(steps) {
        for (step, by) in steps[rows_in_lines..].iter().zip(&by_row[rows_in_lines..]) {
            let step = f32::from(*step);
            totals[0] += f64::from(if SQUARED { step * step } else { step } * by);
        }
    }
    totals.map(|lanes| lanes.iter().sum())
}

#[inline(always)]
fn term<const SQUARED: bool>(steps: &[i16; LANES]) -> F32x16 {
    let mut values = F32x16::ZERO;
    for lane in 0..LANES {
        values.0[lane] = f32::from(steps[lane]);
    }
    if SQUARED { values * values } else { values }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns and rows that fill no whole group, rows that nothing is asked of and beamlets without fluence, against the definition.
    #[test]
    fn products_are_those_of_their_definition() {
        let (rows, beamlets) = (5 * 1024 + 77, 11);
        let steps: Vec<i16> = (0..rows * beamlets)
            .map(|n| (n * 7919 % 65_521) as u16 as i16)
            .collect();
        let columns = || {
            steps
                .chunks_exact(rows)
                .enumerate()
                .map(|(n, steps)| (steps, 1e-4 * (1 + n) as f32))
        };
        let by_row: Vec<f32> = (0..rows)
            .map(|n| {
                if n / 100 % 3 == 0 {
                    0.0
                } else {
                    (n * 31 % 17) as f32 - 8.0
                }
            })
            .collect();
        let fluences: Vec<f64> = (0..beamlets).map(|n| (n % 4) as f64 * 0.3).collect();
        let gy = |column: usize, row: usize| {
            1e-4_f32 as f64 * (1 + column) as f64 * f64::from(steps[column * rows + row])
        };
        for (row, got) in doses(columns(), &fluences, &by_row).iter().enumerate() {
            let want: f64 = (0..beamlets).map(|n| gy(n, row) * fluences[n]).sum::<f64>()
                + f64::from(by_row[row]);
            assert!(
                (f64::from(*got) - want).abs() < 1e-4,
                "{row}: {got} for {want}"
            );
        }
        let weights: Vec<f32> = by_row.iter().map(|by| by.abs()).collect();
        let (slopes, squared) = (transposed(columns(), &by_row), squares(columns(), &weights));
        for column in 0..beamlets {
            let sum = |product: &dyn Fn(usize) -> f64| (0..rows).map(product).sum::<f64>();
            let want = sum(&|row| gy(column, row) * f64::from(by_row[row]));
            let magnitude = sum(&|row| gy(column, row).abs() * f64::from(weights[row]));
            assert!(
                (slopes[column] - want).abs() < 1e-6 * magnitude,
                "{column}: {} for {want}",
                slopes[column]
            );
            let want = sum(&|row| gy(column, row).powi(2) * f64::from(weights[row]));
            assert!(
                (squared[column] - want).abs() < 1e-6 * want,
                "{column}: {} for {want}",
                squared[column]
            );
        }
    }
}
