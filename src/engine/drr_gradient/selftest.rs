//! DRRs of the pose search: line integrals on the CPU against samples in f64 one by one, and on a card these, their
//! derivatives and the measures against the CPU.

use crate::cuda::Device;
use crate::drr_gradient::cpu;
use crate::drr_gradient::cuda::LevelOnCard;
use crate::drr_gradient::level::Shot;
use crate::drr_gradient::{
    AXES, Compared, CorrelationAtPose, Features, Information, Level, Rank, Sums,
};
use crate::selftest::{Row, differences};
use crate::{Compute, DeviceError, JobControl, Random, phantom};
use case::Pose;
use geometry::Projection;
use glam::DVec3;
use std::sync::Arc;

const CASE: &str = "three balls, two views that differ in size";
/// Millionths of the greatest value of a row; measures of the very same integrals, whose counts are whole numbers.
const TOLERANCE: f64 = 100.0;
const SAME_INTEGRALS: f64 = 0.001;
const STEP_MM: f64 = 3.0;

pub(crate) fn rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let case = GradientCase::new(control).map_err(|why| call(&*why))?;
    match device {
        Compute::Cpu | Compute::Wgpu(_) => Ok(vec![case.row(
            device,
            "integral",
            "samples in f64",
            TOLERANCE,
            {
                let want: Vec<f64> = case
                    .poses
                    .iter()
                    .flat_map(|pose| case.sampled(pose))
                    .collect();
                let got = [case.integrals(control)?, case.integrals(control)?];
                let repeats = bits(&got[0]) == bits(&got[1]);
                (
                    got[0].iter().map(|v| f64::from(*v)).collect(),
                    want,
                    repeats,
                )
            },
        )]),
        Compute::Cuda(card) => case.on_card(device, card, control),
    }
}

fn call(why: &dyn std::error::Error) -> DeviceError {
    DeviceError::case("drr_gradient", why)
}

struct GradientCase {
    level: Arc<Level>,
    /// With their pixels.
    views: Vec<(Projection, Vec<u32>)>,
    centre_mm: DVec3,
    poses: Vec<Pose>,
    /// The X-rays at those pixels, view after view.
    xrays: Vec<Vec<f32>>,
}

/// Values, those wanted, and whether an equal run gave the same bits.
type Compare = (Vec<f64>, Vec<f64>, bool);

impl GradientCase {
    fn new(control: &JobControl) -> Result<Self, Box<dyn std::error::Error>> {
        // As many voxels along each axis as make an even number: else the middle samples of rays from face to opposite face lie in
        // a plane of voxel centres, where the gradients of the two sides differ.
        let level = Arc::new(Level::new(&phantom::balls()?, 3.9));
        let mut views = Vec::new();
        for (gantry_deg, every) in [(0.0, 1), (110.0, 3)] {
            let projection = phantom::view(gantry_deg, [3.0, 4.0], [71, 53])?;
            views.push((projection, (0..71 * 53).step_by(every).collect()));
        }
        let poses = vec![
            Pose::default(),
            Pose::new([7.0, -4.0, 11.0], [8.0, -13.0, 5.0]),
            Pose::new([-20.0, 15.0, -9.0], [-15.0, 3.0, 14.0]),
        ];
        let mut case = Self {
            level,
            views,
            centre_mm: DVec3::new(3.0, -2.0, 5.0),
            poses,
            xrays: Vec::new(),
        };
        let hidden = Pose::new([3.0, 2.0, -5.0], [-4.0, 6.0, 2.0]);
        let mut random = Random::new(5);
        for drr in case.drrs(&hidden, control)? {
            case.xrays.push(
                drr.iter()
                    .map(|v| v.powf(0.8) + 0.05 * random.unit() as f32)
                    .collect(),
            );
        }
        Ok(case)
    }

    fn shots(&self, pose: &Pose) -> impl Iterator<Item = (Shot, &[u32])> {
        self.views.iter().map(|(view, pixels)| {
            (
                self.level.shot(view, pose, self.centre_mm),
                pixels.as_slice(),
            )
        })
    }

    /// A DRR of each view by the CPU.
    fn drrs(&self, pose: &Pose, control: &JobControl) -> Result<Vec<Vec<f32>>, DeviceError> {
        Ok(self
            .shots(pose)
            .map(|(shot, pixels)| cpu::integrals(&self.level, &shot, pixels, STEP_MM, control))
            .collect::<Result<_, _>>()?)
    }

    /// By the CPU: ray after ray, pose after pose.
    fn integrals(&self, control: &JobControl) -> Result<Vec<f32>, DeviceError> {
        let mut drrs = Vec::new();
        for pose in &self.poses {
            drrs.extend(self.drrs(pose, control)?.concat());
        }
        Ok(drrs)
    }

    /// The middles of equal steps in f64, one by one.
    fn sampled(&self, pose: &Pose) -> Vec<f64> {
        let size = self.level.size();
        let ray = |shot: &Shot, pixel: u32| {
            let way = shot.way(pixel);
            let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
            for axis in 0..3 {
                let ends =
                    [0.0, (size[axis] - 1) as f64].map(|end| (end - shot.source[axis]) / way[axis]);
                enter = enter.max(ends[0].min(ends[1]));
                leave = leave.min(ends[0].max(ends[1]));
            }
            if enter >= leave {
                return 0.0;
            }
            let length_mm = (way * shot.spacing_mm).length() * (leave - enter);
            let steps = (length_mm / STEP_MM).ceil().max(1.0);
            (0..steps as usize)
                .map(|n| {
                    let alpha = enter + (leave - enter) * (n as f64 + 0.5) / steps;
                    self.trilinear(shot.source + way * alpha)
                })
                .sum::<f64>()
                * length_mm
                / steps
        };
        self.shots(pose)
            .flat_map(|(shot, pixels)| {
                pixels
                    .iter()
                    .map(move |&p| ray(&shot, p))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Value of the level at a voxel index within it.
    fn trilinear(&self, index: DVec3) -> f64 {
        let [nx, ny, nz] = self.level.size();
        let low = index.floor().clamp(
            DVec3::ZERO,
            DVec3::new(nx as f64, ny as f64, nz as f64) - 2.0,
        );
        let part = index - low;
        let mut sum = 0.0;
        for corner in 0..8 {
            let up = DVec3::new(
                f64::from(corner & 1),
                f64::from(corner >> 1 & 1),
                f64::from(corner >> 2),
            );
            let weight = (up * part + (1.0 - up) * (1.0 - part)).element_product();
            let [i, j, k] = (low + up).to_array().map(|n| n as usize);
            sum += weight * f64::from(self.level.values()[(k * ny + j) * nx + i]);
        }
        sum
    }

    fn work(&self, card: &Device, compared: &Compared<'_>) -> Result<LevelOnCard, DeviceError> {
        let views: Vec<(Projection, &[u32])> =
            self.views.iter().map(|v| (v.0, v.1.as_slice())).collect();
        Ok(LevelOnCard::prepare(
            card,
            &self.level,
            &views,
            self.centre_mm,
            STEP_MM,
            Some(compared),
        )?)
    }

    fn on_card(
        &self,
        device: &Compute,
        card: &Device,
        control: &JobControl,
    ) -> Result<Vec<Row>, DeviceError> {
        let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|v| f64::from(*v)).collect() };
        let features = self.features();
        let work = self.work(card, &Compared::Correlation(features.clone()))?;
        let on_cpu = self.integrals(control)?;
        let got = [
            work.integrals(card, &self.poses, control)?,
            work.integrals(card, &self.poses, control)?,
        ];
        let repeats = bits(&got[0]) == bits(&got[1]);
        let mut rows = vec![self.row(
            device,
            "integral",
            "cpu",
            TOLERANCE,
            (wide(&got[0]), wide(&on_cpu), repeats),
        )];
        rows.push(self.row(
            device,
            "gradient",
            "cpu",
            TOLERANCE,
            self.gradient(card, &work, &features, control)?,
        ));
        let groups = features.groups.len();
        let on_card = &got[0];
        let correlations = |integrals: &[f32]| -> Vec<f64> {
            integrals
                .chunks_exact(integrals.len() / self.poses.len())
                .flat_map(|drrs| {
                    (0..groups)
                        .map(|g| value(features.sums(g, drrs).correlation()))
                        .collect::<Vec<_>>()
                })
                .collect()
        };
        let sums = || work.sums(card, &self.poses, control);
        let got: Vec<f64> = sums()?
            .iter()
            .map(|sums| value(sums.correlation()))
            .collect();
        let again: Vec<f64> = sums()?
            .iter()
            .map(|sums| value(sums.correlation()))
            .collect();
        let compare = (got.clone(), correlations(&on_cpu), got == again);
        rows.push(self.row(device, "ncc", "cpu", TOLERANCE, compare));

        let information: Vec<Information> = self
            .xrays
            .iter()
            .filter_map(|x| Information::new(x))
            .collect();
        let work = self.work(card, &Compared::Information(information.iter().collect()))?;
        let cpu =
            |integrals: &[f32]| self.each_view(integrals, |view, drr| information[view].value(drr));
        rows.extend(self.similarity(
            device,
            card,
            "mi",
            &work,
            [cpu(&on_cpu), cpu(on_card)],
            control,
        )?);

        let ranks: Vec<Rank> = self.xrays.iter().filter_map(|x| Rank::new(x)).collect();
        let work = self.work(card, &Compared::Rank(ranks.iter().collect()))?;
        let cpu = |integrals: &[f32]| self.each_view(integrals, |view, drr| ranks[view].value(drr));
        rows.extend(self.similarity(
            device,
            card,
            "rank",
            &work,
            [cpu(&on_cpu), cpu(on_card)],
            control,
        )?);
        Ok(rows)
    }

    /// The card's measures against the CPU's, of the CPU's integrals and of the card's. A pose alone has the same bits.
    fn similarity(
        &self,
        device: &Compute,
        card: &Device,
        way: &'static str,
        work: &LevelOnCard,
        [of_cpu, of_card]: [Vec<f64>; 2],
        control: &JobControl,
    ) -> Result<[Row; 2], DeviceError> {
        let got: Vec<f64> = work
            .similarity(card, &self.poses, control)?
            .into_iter()
            .map(value)
            .collect();
        let mut alone = Vec::new();
        for pose in &self.poses {
            alone.extend(
                work.similarity(card, std::slice::from_ref(pose), control)?
                    .into_iter()
                    .map(value),
            );
        }
        let repeats = got == alone;
        Ok([
            self.row(
                device,
                way,
                "cpu",
                TOLERANCE,
                (got.clone(), of_cpu, repeats),
            ),
            self.row(
                device,
                way,
                "cpu, same DRRs",
                SAME_INTEGRALS,
                (got, of_card, repeats),
            ),
        ])
    }

    /// Measure of each view at each pose.
    fn each_view(
        &self,
        integrals: &[f32],
        measure: impl Fn(usize, &[f32]) -> Option<f64>,
    ) -> Vec<f64> {
        let mut remaining = integrals;
        let mut measures = Vec::new();
        for _ in &self.poses {
            for (view, (_, pixels)) in self.views.iter().enumerate() {
                let (view_integrals, others) = remaining.split_at(pixels.len());
                measures.push(value(measure(view, view_integrals)));
                remaining = others;
            }
        }
        measures
    }

    /// A group of values and one of differences in each view.
    fn features(&self) -> Features {
        let mut all_features = Features::default();
        let mut rays = 0;
        for xray in &self.xrays {
            let count = xray.len() as u32;
            let plus: Vec<u32> = (0..count).chain(1..count).collect();
            // The first group's differences are from a ray beside the patient.
            let minus: Vec<u32> = (0..count)
                .map(|n| u32::from(n == 0))
                .chain(0..count - 1)
                .collect();
            let mut fixed: Vec<f32> = plus
                .iter()
                .zip(&minus)
                .map(|(&p, &m)| xray[p as usize] - xray[m as usize])
                .collect();
            let groups = vec![[0, count], [count, 2 * count - 1]];
            for &[begin, end] in &groups {
                let group = &mut fixed[begin as usize..end as usize];
                let mean = group.iter().sum::<f32>() / group.len() as f32;
                let square = group.iter().map(|f| (f - mean).powi(2)).sum::<f32>();
                group
                    .iter_mut()
                    .for_each(|f| *f = (*f - mean) / square.sqrt());
            }
            all_features.extend(
                &Features {
                    plus,
                    minus,
                    fixed,
                    groups,
                },
                rays,
            );
            rays += count;
        }
        all_features
    }

    /// Each group's correlation, its gradient and its matrix, the gradient and the matrix as parts of their greatest.
    fn gradient(
        &self,
        card: &Device,
        work: &LevelOnCard,
        features: &Features,
        control: &JobControl,
    ) -> Result<Compare, DeviceError> {
        let (mut got, mut want, mut repeats) = (Vec::new(), Vec::new(), true);
        for pose in &self.poses {
            let of_card = work.products(card, pose, control)?;
            repeats &= of_card == work.products(card, pose, control)?;
            let mut derivatives_by_axis: [Vec<f32>; AXES] = Default::default();
            let mut integrals = Vec::new();
            for ((shot, pixels), (view, _)) in self.shots(pose).zip(&self.views) {
                let motion = self.level.motion(view, pose, self.centre_mm);
                let drr =
                    cpu::with_gradient(&self.level, &shot, &motion, pixels, STEP_MM, control)?;
                integrals.extend(drr.integrals);
                derivatives_by_axis
                    .iter_mut()
                    .zip(drr.gradient)
                    .for_each(|(derivatives, of_view)| derivatives.extend(of_view));
            }
            let derivatives = std::array::from_fn(|axis| derivatives_by_axis[axis].as_slice());
            for (group, sums) in of_card.iter().enumerate() {
                let expected = numbers_of(&features.products(group, &integrals, &derivatives));
                let greatest = |from: usize, to: usize| {
                    expected[from..to]
                        .iter()
                        .fold(0.0_f64, |a, b| a.max(b.abs()))
                };
                let scales = [
                    1.0,
                    greatest(1, 1 + AXES),
                    greatest(1 + AXES, expected.len()),
                ];
                let scale = |n: usize| scales[usize::from(n > 0) + usize::from(n > AXES)];
                got.extend(
                    numbers_of(sums)
                        .iter()
                        .enumerate()
                        .map(|(n, v)| v / scale(n)),
                );
                want.extend(expected.iter().enumerate().map(|(n, v)| v / scale(n)));
            }
        }
        Ok((got, want, repeats))
    }

    fn row(
        &self,
        device: &Compute,
        way: &'static str,
        against: &'static str,
        tolerance: f64,
        (got, want, repeats): Compare,
    ) -> Row {
        let greatest = want.iter().fold(f64::MIN_POSITIVE, |a, &b| a.max(b.abs()));
        let (worst, mean) = differences(&got, &want);
        Row {
            job: "pose",
            case: CASE.to_owned(),
            device: device.to_string(),
            way,
            against,
            worst: 1e6 * worst / greatest,
            mean: 1e6 * mean / greatest,
            tolerance,
            unit: "ppm",
            repeats,
        }
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// An undefined measure is NaN, which differs from every number.
fn value(measure: Option<f64>) -> f64 {
    measure.unwrap_or(f64::NAN)
}

/// Value, gradient and matrix of a group.
fn numbers_of(sums: &Sums) -> Vec<f64> {
    let mut at_pose = CorrelationAtPose::default();
    if !sums.add_to(&mut at_pose, 1.0) {
        return vec![f64::NAN];
    }
    [at_pose.value]
        .into_iter()
        .chain(at_pose.gradient)
        .chain(at_pose.matrix.into_iter().flatten())
        .collect()
}
