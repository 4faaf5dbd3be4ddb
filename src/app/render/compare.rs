//! The pipeline of `kernels/compare.wgsl`: two doses on one plane, their difference, gamma.

use super::frame::{GridUniform, PlaneFrame};
use super::pipeline::{self, Blocks, Layers, flag, opaque};
use super::slice::{DoseStyle, MAX_LEVELS};
use super::textures::Layouts;
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu;
use geometry::Volume;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const SOURCE: &str = concat!(
    include_str!("../../../kernels/cover.wgsl"),
    include_str!("../../../kernels/grid.wgsl"),
    include_str!("../../../kernels/dose.wgsl"),
    include_str!("../../../kernels/compare.wgsl")
);

/// Content of a plane with two doses; positions and lengths in pixels of the view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Blend {
    A,
    B,
    /// A to the left of `x`, B from there on.
    Swipe {
        x: f32,
    },
    Checkerboard {
        side: f32,
    },
    /// B in a disc, A around it.
    Spyglass {
        x: f32,
        y: f32,
        radius: f32,
    },
    /// B - A.
    Difference,
    Gamma,
}

/// Isodose lines to draw: A's are solid, B's dashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolines {
    None,
    /// The lines of the dose displayed at a position; none on a difference or gamma.
    #[default]
    Own,
    Both,
}

/// Look of B - A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferenceLook {
    /// 0 Gy, 1 percent of the reference, 2 percent of A.
    pub unit: u32,
    /// Smaller differences are not drawn, in the unit, on either side.
    pub dead_band: f32,
    /// End of the scale, in the unit, on either side.
    pub end: f32,
    /// 100 % in Gy.
    pub reference_gy: f32,
    /// Local percent are shown from this dose of A on, Gy.
    pub local_from_gy: f32,
    pub opacity: f32,
    /// From the most negative to the most positive, display colours, 0 to 1; palest in the middle.
    pub colours: [[f32; 3]; 6],
}

/// Look of gamma.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GammaLook {
    /// End of the scale.
    pub end: f32,
    /// Signed gamma takes the colours of the difference.
    pub signed: bool,
    pub opacity: f32,
    /// At 0, 1 and the end; display colours, 0 to 1.
    pub colours: [[f32; 3]; 3],
    /// Rim of the failing voxels.
    pub failing: [f32; 3],
}

/// Look of a plane of the comparison.
pub struct CompareLook<'a> {
    pub ct: Option<&'a Arc<Volume<f32>>>,
    /// HU at black and at white.
    pub window_hu: [f32; 2],
    /// Style of both doses.
    pub style: DoseStyle<'a>,
    /// Dose A, Gy.
    pub a: Option<&'a Arc<Volume<f32>>>,
    /// Dose B, Gy.
    pub b: Option<&'a Arc<Volume<f32>>>,
    /// Gamma on its own grid; NaN where undefined.
    pub gamma: Option<&'a Arc<Volume<f32>>>,
    pub blend: Blend,
    pub isolines: Isolines,
    pub difference: DifferenceLook,
    pub gamma_look: GammaLook,
    /// Display colour outside the CT, 0 to 1.
    pub background: [f32; 3],
}

/// `struct View` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct CompareUniform {
    ct: GridUniform,
    a: GridUniform,
    b: GridUniform,
    gamma: GridUniform,
    background: [f32; 4],
    window: [f32; 4],
    shape: [f32; 4],
    wash: [f32; 4],
    there: [f32; 4],
    mixing: [f32; 4],
    difference: [f32; 4],
    scale: [f32; 4],
    levels: [[f32; 4]; MAX_LEVELS],
    colours: [[f32; 4]; MAX_LEVELS],
    diverging: [[f32; 4]; 6],
    gammas: [[f32; 4]; 3],
    failing: [f32; 4],
}

pub(super) struct ComparePipeline {
    pipeline: wgpu::RenderPipeline,
    blocks: Blocks<CompareUniform>,
}

impl ComparePipeline {
    pub(super) fn new(
        device: &wgpu::Device,
        target: wgpu::TextureFormat,
        layouts: &Layouts,
    ) -> Self {
        let blocks = Blocks::new(device);
        let groups = [
            Some(blocks.layout()),
            Some(&layouts.smooth),
            Some(&layouts.three),
        ];
        let pipeline = pipeline::new(device, "compare", SOURCE, &groups, target.into());
        Self { pipeline, blocks }
    }

    /// The draw call of the plane in egui's pass; `has_texture` says it of A, B and gamma.
    pub(super) fn paint(
        &self,
        device: &wgpu::Device,
        frame: &PlaneFrame,
        look: &CompareLook<'_>,
        has_ct: bool,
        has_texture: [bool; 3],
        groups: Vec<wgpu::BindGroup>,
    ) -> Layers {
        let uniform = uniform_of(frame, look, has_ct, has_texture);
        Layers {
            pipeline: self.pipeline.clone(),
            uniforms: self.blocks.upload(device, &[uniform]),
            draws: vec![(self.blocks.offset(0), groups)],
            corners: 3,
        }
    }
}

fn uniform_of(
    frame: &PlaneFrame,
    look: &CompareLook<'_>,
    has_ct: bool,
    has_texture: [bool; 3],
) -> CompareUniform {
    let mut u = CompareUniform::zeroed();
    let [low, high] = look.window_hu;
    u.background = opaque(look.background);
    u.window = [low, 1.0 / (high - low).max(1e-3), flag(has_ct), 0.0];
    let (show, mixing) = match look.blend {
        Blend::A => (0.0, [0.0; 3]),
        Blend::B => (1.0, [0.0; 3]),
        Blend::Swipe { x } => (2.0, [x, 0.0, 0.0]),
        Blend::Checkerboard { side } => (3.0, [side.max(1.0), 0.0, 0.0]),
        Blend::Spyglass { x, y, radius } => (4.0, [x, y, radius]),
        Blend::Difference => (5.0, [0.0; 3]),
        Blend::Gamma => (6.0, [0.0; 3]),
    };
    u.shape = [frame.size_px[0], frame.size_px[1], 0.0, show];
    u.mixing = [
        mixing[0],
        mixing[1],
        mixing[2],
        flag(look.gamma_look.signed),
    ];
    let lines = match look.isolines {
        Isolines::Own if look.style.lines => 1.0,
        Isolines::Both if look.style.lines => 2.0,
        _ => 0.0,
    };
    let [has_a, has_b, has_gamma] = has_texture.map(flag);
    u.there = [has_a, has_b, has_gamma, lines];
    for (grid, volume) in [
        (&mut u.ct, look.ct.filter(|_| has_ct)),
        (&mut u.a, look.a),
        (&mut u.b, look.b),
        (&mut u.gamma, look.gamma),
    ] {
        if let Some(volume) = volume {
            *grid = GridUniform::new(volume.grid(), frame);
        }
    }
    let count = look.style.write(&mut u.wash, &mut u.levels, &mut u.colours);
    u.shape[2] = count as f32;
    let d = &look.difference;
    u.difference = [d.unit as f32, d.dead_band, d.end.max(1e-9), d.opacity];
    u.scale = [
        d.reference_gy.max(1e-20),
        d.local_from_gy,
        look.gamma_look.end,
        look.gamma_look.opacity,
    ];
    u.diverging = d.colours.map(opaque);
    u.gammas = look.gamma_look.colours.map(opaque);
    u.failing = opaque(look.gamma_look.failing);
    u
}
