//! Copies of volumes to the graphics device, from any thread.

use super::textures::{Bound, Kind, Layouts, TextureError};
use egui_wgpu::wgpu;
use geometry::Volume;
use half::f16;
use rayon::prelude::*;
use std::ops::Range;
use std::time::Duration;

/// A slab that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Maker of textures of volumes.
#[derive(Clone)]
pub(super) struct Uploader {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub layouts: Layouts,
    pub sampler: wgpu::Sampler,
}

impl Uploader {
    /// A texture of a volume.
    pub fn volume(&self, volume: &Volume<f32>, kind: Kind) -> Result<Bound, TextureError> {
        let grid = volume.grid();
        let [nx, ny, _] = grid.size();
        self.upload(grid.size(), kind, grid.planes_mm(), |texture, planes| {
            let data = &volume.data()[planes.start * nx * ny..planes.end * nx * ny];
            match kind {
                Kind::Ct => self.write(
                    texture,
                    planes,
                    [nx, ny],
                    bytemuck::cast_slice(&halves(data)),
                ),
                _ => self.write(texture, planes, [nx, ny], bytemuck::cast_slice(data)),
            }
        })
    }

    /// A texture of `size` voxels, filled a slab at a time, each sent before the next: a staging copy of a whole CT would
    /// briefly double the memory.
    pub fn upload(
        &self,
        size: [usize; 3],
        kind: Kind,
        planes_mm: &[f64],
        fill: impl Fn(&wgpu::Texture, Range<usize>),
    ) -> Result<Bound, TextureError> {
        let [nx, ny, nz] = size;
        let limits = self.device.limits();
        let max_side = limits.max_texture_dimension_3d;
        let table = limits.max_texture_dimension_2d.min(max_side);
        if nx.max(ny) > max_side as usize || nz > table as usize {
            return Err(TextureError::TooLarge(nx, ny, nz, table));
        }
        let out_of_memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let texture = self.new_texture(size, kind.format());
        let step = planes_of_slab([nx, ny], kind);
        for first in (0..nz).step_by(step) {
            fill(&texture, first..(first + step).min(nz));
            if first + step < nz {
                self.queue.submit([]);
                // Frees the slab's staging copy once it has arrived; an error comes out of the scope.
                let arrived = wgpu::PollType::Wait {
                    submission_index: None,
                    timeout: Some(PATIENCE),
                };
                let _ = self.device.poll(arrived);
            }
        }
        let first = planes_mm.first().copied().unwrap_or(0.0);
        let planes_mm: Vec<f32> = planes_mm.iter().map(|p| (p - first) as f32).collect();
        let group = self.bind(&texture, &planes_mm, kind);
        if pollster::block_on(out_of_memory.pop()).is_some() {
            let bytes = nx * ny * nz * kind.voxel_bytes();
            return Err(TextureError::NoRoom(bytes as u64 >> 20));
        }
        Ok(group)
    }

    pub fn new_texture(
        &self,
        [nx, ny, nz]: [usize; 3],
        format: wgpu::TextureFormat,
    ) -> wgpu::Texture {
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("volume"),
            size: wgpu::Extent3d {
                width: nx as u32,
                height: ny as u32,
                depth_or_array_layers: nz as u32,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D3,
            format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        })
    }

    /// Writes some planes of `nx` x `ny` voxels.
    pub fn write(
        &self,
        texture: &wgpu::Texture,
        planes: Range<usize>,
        [nx, ny]: [usize; 2],
        data: &[u8],
    ) {
        let row_bytes = (data.len() / (planes.len() * ny).max(1)) as u32;
        self.queue.write_texture(
            wgpu::TexelCopyTextureInfo {
                texture,
                mip_level: 0,
                origin: wgpu::Origin3d {
                    x: 0,
                    y: 0,
                    z: planes.start as u32,
                },
                aspect: wgpu::TextureAspect::All,
            },
            data,
            wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(row_bytes),
                rows_per_image: Some(ny as u32),
            },
            wgpu::Extent3d {
                width: nx as u32,
                height: ny as u32,
                depth_or_array_layers: planes.len() as u32,
            },
        );
    }

    pub fn bind(&self, volume: &wgpu::Texture, planes_mm: &[f32], kind: Kind) -> Bound {
        let planes = flat_texture(
            &self.device,
            &self.queue,
            "planes",
            planes_mm,
            [planes_mm.len() as u32, 1],
        );
        let volume = volume.create_view(&wgpu::TextureViewDescriptor::default());
        let mut entries = vec![
            wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::TextureView(&volume),
            },
            wgpu::BindGroupEntry {
                binding: 1,
                resource: wgpu::BindingResource::TextureView(&planes),
            },
        ];
        let layout = match kind {
            Kind::Ct => {
                let sampler = wgpu::BindingResource::Sampler(&self.sampler);
                entries.push(wgpu::BindGroupEntry {
                    binding: 2,
                    resource: sampler,
                });
                &self.layouts.smooth
            }
            Kind::Dose | Kind::Mask => &self.layouts.exact,
        };
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("volume"),
            layout,
            entries: &entries,
        });
        Bound {
            group,
            volume,
            planes,
        }
    }
}

/// A texture of a plane of numbers.
pub(super) fn flat_texture(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    label: &str,
    values: &[f32],
    [width, height]: [u32; 2],
) -> wgpu::TextureView {
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some(label),
        size: wgpu::Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::R32Float,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    queue.write_texture(
        texture.as_image_copy(),
        bytemuck::cast_slice(values),
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(4 * width),
            rows_per_image: None,
        },
        texture.size(),
    );
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

/// Planes of `nx` x `ny` voxels that are written together: most doses and masks at once, a CT, which is large, in parts of 2 MiB: of
/// larger ones the allocator keeps what is freed.
fn planes_of_slab([nx, ny]: [usize; 2], kind: Kind) -> usize {
    let voxels = if kind == Kind::Ct { 1 << 20 } else { 1 << 23 };
    voxels / (nx * ny).max(1) + 1
}

/// The voxels of a CT in its texture's format.
fn halves(data: &[f32]) -> Vec<f16> {
    let mut out = vec![f16::ZERO; data.len()];
    let chunk = 1 << 16;
    out.par_chunks_mut(chunk)
        .zip(data.par_chunks(chunk))
        .for_each(|(to, from)| {
            for (t, f) in to.iter_mut().zip(from) {
                *t = f16::from_f32(f.clamp(-65504.0, 65504.0));
            }
        });
    out
}
