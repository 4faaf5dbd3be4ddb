//! Wishes of goals: the value towards which a plan is optimised beyond a limit that is met.

use super::metric::MetricUnit;

/// The wish of a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Wish {
    /// The program's own: as low as it gets for an upper limit of an organ, none for a target.
    #[default]
    Usual,
    /// None, expressly: the limit suffices.
    Nothing,
    /// In the unit of the limit, 0 to the limit.
    Value(f64),
}

impl Wish {
    /// A wish from its words: `none`, or a value in the unit of the limit.
    pub(super) fn parse(words: &str, unit: MetricUnit) -> Option<Self> {
        if words.trim() == "none" {
            return Some(Self::Nothing);
        }
        MetricUnit::split(words)
            .filter(|(value, value_unit)| *value >= 0.0 && *value_unit == unit)
            .map(|(value, _)| Self::Value(value))
    }

    /// The wish in words; `None` for the usual one.
    pub(super) fn words(self, unit: MetricUnit) -> Option<String> {
        match self {
            Self::Usual => None,
            Self::Nothing => Some("wish none".to_owned()),
            Self::Value(value) => Some(
                format!("wish {value} {}", unit.symbol())
                    .trim_end()
                    .to_owned(),
            ),
        }
    }

    /// The wish below another limit: a value is never beyond it.
    pub(super) fn within(self, limit: f64) -> Self {
        match self {
            Self::Value(value) => Self::Value(value.min(limit)),
            wish => wish,
        }
    }

    /// The wish in another unit, in which a value says nothing.
    pub(super) fn without_value(self) -> Self {
        match self {
            Self::Value(_) => Self::Usual,
            wish => wish,
        }
    }
}
