//! A structure's DVHs in two doses, and the metrics that tell how its dose changed. The panel and the report of a comparison
//! list the same structures in the same order.

use super::Dvh;
use case::{Metric, Structure};

/// A structure with its DVHs in A and B.
#[derive(Clone, Copy, Debug)]
pub struct DvhPair<'a> {
    pub structure: &'a Structure,
    pub dvhs: [&'a Dvh; 2],
}

impl DvhPair<'_> {
    /// Metrics that measure a structure's dose change. The maximum is left out: it is the dose of one voxel.
    pub const CHANGES: [Metric; 3] = [Metric::MEAN, Metric::D95, Metric::D2];

    /// The metrics of a table of both doses; one in percent of volume at a relative dose needs a 100 %.
    pub fn metrics(reference_gy: Option<f64>) -> Vec<Metric> {
        let mut metrics = vec![Metric::MEAN, Metric::D95, Metric::D2, Metric::MAX];
        if reference_gy.is_some() {
            metrics.push(Metric::V95);
        }
        metrics
    }

    /// Value of a metric in A and in B, in its own unit; `None` where it is undefined.
    pub fn values(&self, metric: Metric, reference_gy: Option<f64>) -> [Option<f64>; 2] {
        self.dvhs.map(|dvh| dvh.metric(metric, reference_gy).ok())
    }

    /// Change of a metric from A to B, in its own unit.
    pub fn change(&self, metric: Metric, reference_gy: Option<f64>) -> Option<f64> {
        let [a, b] = self.values(metric, reference_gy);
        Some(b? - a?)
    }

    /// Dose change of a structure: the largest of its [`DvhPair::CHANGES`], Gy.
    pub fn change_gy(&self) -> f64 {
        Self::CHANGES
            .into_iter()
            .filter_map(|m| self.change(m, None).map(f64::abs))
            .fold(0.0, f64::max)
    }
}

/// Structures with the largest dose change first; equal changes keep their order.
pub fn changed_most_first<'a>(pairs: impl IntoIterator<Item = DvhPair<'a>>) -> Vec<DvhPair<'a>> {
    let mut pairs: Vec<DvhPair<'a>> = pairs.into_iter().collect();
    pairs.sort_by(|x, y| y.change_gy().total_cmp(&x.change_gy()));
    pairs
}
