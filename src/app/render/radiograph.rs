//! The pipeline of `kernels/radiograph.wgsl`: an X-ray and a DRR overlaid, outlines over both.

use super::frame::corners_mm;
use super::pipeline::{self, Blocks, Layers, flag, opaque};
use super::upload::flat_texture;
use super::{DrrView, OutlineLook};
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu;
use geometry::Mask;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

pub(super) const SOURCE: &str = concat!(
    include_str!("../../../kernels/cover.wgsl"),
    include_str!("../../../kernels/radiograph.wgsl")
);

/// The part of an image that a view shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadiographFrame {
    /// Image pixel `[column, row]` at the view's top left corner, pixel centres at whole numbers.
    pub top_left: [f64; 2],
    /// Image pixels along a screen pixel to the right and down.
    pub pixels_per_px: [f64; 2],
    /// Screen pixels.
    pub size_px: [f32; 2],
    /// Columns and rows of the image.
    pub image: [usize; 2],
}

/// An X-ray for display: bright where it is more attenuated, a texel for one or more pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Texels {
    /// `[row][column]`.
    pub values: Vec<f32>,
    pub columns: usize,
    pub rows: usize,
    pub pixels_per_texel: usize,
}

/// Overlay mode of X-ray and DRR. Lengths in screen pixels, from the view's top left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Overlay {
    /// Share of the DRR, 0 to 1.
    Blend(f32),
    /// Each in its own colour, 0 to 1; together white.
    Colours { xray: [f32; 3], drr: [f32; 3] },
    /// Side of a square.
    Board(f32),
    /// Position of the line: the DRR is right of it.
    Swipe(f32),
    /// The DRR within a circle.
    Spyglass { middle: [f32; 2], radius: f32 },
    /// Grey where both agree, brighter where the X-ray is more attenuated.
    Difference,
    /// Edges of the DRR in a colour over the X-ray.
    Edges { colour: [f32; 3], width_px: f32 },
}

/// Look of the images.
pub struct RadiographLook<'a> {
    pub xray: Option<&'a Arc<Texels>>,
    pub overlay: Overlay,
    /// Values at black and at white.
    pub xray_range: [f32; 2],
    pub drr_range: [f32; 2],
    /// Bone dark, as on film.
    pub bone_dark: bool,
    /// Display colour outside the image, 0 to 1.
    pub background: [f32; 3],
    pub outlines: Vec<OutlineLook<'a>>,
}

/// `struct Look` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LookUniform {
    corner: [f32; 4],
    shape: [f32; 4],
    xray: [f32; 4],
    drr: [f32; 4],
    xray_colour: [f32; 4],
    drr_colour: [f32; 4],
    background: [f32; 4],
    how: [f32; 4],
    glass: [f32; 4],
    covered: [f32; 4],
}

/// A texture with its number of image pixels per texel.
pub(super) type Drawn = (wgpu::TextureView, usize);

pub(super) struct RadiographPipeline {
    pipeline: wgpu::RenderPipeline,
    blocks: Blocks<LookUniform>,
    layout: wgpu::BindGroupLayout,
    /// Keyed by the address of the texels.
    xrays: HashMap<usize, (Weak<Texels>, wgpu::TextureView)>,
    nothing: wgpu::TextureView,
}

impl RadiographPipeline {
    pub(super) fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        target: wgpu::TextureFormat,
    ) -> Self {
        let entries = [0, 1].map(|binding| {
            let picture = pipeline::TextureEntry {
                binding,
                stages: wgpu::ShaderStages::FRAGMENT,
                dimension: wgpu::TextureViewDimension::D2,
                filterable: false,
            };
            picture.layout()
        });
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("radiographs"),
            entries: &entries,
        });
        let blocks = Blocks::new(device);
        let groups = [Some(blocks.layout()), Some(&layout)];
        let pipeline = pipeline::new(
            device,
            "radiograph",
            SOURCE,
            &groups,
            pipeline::over(target),
        );
        let nothing = flat_texture(device, queue, "x-ray", &[0.0], [1, 1]);
        Self {
            pipeline,
            blocks,
            layout,
            xrays: HashMap::new(),
            nothing,
        }
    }

    /// The texture of an X-ray, uploaded at its first use.
    pub(super) fn xray(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        texels: &Arc<Texels>,
    ) -> Option<Drawn> {
        self.xrays
            .retain(|_, (texels, _)| texels.strong_count() > 0);
        let max_side = device.limits().max_texture_dimension_2d as usize;
        let Texels { columns, rows, .. } = **texels;
        if columns.max(rows) > max_side
            || columns.min(rows) == 0
            || texels.values.len() != columns * rows
        {
            return None;
        }
        let key = Arc::as_ptr(texels) as usize;
        let (_, view) = self.xrays.entry(key).or_insert_with(|| {
            let size = [columns as u32, rows as u32];
            (
                Arc::downgrade(texels),
                flat_texture(device, queue, "x-ray", &texels.values, size),
            )
        });
        Some((view.clone(), texels.pixels_per_texel))
    }

    /// The draw calls of both images, and over them each outline with its silhouette cast for `view`.
    #[expect(
        clippy::too_many_arguments,
        reason = "one call; a struct would only rename them"
    )]
    pub(super) fn paint(
        &self,
        device: &wgpu::Device,
        frame: &RadiographFrame,
        view: &DrrView,
        look: &RadiographLook<'_>,
        xray: Option<&Drawn>,
        drr: Option<&Drawn>,
        silhouettes: &[(Drawn, &OutlineLook<'_>)],
    ) -> Layers {
        let none = (self.nothing.clone(), 1);
        let (xray, drr) = (xray.unwrap_or(&none), drr.unwrap_or(&none));
        let mut uniforms = vec![uniform(frame, look, xray.1, drr.1)];
        let mut groups = vec![self.group(device, &xray.0, &drr.0)];
        for (silhouette, outline) in silhouettes {
            let mut uniform = outline_uniform(frame, outline, silhouette.1);
            // A texel and half a line beyond the covered rectangle.
            let rim = silhouette.1 as f64 / frame.pixels_per_px[0].min(frame.pixels_per_px[1]);
            let Some(covered) =
                covered_px(frame, view, outline.mask, rim + f64::from(outline.width_px))
            else {
                continue;
            };
            uniform.covered = covered;
            uniforms.push(uniform);
            groups.push(self.group(device, &silhouette.0, &silhouette.0));
        }
        let draws = groups.into_iter().enumerate();
        let draws = draws.map(|(n, group)| (self.blocks.offset(n), vec![group]));
        Layers {
            pipeline: self.pipeline.clone(),
            uniforms: self.blocks.upload(device, &uniforms),
            draws: draws.collect(),
            corners: 6,
        }
    }

    fn group(
        &self,
        device: &wgpu::Device,
        xray: &wgpu::TextureView,
        drr: &wgpu::TextureView,
    ) -> wgpu::BindGroup {
        let entries = [(0, xray), (1, drr)].map(|(binding, view)| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::TextureView(view),
        });
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("radiographs"),
            layout: &self.layout,
            entries: &entries,
        })
    }
}

/// Bounding box of a structure's projection with a rim, `[left, top, right, bottom]` in screen pixels of the view;
/// `None` if it is outside. On a software device the cost of an outline grows with its covered area.
fn covered_px(frame: &RadiographFrame, view: &DrrView, mask: &Mask, rim: f64) -> Option<[f32; 4]> {
    let [width, height] = frame.size_px.map(f64::from);
    let mut covered = [f64::MAX, f64::MAX, f64::MIN, f64::MIN];
    for corner_mm in corners_mm(mask) {
        let place_mm = view.pose.apply(corner_mm, view.centre_mm);
        // A corner behind the source may project anywhere.
        let Some(pixel) = view.projection.project(place_mm) else {
            return Some([0.0, 0.0, width as f32, height as f32]);
        };
        for axis in 0..2 {
            let px = (pixel[axis] - frame.top_left[axis]) / frame.pixels_per_px[axis];
            covered[axis] = covered[axis].min(px - rim);
            covered[axis + 2] = covered[axis + 2].max(px + rim);
        }
    }
    let [left, top] = [covered[0].max(0.0), covered[1].max(0.0)];
    let [right, bottom] = [covered[2].min(width), covered[3].min(height)];
    (left < right && top < bottom).then(|| [left, top, right, bottom].map(|v| v as f32))
}

fn placed(frame: &RadiographFrame) -> LookUniform {
    let [x, y] = frame.top_left;
    let [right, down] = frame.pixels_per_px;
    let mut out = LookUniform::zeroed();
    out.corner = [x as f32, y as f32, right as f32, down as f32];
    let [columns, rows] = frame.image.map(|n| n as f32);
    out.shape = [frame.size_px[0], frame.size_px[1], columns, rows];
    out.covered = [0.0, 0.0, frame.size_px[0], frame.size_px[1]];
    out
}

fn uniform(
    frame: &RadiographFrame,
    look: &RadiographLook<'_>,
    xray: usize,
    drr: usize,
) -> LookUniform {
    let mut out = placed(frame);
    [out.xray, out.drr] = [(look.xray_range, xray), (look.drr_range, drr)]
        .map(|([low, high], k)| [low, 1.0 / (high - low).max(1e-6), k as f32, 0.0]);
    out.background = opaque(look.background);
    out.how[3] = flag(look.bone_dark);
    out.how[0] = match look.overlay {
        Overlay::Blend(share) => {
            out.how[1] = share;
            0.0
        }
        Overlay::Colours { xray, drr } => {
            (out.xray_colour, out.drr_colour) = (opaque(xray), opaque(drr));
            1.0
        }
        Overlay::Board(side) => {
            out.how[2] = side.max(1.0);
            2.0
        }
        Overlay::Swipe(x) => {
            out.glass[0] = x;
            3.0
        }
        Overlay::Spyglass {
            middle: [x, y],
            radius,
        } => {
            out.glass = [x, y, radius, 0.0];
            4.0
        }
        Overlay::Difference => 5.0,
        Overlay::Edges {
            colour: drr,
            width_px,
        } => {
            out.drr_colour = opaque(drr);
            out.glass[3] = 0.5 * width_px;
            6.0
        }
    };
    out
}

fn outline_uniform(
    frame: &RadiographFrame,
    outline: &OutlineLook<'_>,
    pixels_per_texel: usize,
) -> LookUniform {
    let [r, g, b] = outline.colour;
    let mut out = placed(frame);
    out.drr = [0.0, 1.0, pixels_per_texel as f32, 0.0];
    out.drr_colour = [r, g, b, 1.0];
    out.how[0] = 7.0;
    out.glass[3] = 0.5 * outline.width_px;
    out
}
