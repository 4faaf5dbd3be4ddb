//! The pipeline of `kernels/bev.wgsl`: cast pictures in the beam's-eye view.

use super::cast::CAST_HALF_MM;
use super::pipeline;
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu::{self, util::DeviceExt as _};
use std::num::NonZeroU64;

pub(super) const SOURCE: &str = include_str!("../../../kernels/bev.wgsl");

/// The part of the isocentre plane that a beam's-eye view shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BevFrame {
    /// Device coordinates (x, y) of the view's top left corner, mm at the isocentre plane; y is up.
    pub top_left_mm: [f64; 2],
    pub mm_per_pixel: f64,
    pub size_px: [f32; 2],
}

/// `struct Bev` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct BevUniform {
    corner: [f32; 4],
    step: [f32; 4],
    colour: [f32; 4],
    shape: [f32; 4],
    range: [f32; 4],
    background: [f32; 4],
}

/// One layer of the view: a picture and how it looks.
pub(super) enum Layer {
    /// Water-equivalent mm at black and at white, and the display colour outside the picture.
    Radiograph {
        range_mm: [f32; 2],
        background: [f32; 3],
    },
    Silhouette {
        colour: [f32; 3],
        width_px: f32,
    },
}

pub(super) struct BevPipeline {
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
    stride: usize,
}

impl BevPipeline {
    pub(super) fn new(
        device: &wgpu::Device,
        target: wgpu::TextureFormat,
        picture: &wgpu::BindGroupLayout,
    ) -> Self {
        let size = size_of::<BevUniform>();
        let layout = pipeline::uniform_layout(device, NonZeroU64::new(size as u64));
        let target = wgpu::ColorTargetState {
            format: target,
            blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
            write_mask: wgpu::ColorWrites::ALL,
        };
        let pipeline = pipeline::new(device, "bev", SOURCE, &[Some(&layout), Some(picture)], target);
        let align = device.limits().min_uniform_buffer_offset_alignment as usize;
        Self { pipeline, layout, stride: size.next_multiple_of(align) }
    }

    /// What draws the layers, first to last; `None` without any.
    pub(super) fn paint(
        &self,
        device: &wgpu::Device,
        frame: &BevFrame,
        layers: Vec<(wgpu::BindGroup, Layer)>,
    ) -> Option<BevPaint> {
        if layers.is_empty() {
            return None;
        }
        let mut blocks = vec![0; self.stride * layers.len()];
        let mut pictures = Vec::with_capacity(layers.len());
        for (n, (picture, layer)) in layers.into_iter().enumerate() {
            let uniform = uniform(frame, &layer);
            let start = n * self.stride;
            blocks[start..start + size_of::<BevUniform>()].copy_from_slice(bytemuck::bytes_of(&uniform));
            pictures.push((picture, start as u32));
        }
        let buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("bev"),
            contents: &blocks,
            usage: wgpu::BufferUsages::UNIFORM,
        });
        let uniforms = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("bev"),
            layout: &self.layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &buffer,
                    offset: 0,
                    size: NonZeroU64::new(size_of::<BevUniform>() as u64),
                }),
            }],
        });
        Some(BevPaint { pipeline: self.pipeline.clone(), uniforms, pictures })
    }
}

fn uniform(frame: &BevFrame, layer: &Layer) -> BevUniform {
    let side = 2.0 * CAST_HALF_MM;
    let u = (frame.top_left_mm[0] + CAST_HALF_MM) / side;
    let v = (CAST_HALF_MM - frame.top_left_mm[1]) / side;
    let step = (frame.mm_per_pixel / side) as f32;
    let mut out = BevUniform::zeroed();
    out.corner = [u as f32, v as f32, 0.0, 0.0];
    out.step = [step, step, 0.0, 0.0];
    out.shape = [frame.size_px[0], frame.size_px[1], 0.0, (1.0 / frame.mm_per_pixel) as f32];
    match *layer {
        Layer::Radiograph { range_mm: [low, high], background: [r, g, b] } => {
            out.range = [low, 1.0 / (high - low).max(1.0), 0.0, 0.0];
            out.background = [r, g, b, 1.0];
        }
        Layer::Silhouette { colour: [r, g, b], width_px } => {
            out.colour = [r, g, b, 1.0];
            out.shape[2] = 0.5 * width_px;
        }
    }
    out
}

pub(super) struct BevPaint {
    pipeline: wgpu::RenderPipeline,
    uniforms: wgpu::BindGroup,
    /// Each picture and the offset of its block of uniforms.
    pictures: Vec<(wgpu::BindGroup, u32)>,
}

impl egui_wgpu::CallbackTrait for BevPaint {
    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        _resources: &egui_wgpu::CallbackResources,
    ) {
        pass.set_pipeline(&self.pipeline);
        for (picture, offset) in &self.pictures {
            pass.set_bind_group(0, &self.uniforms, &[*offset]);
            pass.set_bind_group(1, picture, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}
