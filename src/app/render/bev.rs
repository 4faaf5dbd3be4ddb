//! The pipeline of `kernels/bev.wgsl`: cast pictures in the beam's-eye view.

use super::cast::CAST_HALF_MM;
use super::pipeline::{self, Blocks, Layers};
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu;

pub(super) const SOURCE: &str = concat!(
    include_str!("../../../kernels/cover.wgsl"),
    include_str!("../../../kernels/bev.wgsl")
);

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

/// One layer of the view: a picture and its look.
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
    blocks: Blocks<BevUniform>,
}

impl BevPipeline {
    pub(super) fn new(
        device: &wgpu::Device,
        target: wgpu::TextureFormat,
        picture: &wgpu::BindGroupLayout,
    ) -> Self {
        let blocks = Blocks::new(device);
        let groups = [Some(blocks.layout()), Some(picture)];
        let pipeline = pipeline::new(device, "bev", SOURCE, &groups, pipeline::over(target));
        Self { pipeline, blocks }
    }

    /// The draw calls of the layers, first to last; `None` without layers.
    pub(super) fn paint(
        &self,
        device: &wgpu::Device,
        frame: &BevFrame,
        layers: Vec<(wgpu::BindGroup, Layer)>,
    ) -> Option<Layers> {
        if layers.is_empty() {
            return None;
        }
        let uniforms: Vec<BevUniform> = layers
            .iter()
            .map(|(_, layer)| uniform(frame, layer))
            .collect();
        let draws = layers.into_iter().enumerate();
        let draws = draws.map(|(n, (picture, _))| (self.blocks.offset(n), vec![picture]));
        Some(Layers {
            pipeline: self.pipeline.clone(),
            uniforms: self.blocks.upload(device, &uniforms),
            draws: draws.collect(),
            corners: 3,
        })
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
    out.shape = [
        frame.size_px[0],
        frame.size_px[1],
        0.0,
        (1.0 / frame.mm_per_pixel) as f32,
    ];
    match *layer {
        Layer::Radiograph {
            range_mm: [low, high],
            background: [r, g, b],
        } => {
            out.range = [low, 1.0 / (high - low).max(1.0), 0.0, 0.0];
            out.background = [r, g, b, 1.0];
        }
        Layer::Silhouette {
            colour: [r, g, b],
            width_px,
        } => {
            out.colour = [r, g, b, 1.0];
            out.shape[2] = 0.5 * width_px;
        }
    }
    out
}
