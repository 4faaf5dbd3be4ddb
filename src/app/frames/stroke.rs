//! Strokes of a brush, timed to the picture of the contours, the volume and the DVH.

use super::{FRAME, Window, await_report, press, settle, timed, view, window};
use crate::command::Command;
use crate::feature::draw::command::DrawAction;
use crate::feature::draw::state::Tool;
use crate::render::interfaces::device;
use crate::render::offscreen::OffscreenError;
use crate::state::results::{DISPLAYED, Shown};
use crate::state::{Selection, State};
use case::Case;
use egui::{Event, Modifiers, Pos2, vec2};
use engine::DeviceChoice;
use results::DvhOf;
use std::f32::consts::TAU;
use std::time::Instant;

/// Strokes, frames of each, and the part of the outline that one goes along.
const STROKES: usize = 10;
const FRAMES: usize = 40;
const PART: f32 = 0.08;

/// Times of the strokes along a structure's outline.
pub struct Strokes {
    /// The window's own work in a frame of a stroke, ms.
    pub frames_ms: Vec<f64>,
    /// From the pointer's release to the frame with volume and DVH of the structure as it is then, ms.
    pub figures_ms: Vec<f64>,
    /// New DVHs a second while the pointer moves.
    pub dvhs_per_s: f64,
}

/// Draws along the outline of structures round the middle of the images, each given by its number and its half axes in
/// mm, with a brush of 20 mm; the first dose of the case is shown.
///
/// # Errors
/// [`OffscreenError`]: no window, or figures that do not come in time.
pub fn stroke_times(
    case: Case,
    choice: DeviceChoice,
    structures: &[(u32, [f32; 2])],
) -> Result<Vec<Strokes>, OffscreenError> {
    let grid = case.ct.as_ref().map(|ct| ct.hu.grid().clone());
    let wide_mm = grid.map_or(0.0, |g| g.size()[0] as f64 * g.spacing_xy_mm()[0]) as f32;
    // Textures are prepared as in the program; without a graphics device there are none.
    let mut window = window(case, choice, 10.0, device().ok())?;
    window.app.state.results.shown = Shown::Imported(0);
    structures
        .iter()
        .map(|(number, axes_mm)| strokes(&mut window, *number, *axes_mm, wide_mm))
        .collect()
}

/// A frame with an event, and its textures handed to the graphics device afterwards, ms.
fn frame(window: &mut Window, event: Event) -> f64 {
    let ms = timed(window, event, Modifiers::NONE);
    window.submit();
    ms
}

fn strokes(
    window: &mut Window,
    number: u32,
    axes_mm: [f32; 2],
    wide_mm: f32,
) -> Result<Strokes, OffscreenError> {
    window.app.state.selection = Selection::Structure(number);
    window
        .app
        .command(Command::Draw(DrawAction::Tool(Some(Tool::Brush))));
    window.wait(3);
    settle(window)?;
    let rect = view(window, "Axial")?;
    // All of the CT is fitted into the view with a margin of 3 %.
    let scale = rect.width().min(rect.height()) / (1.03 * wide_mm);
    let path = Ellipse {
        centre: rect.center(),
        axes: scale * vec2(axes_mm[0], axes_mm[1]),
    };
    let (mut frames_ms, mut figures_ms) = (Vec::new(), Vec::new());
    let (mut dvhs, mut seconds) = (0, 0.0);
    for stroke in 0..STROKES {
        let from = stroke as f32 / STROKES as f32;
        let previous_contours = contours_id(&window.app.state);
        frame(window, Event::PointerMoved(path.point(from)));
        frames_ms.push(frame(window, press(path.point(from), true)));
        let (begin, mut last) = (Instant::now(), None);
        for n in 1..=FRAMES {
            let start = Instant::now();
            let to = path.point(from + PART * n as f32 / FRAMES as f32);
            frames_ms.push(frame(window, Event::PointerMoved(to)));
            let shown = window
                .app
                .state
                .results
                .dvh(number)
                .map(std::sync::Arc::as_ptr);
            dvhs += usize::from(shown != last && last.is_some());
            last = shown;
            std::thread::sleep(FRAME.saturating_sub(start.elapsed()));
        }
        seconds += begin.elapsed().as_secs_f64();
        let start = Instant::now();
        frame(window, press(path.point(from + PART), false));
        // A stroke that misses the view would be timed as a fast one.
        if contours_id(&window.app.state) == previous_contours {
            return Err(OffscreenError::Draw("the brush drew nothing".to_owned()));
        }
        while !has_figures(&window.app.state, number) {
            await_report(window, start)?;
            frame(window, Event::PointerMoved(path.point(from + PART)));
        }
        figures_ms.push(1e3 * start.elapsed().as_secs_f64());
        settle(window)?;
    }
    Ok(Strokes {
        frames_ms,
        figures_ms,
        dvhs_per_s: dvhs as f64 / seconds,
    })
}

fn contours_id(state: &State) -> Option<u64> {
    state
        .selected_structure()
        .map(|(_, structure)| structure.contours.id())
}

/// The path of the strokes on the screen, points.
struct Ellipse {
    centre: Pos2,
    axes: egui::Vec2,
}

impl Ellipse {
    /// The point at a share of a turn from the right end of the path.
    fn point(&self, turn: f32) -> Pos2 {
        let (sin, cos) = (TAU * turn).sin_cos();
        self.centre + self.axes * vec2(cos, sin)
    }
}

/// Whether volume and DVH of a structure belong to its contours as they are.
fn has_figures(state: &State, number: u32) -> bool {
    let dvh = state.results.nodes.node::<DvhOf>((DISPLAYED, number));
    state.results.volume_cm3(number).is_some() && dvh.is_some_and(|node| node.current().is_some())
}
