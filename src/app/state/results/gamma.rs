//! Gamma of A and B as it follows the criteria: an estimate from some of the points first, then all of them, then what
//! it says of structures and places.

use super::CaseResults;
use super::wanted::ONLY;
use crate::app::state::State;
use crate::app::state::compare::GammaNorm;
use crate::engine::gamma::GammaResult;
use crate::results::{
    EstimateOfGamma, FiguresOfGamma, GammaByStructure, GammaEstimate, GammaOfPair, Standing,
};
use std::sync::Arc;

/// How far gamma is behind what the window is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    Current,
    /// Of earlier criteria or doses.
    Stale,
}

impl CaseResults {
    /// Gamma, be it of earlier criteria, and whether it is.
    pub fn gamma(&self) -> Option<(&Arc<GammaResult>, &GammaOfPair, Freshness)> {
        let node = self.nodes.node::<GammaOfPair>(ONLY)?;
        let (query, answer) = node.latest_with_query()?;
        // Without a pair an old gamma means nothing.
        node.now()?;
        Some((&answer.result, query, self.freshness(node.standing())))
    }

    /// The estimate for the criteria as they stand, while the full answer is not there.
    pub fn gamma_estimate(&self) -> Option<&GammaEstimate> {
        let full = self.nodes.node::<GammaOfPair>(ONLY)?;
        let estimate = self.nodes.node::<EstimateOfGamma>(ONLY)?;
        estimate.current().filter(|_| full.current().is_none())
    }

    /// Why there is no gamma for the doses and criteria as they stand.
    pub fn gamma_failure(&self) -> Option<&str> {
        self.nodes.node::<GammaOfPair>(ONLY)?.failure()
    }

    /// Histogram, structures and clusters, and whether they are up to date.
    pub fn gamma_figures(&self) -> Option<(&Arc<GammaByStructure>, Freshness)> {
        let node = self.nodes.node::<FiguresOfGamma>(ONLY)?;
        node.now()?;
        Some((node.latest()?, self.freshness(node.standing())))
    }

    fn freshness(&self, standing: Option<Standing>) -> Freshness {
        match standing {
            Some(Standing::Current) if !self.pair_is_behind() => Freshness::Current,
            _ => Freshness::Stale,
        }
    }
}

impl State {
    /// Whether gamma's percent are of a 100 % that is not defined.
    pub fn gamma_lacks_hundred(&self) -> bool {
        self.compare.gamma.norm == GammaNorm::Hundred && self.compare_reference().is_none()
    }
}
