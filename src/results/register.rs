//! A CT before X-rays: its attenuation, the metric made ready, the metric of a pose.

use super::graph::{Access, Failure, Grade, Graph, Priority, Query};
use super::shared::Shared;
use case::{Ct, Pose};
use engine::drr::{DrrRequest, Integrator, Pixels, Spread, drr};
use engine::{Compute, DeviceChoice};
use geometry::{Projection, Volume};
use glam::DVec3;
use physics::AttenuationCurve;
use registration::{Metric, MetricEvaluator, View, range_of};
use std::sync::Arc;
use worker::Lane;

/// Pixels a DRR's black and white are taken from, and the step of their rays, mm.
const RANGE_PIXELS: usize = 1500;
const RANGE_STEP_MM: f64 = 3.0;

/// The attenuation of a CT, 1/mm.
#[derive(Clone, Debug)]
pub struct AttenuationOf {
    pub ct: Arc<Ct>,
    pub curve: AttenuationCurve,
}

impl PartialEq for AttenuationOf {
    fn eq(&self, other: &Self) -> bool {
        self.ct.hu.id() == other.ct.hu.id() && self.curve == other.curve
    }
}

impl Query for AttenuationOf {
    type Answer = Arc<Volume<f32>>;

    const PRIORITY: Option<Priority> = Some(Priority::Register(0));
    const LISTED: bool = true;

    fn name(&self) -> String {
        "Attenuation of the CT".to_owned()
    }

    fn answer(&self, _: &Access<'_>) -> Result<Arc<Volume<f32>>, Failure> {
        Ok(Arc::new(self.curve.attenuation(&self.ct.hu)))
    }
}

/// A metric of X-rays and DRRs, made ready for any pose.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricOf {
    pub attenuation: AttenuationOf,
    pub views: Vec<View>,
    /// Poses turn about it, patient LPS, mm.
    pub centre_mm: DVec3,
    pub metric: Metric,
    pub device: DeviceChoice,
}

#[derive(Clone, Debug)]
pub struct MetricReady {
    evaluator: Arc<MetricEvaluator>,
    /// Black and white of each view's DRR, at the pose planned.
    pub ranges: Vec<[f32; 2]>,
}

impl MetricOf {
    fn range(&self, projection: Projection, inputs: &Access<'_>) -> Result<[f32; 2], Failure> {
        let count = RANGE_PIXELS.min(projection.pixels());
        let request = DrrRequest {
            attenuation: inputs.get(&self.attenuation)?,
            projection,
            poses: vec![Pose::default()],
            pose_centre_mm: self.centre_mm,
            integrator: Integrator::Trilinear { step_mm: Some(RANGE_STEP_MM) },
            pixels: Pixels::Subset { region: None, count, spread: Spread::LowDiscrepancy, seed: 1 },
        };
        let drr = drr(&request, &Compute::Cpu, inputs.control());
        inputs.control().check()?;
        drr.map(|drr| range_of(drr.integrals)).map_err(Failure::here)
    }
}

impl Query for MetricOf {
    type Answer = MetricReady;

    const PRIORITY: Option<Priority> = Some(Priority::Register(1));
    const NOTICED: bool = false;

    fn name(&self) -> String {
        "Similarity metric of the X-rays".to_owned()
    }

    /// Before a card's full work.
    fn is_quick(&self) -> bool {
        self.device.is_for_cuda()
    }

    fn may_begin(&self, graph: &Graph) -> bool {
        graph.ready(&self.attenuation).is_some()
    }

    /// Without a card it has the other thread to itself.
    fn lane(&self, _: Grade) -> Lane {
        if self.device.is_for_cuda() { Lane::Device } else { Lane::Host }
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<MetricReady, Failure> {
        let Self { attenuation, views, centre_mm, metric, device } = self;
        let range = |view: &View| self.range(view.radiograph.projection, inputs);
        let ranges = views.iter().map(range).collect::<Result<_, _>>()?;
        let device = device.resolve_for_cuda().map_err(Failure::here)?;
        let attenuation = inputs.get(attenuation)?;
        let cache = inputs.control().cache();
        let evaluator = MetricEvaluator::new(&attenuation, views, *centre_mm, *metric, &device, cache);
        Ok(MetricReady { evaluator: Arc::new(evaluator.map_err(Failure::here)?), ranges })
    }
}

/// The metric of a pose; none where it is undefined (the DRR has one value only).
#[derive(Clone, Debug, PartialEq)]
pub struct MetricAtPose {
    pub metric: Shared<MetricOf>,
    pub pose: Pose,
}

impl Query for MetricAtPose {
    type Answer = Option<f64>;

    const PRIORITY: Option<Priority> = Some(Priority::Register(2));
    const GRADES: &'static [Grade] = &[Grade::Preview];
    const NOTICED: bool = false;

    fn name(&self) -> String {
        "Metric of a pose".to_owned()
    }

    fn lane(&self, grade: Grade) -> Lane {
        self.metric.lane(grade)
    }

    /// No newer pose cancels the job under way: none would end during a drag if it made the metric, too.
    fn may_begin(&self, graph: &Graph) -> bool {
        graph.ready(&*self.metric).is_some()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Option<f64>, Failure> {
        Ok(inputs.get(&*self.metric)?.evaluator.value(&self.pose, inputs.control())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{PixelMeaning, Radiograph};
    use engine::JobControl;
    use geometry::{Grid, PatientPosition};
    use physics::{CurveKind, HuTable};
    use registration::simulate;

    /// A block of bone off the middle of air.
    fn attenuation(mev: f64) -> AttenuationOf {
        let grid = Grid::axis_aligned(DVec3::splat(-57.0), DVec3::splat(6.0), [20; 3]).expect("a grid");
        let hu = |n: usize| {
            let at = grid.centre_mm(n % 20, n / 20 % 20, n / 400) - DVec3::new(12.0, -6.0, 9.0);
            if at.abs().max_element() < 24.0 { 700.0 } else { -1000.0 }
        };
        let hu = (0..grid.len()).map(hu).collect();
        let ct = Ct::unnamed(Arc::new(Volume::new(Arc::new(grid), hu)), PatientPosition::Hfs);
        let curve = AttenuationCurve::new(CurveKind::Water, &HuTable::shipped_default(), mev);
        AttenuationOf { ct: Arc::new(ct), curve }
    }

    fn metric(graph: &Graph, attenuation: &AttenuationOf, pose: Pose) -> MetricOf {
        let control = JobControl::new();
        let volume = graph.full(attenuation, &control).expect("an attenuation");
        let setup = simulate::imager(0.0, PatientPosition::Hfs, DVec3::ZERO);
        let exposure = simulate::Exposure::default();
        let xray =
            simulate::xray(&volume, setup, pose, &exposure, &Compute::Cpu, &control).expect("an X-ray");
        MetricOf {
            attenuation: attenuation.clone(),
            views: vec![View::new(Arc::new(xray))],
            centre_mm: DVec3::ZERO,
            metric: Metric::Ncc,
            device: DeviceChoice::Cpu,
        }
    }

    #[test]
    fn the_metric_is_best_at_the_pose_of_the_xray() {
        let (graph, control) = (Graph::default(), JobControl::new());
        let hidden = Pose::new([8.0, 0.0, -6.0], [0.0; 3]);
        let of = metric(&graph, &attenuation(0.07), hidden);
        let [low, high] = graph.full(&of, &control).expect("ready").ranges[0];
        assert!(low >= 0.0 && high > low + 0.5, "{low} {high}");
        let of = Shared::new(of, None);
        let at = |pose| graph.full(&MetricAtPose { metric: of.clone(), pose }, &control).expect("a value");
        let (there, away) = (at(hidden).expect("defined"), at(Pose::default()).expect("defined"));
        assert!(there > 0.95 && there > away + 0.02, "{there} {away}");
        assert_eq!(at(Pose::new([500.0, 0.0, 0.0], [0.0; 3])), None, "nothing of the CT is seen");
    }

    #[test]
    fn queries_are_equal_by_ct_curve_and_picture() {
        let graph = Graph::default();
        let (own, other) = (attenuation(0.07), attenuation(0.07));
        assert!(own == own.clone() && own != other, "another CT");
        let harder = AttenuationOf { curve: attenuation(0.1).curve, ..own.clone() };
        assert!(own != harder && graph.full(&own, &JobControl::new()).is_ok());
        let of = metric(&graph, &own, Pose::default());
        let part = of.views[0].clone().within(10..400, 10..300);
        assert!(of == of.clone() && of != metric(&graph, &own, Pose::default()), "another picture");
        let of_part = MetricOf { views: vec![part.clone()], ..of.clone() };
        assert!(of != of_part && of_part == MetricOf { views: vec![part], ..of.clone() });
        assert_ne!(of, MetricOf { metric: Metric::RankCorrelation, ..of.clone() });
    }

    #[test]
    fn a_picture_of_one_value_fails_in_words() {
        let (graph, control) = (Graph::default(), JobControl::new());
        let of = metric(&graph, &attenuation(0.07), Pose::default());
        let projection = of.views[0].radiograph.projection;
        let values = vec![3.0; projection.pixels()];
        let flat = Radiograph::new(values, PixelMeaning::Attenuation, projection, "flat.png");
        let of = MetricOf { views: vec![View::new(Arc::new(flat))], ..of };
        let failed = graph.full(&of, &control).expect_err("one value");
        assert!(matches!(&failed, Failure::Here(why) if why.contains("flat.png")), "{failed}");
        let at = MetricAtPose { metric: Shared::new(of, None), pose: Pose::default() };
        assert!(matches!(graph.full(&at, &control), Err(Failure::Below(why)) if why.contains("same value")));
    }
}
