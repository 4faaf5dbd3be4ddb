//! A fluence map on the leaves of a machine: fluences that the sweep is to deliver, and positions of rounded tips for ideal ones.

use crate::SequenceError;
use crate::cut::limits;
use crate::parts::MapPart;
use crate::rate::sliding_rate_mu_min;
use crate::sweep::{Sweep, adjacent_rows};
use case::{Bank, Beam, ControlPoint, CutFrom, FluenceMap, Jaws, Mlc};
use physics::{Delivery, Machine};
use std::ops::Range;

/// Leaf speed that sequences use, part of the most: positions are rounded.
const SPEED_PART: f64 = 0.99;

/// Distance beyond the map, under the jaws, over which leaves open as wide as its last columns, mm: the jaw makes the field's edge.
const BEYOND_MM: f64 = 5.0;

/// Steps of a tip's position in a millimetre: a DICOM file holds them to the bit.
const PARTS_OF_MM: f64 = 1e3;

/// A position as files hold it, mm.
pub fn rounded(mm: f64) -> f64 {
    (mm * PARTS_OF_MM).round() / PARTS_OF_MM
}

/// Tips as files hold them, at least `gap_mm` apart.
pub fn rounded_tips([low, high]: Bank, gap_mm: f64) -> Bank {
    let high = rounded(high);
    [rounded(low).min(rounded(high - gap_mm)), high]
}

/// Cumulative meterset weight as files hold it: six digits are exact there.
pub fn meterset_weight(delivered_mu: f64, total_mu: f64) -> f64 {
    (1e6 * delivered_mu / total_mu).round() / 1e6
}

/// Tips of a leaf pair of the machine, given the tips of the pairs that the map covers: a pair beside the map is closed and follows the
/// nearest one.
pub fn pair_tips(pair: usize, map_pairs: &Range<usize>, tips: &[Bank], gap_mm: f64) -> Bank {
    let [low, high] = tips[pair.clamp(map_pairs.start, map_pairs.end - 1) - map_pairs.start];
    if map_pairs.contains(&pair) {
        [low, high]
    } else {
        [low, low + gap_mm]
    }
}

/// Jaws of a beam, closed to its map where they are wider: nothing is delivered beside a map.
pub fn jaws_about(jaws: Jaws, map: &FluenceMap) -> Jaws {
    let map = map.jaws();
    Jaws {
        x: intersection(jaws.x, map.x),
        y: intersection(jaws.y, map.y),
    }
}

fn intersection(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].max(b[0]), a[1].min(b[1])]
}

/// Sides of leaves that differ by less are the same, mm.
const SAME_SIDE_MM: f64 = 1e-3;

fn are_same_sides(a_mm: &[f64], b_mm: &[f64]) -> bool {
    a_mm.iter()
        .zip(b_mm)
        .all(|(a, b)| (a - b).abs() < SAME_SIDE_MM)
}

/// The leaf pair of a map's first row, by the sides of the leaves.
pub fn first_pair(map: &FluenceMap, sides_mm: &[f64]) -> usize {
    sides_mm.partition_point(|side| *side < map.rows_mm[0] - SAME_SIDE_MM)
}

/// Least gap between ideal tips, mm: rounded ends let through more than their gap.
pub fn ideal_gap_mm(delivery: &Delivery, retreat_mm: f64) -> f64 {
    delivery.min_gap_mm + 2.0 * retreat_mm
}

/// The widest map that leaves sweep from one place of their carriage, mm; less than 0 where there is none. `None` for a machine without
/// leaves or limits.
pub fn widest_map_mm(machine: &Machine) -> Option<f64> {
    let (leaves, delivery) = (machine.leaves.as_ref()?, machine.delivery.as_ref()?);
    let gap_mm = ideal_gap_mm(delivery, leaves.end_retreat_mm(machine.sad_mm));
    Some(delivery.max_span_mm - 2.0 * (BEYOND_MM + gap_mm))
}

/// A beam with its map, and the leaves that are to deliver it.
#[derive(Clone)]
pub struct Field<'a> {
    pub beam: &'a Beam,
    pub machine: &'a Machine,
    pub map: &'a FluenceMap,
    pub delivery: Delivery,
    /// Parts that are delivered one after the other: the whole map, unless it is [`Self::split`].
    pub parts: Vec<MapPart>,
    /// Part of the primary that a leaf lets through.
    pub transmission: f64,
    leaf_sides_mm: &'a [f64],
    /// The leaf pair of the map's first row.
    first_pair: usize,
    /// An ideal leaf's end lies so far behind the tip of a rounded one, mm.
    retreat_mm: f64,
}

impl<'a> Field<'a> {
    pub fn new(beam: &'a Beam, machine: &'a Machine) -> Result<Self, SequenceError> {
        let name = || beam.name.clone();
        if let Some(why) = beam.fault() {
            return Err(SequenceError::Beam {
                beam: name(),
                why: why.to_string(),
            });
        }
        let Some(map) = &beam.fluence else {
            return Err(SequenceError::NoMap { beam: name() });
        };
        let (leaves, delivery) = limits(beam, machine)?;
        if beam.mu <= 0.0 || map.values.iter().all(|value| *value <= 0.0) {
            return Err(SequenceError::Empty { beam: name() });
        }
        let sides = &leaves.boundaries_mm;
        let first_pair = first_pair(map, sides);
        let map_sides = sides.get(first_pair..first_pair + map.rows_mm.len());
        if !map_sides.is_some_and(|leaves| are_same_sides(leaves, &map.rows_mm)) {
            return Err(SequenceError::Rows {
                beam: name(),
                machine: machine.name.clone(),
            });
        }
        Ok(Self {
            beam,
            machine,
            map,
            delivery,
            parts: vec![MapPart::whole(map.columns)],
            transmission: leaves.transmission,
            leaf_sides_mm: sides,
            first_pair,
            retreat_mm: leaves.end_retreat_mm(machine.sad_mm),
        })
    }

    /// The same map in parts that the carriage holds; `None` where it holds the whole, or none.
    pub fn split(&self) -> Option<Self> {
        let max_width_mm = widest_map_mm(self.machine)?;
        let parts = MapPart::split(self.map.columns, self.map.step_mm, max_width_mm)?;
        (parts.len() > 1).then(|| Self {
            parts,
            ..self.clone()
        })
    }

    /// Fluence of each beamlet, `[row][column]`, MU of an open field.
    pub fn fluences_mu(&self) -> Vec<Vec<f64>> {
        let fluences: Vec<f64> = self
            .map
            .values
            .iter()
            .map(|value| self.beam.mu * f64::from(*value))
            .collect();
        fluences
            .chunks(self.map.columns)
            .map(<[f64]>::to_vec)
            .collect()
    }

    /// The field at the dose rate of a sliding window, unless its beam is set to one.
    #[must_use]
    pub fn at_sliding_rate(mut self) -> Self {
        let sides = (0..=self.map.columns).map(|n| self.map.first_mm + n as f64 * self.map.step_mm);
        // Leaves that need no time to travel wait for the rises alone.
        let rises_mu = Sweep::new(sides.collect(), f64::INFINITY, &self.fluences_mu()).mu();
        let width_mm = self.map.columns as f64 * self.map.step_mm;
        self.delivery = match self.beam.dose_rate_mu_min {
            Some(_) => self.delivery.at_rate_of(self.beam),
            None => Delivery {
                dose_rate_mu_min: sliding_rate_mu_min(rises_mu, width_mm, &self.delivery),
                ..self.delivery
            },
        };
        self
    }

    /// Speed of tips at the dose rate, mm a monitor unit.
    pub fn speed_mm_mu(&self) -> f64 {
        SPEED_PART * self.delivery.leaf_speed_mm_s * 60.0 / self.delivery.dose_rate_mu_min
    }

    /// Least gap between ideal tips, mm.
    pub fn gap_mm(&self) -> f64 {
        ideal_gap_mm(&self.delivery, self.retreat_mm)
    }

    /// Nodes of the sweep beside a part and at the sides of its columns; closed leaves stand in the outermost cells.
    pub fn nodes_mm(&self, part: &MapPart) -> Vec<f64> {
        let side = |n: usize| self.map.first_mm + n as f64 * self.map.step_mm;
        let [low, high] = [part.columns.start, part.columns.end].map(side);
        let closed = BEYOND_MM + self.gap_mm();
        let columns = (part.columns.start + 1..part.columns.end).map(side);
        let start = [low - closed, low - BEYOND_MM, low];
        start
            .into_iter()
            .chain(columns)
            .chain([high, high + BEYOND_MM, high + closed])
            .collect()
    }

    /// Pads the columns of a row in a part with the outermost cells of the sweep, in which closed leaves stand.
    pub fn cells(&self, part: &MapPart, row: &[f64], outermost: f64) -> Vec<f64> {
        // Where the map goes on, the neighbouring part delivers the cell beside this one.
        let end = |side: usize, column: usize| {
            if part.ends_at_jaws[side] {
                row[column]
            } else {
                outermost
            }
        };
        let [first, last] = [end(0, 0), end(1, row.len() - 1)];
        [outermost, first]
            .into_iter()
            .chain(row.iter().copied())
            .chain([last, outermost])
            .collect()
    }

    /// Sweeps of the rows' cells from node to node, side by side, and behind their neighbours where the machine asks for that.
    pub fn sweep(
        &self,
        part: &MapPart,
        nodes_mm: Vec<f64>,
        speed_mm_mu: f64,
        cells: &[Vec<f64>],
    ) -> Sweep {
        let mut sweep = Sweep::new(nodes_mm, speed_mm_mu, cells);
        // Closed leaves leak between their tips: they wait under the jaws.
        match part.ends_at_jaws {
            [true, false] => sweep.end_together(),
            [false, true] => {}
            _ => sweep.start_side_by_side(),
        }
        if !self.delivery.interdigitates {
            sweep.keep_behind_neighbours();
        }
        sweep
    }

    /// Sweeps with the beam on. No cell gets less than tips at their least distance let through.
    pub fn sweep_with_beam(
        &self,
        part: &MapPart,
        nodes_mm: Vec<f64>,
        speed_mm_mu: f64,
        fluences: &[Vec<f64>],
    ) -> Sweep {
        let min_fluence = self.gap_mm() / speed_mm_mu;
        let mut fluences = fluences.to_vec();
        fluences
            .iter_mut()
            .flatten()
            .for_each(|mu| *mu = mu.max(min_fluence));
        let cells: Vec<Vec<f64>> = fluences
            .iter()
            .map(|row| self.cells(part, row, min_fluence))
            .collect();
        self.sweep(part, nodes_mm, speed_mm_mu, &cells)
    }

    /// Ideal tips of the map's rows, trailing and leading; trailing tips wait until the gaps are those of the machine.
    pub fn separated(&self, tips: &[[f64; 2]]) -> Vec<[f64; 2]> {
        (0..tips.len())
            .map(|row| {
                [
                    tips[row][0].min(self.trailing_limit_mm(tips, row)),
                    tips[row][1],
                ]
            })
            .collect()
    }

    /// The farthest position of the trailing tip of a row behind its own leading tip, and behind the neighbours' where leaves may not pass
    /// each other.
    fn trailing_limit_mm(&self, tips: &[[f64; 2]], row: usize) -> f64 {
        let neighbours = adjacent_rows(row, tips.len()).filter(|_| !self.delivery.interdigitates);
        neighbours
            .chain([row])
            .map(|row| tips[row][1] - self.gap_mm())
            .fold(f64::INFINITY, f64::min)
    }

    /// Leaf pairs of the map's rows.
    pub fn pairs(&self) -> Range<usize> {
        self.first_pair..self.first_pair + self.map.rows()
    }

    /// Tips of a rounded pair, given ideal ones.
    pub fn tips_mm(&self, [trail, lead]: [f64; 2]) -> Bank {
        [trail + self.retreat_mm, lead - self.retreat_mm]
    }

    /// Tips of all pairs of the machine for ideal tips of the map's rows; pairs beside the map are closed and follow the nearest row.
    pub fn leaves_mm(&self, rows: &[[f64; 2]]) -> Vec<Bank> {
        let (map_pairs, gap_mm) = (self.pairs(), self.delivery.min_gap_mm);
        let tips: Vec<Bank> = rows.iter().map(|row| self.tips_mm(*row)).collect();
        (0..self.leaf_sides_mm.len() - 1)
            .map(|pair| rounded_tips(pair_tips(pair, &map_pairs, &tips, gap_mm), gap_mm))
            .collect()
    }

    /// The beam with leaves in place of its map. `points` are cumulative monitor units and ideal tips of the map's rows.
    pub fn beam_of(&self, points: &[(f64, Vec<[f64; 2]>)]) -> Beam {
        let mu = points.last().map_or(0.0, |(mu, _)| *mu);
        let mut start = self.beam.control_points[0].clone();
        start.jaws = jaws_about(start.jaws, self.map);
        let control_points =
            points
                .iter()
                .enumerate()
                .map(|(n, (delivered_mu, rows))| ControlPoint {
                    meterset_weight: if n + 1 == points.len() {
                        1.0
                    } else {
                        meterset_weight(*delivered_mu, mu)
                    },
                    leaves_mm: self.leaves_mm(rows),
                    ..start.clone()
                });
        Beam {
            mu,
            mlc: Some(Mlc {
                axis: self.map.axis,
                boundaries_mm: self.leaf_sides_mm.to_vec(),
            }),
            fluence: None,
            fluence_limits: Vec::new(),
            cut_from: Some(Box::new(CutFrom {
                map: self.map.clone(),
                mu: self.beam.mu,
                limits: self.beam.fluence_limits.clone(),
            })),
            control_points: control_points.collect(),
            // Leaves are as fast as this rate asks for.
            dose_rate_mu_min: Some(self.delivery.dose_rate_mu_min),
            ..self.beam.clone()
        }
    }
}
