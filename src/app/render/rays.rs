//! Ray casting through a volume into a flat texture: the uniforms of `kernels/rays.wgsl` (a source, a sheet of points
//! on the rays, and the box to intersect), and the common parts of its shaders.

use super::pipeline::Blocks;
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu;
use geometry::{Grid, Mask};
use glam::DVec3;

/// A shader whose entry points cast rays. Its groups are the uniforms, a volume, and the texture it writes.
pub(super) struct RayShader {
    name: &'static str,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    module: wgpu::ShaderModule,
    blocks: Blocks<CastUniform>,
    format: wgpu::TextureFormat,
    written: wgpu::BindGroupLayout,
    /// Casts that are recorded and not submitted yet.
    recorded: Option<wgpu::CommandEncoder>,
}

/// A texture that a shader casts into.
pub(super) struct Target {
    pub texture: wgpu::Texture,
    /// The texture's view, for reading by texels.
    pub view: wgpu::TextureView,
    written: wgpu::BindGroup,
}

impl RayShader {
    pub(super) fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        name: &'static str,
        source: &str,
        format: wgpu::TextureFormat,
    ) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let written = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(name),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::StorageTexture {
                    access: wgpu::StorageTextureAccess::WriteOnly,
                    format,
                    view_dimension: wgpu::TextureViewDimension::D2,
                },
                count: None,
            }],
        });
        let blocks = Blocks::new(device);
        Self {
            name,
            device: device.clone(),
            queue: queue.clone(),
            module,
            blocks,
            format,
            written,
            recorded: None,
        }
    }

    /// The pipeline of an entry point, for volumes of a layout.
    pub(super) fn pipeline(
        &self,
        entry: &str,
        volume: &wgpu::BindGroupLayout,
    ) -> wgpu::ComputePipeline {
        let layout = self
            .device
            .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(entry),
                bind_group_layouts: &[
                    Some(self.blocks.layout()),
                    Some(volume),
                    Some(&self.written),
                ],
                immediate_size: 0,
            });
        self.device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: Some(&layout),
                module: &self.module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
    }

    /// A texture of the given columns and rows.
    pub(super) fn target(&self, [width, height]: [u32; 2]) -> Target {
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some(self.name),
            size: wgpu::Extent3d {
                width,
                height,
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: self.format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING
                | wgpu::TextureUsages::STORAGE_BINDING
                | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let written = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(self.name),
            layout: &self.written,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::TextureView(&view),
            }],
        });
        Target {
            texture,
            view,
            written,
        }
    }

    /// Records the casting of a ray for each texel; [`Self::submit`] sends it off.
    pub(super) fn cast(
        &mut self,
        pipeline: &wgpu::ComputePipeline,
        uniform: &CastUniform,
        volume: &wgpu::BindGroup,
        target: &Target,
    ) {
        let uniforms = self
            .blocks
            .upload(&self.device, std::slice::from_ref(uniform));
        let encoder = self
            .recorded
            .get_or_insert_with(|| self.device.create_command_encoder(&Default::default()));
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &uniforms, &[self.blocks.offset(0)]);
        pass.set_bind_group(1, volume, &[]);
        pass.set_bind_group(2, &target.written, &[]);
        let [width, height] = [target.texture.width(), target.texture.height()];
        pass.dispatch_workgroups(width.div_ceil(8), height.div_ceil(8), 1);
    }

    /// Sends off all recorded casts at once: a turned gantry casts the CT and each structure in every frame.
    pub(super) fn submit(&mut self) {
        // Most frames cast nothing, and an empty submission still takes the device's locks.
        if let Some(recorded) = self.recorded.take() {
            self.queue.submit([recorded.finish()]);
        }
    }
}

/// Rays from a source through the texels of a sheet; patient LPS, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sheet {
    pub source_mm: DVec3,
    /// Centre of texel (0, 0), and the steps to its right and lower neighbours.
    pub first_mm: DVec3,
    pub right_mm: DVec3,
    pub down_mm: DVec3,
    /// Columns, rows.
    pub texels: [u32; 2],
    pub step_mm: f64,
}

/// `struct Cast` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct CastUniform {
    source: [f32; 4],
    corner: [f32; 4],
    right: [f32; 4],
    down: [f32; 4],
    low: [f32; 4],
    high: [f32; 4],
    size: [f32; 4],
    scale: [f32; 4],
}

/// The box of voxels to cast through, in a grid's coordinates (voxel, voxel, mm) counted from `shift`.
struct VoxelBox {
    shift: DVec3,
    low: [f64; 3],
    high: [f64; 3],
    size: [usize; 3],
    even_mm: Option<f64>,
}

impl CastUniform {
    /// Uniforms for all voxels of a grid.
    pub(super) fn of_grid(grid: &Grid, sheet: &Sheet) -> Self {
        let edges_mm = grid.edges_mm(2);
        let [nx, ny, nz] = grid.size();
        let part = VoxelBox {
            shift: DVec3::ZERO,
            low: [-0.5, -0.5, edges_mm[0]],
            high: [nx as f64 - 0.5, ny as f64 - 0.5, edges_mm[nz]],
            size: [nx, ny, nz],
            even_mm: grid.even_plane_spacing_mm(),
        };
        Self::new(grid, &part, sheet)
    }

    /// Uniforms for the box of a mask, one voxel beyond its outermost centres.
    pub(super) fn of_mask(mask: &Mask, sheet: &Sheet) -> Self {
        let grid = mask.grid();
        let [i, j, k] = mask.offset();
        let [nx, ny, nz] = mask.size();
        let planes = &grid.planes_mm()[k..k + nz];
        let even_mm = if nz == 1 {
            Some(grid.plane_thickness_mm(k))
        } else {
            grid.even_plane_spacing_mm()
        };
        let below = even_mm.unwrap_or_else(|| planes[1] - planes[0]);
        let above = even_mm.unwrap_or_else(|| planes[nz - 1] - planes[nz - 2]);
        let part = VoxelBox {
            shift: DVec3::new(i as f64, j as f64, planes[0]),
            low: [-1.0, -1.0, -below],
            high: [nx as f64, ny as f64, planes[nz - 1] - planes[0] + above],
            size: [nx, ny, nz],
            even_mm,
        };
        Self::new(grid, &part, sheet)
    }

    fn new(grid: &Grid, part: &VoxelBox, sheet: &Sheet) -> Self {
        let [dx, dy] = grid.spacing_xy_mm();
        // Columns and rows count in voxels, planes in mm, as they may be uneven.
        let unit_mm = DVec3::new(dx, dy, 1.0);
        let [source, corner] = [sheet.source_mm, sheet.first_mm]
            .map(|p| padded(grid.local_from_patient(p) / unit_mm - part.shift));
        let [right, down] =
            [sheet.right_mm, sheet.down_mm].map(|d| padded(grid.local_direction(d) / unit_mm));
        let [nx, ny, nz] = part.size.map(|n| n as f32);
        Self {
            source,
            corner,
            right,
            down,
            low: padded(DVec3::from(part.low)),
            high: padded(DVec3::from(part.high)),
            size: [nx, ny, nz, part.even_mm.unwrap_or(0.0) as f32],
            scale: [dx as f32, dy as f32, 1.0, sheet.step_mm as f32],
        }
    }
}

/// A vector as shaders align it.
fn padded(v: DVec3) -> [f32; 4] {
    v.extend(0.0).as_vec4().to_array()
}
