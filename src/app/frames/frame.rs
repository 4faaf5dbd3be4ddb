//! The window's own work in a frame.

use super::handle::{Handle, Path};
use super::{Window, press, settle, timed, view, window};
use crate::render::offscreen::OffscreenError;
use case::Case;
use egui::{Event, Modifiers, MouseWheelUnit, vec2};
use engine::DeviceChoice;

/// Number of frames each of drag, wheel, and wheel with Ctrl.
const FRAMES: usize = 120;

/// The frames of one interaction.
pub struct Frames {
    pub what: &'static str,
    pub times_ms: Vec<f64>,
}

/// Shows a case and plays the script without a graphics device: layout, commands, requests, reports and the shapes to be drawn
/// count, drawing does not. Structure 1 is a sphere made in the window.
///
/// # Errors
/// [`OffscreenError`]: no window, or a dose that is not computed in time.
pub fn frame_times(
    case: Case,
    choice: DeviceChoice,
    grid_mm: f64,
) -> Result<Vec<Frames>, OffscreenError> {
    let mut window = window(case, choice, grid_mm, None)?;
    let turn = drag_times(&mut window, Handle::Gantry)?;
    let shape = drag_times(&mut window, Handle::Structure)?;
    let axial = view(&mut window, "Axial")?.center();
    timed(&mut window, Event::PointerMoved(axial), Modifiers::NONE);
    Ok(vec![
        Frames {
            what: "gantry dragged",
            times_ms: turn,
        },
        Frames {
            what: "sphere dragged, its contours made anew in each frame",
            times_ms: shape,
        },
        Frames {
            what: "slices scrolled",
            times_ms: wheel_times(&mut window, Modifiers::NONE),
        },
        Frames {
            what: "zoomed",
            times_ms: wheel_times(&mut window, Modifiers::COMMAND),
        },
    ])
}

/// Times of the frames of a drag of a handle, ms.
fn drag_times(window: &mut Window, handle: Handle) -> Result<Vec<f64>, OffscreenError> {
    let path = Path::find(handle, window)?;
    timed(window, Event::PointerMoved(path.at(0)), Modifiers::NONE);
    timed(window, press(path.at(0), true), Modifiers::NONE);
    let times = (1..=FRAMES)
        .map(|n| timed(window, Event::PointerMoved(path.at(n)), Modifiers::NONE))
        .collect();
    timed(window, press(path.at(FRAMES), false), Modifiers::NONE);
    settle(window)?;
    Ok(times)
}

/// Times of frames in which the wheel turns by a notch, back and forth, ms.
fn wheel_times(window: &mut Window, modifiers: Modifiers) -> Vec<f64> {
    let times = (0..FRAMES).map(|n| {
        let notches = if (n / 30).is_multiple_of(2) {
            1.0
        } else {
            -1.0
        };
        let event = Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            delta: vec2(0.0, notches),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Wheel,
            modifiers,
        };
        timed(window, event, modifiers)
    });
    times.collect()
}
