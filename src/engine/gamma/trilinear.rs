//! The least squared distance from the origin to the trilinear surface of a cell in dose-distance space.
//!
//! The squared distance is a polynomial of the sixth degree in three variables without a closed form. From a few places the dose is made linear
//! about the last one (Gauss and Newton), the least of that in the cell is found exactly, and the step taken as far as the
//! distance falls. The minimum found is the cell's unless the dose has several dents inside it.

/// Steps from one place: convergence is quadratic, few are needed.
const MOST_STEPS: usize = 24;
/// A step that gains less than this part of the squared distance is the last.
const GAIN: f64 = 1e-7;

/// A cell: its corners in space seen from the point, in DTA, and the dose in dose differences minus the point's.
struct Cell {
    low: [f64; 3],
    high: [f64; 3],
    /// Bit 0: x, 1: y, 2: z.
    dose: [f64; 8],
}

/// Lowers `best` to the least squared distance to the trilinear surface between two opposite corners, where that is less.
/// `dose`: at the corners (bit 0: x, 1: y, 2: z) minus the point's, in dose differences.
pub fn cell(low: [f32; 3], high: [f32; 3], dose: &[f32; 8], best: &mut f32) {
    let cell = Cell {
        low: low.map(f64::from),
        high: high.map(f64::from),
        dose: dose.map(f64::from),
    };
    let nearest: [f64; 3] =
        std::array::from_fn(|axis| 0.0_f64.clamp(cell.low[axis], cell.high[axis]));
    let middle = std::array::from_fn(|axis| 0.5 * (cell.low[axis] + cell.high[axis]));
    let corners = (0..8_usize).map(|c| cell.corner(c));
    let lowest = corners
        .min_by(|a, b| cell.square(*a).total_cmp(&cell.square(*b)))
        .unwrap_or(middle);
    for start in [nearest, lowest, middle] {
        *best = best.min(cell.descend(start) as f32);
    }
}

impl Cell {
    fn corner(&self, c: usize) -> [f64; 3] {
        std::array::from_fn(|axis| {
            if c >> axis & 1 == 1 {
                self.high[axis]
            } else {
                self.low[axis]
            }
        })
    }

    /// The dose and its slope at a place.
    fn dose_and_slope(&self, place: [f64; 3]) -> (f64, [f64; 3]) {
        let side: [f64; 3] = std::array::from_fn(|axis| self.high[axis] - self.low[axis]);
        let u: [f64; 3] = std::array::from_fn(|axis| (place[axis] - self.low[axis]) / side[axis]);
        let (mut dose, mut slope) = (0.0, [0.0; 3]);
        for (c, value) in self.dose.iter().enumerate() {
            let share: [f64; 3] = std::array::from_fn(|axis| {
                if c >> axis & 1 == 1 {
                    u[axis]
                } else {
                    1.0 - u[axis]
                }
            });
            dose += value * share[0] * share[1] * share[2];
            for axis in 0..3 {
                let others = share[(axis + 1) % 3] * share[(axis + 2) % 3];
                let sign = if c >> axis & 1 == 1 { 1.0 } else { -1.0 };
                slope[axis] += sign * value * others / side[axis];
            }
        }
        (dose, slope)
    }

    fn square(&self, place: [f64; 3]) -> f64 {
        let (dose, _) = self.dose_and_slope(place);
        place.iter().map(|x| x * x).sum::<f64>() + dose * dose
    }

    /// Goes down from a place: the least squared distance reached.
    fn descend(&self, mut place: [f64; 3]) -> f64 {
        let mut best = self.square(place);
        for _ in 0..MOST_STEPS {
            let (dose, slope) = self.dose_and_slope(place);
            let aim = self.least_of_linear(
                dose - (0..3).map(|axis| slope[axis] * place[axis]).sum::<f64>(),
                slope,
            );
            let mut share = 1.0;
            let step = loop {
                let to: [f64; 3] =
                    std::array::from_fn(|axis| place[axis] + share * (aim[axis] - place[axis]));
                let square = self.square(to);
                if square < best {
                    break Some((to, square));
                }
                share *= 0.5;
                if share < 1e-3 {
                    break None;
                }
            };
            let Some((to, square)) = step else { break };
            let gained = best - square;
            (place, best) = (to, square);
            if gained <= GAIN * best {
                break;
            }
        }
        best
    }

    /// Point of the cell with the least `|x|^2 + (dose + slope x)^2`: `x = clamp(-v slope)` with `v = dose + slope x`,
    /// which has one solution as the left side less the right rises with `v` at least as fast as `v`.
    fn least_of_linear(&self, dose: f64, slope: [f64; 3]) -> [f64; 3] {
        let clamped = |v: f64| -> [f64; 3] {
            std::array::from_fn(|axis| (-v * slope[axis]).clamp(self.low[axis], self.high[axis]))
        };
        let over = |v: f64| {
            v - dose
                - clamped(v)
                    .iter()
                    .zip(slope)
                    .map(|(x, g)| x * g)
                    .sum::<f64>()
        };
        let (mut v, mut from, mut until) = (dose, f64::NEG_INFINITY, f64::INFINITY);
        for _ in 0..50 {
            let off = over(v);
            if off > 0.0 {
                until = v
            } else {
                from = v
            }
            // The slope, where no bound holds an axis back.
            let place = clamped(v);
            let rise = 1.0
                + (0..3)
                    .filter(|axis| {
                        place[*axis] > self.low[*axis] && place[*axis] < self.high[*axis]
                    })
                    .map(|axis| slope[axis] * slope[axis])
                    .sum::<f64>();
            let next = v - off / rise;
            // Newton's step, or the middle where it leaves the bracket.
            let next = if next > from && next < until {
                next
            } else {
                0.5 * (from + until)
            };
            if !next.is_finite() || (next - v).abs() <= 1e-12 * (1.0 + v.abs()) {
                break;
            }
            v = next;
        }
        clamped(v)
    }
}
