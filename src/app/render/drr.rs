//! The compute pipelines of `kernels/drr.wgsl`: DRRs and silhouettes of the patient in a pose on a flat image, written
//! into textures that `radiograph` shows. Each is cached until pose, image, volume or the requested fineness changes.

use super::Fineness;
use super::rays::{CastUniform, RayShader, Sheet, Target};
use super::textures::{Kind, Layouts, Textures};
use case::Pose;
use egui_wgpu::wgpu;
use geometry::{Grid, Mask, Projection, Volume, VolumeId};
use glam::DVec3;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) const SOURCE: &str = concat!(
    include_str!("../../../kernels/grid.wgsl"),
    include_str!("../../../kernels/rays.wgsl"),
    include_str!("../../../kernels/drr.wgsl")
);

/// Frames after which an unused picture is evicted.
const FRAMES_KEPT: u64 = 120;

/// Projection of a DRR, and pose of the patient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrrView {
    pub projection: Projection,
    pub pose: Pose,
    /// Centre of rotation of the pose, patient LPS, mm.
    pub centre_mm: DVec3,
    pub fineness: Fineness,
    /// Full floats filtered in the shader, instead of half floats filtered by the hardware.
    pub exact: bool,
}

impl DrrView {
    /// Most texels along the longer side, and the step in mm; steps below half a voxel add no detail.
    fn spacing(&self, grid: &Grid) -> (usize, f64) {
        let [dx, dy] = grid.spacing_xy_mm();
        let least_mm = grid
            .planes_mm()
            .windows(2)
            .map(|w| w[1] - w[0])
            .fold(dx.min(dy), f64::min);
        let (max_texels, step_mm) = match self.fineness {
            Fineness::Coarse => (176, 4.0_f64),
            Fineness::Medium => (512, 1.5),
            Fineness::Fine => (1024, 0.0),
        };
        (max_texels, step_mm.max(0.5 * least_mm))
    }

    /// Pixels of the image along the side of a texel.
    fn pixels_per_texel(&self, grid: &Grid) -> usize {
        let longer = self.projection.columns().max(self.projection.rows());
        longer.div_ceil(self.spacing(grid).0)
    }

    /// The rays, with the inverse pose applied to source and image instead of the pose to the patient.
    fn sheet(&self, grid: &Grid) -> Sheet {
        let image = &self.projection;
        let k = self.pixels_per_texel(grid);
        let middle = 0.5 * (k as f64 - 1.0);
        let back = self.pose.rotation().transpose();
        let [source_mm, first_mm] = [image.source_mm(), image.pixel_mm(middle, middle)]
            .map(|p| self.pose.undo(p, self.centre_mm));
        Sheet {
            source_mm,
            first_mm,
            right_mm: back * image.column_step_mm() * k as f64,
            down_mm: back * image.row_step_mm() * k as f64,
            texels: [
                image.columns().div_ceil(k) as u32,
                image.rows().div_ceil(k) as u32,
            ],
            step_mm: self.spacing(grid).1,
        }
    }
}

/// The subject of a picture, and its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Attenuation(usize),
    /// Address of a mask that the picture keeps alive.
    Mask(usize, usize),
}

/// A texture with a description of its contents.
pub(super) struct Picture {
    view: DrrView,
    volume: Option<VolumeId>,
    target: Target,
    pub(super) pixels_per_texel: usize,
    _mask: Option<Arc<Mask>>,
    last_frame: u64,
}

impl Picture {
    /// The texture's view, for reading by texels.
    pub(super) fn shown(&self) -> &wgpu::TextureView {
        &self.target.view
    }

    /// The texture's view, and the pixels of the image along the side of a texel.
    pub(super) fn drawn(&self) -> (wgpu::TextureView, usize) {
        (self.shown().clone(), self.pixels_per_texel)
    }
}

pub(super) struct DrrCaster {
    shader: RayShader,
    filtered: wgpu::ComputePipeline,
    exact: wgpu::ComputePipeline,
    silhouette: wgpu::ComputePipeline,
    pictures: HashMap<Subject, Picture>,
    frame: u64,
    casts: u64,
}

impl DrrCaster {
    pub(super) fn new(device: &wgpu::Device, queue: &wgpu::Queue, layouts: &Layouts) -> Self {
        let shader = RayShader::new(device, queue, "drr", SOURCE, wgpu::TextureFormat::R32Float);
        Self {
            filtered: shader.pipeline("filtered", &layouts.smooth),
            exact: shader.pipeline("exact", &layouts.exact),
            silhouette: shader.pipeline("silhouette", &layouts.exact),
            shader,
            pictures: HashMap::new(),
            frame: 0,
            casts: 0,
        }
    }

    /// Pictures cast since the start.
    pub(super) fn casts(&self) -> u64 {
        self.casts
    }

    /// The line integrals of attenuation (1/mm) on image number `image`, at least as fine as requested. `None` if the
    /// volume cannot be uploaded.
    pub(super) fn drr(
        &mut self,
        textures: &mut Textures,
        image: usize,
        attenuation: &Arc<Volume<f32>>,
        view: &DrrView,
    ) -> Option<&Picture> {
        let subject = Subject::Attenuation(image);
        let id = Some(attenuation.id());
        if !self.keeps(subject, id, view) {
            let kind = if view.exact { Kind::Dose } else { Kind::Ct };
            let volume = textures.volume(attenuation, kind)?;
            let uniform = CastUniform::of_grid(attenuation.grid(), &view.sheet(attenuation.grid()));
            self.cast(
                subject,
                id,
                attenuation.grid(),
                view,
                &uniform,
                &volume,
                None,
            );
        }
        self.pictures.get(&subject)
    }

    /// The largest coverage of a structure's mask on the rays to image number `image`, 0 to 1.
    pub(super) fn silhouette(
        &mut self,
        textures: &mut Textures,
        image: usize,
        mask: &Arc<Mask>,
        view: &DrrView,
    ) -> Option<&Picture> {
        let subject = Subject::Mask(image, Arc::as_ptr(mask) as usize);
        if !self.keeps(subject, None, view) {
            let volume = textures.mask(mask)?;
            let uniform = CastUniform::of_mask(mask, &view.sheet(mask.grid()));
            self.cast(
                subject,
                None,
                mask.grid(),
                view,
                &uniform,
                &volume,
                Some(Arc::clone(mask)),
            );
        }
        self.pictures.get(&subject)
    }

    /// Sends off the casts of a view.
    pub(super) fn submit(&mut self) {
        self.shader.submit();
    }

    /// Sets the number of the frame to be drawn.
    pub(super) fn begin_frame(&mut self, frame: u64) {
        if frame != self.frame {
            self.frame = frame;
            self.pictures
                .retain(|_, p| frame.saturating_sub(p.last_frame) <= FRAMES_KEPT);
        }
    }

    fn keeps(&mut self, subject: Subject, volume: Option<VolumeId>, view: &DrrView) -> bool {
        let Some(picture) = self.pictures.get_mut(&subject) else {
            return false;
        };
        picture.last_frame = self.frame;
        let same = DrrView {
            fineness: view.fineness,
            ..picture.view
        } == *view;
        picture.volume == volume && same && picture.view.fineness >= view.fineness
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one call a kind of picture; a struct would only rename them"
    )]
    fn cast(
        &mut self,
        subject: Subject,
        id: Option<VolumeId>,
        grid: &Grid,
        view: &DrrView,
        uniform: &CastUniform,
        volume: &wgpu::BindGroup,
        mask: Option<Arc<Mask>>,
    ) {
        let [width, height] = view.sheet(grid).texels;
        // During a drag of the pose the same texture is reused.
        let old = self.pictures.remove(&subject);
        let fits = old
            .map(|p| p.target)
            .filter(|t| [t.texture.width(), t.texture.height()] == [width, height]);
        let target = fits.unwrap_or_else(|| self.shader.target([width, height]));
        let pipeline = match (&mask, view.exact) {
            (Some(_), _) => &self.silhouette,
            (None, true) => &self.exact,
            (None, false) => &self.filtered,
        };
        self.shader.cast(pipeline, uniform, volume, &target);
        self.casts += 1;
        let picture = Picture {
            view: *view,
            volume: id,
            target,
            pixels_per_texel: view.pixels_per_texel(grid),
            _mask: mask,
            last_frame: self.frame,
        };
        self.pictures.insert(subject, picture);
    }
}

#[cfg(test)]
mod tests;
