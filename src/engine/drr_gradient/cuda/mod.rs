//! DRRs with derivatives by pose, and what compares them with X-rays, on a card (`kernels/drr_gradient.cu`, `similarity.cu`): a
//! generation of poses in one launch, pictures that never leave the card.

use crate::JobControl;
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Device, Shape, int};
use crate::drr_gradient::level::{AXES, Compared, DrrWithGradient, Level, Shot};
use crate::drr_gradient::sums::{Features, PRODUCTS, Sums};
use similarity::Similarity;
mod similarity;

use bytemuck::{Pod, Zeroable};
use case::Pose;
use geometry::Projection;
use glam::DVec3;
use std::sync::Arc;

/// Threads that share a ray, as `LANES` of the kernels.
const LANES: usize = 8;
/// Threads of a block that follow rays, and that add features.
const RAY_THREADS: u32 = 128;
const SUM_THREADS: u32 = 256;
/// Blocks that share a group of features.
const PARTS: usize = 8;

/// `struct Shot` of `kernels/drr_gradient.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct CardShot {
    source: [f64; 3],
    first: [f64; 3],
    column: [f64; 3],
    row: [f64; 3],
}

/// `struct Scene` of `kernels/drr_gradient.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct CardScene {
    size: [i32; 3],
    rays: i32,
    views: i32,
    step_mm: f32,
    spacing_mm: [f32; 3],
}

/// `struct Feature` of `kernels/drr_gradient.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct CardFeature {
    plus: u32,
    minus: u32,
    fixed: f32,
    none: f32,
}

impl From<&Shot> for CardShot {
    fn from(shot: &Shot) -> Self {
        Self {
            source: shot.source.to_array(),
            first: (shot.origin - shot.source).to_array(),
            column: shot.column_step.to_array(),
            row: shot.row_step.to_array(),
        }
    }
}

/// A level and the rays of its views on a card.
pub struct LevelOnCard {
    scene: CardScene,
    level: Arc<Level>,
    values: Arc<Buffer<f32>>,
    projections: Vec<Projection>,
    centre_mm: DVec3,
    pixels: Buffer<[u16; 4]>,
    compared: Option<OnCard>,
}

/// [`Compared`] on a card.
enum OnCard {
    Correlation(Correlation),
    Similarity(Similarity),
}

/// Features of a correlation on the card.
struct Correlation {
    features: Buffer<CardFeature>,
    groups: Buffer<[u32; 2]>,
    /// Features of each group.
    counts: Vec<f64>,
}

impl LevelOnCard {
    /// Uploads a level and the rays of `views` (with their pixels, `row * columns + column`) to a card; with what
    /// their DRRs are compared with.
    pub fn prepare(
        device: &Device,
        level: &Arc<Level>,
        views: &[(Projection, &[u32])],
        centre_mm: DVec3,
        step_mm: f64,
        compared: Option<&Compared<'_>>,
    ) -> Result<Self, CudaError> {
        let mut card = device.lock();
        let mut pixels = Vec::new();
        for (view, (projection, of)) in views.iter().enumerate() {
            let columns = projection.columns() as u32;
            // An image has at most 32768 columns and rows.
            pixels.extend(
                of.iter()
                    .map(|n| [view as u16, (n % columns) as u16, (n / columns) as u16, 0]),
            );
        }
        card.fits_int("a list of rays", pixels.len() * LANES)?;
        let values = match level.key() {
            Some(key) => card.cached(key, |card| card.upload(level.values()))?,
            None => Arc::new(card.upload(level.values())?),
        };
        let scene = CardScene {
            size: level.size().map(int),
            rays: int(pixels.len()),
            views: int(views.len()),
            step_mm: step_mm as f32,
            spacing_mm: level.spacing_mm().as_vec3().to_array(),
        };
        let compared = match compared {
            Some(Compared::Correlation(features)) => Some(OnCard::Correlation(
                Correlation::upload(&mut card, features)?,
            )),
            Some(Compared::Information(views)) => Some(OnCard::Similarity(
                Similarity::information(&mut card, views)?,
            )),
            Some(Compared::Rank(views)) => {
                Some(OnCard::Similarity(Similarity::rank(&mut card, views)?))
            }
            None => None,
        };
        Ok(Self {
            scene,
            level: level.clone(),
            values,
            projections: views.iter().map(|v| v.0).collect(),
            centre_mm,
            pixels: card.upload(&pixels)?,
            compared,
        })
    }

    /// Line integrals, ray after ray, pose after pose.
    pub fn integrals(
        &self,
        device: &Device,
        poses: &[Pose],
        control: &JobControl,
    ) -> Result<Vec<f32>, CudaError> {
        control.check()?;
        let mut card = device.lock();
        let integrals = self.queue_integrals(&mut card, poses)?;
        card.download(&integrals)
    }

    /// Mutual information or rank correlation, view after view, pose after pose; of each `None` where it is undefined. Empty
    /// where DRRs are compared by neither.
    pub fn similarity(
        &self,
        device: &Device,
        poses: &[Pose],
        control: &JobControl,
    ) -> Result<Vec<Option<f64>>, CudaError> {
        control.check()?;
        let Some(OnCard::Similarity(similarity)) = &self.compared else {
            return Ok(Vec::new());
        };
        let mut card = device.lock();
        let integrals = self.queue_integrals(&mut card, poses)?;
        similarity.values(&mut card, &integrals, self.scene.rays, poses.len())
    }

    /// The correlation's sums, group after group, pose after pose. Empty where there is no correlation.
    pub fn sums(
        &self,
        device: &Device,
        poses: &[Pose],
        control: &JobControl,
    ) -> Result<Vec<Sums>, CudaError> {
        control.check()?;
        let Some(OnCard::Correlation(correlation)) = &self.compared else {
            return Ok(Vec::new());
        };
        let mut card = device.lock();
        let integrals = self.queue_integrals(&mut card, poses)?;
        let blocks = correlation.counts.len() * PARTS;
        let sums = card.alloc::<[f64; 3]>(poses.len() * blocks)?;
        let args = [
            Arg::from(&integrals),
            Arg::value(&self.scene.rays),
            Arg::from(&correlation.features),
            Arg::from(&correlation.groups),
            Arg::int(PARTS),
            Arg::from(&sums),
        ];
        let shape = Shape {
            blocks: [blocks as u32, poses.len() as u32, 1],
            threads: [SUM_THREADS, 1, 1],
        };
        card.launch("drr_gradient", "drr_sums", shape, &args)?;
        let sums = card.download(&sums)?;
        let groups = sums
            .chunks_exact(PARTS)
            .zip(correlation.counts.iter().cycle());
        Ok(groups
            .map(|(parts, &n)| Sums::of_values(n, added(parts)))
            .collect())
    }

    /// Sums of the correlation and of its derivatives at a pose, group after group. Empty where there is no correlation.
    pub fn products(
        &self,
        device: &Device,
        pose: &Pose,
        control: &JobControl,
    ) -> Result<Vec<Sums>, CudaError> {
        control.check()?;
        let Some(OnCard::Correlation(correlation)) = &self.compared else {
            return Ok(Vec::new());
        };
        let mut card = device.lock();
        let drr = self.queue_gradients(&mut card, pose)?;
        let blocks = correlation.counts.len() * PARTS;
        let sums = card.alloc::<[f64; PRODUCTS]>(blocks)?;
        let args = [
            Arg::from(&drr),
            Arg::value(&self.scene.rays),
            Arg::from(&correlation.features),
            Arg::from(&correlation.groups),
            Arg::int(PARTS),
            Arg::from(&sums),
        ];
        let shape = Shape {
            blocks: [blocks as u32, 1, 1],
            threads: [SUM_THREADS, 1, 1],
        };
        card.launch("drr_gradient", "drr_products", shape, &args)?;
        let sums = card.download(&sums)?;
        let groups = sums.chunks_exact(PARTS).zip(&correlation.counts);
        Ok(groups
            .map(|(parts, &n)| Sums::of_products(n, &added(parts)))
            .collect())
    }

    /// Line integrals at a pose with their derivatives, ray after ray.
    pub fn with_gradient(
        &self,
        device: &Device,
        pose: &Pose,
        control: &JobControl,
    ) -> Result<DrrWithGradient, CudaError> {
        control.check()?;
        let mut card = device.lock();
        let drr = self.queue_gradients(&mut card, pose)?;
        let values = card.download(&drr)?;
        let rays = self.pixels.count();
        let part = |n: usize| values[n * rays..(n + 1) * rays].to_vec();
        Ok(DrrWithGradient {
            integrals: part(0),
            gradient: std::array::from_fn(|axis| part(1 + axis)),
        })
    }

    /// `[1 + AXES][ray]`.
    fn queue_gradients(
        &self,
        card: &mut CardLock<'_>,
        pose: &Pose,
    ) -> Result<Buffer<f32>, CudaError> {
        let mut shots = Vec::new();
        let mut motions = Vec::new();
        for projection in &self.projections {
            shots.push(CardShot::from(&self.level.shot(
                projection,
                pose,
                self.centre_mm,
            )));
            motions.extend(
                self.level
                    .motion(projection, pose, self.centre_mm)
                    .iter()
                    .map(CardShot::from),
            );
        }
        let (shots, motions) = (card.upload(&shots)?, card.upload(&motions)?);
        let drr = card.alloc::<f32>((1 + AXES) * self.pixels.count())?;
        let args = [
            Arg::value(&self.scene),
            Arg::from(&*self.values),
            Arg::from(&shots),
            Arg::from(&motions),
            Arg::from(&self.pixels),
            Arg::from(&drr),
        ];
        card.launch("drr_gradient", "drr_gradients", self.shape(1), &args)?;
        Ok(drr)
    }

    fn queue_integrals(
        &self,
        card: &mut CardLock<'_>,
        poses: &[Pose],
    ) -> Result<Buffer<f32>, CudaError> {
        let shots: Vec<CardShot> = poses
            .iter()
            .flat_map(|pose| {
                self.projections
                    .iter()
                    .map(move |p| CardShot::from(&self.level.shot(p, pose, self.centre_mm)))
            })
            .collect();
        let shots = card.upload(&shots)?;
        let integrals = card.alloc::<f32>(poses.len() * self.pixels.count())?;
        let args = [
            Arg::value(&self.scene),
            Arg::from(&*self.values),
            Arg::from(&shots),
            Arg::from(&self.pixels),
            Arg::from(&integrals),
        ];
        card.launch(
            "drr_gradient",
            "drr_integrals",
            self.shape(poses.len()),
            &args,
        )?;
        Ok(integrals)
    }

    fn shape(&self, poses: usize) -> Shape {
        Shape::covering([self.pixels.count() * LANES, poses, 1], [RAY_THREADS, 1, 1])
    }
}

impl Correlation {
    fn upload(card: &mut CardLock<'_>, features: &Features) -> Result<Self, CudaError> {
        let feature_list: Vec<CardFeature> = (0..features.plus.len())
            .map(|n| CardFeature {
                plus: features.plus[n],
                minus: features.minus.get(n).copied().unwrap_or(features.plus[n]),
                fixed: features.fixed[n],
                none: 0.0,
            })
            .collect();
        card.fits_int("a list of features", feature_list.len())?;
        Ok(Self {
            features: card.upload(&feature_list)?,
            groups: card.upload(&features.groups)?,
            counts: (0..features.groups.len())
                .map(|g| features.count(g))
                .collect(),
        })
    }
}

/// Parts of a group, added in their order.
fn added<const N: usize>(parts: &[[f64; N]]) -> [f64; N] {
    let mut sum = [0.0; N];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
    }
    sum
}
