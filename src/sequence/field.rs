//! A map on the leaves of a machine: what the sweep is asked for, and the machine's tips for those of ideal leaves.

use crate::SequenceError;
use crate::cut::limits;
use crate::parts::MapPart;
use crate::sweep::{Sweep, beside};
use case::{Bank, Beam, ControlPoint, CutFrom, FluenceMap, Jaws, Mlc};
use physics::{Delivery, Machine};
use std::ops::Range;

/// Leaf speed that sequences use, part of the most: positions are rounded.
const SPEED_PART: f64 = 0.99;

/// Beyond the map, under the jaws, leaves open as wide as its last columns for so far, mm: the edge of the field is the jaw's.
const BEYOND_MM: f64 = 5.0;

/// Positions of tips are given to so many parts of a millimetre: a DICOM file holds them to the bit.
const PARTS_OF_MM: f64 = 1e3;

/// A position as files hold it, mm.
pub fn rounded(mm: f64) -> f64 {
    (mm * PARTS_OF_MM).round() / PARTS_OF_MM
}

/// Tips as files hold them, no nearer to each other than they may be, mm.
pub fn stated([low, high]: Bank, gap_mm: f64) -> Bank {
    let high = rounded(high);
    [rounded(low).min(rounded(high - gap_mm)), high]
}

/// Cumulative part of the monitor units as files hold it: six digits are exact there.
pub fn stated_weight(given_mu: f64, whole_mu: f64) -> f64 {
    (1e6 * given_mu / whole_mu).round() / 1e6
}

/// Tips of a leaf pair for those of the pairs `own`: a pair beside them is closed and follows the nearest one.
pub fn of_pair(pair: usize, own: &Range<usize>, tips: &[Bank], gap_mm: f64) -> Bank {
    let [low, high] = tips[pair.clamp(own.start, own.end - 1) - own.start];
    if own.contains(&pair) { [low, high] } else { [low, low + gap_mm] }
}

/// Jaws of a beam about its map: nothing passes beside a map, and jaws that are wider close to it.
pub fn jaws_about(own: Jaws, map: &FluenceMap) -> Jaws {
    let map = map.jaws();
    let within = |own: [f64; 2], map: [f64; 2]| [own[0].max(map[0]), own[1].min(map[1])];
    Jaws { x: within(own.x, map.x), y: within(own.y, map.y) }
}

/// Sides of leaves that differ by less are the same, mm.
const SAME_SIDE_MM: f64 = 1e-3;

/// The leaf pair of a map's first row, by the sides of the leaves.
pub fn first_pair(map: &FluenceMap, sides_mm: &[f64]) -> usize {
    sides_mm.partition_point(|side| *side < map.rows_mm[0] - SAME_SIDE_MM)
}

/// Least gap between ideal tips, mm: rounded ends let through more than their gap.
fn ideal_gap_mm(delivery: &Delivery, retreat_mm: f64) -> f64 {
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
            return Err(SequenceError::Beam { beam: name(), why: why.to_string() });
        }
        let Some(map) = &beam.fluence else { return Err(SequenceError::NoMap { beam: name() }) };
        let (leaves, delivery) = limits(beam, machine)?;
        if beam.mu <= 0.0 || map.values.iter().all(|value| *value <= 0.0) {
            return Err(SequenceError::Empty { beam: name() });
        }
        let sides = &leaves.boundaries_mm;
        let first_pair = first_pair(map, sides);
        let own = sides.get(first_pair..first_pair + map.rows_mm.len());
        let same = |own: &[f64]| own.iter().zip(&map.rows_mm).all(|(a, b)| (a - b).abs() < SAME_SIDE_MM);
        if !own.is_some_and(same) {
            return Err(SequenceError::Rows { beam: name(), machine: machine.name.clone() });
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
        let most_mm = widest_map_mm(self.machine)?;
        let parts = MapPart::all_of(self.map.columns, self.map.step_mm, most_mm)?;
        (parts.len() > 1).then(|| Self { parts, ..self.clone() })
    }

    /// Fluence that each beamlet asks for, `[row][column]`, MU of an open field.
    pub fn asked(&self) -> Vec<Vec<f64>> {
        let row = |values: &[f32]| values.iter().map(|value| self.beam.mu * f64::from(*value)).collect();
        self.map.values.chunks(self.map.columns).map(row).collect()
    }

    /// Speed of tips at the full dose rate, mm a monitor unit.
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
        start.into_iter().chain(columns).chain([high, high + BEYOND_MM, high + closed]).collect()
    }

    /// Fluence of the cells between the nodes for that of a row's columns in a part, and for that of the outermost cells.
    pub fn cells(&self, part: &MapPart, row: &[f64], outermost: f64) -> Vec<f64> {
        // Where the map goes on, what lies beside the part is another's.
        let end = |side: usize, column: usize| if part.ends_at_jaws[side] { row[column] } else { outermost };
        let [first, last] = [end(0, 0), end(1, row.len() - 1)];
        [outermost, first].into_iter().chain(row.iter().copied()).chain([last, outermost]).collect()
    }

    /// Sweeps of the rows' cells from node to node, side by side, and behind their neighbours where the machine asks for that.
    pub fn sweep(&self, part: &MapPart, nodes_mm: Vec<f64>, speed_mm_mu: f64, cells: &[Vec<f64>]) -> Sweep {
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

    /// Sweeps with the beam on for the fluences of the rows' columns: tips at their least distance let through what they do.
    pub fn sweep_with_beam(
        &self,
        part: &MapPart,
        nodes_mm: Vec<f64>,
        speed_mm_mu: f64,
        fluences: &[Vec<f64>],
    ) -> Sweep {
        let least = self.gap_mm() / speed_mm_mu;
        let row =
            |row: &Vec<f64>| self.cells(part, &row.iter().map(|mu| mu.max(least)).collect::<Vec<_>>(), least);
        self.sweep(part, nodes_mm, speed_mm_mu, &fluences.iter().map(row).collect::<Vec<_>>())
    }

    /// Ideal tips of the map's rows, trailing and leading, held back until the gaps are those of the machine.
    pub fn held_apart(&self, tips: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let apart = |row: usize| {
            let own = tips[row][1] - self.gap_mm();
            let neighbours = beside(row, tips.len()).filter(|_| !self.delivery.interdigitates);
            let nearest = neighbours.map(|row| tips[row][1] - self.gap_mm()).fold(own, f64::min);
            [tips[row][0].min(nearest), tips[row][1]]
        };
        (0..tips.len()).map(apart).collect()
    }

    /// Leaf pairs of the map's rows.
    pub fn pairs(&self) -> Range<usize> {
        self.first_pair..self.first_pair + self.map.rows()
    }

    /// Tips of a rounded pair for those of an ideal one.
    pub fn tips_mm(&self, [trail, lead]: [f64; 2]) -> Bank {
        [trail + self.retreat_mm, lead - self.retreat_mm]
    }

    /// Tips of all pairs of the machine for ideal tips of the map's rows; pairs beside the map are closed and follow the nearest row.
    pub fn leaves_mm(&self, rows: &[[f64; 2]]) -> Vec<Bank> {
        let (own, gap_mm) = (self.pairs(), self.delivery.min_gap_mm);
        let tips: Vec<Bank> = rows.iter().map(|row| self.tips_mm(*row)).collect();
        let leaf = |pair: usize| stated(of_pair(pair, &own, &tips, gap_mm), gap_mm);
        (0..self.leaf_sides_mm.len() - 1).map(leaf).collect()
    }

    /// The beam with leaves in place of its map. `points` are cumulative monitor units and ideal tips of the map's rows.
    pub fn beam_of(&self, points: &[(f64, Vec<[f64; 2]>)]) -> Beam {
        let mu = points.last().map_or(0.0, |(mu, _)| *mu);
        let mut start = self.beam.control_points[0].clone();
        start.jaws = jaws_about(start.jaws, self.map);
        let point = |(n, (at, rows)): (usize, &(f64, Vec<[f64; 2]>))| ControlPoint {
            meterset_weight: if n + 1 == points.len() { 1.0 } else { stated_weight(*at, mu) },
            leaves_mm: self.leaves_mm(rows),
            ..start.clone()
        };
        Beam {
            mu,
            mlc: Some(Mlc { axis: self.map.axis, boundaries_mm: self.leaf_sides_mm.to_vec() }),
            fluence: None,
            fluence_limits: Vec::new(),
            cut_from: Some(Box::new(CutFrom {
                map: self.map.clone(),
                mu: self.beam.mu,
                limits: self.beam.fluence_limits.clone(),
            })),
            control_points: points.iter().enumerate().map(point).collect(),
            // Leaves are as fast as this rate asks for.
            dose_rate_mu_min: Some(self.delivery.dose_rate_mu_min),
            ..self.beam.clone()
        }
    }
}
