//! Starting the window, with plain error messages if it cannot start.

use super::render;
use super::render::interfaces::{attempts, proved, words_of};
use super::window::{App, Options};
use files::Layout;
use platform::{DRIVER_REMEDY, DRIVERS_ARE_PROVED, LIBRARIES_REMEDY};
use thiserror::Error;

/// Why the window cannot start.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(
        "no display was found (neither WAYLAND_DISPLAY nor DISPLAY is set). Run it in a graphical session, or draw \
         into a file: beamsight render CASE --out shot.png"
    )]
    NoDisplay,
    #[error("the window needs system libraries that are not there ({0}). {LIBRARIES_REMEDY}")]
    Libraries(String),
    #[error("no graphics driver was found ({0}). {DRIVER_REMEDY}")]
    NoDriver(String),
    #[error("the window did not start: {0}")]
    Other(String),
}

/// Opens the window and returns when it is closed.
///
/// # Errors
/// [`RunError`], with what to install.
pub fn run(options: Options) -> Result<(), RunError> {
    if !has_display() {
        return Err(RunError::NoDisplay);
    }
    let mut failures = Vec::new();
    for backends in attempts() {
        match caught(|| start_proved(&options, backends)) {
            Err(RunError::NoDriver(why)) => {
                let failure = format!("{}: {why}", words_of(backends));
                tracing::warn!("no window by {failure}");
                failures.push(failure);
            }
            other => return other,
        }
    }
    Err(RunError::NoDriver(failures.join("; ")))
}

/// Starts the window; where drivers open and then fail, once they have drawn a picture.
fn start_proved(options: &Options, backends: wgpu::Backends) -> Result<(), RunError> {
    if DRIVERS_ARE_PROVED {
        proved(backends).map_err(RunError::NoDriver)?;
    }
    start(options.clone(), backends)
}

fn start(options: Options, backends: wgpu::Backends) -> Result<(), RunError> {
    let mut setup = render::setup();
    setup.instance_descriptor.backends = backends;
    let layout = options
        .state_folder
        .as_deref()
        .map(Layout::load)
        .unwrap_or_default();
    let native = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("Beamsight (not for clinical use)")
            .with_app_id("beamsight")
            .with_icon(icon())
            .with_inner_size(layout.window().unwrap_or([1600.0, 1000.0]))
            .with_maximized(layout.maximised)
            .with_min_inner_size([1000.0, 640.0])
            // Never larger than the screen.
            .with_clamp_size_to_monitor_size(true),
        wgpu_options: egui_wgpu::WgpuConfiguration {
            wgpu_setup: egui_wgpu::WgpuSetup::CreateNew(setup),
            ..Default::default()
        },
        ..Default::default()
    };
    let run = eframe::run_native(
        "Beamsight",
        native,
        Box::new(move |cc: &eframe::CreationContext<'_>| {
            let app = App::with_options(cc, options).map_err(Into::into);
            app.map(|app| Box::new(app.on_this_display()) as Box<dyn eframe::App>)
        }),
    );
    run.map_err(|e| in_plain_words(&e))
}

/// The program's picture in title bar and task bar; drawn from `beamsight.svg` beside it.
fn icon() -> egui::IconData {
    const PICTURE: &[u8] = include_bytes!("../../assets/package/beamsight-64.png");
    eframe::icon_data::from_png_bytes(PICTURE).unwrap_or_default()
}

/// Translates eframe's error into the words of a user.
fn in_plain_words(error: &eframe::Error) -> RunError {
    let text = format!("{error} {error:?}");
    let short = error.to_string();
    match error {
        eframe::Error::Wgpu(_) => RunError::NoDriver(short),
        // winit names the library: "XNotSupported(LibraryOpenError(... libXcursor.so.1 ...".
        _ if text.contains("LibraryOpenError") || text.contains(".so") => {
            RunError::Libraries(short)
        }
        _ if text.contains("XOpenDisplayFailed")
            || text.contains("NotSupported")
            || text.contains("Connect") =>
        {
            RunError::NoDisplay
        }
        _ => RunError::Other(short),
    }
}

/// A missing library causes a panic deep inside winit's helpers: the panic becomes an ordinary error.
fn caught(work: impl FnOnce() -> Result<(), RunError>) -> Result<(), RunError> {
    let default_hook = std::panic::take_hook();
    let hook: std::sync::Arc<dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync> =
        default_hook.into();
    let inner = hook.clone();
    std::panic::set_hook(Box::new(move |info| {
        if missing_library(info.payload()).is_none() {
            inner(info);
        }
    }));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    std::panic::set_hook(Box::new(move |info| hook(info)));
    result.unwrap_or_else(|payload| match missing_library(payload.as_ref()) {
        Some(why) => Err(RunError::Libraries(why)),
        None => std::panic::resume_unwind(payload),
    })
}

/// The name of the missing library in a panic's message.
fn missing_library(payload: &(dyn std::any::Any + Send)) -> Option<String> {
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))?;
    (text.contains("could not be loaded") || text.contains("Could not load")).then_some(text)
}

/// Whether this system has a display to open a window on.
pub fn has_display() -> bool {
    !cfg!(all(unix, not(target_os = "macos")))
        || ["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY"]
            .into_iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_becomes_a_message_with_the_packages() {
        let error =
            caught(|| panic!("Library libxkbcommon-x11.so could not be loaded.")).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("libxkbcommon-x11") && text.contains("apt-get install"),
            "{text}"
        );
    }

    #[test]
    fn winit_and_wgpu_errors_become_remedies() {
        let no_driver = eframe::Error::Wgpu(egui_wgpu::WgpuError::NoSurfaceFormatsAvailable);
        assert!(
            in_plain_words(&no_driver)
                .to_string()
                .contains("mesa-vulkan-drivers")
        );
        let creation =
            eframe::Error::AppCreation("XNotSupported(LibraryOpenError(libXcursor.so.1".into());
        assert!(
            in_plain_words(&creation)
                .to_string()
                .contains("libxcursor1")
        );
    }
}
