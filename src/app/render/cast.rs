//! The compute pipelines of `kernels/cast.wgsl`: radiographs and silhouettes as seen from the source. A picture is
//! cached until the beam, the volume or the requested fineness changes.

use super::pipeline;
use super::rays::{CastUniform, RayShader, Sheet, Target};
use super::textures::{Kind, Layouts, Textures};
use egui_wgpu::wgpu;
use geometry::{BeamFrame, Mask, Volume};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) const SOURCE: &str = concat!(
    include_str!("../../../kernels/grid.wgsl"),
    include_str!("../../../kernels/rays.wgsl"),
    include_str!("../../../kernels/cast.wgsl")
);

/// Half the side of a cast picture at the isocentre plane, mm: the largest field of a treatment machine and a margin.
pub(super) const CAST_HALF_MM: f64 = 220.0;
/// Most pictures cached; those unused longest are evicted first.
const PICTURES_KEPT: usize = 48;

/// Resolution of a cast picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fineness {
    /// While the beam moves.
    Coarse,
    /// At rest, on a device that renders on a processor.
    Medium,
    /// At rest on a graphics processor.
    Fine,
}

impl Fineness {
    /// Texel and step at the isocentre plane, mm.
    fn spacing_mm(self) -> [f64; 2] {
        match self {
            Self::Coarse => [6.0, 10.0],
            Self::Medium => [1.25, 2.5],
            Self::Fine => [0.5, 1.0],
        }
    }

    /// Texels along a side.
    fn texels(self) -> u32 {
        (2.0 * CAST_HALF_MM / self.spacing_mm()[0]).round() as u32
    }
}

/// The subject of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Ct(geometry::VolumeId),
    /// Address of a mask that the picture keeps alive.
    Mask(usize),
}

struct Picture {
    frame: BeamFrame,
    fineness: Fineness,
    target: Target,
    group: wgpu::BindGroup,
    _mask: Option<Arc<Mask>>,
    last_used: u64,
}

pub(super) struct Caster {
    radiograph: wgpu::ComputePipeline,
    silhouette: wgpu::ComputePipeline,
    shader: RayShader,
    /// A picture and its sampler, for the pipeline that shows it.
    pub(super) picture_layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    pictures: HashMap<Subject, Picture>,
    clock: u64,
    casts: u64,
}

impl Caster {
    pub(super) fn new(device: &wgpu::Device, queue: &wgpu::Queue, layouts: &Layouts) -> Self {
        let shader = RayShader::new(
            device,
            queue,
            "cast",
            SOURCE,
            wgpu::TextureFormat::Rgba16Float,
        );
        Self {
            radiograph: shader.pipeline("radiograph", &layouts.smooth),
            silhouette: shader.pipeline("silhouette", &layouts.exact),
            shader,
            picture_layout: pipeline::picture_layout(device),
            sampler: pipeline::linear_sampler(device),
            pictures: HashMap::new(),
            clock: 0,
            casts: 0,
        }
    }

    /// Pictures cast since the start.
    pub(super) fn casts(&self) -> u64 {
        self.casts
    }

    /// The radiograph of a CT, at least as fine as requested.
    pub(super) fn radiograph(
        &mut self,
        device: &wgpu::Device,
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
        let uniform = CastUniform::of_grid(ct.grid(), &sheet(frame, fineness));
        Some(self.cast(device, subject, &uniform, &volume, None, frame, fineness))
    }

    /// The silhouette of a structure, at least as fine as requested.
    pub(super) fn silhouette(
        &mut self,
        device: &wgpu::Device,
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
        let uniform = CastUniform::of_mask(mask, &sheet(frame, fineness));
        Some(self.cast(
            device,
            subject,
            &uniform,
            &volume,
            Some(Arc::clone(mask)),
            frame,
            fineness,
        ))
    }

    fn kept(
        &mut self,
        subject: Subject,
        frame: &BeamFrame,
        fineness: Fineness,
    ) -> Option<wgpu::BindGroup> {
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
        subject: Subject,
        uniform: &CastUniform,
        volume: &wgpu::BindGroup,
        mask: Option<Arc<Mask>>,
        frame: &BeamFrame,
        fineness: Fineness,
    ) -> wgpu::BindGroup {
        // During a drag of the gantry the same texture is cast into again.
        let former = self
            .pictures
            .remove(&subject)
            .filter(|picture| picture.fineness == fineness);
        let (target, picture) = match former {
            Some(Picture { target, group, .. }) => (target, group),
            None => self.new_target(device, fineness),
        };
        let pipeline = if mask.is_some() {
            &self.silhouette
        } else {
            &self.radiograph
        };
        self.shader.cast(pipeline, uniform, volume, &target);
        self.casts += 1;
        let (group, last_used) = (picture.clone(), self.clock);
        let kept = Picture {
            frame: *frame,
            fineness,
            target,
            group,
            _mask: mask,
            last_used,
        };
        self.pictures.insert(subject, kept);
        if self.pictures.len() > PICTURES_KEPT {
            let oldest = self
                .pictures
                .iter()
                .min_by_key(|(_, p)| p.last_used)
                .map(|(s, _)| *s);
            oldest.and_then(|s| self.pictures.remove(&s));
        }
        picture
    }

    /// A texture to cast into, and the group that shows it.
    fn new_target(&self, device: &wgpu::Device, fineness: Fineness) -> (Target, wgpu::BindGroup) {
        let target = self.shader.target([fineness.texels(); 2]);
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("cast"),
            layout: &self.picture_layout,
            entries: &[
                wgpu::BindGroupEntry {
                    binding: 0,
                    resource: wgpu::BindingResource::TextureView(&target.view),
                },
                wgpu::BindGroupEntry {
                    binding: 1,
                    resource: wgpu::BindingResource::Sampler(&self.sampler),
                },
            ],
        });
        (target, group)
    }

    /// Sends off the casts of a view.
    pub(super) fn submit(&mut self) {
        self.shader.submit();
    }
}

/// The isocentre plane of a beam, as fine as requested.
fn sheet(frame: &BeamFrame, fineness: Fineness) -> Sheet {
    let [texel_mm, step_mm] = fineness.spacing_mm();
    let [x, y, _] = frame.axes;
    // Texel (0, 0) is centred half a texel inside the top left corner: -x, +y.
    let first = CAST_HALF_MM - 0.5 * texel_mm;
    Sheet {
        source_mm: frame.source_mm,
        first_mm: frame.isocentre_mm - x * first + y * first,
        right_mm: x * texel_mm,
        down_mm: -y * texel_mm,
        texels: [fineness.texels(); 2],
        step_mm,
    }
}
