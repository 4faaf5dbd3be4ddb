//! Arcs: the map of each sector is slid out while the gantry turns through the sector, from one side and from the other in turn, so that
//! leaves go on where the sector before has left them (Craft et al., Med. Phys. 39, 686 (2012)).
//!
//! The gantry slows down where leaves are slow, to two fifths of its speed at the least, and the dose rate with it. Maps stand for the
//! middle of a sector: that its sides see the patient from elsewhere is left to the refinement on the true dose.

use crate::SequenceError;
use crate::adjust::{Segments, set_leaves};
use crate::cut::{limits, machine_of, within_limits};
use crate::field::{Field, jaws_about, pair_tips};
use crate::flatten::{flattened, rises};
use crate::limits::turning_reach_mm;
use crate::parts::MapPart;
use case::{Bank, Beam, ControlPoint, GantryArc, Jaws, Mlc, Plan, bounds, turn_deg};
use physics::Machine;
use std::ops::Range;

/// Degrees between control points, at most.
pub const STEP_DEG: f64 = 2.0;

/// Monitor units of the tips' travel, part of those of the most modulated row: leaves that travel faster than they open would stand first
/// and rush then, and those that travel slower leak. Chosen.
const TRAVEL: f64 = 0.5;

/// A step gives so much at least, MU: with none its leaves would see no dose when they are refined.
const LEAST_STEP_MU: f64 = 0.02;

/// Way of a tip in a step, part of the most.
const REACH: f64 = 0.9;

/// Beginnings of an arc, of which the best is kept: the plan of leaves is no convex problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArcStart {
    /// Whether the first sector is slid out from the positive side.
    pub mirrored: bool,
    /// Part by which fluences may change so that rows rise less.
    pub flattened: f64,
}

impl ArcStart {
    pub const ALL: [Self; 3] = [
        Self {
            mirrored: false,
            flattened: 0.2,
        },
        Self {
            mirrored: true,
            flattened: 0.2,
        },
        Self {
            mirrored: false,
            flattened: 0.4,
        },
    ];
}

/// The arc of a beam; `None` where its gantry stands or turns back, or where collimator or couch turn, too.
pub fn arc_of(beam: &Beam) -> Option<GantryArc> {
    let start = beam.start()?;
    let stands = |point: &ControlPoint| {
        let turns = [
            (point.collimator_deg, start.collimator_deg),
            (point.couch_deg, start.couch_deg),
        ];
        turns
            .iter()
            .all(|(a, b)| turn_deg(*a, *b).abs() < bounds::SAME_DEG)
    };
    beam.arc()
        .filter(|arc| arc.span_deg() >= bounds::SAME_DEG && beam.control_points.iter().all(stands))
}

/// Place of the gantry angle that is nearest to the middle between two control points; `None` where there are no angles.
pub fn nearest_angle([from, to]: [&ControlPoint; 2], angles_deg: &[f64]) -> Option<usize> {
    let middle_deg = from.gantry_deg + 0.5 * turn_deg(from.gantry_deg, to.gantry_deg);
    let off = |n: &usize| turn_deg(angles_deg[*n], middle_deg).abs();
    (0..angles_deg.len()).min_by(|a, b| off(a).total_cmp(&off(b)))
}

/// An arc that delivers each segment from the nearest of some gantry angles: a quick stand-in for the arc, whose dose differs by what the
/// gantry turns meanwhile.
#[must_use]
pub fn from_angles(beam: &Beam, angles_deg: &[f64]) -> Beam {
    let points = beam
        .control_points
        .windows(2)
        .filter(|pair| pair[1].meterset_weight > pair[0].meterset_weight);
    let segment = |pair: &[ControlPoint]| {
        let nearest = nearest_angle([&pair[0], &pair[1]], angles_deg).map(|n| angles_deg[n]);
        [0, 1].map(|n| ControlPoint {
            gantry_deg: nearest.unwrap_or(pair[n].gantry_deg),
            ..pair[n].clone()
        })
    };
    Beam {
        control_points: points.flat_map(segment).collect(),
        ..beam.clone()
    }
}

/// Leaves of an arc for the maps of its sectors, beams in the order of its way.
///
/// # Errors
/// [`SequenceError`].
pub fn arc_leaves(
    plan: &Plan,
    beam: &Beam,
    sectors: &[&Beam],
    start: ArcStart,
) -> Result<Beam, SequenceError> {
    leaves_on(&*machine_of(plan, beam)?, beam, sectors, start)
}

fn leaves_on(
    machine: &Machine,
    beam: &Beam,
    sectors: &[&Beam],
    start: ArcStart,
) -> Result<Beam, SequenceError> {
    let (leaves, delivery) = limits(beam, machine)?;
    let Some(way) = arc_of(beam).filter(|_| !sectors.is_empty()) else {
        return Err(SequenceError::NoMap {
            beam: beam.name.clone(),
        });
    };
    let mut fields = Vec::new();
    for sector in sectors {
        match Field::new(sector, machine) {
            Ok(field) => fields.push(Some(field)),
            Err(SequenceError::Empty { .. }) => fields.push(None),
            Err(why) => return Err(why),
        }
    }
    let pairs = fields
        .iter()
        .flatten()
        .map(Field::pairs)
        .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
    let Some(pairs) = pairs else {
        return Err(SequenceError::Empty {
            beam: beam.name.clone(),
        });
    };
    let steps = (way.span_deg() / STEP_DEG / sectors.len() as f64)
        .ceil()
        .max(1.0) as usize;
    // Angles are rounded.
    let step_deg = way.span_deg() / (steps * sectors.len()) as f64;
    let reach_mm = REACH * turning_reach_mm(step_deg, &delivery);
    // Before the first sector that is irradiated leaves wait closed within its map, where their carriage reaches.
    let middle_mm = fields.iter().flatten().next().map_or(0.0, |field| {
        let [low, high] = field.map.reach_mm()[0];
        0.5 * (low + high)
    });
    let closed_mm = [middle_mm, middle_mm + delivery.min_gap_mm];
    let mut tips: Vec<Vec<Bank>> = Vec::new();
    let mut mu = Vec::new();
    for (n, field) in fields.iter().enumerate() {
        let (sector_tips, sector_mu) = match field {
            Some(field) => {
                let start = ArcStart {
                    mirrored: start.mirrored != (n % 2 == 1),
                    ..start
                };
                slide(
                    field,
                    &pairs,
                    SectorSteps {
                        count: steps,
                        reach_mm,
                    },
                    start,
                )
            }
            // Nothing is asked of a sector in the target's shadow: leaves stay closed where they are.
            None => {
                let last = tips
                    .last()
                    .cloned()
                    .unwrap_or_else(|| vec![closed_mm; pairs.len()]);
                (vec![last; steps + 1], 0.0)
            }
        };
        match tips.last_mut() {
            Some(last) => {
                // Both sectors have closed leaves there, each beside its own map.
                let first = &sector_tips[0];
                last.iter_mut()
                    .zip(first)
                    .for_each(|(a, b)| *a = [0, 1].map(|bank| 0.5 * (a[bank] + b[bank])));
                tips.extend_from_slice(&sector_tips[1..]);
            }
            None => tips = sector_tips,
        }
        mu.extend(vec![(sector_mu / steps as f64).max(LEAST_STEP_MU); steps]);
    }
    follow(&mut tips, reach_mm, delivery.min_gap_mm);
    let begin = &beam.control_points[0];
    let jaws = jaws_of(sectors).unwrap_or(begin.jaws);
    let closed = vec![[0.0, 0.0]; leaves.boundaries_mm.len() - 1];
    let point = |n: usize| ControlPoint {
        gantry_deg: way.at_deg(n as f64 / mu.len() as f64),
        jaws,
        leaves_mm: closed.clone(),
        ..begin.clone()
    };
    let axis = sectors[0]
        .fluence
        .as_ref()
        .map_or(case::MlcAxis::X, |map| map.axis);
    let mut arc = Beam {
        mlc: Some(Mlc {
            axis,
            boundaries_mm: leaves.boundaries_mm.clone(),
        }),
        fluence: None,
        control_points: (0..=mu.len()).map(point).collect(),
        dose_rate_mu_min: Some(delivery.dose_rate_mu_min),
        ..beam.clone()
    };
    let starts: Vec<usize> = (0..mu.len()).collect();
    set_leaves(
        &mut arc,
        pairs,
        &tips,
        Segments {
            starts: &starts,
            mu: &mu,
        },
        &delivery,
    );
    within_limits(arc, machine, &delivery)
}

/// Steps of a sector between control points, and the farthest that a tip goes in one.
#[derive(Clone, Copy)]
struct SectorSteps {
    count: usize,
    reach_mm: f64,
}

/// Tips of the machine's leaves `pairs` at the ends of the steps of a sector, and its monitor units.
fn slide(
    field: &Field<'_>,
    pairs: &Range<usize>,
    steps: SectorSteps,
    start: ArcStart,
) -> (Vec<Vec<Bank>>, f64) {
    // Sectors are delivered whole: an arc turns on meanwhile.
    let part = &MapPart::whole(field.map.columns);
    let mut nodes = field.nodes_mm(part);
    let mut rows = flattened(&field.fluences_mu(), start.flattened);
    if start.mirrored {
        nodes = nodes.iter().rev().map(|mm| -mm).collect();
        rows.iter_mut().for_each(|row| row.reverse());
    }
    let max_rises = rows
        .iter()
        .map(|row| rises(row))
        .fold(f64::MIN_POSITIVE, f64::max);
    let length = nodes[nodes.len() - 1] - nodes[0];
    // Tips at this speed go no farther in a step than they may: they travel while the monitor units of way and rises are given.
    let reachable = (steps.count as f64 * steps.reach_mm - length) / max_rises;
    let travelling = length / (TRAVEL * max_rises);
    let speed = if reachable > 0.0 {
        reachable.min(travelling)
    } else {
        travelling
    };
    let sweep = field.sweep_with_beam(part, nodes, speed, &rows);
    let mu = sweep.mu();
    let map_pairs = field.pairs();
    let mut tips_at_ends = Vec::with_capacity(steps.count + 1);
    for n in 0..=steps.count {
        let mut rows = sweep.at(mu * n as f64 / steps.count as f64);
        if start.mirrored {
            rows.iter_mut()
                .for_each(|[trail, lead]| (*trail, *lead) = (-*lead, -*trail));
        }
        let tips: Vec<Bank> = field
            .separated(&rows)
            .into_iter()
            .map(|row| field.tips_mm(row))
            .collect();
        let tips = pairs
            .clone()
            .map(|pair| pair_tips(pair, &map_pairs, &tips, field.delivery.min_gap_mm));
        tips_at_ends.push(tips.collect());
    }
    (tips_at_ends, mu)
}

/// Lets no tip go farther than `reach_mm` in a step: it takes the middle between the least and the greatest way that do not.
fn follow(tips: &mut [Vec<Bank>], reach_mm: f64, gap_mm: f64) {
    for pair in 0..tips[0].len() {
        for bank in 0..2 {
            let way: Vec<f64> = tips.iter().map(|tips| tips[pair][bank]).collect();
            let lower = greatest_reachable_below(way.iter().copied(), reach_mm);
            let upper = greatest_reachable_below(way.iter().map(|mm| -mm), reach_mm);
            for (n, tips) in tips.iter_mut().enumerate() {
                tips[pair][bank] = 0.5 * (lower[n] - upper[n]);
            }
        }
        // The lesser of two ways that go no farther goes no farther either.
        tips.iter_mut()
            .for_each(|tips| tips[pair][0] = tips[pair][0].min(tips[pair][1] - gap_mm));
    }
}

/// The greatest way below `way` that goes no farther than `reach_mm` in a step.
fn greatest_reachable_below(way: impl Iterator<Item = f64>, reach_mm: f64) -> Vec<f64> {
    let mut reachable: Vec<f64> = way.collect();
    for n in 1..reachable.len() {
        reachable[n] = reachable[n].min(reachable[n - 1] + reach_mm);
    }
    for n in (1..reachable.len()).rev() {
        reachable[n - 1] = reachable[n - 1].min(reachable[n] + reach_mm);
    }
    reachable
}

/// Jaws that enclose the maps of all sectors, within the jaws of their beams.
fn jaws_of(sectors: &[&Beam]) -> Option<Jaws> {
    let jaws = sectors
        .iter()
        .filter_map(|sector| Some(jaws_about(sector.start()?.jaws, sector.fluence.as_ref()?)));
    jaws.reduce(|a, b| Jaws {
        x: union(a.x, b.x),
        y: union(a.y, b.y),
    })
}

fn union(a: Bank, b: Bank) -> Bank {
    [a[0].min(b[0]), a[1].max(b[1])]
}

#[cfg(test)]
mod tests;
