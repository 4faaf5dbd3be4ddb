//! DVHs of several structures, and their curves as a table.

use super::{Dvh, DvhError, Isodoses, mask_of};
use case::{Dose, Structure};
use engine::{Cancelled, JobControl};
use files::csv_cell;
use geometry::Grid;
use std::fmt::Write as _;
use std::sync::Arc;

/// A structure with its DVH, or why it has none.
pub type StructureDvh<'a> = (&'a Structure, Result<Dvh, DvhError>);

/// The DVHs of structures in a dose; `grid` has the voxels whose covered share is counted.
///
/// # Errors
/// [`Cancelled`].
pub fn dvhs_of<'a>(
    structures: impl IntoIterator<Item = &'a Structure>,
    grid: &Arc<Grid>,
    dose: &Dose,
    control: &JobControl,
) -> Result<Vec<StructureDvh<'a>>, Cancelled> {
    let mut dvhs = Vec::new();
    let isodoses = Arc::new(Isodoses::count(&dose.gy, control)?);
    for structure in structures {
        control.check()?;
        let mask = mask_of(grid, structure, control).map_err(DvhError::from);
        let dvh = mask.and_then(|mask| Dvh::new(&mask, &dose.gy, control));
        let dvh = dvh.map(|dvh| {
            dvh.with_isodoses(Arc::clone(&isodoses))
                .of_structure(structure)
        });
        control.check()?;
        dvhs.push((structure, dvh));
    }
    Ok(dvhs)
}

/// Greatest step of a table's doses, Gy.
const STEP_GY: f64 = 0.1;

/// The number of rows that is enough for a curve.
const ENOUGH_ROWS: f64 = 400.0;

/// The curves of named structures as CSV, a row each 0.1 Gy or finer: cumulative in percent and in cm3,
/// differential in percent a Gy over the step that begins at the row's dose. `status_text` is the status of the
/// dose; the remarks on a curve stand in its heading.
pub fn dvh_csv(status_text: &str, dvhs: &[(&str, &Dvh)]) -> String {
    let max_gy = dvhs.iter().map(|(_, dvh)| dvh.max_gy()).fold(0.0, f64::max);
    let mut steps = (0..9).map(|n| STEP_GY * [1.0, 0.5, 0.2][n % 3] * 0.1_f64.powi(n as i32 / 3));
    // The step is 1, 2 or 5 times a power of ten.
    let step_gy = steps
        .clone()
        .find(|step| max_gy / step >= ENOUGH_ROWS)
        .or(steps.next_back())
        .unwrap_or(STEP_GY);
    let digits = (-step_gy.log10()).ceil().max(1.0) as usize;
    let mut heads = vec![format!("dose (Gy), {status_text}")];
    for unit in ["%", "cm3", "% per Gy"] {
        heads.extend(dvhs.iter().map(|(name, dvh)| {
            let remarks = dvh
                .remarks()
                .into_iter()
                .map(|remark| format!("; {remark}"))
                .collect::<String>();
            format!("{name} ({unit}){remarks}")
        }));
    }
    let mut text = heads
        .iter()
        .map(|head| csv_cell(head))
        .collect::<Vec<_>>()
        .join(",")
        + "\n";
    let rows = (max_gy / step_gy).ceil().clamp(0.0, 1e5) as u32 + 1;
    for row in 0..=rows {
        let [low, high] = [row, row + 1].map(|row| f64::from(row) * step_gy);
        let _ = write!(text, "{low:.digits$}");
        dvhs.iter()
            .for_each(|(_, dvh)| _ = write!(text, ",{:.3}", dvh.percent_at(low)));
        dvhs.iter()
            .for_each(|(_, dvh)| _ = write!(text, ",{:.4}", dvh.cm3_at(low)));
        for (_, dvh) in dvhs {
            let _ = write!(
                text,
                ",{:.4}",
                (dvh.percent_at(low) - dvh.percent_at(high)) / (high - low)
            );
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::metric::tests::ramp;
    use super::*;

    #[test]
    fn a_table_holds_both_curves_and_what_the_dose_is_worth() {
        let dvh = ramp();
        let text = dvh_csv("coarse", &[("A", &dvh), ("=B, left", &dvh)]);
        let mut lines = text.lines();
        assert_eq!(
            lines.next().unwrap(),
            "\"dose (Gy), coarse\",A (%),\"'=B, left (%)\",A (cm3),\"'=B, left (cm3)\",A (% per Gy),\"'=B, left (% per Gy)\""
        );
        let rows: Vec<Vec<f64>> = lines
            .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
            .collect();
        // Up to 9.95 Gy: 0.02 Gy apart, of 10 % a Gy.
        assert_eq!((rows[0][0], rows[1][0], rows.len()), (0.0, 0.02, 500));
        let row = rows.iter().find(|row| row[0] == 4.0).unwrap();
        assert!(
            (row[1] - 60.0).abs() < 1.1 && (row[3] - 24.0).abs() < 0.5,
            "{row:?}"
        );
        let area: f64 = rows.iter().map(|row| 0.02 * row[5]).sum();
        assert!((area - 100.0).abs() < 0.01, "{area}");
    }
}
