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
            integrator: Integrator::Trilinear {
                step_mm: Some(RANGE_STEP_MM),
            },
            pixels: Pixels::Subset {
                region: None,
                count,
                spread: Spread::LowDiscrepancy,
                seed: 1,
            },
        };
        let drr = drr(&request, &Compute::Cpu, inputs.control());
        inputs.control().check()?;
        drr.map(|drr| range_of(drr.integrals))
            .map_err(Failure::here)
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
        if self.device.is_for_cuda() {
            Lane::Device
        } else {
            Lane::Host
        }
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<MetricReady, Failure> {
        let Self {
            attenuation,
            views,
            centre_mm,
            metric,
            device,
        } = self;
        let ranges = views
            .iter()
            .map(|view| self.range(view.radiograph.projection, inputs));
        let ranges = ranges.collect::<Result<_, _>>()?;
        let device = device.resolve_for_cuda().map_err(Failure::here)?;
        let attenuation = inputs.get(attenuation)?;
        let cache = inputs.control().cache();
        let evaluator =
            MetricEvaluator::new(&attenuation, views, *centre_mm, *metric, &device, cache);
        Ok(MetricReady {
            evaluator: Arc::new(evaluator.map_err(Failure::here)?),
            ranges,
        })
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
        Ok(inputs
            .get(&*self.metric)?
            .evaluator
            .value(&self.pose, inputs.control())?)
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
        let grid =
            Grid::axis_aligned(DVec3::splat(-57.0), DVec3::splat(6.0), [20; 3]).expect("a grid");
        let offsets_mm = (0..grid.len())
            .map(|n| grid.centre_mm(n % 20, n / 20 % 20, n / 400) - DVec3::new(12.0, -6.0, 9.0));
        let hu = offsets_mm
            .map(|mm| {
                if mm.abs().max_element() < 24.0 {
                    700.0
                } else {
                    -1000.0
                }
            })
            .collect();
        let ct = Ct::unnamed(
            Arc::new(Volume::new(Arc::new(grid), hu)),
            PatientPosition::Hfs,
        );
        let curve = AttenuationCurve::new(CurveKind::Water, &HuTable::shipped_default(), mev);
        AttenuationOf {
            ct: Arc::new(ct),
            curve,
        }
    }

    fn metric(graph: &Graph, attenuation: &AttenuationOf, pose: Pose) -> MetricOf {
        let control = JobControl::new();
        let volume = graph.full(attenuation, &control).expect("an attenuation");
        let setup = simulate::imager(0.0, PatientPosition::Hfs, DVec3::ZERO);
        let exposure = simulate::Exposure::default();
        let xray = simulate::xray(&volume, setup, pose, &exposure, &Compute::Cpu, &control)
            .expect("an X-ray");
        MetricOf {
            attenuation: attenuation.clone(),
            views: vec![View::new(Arc::new(xray))],
            centre_mm: DVec3::ZERO,
            metric: Metric::Ncc,
            device: DeviceChoice::Cpu,
        }
    }

    fn metric_at(graph: &Graph, metric: &Shared<MetricOf>, pose: Pose) -> Option<f64> {
        graph
            .full(
                &MetricAtPose {
                    metric: metric.clone(),
                    pose,
                },
                &JobControl::new(),
            )
            .expect("a value")
    }

    #[test]
    fn the_metric_is_best_at_the_pose_of_the_xray() {
        let (graph, control) = (Graph::default(), JobControl::new());
        let hidden = Pose::new([8.0, 0.0, -6.0], [0.0; 3]);
        let query = metric(&graph, &attenuation(0.07), hidden);
        let [low, high] = graph.full(&query, &control).expect("ready").ranges[0];
        assert!(low >= 0.0 && high > low + 0.5, "{low} {high}");
        let query = Shared::new(query, None);
        let [hidden_value, planned_value] =
            [hidden, Pose::default()].map(|pose| metric_at(&graph, &query, pose).expect("defined"));
        assert!(
            hidden_value > 0.95 && hidden_value > planned_value + 0.02,
            "{hidden_value} {planned_value}"
        );
        let far = Pose::new([500.0, 0.0, 0.0], [0.0; 3]);
        assert_eq!(
            metric_at(&graph, &query, far),
            None,
            "nothing of the CT is seen"
        );
    }

    #[test]
    fn queries_are_equal_by_ct_curve_and_picture() {
        let graph = Graph::default();
        let (first, other) = (attenuation(0.07), attenuation(0.07));
        assert!(first == first.clone() && first != other, "another CT");
        let harder = AttenuationOf {
            curve: attenuation(0.1).curve,
            ..first.clone()
        };
        assert!(first != harder && graph.full(&first, &JobControl::new()).is_ok());
        let query = metric(&graph, &first, Pose::default());
        let part = query.views[0].clone().within(10..400, 10..300);
        assert!(
            query == query.clone() && query != metric(&graph, &first, Pose::default()),
            "another picture"
        );
        let query_of_part = MetricOf {
            views: vec![part.clone()],
            ..query.clone()
        };
        assert!(
            query != query_of_part
                && query_of_part
                    == MetricOf {
                        views: vec![part],
                        ..query.clone()
                    }
        );
        assert_ne!(
            query,
            MetricOf {
                metric: Metric::RankCorrelation,
                ..query.clone()
            }
        );
    }

    #[test]
    fn a_picture_of_one_value_fails_in_words() {
        let (graph, control) = (Graph::default(), JobControl::new());
        let query = metric(&graph, &attenuation(0.07), Pose::default());
        let projection = query.views[0].radiograph.projection;
        let values = vec![3.0; projection.pixels()];
        let flat = Radiograph::new(values, PixelMeaning::Attenuation, projection, "flat.png");
        let query = MetricOf {
            views: vec![View::new(Arc::new(flat))],
            ..query
        };
        let failed = graph.full(&query, &control).expect_err("one value");
        assert!(
            matches!(&failed, Failure::Here(why) if why.contains("flat.png")),
            "{failed}"
        );
        let at_pose = MetricAtPose {
            metric: Shared::new(query, None),
            pose: Pose::default(),
        };
        assert!(
            matches!(graph.full(&at_pose, &control), Err(Failure::Below(why)) if why.contains("same value"))
        );
    }
}
