//! Products of the influence matrix on the CPU.

use rayon::prelude::*;

/// Doses of the rows for fluences of the columns, added to `offset_gy`. The order of the sums does not depend on the threads.
pub fn doses<'a>(columns: impl Iterator<Item = &'a [f32]>, fluences: &[f64], offset_gy: &[f32]) -> Vec<f32> {
    const BLOCK: usize = 1024;
    let used = columns.zip(fluences).filter(|(_, fluence)| **fluence != 0.0);
    let used: Vec<(&[f32], f32)> = used.map(|(column, fluence)| (column, *fluence as f32)).collect();
    let mut doses = offset_gy.to_vec();
    doses.par_chunks_mut(BLOCK).enumerate().for_each(|(block, doses)| {
        let from = block * BLOCK;
        for (column, fluence) in &used {
            doses.iter_mut().zip(&column[from..]).for_each(|(dose, gy)| *dose += fluence * gy);
        }
    });
    doses
}

/// Gradient by fluence, from that by the doses of the rows.
pub fn transposed<'a>(columns: impl Iterator<Item = &'a [f32]>, by_dose: &[f32]) -> Vec<f64> {
    const LANES: usize = 8;
    let product = |column: &[f32]| {
        let mut sums = [0.0_f32; LANES];
        let (whole, rest) = column.as_chunks::<LANES>();
        let (by_whole, by_rest) = by_dose.as_chunks::<LANES>();
        let mut total = 0.0_f64;
        // Single precision is summed in short runs alone.
        for (run, by_run) in whole.chunks(64).zip(by_whole.chunks(64)) {
            sums.fill(0.0);
            for (gy, by) in run.iter().zip(by_run) {
                (0..LANES).for_each(|lane| sums[lane] += gy[lane] * by[lane]);
            }
            total += sums.iter().map(|sum| f64::from(*sum)).sum::<f64>();
        }
        total + rest.iter().zip(by_rest).map(|(gy, by)| f64::from(gy * by)).sum::<f64>()
    };
    let columns: Vec<&[f32]> = columns.collect();
    columns.into_par_iter().map(product).collect()
}
