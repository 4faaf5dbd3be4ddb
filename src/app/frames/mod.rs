//! The window's own time per frame and the rate of what follows a dragged handle, measured with a scripted user:
//! `beamsight bench frame`, `bench live`, `bench stroke`; and its memory after work: `bench memory`.

mod frame;
mod handle;
mod live;
mod memory;
mod stroke;

pub use frame::{Frames, frame_times};
pub use handle::Handle;
pub use live::{Live, live_times};
pub use memory::{Worked, work};
pub use stroke::{Strokes, stroke_times};

use crate::feature::open::state::Opened;
use crate::render::offscreen::{Offscreen, OffscreenError};
use crate::window::{App, Options};
use analysis::BodyChoice;
use case::Case;
use egui::{Event, Modifiers, PointerButton, Pos2, Rect, Vec2, vec2};
use egui_wgpu::RenderState;
use engine::DeviceChoice;
use open::CaseWord;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SIZE_POINTS: Vec2 = vec2(1600.0, 1000.0);
const PATIENCE: Duration = Duration::from_secs(600);
/// Frames of a display follow one another at this distance.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);

type Window = Offscreen<App>;

/// A window on a case, with everything computed that the case gives.
fn window(
    case: Case,
    choice: DeviceChoice,
    grid_mm: f64,
    graphics: Option<RenderState>,
) -> Result<Window, OffscreenError> {
    let options = Options {
        device: choice,
        grid_mm: Some(grid_mm),
        ..Options::default()
    };
    let mut window = Offscreen::new(SIZE_POINTS, 1.0, graphics, |cc| {
        App::with_options(cc, options)
    })?;
    window.app.show_case(Opened {
        word: CaseWord::Demo(case.source.clone()),
        structures: Arc::clone(&case.structures),
        case,
        series: Vec::new(),
        folder: None,
        body: Some(BodyChoice::Everything),
        record: None,
        plans_before_maps: Default::default(),
        doses: Vec::new(),
        session: None,
        recovers: None,
    });
    // Requests the missing results.
    window.wait(3);
    settle(&mut window)?;
    Ok(window)
}

/// Shows frames until all results are computed.
fn settle(window: &mut Window) -> Result<(), OffscreenError> {
    let start = Instant::now();
    while !window.app.is_settled() {
        if start.elapsed() > PATIENCE {
            return Err(OffscreenError::Unfinished(PATIENCE.as_secs()));
        }
        window.wait(1);
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn missing(what: &str) -> OffscreenError {
    OffscreenError::Draw(format!("the window shows no '{what}'"))
}

/// Rectangle of a view.
fn view(window: &mut Window, name: &str) -> Result<Rect, OffscreenError> {
    window.rect_of(name, None).ok_or_else(|| missing(name))
}

/// Waits until the worker has something to report, or nothing to do.
fn await_report(window: &mut Window, since: Instant) -> Result<(), OffscreenError> {
    loop {
        // Asked in each frame, too: an answer that never comes leaves nothing to wait for.
        if since.elapsed() > PATIENCE {
            return Err(OffscreenError::Unfinished(PATIENCE.as_secs()));
        }
        if window.app.live_jobs() == 0 || window.is_due() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

fn press(pointer: Pos2, pressed: bool) -> Event {
    Event::PointerButton {
        pos: pointer,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    }
}

/// One frame with an event in it, and its shapes as triangles, ms.
fn timed(window: &mut Window, event: Event, modifiers: Modifiers) -> f64 {
    let laid_out_ms = window.frame(vec![Event::ModifiersChanged(modifiers), event]);
    let shapes = std::mem::take(&mut window.output.shapes);
    let start = Instant::now();
    std::hint::black_box(
        window
            .ctx
            .tessellate(shapes, window.output.pixels_per_point),
    );
    laid_out_ms + 1e3 * start.elapsed().as_secs_f64()
}
