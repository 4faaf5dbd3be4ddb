//! The window's own time per frame, measured with a scripted user: `beamsight bench frame`.

use crate::analysis::BodyChoice;
use crate::app::render::offscreen::{self, OffscreenError, device};
use crate::app::state::opening::Opened;
use crate::app::window::{App, Options, Started};
use crate::case::{Case, DoseStatus};
use crate::engine::DeviceChoice;
use crate::open::CaseWord;
use eframe::App as _;
use egui::{Event, FullOutput, Modifiers, MouseWheelUnit, PointerButton, Pos2, RawInput, Rect, Vec2, vec2};
use egui_kittest::kittest::Queryable as _;
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_kittest::{Harness, TestRenderer as _};
use egui_wgpu::RenderState;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SIZE_POINTS: Vec2 = vec2(1600.0, 1000.0);
/// Number of frames each of drag, wheel, and wheel with Ctrl.
const FRAMES: usize = 120;
/// Turns before the measurement begins.
const WARM_UP: usize = 5;
const PATIENCE: Duration = Duration::from_secs(600);

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

/// The frames of one interaction.
pub struct Frames {
    pub what: &'static str,
    pub times_ms: Vec<f64>,
}

/// Shows a case and plays the script without a graphics device: layout, commands, requests, reports and the shapes to be drawn
/// count, drawing does not.
///
/// # Errors
/// [`OffscreenError`]: no window, or a dose that is not computed in time.
pub fn frame_times(case: Case, choice: DeviceChoice, grid_mm: f64) -> Result<Vec<Frames>, OffscreenError> {
    let mut window = window(case, choice, grid_mm, None)?;
    let dial = dial(&window)?;
    let view = window.query_by_label("Axial").ok_or_else(|| missing("Axial"))?.rect().center();
    timed(&mut window, Event::PointerMoved(rim(dial, 0)), Modifiers::NONE)?;
    timed(&mut window, press(rim(dial, 0), true), Modifiers::NONE)?;
    let moved = |n| Event::PointerMoved(rim(dial, n));
    let turn =
        (1..=FRAMES).map(|n| timed(&mut window, moved(n), Modifiers::NONE)).collect::<Result<_, _>>()?;
    timed(&mut window, press(rim(dial, FRAMES), false), Modifiers::NONE)?;
    settle(&mut window)?;
    timed(&mut window, Event::PointerMoved(view), Modifiers::NONE)?;
    let mut wheel = |modifiers| {
        let event = |n: usize| Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            // Back and forth.
            delta: vec2(0.0, if (n / 30).is_multiple_of(2) { 1.0 } else { -1.0 }),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Wheel,
            modifiers,
        };
        (0..FRAMES).map(|n| timed(&mut window, event(n), modifiers)).collect::<Result<_, _>>()
    };
    Ok(vec![
        Frames { what: "gantry dragged", times_ms: turn },
        Frames { what: "slices scrolled", times_ms: wheel(Modifiers::NONE)? },
        Frames { what: "zoomed", times_ms: wheel(Modifiers::COMMAND)? },
    ])
}

/// Turns the gantry of the selected beam by the dial; ms from the pointer's move to the frame in which the plan dose
/// and all DVHs are final, and to the picture with the textures of that dose, drawn and read back.
///
/// # Errors
/// [`OffscreenError`]: no graphics device, no window, or a dose that is not computed in time.
pub fn live_times(
    case: Case,
    choice: DeviceChoice,
    grid_mm: f64,
    turns: usize,
) -> Result<[Vec<f64>; 2], OffscreenError> {
    let device = device()?;
    // The renderer of the window and this one share the device's textures.
    let mut renderer = WgpuTestRenderer::from_render_state(device.clone());
    let mut window = window(case, choice, grid_mm, Some(device))?;
    let dial = dial(&window)?;
    timed(&mut window, Event::PointerMoved(rim(dial, 0)), Modifiers::NONE)?;
    timed(&mut window, press(rim(dial, 0), true), Modifiers::NONE)?;
    let mut times_ms = [Vec::new(), Vec::new()];
    for turn in 0..WARM_UP + turns {
        let start = Instant::now();
        let mut frame = |window: &mut Window, events| {
            let mut run = FrameRun::of(window, events)?;
            renderer.handle_delta(&mut run.output.textures_delta);
            Ok::<_, OffscreenError>(run.output)
        };
        let mut output = frame(&mut window, vec![Event::PointerMoved(rim(dial, turn + 1))])?;
        while !is_final(app(&mut window)?) {
            if start.elapsed() > PATIENCE {
                return Err(OffscreenError::Unfinished(PATIENCE.as_secs()));
            }
            // The worker requests a frame when it has an event to report.
            while app(&mut window)?.live_jobs() > 0 {
                std::thread::sleep(Duration::from_micros(50));
            }
            output = frame(&mut window, Vec::new())?;
        }
        let followed = start.elapsed();
        renderer.render(&window.ctx, &output).map_err(OffscreenError::Draw)?;
        if turn >= WARM_UP {
            for (times, time) in times_ms.iter_mut().zip([followed, start.elapsed()]) {
                times.push(1e3 * time.as_secs_f64());
            }
        }
    }
    Ok(times_ms)
}

fn is_final(app: &App) -> bool {
    let results = &app.state.results;
    [results.shown_status(), results.dvh_status()].iter().all(|status| *status == Some(DoseStatus::Final))
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

/// Rectangle of the selected beam's dial.
fn dial(window: &Window) -> Result<Rect, OffscreenError> {
    let dial = window.query_by_role_and_label(egui::accesskit::Role::Slider, "Gantry");
    Ok(dial.ok_or_else(|| missing("Gantry"))?.rect())
}

/// Pointer position on a dial at `degrees`.
fn rim(dial: Rect, degrees: usize) -> Pos2 {
    let angle = (degrees as f32).to_radians();
    dial.center() + 0.3 * dial.width() * vec2(angle.sin(), -angle.cos())
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
