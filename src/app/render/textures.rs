//! Volumes on the device: uploaded once, cached by identity, evicted when unused.

use super::pipeline::TextureEntry;
use super::upload::Uploader;
use egui_wgpu::wgpu;
use geometry::{Mask, Volume, VolumeId};
use std::collections::HashMap;
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
    pub(super) fn format(self) -> wgpu::TextureFormat {
        match self {
            Self::Ct => wgpu::TextureFormat::R16Float,
            Self::Dose => wgpu::TextureFormat::R32Float,
            Self::Mask => wgpu::TextureFormat::R8Unorm,
        }
    }

    pub(super) fn voxel_bytes(self) -> usize {
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
#[derive(Clone)]
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
    uploader: Uploader,
    held: HashMap<Key, Held>,
    failures: HashMap<Key, TextureError>,
    empty: HashMap<Kind, Bound>,
    frame: u64,
    uploads: u64,
}

/// A volume on the device: its own bind group, and its views for a group with others.
#[derive(Clone)]
pub(super) struct Bound {
    pub group: wgpu::BindGroup,
    pub volume: wgpu::TextureView,
    pub planes: wgpu::TextureView,
}

/// A texture, its bytes, and the mask of which it is one.
type Made = (Bound, u64, Option<Arc<Mask>>);

struct Held {
    bound: Bound,
    /// The mask whose address is the key.
    mask: Option<Arc<Mask>>,
    bytes: u64,
    /// `None` where it was made ahead of the frame that draws it: no frames are counted while no view is drawn.
    last_frame: Option<u64>,
}

impl Layouts {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let stages = wgpu::ShaderStages::FRAGMENT | wgpu::ShaderStages::COMPUTE;
        let volume = TextureEntry {
            binding: 0,
            stages,
            dimension: wgpu::TextureViewDimension::D3,
            filterable: false,
        };
        let planes = TextureEntry {
            binding: 1,
            dimension: wgpu::TextureViewDimension::D2,
            ..volume
        };
        let smooth = TextureEntry {
            filterable: true,
            ..volume
        };
        let sampler = wgpu::BindGroupLayoutEntry {
            binding: 2,
            visibility: stages,
            ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
            count: None,
        };
        let volume_and_planes = [volume.layout(), planes.layout()];
        let three = [0, 2, 4].map(|first| {
            [(volume, first), (planes, first + 1)]
                .map(|(entry, binding)| TextureEntry { binding, ..entry }.layout())
        });
        let [smooth, exact, three] = [
            (
                "filtered volume",
                &[smooth.layout(), planes.layout(), sampler][..],
            ),
            ("exact volume", &volume_and_planes),
            ("three exact volumes", three.as_flattened()),
        ]
        .map(|(label, entries)| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(label),
                entries,
            })
        });
        Self {
            smooth,
            exact,
            three,
        }
    }
}

impl Textures {
    pub(super) fn new(device: wgpu::Device, queue: wgpu::Queue, layouts: Layouts) -> Self {
        let sampler = super::pipeline::linear_sampler(&device);
        Self {
            uploader: Uploader {
                device,
                queue,
                layouts,
                sampler,
            },
            held: HashMap::new(),
            failures: HashMap::new(),
            empty: HashMap::new(),
            frame: 0,
            uploads: 0,
        }
    }

    pub(super) fn used(&self) -> (u64, u64) {
        (self.held.values().map(|h| h.bytes).sum(), self.uploads)
    }

    pub(super) fn failure(&self, volume: VolumeId) -> Option<String> {
        [Kind::Ct, Kind::Dose]
            .into_iter()
            .find_map(|kind| self.failures.get(&Key::Volume(volume, kind)))
            .map(ToString::to_string)
    }

    pub(super) fn begin_frame(&mut self, frame: u64) {
        if frame != self.frame {
            self.frame = frame;
            self.held.retain(|_, h| {
                frame.saturating_sub(*h.last_frame.get_or_insert(frame)) <= FRAMES_KEPT
            });
        }
    }

    /// The texture of a volume, uploaded at its first use. `None` if that failed: see [`Self::failure`].
    pub(super) fn volume(
        &mut self,
        volume: &Arc<Volume<f32>>,
        kind: Kind,
    ) -> Option<wgpu::BindGroup> {
        self.bound(volume, kind).map(|b| b.group)
    }

    /// Up to three volumes in one group of the layout [`Layouts::three`], and which of them are uploaded.
    pub(super) fn three(
        &mut self,
        volumes: [Option<&Arc<Volume<f32>>>; 3],
    ) -> (wgpu::BindGroup, [bool; 3]) {
        let bound = volumes.map(|v| v.and_then(|v| self.bound(v, Kind::Dose)));
        let uploaded = [0, 1, 2].map(|n| bound[n].is_some());
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
        let group = self
            .uploader
            .device
            .create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("three volumes"),
                layout: &self.uploader.layouts.three,
                entries: &entries,
            });
        (group, uploaded)
    }

    /// Maker of a volume's texture, where there is none, for a thread that does not draw.
    pub(super) fn missing(&self, volume: &Volume<f32>, kind: Kind) -> Option<Uploader> {
        (!self.held.contains_key(&Key::Volume(volume.id(), kind))).then(|| self.uploader.clone())
    }

    /// Takes the texture of a volume about to be displayed.
    pub(super) fn insert_ahead(
        &mut self,
        volume: &Volume<f32>,
        kind: Kind,
        texture: Result<Bound, TextureError>,
    ) {
        let texture = texture.map(|bound| (bound, bytes_of(volume, kind), None));
        self.insert(Key::Volume(volume.id(), kind), texture, None);
    }

    fn bound(&mut self, volume: &Arc<Volume<f32>>, kind: Kind) -> Option<Bound> {
        self.get(Key::Volume(volume.id(), kind), |uploader| {
            Ok((uploader.volume(volume, kind)?, bytes_of(volume, kind), None))
        })
    }

    /// The texture of a mask's box, its planes counted in mm from the first one of the box.
    pub(super) fn mask(&mut self, mask: &Arc<Mask>) -> Option<wgpu::BindGroup> {
        let key = Key::Mask(Arc::as_ptr(mask) as usize);
        if !self.held.contains_key(&key) {
            self.redraw(key, mask);
        }
        let bound = self.get(key, |uploader| {
            let size = mask.size();
            let [nx, ny, nz] = size;
            let first = mask.offset()[2];
            let planes_mm = &mask.grid().planes_mm()[first..first + nz];
            let group = uploader.upload(size, Kind::Mask, planes_mm, |texture, planes| {
                let data = mask.values_of(planes.clone());
                uploader.write(texture, planes, [nx, ny], &data);
            })?;
            Ok((group, (nx * ny * nz) as u64, Some(Arc::clone(mask))))
        });
        bound.map(|b| b.group)
    }

    /// Makes the texture of a mask from a former mask's of the same box, not drawn in this frame, that differs from it on few
    /// planes: a stroke of a brush changes some of hundreds.
    fn redraw(&mut self, key: Key, mask: &Arc<Mask>) {
        let [nx, ny, nz] = mask.size();
        let first = mask.offset()[2];
        let former = self.held.iter().find_map(|(key, held)| {
            // A texture of this frame is still read by its draw call.
            let former = held
                .mask
                .as_ref()
                .filter(|_| held.last_frame < Some(self.frame))?;
            let same_box = [former.offset(), former.size()] == [mask.offset(), mask.size()];
            if !same_box || former.grid() != mask.grid() {
                return None;
            }
            let changed = (0..nz).filter(|plane| !mask.has_plane_of(former, first + plane));
            let planes: Vec<usize> = changed.collect();
            (2 * planes.len() <= nz).then_some((*key, planes))
        });
        let Some((former, planes)) = former else {
            return;
        };
        let Some(held) = self.held.remove(&former) else {
            return;
        };
        for plane in planes {
            let planes = plane..plane + 1;
            self.uploader.write(
                held.bound.volume.texture(),
                planes.clone(),
                [nx, ny],
                &mask.values_of(planes),
            );
        }
        self.uploads += 1;
        self.held.insert(
            key,
            Held {
                mask: Some(Arc::clone(mask)),
                ..held
            },
        );
    }

    fn get(
        &mut self,
        key: Key,
        make: impl FnOnce(&Uploader) -> Result<Made, TextureError>,
    ) -> Option<Bound> {
        if let Some(held) = self.held.get_mut(&key) {
            held.last_frame = Some(self.frame);
            return Some(held.bound.clone());
        }
        if self.failures.contains_key(&key) {
            return None;
        }
        let texture = make(&self.uploader);
        self.insert(key, texture, Some(self.frame))
    }

    fn insert(
        &mut self,
        key: Key,
        texture: Result<Made, TextureError>,
        last_frame: Option<u64>,
    ) -> Option<Bound> {
        match texture {
            Ok((bound, bytes, mask)) => {
                self.uploads += 1;
                let held = Held {
                    bound: bound.clone(),
                    mask,
                    bytes,
                    last_frame,
                };
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
        let texture = self.uploader.new_texture([1, 1, 1], kind.format());
        let empty = self.uploader.bind(&texture, &[0.0], kind);
        self.empty.insert(kind, empty.clone());
        empty
    }

    fn make_room(&mut self) {
        let frame = self.frame;
        if self.used().0 > BYTES_KEPT {
            self.held
                .retain(|_, h| h.last_frame.is_none_or(|last| last == frame));
        }
    }
}

fn bytes_of(volume: &Volume<f32>, kind: Kind) -> u64 {
    (volume.grid().len() * kind.voxel_bytes()) as u64
}
