//! The rays of a request for every device: in the frame of the attenuation's grid, mm from the centre of its
//! first voxel.

use super::content::Content;
use super::pixels::{Pixels, Region};
use super::request::{DrrError, DrrRequest, Integrator};
use crate::cache::Cache;
use crate::digest::Digest;
use geometry::walk::clipped;
use geometry::{Grid, Volume};
use glam::DVec3;
use std::sync::Arc;

/// A checked request: its rays as numbers. The pose moves the patient; here source and image are moved the other way.
#[derive(Clone, Debug)]
pub struct Rays {
    pub attenuation: Arc<Volume<f32>>,
    /// Numbers of the pixels, `row * columns + column`.
    pub indices: Arc<Vec<u32>>,
    pub columns: usize,
    /// The region, where all pixels of one are requested, row by row.
    pub region: Option<Region>,
    /// Longest step, mm; `None` for the exact sum.
    pub step_mm: Option<f64>,
    /// Through a card's texture filter.
    pub texture: bool,
    /// Content of the attenuation.
    pub content: Arc<Content>,
    /// A source and an image for each pose.
    pub images: Vec<Image>,
}

/// Source and image in the grid's frame, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image {
    pub source: DVec3,
    /// Centre of pixel (0, 0).
    pub origin: DVec3,
    pub column_step: DVec3,
    pub row_step: DVec3,
}

/// A ray in the grid's frame, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    pub from: DVec3,
    pub to: DVec3,
}

impl Image {
    /// The ray to a pixel of an image of `columns` columns. The same bits whatever the other pixels.
    pub fn ray(&self, pixel: u32, columns: usize) -> Ray {
        let (column, row) = (pixel as usize % columns, pixel as usize / columns);
        let to = self.origin + self.column_step * column as f64 + self.row_step * row as f64;
        Ray {
            from: self.source,
            to,
        }
    }
}

impl Ray {
    /// The part of it in a box, as fractions of its length (0 at the source, 1 at the pixel); `None` where there is none.
    pub fn clipped(&self, low: DVec3, high: DVec3) -> Option<[f64; 2]> {
        clipped(low, high, self.from, self.to - self.from)
    }
}

impl Rays {
    /// Images times pixels at most.
    const MOST: usize = 1 << 30;

    /// # Errors
    /// [`DrrError`] of the request.
    pub fn new(request: &DrrRequest, cache: &Cache) -> Result<Self, DrrError> {
        if request.poses.is_empty() {
            return Err(DrrError::NoPose);
        }
        if let Some(pose) = request
            .poses
            .iter()
            .find(|p| !(p.translation_mm.is_finite() && p.rotation_deg.is_finite()))
        {
            return Err(DrrError::Pose(pose.to_string()));
        }
        let grid = request.attenuation.grid();
        let step_mm = match request.integrator {
            Integrator::Exact => None,
            Integrator::Trilinear { step_mm } | Integrator::Texture { step_mm } => {
                Some(checked_step(step_mm, grid)?)
            }
        };
        let indices = request.pixels.indices(&request.projection)?;
        let (images, pixels) = (request.poses.len(), indices.len());
        if images.saturating_mul(pixels) > Self::MOST {
            return Err(DrrError::TooLarge { images, pixels });
        }
        let projection = &request.projection;
        let images = request.poses.iter().map(|pose| {
            let place = |p: DVec3| grid.local_from_patient(pose.undo(p, request.pose_centre_mm));
            let turned = pose.rotation().transpose();
            Image {
                source: place(projection.source_mm()),
                origin: place(projection.origin_mm()),
                column_step: grid.local_direction(turned * projection.column_step_mm()),
                row_step: grid.local_direction(turned * projection.row_step_mm()),
            }
        });
        let content = Content::cached(&request.attenuation, cache);
        let region = match request.pixels {
            Pixels::All => Some(Region::whole(projection)),
            Pixels::Region(region) => Some(region),
            Pixels::Subset { .. } | Pixels::List(_) => None,
        };
        Ok(Self {
            attenuation: content.clean(&request.attenuation),
            region,
            texture: matches!(request.integrator, Integrator::Texture { .. }),
            content,
            images: images.collect(),
            columns: projection.columns(),
            indices,
            step_mm,
        })
    }

    /// Rays to follow.
    pub fn count(&self) -> usize {
        self.images.len() * self.indices.len()
    }

    /// Equal requests have equal digests.
    pub fn digest(&self, cache: &Cache) -> String {
        let mut hash = Digest::default();
        hash.add_grid(self.attenuation.grid());
        hash.add_content(&self.attenuation, cache);
        hash.add(self.columns as u64);
        hash.add(u64::from(self.texture));
        hash.add(self.step_mm.unwrap_or_default().to_bits());
        for image in &self.images {
            [
                image.source,
                image.origin,
                image.column_step,
                image.row_step,
            ]
            .into_iter()
            .for_each(|v| hash.add_vector(v));
        }
        self.indices.iter().for_each(|&n| hash.add(u64::from(n)));
        hash.to_string()
    }

    /// The box of all voxels, in the grid's frame, mm.
    pub fn extent(grid: &Grid) -> [DVec3; 2] {
        let edges = [0, 1, 2].map(|axis| grid.edges_mm(axis));
        [
            DVec3::from([0, 1, 2].map(|a| edges[a][0])),
            DVec3::from([0, 1, 2].map(|a| edges[a][edges[a].len() - 1])),
        ]
    }

    /// Warnings about the positions of source and image: the volume behind the source or beyond the image, or across
    /// either, in some pose.
    pub fn warnings(&self) -> Vec<String> {
        let [low, high] = Self::extent(self.attenuation.grid());
        let corner = |n: usize| {
            DVec3::from([0, 1, 2].map(|axis| {
                if n >> axis & 1 == 0 {
                    low[axis]
                } else {
                    high[axis]
                }
            }))
        };
        let (mut behind, mut across, mut beyond, mut inside) = (0, 0, 0, 0);
        for image in &self.images {
            let normal = image.column_step.cross(image.row_step);
            let to_image = normal.dot(image.origin - image.source);
            // 0 at the source, 1 in the image's plane.
            let depths =
                [0, 1, 2, 3, 4, 5, 6, 7].map(|n| normal.dot(corner(n) - image.source) / to_image);
            let (nearest, farthest) = depths
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &d| {
                    (a.min(d), b.max(d))
                });
            if farthest <= 0.0 {
                behind += 1;
            } else if nearest >= 1.0 {
                beyond += 1;
            } else if nearest < 0.0 {
                inside += 1;
            } else if farthest > 1.0 {
                across += 1;
            }
        }
        let pose_count = self.images.len();
        let said = |count: usize, what: &str| {
            let poses = if pose_count > 1 {
                format!("in {count} of {pose_count} poses ")
            } else {
                String::new()
            };
            (count > 0).then(|| format!("{poses}{what}"))
        };
        [
            said(behind, "the volume lies behind the source: nothing is seen of it; look at pose and isocentre"),
            said(beyond, "the volume lies beyond the image: nothing is seen of it; look at the source to image distance"),
            said(inside, "the volume reaches behind the source: only what lies before it counts"),
            said(across, "the image's plane cuts through the volume: only what lies before it counts"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Steps to a ray at most: numbers up to twice that are whole in f32.
const MOST_STEPS: f64 = 4e6;

fn checked_step(step_mm: Option<f64>, grid: &Grid) -> Result<f64, DrrError> {
    let step = step_mm.unwrap_or(0.5 * smallest_side_mm(grid));
    if !(step.is_finite() && step > 0.0) {
        return Err(DrrError::Step(step));
    }
    let [low, high] = Rays::extent(grid);
    let min_step = (high - low).length() / MOST_STEPS;
    if step < min_step {
        Err(DrrError::StepTooSmall {
            step_mm: step,
            least_mm: min_step,
        })
    } else {
        Ok(step)
    }
}

fn smallest_side_mm(grid: &Grid) -> f64 {
    let [dx, dy] = grid.spacing_xy_mm();
    let planes = grid.planes_mm().windows(2).map(|w| w[1] - w[0]);
    planes.fold(dx.min(dy), f64::min)
}
