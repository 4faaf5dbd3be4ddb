//! Rulers, dose points and the profile line: positions only. They read the displayed dose.

use crate::state::{State, Workspace};
use analysis::{Side, value_at};
use case::{Dose, DoseStatus, bounds};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Shorter lines are slips of the hand, mm.
pub const SHORTEST_MM: f64 = 0.5;

/// Measurement that the pointer draws in the slice views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Ruler,
    DosePoint,
    Profile,
}

impl Tool {
    pub const ALL: [Self; 3] = [Self::Ruler, Self::DosePoint, Self::Profile];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ruler => "Ruler",
            Self::DosePoint => "Dose point",
            Self::Profile => "Profile",
        }
    }

    /// The key that takes it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Ruler => "R",
            Self::DosePoint => "Q",
            Self::Profile => "T",
        }
    }

    /// How it is used.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Ruler => "Drag in a slice view to measure a distance",
            Self::DosePoint => "Click in a slice view to read dose and HU there",
            Self::Profile => "Drag a line in a slice view to plot dose and HU along it",
        }
    }
}

/// A measured object; positions in patient LPS, mm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measured {
    Ruler([DVec3; 2]),
    Point(DVec3),
    Profile([DVec3; 2]),
}

impl Measured {
    /// The positions that a drag moves.
    pub fn ends_mm(&self) -> &[DVec3] {
        match self {
            Self::Ruler(ends) | Self::Profile(ends) => ends,
            Self::Point(mm) => std::slice::from_ref(mm),
        }
    }

    /// The object with one of its positions moved.
    #[must_use]
    pub fn with_end(mut self, end: usize, to_mm: DVec3) -> Self {
        match &mut self {
            Self::Ruler(ends) | Self::Profile(ends) => ends[end.min(1)] = to_mm,
            Self::Point(mm) => *mm = to_mm,
        }
        self
    }

    /// Distance of the ends, mm; 0 of a point.
    pub fn length_mm(&self) -> f64 {
        match self.ends_mm() {
            [a, b] => a.distance(*b),
            _ => 0.0,
        }
    }
}

/// All measured objects, in the order they were drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    pub tool: Option<Tool>,
    /// Each with its number, which no other object had.
    pub items: Vec<(u32, Measured)>,
    last_number: u32,
}

/// Maximum number of objects read from a session.
const MOST_READ: usize = 500;

impl Measures {
    /// The objects of a session, as far as they lie where a patient can be.
    pub fn restored(items: Vec<(u32, Measured)>) -> Self {
        let mut measures = Self::default();
        for (number, item) in items.into_iter().take(MOST_READ) {
            let mut coordinates_mm = item.ends_mm().iter().flat_map(DVec3::to_array);
            if coordinates_mm.all(|mm| bounds::PLACE_MM.contains(&mm)) {
                measures.set(number, item);
            }
        }
        measures
    }

    /// A number that no object had.
    pub fn free_number(&self) -> u32 {
        self.last_number.saturating_add(1)
    }

    /// Sets an object by its number, or adds it; there is one profile at most.
    pub fn set(&mut self, number: u32, item: Measured) {
        if let Some((_, current)) = self.items.iter_mut().find(|(n, _)| *n == number) {
            *current = item;
            return;
        }
        if matches!(item, Measured::Profile(_)) {
            self.items
                .retain(|(_, other)| !matches!(other, Measured::Profile(_)));
        }
        self.last_number = self.last_number.max(number);
        self.items.push((number, item));
    }

    pub fn remove(&mut self, number: u32) {
        self.items.retain(|(n, _)| *n != number);
    }

    /// Removes lines too short to be meant.
    pub fn drop_slips(&mut self) {
        self.items.retain(|(_, item)| {
            matches!(item, Measured::Point(_)) || item.length_mm() >= SHORTEST_MM
        });
    }

    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// The ends of the profile line.
    pub fn profile(&self) -> Option<[DVec3; 2]> {
        self.items.iter().find_map(|(_, item)| match item {
            Measured::Profile(ends) => Some(*ends),
            _ => None,
        })
    }
}

/// A dose that readings are taken from.
#[derive(Clone, Debug)]
pub struct ReadDose {
    /// `A` and `B` where two doses are compared, else empty.
    pub side: &'static str,
    pub dose: Arc<Dose>,
}

impl ReadDose {
    /// The dose at a position, Gy; `None` outside its grid and of a failed dose, whose values mean nothing.
    pub fn gy_at(&self, patient_mm: DVec3) -> Option<f64> {
        value_at(&self.dose.gy, patient_mm).filter(|_| self.dose.status != DoseStatus::Failed)
    }
}

impl State {
    /// The doses on view, each with its current status: A and B where two are compared, else the one on show.
    pub fn read_doses(&self) -> Vec<ReadDose> {
        if self.workspace == Workspace::Compare {
            let doses = Side::BOTH.into_iter().filter_map(|side| {
                let dose = self.results.side(side)?.clone();
                Some(ReadDose {
                    side: side.name(),
                    dose,
                })
            });
            return doses.collect();
        }
        self.results
            .shown_dose()
            .map(|dose| ReadDose {
                side: "",
                dose: dose.clone(),
            })
            .into_iter()
            .collect()
    }

    /// HU of the voxel at a position; `None` outside the CT.
    pub fn hu_at(&self, patient_mm: DVec3) -> Option<f64> {
        let ct = self.case().ct.as_ref()?;
        ct.hu.nearest(patient_mm).map(f64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(x: f64) -> [DVec3; 2] {
        [DVec3::ZERO, DVec3::new(x, 4.0, 0.0)]
    }

    #[test]
    fn rulers_pile_up_and_a_profile_replaces_the_last() {
        let mut measures = Measures::default();
        for item in [
            Measured::Ruler(line(3.0)),
            Measured::Ruler(line(6.0)),
            Measured::Profile(line(1.0)),
        ] {
            measures.set(measures.free_number(), item);
        }
        measures.set(measures.free_number(), Measured::Profile(line(3.0)));
        assert_eq!(
            (measures.items.len(), measures.profile()),
            (3, Some(line(3.0)))
        );
        assert_eq!(measures.items[0].1.length_mm(), 5.0);
        // A drag of an end keeps the number; a removed number is not given again.
        measures.set(
            1,
            measures.items[0].1.with_end(1, DVec3::new(0.0, 0.0, 7.0)),
        );
        assert_eq!(measures.items[0].1.length_mm(), 7.0);
        measures.remove(4);
        assert_eq!(measures.free_number(), 5);
        let text = serde_json::to_string(&measures.items).expect("text");
        let mut read: Vec<(u32, Measured)> = serde_json::from_str(&text).expect("objects");
        assert_eq!(Measures::restored(read.clone()).items, measures.items);
        read[0].1 = Measured::Point(DVec3::new(f64::NAN, 0.0, 1e30));
        assert_eq!(
            Measures::restored(read).items,
            measures.items[1..],
            "what lies nowhere is left out"
        );
        measures.set(5, Measured::Ruler([DVec3::ZERO, DVec3::new(0.1, 0.0, 0.0)]));
        measures.drop_slips();
        assert_eq!(
            measures.items.iter().map(|(n, _)| *n).collect::<Vec<_>>(),
            [1, 2]
        );
    }
}
