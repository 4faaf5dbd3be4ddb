//! The compute pipelines of `kernels/drr.wgsl`: DRRs and silhouettes as a flat image sees the patient in a pose, written
//! into textures that `radiograph` shows. Each is kept until pose, image, volume or the fineness asked for changes.

use super::Fineness;
use super::pipeline::Blocks;
use super::rays::{CastUniform, Sheet};
use super::textures::{Kind, Layouts, Textures};
use crate::case::Pose;
use crate::geometry::{Grid, Mask, Projection, Volume, VolumeId};
use egui_wgpu::wgpu;
use glam::DVec3;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) const SOURCE: &str = concat!(
    include_str!("../../../kernels/grid.wgsl"),
    include_str!("../../../kernels/rays.wgsl"),
    include_str!("../../../kernels/drr.wgsl")
);

/// Frames after which an unused picture is given up.
const FRAMES_KEPT: u64 = 120;

/// Where a DRR is seen from, and where the patient is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrrView {
    pub projection: Projection,
    pub pose: Pose,
    /// What the pose turns about, patient LPS, mm.
    pub centre_mm: DVec3,
    pub fineness: Fineness,
    /// Full floats filtered in the shader, in place of half floats filtered by the hardware.
    pub exact: bool,
}

impl DrrView {
    /// Texels along the longer side at most, and the step in mm; finer than half a voxel shows nothing more.
    fn spacing(&self, grid: &Grid) -> (usize, f64) {
        let [dx, dy] = grid.spacing_xy_mm();
        let least_mm = grid.planes_mm().windows(2).map(|w| w[1] - w[0]).fold(dx.min(dy), f64::min);
        let (most, step_mm) = match self.fineness {
            Fineness::Coarse => (176, 4.0_f64),
            Fineness::Medium => (512, 1.5),
            Fineness::Fine => (1024, 0.0),
        };
        (most, step_mm.max(0.5 * least_mm))
    }

    /// Pixels of the image along the side of a texel.
    fn pixels_per_texel(&self, grid: &Grid) -> usize {
        let longer = self.projection.columns().max(self.projection.rows());
        longer.div_ceil(self.spacing(grid).0)
    }

    /// The rays, the patient held still and source and image moved the other way.
    fn sheet(&self, grid: &Grid) -> Sheet {
        let image = &self.projection;
        let k = self.pixels_per_texel(grid);
        let middle = 0.5 * (k as f64 - 1.0);
        let back = self.pose.rotation().transpose();
        let place = |p: DVec3| self.pose.undo(p, self.centre_mm);
        Sheet {
            source_mm: place(image.source_mm()),
            first_mm: place(image.pixel_mm(middle, middle)),
            right_mm: back * image.column_step_mm() * k as f64,
            down_mm: back * image.row_step_mm() * k as f64,
            texels: [image.columns().div_ceil(k) as u32, image.rows().div_ceil(k) as u32],
            step_mm: self.spacing(grid).1,
        }
    }
}

/// What was cast, and for which of the images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Attenuation(usize),
    /// Address of a mask, which the picture keeps alive.
    Mask(usize, usize),
}

/// A texture with what is in it.
pub(super) struct Picture {
    view: DrrView,
    volume: Option<VolumeId>,
    texture: wgpu::Texture,
    /// To be read by texels.
    pub(super) shown: wgpu::TextureView,
    written: wgpu::BindGroup,
    pub(super) pixels_per_texel: usize,
    _mask: Option<Arc<Mask>>,
    last_frame: u64,
}

pub(super) struct DrrCaster {
    device: wgpu::Device,
    queue: wgpu::Queue,
    filtered: wgpu::ComputePipeline,
    exact: wgpu::ComputePipeline,
    silhouette: wgpu::ComputePipeline,
    blocks: Blocks<CastUniform>,
    result_layout: wgpu::BindGroupLayout,
    pictures: HashMap<Subject, Picture>,
    frame: u64,
    casts: u64,
}

impl DrrCaster {
    pub(super) fn new(device: &wgpu::Device, queue: &wgpu::Queue, layouts: &Layouts) -> Self {
        let blocks = Blocks::new(device);
        let result_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("drr result"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::StorageTexture {
                    access: wgpu::StorageTextureAccess::WriteOnly,
                    format: wgpu::TextureFormat::R32Float,
                    view_dimension: wgpu::TextureViewDimension::D2,
                },
                count: None,
            }],
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("drr"),
            source: wgpu::ShaderSource::Wgsl(SOURCE.into()),
        });
        let pipeline = |entry: &str, volume: &wgpu::BindGroupLayout| {
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(entry),
                bind_group_layouts: &[Some(blocks.layout()), Some(volume), Some(&result_layout)],
                immediate_size: 0,
            });
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: Some(&layout),
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        };
        Self {
            filtered: pipeline("filtered", &layouts.smooth),
            exact: pipeline("exact", &layouts.exact),
            silhouette: pipeline("silhouette", &layouts.exact),
            device: device.clone(),
            queue: queue.clone(),
            blocks,
            result_layout,
            pictures: HashMap::new(),
            frame: 0,
            casts: 0,
        }
    }

    /// Pictures cast since the start.
    pub(super) fn casts(&self) -> u64 {
        self.casts
    }

    /// The line integrals of attenuation (1/mm) on image number `image`, at least as fine as asked for. `None` where the
    /// volume cannot be put on the device.
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
            self.cast(subject, id, attenuation.grid(), view, &uniform, &volume, None);
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
            self.cast(subject, None, mask.grid(), view, &uniform, &volume, Some(Arc::clone(mask)));
        }
        self.pictures.get(&subject)
    }

    /// Tells which frame is drawn now.
    pub(super) fn begin_frame(&mut self, now: u64) {
        if now != self.frame {
            self.frame = now;
            self.pictures.retain(|_, p| now.saturating_sub(p.last_frame) <= FRAMES_KEPT);
        }
    }

    fn keeps(&mut self, subject: Subject, volume: Option<VolumeId>, view: &DrrView) -> bool {
        let Some(picture) = self.pictures.get_mut(&subject) else { return false };
        picture.last_frame = self.frame;
        let same = DrrView { fineness: view.fineness, ..picture.view } == *view;
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
        // A pose dragged draws into the same texture again and again.
        let old = self.pictures.remove(&subject);
        let fits = old.filter(|p| p.texture.width() == width && p.texture.height() == height);
        let mut picture = fits.unwrap_or_else(|| self.new_picture(view, [width, height]));
        let pipeline = match (&mask, view.exact) {
            (Some(_), _) => &self.silhouette,
            (None, true) => &self.exact,
            (None, false) => &self.filtered,
        };
        let uniforms = self.blocks.upload(&self.device, std::slice::from_ref(uniform));
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &uniforms, &[self.blocks.offset(0)]);
            pass.set_bind_group(1, volume, &[]);
            pass.set_bind_group(2, &picture.written, &[]);
            pass.dispatch_workgroups(width.div_ceil(8), height.div_ceil(8), 1);
        }
        self.queue.submit([encoder.finish()]);
        self.casts += 1;
        picture.view = *view;
        picture.volume = id;
        picture.pixels_per_texel = view.pixels_per_texel(grid);
        picture._mask = mask;
        picture.last_frame = self.frame;
        self.pictures.insert(subject, picture);
    }

    fn new_picture(&self, view: &DrrView, [width, height]: [u32; 2]) -> Picture {
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("drr"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::R32Float,
            usage: wgpu::TextureUsages::TEXTURE_BINDING
                | wgpu::TextureUsages::STORAGE_BINDING
                | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let shown = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let written = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("drr"),
            layout: &self.result_layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::TextureView(&shown),
            }],
        });
        Picture {
            view: *view,
            volume: None,
            texture,
            shown,
            written,
            pixels_per_texel: 1,
            _mask: None,
            last_frame: self.frame,
        }
    }
}

#[cfg(test)]
#[path = "drr_tests.rs"]
mod tests;
