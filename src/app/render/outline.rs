//! The pipeline of `kernels/outline.wgsl`: outlines of structures on one plane, from their masks.

use super::frame::{GridUniform, PlaneFrame, covered_px};
use super::pipeline::{self, Blocks, Layers};
use super::textures::{Layouts, Textures};
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu;
use geometry::Mask;
use std::sync::Arc;

pub(super) const SOURCE: &str = concat!(
    include_str!("../../../kernels/cover.wgsl"),
    include_str!("../../../kernels/grid.wgsl"),
    include_str!("../../../kernels/outline.wgsl")
);

/// One structure's outline.
pub struct OutlineLook<'a> {
    pub mask: &'a Arc<Mask>,
    /// Display colour, 0 to 1.
    pub colour: [f32; 3],
    pub width_px: f32,
    /// Opacity of the inside, 0 to 1.
    pub fill: f32,
}

/// `struct Outline` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct OutlineUniform {
    grid: GridUniform,
    colour: [f32; 4],
    shape: [f32; 4],
    covered: [f32; 4],
}

pub(super) struct OutlinePipeline {
    pipeline: wgpu::RenderPipeline,
    blocks: Blocks<OutlineUniform>,
}

impl OutlinePipeline {
    pub(super) fn new(
        device: &wgpu::Device,
        target: wgpu::TextureFormat,
        layouts: &Layouts,
    ) -> Self {
        let blocks = Blocks::new(device);
        let groups = [Some(blocks.layout()), Some(&layouts.exact)];
        let pipeline = pipeline::new(device, "outline", SOURCE, &groups, pipeline::over(target));
        Self { pipeline, blocks }
    }

    /// The draw calls of the outlines of structures that the plane meets; `None` if it meets none.
    pub(super) fn paint(
        &self,
        device: &wgpu::Device,
        frame: &PlaneFrame,
        looks: &[OutlineLook<'_>],
        textures: &mut Textures,
    ) -> Option<Layers> {
        let mut uniforms = Vec::new();
        let mut draws = Vec::new();
        for look in looks {
            let Some(covered) = covered_px(look.mask, frame) else {
                continue;
            };
            let Some(group) = textures.mask(look.mask) else {
                continue;
            };
            let [r, g, b] = look.colour;
            draws.push((self.blocks.offset(uniforms.len()), vec![group]));
            uniforms.push(OutlineUniform {
                grid: GridUniform::of_mask(look.mask, frame),
                colour: [r, g, b, look.fill],
                shape: [frame.size_px[0], frame.size_px[1], 0.5 * look.width_px, 0.0],
                covered,
            });
        }
        if draws.is_empty() {
            return None;
        }
        let uniforms = self.blocks.upload(device, &uniforms);
        Some(Layers {
            pipeline: self.pipeline.clone(),
            uniforms,
            draws,
            corners: 6,
        })
    }
}
