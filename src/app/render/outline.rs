//! The pipeline of `kernels/outline.wgsl`: outlines of structures on one plane, from their masks.

use super::frame::{GridUniform, PlaneFrame, covered_px};
use super::pipeline;
use super::textures::{Layouts, Textures};
use crate::geometry::Mask;
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu::{self, util::DeviceExt as _};
use std::num::NonZeroU64;
use std::sync::Arc;

pub(super) const SOURCE: &str =
    concat!(include_str!("../../../kernels/grid.wgsl"), include_str!("../../../kernels/outline.wgsl"));

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
    layout: wgpu::BindGroupLayout,
    /// Distance between blocks of the uniform buffer.
    stride: usize,
}

impl OutlinePipeline {
    pub(super) fn new(device: &wgpu::Device, target: wgpu::TextureFormat, layouts: &Layouts) -> Self {
        let size = size_of::<OutlineUniform>();
        let layout = pipeline::uniform_layout(device, NonZeroU64::new(size as u64));
        let pipeline = pipeline::new(
            device,
            "outline",
            SOURCE,
            &[Some(&layout), Some(&layouts.exact)],
            wgpu::ColorTargetState {
                format: target,
                blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            },
        );
        let align = device.limits().min_uniform_buffer_offset_alignment as usize;
        Self { pipeline, layout, stride: size.next_multiple_of(align) }
    }

    /// What draws the outlines of the structures that the plane meets; `None` when it meets none.
    pub(super) fn paint(
        &self,
        device: &wgpu::Device,
        frame: &PlaneFrame,
        looks: &[OutlineLook<'_>],
        textures: &mut Textures,
    ) -> Option<OutlinePaint> {
        let mut blocks = Vec::new();
        let mut masks = Vec::new();
        for look in looks {
            let Some(covered) = covered_px(look.mask, frame) else { continue };
            let Some(group) = textures.mask(look.mask) else { continue };
            let [r, g, b] = look.colour;
            let uniform = OutlineUniform {
                grid: GridUniform::of_mask(look.mask, frame),
                colour: [r, g, b, look.fill],
                shape: [frame.size_px[0], frame.size_px[1], 0.5 * look.width_px, 0.0],
                covered,
            };
            let start = blocks.len();
            blocks.extend_from_slice(bytemuck::bytes_of(&uniform));
            blocks.resize(start + self.stride, 0);
            masks.push((group, start as u32));
        }
        if masks.is_empty() {
            return None;
        }
        let buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("outlines"),
            contents: &blocks,
            usage: wgpu::BufferUsages::UNIFORM,
        });
        let uniforms = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("outlines"),
            layout: &self.layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &buffer,
                    offset: 0,
                    size: NonZeroU64::new(size_of::<OutlineUniform>() as u64),
                }),
            }],
        });
        Some(OutlinePaint { pipeline: self.pipeline.clone(), uniforms, masks })
    }
}

pub(super) struct OutlinePaint {
    pipeline: wgpu::RenderPipeline,
    uniforms: wgpu::BindGroup,
    /// Bindings of each mask and the offset of its block of uniforms.
    masks: Vec<(wgpu::BindGroup, u32)>,
}

impl egui_wgpu::CallbackTrait for OutlinePaint {
    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        _resources: &egui_wgpu::CallbackResources,
    ) {
        pass.set_pipeline(&self.pipeline);
        for (mask, offset) in &self.masks {
            pass.set_bind_group(0, &self.uniforms, &[*offset]);
            pass.set_bind_group(1, mask, &[]);
            pass.draw(0..6, 0..1);
        }
    }
}
