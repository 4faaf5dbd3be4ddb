//! The pipelines of `kernels/room.wgsl`: the room, drawn with depth into a picture, which `kernels/picture.wgsl` shows.
//! The picture is drawn again when its camera or its contents change.

use super::pipeline::{self, Blocks, Layers};
use bytemuck::{Pod, Zeroable};
use egui_wgpu::wgpu;
use egui_wgpu::wgpu::util::DeviceExt as _;
use geometry::{Mesh, MeshVertex};
use report::room::{RoomLines, RoomLook, RoomOrder, RoomSurface};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

pub(super) const SOURCE: &str = include_str!("../../../kernels/room.wgsl");
pub(super) const PICTURE_SOURCE: &str = concat!(
    include_str!("../../../kernels/cover.wgsl"),
    include_str!("../../../kernels/picture.wgsl")
);

const COLOUR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// Samples a pixel: every device draws four.
const SAMPLES: u32 = 4;

/// `struct Room` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct RoomUniform {
    clip: [[f32; 4]; 4],
    eye: [f32; 4],
    colour: [f32; 4],
    how: [f32; 4],
}

/// `struct Shown` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ShownUniform {
    size: [f32; 4],
}

/// A surface on the device.
struct Placed {
    of: Weak<Mesh>,
    vertices: wgpu::Buffer,
    triangles: wgpu::Buffer,
    count: u32,
    /// Length of the diagonal of its box, mm.
    size_mm: f64,
}

/// A picture with its depth.
struct Target {
    size_px: [u32; 2],
    samples: wgpu::TextureView,
    depth: wgpu::TextureView,
    picture: wgpu::TextureView,
    group: wgpu::BindGroup,
}

pub(super) struct RoomPipeline {
    opaque: wgpu::RenderPipeline,
    /// The far and the near sides of see-through surfaces.
    far: wgpu::RenderPipeline,
    near: wgpu::RenderPipeline,
    lines: wgpu::RenderPipeline,
    blocks: Blocks<RoomUniform>,
    shown: wgpu::RenderPipeline,
    shown_blocks: Blocks<ShownUniform>,
    shown_layout: wgpu::BindGroupLayout,
    /// Keyed by the address of the surface.
    surfaces: HashMap<usize, Placed>,
    target: Option<Target>,
    /// Surfaces, camera and size of the picture.
    drawn: Option<RoomLook>,
}

impl RoomPipeline {
    pub(super) fn new(device: &wgpu::Device, target: wgpu::TextureFormat) -> Self {
        let blocks = Blocks::new(device);
        let triangles = wgpu::PrimitiveTopology::TriangleList;
        // Clear surfaces are drawn in two passes, far sides before near sides, so that they blend in order.
        let [opaque, lines, far, near] = [
            (triangles, None, true),
            (wgpu::PrimitiveTopology::LineList, None, false),
            (triangles, Some(wgpu::Face::Front), false),
            (triangles, Some(wgpu::Face::Back), false),
        ]
        .map(|(topology, cull_mode, writes_depth)| {
            pipeline_of(device, blocks.layout(), topology, cull_mode, writes_depth)
        });
        let shown_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("room"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::FRAGMENT,
                ty: wgpu::BindingType::Texture {
                    sample_type: wgpu::TextureSampleType::Float { filterable: false },
                    view_dimension: wgpu::TextureViewDimension::D2,
                    multisampled: false,
                },
                count: None,
            }],
        });
        let shown_blocks = Blocks::new(device);
        let groups = [Some(shown_blocks.layout()), Some(&shown_layout)];
        let shown = pipeline::new(
            device,
            "picture",
            PICTURE_SOURCE,
            &groups,
            pipeline::over(target),
        );
        Self {
            opaque,
            far,
            near,
            lines,
            blocks,
            shown,
            shown_blocks,
            shown_layout,
            surfaces: HashMap::new(),
            target: None,
            drawn: None,
        }
    }

    /// The draw call of the picture, which is drawn first unless it shows the same already. `None` for a picture that
    /// the device cannot hold.
    pub(super) fn paint(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        look: RoomLook,
    ) -> Option<Layers> {
        let [width, height] = look.frame.size_px;
        let max_side = device.limits().max_texture_dimension_2d;
        if width == 0 || height == 0 || width.max(height) > max_side {
            return None;
        }
        if self.drawn.as_ref() != Some(&look) {
            self.draw(device, queue, &look);
            self.drawn = Some(look);
        }
        let group = self.target.as_ref()?.group.clone();
        let size = ShownUniform {
            size: [width as f32, height as f32, 0.0, 0.0],
        };
        Some(Layers {
            pipeline: self.shown.clone(),
            uniforms: self.shown_blocks.upload(device, &[size]),
            draws: vec![(0, vec![group])],
            corners: 3,
        })
    }

    fn draw(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, look: &RoomLook) {
        self.surfaces
            .retain(|_, placed| placed.of.strong_count() > 0);
        let surfaces: Vec<&RoomSurface> = look
            .surfaces
            .iter()
            .filter(|s| !s.surface.triangles.is_empty())
            .collect();
        for surface in &surfaces {
            let key = Arc::as_ptr(&surface.surface) as usize;
            self.surfaces
                .entry(key)
                .or_insert_with(|| upload(device, &surface.surface));
        }
        if self
            .target
            .as_ref()
            .is_none_or(|t| t.size_px != look.frame.size_px)
        {
            self.target = Some(target(device, &self.shown_layout, look.frame.size_px));
        }
        let lines: Vec<&RoomLines> = look
            .lines
            .iter()
            .filter(|l| !l.ends_mm.is_empty())
            .collect();
        let of_surfaces = surfaces.iter().map(|s| uniform(look, s.colour, s.rim));
        let blocks: Vec<RoomUniform> = of_surfaces
            .chain(lines.iter().map(|l| uniform(look, l.colour, false)))
            .collect();
        let ends: Vec<wgpu::Buffer> = lines.iter().map(|l| upload_lines(device, l)).collect();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        if let Some(target) = &self.target {
            let mut pass = begin(&mut encoder, target, look.background);
            let uniforms = (!blocks.is_empty()).then(|| self.blocks.upload(device, &blocks));
            if let Some(uniforms) = &uniforms {
                let order = RoomOrder::new(&surfaces, |s| self.size_mm(s));
                pass.set_pipeline(&self.opaque);
                for n in &order.opaque {
                    self.draw_surface(&mut pass, uniforms, *n, surfaces[*n]);
                }
                pass.set_pipeline(&self.far);
                for n in &order.clear {
                    self.draw_surface(&mut pass, uniforms, *n, surfaces[*n]);
                }
                pass.set_pipeline(&self.lines);
                for (n, (lines, ends)) in lines.iter().zip(&ends).enumerate() {
                    pass.set_bind_group(0, uniforms, &[self.blocks.offset(surfaces.len() + n)]);
                    pass.set_vertex_buffer(0, ends.slice(..));
                    pass.draw(0..2 * lines.ends_mm.len() as u32, 0..1);
                }
                pass.set_pipeline(&self.near);
                for n in order.clear.iter().rev() {
                    self.draw_surface(&mut pass, uniforms, *n, surfaces[*n]);
                }
            }
        }
        queue.submit([encoder.finish()]);
    }

    /// Draws a surface with its uniforms, which have its index.
    fn draw_surface(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        uniforms: &wgpu::BindGroup,
        index: usize,
        surface: &RoomSurface,
    ) {
        let Some(placed) = self.placed(surface) else {
            return;
        };
        pass.set_bind_group(0, uniforms, &[self.blocks.offset(index)]);
        pass.set_vertex_buffer(0, placed.vertices.slice(..));
        pass.set_index_buffer(placed.triangles.slice(..), wgpu::IndexFormat::Uint32);
        pass.draw_indexed(0..placed.count, 0, 0..1);
    }

    fn placed(&self, surface: &RoomSurface) -> Option<&Placed> {
        self.surfaces.get(&(Arc::as_ptr(&surface.surface) as usize))
    }

    fn size_mm(&self, surface: &RoomSurface) -> f64 {
        self.placed(surface).map_or(0.0, |placed| placed.size_mm)
    }
}

fn uniform(look: &RoomLook, colour: [f32; 4], rim: bool) -> RoomUniform {
    RoomUniform {
        clip: look.frame.clip_from_patient,
        eye: pipeline::opaque(look.frame.eye_mm),
        colour,
        how: [pipeline::flag(rim), 0.0, 0.0, 0.0],
    }
}

fn pipeline_of(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    topology: wgpu::PrimitiveTopology,
    cull_mode: Option<wgpu::Face>,
    writes_depth: bool,
) -> wgpu::RenderPipeline {
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("room"),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("room"),
        source: wgpu::ShaderSource::Wgsl(SOURCE.into()),
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("room"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("place"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[Some(wgpu::VertexBufferLayout {
                array_stride: size_of::<MeshVertex>() as u64,
                step_mode: wgpu::VertexStepMode::Vertex,
                attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3],
            })],
        },
        primitive: wgpu::PrimitiveState {
            topology,
            cull_mode,
            ..Default::default()
        },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(writes_depth),
            depth_compare: Some(wgpu::CompareFunction::LessEqual),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState {
            count: SAMPLES,
            ..Default::default()
        },
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("shade"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(pipeline::over(COLOUR))],
        }),
        multiview_mask: None,
        cache: None,
    })
}

fn begin<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    target: &Target,
    [r, g, b]: [f32; 3],
) -> wgpu::RenderPass<'a> {
    let background = wgpu::Color {
        r: r.into(),
        g: g.into(),
        b: b.into(),
        a: 1.0,
    };
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some("room"),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: &target.samples,
            depth_slice: None,
            resolve_target: Some(&target.picture),
            ops: wgpu::Operations {
                load: wgpu::LoadOp::Clear(background),
                store: wgpu::StoreOp::Discard,
            },
        })],
        depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
            view: &target.depth,
            depth_ops: Some(wgpu::Operations {
                load: wgpu::LoadOp::Clear(1.0),
                store: wgpu::StoreOp::Discard,
            }),
            stencil_ops: None,
        }),
        ..Default::default()
    })
}

fn upload(device: &wgpu::Device, surface: &Arc<Mesh>) -> Placed {
    let contents: [(&[u8], _); 2] = [
        (
            bytemuck::cast_slice(&surface.vertices),
            wgpu::BufferUsages::VERTEX,
        ),
        (
            bytemuck::cast_slice(&surface.triangles),
            wgpu::BufferUsages::INDEX,
        ),
    ];
    let [vertices, triangles] = contents.map(|(contents, usage)| {
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("surface"),
            contents,
            usage,
        })
    });
    Placed {
        of: Arc::downgrade(surface),
        vertices,
        triangles,
        count: 3 * surface.triangles.len() as u32,
        size_mm: surface
            .bounds_mm()
            .map_or(0.0, |[low, high]| low.distance(high)),
    }
}

fn upload_lines(device: &wgpu::Device, lines: &RoomLines) -> wgpu::Buffer {
    let ends = lines.ends_mm.iter().flatten().map(|end_mm| MeshVertex {
        at_mm: *end_mm,
        normal: [0.0; 3],
    });
    let ends: Vec<MeshVertex> = ends.collect();
    device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("lines"),
        contents: bytemuck::cast_slice(&ends),
        usage: wgpu::BufferUsages::VERTEX,
    })
}

fn target(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, size_px: [u32; 2]) -> Target {
    let attached = wgpu::TextureUsages::RENDER_ATTACHMENT;
    let [picture, samples, depth] = [
        (COLOUR, 1, attached | wgpu::TextureUsages::TEXTURE_BINDING),
        (COLOUR, SAMPLES, attached),
        (DEPTH, SAMPLES, attached),
    ]
    .map(|(format, sample_count, usage)| {
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("room"),
            size: wgpu::Extent3d {
                width: size_px[0],
                height: size_px[1],
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage,
            view_formats: &[],
        });
        texture.create_view(&wgpu::TextureViewDescriptor::default())
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("room"),
        layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::TextureView(&picture),
        }],
    });
    Target {
        size_px,
        samples,
        depth,
        picture,
        group,
    }
}
