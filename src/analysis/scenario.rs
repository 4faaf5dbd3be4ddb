//! Set-up errors as scenarios: the isocentre stands elsewhere in the patient than planned.

use super::Dvh;
use super::goals::GoalRow;
use case::{Plan, Structure};
use glam::DVec3;
use serde::Serialize;
use std::fmt;

/// Greatest set-up error that scenarios are made of, mm.
pub const MOST_SET_UP_MM: f64 = 10.0;

/// Directions of the shifts that set-up errors are represented by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShiftDirections {
    /// Both ways along each axis of the patient: six.
    #[default]
    Axes,
    /// Axes, diagonals of planes and diagonals of space: 26.
    AllRound,
}

impl ShiftDirections {
    /// The plan without an error, then with shifts of `mm` in each direction; without an error alone where they are of 0 mm.
    pub fn scenarios(self, mm: f64) -> Vec<Scenario> {
        match self {
            _ if mm <= 0.0 => vec![Scenario::NOMINAL],
            Self::Axes => Scenario::along_axes(mm),
            Self::AllRound => Scenario::all_round(mm),
        }
    }
}

/// A shift of all isocentres in the patient, as if the patient lay shifted the other way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Scenario {
    /// Patient LPS, mm.
    pub shift_mm: DVec3,
}

impl Scenario {
    pub const NOMINAL: Self = Self {
        shift_mm: DVec3::ZERO,
    };

    /// The plan without an error, then shifts of `mm` both ways along each axis of the patient: seven.
    pub fn along_axes(mm: f64) -> Vec<Self> {
        let axes = [DVec3::X, DVec3::Y, DVec3::Z];
        let both_ways = axes.into_iter().flat_map(|axis| [axis * mm, -axis * mm]);
        // No -0.0.
        let shifts = both_ways.map(|mm| Self {
            shift_mm: mm + DVec3::ZERO,
        });
        std::iter::once(Self::NOMINAL).chain(shifts).collect()
    }

    /// The plan without an error, then shifts of `mm` along axes, diagonals of planes and diagonals of space: 27, all as long.
    pub fn all_round(mm: f64) -> Vec<Self> {
        let mut scenarios = Self::along_axes(mm);
        let steps = [-1.0, 0.0, 1.0];
        for x in steps {
            for y in steps {
                for z in steps {
                    let direction = DVec3::new(x, y, z);
                    if direction.length_squared() > 1.0 {
                        let shift_mm = direction.normalize() * mm;
                        scenarios.push(Self { shift_mm });
                    }
                }
            }
        }
        scenarios
    }

    /// The plan with shifted isocentres, of the same monitor units: a normalisation would deliver others.
    pub fn plan(&self, plan: &Plan) -> Plan {
        let mut shifted = Plan {
            normalisation: None,
            ..plan.clone()
        };
        for beam in &mut shifted.beams {
            beam.isocentre_mm += self.shift_mm;
        }
        shifted
    }
}

/// Sides of the patient towards which its axes rise and fall.
const SIDES: [[&str; 2]; 3] = [
    ["left", "right"],
    ["posterior", "anterior"],
    ["superior", "inferior"],
];

impl Scenario {
    /// Length and side of the shift along each axis along which there is one.
    fn shifts(&self) -> impl Iterator<Item = (f64, &'static str)> {
        let shifts = self.shift_mm.to_array().into_iter().zip(SIDES);
        shifts
            .filter(|(mm, _)| mm.abs() > 0.0)
            .map(|(mm, sides)| (mm.abs(), sides[usize::from(mm < 0.0)]))
    }

    /// Initials of the sides towards which the isocentre is shifted: `LPS`; nothing without an error.
    pub fn letters(&self) -> String {
        let initials = self.shifts().filter_map(|(_, side)| side.chars().next());
        initials
            .map(|initial| initial.to_ascii_uppercase())
            .collect()
    }
}

impl fmt::Display for Scenario {
    /// `as planned`, or `isocentre 3.0 mm left, 1.0 mm inferior`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self
            .shifts()
            .map(|(mm, side)| format!("{mm:.1} mm {side}"))
            .collect();
        match words.is_empty() {
            true => f.write_str("as planned"),
            false => write!(f, "isocentre {}", words.join(", ")),
        }
    }
}

/// Least and greatest volume of a structure at each dose over all scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DvhBand {
    pub structure: String,
    /// Doses, ascending, Gy of all fractions.
    pub gy: Vec<f64>,
    /// Volume without an error, percent.
    pub planned_percent: Vec<f64>,
    pub least_percent: Vec<f64>,
    pub greatest_percent: Vec<f64>,
}

impl DvhBand {
    /// Points of a band.
    const POINTS: usize = 201;

    /// Band of the DVHs of one structure, the one without an error first. `None` without any.
    pub fn new(structure: &Structure, dvhs: &[&Dvh]) -> Option<Self> {
        let planned = *dvhs.first()?;
        let greatest_gy = dvhs.iter().map(|dvh| dvh.max_gy()).fold(0.0, f64::max);
        let last = (Self::POINTS - 1) as f64;
        let gy = (0..Self::POINTS).map(|n| n as f64 / last * greatest_gy);
        let mut band = Self {
            structure: structure.name.clone(),
            gy: gy.collect(),
            planned_percent: Vec::with_capacity(Self::POINTS),
            least_percent: Vec::with_capacity(Self::POINTS),
            greatest_percent: Vec::with_capacity(Self::POINTS),
        };
        for gy in &band.gy {
            let percents = dvhs.iter().map(|dvh| dvh.percent_at(*gy));
            band.planned_percent.push(planned.percent_at(*gy));
            band.least_percent
                .push(percents.clone().fold(f64::INFINITY, f64::min));
            band.greatest_percent.push(percents.fold(0.0, f64::max));
        }
        Some(band)
    }
}

/// A goal in the dose of the plan, and in the scenario that is worst for it.
#[derive(Clone, Debug)]
pub struct RobustGoal {
    pub planned: GoalRow,
    pub worst: GoalRow,
    /// Place of the worst scenario in their list.
    pub scenario: usize,
}

impl RobustGoal {
    /// Goals over the rows of all scenarios, the one without an error first; each list has the same goals in the same order.
    pub fn of_rows(rows: &[Vec<GoalRow>]) -> Vec<Self> {
        let Some(planned) = rows.first() else {
            return Vec::new();
        };
        let goals = planned.iter().enumerate().map(|(n, row)| {
            let in_scenario = rows.iter().map(|rows| &rows[n]);
            let worst = in_scenario
                .enumerate()
                .min_by(|(_, a), (_, b)| margin(a).total_cmp(&margin(b)));
            let (scenario, worst) = worst.unwrap_or((0, row));
            Self {
                planned: row.clone(),
                worst: worst.clone(),
                scenario,
            }
        });
        goals.collect()
    }
}

/// Distance to the limit; of a goal without a value, which no dose can be better than, the least.
fn margin(row: &GoalRow) -> f64 {
    row.answer
        .as_ref()
        .map_or(f64::NEG_INFINITY, |outcome| outcome.margin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Beam, Jaws, StructureKind};

    #[test]
    fn scenarios_are_as_long_as_the_error_and_named_by_their_sides() {
        for (scenarios, count) in [
            (Scenario::along_axes(3.0), 7),
            (Scenario::all_round(3.0), 27),
        ] {
            assert_eq!(scenarios.len(), count);
            assert_eq!(scenarios[0], Scenario::NOMINAL);
            let sum: DVec3 = scenarios.iter().map(|s| s.shift_mm).sum();
            assert!(sum.length() < 1e-12, "they are symmetric");
            for (n, scenario) in scenarios[1..].iter().enumerate() {
                assert!((scenario.shift_mm.length() - 3.0).abs() < 1e-12);
                let mut others = scenarios[n + 2..].iter();
                assert!(others.all(|o| o.shift_mm.distance(scenario.shift_mm) > 1.0));
            }
        }
        for (shift_mm, want) in [
            (DVec3::ZERO, "as planned"),
            (DVec3::new(3.0, 0.0, 0.0), "isocentre 3.0 mm left"),
            (
                DVec3::new(0.0, -2.5, -1.0),
                "isocentre 2.5 mm anterior, 1.0 mm inferior",
            ),
            (
                DVec3::new(-1.0, 1.0, 1.0),
                "isocentre 1.0 mm right, 1.0 mm posterior, 1.0 mm superior",
            ),
        ] {
            assert_eq!(Scenario { shift_mm }.to_string(), want);
        }
    }

    #[test]
    fn a_shifted_plan_delivers_the_same_monitor_units_elsewhere() {
        let mut plan = Plan::new("P", "generic-6mv");
        let isocentre_mm = DVec3::new(1.0, 2.0, 3.0);
        let jaws = Jaws::symmetric(50.0, 50.0);
        plan.beams = vec![Beam::fixed("A", 1, 0.0, isocentre_mm, jaws, 120.0)];
        let shift_mm = DVec3::new(0.0, 0.0, -4.0);
        let shifted = Scenario { shift_mm }.plan(&plan);
        assert_eq!(shifted.beams[0].isocentre_mm, DVec3::new(1.0, 2.0, -1.0));
        plan.beams[0].isocentre_mm = shifted.beams[0].isocentre_mm;
        assert_eq!(shifted, plan);
    }

    /// Even doses from 10 to 20 Gy, and from 12 to 16 Gy.
    #[test]
    fn a_band_has_the_least_and_the_greatest_volume() {
        let [planned, shifted] = [[10.0, 20.0], [12.0, 16.0]].map(|[low_gy, high_gy]: [f32; 2]| {
            let parts = (0..=1000).map(|n| n as f32 / 1000.0);
            let points = parts.map(|part| (low_gy + part * (high_gy - low_gy), 1.0));
            Dvh::of_points(points).expect("points")
        });
        let structure = Structure::new("S", 1, StructureKind::Organ);
        let band = DvhBand::new(&structure, &[&planned, &shifted]).expect("two DVHs");
        for (gy, lower, upper) in [(11.0, 90.0, 100.0), (14.0, 50.0, 60.0), (18.0, 0.0, 20.0)] {
            let n = band.gy.partition_point(|dose_gy| *dose_gy < gy);
            let point = [band.least_percent[n], band.greatest_percent[n]];
            let planned_percent = 10.0 * (20.0 - gy);
            // Points of the band are 0.1 Gy apart.
            assert!((point[0] - lower).abs() < 3.0, "{gy} Gy: {point:?}");
            assert!((point[1] - upper).abs() < 3.0, "{gy} Gy: {point:?}");
            assert!((band.planned_percent[n] - planned_percent).abs() < 1.1);
        }
        assert_eq!(DvhBand::new(&structure, &[]), None);
    }
}
