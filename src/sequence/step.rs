//! Step and shoot: segments of a one-way sweep whose leaves move while the beam is off.

use crate::field::Field;
use crate::figures::open_cm2;
use crate::parts::MapPart;
use case::Beam;

/// Segments of less are dropped: their output is uncertain (as planning systems have them; chosen).
pub const LEAST_CM2: f64 = 4.0;
pub const LEAST_MU: f64 = 2.0;

/// Levels of fluence. Chosen: a dozen segments a field, whose leaves the refinement on the true dose moves.
const LEVELS: u32 = 10;

/// Segments of a field where few are wanted: 25 to 45 of a plan of five to nine fields. Chosen.
pub const FEW_SEGMENTS: usize = 5;

/// Segments for fluences, `[row][column]` in MU of an open field, rounded to [`LEVELS`]; `None` where all are too small.
pub fn step_and_shoot(field: &Field<'_>, fluences: &[Vec<f64>]) -> Option<Beam> {
    segments_by_levels(field, fluences, LEVELS)
}

/// Segments by as many levels as need [`FEW_SEGMENTS`] at most, else by one; `None` where all are too small.
pub fn few_segments(field: &Field<'_>, fluences: &[Vec<f64>]) -> Option<Beam> {
    let by_levels = (1..=LEVELS).rev();
    let mut beams = by_levels.filter_map(|count| segments_by_levels(field, fluences, count));
    let mut last = beams.next()?;
    while last.control_points.len() > 2 * FEW_SEGMENTS {
        let Some(fewer) = beams.next() else { break };
        last = fewer;
    }
    Some(last)
}

fn segments_by_levels(field: &Field<'_>, fluences: &[Vec<f64>], level_count: u32) -> Option<Beam> {
    let max_fluence = fluences.iter().flatten().copied().fold(0.0, f64::max);
    let unit = max_fluence / f64::from(level_count);
    if unit <= 0.0 {
        return None;
    }
    let mut segments: Vec<(f64, Vec<[f64; 2]>)> = Vec::new();
    for part in &field.parts {
        let nodes = field.nodes_mm(part);
        let mut levels = part.share_of(fluences);
        levels
            .iter_mut()
            .flatten()
            .for_each(|mu| *mu = (*mu / unit).round());
        let rows: Vec<Vec<f64>> = levels
            .iter()
            .map(|row| field.cells(part, row, 0.0))
            .collect();
        let sweep = field.sweep(part, nodes.clone(), f64::INFINITY, &rows);
        for n in 0..sweep.mu().round() as usize {
            let tips = closed_under_jaws(field, part, sweep.at(n as f64 + 0.5), &nodes);
            let tips = field.separated(&tips);
            match segments.last_mut() {
                Some((mu, last)) if *last == tips => *mu += unit,
                _ => segments.push((unit, tips)),
            }
        }
    }
    segments.retain(|(mu, tips)| {
        let start = &field.beam.control_points[0];
        let segment = field.beam_of(&[(*mu, tips.clone())]);
        *mu >= LEAST_MU
            && open_cm2(&segment, &segment.control_points[0].leaves_mm, start.jaws) >= LEAST_CM2
    });
    let mut points = Vec::new();
    let mut delivered_mu = 0.0;
    for (mu, tips) in segments {
        points.push((delivered_mu, tips.clone()));
        delivered_mu = (1e3 * (delivered_mu + mu)).round() / 1e3;
        points.push((delivered_mu, tips));
    }
    (!points.is_empty()).then(|| field.beam_of(&points))
}

/// Moves closed pairs under the nearer jaw where leaves may interdigitate, within the span of the carriage: tips that meet in the field
/// leak.
fn closed_under_jaws(
    field: &Field<'_>,
    part: &MapPart,
    mut tips: Vec<[f64; 2]>,
    nodes_mm: &[f64],
) -> Vec<[f64; 2]> {
    let (low, high, gap) = (nodes_mm[0], nodes_mm[nodes_mm.len() - 1], field.gap_mm());
    // Trailing tips of closed pairs, so that either bank keeps within its span.
    let mut room = [low, high - gap];
    for open in tips.iter().filter(|[trail, lead]| trail < lead) {
        for tip_mm in [open[0], open[1] - gap] {
            let span_mm = field.delivery.max_span_mm;
            room = [room[0].max(tip_mm - span_mm), room[1].min(tip_mm + span_mm)];
        }
    }
    for pair in tips.iter_mut().filter(|[trail, lead]| trail >= lead) {
        let trail = match (field.delivery.interdigitates, part.ends_at_jaws) {
            (false, _) => pair[0],
            (true, [true, false]) => room[0],
            (true, [false, true]) => room[1],
            (true, _) if pair[0] > 0.5 * (low + high) => room[1],
            (true, _) => room[0],
        };
        *pair = [trail, trail + gap];
    }
    tips
}
