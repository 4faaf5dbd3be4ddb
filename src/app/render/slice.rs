//! The pipeline of `kernels/slice.wgsl`: CT, colourwash and isodose lines of one plane.

use super::Placed;
use super::frame::{GridUniform, PlaneFrame};
use super::pipeline::{self, Blocks, Layers, flag, opaque};
use super::textures::Layouts;
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu;
use geometry::Volume;
use std::sync::Arc;

/// Most isodose levels in one picture.
pub(super) const MAX_LEVELS: usize = 16;

/// Shader source: the shared parts, then the slice.
pub(super) const SOURCE: &str = concat!(
    include_str!("../../../kernels/cover.wgsl"),
    include_str!("../../../kernels/grid.wgsl"),
    include_str!("../../../kernels/dose.wgsl"),
    include_str!("../../../kernels/slice.wgsl")
);

/// Look of a plane.
pub struct SliceLook<'a> {
    pub ct: Option<&'a Arc<Volume<f32>>>,
    /// HU at black and at white.
    pub window_hu: [f32; 2],
    pub dose: Option<DoseLook<'a>>,
    /// Display colour outside the CT, 0 to 1.
    pub background: [f32; 3],
}

/// A dose and its style.
pub struct DoseLook<'a> {
    pub gy: &'a Arc<Volume<f32>>,
    pub style: DoseStyle<'a>,
}

/// Style of a dose.
#[derive(Clone, Copy)]
pub struct DoseStyle<'a> {
    /// Ascending; levels beyond [`MAX_LEVELS`] are ignored.
    pub levels: &'a [Isodose],
    pub wash_opacity: f32,
    pub wash_threshold_gy: f32,
    pub banded: bool,
    pub lines: bool,
}

impl DoseStyle<'_> {
    /// Fills the blocks that `kernels/dose.wgsl` reads; returns the number of levels.
    pub(super) fn write(
        &self,
        wash: &mut [f32; 4],
        blocks: &mut [[f32; 4]; MAX_LEVELS],
        colours: &mut [[f32; 4]; MAX_LEVELS],
    ) -> usize {
        let levels = &self.levels[..self.levels.len().min(MAX_LEVELS)];
        // A flat region at exactly a level is not a line: slopes below a millionth of the top level are ignored.
        let smallest = levels.last().map_or(0.0, |l| l.gy.abs() * 1e-6);
        let opacity = if levels.is_empty() {
            0.0
        } else {
            self.wash_opacity
        };
        *wash = [
            opacity,
            self.wash_threshold_gy,
            f32::from(u8::from(self.banded)),
            smallest,
        ];
        for (i, level) in levels.iter().enumerate() {
            blocks[i] = [level.gy, 0.5 * level.width_px, 0.0, 0.0];
            colours[i] = [level.colour[0], level.colour[1], level.colour[2], 1.0];
        }
        levels.len()
    }
}

/// One isodose level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Isodose {
    pub gy: f32,
    /// Display colour, 0 to 1.
    pub colour: [f32; 3],
    pub width_px: f32,
}

/// `struct View` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ViewUniform {
    ct: GridUniform,
    dose: GridUniform,
    background: [f32; 4],
    window: [f32; 4],
    shape: [f32; 4],
    wash: [f32; 4],
    levels: [[f32; 4]; MAX_LEVELS],
    colours: [[f32; 4]; MAX_LEVELS],
}

pub(super) struct SlicePipeline {
    pipeline: wgpu::RenderPipeline,
    blocks: Blocks<ViewUniform>,
}

impl SlicePipeline {
    pub(super) fn new(
        device: &wgpu::Device,
        target: wgpu::TextureFormat,
        layouts: &Layouts,
    ) -> Self {
        let blocks = Blocks::new(device);
        let groups = [
            Some(blocks.layout()),
            Some(&layouts.smooth),
            Some(&layouts.exact),
        ];
        let pipeline = pipeline::new(device, "slice", SOURCE, &groups, target.into());
        Self { pipeline, blocks }
    }

    /// The draw call of the plane in egui's pass. Volumes without a texture (too large) are omitted.
    pub(super) fn paint(
        &self,
        device: &wgpu::Device,
        frame: &PlaneFrame,
        look: &SliceLook<'_>,
        ct: Option<Placed<'_>>,
        dose: Option<Placed<'_>>,
        empty: [wgpu::BindGroup; 2],
    ) -> Layers {
        let uniform = view_uniform(frame, look, ct.as_ref(), dose.as_ref());
        let [no_ct, no_dose] = empty;
        let groups = vec![
            ct.map_or(no_ct, |(_, group)| group),
            dose.map_or(no_dose, |(_, group)| group),
        ];
        Layers {
            pipeline: self.pipeline.clone(),
            uniforms: self.blocks.upload(device, &[uniform]),
            draws: vec![(self.blocks.offset(0), groups)],
            corners: 3,
        }
    }
}

fn view_uniform(
    frame: &PlaneFrame,
    look: &SliceLook<'_>,
    ct: Option<&Placed<'_>>,
    dose: Option<&Placed<'_>>,
) -> ViewUniform {
    let mut u = ViewUniform::zeroed();
    let [low, high] = look.window_hu;
    u.background = opaque(look.background);
    u.window = [
        low,
        1.0 / (high - low).max(1e-3),
        flag(ct.is_some()),
        flag(dose.is_some()),
    ];
    u.shape = [frame.size_px[0], frame.size_px[1], 0.0, 0.0];
    if let Some((volume, _)) = ct {
        u.ct = GridUniform::new(volume.grid(), frame);
    }
    if let (Some((volume, _)), Some(dose)) = (dose, &look.dose) {
        u.dose = GridUniform::new(volume.grid(), frame);
        u.shape[3] = flag(dose.style.lines);
        let count = dose.style.write(&mut u.wash, &mut u.levels, &mut u.colours);
        u.shape[2] = count as f32;
    }
    u
}
