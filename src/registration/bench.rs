//! Accuracy and time of registration: many random starts round hidden poses, evaluated by the mean target
//! registration error before and after (van de Kraats 2005, IEEE Trans. Med. Imaging 24:1177).

use super::error::RegistrationError;
use super::flipped::Flip;
use super::metric::Metric;
use super::request::{Found, Method, Request};
use super::search::register;
use super::simulate::{Exposure, attenuation, imager, xray};
use super::view::View;
use case::{Ct, PixelMeaning, Pose, Radiograph};
use engine::Random;
use engine::drr::DrrError;
use engine::{Compute, JobControl};
use geometry::Volume;
use glam::DVec3;
use physics::{AttenuationCurve, CurveKind, HuTable};
use std::sync::Arc;
use thiserror::Error;

/// A configuration of the search to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    pub name: &'static str,
    pub views: usize,
    /// Range of the uniformly distributed starts about the hidden pose, each shift and each turn.
    pub mm: f64,
    pub deg: f64,
    pub share: f64,
    pub metric: Metric,
    pub method: Method,
    pub fault: Fault,
}

/// Something wrong with the X-rays, so that no pose found is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    None,
    /// The last X-ray says another gantry angle than it was taken at, degrees.
    Gantry(f64),
    /// Bone is said to be dark for bright.
    TurnedRound,
    /// The X-rays are mirrored left to right.
    Mirrored,
}

const USUAL: Trial = Trial {
    name: "two",
    views: 2,
    mm: 20.0,
    deg: 15.0,
    share: 1.0,
    metric: Metric::GradientCorrelation,
    method: Method::Auto,
    fault: Fault::None,
};

/// The default trials.
pub const TRIALS: [Trial; 13] = [
    USUAL,
    Trial {
        name: "part",
        share: 0.05,
        ..USUAL
    },
    Trial {
        name: "far",
        mm: 40.0,
        deg: 25.0,
        ..USUAL
    },
    Trial {
        name: "one",
        views: 1,
        ..USUAL
    },
    Trial {
        name: "gradient",
        method: Method::Gradient,
        ..USUAL
    },
    Trial {
        name: "cma",
        method: Method::Cma,
        ..USUAL
    },
    Trial {
        name: "powell",
        method: Method::Powell,
        ..USUAL
    },
    Trial {
        name: "ncc",
        metric: Metric::Ncc,
        ..USUAL
    },
    Trial {
        name: "local-ncc",
        metric: Metric::LocalNcc,
        ..USUAL
    },
    Trial {
        name: "gradient-ncc",
        metric: Metric::GradientNcc,
        ..USUAL
    },
    Trial {
        name: "mi",
        metric: Metric::MutualInformation,
        ..USUAL
    },
    Trial {
        name: "rank",
        metric: Metric::RankCorrelation,
        ..USUAL
    },
    Trial {
        name: "rank-part",
        metric: Metric::RankCorrelation,
        share: 0.05,
        ..USUAL
    },
];

/// Trials that no search can pass, run where they are named: none of their poses counts as a match.
pub const FAULTY: [Trial; 8] = [
    Trial {
        name: "wrong-gantry",
        fault: Fault::Gantry(15.0),
        ..USUAL
    },
    Trial {
        name: "wrong-gantry-5",
        fault: Fault::Gantry(5.0),
        ..USUAL
    },
    Trial {
        name: "wrong-gantry-3",
        fault: Fault::Gantry(3.0),
        ..USUAL
    },
    Trial {
        name: "negative",
        fault: Fault::TurnedRound,
        ..USUAL
    },
    Trial {
        name: "negative-one",
        views: 1,
        fault: Fault::TurnedRound,
        ..USUAL
    },
    Trial {
        name: "mirrored",
        fault: Fault::Mirrored,
        ..USUAL
    },
    Trial {
        name: "mirrored-one",
        views: 1,
        fault: Fault::Mirrored,
        ..USUAL
    },
    Trial {
        name: "wrong-one",
        views: 1,
        fault: Fault::Gantry(15.0),
        ..USUAL
    },
];

/// One search: mean target registration errors, mm, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    pub start_mm: f64,
    pub end_mm: f64,
    pub seconds: f64,
    pub drrs: usize,
    /// Whether the pose counts as a match.
    pub is_match: bool,
    /// Evidence: the least metric of an image, the farthest pose of one alone, the pose of a search begun beside it, and the depth.
    pub image_metric: f64,
    pub alone_mm: f64,
    pub again_mm: f64,
    pub depth_mm: f64,
    /// Distance of the pose from the true one along the first image's beam, mm.
    pub depth_off_mm: f64,
}

impl Run {
    fn new(outcome: &Found, start_mm: f64, end_mm: f64, depth_off_mm: f64) -> Self {
        let images = || outcome.evidence.images.iter();
        Self {
            start_mm,
            end_mm,
            seconds: outcome.seconds,
            drrs: outcome.drrs,
            is_match: outcome.standing().is_match(),
            image_metric: images()
                .map(|image| image.metric)
                .fold(f64::INFINITY, f64::min),
            alone_mm: images()
                .filter_map(|image| image.alone)
                .map(|alone| alone.off_mm)
                .fold(0.0, f64::max),
            again_mm: outcome.evidence.again_mm,
            depth_mm: outcome.evidence.depth_mm.unwrap_or(0.0),
            depth_off_mm,
        }
    }
}

/// All searches of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub trial: Trial,
    pub runs: Vec<Run>,
}

/// Largest mean target registration error of a successful search, mm.
pub const FOUND_MM: f64 = 2.0;

impl Line {
    fn sorted(&self, value: impl Fn(&Run) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.runs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// The value that this share of the runs do not exceed.
    pub fn percentile(&self, share: f64, value: impl Fn(&Run) -> f64) -> f64 {
        let values = self.sorted(value);
        let rank =
            ((share * values.len() as f64).ceil() as usize).clamp(1, values.len().max(1)) - 1;
        values.get(rank).copied().unwrap_or(f64::NAN)
    }

    /// Runs whose pose counts as a match.
    pub fn matches(&self) -> usize {
        self.runs.iter().filter(|run| run.is_match).count()
    }

    /// Runs that start from `low` to below `high`, and the successful ones among them.
    pub fn found_from(&self, low: f64, high: f64) -> [usize; 2] {
        let runs: Vec<&Run> = self
            .runs
            .iter()
            .filter(|r| r.start_mm >= low && r.start_mm < high)
            .collect();
        [
            runs.iter().filter(|r| r.end_mm < FOUND_MM).count(),
            runs.len(),
        ]
    }
}

/// Why a bench has no result.
#[derive(Debug, Error)]
pub enum BenchError {
    #[error("the CT holds nothing denser than half of water; choose another")]
    NoBody,
    #[error(transparent)]
    Drr(#[from] DrrError),
    #[error(transparent)]
    Registration(#[from] RegistrationError),
}

/// CT, X-rays at hidden poses, and targets.
pub struct Bench {
    attenuation: Arc<Volume<f32>>,
    centre_mm: DVec3,
    targets_mm: Vec<DVec3>,
    hidden: Vec<(Pose, Vec<View>)>,
}

/// Hidden poses; the starts are shared among them.
const HIDDEN: usize = 4;
const TARGETS: usize = 200;
/// Greatest distance of targets, which are parts of the body, from the pose centre, mm.
const REGION_MM: f64 = 100.0;

impl Bench {
    /// Simulates X-rays of a CT from the front and from the side, at hidden poses within 10 mm and 5 degrees.
    ///
    /// # Errors
    /// [`BenchError`].
    pub fn new(ct: &Ct, device: &Compute, control: &JobControl) -> Result<Self, BenchError> {
        let curve = AttenuationCurve::new(
            CurveKind::Water,
            &HuTable::shipped_default(),
            AttenuationCurve::KILOVOLT_MEV,
        );
        let thresholded = Arc::new(curve.with_threshold(Some(-900.0)).attenuation(&ct.hu));
        let half_water = 0.01;
        let centre_mm = middle_of(&thresholded, half_water).ok_or(BenchError::NoBody)?;
        let mut random = Random::new(2012);
        let targets_mm =
            targets(&thresholded, half_water, centre_mm, &mut random).ok_or(BenchError::NoBody)?;
        let others = attenuation(&ct.hu);
        let mut hidden = Vec::new();
        for n in 0..HIDDEN {
            let pose = near(&Pose::default(), 10.0, 5.0, &mut random);
            let mut views = Vec::new();
            for (side, gantry) in [0.0, 90.0].into_iter().enumerate() {
                let exposure = Exposure {
                    seed: (2 * n + side) as u64,
                    ..Exposure::default()
                };
                let setup = imager(gantry, ct.position, centre_mm);
                views.push(View::new(Arc::new(xray(
                    &others, setup, pose, &exposure, device, control,
                )?)));
            }
            hidden.push((pose, views));
        }
        Ok(Self {
            attenuation: thresholded,
            centre_mm,
            targets_mm,
            hidden,
        })
    }

    /// The mean distance between the targets' positions at two poses, mm.
    pub fn error_mm(&self, a: &Pose, b: &Pose) -> f64 {
        self.targets_mm
            .iter()
            .map(|t: &DVec3| (a.apply(*t, self.centre_mm) - b.apply(*t, self.centre_mm)).length())
            .sum::<f64>()
            / self.targets_mm.len() as f64
    }

    /// Searches from `starts` random starts. `report` is called with each run.
    ///
    /// # Errors
    /// [`BenchError`].
    pub fn run(
        &self,
        trial: Trial,
        starts: usize,
        device: &Compute,
        control: &JobControl,
        report: &dyn Fn(&Run),
    ) -> Result<Line, BenchError> {
        let mut random = Random::new(94);
        let mut runs = Vec::new();
        for n in 0..starts {
            let (pose, views) = &self.hidden[n % self.hidden.len()];
            let start = near(pose, trial.mm, trial.deg, &mut random);
            let last = trial.views.min(views.len()) - 1;
            let views: Vec<View> = views
                .iter()
                .take(trial.views)
                .enumerate()
                .map(|(n, view): (usize, &View)| trial.fault.applied(view, n == last))
                .collect();
            let beam =
                (self.centre_mm - views[0].radiograph.projection.source_mm()).normalize_or_zero();
            let request = Request {
                start,
                metric: trial.metric,
                method: trial.method,
                share: trial.share,
                reach_mm: 2.0 * trial.mm,
                reach_deg: 2.0 * trial.deg,
                seed: n as u64,
                ..Request::new(self.attenuation.clone(), views, self.centre_mm)
            };
            let outcome = register(&request, device, control, &|_| ())?;
            let depth_off_mm = beam
                .dot(outcome.pose.translation_mm - pose.translation_mm)
                .abs();
            let [start_mm, end_mm] =
                [&start, &outcome.pose].map(|end_pose| self.error_mm(end_pose, pose));
            let run = Run::new(&outcome, start_mm, end_mm, depth_off_mm);
            report(&run);
            runs.push(run);
        }
        Ok(Line { trial, runs })
    }
}

impl Fault {
    fn applied(self, view: &View, is_last: bool) -> View {
        let source = &*view.radiograph;
        let radiograph = match (self, source.setup) {
            (Self::Gantry(deg), Some(mut setup)) if is_last => {
                setup.gantry_deg += deg;
                let projection = setup.projection().unwrap_or(source.projection);
                Radiograph {
                    setup: Some(setup),
                    projection,
                    ..source.clone()
                }
            }
            (Self::Mirrored, _) => return Flip::Columns.of_view(view),
            (Self::TurnedRound, _) => Radiograph {
                meaning: PixelMeaning::Attenuation,
                ..source.clone()
            },
            _ => return view.clone(),
        };
        View::new(Arc::new(radiograph))
    }
}

fn near(pose: &Pose, mm: f64, deg: f64, random: &mut Random) -> Pose {
    let mut three = |limit: f64| [(); 3].map(|()| random.between(-limit, limit));
    let (shift, turn) = (DVec3::from(three(mm)), DVec3::from(three(deg)));
    Pose {
        translation_mm: pose.translation_mm + shift,
        rotation_deg: pose.rotation_deg + turn,
    }
}

/// Centre of the voxels of more attenuation than `least`.
fn middle_of(attenuation: &Volume<f32>, threshold: f32) -> Option<DVec3> {
    let grid = attenuation.grid();
    let (mut sum, mut count) = (DVec3::ZERO, 0.0);
    // A subset of the voxels is enough to locate a body.
    for (n, _) in attenuation
        .data()
        .iter()
        .enumerate()
        .step_by(7)
        .filter(|(_, v)| **v > threshold)
    {
        sum += grid.centre_of_mm(n);
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}

fn targets(
    attenuation: &Volume<f32>,
    threshold: f32,
    centre_mm: DVec3,
    random: &mut Random,
) -> Option<Vec<DVec3>> {
    const TRIES: usize = 1_000_000;
    let mut one = || random.between(-REGION_MM, REGION_MM);
    let points = (0..TRIES).map(|_| DVec3::new(one(), one(), one()));
    let targets: Vec<DVec3> = points
        .filter(|p: &DVec3| {
            p.length() < REGION_MM
                && attenuation
                    .nearest(centre_mm + *p)
                    .is_some_and(|v| v > threshold)
        })
        .take(TARGETS)
        .map(|p| centre_mm + p)
        .collect();
    (targets.len() == TARGETS).then_some(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_runs() {
        let runs = vec![
            run_between(5.0, 0.1),
            run_between(15.0, 0.3),
            run_between(12.0, 5.0),
            run_between(25.0, 0.2),
        ];
        let line = Line { trial: USUAL, runs };
        assert_eq!(line.percentile(0.5, |r| r.end_mm), 0.2);
        assert_eq!(line.percentile(0.95, |r| r.end_mm), 5.0);
        assert_eq!(line.found_from(10.0, 20.0), [1, 2]);
        assert_eq!(line.found_from(0.0, f64::INFINITY), [3, 4]);
        assert_eq!(line.matches(), 3);
    }

    fn run_between(start_mm: f64, end_mm: f64) -> Run {
        Run {
            start_mm,
            end_mm,
            seconds: 1.0,
            drrs: 10,
            is_match: end_mm < FOUND_MM,
            image_metric: 0.9,
            alone_mm: 0.1,
            again_mm: 0.1,
            depth_mm: 1.0,
            depth_off_mm: 0.1,
        }
    }
}
