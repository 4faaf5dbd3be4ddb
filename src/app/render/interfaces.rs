//! Graphics interfaces: the order in which they are tried, and a proof that one draws.

use super::offscreen::{Offscreen, OffscreenError};
use super::setup;
use egui::{Color32, Vec2};
use egui_wgpu::{
    RenderState, RendererOptions, WgpuConfiguration, WgpuSetup, WgpuSetupCreateNew, wgpu,
};
use std::panic::{self, AssertUnwindSafe};

/// Interfaces to try one after another: those that `WGPU_BACKEND` names alone, else the system's.
pub fn attempts() -> Vec<wgpu::Backends> {
    match wgpu::Backends::from_env() {
        Some(chosen) if !chosen.is_empty() => vec![chosen],
        _ => platform::GRAPHICS_INTERFACES
            .iter()
            .map(|names| wgpu::Backends::from_comma_list(names))
            .collect(),
    }
}

/// Opens a device of the first interface that draws.
///
/// # Errors
/// [`OffscreenError::NoDevice`] with the failure of each.
pub fn device() -> Result<RenderState, OffscreenError> {
    let mut failures = Vec::new();
    for backends in attempts() {
        match proved(backends) {
            Ok(state) => return Ok(state),
            Err(why) => failures.push(format!("{}: {why}", words_of(backends))),
        }
    }
    Err(OffscreenError::NoDevice(failures.join("; ")))
}

/// Names of interfaces for a message.
pub fn words_of(backends: wgpu::Backends) -> String {
    let names = backends.iter_names().map(|(name, _)| name.to_lowercase());
    names.collect::<Vec<_>>().join(", ")
}

/// Opens a device of these interfaces; on systems whose drivers open and then fail, it has drawn a picture.
///
/// # Errors
/// Failures in words.
pub fn proved(backends: wgpu::Backends) -> Result<RenderState, String> {
    if !platform::DRIVERS_ARE_PROVED {
        return open(backends);
    }
    // wgpu panics where a driver fails before there is somebody to tell: here the next interface is tried.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let proved = panic::catch_unwind(AssertUnwindSafe(|| open(backends).and_then(drawn)));
    panic::set_hook(hook);
    proved.unwrap_or_else(|payload| Err(said(payload.as_ref())))
}

fn open(backends: wgpu::Backends) -> Result<RenderState, String> {
    let mut setup = setup();
    setup.instance_descriptor.backends = backends;
    opened(setup)
}

fn opened(setup: WgpuSetupCreateNew) -> Result<RenderState, String> {
    let wgpu_setup = WgpuSetup::CreateNew(setup);
    let instance = pollster::block_on(wgpu_setup.new_instance());
    let configuration = WgpuConfiguration {
        wgpu_setup,
        ..WgpuConfiguration::default()
    };
    let state = pollster::block_on(RenderState::create(
        &configuration,
        &instance,
        None,
        RendererOptions::PREDICTABLE,
    ))
    .map_err(|why| why.to_string())?;
    match state
        .device
        .limits()
        .max_dynamic_storage_buffers_per_pipeline_layout
    {
        0 => Err("it has no storage buffers, from which views are drawn".to_owned()),
        _ => Ok(state),
    }
}

/// Colour of the proof's picture.
const COLOUR: Color32 = Color32::from_rgb(40, 160, 220);

/// An app that paints one colour.
struct Proof;

impl eframe::App for Proof {
    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        let everywhere = ui.ctx().content_rect();
        ui.painter().rect_filled(everywhere, 0.0, COLOUR);
    }
}

/// Draws a small picture and reads it back.
fn drawn(state: RenderState) -> Result<RenderState, String> {
    let side = Vec2::splat(16.0);
    let window = Offscreen::new(side, 1.0, Some(state.clone()), |_| Ok(Proof));
    let picture = window
        .and_then(|window| window.picture())
        .map_err(|why| why.to_string())?;
    let middle = picture.rgba.len() / 2 + 4 * 8;
    let is_painted = picture.rgba[middle..middle + 3]
        .iter()
        .zip(COLOUR.to_array())
        .all(|(seen, painted)| seen.abs_diff(painted) <= 2);
    match is_painted {
        true => Ok(state),
        false => Err("it draws wrong colours".to_owned()),
    }
}

/// The first line of a panic's message.
fn said(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let lines = text.unwrap_or("its driver failed").lines();
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::install;
    use super::*;
    use std::sync::Arc;

    /// A device that has these limits and no more.
    fn device_of(limits: wgpu::Limits) -> Result<RenderState, String> {
        let mut setup = setup();
        setup.device_descriptor = Arc::new(move |_| wgpu::DeviceDescriptor {
            required_limits: limits.clone(),
            ..wgpu::DeviceDescriptor::default()
        });
        opened(setup)
    }

    /// The first error of the window's pipelines on such a device.
    fn refusal(limits: wgpu::Limits) -> Option<String> {
        let state = device_of(limits).expect("a graphics device, lavapipe at least");
        let errors = state.device.push_error_scope(wgpu::ErrorFilter::Validation);
        install(&state);
        pollster::block_on(errors.pop()).map(|error| error.to_string())
    }

    /// The least that WebGPU promises, of which Metal has more, and what older cards and drivers have.
    #[test]
    fn every_pipeline_of_the_window_keeps_to_the_limits_of_weak_devices() {
        for limits in [wgpu::Limits::default(), wgpu::Limits::downlevel_defaults()] {
            assert_eq!(refusal(limits.clone()), None, "{limits:?}");
        }
        let bare = device_of(wgpu::Limits::downlevel_webgl2_defaults());
        let why = bare.err().expect("views need storage buffers");
        assert!(why.contains("storage buffers"), "{why}");
    }

    #[test]
    fn a_device_draws_what_is_painted_and_a_panic_is_a_failure() {
        assert_eq!(
            words_of(wgpu::Backends::VULKAN | wgpu::Backends::GL),
            "vulkan, gl"
        );
        assert_eq!(
            said(&"wgpu error:\n  Parent device is lost".to_owned()),
            "wgpu error: Parent device is lost"
        );
        assert_eq!(said(&1_u8), "its driver failed");
        let state = device().expect("a graphics device, lavapipe at least");
        assert!(drawn(state).is_ok());
    }
}
