//! The map that the leaves of a beam were cut from: where a plan that is optimised again begins.

use super::{Beam, FluenceLimit, FluenceMap, Plan};
use serde::{Deserialize, Serialize};

/// A fluence map with its monitor units and limits. A beam that gets another map has no leaves until that is sequenced: its dose is
/// computed from the map, and no file of leaves is written of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutFrom {
    pub map: FluenceMap,
    /// Monitor units a fraction that the values of the map count by.
    pub mu: f64,
    /// Upper bounds of the map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<FluenceLimit>,
}

impl Beam {
    /// Whether leaves deliver the map of the beam.
    pub fn is_cut(&self) -> bool {
        self.fluence.is_none() && self.cut_from.is_some()
    }

    /// The requested map, else the map that the leaves were sequenced from.
    pub fn map(&self) -> Option<&FluenceMap> {
        self.fluence
            .as_ref()
            .or(self.cut_from.as_ref().map(|from| &from.map))
    }

    /// Upper bounds of [`Self::map`].
    pub fn limits_of_map(&self) -> &[FluenceLimit] {
        match &self.cut_from {
            Some(from) if self.is_cut() => &from.limits,
            _ => &self.fluence_limits,
        }
    }

    /// The beam with the map that its leaves were cut from in their place; as it is where there is none.
    #[must_use]
    pub fn uncut(&self) -> Self {
        let Some(CutFrom { map, mu, limits }) =
            self.cut_from.as_deref().cloned().filter(|_| self.is_cut())
        else {
            return self.clone();
        };
        let mut start = self.start().cloned();
        start.iter_mut().for_each(|point| {
            point.meterset_weight = 1.0;
            point.leaves_mm.clear();
        });
        Self {
            mu,
            mlc: None,
            fluence: Some(map),
            fluence_limits: limits,
            cut_from: None,
            // The dose rate was set for the leaves.
            dose_rate_mu_min: None,
            control_points: start.into_iter().collect(),
            ..self.clone()
        }
    }
}

impl Plan {
    /// Whether leaves deliver a map of the plan.
    pub fn is_cut(&self) -> bool {
        self.beams.iter().any(Beam::is_cut)
    }

    /// Whether a beam has a map, delivered or not.
    pub fn has_maps(&self) -> bool {
        self.beams.iter().any(|beam| beam.map().is_some())
    }

    /// Whether beams have the maps of the plan's beams of the same number, delivered or not.
    pub fn has_maps_of(&self, beams: &[Beam]) -> bool {
        beams.iter().all(|beam| {
            let in_plan = self.beams.iter().find(|other| other.number == beam.number);
            beam.map() == in_plan.and_then(Beam::map)
        })
    }

    /// The plan with maps in place of the leaves that were cut from them.
    #[must_use]
    pub fn uncut(&self) -> Self {
        Self {
            beams: self.beams.iter().map(Beam::uncut).collect(),
            ..self.clone()
        }
    }
}
