//! Gamma of A and B for the current criteria: first an estimate from some of the points, then all points, then figures
//! by structure and cluster.

use super::CaseResults;
use super::needed::ONLY;
use crate::app::state::State;
use crate::app::state::compare::GammaNorm;
use crate::engine::gamma::GammaResult;
use crate::results::{
    EstimateOfGamma, FiguresOfGamma, GammaByStructure, GammaEstimate, GammaOfPair, Standing,
};
use std::sync::Arc;

/// Whether gamma belongs to the current doses and criteria.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    Current,
    /// Gamma of earlier criteria or doses.
    Stale,
}

impl CaseResults {
    /// Gamma, possibly of earlier criteria, with its freshness.
    pub fn gamma(&self) -> Option<(&Arc<GammaResult>, &GammaOfPair, Freshness)> {
        let node = self.nodes.node::<GammaOfPair>(ONLY)?;
        let (query, answer) = node.latest_with_query()?;
        // Without a pair an old gamma is meaningless.
        node.now()?;
        Some((&answer.result, query, self.freshness(node.standing())))
    }

    /// The estimate for the current criteria, until the full result is available.
    pub fn gamma_estimate(&self) -> Option<&GammaEstimate> {
        let full = self.nodes.node::<GammaOfPair>(ONLY)?;
        let estimate = self.nodes.node::<EstimateOfGamma>(ONLY)?;
        estimate.current().filter(|_| full.current().is_none())
    }

    /// Why there is no gamma for the current doses and criteria.
    pub fn gamma_failure(&self) -> Option<&str> {
        self.nodes.node::<GammaOfPair>(ONLY)?.failure()
    }

    /// Histogram, structures and clusters, with their freshness.
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
    /// Whether gamma's percent refer to an undefined 100 %.
    pub fn gamma_lacks_hundred(&self) -> bool {
        self.compare.gamma.norm == GammaNorm::Hundred && self.compare_reference().is_none()
    }
}
