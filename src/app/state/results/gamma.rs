//! Gamma of A and B for the current criteria: first an estimate from some of the points, then all points, then figures
//! by structure and cluster.

use super::CaseResults;
use super::needed::ONLY;
use crate::feature::compare::state::GammaNorm;
use crate::state::State;
use analysis::{GammaVerdict, Judged, Side, not_final};
use engine::gamma::GammaResult;
use results::{
    EstimateOfGamma, FiguresOfGamma, GammaByStructure, GammaEstimate, GammaOfPair, Node, Query,
    Standing,
};
use std::sync::Arc;

impl CaseResults {
    /// Gamma, possibly of earlier criteria, with its standing.
    pub fn gamma(&self) -> Option<(&Arc<GammaResult>, &GammaOfPair, Standing)> {
        let node = self.nodes.node::<GammaOfPair>(ONLY)?;
        let (query, answer) = node.latest_with_query()?;
        // Without a pair an old gamma is meaningless.
        node.now()?;
        Some((&answer.result, query, self.standing_of_pair(node)))
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

    /// Histogram, structures and clusters, with their standing.
    pub fn gamma_figures(&self) -> Option<(&Arc<GammaByStructure>, Standing)> {
        let node = self.nodes.node::<FiguresOfGamma>(ONLY)?;
        node.now()?;
        Some((node.latest()?, self.standing_of_pair(node)))
    }

    /// Gamma is stale as well where a dose of its pair is.
    fn standing_of_pair<Q: Query>(&self, node: &Node<Q>) -> Standing {
        match node.standing() {
            Some(Standing::Current) if !self.pair_is_behind() => Standing::Current,
            _ => Standing::Stale,
        }
    }
}

impl State {
    /// The verdict on gamma, or why there is none; `None` until gamma and its figures belong to the current doses and
    /// criteria.
    pub fn gamma_verdict(&self) -> Option<GammaVerdict> {
        let Some((result, query, Standing::Current)) = self.results.gamma() else {
            return None;
        };
        let Some((figures, Standing::Current)) = self.results.gamma_figures() else {
            return None;
        };
        let map = result.maps.first()?;
        let sides = Side::BOTH
            .map(Side::name)
            .into_iter()
            .zip(self.results.pair()?.map(|dose| &**dose));
        let judged = Judged {
            criterion: map.criterion,
            threshold_percent: query.threshold_percent,
            normalisation_gy: result.normalisation_gy,
            near_maximum_gy: figures.near_maximum_gy,
            counts: map.counts,
            measured: self.compare.gamma.measured && self.compare.may_be_measured(),
            in_part: false,
            not_final: not_final(sides),
        };
        Some(judged.verdict())
    }

    /// Whether gamma's percent refer to an undefined 100 %.
    pub fn gamma_lacks_hundred(&self) -> bool {
        self.compare.gamma.norm == GammaNorm::Hundred && self.compare_reference().is_none()
    }
}
