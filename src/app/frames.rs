//! What the window itself does in a frame, timed by a script: `beamsight bench frame`.

use crate::app::render::offscreen::{OffscreenError, device};
use crate::app::state::opening::Opened;
use crate::app::window::{App, Options};
use crate::case::Case;
use crate::engine::DeviceChoice;
use crate::open::CaseWord;
use egui::{Event, Modifiers, MouseWheelUnit, PointerButton, Pos2, Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::wgpu::WgpuTestRenderer;
use std::time::{Duration, Instant};

const SIZE_POINTS: Vec2 = vec2(1600.0, 1000.0);
/// Drag, wheel, and wheel with Ctrl: so many frames of each.
const FRAMES: usize = 120;
const PATIENCE: Duration = Duration::from_secs(600);

/// The frames of one thing a planner does.
pub struct Frames {
    pub what: &'static str,
    pub times_ms: Vec<f64>,
}

/// Shows a case and plays the script: layout, commands, what follows them, and the shapes to be drawn; not the drawing itself,
/// which is the graphics device's.
///
/// # Errors
/// No graphics device, or a dose that is not there in time.
pub fn frame_times(case: Case, choice: DeviceChoice) -> Result<Vec<Frames>, OffscreenError> {
    let options = Options { device: choice, ..Options::default() };
    let mut window = Harness::builder()
        .with_size(SIZE_POINTS)
        .with_pixels_per_point(1.0)
        .with_render_cursor(false)
        .with_accessibility_check(false)
        .allow_missing_glyphs()
        .renderer(WgpuTestRenderer::from_render_state(device()?))
        .build_eframe(move |cc| App::with_options(cc, options).expect("a worker thread"));
    let structures = std::sync::Arc::clone(&case.structures);
    window.state_mut().show_case(Opened {
        word: CaseWord::Demo(case.source.clone()),
        case,
        series: Vec::new(),
        structures,
        body: None,
        record: None,
        session: None,
        recovers: None,
    });
    let start = Instant::now();
    // What the case lacks is asked for.
    window.run_steps(3);
    while !window.state().is_settled() {
        if start.elapsed() > PATIENCE {
            return Err(OffscreenError::Unfinished(PATIENCE.as_secs()));
        }
        window.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    let missing = |what: &str| OffscreenError::Draw(format!("the window shows no '{what}'"));
    let dial = window.query_by_role_and_label(egui::accesskit::Role::Slider, "Gantry");
    let dial = dial.ok_or_else(|| missing("Gantry"))?.rect();
    let view = window.query_by_label("Axial").ok_or_else(|| missing("Axial"))?.rect().center();
    let rim = |n: usize| {
        let angle = (n as f32).to_radians();
        dial.center() + 0.3 * dial.width() * vec2(angle.sin(), -angle.cos())
    };
    let press = |at: Pos2, pressed| Event::PointerButton {
        pos: at,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    timed(&mut window, Event::PointerMoved(rim(0)), Modifiers::NONE);
    timed(&mut window, press(rim(0), true), Modifiers::NONE);
    let turn =
        (1..=FRAMES).map(|n| timed(&mut window, Event::PointerMoved(rim(n)), Modifiers::NONE)).collect();
    timed(&mut window, press(rim(FRAMES), false), Modifiers::NONE);
    timed(&mut window, Event::PointerMoved(view), Modifiers::NONE);
    let mut wheel = |modifiers| {
        let event = |n: usize| Event::MouseWheel {
            unit: MouseWheelUnit::Line,
            // There and back.
            delta: vec2(0.0, if (n / 30).is_multiple_of(2) { 1.0 } else { -1.0 }),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Wheel,
            modifiers,
        };
        (0..FRAMES).map(|n| timed(&mut window, event(n), modifiers)).collect()
    };
    Ok(vec![
        Frames { what: "gantry dragged", times_ms: turn },
        Frames { what: "slices scrolled", times_ms: wheel(Modifiers::NONE) },
        Frames { what: "zoomed", times_ms: wheel(Modifiers::COMMAND) },
    ])
}

/// One frame with an event in it, ms.
fn timed(window: &mut Harness<'_, App>, event: Event, modifiers: Modifiers) -> f64 {
    window.event_modifiers(event, modifiers);
    let start = Instant::now();
    window.step();
    let laid_out = start.elapsed();
    let shapes = window.output().shapes.clone();
    let start = Instant::now();
    std::hint::black_box(window.ctx.tessellate(shapes, 1.0));
    1e3 * (laid_out + start.elapsed()).as_secs_f64()
}
