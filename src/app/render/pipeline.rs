//! Common parts of the pipelines.

use bytemuck::Pod;
use egui_wgpu::wgpu;
use egui_wgpu::wgpu::util::DeviceExt as _;
use std::marker::PhantomData;
use std::num::NonZeroU64;

/// A pipeline of entry points `cover` and `shade` that draws into egui's target.
pub(super) fn new(
    device: &wgpu::Device,
    name: &str,
    source: &str,
    groups: &[Option<&wgpu::BindGroupLayout>],
    target: wgpu::ColorTargetState,
) -> wgpu::RenderPipeline {
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(name),
        bind_group_layouts: groups,
        immediate_size: 0,
    });
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(name),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("cover"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("shade"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(target)],
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// Uniform blocks of one kind, as a shader's first group: draws select theirs by its offset. They are storage that is read: Mesa's software
/// device compiles a shader anew for each value of a uniform buffer that its branches depend on, and keeps them all, gigabytes an hour.
pub(super) struct Blocks<U> {
    layout: wgpu::BindGroupLayout,
    /// Distance between blocks in a buffer.
    stride: usize,
    kind: PhantomData<U>,
}

impl<U: Pod> Blocks<U> {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let size = NonZeroU64::new(size_of::<U>() as u64);
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("uniforms"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::VERTEX_FRAGMENT | wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: true },
                    has_dynamic_offset: true,
                    min_binding_size: size,
                },
                count: None,
            }],
        });
        let align = device.limits().min_storage_buffer_offset_alignment as usize;
        Self {
            layout,
            stride: size_of::<U>().next_multiple_of(align),
            kind: PhantomData,
        }
    }

    pub(super) fn layout(&self) -> &wgpu::BindGroupLayout {
        &self.layout
    }

    /// A new buffer of these blocks; block `n` begins at [`Self::offset`] of `n`.
    pub(super) fn upload(&self, device: &wgpu::Device, blocks: &[U]) -> wgpu::BindGroup {
        let mut bytes = vec![0; self.stride * blocks.len()];
        for (place, block) in bytes.chunks_exact_mut(self.stride).zip(blocks) {
            place[..size_of::<U>()].copy_from_slice(bytemuck::bytes_of(block));
        }
        let buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("uniforms"),
            contents: &bytes,
            usage: wgpu::BufferUsages::STORAGE,
        });
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &buffer,
            offset: 0,
            size: NonZeroU64::new(size_of::<U>() as u64),
        });
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("uniforms"),
            layout: &self.layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource,
            }],
        })
    }

    pub(super) fn offset(&self, block: usize) -> u32 {
        (block * self.stride) as u32
    }
}

/// One or several draws in a view, each with its block of uniforms and its textures.
pub(super) struct Layers {
    pub pipeline: wgpu::RenderPipeline,
    pub uniforms: wgpu::BindGroup,
    /// Offset of the uniforms, and the bind groups from the second on.
    pub draws: Vec<(u32, Vec<wgpu::BindGroup>)>,
    /// Vertices per draw.
    pub corners: u32,
}

impl egui_wgpu::CallbackTrait for Layers {
    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        _resources: &egui_wgpu::CallbackResources,
    ) {
        pass.set_pipeline(&self.pipeline);
        for (offset, groups) in &self.draws {
            pass.set_bind_group(0, &self.uniforms, &[*offset]);
            for (n, group) in groups.iter().enumerate() {
                pass.set_bind_group(n as u32 + 1, group, &[]);
            }
            pass.draw(0..self.corners, 0..1);
        }
    }
}

/// Blends over the existing picture: colours are premultiplied by their opacity.
pub(super) fn over(format: wgpu::TextureFormat) -> wgpu::ColorTargetState {
    wgpu::ColorTargetState {
        format,
        blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
        write_mask: wgpu::ColorWrites::ALL,
    }
}

/// A two-dimensional picture with its sampler.
pub(super) fn picture_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let picture = TextureEntry {
        binding: 0,
        stages: wgpu::ShaderStages::FRAGMENT,
        dimension: wgpu::TextureViewDimension::D2,
        filterable: true,
    };
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("picture"),
        entries: &[
            picture.layout(),
            wgpu::BindGroupLayoutEntry {
                binding: 1,
                visibility: wgpu::ShaderStages::FRAGMENT,
                ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
                count: None,
            },
        ],
    })
}

/// A texture of floats in the layout of a bind group.
#[derive(Clone, Copy)]
pub(super) struct TextureEntry {
    pub binding: u32,
    pub stages: wgpu::ShaderStages,
    pub dimension: wgpu::TextureViewDimension,
    /// Whether a sampler may interpolate between texels.
    pub filterable: bool,
}

impl TextureEntry {
    pub(super) fn layout(self) -> wgpu::BindGroupLayoutEntry {
        wgpu::BindGroupLayoutEntry {
            binding: self.binding,
            visibility: self.stages,
            ty: wgpu::BindingType::Texture {
                sample_type: wgpu::TextureSampleType::Float {
                    filterable: self.filterable,
                },
                view_dimension: self.dimension,
                multisampled: false,
            },
            count: None,
        }
    }
}

/// A switch as shaders read it.
pub(super) fn flag(is_on: bool) -> f32 {
    f32::from(u8::from(is_on))
}

pub(super) fn opaque([r, g, b]: [f32; 3]) -> [f32; 4] {
    [r, g, b, 1.0]
}

/// Linear between texels, clamped to the outermost texel beyond the rim.
pub(super) fn linear_sampler(device: &wgpu::Device) -> wgpu::Sampler {
    device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("linear"),
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        ..Default::default()
    })
}
