//! The compute pipelines of `kernels/cast.wgsl`: radiographs and silhouettes as seen from the source. A picture is
//! kept until the beam, the volume or the fineness asked for changes.

use super::pipeline::{self, Blocks};
use super::textures::{Kind, Layouts, Textures};
use crate::geometry::{BeamFrame, Grid, Mask, Volume};
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu;
use glam::DVec3;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) const SOURCE: &str =
    concat!(include_str!("../../../kernels/grid.wgsl"), include_str!("../../../kernels/cast.wgsl"));

/// Half the side of a cast picture at the isocentre plane, mm: the largest field of a treatment machine and a margin.
pub(super) const CAST_HALF_MM: f64 = 220.0;
/// Pictures kept at most; the ones unused longest go first.
const PICTURES_KEPT: usize = 48;

/// How fine a picture is cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fineness {
    /// While the beam moves.
    Coarse,
    /// At rest on a device that computes pictures on a processor.
    Medium,
    /// At rest on a graphics processor.
    Fine,
}

impl Fineness {
    /// Texel and step at the isocentre plane, mm.
    fn spacing_mm(self) -> [f64; 2] {
        match self {
            Self::Coarse => [3.0, 5.0],
            Self::Medium => [1.25, 2.5],
            Self::Fine => [0.5, 1.0],
        }
    }

    /// Texels along a side.
    fn texels(self) -> u32 {
        (2.0 * CAST_HALF_MM / self.spacing_mm()[0]).round() as u32
    }
}

/// `struct Cast` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct CastUniform {
    source: [f32; 4],
    corner: [f32; 4],
    right: [f32; 4],
    down: [f32; 4],
    low: [f32; 4],
    high: [f32; 4],
    size: [f32; 4],
    scale: [f32; 4],
}

/// What was cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Ct(crate::geometry::VolumeId),
    /// Address of a mask, which the picture keeps alive.
    Mask(usize),
}

struct Picture {
    frame: BeamFrame,
    fineness: Fineness,
    group: wgpu::BindGroup,
    _mask: Option<Arc<Mask>>,
    last_used: u64,
}

pub(super) struct Caster {
    radiograph: wgpu::ComputePipeline,
    silhouette: wgpu::ComputePipeline,
    blocks: Blocks<CastUniform>,
    result_layout: wgpu::BindGroupLayout,
    /// A picture and its sampler, for the pipeline that shows it.
    pub(super) picture_layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    pictures: HashMap<Subject, Picture>,
    clock: u64,
    casts: u64,
}

impl Caster {
    pub(super) fn new(device: &wgpu::Device, layouts: &Layouts) -> Self {
        let blocks = Blocks::new(device);
        let result_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("cast result"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::StorageTexture {
                    access: wgpu::StorageTextureAccess::WriteOnly,
                    format: wgpu::TextureFormat::Rgba16Float,
                    view_dimension: wgpu::TextureViewDimension::D2,
                },
                count: None,
            }],
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("cast"),
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
            radiograph: pipeline("radiograph", &layouts.smooth),
            silhouette: pipeline("silhouette", &layouts.exact),
            picture_layout: pipeline::picture_layout(device),
            sampler: pipeline::linear_sampler(device),
            blocks,
            result_layout,
            pictures: HashMap::new(),
            clock: 0,
            casts: 0,
        }
    }

    /// Pictures cast since the start.
    pub(super) fn casts(&self) -> u64 {
        self.casts
    }

    /// The radiograph of a CT, at least as fine as asked for.
    pub(super) fn radiograph(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        textures: &mut Textures,
        ct: &Arc<Volume<f32>>,
        frame: &BeamFrame,
        fineness: Fineness,
    ) -> Option<wgpu::BindGroup> {
        let subject = Subject::Ct(ct.id());
        if let Some(group) = self.kept(subject, frame, fineness) {
            return Some(group);
        }
        let volume = textures.volume(ct, Kind::Ct)?;
        let grid = ct.grid();
        let edges = [grid.edges_mm(0), grid.edges_mm(1), grid.edges_mm(2)];
        let [nx, ny, nz] = grid.size();
        let low = [-0.5, -0.5, edges[2][0]];
        let high = [nx as f64 - 0.5, ny as f64 - 0.5, edges[2][nz]];
        let even = grid.even_plane_spacing_mm();
        let uniform = cast_uniform(grid, DVec3::ZERO, [low, high], [nx, ny, nz], even, frame, fineness);
        Some(self.cast(device, queue, subject, &uniform, &volume, None, frame, fineness))
    }

    /// The silhouette of a structure, at least as fine as asked for.
    pub(super) fn silhouette(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        textures: &mut Textures,
        mask: &Arc<Mask>,
        frame: &BeamFrame,
        fineness: Fineness,
    ) -> Option<wgpu::BindGroup> {
        let subject = Subject::Mask(Arc::as_ptr(mask) as usize);
        if let Some(group) = self.kept(subject, frame, fineness) {
            return Some(group);
        }
        let volume = textures.mask(mask)?;
        let grid = mask.grid();
        let [i, j, k] = mask.offset();
        let [nx, ny, nz] = mask.size();
        let planes = &grid.planes_mm()[k..k + nz];
        let even = if nz == 1 { Some(grid.plane_thickness_mm(k)) } else { grid.even_plane_spacing_mm() };
        let below = even.unwrap_or_else(|| planes[1] - planes[0]);
        let above = even.unwrap_or_else(|| planes[nz - 1] - planes[nz - 2]);
        let low = [-1.0, -1.0, -below];
        let high = [nx as f64, ny as f64, planes[nz - 1] - planes[0] + above];
        let shift = DVec3::new(i as f64, j as f64, planes[0]);
        let uniform = cast_uniform(grid, shift, [low, high], [nx, ny, nz], even, frame, fineness);
        Some(self.cast(device, queue, subject, &uniform, &volume, Some(Arc::clone(mask)), frame, fineness))
    }

    fn kept(&mut self, subject: Subject, frame: &BeamFrame, fineness: Fineness) -> Option<wgpu::BindGroup> {
        self.clock += 1;
        let picture = self.pictures.get_mut(&subject)?;
        picture.last_used = self.clock;
        (picture.frame == *frame && picture.fineness >= fineness).then(|| picture.group.clone())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one call a kind of picture; a struct would only rename them"
    )]
    fn cast(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        subject: Subject,
        uniform: &CastUniform,
        volume: &wgpu::BindGroup,
        mask: Option<Arc<Mask>>,
        frame: &BeamFrame,
        fineness: Fineness,
    ) -> wgpu::BindGroup {
        let side = fineness.texels();
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("cast"),
            size: wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba16Float,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::STORAGE_BINDING,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let group = |layout, entries: &[wgpu::BindGroupEntry<'_>]| {
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("cast"), layout, entries })
        };
        let texture_entry =
            wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view) };
        let uniforms = self.blocks.upload(device, std::slice::from_ref(uniform));
        let result = group(&self.result_layout, std::slice::from_ref(&texture_entry));
        let sampler = wgpu::BindingResource::Sampler(&self.sampler);
        let picture = group(
            &self.picture_layout,
            &[texture_entry, wgpu::BindGroupEntry { binding: 1, resource: sampler }],
        );
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(if mask.is_some() { &self.silhouette } else { &self.radiograph });
            pass.set_bind_group(0, &uniforms, &[self.blocks.offset(0)]);
            pass.set_bind_group(1, volume, &[]);
            pass.set_bind_group(2, &result, &[]);
            pass.dispatch_workgroups(side.div_ceil(8), side.div_ceil(8), 1);
        }
        queue.submit([encoder.finish()]);
        self.casts += 1;
        let kept =
            Picture { frame: *frame, fineness, group: picture.clone(), _mask: mask, last_used: self.clock };
        self.pictures.insert(subject, kept);
        if self.pictures.len() > PICTURES_KEPT {
            let oldest = self.pictures.iter().min_by_key(|(_, p)| p.last_used).map(|(s, _)| *s);
            oldest.and_then(|s| self.pictures.remove(&s));
        }
        picture
    }
}

/// The rays of a beam in a grid's coordinates (voxel, voxel, mm), counted from `shift`.
fn cast_uniform(
    grid: &Grid,
    shift: DVec3,
    [low, high]: [[f64; 3]; 2],
    size: [usize; 3],
    even_mm: Option<f64>,
    frame: &BeamFrame,
    fineness: Fineness,
) -> CastUniform {
    let [dx, dy] = grid.spacing_xy_mm();
    let [texel_mm, step_mm] = fineness.spacing_mm();
    let scaled = |v: DVec3| DVec3::new(v.x / dx, v.y / dy, v.z);
    let point = |p: DVec3| scaled(grid.local_from_patient(p)) - shift;
    let direction = |d: DVec3| scaled(grid.local_direction(d));
    let four = |v: DVec3, w: f64| [v.x as f32, v.y as f32, v.z as f32, w as f32];
    let [x, y, _] = frame.axes;
    // Texel (0, 0) is centred half a texel inside the top left corner: -x, +y.
    let first = CAST_HALF_MM - 0.5 * texel_mm;
    CastUniform {
        source: four(point(frame.source_mm), 0.0),
        corner: four(point(frame.isocentre_mm - x * first + y * first), 0.0),
        right: four(direction(x * texel_mm), 0.0),
        down: four(direction(-y * texel_mm), 0.0),
        low: four(DVec3::from(low), 0.0),
        high: four(DVec3::from(high), 0.0),
        size: [size[0] as f32, size[1] as f32, size[2] as f32, even_mm.unwrap_or(0.0) as f32],
        scale: [dx as f32, dy as f32, 1.0, step_mm as f32],
    }
}
