//! The window without a display: frames of the same app, drawn into a picture by the same renderer.

use super::interfaces::device;
use eframe::CreationContext;
use egui::accesskit::{Node, NodeId, Role};
use egui::style::ScrollAnimation;
use egui::{Event, FullOutput, Pos2, RawInput, Rect, Vec2, ViewportId};
use egui_wgpu::{RenderState, ScreenDescriptor};
use platform::DRIVER_REMEDY;
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// 8-bit RGBA, top row first.
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub rgba: Vec<u8>,
}

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum OffscreenError {
    #[error("no graphics device to draw with ({0}). {DRIVER_REMEDY}")]
    NoDevice(String),
    #[error(
        "the picture of {0} x {1} pixels is larger than the graphics device draws ({2} pixels a side)"
    )]
    TooLarge(u32, u32, u32),
    #[error("drawing failed: {0}")]
    Draw(String),
    #[error(
        "the graphics device did not finish the picture in {0} s ({1}); other work may keep it busy: try again, or a \
         smaller size"
    )]
    Slow(u64, String),
    #[error("the work shown was not finished after {0} s")]
    Unfinished(u64),
}

/// Longest wait for a picture: a software device that shares its cores takes long the first time, when volumes are
/// uploaded and projected.
const DRAWN_WITHIN: Duration = Duration::from_secs(600);

/// Seconds by which each frame of [`Offscreen::wait`] runs ahead of the clock.
const WAITED_S: f64 = 0.25;

/// An app without a display: its frames, and the picture of the last one. Without graphics it lays out and draws nothing.
pub struct Offscreen<A> {
    pub app: A,
    pub ctx: egui::Context,
    /// Output of the last frame; its textures are uploaded.
    pub output: FullOutput,
    frame: eframe::Frame,
    graphics: Option<RenderState>,
    size_points: Vec2,
    pixels_per_point: f32,
    began: Instant,
    waited_s: f64,
    /// Whether the next frame was requested without delay since the last one began.
    is_due: Arc<AtomicBool>,
}

impl<A: eframe::App> Offscreen<A> {
    /// Builds the app and shows its first frame.
    ///
    /// # Errors
    /// Errors of `build`, the operating system's.
    pub fn new(
        size_points: Vec2,
        pixels_per_point: f32,
        graphics: Option<RenderState>,
        build: impl FnOnce(&CreationContext<'static>) -> io::Result<A>,
    ) -> Result<Self, OffscreenError> {
        let ctx = egui::Context::default();
        let (mut creation, mut frame) = (
            CreationContext::_new_kittest(ctx.clone()),
            eframe::Frame::_new_kittest(),
        );
        creation.wgpu_render_state.clone_from(&graphics);
        frame.wgpu_render_state.clone_from(&graphics);
        let app = build(&creation).map_err(|error| OffscreenError::Draw(error.to_string()))?;
        ctx.all_styles_mut(|style| {
            style.visuals.text_cursor.blink = false;
            style.scroll_animation = ScrollAnimation::none();
        });
        let is_due = Arc::new(AtomicBool::new(false));
        let repaint_requested = is_due.clone();
        ctx.set_request_repaint_callback(move |request| {
            if request.delay.is_zero() {
                repaint_requested.store(true, Ordering::Release);
            }
        });
        let output = FullOutput::default();
        let mut window = Self {
            app,
            ctx,
            output,
            frame,
            graphics,
            size_points,
            pixels_per_point,
            began: Instant::now(),
            waited_s: 0.0,
            is_due,
        };
        window.frame(Vec::new());
        Ok(window)
    }

    /// Whether a display would show the next frame at once. Frames that are requested for later, as by a view that refines its
    /// picture at rest, are not due.
    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    /// Shows frames without events, each a quarter of a second later: views at rest refine their pictures.
    pub fn wait(&mut self, frames: usize) {
        for _ in 0..frames {
            self.waited_s += WAITED_S;
            self.frame(Vec::new());
        }
    }

    /// Shows a frame with these events; its time without drawing, ms.
    pub fn frame(&mut self, events: Vec<Event>) -> f64 {
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size_points)),
            time: Some(self.began.elapsed().as_secs_f64() + self.waited_s),
            events,
            ..RawInput::default()
        };
        input
            .viewports
            .entry(ViewportId::ROOT)
            .or_default()
            .native_pixels_per_point = Some(self.pixels_per_point);
        self.is_due.store(false, Ordering::Release);
        let start = Instant::now();
        self.output = self.ctx.run_ui(input, |ui| {
            self.app.logic(ui.ctx(), &mut self.frame);
            self.app.ui(ui, &mut self.frame);
        });
        let ms = 1e3 * start.elapsed().as_secs_f64();
        self.upload();
        ms
    }

    fn upload(&mut self) {
        let Some(graphics) = &self.graphics else {
            return;
        };
        let mut renderer = graphics.renderer.write();
        for (id, images) in self.output.textures_delta.set.drain() {
            for image in images {
                renderer.update_texture(&graphics.device, &graphics.queue, id, &image);
            }
        }
        for id in self.output.textures_delta.free.drain() {
            renderer.free_texture(&id);
        }
    }

    /// Hands the textures of the last frame to the device, which a display does with each frame.
    pub fn submit(&self) {
        if let Some(graphics) = &self.graphics {
            graphics.queue.submit([]);
        }
    }

    /// Rectangle of a widget, points, by its name in the tree of assistive technology, which is made for this alone; the
    /// display has one pixel a point.
    pub fn rect_of(&mut self, name: &str, role: Option<Role>) -> Option<Rect> {
        self.ctx.enable_accesskit();
        self.frame(Vec::new());
        self.ctx.disable_accesskit();
        let nodes = self.output.platform_output.accesskit_update.take()?.nodes;
        let labels: HashMap<NodeId, &str> = nodes
            .iter()
            .filter_map(|(id, node)| Some((*id, own_name(node)?)))
            .collect();
        let (_, node) = nodes.iter().find(|(id, node)| {
            let mut names = node.labelled_by().iter().chain([id]);
            role.is_none_or(|role| node.role() == role)
                && names.any(|id| labels.get(id) == Some(&name))
        })?;
        let b = node.bounds()?;
        let [low, high] = [(b.x0, b.y0), (b.x1, b.y1)].map(|(x, y)| Pos2::new(x as f32, y as f32));
        Some(Rect::from_min_max(low, high))
    }

    /// Size of the window from the next frame on.
    pub fn resize(&mut self, size_points: Vec2) {
        self.size_points = size_points;
    }

    /// Draws the last frame.
    ///
    /// # Errors
    /// [`OffscreenError`]: no graphics, or the device does not finish.
    pub fn picture(&self) -> Result<Picture, OffscreenError> {
        let graphics = self
            .graphics
            .as_ref()
            .ok_or_else(|| OffscreenError::NoDevice("none was opened".to_owned()))?;
        let RenderState {
            device,
            queue,
            renderer,
            target_format,
            ..
        } = graphics;
        let [width, height] = [self.size_points.x, self.size_points.y]
            .map(|points| (points * self.pixels_per_point).round() as u32);
        let size = wgpu::Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        };
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: *target_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let row_bytes = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(row_bytes) * u64::from(height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let triangles = self
            .ctx
            .tessellate(self.output.shapes.clone(), self.pixels_per_point);
        let screen = ScreenDescriptor {
            pixels_per_point: self.pixels_per_point,
            size_in_pixels: [width, height],
        };
        let mut renderer = renderer.write();
        let prepared = renderer.update_buffers(device, queue, &mut encoder, &triangles, &screen);
        {
            let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
            let attachment = wgpu::RenderPassColorAttachment {
                view: &view,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                    store: wgpu::StoreOp::Store,
                },
                depth_slice: None,
            };
            let mut pass = encoder
                .begin_render_pass(&wgpu::RenderPassDescriptor {
                    color_attachments: &[Some(attachment)],
                    ..wgpu::RenderPassDescriptor::default()
                })
                .forget_lifetime();
            renderer.render(&mut pass, &triangles, &screen);
        }
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(row_bytes),
            rows_per_image: None,
        };
        let into = wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout,
        };
        encoder.copy_texture_to_buffer(texture.as_image_copy(), into, size);
        queue.submit(prepared.into_iter().chain([encoder.finish()]));
        buffer.slice(..).map_async(wgpu::MapMode::Read, |_| {});
        let done = wgpu::PollType::Wait {
            submission_index: None,
            timeout: Some(DRAWN_WITHIN),
        };
        device
            .poll(done)
            .map_err(|why| OffscreenError::Slow(DRAWN_WITHIN.as_secs(), why.to_string()))?;
        let mapped = buffer
            .slice(..)
            .get_mapped_range()
            .map_err(|why| OffscreenError::Draw(why.to_string()))?;
        let rows = mapped
            .chunks_exact(row_bytes as usize)
            .map(|row| &row[..4 * width as usize]);
        let mut rgba = rows.collect::<Vec<_>>().concat();
        rgba.iter_mut()
            .skip(3)
            .step_by(4)
            .for_each(|alpha| *alpha = 255);
        Ok(Picture {
            width,
            height,
            rgba,
        })
    }
}

/// A widget's own name; a label is named by its value.
fn own_name(node: &Node) -> Option<&str> {
    node.label()
        .or_else(|| node.value().filter(|_| node.role() == Role::Label))
}

/// Runs an app without a window until `settled` returns true, then draws it; the app as it was drawn.
///
/// # Errors
/// [`OffscreenError`]: no graphics device, a picture larger than the device supports, or `settled` not true within
/// `patience`.
pub fn draw<A: eframe::App>(
    size_px: [u32; 2],
    pixels_per_point: f32,
    build: impl FnOnce(&CreationContext<'static>) -> io::Result<A>,
    settled: impl Fn(&A) -> bool,
    patience: Duration,
) -> Result<(A, Picture), OffscreenError> {
    let [width, height] = size_px;
    let graphics = device()?;
    let max_side = graphics.device.limits().max_texture_dimension_2d;
    if width.max(height) > max_side {
        return Err(OffscreenError::TooLarge(width, height, max_side));
    }
    let size_points = egui::vec2(width as f32, height as f32) / pixels_per_point;
    let mut window = Offscreen::new(size_points, pixels_per_point, Some(graphics), build)?;
    let start = Instant::now();
    while !settled(&window.app) {
        if start.elapsed() > patience {
            return Err(OffscreenError::Unfinished(patience.as_secs()));
        }
        window.wait(1);
        std::thread::sleep(Duration::from_millis(5));
    }
    // Lays out the last results, and lets views at rest refine their pictures.
    window.wait(4);
    let picture = window.picture()?;
    Ok((window.app, picture))
}

impl Picture {
    /// Writes the picture as PNG.
    ///
    /// # Errors
    /// The writer's error.
    pub fn write_png(&self, out: impl Write) -> io::Result<()> {
        let mut encoder = png::Encoder::new(out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.rgba)?;
        writer.finish()?;
        Ok(())
    }
}
