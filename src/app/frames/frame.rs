//! The window's own work in a frame.

use super::handle::{Handle, Path};
use super::{press, settle, timed, view, window};
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
    let mut drag = |handle: Handle| -> Result<Vec<f64>, OffscreenError> {
        let path = Path::find(handle, &mut window)?;
        timed(
            &mut window,
            Event::PointerMoved(path.at(0)),
            Modifiers::NONE,
        );
        timed(&mut window, press(path.at(0), true), Modifiers::NONE);
        let moved = |n| Event::PointerMoved(path.at(n));
        let times = (1..=FRAMES)
            .map(|n| timed(&mut window, moved(n), Modifiers::NONE))
            .collect();
        timed(&mut window, press(path.at(FRAMES), false), Modifiers::NONE);
        settle(&mut window)?;
        Ok(times)
    };
    let [turn, shape] = [drag(Handle::Gantry)?, drag(Handle::Structure)?];
    let axial = view(&mut window, "Axial")?.center();
    timed(&mut window, Event::PointerMoved(axial), Modifiers::NONE);
    let mut wheel = |modifiers| {
        let event = |n: usize| Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            // Back and forth.
            delta: vec2(
                0.0,
                if (n / 30).is_multiple_of(2) {
                    1.0
                } else {
                    -1.0
                },
            ),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Wheel,
            modifiers,
        };
        (0..FRAMES)
            .map(|n| timed(&mut window, event(n), modifiers))
            .collect()
    };
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
            times_ms: wheel(Modifiers::NONE),
        },
        Frames {
            what: "zoomed",
            times_ms: wheel(Modifiers::COMMAND),
        },
    ])
}
