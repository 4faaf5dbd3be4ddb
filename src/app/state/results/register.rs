//! Results of the Register workspace: the CT's attenuation, the metric of the pose on show.

use super::CaseResults;
use super::needed::ONLY;
use crate::state::{State, Workspace};
use geometry::Volume;
use results::{AttenuationOf, MetricAtPose, MetricOf, Shared};
use std::sync::Arc;

impl CaseResults {
    /// The CT's attenuation, 1/mm, be it as HU were read before.
    pub fn attenuation(&self) -> Option<&Arc<Volume<f32>>> {
        self.nodes.node::<AttenuationOf>(ONLY)?.latest()
    }

    /// The CT's attenuation as the settings read its HU; `None` while it is computed: a search starts from no older one.
    pub fn current_attenuation(&self) -> Option<&Arc<Volume<f32>>> {
        self.nodes.node::<AttenuationOf>(ONLY)?.current()
    }

    /// Black and white of the DRR of image number `image`; before they are known, of a chest.
    pub fn drr_range(&self, image: usize) -> [f32; 2] {
        let ready = self
            .nodes
            .node::<MetricOf>(ONLY)
            .and_then(|node| node.latest());
        ready
            .and_then(|ready| ready.ranges.get(image))
            .copied()
            .unwrap_or([0.0, 6.0])
    }

    /// Why there is no metric.
    pub fn metric_failure(&self) -> Option<&str> {
        self.nodes.node::<MetricOf>(ONLY)?.failure()
    }
}

impl State {
    /// The attenuation, the metric of the X-rays on show and its value at the pose on show.
    pub(super) fn note_register(&mut self) {
        if self.workspace != Workspace::Register {
            return;
        }
        let (case, register, results) = (self.history.case(), &self.register, &mut self.results);
        let ct = case.ct.as_ref().filter(|_| !register.images().is_empty());
        if ct.is_none() {
            // An attenuation takes as much memory as the CT: it is not held for X-rays that are gone.
            results.nodes.forget::<AttenuationOf>();
            results.nodes.forget::<MetricOf>();
            results.nodes.forget::<MetricAtPose>();
            return;
        }
        let attenuation = ct.map(|ct| AttenuationOf {
            ct: Arc::clone(ct),
            curve: register.reading.curve(&results.settings.hu_table),
        });
        let metric = attenuation.clone().map(|attenuation| MetricOf {
            attenuation,
            views: register.images().iter().map(|image| image.view()).collect(),
            centre_mm: register.centre_mm(case),
            metric: register.metric,
            device: results.settings.device,
        });
        let previous = results
            .nodes
            .entry::<MetricAtPose>(ONLY)
            .now()
            .map(|value| value.metric.clone());
        let value = metric.clone().map(|metric| MetricAtPose {
            metric: Shared::new(metric, previous.as_ref()),
            pose: register.shown_pose(),
        });
        results.nodes.entry(ONLY).set(attenuation);
        results.nodes.entry(ONLY).set(metric);
        results.nodes.entry(ONLY).set(value);
    }

    /// The newest value of the metric with whether it is of the pose on show. `None` before there is any of the X-rays on show,
    /// and where it is undefined.
    pub fn metric_value(&self) -> Option<(f64, bool)> {
        if let Some(step) = self.register.best() {
            return Some((step.metric, true));
        }
        let node = self.results.nodes.node::<MetricAtPose>(ONLY)?;
        let (query, value) = node.latest_with_query()?;
        let is_of_images = node.now()?.metric.views == query.metric.views;
        let is_now = node.current().is_some() && query.pose == self.register.shown_pose();
        value.filter(|_| is_of_images).map(|value| (value, is_now))
    }

    /// Adds a value of the metric that has come to its curve.
    pub fn note_metric(&mut self) {
        let value = self
            .results
            .nodes
            .node::<MetricAtPose>(ONLY)
            .and_then(|node| node.latest());
        if let Some(value) = value.copied().flatten() {
            self.register.note_value(value);
        }
    }
}
