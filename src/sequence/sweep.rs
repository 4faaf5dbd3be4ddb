//! One-way sweeps of ideal leaf pairs: sharp ends that let nothing through.
//!
//! Both tips of a pair travel from the first node to the last at one speed, and wait at nodes alone. A point of the cell between two
//! nodes is open from the passage of the leading tip to that of the trailing one, so the cell's fluence is the difference of their
//! departures from its first node: where fluence rises from cell to cell the trailing tip waits, where it falls the leading one does.

/// Sweeps of the leaf pairs of a field, in monitor units and mm at the isocentre plane.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Sides of the cells, ascending: cells + 1.
    nodes_mm: Vec<f64>,
    /// Speed of the tips, mm a monitor unit; infinite where leaves move while the beam is off.
    speed_mm_mu: f64,
    pairs: Vec<Pair>,
}

/// Departures of a pair's tips from the first node of each cell, MU.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    lead: Vec<f64>,
    trail: Vec<f64>,
}

/// Departures that differ by less are equal, MU.
const SAME_MU: f64 = 1e-9;

impl Sweep {
    /// Sweeps that give each cell of each pair its fluence, `[pair][cell]` in MU, in the least monitor units: travel at full speed and
    /// the sum of the rises.
    pub fn new(nodes_mm: Vec<f64>, speed_mm_mu: f64, fluences: &[Vec<f64>]) -> Self {
        let mut sweep = Self {
            nodes_mm,
            speed_mm_mu,
            pairs: Vec::new(),
        };
        sweep.pairs = fluences.iter().map(|fluence| sweep.pair(fluence)).collect();
        sweep
    }

    fn pair(&self, fluence: &[f64]) -> Pair {
        let (mut lead, mut trail) = (vec![0.0], vec![fluence[0]]);
        for n in 1..fluence.len() {
            let rise = fluence[n] - fluence[n - 1];
            lead.push(lead[n - 1] + self.passage(n - 1) + (-rise).max(0.0));
            trail.push(trail[n - 1] + self.passage(n - 1) + rise.max(0.0));
        }
        Pair { lead, trail }
    }

    /// Monitor units until the last trailing tip has arrived.
    pub fn mu(&self) -> f64 {
        self.pairs
            .iter()
            .map(|pair| self.end(pair))
            .fold(0.0, f64::max)
    }

    fn end(&self, pair: &Pair) -> f64 {
        pair.trail.last().copied().unwrap_or_default() + self.passage(pair.trail.len() - 1)
    }

    fn passage(&self, cell: usize) -> f64 {
        (self.nodes_mm[cell + 1] - self.nodes_mm[cell]) / self.speed_mm_mu
    }

    /// Lets pairs that need fewer monitor units start later, so that all openings travel side by side as nearly as that allows: where
    /// neighbours are open at the same time, tongues and grooves shade less (van Santvoort and Heijmen, Phys. Med. Biol. 41, 2091 (1996)).
    pub fn start_side_by_side(&mut self) {
        let mu = self.mu();
        let slowest = self
            .pairs
            .iter()
            .max_by(|a, b| self.end(a).total_cmp(&self.end(b)));
        let Some(slowest) = slowest.map(Pair::middles) else {
            return;
        };
        for n in 0..self.pairs.len() {
            let pair = &self.pairs[n];
            let lead: f64 = slowest
                .iter()
                .zip(pair.middles())
                .map(|(slow, middle)| slow - middle)
                .sum();
            let delay = (lead / slowest.len() as f64).clamp(0.0, mu - self.end(pair));
            self.pairs[n].wait(0, delay);
        }
    }

    /// Lets pairs that need fewer monitor units start later, so that all arrive together.
    pub fn end_together(&mut self) {
        let mu = self.mu();
        for n in 0..self.pairs.len() {
            let delay = mu - self.end(&self.pairs[n]);
            self.pairs[n].wait(0, delay);
        }
    }

    /// Lets pairs wait until no trailing tip passes a leading tip beside it: both tips of a pair wait, so that its fluence stays
    /// (Kamath et al., Phys. Med. Biol. 48, 307 (2003)).
    pub fn keep_behind_neighbours(&mut self) {
        let cells = self.nodes_mm.len() - 1;
        for _ in 0..cells * self.pairs.len() {
            let mut has_waited = false;
            for row in 0..self.pairs.len() {
                for neighbour in adjacent_rows(row, self.pairs.len()) {
                    for cell in 0..cells {
                        let early = self.pairs[neighbour].lead[cell] - self.pairs[row].trail[cell];
                        if early > SAME_MU {
                            self.pairs[row].wait(cell, early);
                            has_waited = true;
                        }
                    }
                }
            }
            if !has_waited {
                return;
            }
        }
    }

    /// Trailing and leading tips of all pairs after `mu` monitor units, mm.
    pub fn at(&self, mu: f64) -> Vec<[f64; 2]> {
        self.pairs
            .iter()
            .map(|pair| [self.tip_mm(&pair.trail, mu), self.tip_mm(&pair.lead, mu)])
            .collect()
    }

    /// Position after `mu` monitor units of a tip that leaves the first nodes of its cells at `departures`.
    fn tip_mm(&self, departures: &[f64], mu: f64) -> f64 {
        let Some(cell) = departures
            .partition_point(|departure| *departure <= mu)
            .checked_sub(1)
        else {
            return self.nodes_mm[0];
        };
        let travelled = self.speed_mm_mu * (mu - departures[cell]);
        // Leaves that move while the beam is off are at the cell's end once they have left.
        let travelled = if self.speed_mm_mu.is_finite() {
            travelled
        } else {
            f64::INFINITY
        };
        (self.nodes_mm[cell] + travelled).min(self.nodes_mm[cell + 1])
    }
}

impl Pair {
    /// Middle of the time in which the first node of each cell is open, MU.
    fn middles(&self) -> Vec<f64> {
        self.lead
            .iter()
            .zip(&self.trail)
            .map(|(lead, trail)| 0.5 * (lead + trail))
            .collect()
    }

    /// Both tips stay longer at the first node of a cell.
    fn wait(&mut self, cell: usize, mu: f64) {
        self.lead[cell..]
            .iter_mut()
            .chain(&mut self.trail[cell..])
            .for_each(|departure| *departure += mu);
    }
}

/// The rows next to a row.
pub fn adjacent_rows(row: usize, rows: usize) -> impl Iterator<Item = usize> {
    [row.checked_sub(1), Some(row + 1)]
        .into_iter()
        .flatten()
        .filter(move |neighbour| *neighbour < rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time of opening at a place by following the tips in small steps of monitor units.
    fn opened(sweep: &Sweep, pair: usize, place_mm: f64) -> f64 {
        const STEPS: usize = 200_000;
        let step = sweep.mu() / STEPS as f64;
        let is_open = |n: usize| {
            let [trail, lead] = sweep.at((n as f64 + 0.5) * step)[pair];
            trail < place_mm && place_mm < lead
        };
        (0..STEPS).filter(|n| is_open(*n)).count() as f64 * step
    }

    fn nodes(cells: usize) -> Vec<f64> {
        (0..=cells).map(|n| 5.0 * n as f64).collect()
    }

    /// A wedge up, a wedge down, a pyramid and two islands: monitor units are travel over speed and the sum of the rises.
    #[test]
    fn monitor_units_are_travel_and_rises() {
        let (length, speed) = (40.0, 2.5);
        for (fluence, rises) in [
            (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 8.0),
            (vec![8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 8.0),
            (vec![2.0, 4.0, 6.0, 8.0, 6.0, 4.0, 2.0, 1.0], 8.0),
            (vec![0.0, 7.0, 7.0, 0.0, 0.0, 5.0, 5.0, 0.0], 12.0),
        ] {
            let sweep = Sweep::new(nodes(8), speed, std::slice::from_ref(&fluence));
            assert!(
                (sweep.mu() - (length / speed + rises)).abs() < 1e-9,
                "{fluence:?}: {}",
                sweep.mu()
            );
            for (cell, want) in fluence.iter().enumerate() {
                for place in [0.5, 2.5, 4.5] {
                    let got = opened(&sweep, 0, 5.0 * cell as f64 + place);
                    assert!(
                        (got - want).abs() < 1e-3,
                        "{fluence:?}, cell {cell}: {got} for {want}"
                    );
                }
            }
        }
    }

    /// Waits leave the fluence as it is; pairs side by side take no longer than the slowest.
    #[test]
    fn waiting_keeps_fluence_and_monitor_units() {
        let fluences = vec![
            vec![4.0, 9.0, 2.0, 7.0, 3.0, 3.0],
            vec![2.0, 2.0, 2.0, 2.0, 2.0, 2.0],
            vec![9.0, 3.0, 3.0, 3.0, 6.0, 2.0],
        ];
        let alone = Sweep::new(nodes(6), 2.5, &fluences);
        let mut side_by_side = alone.clone();
        side_by_side.start_side_by_side();
        assert!((side_by_side.mu() - alone.mu()).abs() < 1e-9);
        let off = |sweep: &Sweep| {
            let middle = |pair: &Pair| pair.lead[3] + pair.trail[3];
            (middle(&sweep.pairs[0]) - middle(&sweep.pairs[1])).abs()
        };
        assert!(
            off(&side_by_side) < 0.5 * off(&alone),
            "{} of {}",
            off(&side_by_side),
            off(&alone)
        );
        let mut behind = side_by_side.clone();
        behind.keep_behind_neighbours();
        assert!(
            behind.mu() < 1.5 * alone.mu(),
            "{} for {}",
            behind.mu(),
            alone.mu()
        );
        let clashes = |sweep: &Sweep| {
            let clash = |n: &usize| {
                let tips = sweep.at(sweep.mu() * *n as f64 / 500.0);
                let passes =
                    |row: usize| adjacent_rows(row, 3).any(|by| tips[row][0] > tips[by][1] + 1e-6);
                (0..3).any(passes)
            };
            (0..=500).filter(clash).count()
        };
        assert!(
            clashes(&alone) > 0 && clashes(&behind) == 0,
            "{} and {}",
            clashes(&alone),
            clashes(&behind)
        );
        for (row, fluence) in fluences.iter().enumerate() {
            for (cell, want) in fluence.iter().enumerate() {
                for sweep in [&side_by_side, &behind] {
                    let got = opened(sweep, row, 5.0 * cell as f64 + 2.5);
                    assert!(
                        (got - want).abs() < 1e-3,
                        "row {row}, cell {cell}: {got} for {want}"
                    );
                }
            }
        }
    }

    /// Leaves that move while the beam is off: each cell is open in as many segments as it has levels.
    #[test]
    fn segments_add_up_to_levels() {
        let levels = vec![vec![0.0, 3.0, 1.0, 4.0, 0.0], vec![2.0, 2.0, 0.0, 1.0, 1.0]];
        let sweep = Sweep::new(nodes(5), f64::INFINITY, &levels);
        assert_eq!(sweep.mu(), 6.0);
        for (row, levels) in levels.iter().enumerate() {
            for (cell, want) in levels.iter().enumerate() {
                let place = 5.0 * cell as f64 + 2.5;
                let open = (0..6).filter(|segment| {
                    let [trail, lead] = sweep.at(f64::from(*segment) + 0.5)[row];
                    trail < place && place < lead
                });
                assert_eq!(open.count() as f64, *want, "row {row}, cell {cell}");
            }
        }
    }
}
