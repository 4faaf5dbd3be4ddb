//! Tails of the DVH as handles: their doses move until the points that are asked for lie where they are asked.

use super::objective::{Aim, Objective};
use super::rows::Rows;

/// The dose of a tail moves by this part of what its point is off by; points closer than this are met, part of the reference dose.
const HANDLE_STEP: f64 = 0.7;
const HANDLE_MET: f64 = 0.002;

/// Moves the dose of each tail towards where the point that is asked for lies on the DVH; whether all points are met.
pub(super) fn move_tails(
    objectives: &mut [Objective],
    rows: &Rows,
    doses: &[f32],
    reference_gy: f64,
) -> bool {
    let near = HANDLE_MET * reference_gy;
    let mut met = true;
    for objective in objectives {
        let (Some([percent, gy]), Some(set)) = (objective.asked, rows.set(&objective.structure)) else {
            continue;
        };
        let at = dose_at(doses, &set.rows, &set.shares(), percent);
        let off = gy - at;
        // A point with room to spare is met; its tail is loosened all the same, in favour of what is not.
        met &= if matches!(objective.aim, Aim::TailMax { .. }) { off > -near } else { off < near };
        let limit = 2.0 * reference_gy;
        objective.gy = (objective.gy + HANDLE_STEP * off).clamp(0.0, limit);
    }
    met
}

/// Dose that the hottest `percent` of a structure get at least.
fn dose_at(doses: &[f32], rows: &[u32], shares: &[f64], percent: f64) -> f64 {
    let mut order: Vec<(f32, f64)> =
        rows.iter().zip(shares).map(|(row, v)| (doses[*row as usize], *v)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = 0.01 * percent;
    for (gy, share) in &order {
        left -= share;
        if left <= 0.0 {
            return f64::from(*gy);
        }
    }
    order.last().map_or(0.0, |(gy, _)| f64::from(*gy))
}
