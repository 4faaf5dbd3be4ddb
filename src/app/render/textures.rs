//! Volumes on the device: uploaded once, cached by identity, evicted when unused.

use crate::geometry::{Mask, Volume, VolumeId};
use egui_wgpu::wgpu;
use half::f16;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// Texture format of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Half floats, filtered by the hardware: HU exact to +-2048, in steps of 2 and more beyond.
    Ct,
    /// Full floats, filtered in the shader.
    Dose,
    /// Bytes, filtered in the shader.
    Mask,
}

/// Source of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Volume(VolumeId, Kind),
    /// Address of the mask: the holder of the key also holds the mask, so the address is not reused.
    Mask(usize),
}

impl Kind {
    fn format(self) -> wgpu::TextureFormat {
        match self {
            Self::Ct => wgpu::TextureFormat::R16Float,
            Self::Dose => wgpu::TextureFormat::R32Float,
            Self::Mask => wgpu::TextureFormat::R8Unorm,
        }
    }

    fn voxel_bytes(self) -> usize {
        match self {
            Self::Ct => 2,
            Self::Dose => 4,
            Self::Mask => 1,
        }
    }
}

/// Why the upload of a volume failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum TextureError {
    #[error(
        "the volume of {0} x {1} x {2} voxels cannot be shown: this graphics device takes {3} along an axis at most"
    )]
    TooLarge(usize, usize, usize, u32),
    #[error(
        "the graphics device has no room for {0} MiB: close other programs that use it, or load a smaller series"
    )]
    NoRoom(u64),
}

/// The layouts of a volume's bind group, shared by all pipelines.
pub(super) struct Layouts {
    /// Volume, planes, sampler: for shaders that filter by hardware ([`Kind::Ct`]).
    pub smooth: wgpu::BindGroupLayout,
    /// Volume, planes: for shaders that read single voxels.
    pub exact: wgpu::BindGroupLayout,
    /// Three volumes with their planes, for shaders that read single voxels.
    pub three: wgpu::BindGroupLayout,
}

/// Frames after which an unused texture is evicted.
const FRAMES_KEPT: u64 = 240;
/// Above this number of bytes, unused textures are evicted at once.
const BYTES_KEPT: u64 = 1 << 30;

pub(super) struct Textures {
    device: wgpu::Device,
    queue: wgpu::Queue,
    layouts: Layouts,
    sampler: wgpu::Sampler,
    held: HashMap<Key, Held>,
    failures: HashMap<Key, TextureError>,
    empty: HashMap<Kind, Bound>,
    /// The CT about to be displayed, in its texture's format.
    prepared: Option<(VolumeId, Vec<f16>)>,
    frame: u64,
    uploads: u64,
}

/// A volume on the device: its own bind group, and its views for a group with others.
#[derive(Clone)]
struct Bound {
    group: wgpu::BindGroup,
    volume: wgpu::TextureView,
    planes: wgpu::TextureView,
}

struct Held {
    bound: Bound,
    /// The mask whose address is the key.
    mask: Option<Arc<Mask>>,
    bytes: u64,
    last_frame: u64,
}

impl Layouts {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let stages = wgpu::ShaderStages::FRAGMENT | wgpu::ShaderStages::COMPUTE;
        let texture = |binding, view_dimension, filterable| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: stages,
            ty: wgpu::BindingType::Texture {
                sample_type: wgpu::TextureSampleType::Float { filterable },
                view_dimension,
                multisampled: false,
            },
            count: None,
        };
        let sampler = wgpu::BindGroupLayoutEntry {
            binding: 2,
            visibility: stages,
            ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
            count: None,
        };
        let new = |label, entries: &[wgpu::BindGroupLayoutEntry]| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries })
        };
        let planes = texture(1, wgpu::TextureViewDimension::D2, false);
        Self {
            smooth: new(
                "filtered volume",
                &[texture(0, wgpu::TextureViewDimension::D3, true), planes, sampler],
            ),
            exact: new("exact volume", &[texture(0, wgpu::TextureViewDimension::D3, false), planes]),
            three: new(
                "three exact volumes",
                &[
                    texture(0, wgpu::TextureViewDimension::D3, false),
                    planes,
                    texture(2, wgpu::TextureViewDimension::D3, false),
                    texture(3, wgpu::TextureViewDimension::D2, false),
                    texture(4, wgpu::TextureViewDimension::D3, false),
                    texture(5, wgpu::TextureViewDimension::D2, false),
                ],
            ),
        }
    }
}

impl Textures {
    pub(super) fn new(device: wgpu::Device, queue: wgpu::Queue, layouts: Layouts) -> Self {
        let sampler = super::pipeline::linear_sampler(&device);
        Self {
            device,
            queue,
            layouts,
            sampler,
            held: HashMap::new(),
            failures: HashMap::new(),
            empty: HashMap::new(),
            prepared: None,
            frame: 0,
            uploads: 0,
        }
    }

    pub(super) fn used(&self) -> (u64, u64) {
        (self.held.values().map(|h| h.bytes).sum(), self.uploads)
    }

    pub(super) fn failure(&self, volume: VolumeId) -> Option<String> {
        let of = |kind| self.failures.get(&Key::Volume(volume, kind));
        of(Kind::Ct).or_else(|| of(Kind::Dose)).map(ToString::to_string)
    }

    pub(super) fn begin_frame(&mut self, now: u64) {
        if now != self.frame {
            self.frame = now;
            self.held.retain(|_, h| now.saturating_sub(h.last_frame) <= FRAMES_KEPT);
        }
    }

    /// The texture of a volume, uploaded at its first use. `None` if that failed: see [`Self::failure`].
    pub(super) fn volume(&mut self, volume: &Arc<Volume<f32>>, kind: Kind) -> Option<wgpu::BindGroup> {
        self.bound(volume, kind).map(|b| b.group)
    }

    /// Up to three volumes in one group of the layout [`Layouts::three`], and which of them are uploaded.
    pub(super) fn three(&mut self, volumes: [Option<&Arc<Volume<f32>>>; 3]) -> (wgpu::BindGroup, [bool; 3]) {
        let bound = volumes.map(|v| v.and_then(|v| self.bound(v, Kind::Dose)));
        let there = [0, 1, 2].map(|n| bound[n].is_some());
        let empty = self.nothing(Kind::Dose);
        let mut entries = Vec::new();
        for bound in &bound {
            for view in [|b: &Bound| b.volume.clone(), |b: &Bound| b.planes.clone()] {
                entries.push(view(bound.as_ref().unwrap_or(&empty)));
            }
        }
        let entries: Vec<_> = entries
            .iter()
            .enumerate()
            .map(|(n, view)| wgpu::BindGroupEntry {
                binding: n as u32,
                resource: wgpu::BindingResource::TextureView(view),
            })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("three volumes"),
            layout: &self.layouts.three,
            entries: &entries,
        });
        (group, there)
    }

    /// Caches the voxels of a CT in its texture's format until the upload.
    pub(super) fn prepare(&mut self, volume: VolumeId, voxels: Vec<f16>) {
        self.prepared = Some((volume, voxels));
    }

    fn bound(&mut self, volume: &Arc<Volume<f32>>, kind: Kind) -> Option<Bound> {
        let is_new = |(of, _): &mut (VolumeId, _)| kind == Kind::Ct && *of == volume.id();
        let prepared = self.prepared.take_if(is_new).map(|(_, voxels)| voxels);
        self.get(Key::Volume(volume.id(), kind), |textures| {
            let grid = volume.grid();
            let group = textures.upload(grid.size(), kind, grid.planes_mm(), |texture, planes| {
                let [nx, ny, _] = grid.size();
                let range = planes.start * nx * ny..planes.end * nx * ny;
                let data = &volume.data()[range.clone()];
                match (kind, &prepared) {
                    (Kind::Ct, Some(voxels)) => {
                        textures.write(texture, planes, [nx, ny], bytemuck::cast_slice(&voxels[range]))
                    }
                    (Kind::Ct, None) => {
                        textures.write(texture, planes, [nx, ny], bytemuck::cast_slice(&halves(data)))
                    }
                    _ => textures.write(texture, planes, [nx, ny], bytemuck::cast_slice(data)),
                }
            })?;
            Ok((group, (grid.len() * kind.voxel_bytes()) as u64, None))
        })
    }

    /// The texture of a mask's box, its planes counted in mm from the first one of the box.
    pub(super) fn mask(&mut self, mask: &Arc<Mask>) -> Option<wgpu::BindGroup> {
        let key = Key::Mask(Arc::as_ptr(mask) as usize);
        if !self.held.contains_key(&key) {
            self.redraw(key, mask);
        }
        let bound = self.get(key, |textures| {
            let size = mask.size();
            let [nx, ny, nz] = size;
            let first = mask.offset()[2];
            let planes_mm = &mask.grid().planes_mm()[first..first + nz];
            let group = textures.upload(size, Kind::Mask, planes_mm, |texture, planes| {
                let data = mask.values_of(planes.clone());
                textures.write(texture, planes, [nx, ny], &data);
            })?;
            Ok((group, (nx * ny * nz) as u64, Some(Arc::clone(mask))))
        });
        bound.map(|b| b.group)
    }

    /// Turns the texture of a former mask of the same box, not drawn in this frame, into that of a mask that differs from it on few
    /// planes: a stroke of a brush changes some of hundreds.
    fn redraw(&mut self, key: Key, mask: &Arc<Mask>) {
        let [nx, ny, nz] = mask.size();
        let first = mask.offset()[2];
        let changed = |former: &Mask| -> Vec<usize> {
            (0..nz).filter(|plane| !mask.has_plane_of(former, first + plane)).collect()
        };
        let former = self.held.iter().find_map(|(key, held)| {
            let former = held.mask.as_ref().filter(|_| held.last_frame < self.frame)?;
            let same_box = [former.offset(), former.size()] == [mask.offset(), mask.size()];
            let planes = (same_box && former.grid() == mask.grid()).then(|| changed(former))?;
            (2 * planes.len() <= nz).then_some((*key, planes))
        });
        let Some((former, planes)) = former else { return };
        let Some(held) = self.held.remove(&former) else { return };
        for plane in planes {
            let planes = plane..plane + 1;
            self.write(held.bound.volume.texture(), planes.clone(), [nx, ny], &mask.values_of(planes));
        }
        self.uploads += 1;
        self.held.insert(key, Held { mask: Some(Arc::clone(mask)), ..held });
    }

    fn get(
        &mut self,
        key: Key,
        make: impl FnOnce(&Self) -> Result<(Bound, u64, Option<Arc<Mask>>), TextureError>,
    ) -> Option<Bound> {
        if let Some(held) = self.held.get_mut(&key) {
            held.last_frame = self.frame;
            return Some(held.bound.clone());
        }
        if self.failures.contains_key(&key) {
            return None;
        }
        match make(self) {
            Ok((bound, bytes, mask)) => {
                self.uploads += 1;
                let held = Held { bound: bound.clone(), mask, bytes, last_frame: self.frame };
                self.held.insert(key, held);
                self.make_room();
                Some(bound)
            }
            Err(error) => {
                tracing::warn!("{error}");
                self.failures.insert(key, error);
                None
            }
        }
    }

    /// A placeholder for a missing volume.
    pub(super) fn empty(&mut self, kind: Kind) -> wgpu::BindGroup {
        self.nothing(kind).group
    }

    fn nothing(&mut self, kind: Kind) -> Bound {
        if let Some(empty) = self.empty.get(&kind) {
            return empty.clone();
        }
        let texture = self.new_texture([1, 1, 1], kind.format());
        let empty = self.bind(&texture, &[0.0], kind);
        self.empty.insert(kind, empty.clone());
        empty
    }

    fn make_room(&mut self) {
        let now = self.frame;
        if self.used().0 > BYTES_KEPT {
            self.held.retain(|_, h| h.last_frame == now);
        }
    }

    /// A texture of `size` voxels, filled a few planes at a time: a staging copy of a whole CT would briefly double the
    /// memory.
    fn upload(
        &self,
        size: [usize; 3],
        kind: Kind,
        planes_mm: &[f64],
        fill: impl Fn(&wgpu::Texture, Range<usize>),
    ) -> Result<Bound, TextureError> {
        let [nx, ny, nz] = size;
        let limits = self.device.limits();
        let most = limits.max_texture_dimension_3d;
        let table = limits.max_texture_dimension_2d.min(most);
        if nx.max(ny) > most as usize || nz > table as usize {
            return Err(TextureError::TooLarge(nx, ny, nz, table));
        }
        let out_of_memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let texture = self.new_texture(size, kind.format());
        let step = (1 << 23) / (nx * ny).max(1) + 1;
        for first in (0..nz).step_by(step) {
            fill(&texture, first..(first + step).min(nz));
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

    fn new_texture(&self, [nx, ny, nz]: [usize; 3], format: wgpu::TextureFormat) -> wgpu::Texture {
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("volume"),
            size: wgpu::Extent3d { width: nx as u32, height: ny as u32, depth_or_array_layers: nz as u32 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D3,
            format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        })
    }

    /// Writes some planes of `nx` x `ny` voxels.
    fn write(&self, texture: &wgpu::Texture, planes: Range<usize>, [nx, ny]: [usize; 2], data: &[u8]) {
        let row_bytes = (data.len() / (planes.len() * ny).max(1)) as u32;
        self.queue.write_texture(
            wgpu::TexelCopyTextureInfo {
                texture,
                mip_level: 0,
                origin: wgpu::Origin3d { x: 0, y: 0, z: planes.start as u32 },
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

    fn bind(&self, volume: &wgpu::Texture, planes_mm: &[f32], kind: Kind) -> Bound {
        let table = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("planes"),
            size: wgpu::Extent3d { width: planes_mm.len() as u32, height: 1, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::R32Float,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        self.queue.write_texture(
            table.as_image_copy(),
            bytemuck::cast_slice(planes_mm),
            wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(planes_mm.len() as u32 * 4),
                rows_per_image: None,
            },
            table.size(),
        );
        let volume = volume.create_view(&wgpu::TextureViewDescriptor::default());
        let planes = table.create_view(&wgpu::TextureViewDescriptor::default());
        let mut entries = vec![
            wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&volume) },
            wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(&planes) },
        ];
        let layout = match kind {
            Kind::Ct => {
                let sampler = wgpu::BindingResource::Sampler(&self.sampler);
                entries.push(wgpu::BindGroupEntry { binding: 2, resource: sampler });
                &self.layouts.smooth
            }
            Kind::Dose | Kind::Mask => &self.layouts.exact,
        };
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("volume"),
            layout,
            entries: &entries,
        });
        Bound { group, volume, planes }
    }
}

/// The voxels of a CT in its texture's format.
pub(super) fn halves(data: &[f32]) -> Vec<f16> {
    let mut out = vec![f16::ZERO; data.len()];
    let chunk = 1 << 16;
    out.par_chunks_mut(chunk).zip(data.par_chunks(chunk)).for_each(|(to, from)| {
        for (t, f) in to.iter_mut().zip(from) {
            *t = f16::from_f32(f.clamp(-65504.0, 65504.0));
        }
    });
    out
}
