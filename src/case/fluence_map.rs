//! The requested fluence of a beam, before it is sequenced into leaves: a map of beamlets.

use super::beam::{LeafBoundaryError, MlcAxis, check_leaf_boundaries};
use super::{Jaws, bounds};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Fluence of a beam by beamlet, in place of the opening of leaves. Nothing passes beside the map's rectangle.
///
/// u is the direction of leaf travel, v is across it, both in the beam limiting device frame at the isocentre plane. A row is as wide
/// as the leaves that would deliver it; columns are evenly wide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FluenceMap {
    /// Direction of leaf travel, along which the columns lie.
    pub axis: MlcAxis,
    /// Sides of the rows along v, mm: rows + 1 ascending values.
    pub rows_mm: Vec<f64>,
    /// The low edge of the first column along u, mm.
    pub first_mm: f64,
    /// Width of the columns along u, mm.
    pub step_mm: f64,
    pub columns: usize,
    /// `[row][column]`, columns fastest: fluence relative to the open field's for all monitor units of the beam.
    pub values: Vec<f32>,
}

/// Why a fluence map cannot be delivered.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FluenceMapError {
    #[error("the rows of its fluence map: {0}")]
    Rows(#[from] LeafBoundaryError),
    #[error(
        "its fluence map has {values} values for {rows} rows of {columns} columns: give one for each beamlet"
    )]
    Count {
        values: usize,
        rows: usize,
        columns: usize,
    },
    #[error(
        "its fluence map has {beamlets} beamlets, more than {}",
        bounds::MOST_BEAMLETS
    )]
    TooMany { beamlets: usize },
    #[error("columns of its fluence map are {step_mm} mm wide: {} to {} mm are", bounds::BEAMLET_MM.start(), bounds::BEAMLET_MM.end())]
    Step { step_mm: f64 },
    #[error("its fluence map reaches to {mm} mm from the axis, beyond every collimator")]
    Reach { mm: f64 },
    #[error(
        "beamlet {beamlet} of its fluence map has the fluence {value}: it is from 0 to {}",
        bounds::MOST_FLUENCE
    )]
    Value { beamlet: usize, value: f32 },
}

impl FluenceMap {
    pub fn rows(&self) -> usize {
        self.rows_mm.len().saturating_sub(1)
    }

    /// Low and high side of a beamlet along u and along v, mm.
    pub fn sides_mm(&self, beamlet: usize) -> [[f64; 2]; 2] {
        let (row, column) = (beamlet / self.columns, beamlet % self.columns);
        let low = self.first_mm + column as f64 * self.step_mm;
        [
            [low, low + self.step_mm],
            [self.rows_mm[row], self.rows_mm[row + 1]],
        ]
    }

    /// Middle of a beamlet (u, v), mm.
    pub fn middle_mm(&self, beamlet: usize) -> [f64; 2] {
        self.sides_mm(beamlet).map(|[low, high]| 0.5 * (low + high))
    }

    /// A place (x, y) of the device frame along and across the leaves, (u, v).
    pub fn uv(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        if self.axis == MlcAxis::X {
            [x, y]
        } else {
            [y, x]
        }
    }

    /// The greatest fluence of a beamlet.
    pub fn greatest(&self) -> f32 {
        self.values.iter().copied().fold(0.0, f32::max)
    }

    /// Low and high side of the whole map along u and along v, mm.
    pub fn reach_mm(&self) -> [[f64; 2]; 2] {
        let v = [self.rows_mm.first(), self.rows_mm.last()]
            .map(|side| side.copied().unwrap_or_default());
        [
            [
                self.first_mm,
                self.first_mm + self.columns as f64 * self.step_mm,
            ],
            v,
        ]
    }

    /// The beamlet at a place (u, v), mm.
    pub fn beamlet_at(&self, [u, v]: [f64; 2]) -> Option<usize> {
        let column = ((u - self.first_mm) / self.step_mm).floor();
        let row = self
            .rows_mm
            .windows(2)
            .position(|side| side[0] <= v && v < side[1])?;
        (column >= 0.0 && column < self.columns as f64)
            .then(|| row * self.columns + column as usize)
    }

    /// Fluence at a place (u, v), mm.
    pub fn value_at(&self, place_mm: [f64; 2]) -> Option<f32> {
        self.values.get(self.beamlet_at(place_mm)?).copied()
    }

    /// Jaws round the whole map.
    pub fn jaws(&self) -> Jaws {
        self.jaws_of(self.reach_mm())
    }

    /// Jaws round a beamlet.
    pub fn jaws_round(&self, beamlet: usize) -> Jaws {
        self.jaws_of(self.sides_mm(beamlet))
    }

    fn jaws_of(&self, [u, v]: [[f64; 2]; 2]) -> Jaws {
        if self.axis == MlcAxis::X {
            Jaws { x: u, y: v }
        } else {
            Jaws { x: v, y: u }
        }
    }

    /// The first fault of the map.
    ///
    /// # Errors
    /// [`FluenceMapError`].
    pub fn check(&self) -> Result<(), FluenceMapError> {
        check_leaf_boundaries(&self.rows_mm)?;
        let (rows, columns, values) = (self.rows(), self.columns, self.values.len());
        let beamlets = rows.saturating_mul(columns);
        if beamlets > bounds::MOST_BEAMLETS {
            return Err(FluenceMapError::TooMany { beamlets });
        }
        if beamlets != values || columns == 0 {
            return Err(FluenceMapError::Count {
                values,
                rows,
                columns,
            });
        }
        if !bounds::BEAMLET_MM.contains(&self.step_mm) {
            return Err(FluenceMapError::Step {
                step_mm: self.step_mm,
            });
        }
        if let Some(mm) = self
            .reach_mm()
            .into_iter()
            .flatten()
            .find(|mm| !bounds::COLLIMATOR_MM.contains(mm))
        {
            return Err(FluenceMapError::Reach { mm });
        }
        match self
            .values
            .iter()
            .position(|value| !(0.0..=bounds::MOST_FLUENCE).contains(value))
        {
            Some(beamlet) => Err(FluenceMapError::Value {
                beamlet,
                value: self.values[beamlet],
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> FluenceMap {
        let rows_mm = vec![-10.0, -5.0, 0.0, 10.0];
        FluenceMap {
            axis: MlcAxis::X,
            rows_mm,
            first_mm: -5.0,
            step_mm: 2.5,
            columns: 4,
            values: vec![1.0; 12],
        }
    }

    #[test]
    fn beamlets_fill_the_map() {
        let map = map();
        assert_eq!(map.check(), Ok(()));
        assert_eq!(map.sides_mm(0), [[-5.0, -2.5], [-10.0, -5.0]]);
        assert_eq!(map.sides_mm(11), [[2.5, 5.0], [0.0, 10.0]]);
        assert_eq!(map.reach_mm(), [[-5.0, 5.0], [-10.0, 10.0]]);
        assert!((0..12).all(|beamlet| map.beamlet_at(map.middle_mm(beamlet)) == Some(beamlet)));
        for outside in [
            [-5.1, 0.0],
            [5.0, 0.0],
            [0.0, -10.1],
            [0.0, 10.0],
            [f64::NAN, 0.0],
        ] {
            assert_eq!(map.beamlet_at(outside), None, "{outside:?}");
        }
    }

    /// Every number of a map may lie.
    #[test]
    fn maps_that_cannot_be_are_refused() {
        type Lie = fn(&mut FluenceMap);
        let faults: [(Lie, &str); 9] = [
            (|m| m.rows_mm = vec![0.0], "rows"),
            (|m| m.rows_mm[1] = f64::NAN, "rows"),
            (|m| m.columns = 0, "12 values"),
            (|m| m.columns = usize::MAX, "beamlets"),
            (|m| m.values.truncate(3), "3 values"),
            (|m| m.values[7] = -0.1, "beamlet 7"),
            (|m| m.values[2] = f32::NAN, "beamlet 2"),
            (|m| m.step_mm = 0.0, "wide"),
            (|m| m.first_mm = 500.0, "beyond"),
        ];
        for (lie, word) in faults {
            let mut map = map();
            lie(&mut map);
            let said = map.check().expect_err(word).to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
