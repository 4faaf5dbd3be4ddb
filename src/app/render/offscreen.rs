//! The window drawn without a display: the same app and renderer, into a picture.

use crate::app::render;
use eframe::CreationContext;
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_kittest::{Harness, HarnessBuilder};
use egui_wgpu::{RenderState, RendererOptions, WgpuConfiguration, WgpuSetup};
use std::io::{self, Write};
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
    #[error(
        "no graphics device to draw with ({0}); on Debian or Ubuntu install a software one: \
         apt-get install libvulkan1 mesa-vulkan-drivers"
    )]
    NoDevice(String),
    #[error("the picture of {0} x {1} pixels is larger than the graphics device draws ({2} pixels a side)")]
    TooLarge(u32, u32, u32),
    #[error("drawing failed: {0}")]
    Draw(String),
    #[error(
        "the graphics device did not finish the picture in {0} tries ({1}); other work may keep it busy: try again, or a \
         smaller size"
    )]
    Slow(u32, String),
    #[error("the work shown was not finished after {0} s")]
    Unfinished(u64),
}

/// A window without a display, of a size in points; without a renderer it lays out and draws nothing.
pub fn window<A>(size: egui::Vec2, pixels_per_point: f32) -> HarnessBuilder<A> {
    Harness::builder()
        .with_size(size)
        .with_pixels_per_point(pixels_per_point)
        .with_render_cursor(false)
        .with_accessibility_check(false)
        .allow_missing_glyphs()
}

/// Runs an app without a window until `settled` returns true, then draws it.
///
/// # Errors
/// [`OffscreenError`]: no graphics device, a picture larger than the device supports, or `settled` not true within
/// `patience`.
pub fn draw<A: eframe::App + 'static>(
    size_px: [u32; 2],
    pixels_per_point: f32,
    build: impl FnOnce(&mut CreationContext<'static>) -> A,
    mut settled: impl FnMut(&A) -> bool,
    patience: Duration,
) -> Result<Picture, OffscreenError> {
    let [width, height] = size_px;
    let state = device()?;
    let most = state.device.limits().max_texture_dimension_2d;
    if width.max(height) > most {
        return Err(OffscreenError::TooLarge(width, height, most));
    }
    let size = egui::vec2(width as f32, height as f32) / pixels_per_point;
    let graphics = state.device.clone();
    let mut harness = window(size, pixels_per_point)
        .renderer(WgpuTestRenderer::from_render_state(state))
        .build_eframe(build);
    let start = Instant::now();
    while !settled(harness.state()) {
        if start.elapsed() > patience {
            return Err(OffscreenError::Unfinished(patience.as_secs()));
        }
        harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    // Lays out the last results, and lets views at rest refine their pictures.
    harness.run_steps(4);
    let through = || {
        let all = wgpu::PollType::Wait { submission_index: None, timeout: Some(TRY) };
        graphics.poll(all).is_ok()
    };
    let image = again(|| harness.render(), through)?;
    let (width, height) = image.dimensions();
    let mut rgba = image.into_raw();
    for pixel in rgba.chunks_exact_mut(4) {
        pixel[3] = 255;
    }
    Ok(Picture { width, height, rgba })
}

/// Most attempts at a picture, and the device's time limit for the queued work of each attempt.
const TRIES: u32 = 5;
const TRY: Duration = Duration::from_secs(120);

/// Renders a picture. The renderer waits ten seconds for the device; after a timeout the attempt is repeated once the
/// device has finished its queue: a software device that shares its cores may take longer the first time, when volumes
/// are uploaded and projected.
fn again<T>(
    mut render: impl FnMut() -> Result<T, String>,
    mut through: impl FnMut() -> bool,
) -> Result<T, OffscreenError> {
    let mut said = String::new();
    for _ in 0..TRIES {
        match render() {
            Ok(picture) => return Ok(picture),
            // The renderer returns error text only; this one is from `wgpu::PollError`.
            Err(why) if why.contains("PollError") => said = why,
            Err(why) => return Err(OffscreenError::Draw(why)),
        }
        if !through() {
            break;
        }
    }
    Err(OffscreenError::Slow(TRIES, said))
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

/// Opens a device. OpenGL, which draws a little differently and writes much to standard error, is the last resort.
pub fn device() -> Result<RenderState, OffscreenError> {
    device_of(wgpu::Backends::PRIMARY).or_else(|_| device_of(wgpu::Backends::all()))
}

fn device_of(backends: wgpu::Backends) -> Result<RenderState, OffscreenError> {
    let mut setup = render::setup();
    setup.instance_descriptor.backends = backends;
    let wgpu_setup = WgpuSetup::CreateNew(setup);
    let instance = pollster::block_on(wgpu_setup.new_instance());
    let configuration = WgpuConfiguration { wgpu_setup, ..WgpuConfiguration::default() };
    pollster::block_on(RenderState::create(&configuration, &instance, None, RendererOptions::PREDICTABLE))
        .map_err(|e| OffscreenError::NoDevice(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_slow_once_is_asked_again() {
        let late = || Err::<u32, _>("PollError: The requested Wait timed out".to_owned());
        let mut tries = 0;
        let mut second = || {
            tries += 1;
            if tries < 2 { late() } else { Ok(tries) }
        };
        assert_eq!(again(&mut second, || true).ok(), Some(2));
        let mut waits = 0;
        let never = again(late, || {
            waits += 1;
            true
        });
        assert_eq!(waits, TRIES);
        let said = never.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(said.contains("timed out") && said.contains("try again"), "{said}");
        assert!(again(late, || false).is_err());
        let lost = again::<u32>(|| Err("the device is lost".to_owned()), || panic!("nothing to wait for"));
        assert!(matches!(lost, Err(OffscreenError::Draw(why)) if why.contains("lost")));
    }
}
