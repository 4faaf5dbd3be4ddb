//! The pose search: CMA-ES and Gauss-Newton over a pyramid of levels.

use super::check::check_place;
use super::error::RegistrationError;
use super::evidence::{Evidence, evidence, negative};
use super::metric::Sample;
use super::optimise::{
    CmaEs, CmaSettings, GaussNewton, PowellSettings, Quadratic, Range, powell, refine,
};
use super::request::{Found, Method, Request, Step};
use super::scene::{Coarseness, PyramidLevel};
use super::standing::doubts;
use super::view::Picture;
use case::Pose;
use engine::drr_gradient::{AXES, CorrelationAtPose, numbers, pose_of};
use engine::{Cancelled, Compute, JobControl};
use std::time::Instant;

/// Finds the pose, and how sure it is. `on_step` is called with each better pose, on the searching thread; it must be quick.
///
/// CT and X-rays become finer from level to level ([`SIDES_MM`]). Equal seeds give equal searches.
///
/// # Errors
/// [`RegistrationError`], including cancellation.
pub fn register(
    request: &Request,
    device: &Compute,
    control: &JobControl,
    on_step: &dyn Fn(&Step),
) -> Result<Found, RegistrationError> {
    let mut outcome = search(request, &SIDES_MM, device, control, on_step)?;
    let begin = Instant::now();
    outcome.evidence = evidence(request, &outcome.pose, device, control)?;
    outcome.doubts = doubts(request, &outcome);
    if !outcome.doubts.is_empty() {
        outcome.evidence.negative = negative(request, device, control)?.filter(|value: &f64| {
            *value >= request.metric.least_of_a_match() && *value > 2.0 * outcome.after
        });
        outcome.doubts = doubts(request, &outcome);
    }
    outcome
        .phases_ms
        .push(("evidence".to_owned(), begin.elapsed().as_secs_f64() * 1e3));
    control.report(1.0);
    Ok(outcome)
}

/// The search alone, over pyramid levels of these sides.
///
/// # Errors
/// As [`register`].
pub(super) fn search(
    request: &Request,
    sides_mm: &[f64],
    device: &Compute,
    control: &JobControl,
    on_step: &dyn Fn(&Step),
) -> Result<Found, RegistrationError> {
    let begin = Instant::now();
    check(request)?;
    let mut search = Search::new(request, control, on_step)?;
    search.run(device, sides_mm)?;
    Ok(search.found(begin, device))
}

/// Sides of voxels and pixels, level by level, mm; a CT's own where they are longer.
pub const SIDES_MM: [f64; 3] = [8.0, 4.0, 2.0];
/// Sides of the last level, whose metric is the search's.
pub const FINEST_MM: f64 = SIDES_MM[SIDES_MM.len() - 1];

/// Most and fewest compared pixels of a view.
pub(super) const MOST_PIXELS: usize = 10_000;
// With fewer pixels of a view the metric of a partial search is noise.
pub(super) const LEAST_PIXELS: usize = 256;
/// The part of the progress that is the search; the rest is its evidence.
const SEARCH_PART: f32 = 0.5;

/// A shift of one mm is like a turn of this many degrees: both move a point 100 mm away by one mm.
const DEG_LIKE_MM: f64 = 0.6;

/// Checks a request.
fn check(request: &Request) -> Result<(), RegistrationError> {
    if request.views.is_empty() {
        return Err(RegistrationError::NoImage);
    }
    if request.locked.iter().all(|l| *l) {
        return Err(RegistrationError::AllLocked);
    }
    let settings = [
        (
            "the reach of shifts",
            request.reach_mm,
            is_above_zero(request.reach_mm),
            "a number of mm above 0",
        ),
        (
            "the reach of turns",
            request.reach_deg,
            is_above_zero(request.reach_deg),
            "a number of degrees above 0",
        ),
        (
            "the share of pixels",
            request.share,
            is_above_zero(request.share) && request.share <= 1.0,
            "above 0 and at most 1",
        ),
    ];
    if let Some(&(what, value, _, must)) = settings.iter().find(|s| !s.2) {
        return Err(RegistrationError::Setting { what, value, must });
    }
    if let Some(&value) = numbers(&request.start).iter().find(|v| !v.is_finite()) {
        return Err(RegistrationError::Setting {
            what: "a number of the start",
            value,
            must: "finite",
        });
    }
    if request.method == Method::Gradient && !request.metric.has_gradient() {
        return Err(RegistrationError::NoSlopes {
            metric: request.metric.name(),
        });
    }
    let grid = request.attenuation.grid();
    request
        .views
        .iter()
        .try_for_each(|view| check_place(&view.radiograph, grid, &request.start, request.centre_mm))
}

fn is_above_zero(v: f64) -> bool {
    v.is_finite() && v > 0.0
}

struct Search<'a> {
    request: &'a Request,
    control: &'a JobControl,
    on_step: &'a dyn Fn(&Step),
    pictures: Vec<(String, Picture)>,
    free: Vec<usize>,
    pose: [f64; AXES],
    drrs: usize,
    before: f64,
    after: f64,
    /// Whether all values came from a card.
    on_card: bool,
    phases_ms: Vec<(String, f64)>,
}

impl<'a> Search<'a> {
    fn new(
        request: &'a Request,
        control: &'a JobControl,
        on_step: &'a dyn Fn(&Step),
    ) -> Result<Self, RegistrationError> {
        let pictures = request
            .views
            .iter()
            .map(|view| Ok((view.radiograph.label.clone(), view.picture()?)))
            .collect::<Result<_, RegistrationError>>()?;
        let free = (0..AXES).filter(|&a| !request.locked[a]).collect();
        let pose = numbers(&request.start);
        let phases_ms = Vec::new();
        Ok(Self {
            request,
            control,
            on_step,
            pictures,
            free,
            pose,
            drrs: 0,
            before: 0.0,
            after: 0.0,
            on_card: true,
            phases_ms,
        })
    }

    fn run(&mut self, device: &Compute, sides_mm: &[f64]) -> Result<(), RegistrationError> {
        let request = self.request;
        for (n, &side_mm) in sides_mm.iter().enumerate() {
            self.control.check()?;
            self.control
                .report(SEARCH_PART * (n + 1) as f32 / sides_mm.len() as f32);
            let mut started = Instant::now();
            let coarseness = Coarseness {
                side_mm,
                metric: request.metric,
                sample: Sample {
                    share: request.share,
                    seed: request.seed,
                },
                pixels: [LEAST_PIXELS, MOST_PIXELS],
            };
            let scene = PyramidLevel::new(
                &request.attenuation,
                &self.pictures,
                request.centre_mm,
                coarseness,
                device,
                self.control.cache(),
            )?;
            self.phase("prepare", side_mm, &mut started);
            let finest = n + 1 == sides_mm.len();
            if finest {
                self.before = self.value_at(&scene, request.start)?;
            }
            match request.method {
                Method::Auto if n == 0 => self.run_cma_es(&scene, side_mm)?,
                Method::Cma => self.run_cma_es(&scene, side_mm)?,
                _ => {}
            }
            match request.method {
                Method::Gradient => self.run_gauss_newton(&scene, side_mm)?,
                Method::Auto if request.metric.has_gradient() => {
                    self.run_gauss_newton(&scene, side_mm)?
                }
                Method::Auto | Method::Powell => self.powell(&scene, side_mm)?,
                Method::Cma => {}
            }
            if finest {
                self.after = self.value_at(&scene, pose_of(self.pose))?;
            }
            self.on_card &= scene.is_on_card();
            self.phase("search", side_mm, &mut started);
        }
        Ok(())
    }

    fn phase(&mut self, what: &str, side_mm: f64, started: &mut Instant) {
        self.phases_ms.push((
            format!("{what} {side_mm} mm"),
            started.elapsed().as_secs_f64() * 1e3,
        ));
        *started = Instant::now();
    }

    fn value_at(&mut self, scene: &PyramidLevel, pose: Pose) -> Result<f64, RegistrationError> {
        self.drrs += scene.views();
        match scene.value(&pose, self.control)? {
            Some(value) => Ok(value),
            None => Err(RegistrationError::NotSeen {
                image: self.pictures[0].0.clone(),
            }),
        }
    }

    fn step(&mut self, pose: Pose, metric: f64, side_mm: f64) {
        (self.on_step)(&Step {
            pose,
            metric,
            side_mm,
            drrs: self.drrs,
        });
    }

    fn pose_at(&self, x: &[f64]) -> Pose {
        let mut parameters = self.pose;
        for (value, &axis) in x.iter().zip(&self.free) {
            parameters[axis] = value * scale(axis);
        }
        pose_of(parameters)
    }

    fn here(&self) -> Vec<f64> {
        self.free.iter().map(|&a| self.pose[a] / scale(a)).collect()
    }

    fn range(&self, axis: usize) -> Range {
        let start = numbers(&self.request.start)[axis];
        let reach = if axis < 3 {
            self.request.reach_mm
        } else {
            self.request.reach_deg
        };
        Range {
            low: (start - reach) / scale(axis),
            high: (start + reach) / scale(axis),
        }
    }

    fn ranges(&self) -> Vec<Range> {
        self.free.iter().map(|&a| self.range(a)).collect()
    }

    fn run_cma_es(&mut self, scene: &PyramidLevel, side_mm: f64) -> Result<(), RegistrationError> {
        let first = side_mm == SIDES_MM[0];
        let alone = self.request.method == Method::Cma;
        let settings = CmaSettings {
            population: Some(if first { 20 } else { 12 }),
            generations: if alone { 60 } else { 25 },
            sigma: if first { 8.0 } else { 0.25 * side_mm },
            least_sigma: if alone {
                0.01 * side_mm
            } else {
                0.06 * side_mm
            },
            seed: self.request.seed,
        };
        let mut cma = CmaEs::new(&self.here(), &self.ranges(), settings);
        while let Some(points) = cma.ask() {
            let poses: Vec<Pose> = points.iter().map(|p| self.pose_at(p)).collect();
            let values = scene.values(&poses, self.control)?;
            self.drrs += poses.len() * scene.views();
            cma.tell(
                &values
                    .into_iter()
                    .map(|v| v.map_or(f64::NAN, |v| -v))
                    .collect::<Vec<_>>(),
            );
            if let Some(best) = cma.best() {
                let (pose, metric) = (self.pose_at(&best.point), -best.value);
                self.step(pose, metric, side_mm);
            }
        }
        if let Some(best) = cma.best() {
            // Where the search went on narrowing, the mean is nearer to the optimum than the best sample.
            let point = if alone { cma.mean() } else { &best.point };
            self.pose = numbers(&self.pose_at(point));
        }
        Ok(())
    }

    fn run_gauss_newton(
        &mut self,
        scene: &PyramidLevel,
        side_mm: f64,
    ) -> Result<(), RegistrationError> {
        let settings = GaussNewton {
            steps: 30,
            tolerance: 0.003 * side_mm,
            longest: 4.0 * side_mm,
        };
        let mut drrs = self.drrs;
        let mut best = f64::INFINITY;
        let refined = refine(&self.here(), &self.ranges(), settings, |x| {
            drrs += scene.views();
            let pose = self.pose_at(x);
            let Some(correlation) = scene.correlation(&pose, self.control)? else {
                return Ok(None);
            };
            let quadratic = self.quadratic(&correlation);
            if quadratic.value < best {
                best = quadratic.value;
                (self.on_step)(&Step {
                    pose,
                    metric: correlation.value,
                    side_mm,
                    drrs,
                });
            }
            Ok::<_, Cancelled>(Some(quadratic))
        })?;
        self.drrs = drrs;
        if let Some(best) = refined {
            self.pose = numbers(&self.pose_at(&best.point));
        }
        Ok(())
    }

    /// The distance to full similarity, in the optimiser's variables.
    fn quadratic(&self, correlation: &CorrelationAtPose) -> Quadratic {
        let s: Vec<f64> = self.free.iter().map(|&a| scale(a)).collect();
        let gradient = self
            .free
            .iter()
            .zip(&s)
            .map(|(&a, s)| -correlation.gradient[a] * s)
            .collect();
        Quadratic {
            value: 1.0 - correlation.value,
            gradient,
            matrix: self
                .free
                .iter()
                .zip(&s)
                .map(|(&a, sa): (&usize, &f64)| {
                    self.free
                        .iter()
                        .zip(&s)
                        .map(|(&b, sb)| correlation.matrix[a][b] * sa * sb)
                        .collect()
                })
                .collect(),
        }
    }

    fn powell(&mut self, scene: &PyramidLevel, side_mm: f64) -> Result<(), RegistrationError> {
        let settings = PowellSettings {
            step: side_mm,
            // After CMA-ES a radius of 0.02 of a side leaves 0.171 mm in place of 0.139 (mutual information), for few DRRs less.
            tolerance: 0.005 * side_mm,
            values: 400,
        };
        let mut drrs = self.drrs;
        let mut lowest = f64::INFINITY;
        let best = powell(&self.here(), &self.ranges(), settings, |x| {
            drrs += scene.views();
            let pose = self.pose_at(x);
            let cost = scene.value(&pose, self.control)?.map_or(f64::NAN, |v| -v);
            if cost < lowest {
                lowest = cost;
                (self.on_step)(&Step {
                    pose,
                    metric: -cost,
                    side_mm,
                    drrs,
                });
            }
            Ok::<_, Cancelled>(cost)
        })?;
        self.drrs = drrs;
        self.pose = numbers(&self.pose_at(&best.point));
        Ok(())
    }

    fn found(self, begin: Instant, device: &Compute) -> Found {
        let at_bound = std::array::from_fn(|axis| {
            let (range, x) = (self.range(axis), self.pose[axis] / scale(axis));
            !self.request.locked[axis] && (x <= range.low + 1e-6 || x >= range.high - 1e-6)
        });
        Found {
            pose: pose_of(self.pose),
            before: self.before,
            after: self.after,
            drrs: self.drrs,
            seconds: begin.elapsed().as_secs_f64(),
            phases_ms: self.phases_ms,
            at_bound,
            device: if self.on_card {
                device.to_string()
            } else {
                Compute::Cpu.to_string()
            },
            evidence: Evidence::default(),
            doubts: Vec::new(),
        }
    }
}

fn scale(axis: usize) -> f64 {
    if axis < 3 { 1.0 } else { DEG_LIKE_MM }
}
