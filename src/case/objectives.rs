//! Objectives of a plan's fluence that no goal stands for.

use super::{Goal, StructureSet, bounds};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Objectives of a plan beside its goals. Their weights are on the scale of goal weights; an objective of weight 0 is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FluenceObjectives {
    pub fall_off: FallOff,
    /// Weight of the monitor units that leaves need for the maps. Older plan files call it smoothness.
    #[serde(alias = "smoothness")]
    pub monitor_units: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uniform: Vec<UniformDose>,
}

/// The dose that the body may have at a distance d from the nearest target: of the prescription (or of the highest dose of an objective)
/// the part `far + (1 - far) exp(-rate d)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FallOff {
    /// `rate`, percent a mm.
    pub percent_per_mm: f64,
    /// `far`, percent.
    pub far_percent: f64,
    pub weight: f64,
}

/// A structure that is to have one dose throughout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UniformDose {
    /// Name of the structure.
    pub structure: String,
    /// ROI number of the structure once the plan is in a case: it then follows every rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Gy of all fractions.
    pub dose_gy: f64,
    pub weight: f64,
}

impl Default for FallOff {
    /// Chosen.
    fn default() -> Self {
        Self {
            percent_per_mm: 5.0,
            far_percent: 25.0,
            weight: 0.1,
        }
    }
}

impl Default for FluenceObjectives {
    fn default() -> Self {
        Self {
            fall_off: FallOff::default(),
            monitor_units: 1.0,
            uniform: Vec::new(),
        }
    }
}

impl FallOff {
    pub const PERCENT_PER_MM: RangeInclusive<f64> = 0.1..=100.0;

    /// The part of the prescription that is allowed `mm` from the nearest target.
    pub fn part_at(&self, mm: f64) -> f64 {
        let far = 0.01 * self.far_percent;
        far + (1.0 - far) * (-0.01 * self.percent_per_mm * mm).exp()
    }
}

impl FluenceObjectives {
    /// Weights that are not 0 lie within the bounds of goal weights.
    const WEIGHTS: RangeInclusive<f64> = 0.0..=*Goal::WEIGHTS.end();

    /// Most structures of one dose: a case has fewer.
    pub const MOST_UNIFORM: usize = 100;

    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Each number with its key and the range that it must have.
    pub(super) fn numbers(&self) -> Vec<(&'static str, f64, RangeInclusive<f64>)> {
        let FallOff {
            percent_per_mm,
            far_percent,
            weight,
        } = self.fall_off;
        let mut numbers = vec![
            (
                "objectives.fall_off.percent_per_mm",
                percent_per_mm,
                FallOff::PERCENT_PER_MM,
            ),
            ("objectives.fall_off.far_percent", far_percent, 0.0..=100.0),
            ("objectives.fall_off.weight", weight, Self::WEIGHTS),
            (
                "objectives.monitor_units",
                self.monitor_units,
                Self::WEIGHTS,
            ),
            (
                "the number of objectives.uniform",
                self.uniform.len() as f64,
                0.0..=Self::MOST_UNIFORM as f64,
            ),
        ];
        for uniform in &self.uniform {
            numbers.push((
                "objectives.uniform.dose_gy",
                uniform.dose_gy,
                0.0..=bounds::MOST_COURSE_GY,
            ));
            numbers.push(("objectives.uniform.weight", uniform.weight, Self::WEIGHTS));
        }
        numbers
    }

    /// With structures by the numbers and names that they have in a case; one that is gone leaves its name alone.
    #[must_use]
    pub(super) fn bound_to(&self, set: &StructureSet) -> Self {
        let uniform = self.uniform.iter().map(|dose| {
            let number = dose.number.filter(|n| set.by_number(*n).is_some());
            let (structure, number) = match set.referenced(number, &dose.structure) {
                Ok(to) => (to.name.clone(), Some(to.number)),
                Err(_) => (dose.structure.clone(), None),
            };
            UniformDose {
                structure,
                number,
                ..dose.clone()
            }
        });
        Self {
            uniform: uniform.collect(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    #[test]
    fn the_fall_off_begins_at_all_and_ends_far_away() {
        let fall_off = FallOff {
            percent_per_mm: 5.0,
            far_percent: 25.0,
            weight: 1.0,
        };
        assert_eq!(fall_off.part_at(0.0), 1.0);
        assert!((fall_off.part_at(1000.0) - 0.25).abs() < 1e-12);
        // Half of what falls off is gone after ln 2 / 0.05 mm.
        assert!((fall_off.part_at(13.862_943_611) - 0.625).abs() < 1e-9);
    }

    #[test]
    fn numbers_that_no_objective_can_have_are_refused() {
        type Lie = fn(&mut FluenceObjectives);
        let ptv = UniformDose {
            structure: "PTV".to_owned(),
            number: None,
            dose_gy: 50.0,
            weight: 1.0,
        };
        let faults: [(Lie, &str); 8] = [
            (|o| o.fall_off.percent_per_mm = 0.0, "percent_per_mm"),
            (
                |o| o.fall_off.percent_per_mm = f64::INFINITY,
                "percent_per_mm",
            ),
            (|o| o.fall_off.far_percent = 101.0, "far_percent"),
            (|o| o.fall_off.weight = -0.1, "fall_off.weight"),
            (|o| o.monitor_units = f64::NAN, "monitor_units"),
            (|o| o.uniform[0].dose_gy = -1.0, "uniform.dose_gy"),
            (|o| o.uniform[0].weight = 1e9, "uniform.weight"),
            (
                |o| o.uniform = vec![o.uniform[0].clone(); 101],
                "number of objectives.uniform",
            ),
        ];
        let mut plan = Plan::new("P", "generic-6mv");
        plan.objectives.uniform.push(ptv);
        assert_eq!(plan.fault(), None);
        for (lie, word) in faults {
            let mut plan = plan.clone();
            lie(&mut plan.objectives);
            let said = plan
                .fault()
                .map(|fault| fault.to_string())
                .unwrap_or_default();
            assert!(said.contains(word), "{said}");
        }
    }
}
