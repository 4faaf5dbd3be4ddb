//! The window's own time per frame and the rate of what follows a dragged handle, measured with a scripted user:
//! `beamsight bench frame`, `bench live`, `bench stroke`.

mod frame;
mod handle;
mod live;
mod stroke;

pub use frame::{Frames, frame_times};
pub use handle::Handle;
pub use live::{Live, live_times};
pub use stroke::{Strokes, stroke_times};

use crate::analysis::BodyChoice;
use crate::app::render::offscreen::{self, OffscreenError};
use crate::app::state::opening::Opened;
use crate::app::window::{App, Options, Started};
use crate::case::Case;
use crate::engine::DeviceChoice;
use crate::open::CaseWord;
use eframe::App as _;
use egui::{Event, FullOutput, Modifiers, PointerButton, Pos2, RawInput, Rect, Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_wgpu::RenderState;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SIZE_POINTS: Vec2 = vec2(1600.0, 1000.0);
const PATIENCE: Duration = Duration::from_secs(600);
/// Frames of a display follow one another at this distance.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);

type Window = Harness<'static, Started>;

/// A frame of the window as the program runs it, its time without drawing, and what is to be drawn. The tree of assistive
/// technology, which the desktop requests where somebody reads it, is not made.
struct FrameRun {
    laid_out_ms: f64,
    output: FullOutput,
}

impl FrameRun {
    fn of(window: &mut Window, events: Vec<Event>) -> Result<Self, OffscreenError> {
        let ctx = window.ctx.clone();
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, SIZE_POINTS)),
            events,
            ..RawInput::default()
        };
        let (app, mut frame) = (app(window)?, eframe::Frame::_new_kittest());
        ctx.disable_accesskit();
        let start = Instant::now();
        let output = ctx.run_ui(input, |ui| {
            app.logic(ui.ctx(), &mut frame);
            app.ui(ui, &mut frame);
        });
        let laid_out_ms = 1e3 * start.elapsed().as_secs_f64();
        ctx.enable_accesskit();
        Ok(Self { laid_out_ms, output })
    }
}

/// A window on a case, with everything computed that the case gives.
fn window(
    case: Case,
    choice: DeviceChoice,
    grid_mm: f64,
    graphics: Option<RenderState>,
) -> Result<Window, OffscreenError> {
    let options = Options { device: choice, grid_mm: Some(grid_mm), ..Options::default() };
    let builder = offscreen::window(SIZE_POINTS, 1.0);
    let builder = match graphics {
        Some(device) => builder.renderer(WgpuTestRenderer::from_render_state(device)),
        None => builder,
    };
    let mut window = builder.build_eframe(move |cc| Started(App::with_options(cc, options)));
    let structures = Arc::clone(&case.structures);
    app(&mut window)?.show_case(Opened {
        word: CaseWord::Demo(case.source.clone()),
        case,
        series: Vec::new(),
        folder: None,
        structures,
        body: Some(BodyChoice::Everything),
        record: None,
        session: None,
        recovers: None,
    });
    // Requests the missing results.
    window.run_steps(3);
    settle(&mut window)?;
    Ok(window)
}

fn app(window: &mut Window) -> Result<&mut App, OffscreenError> {
    window.state_mut().0.as_mut().map_err(|error| OffscreenError::Draw(error.to_string()))
}

/// Shows frames until all results are computed.
fn settle(window: &mut Window) -> Result<(), OffscreenError> {
    let start = Instant::now();
    while !app(window)?.is_settled() {
        if start.elapsed() > PATIENCE {
            return Err(OffscreenError::Unfinished(PATIENCE.as_secs()));
        }
        window.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn missing(what: &str) -> OffscreenError {
    OffscreenError::Draw(format!("the window shows no '{what}'"))
}

/// Rectangle of a view.
fn view(window: &Window, name: &'static str) -> Result<Rect, OffscreenError> {
    Ok(window.query_by_label(name).ok_or_else(|| missing(name))?.rect())
}

/// Waits until the worker has something to report, or nothing to do.
fn await_report(window: &mut Window, since: Instant) -> Result<(), OffscreenError> {
    while app(window)?.live_jobs() > 0 && !window.ctx.has_requested_repaint() {
        if since.elapsed() > PATIENCE {
            return Err(OffscreenError::Unfinished(PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

fn press(at: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
}

/// One frame with an event in it, and its shapes as triangles, ms.
fn timed(window: &mut Window, event: Event, modifiers: Modifiers) -> Result<f64, OffscreenError> {
    let FrameRun { laid_out_ms, output } =
        FrameRun::of(window, vec![Event::ModifiersChanged(modifiers), event])?;
    let start = Instant::now();
    std::hint::black_box(window.ctx.tessellate(output.shapes, output.pixels_per_point));
    Ok(laid_out_ms + 1e3 * start.elapsed().as_secs_f64())
}
