//! A window without a display, and a small case that computes quickly.

use beamsight::app::{App, Options};
use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, HarnessBuilder};
use glam::DVec3;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub type Window = Harness<'static, App>;

/// A window with these options.
pub fn window(options: Options) -> Window {
    begun(builder(), options)
}

/// As [`window`], on a display of this many pixels a point.
pub fn window_at(options: Options, pixels_per_point: f32) -> Window {
    begun(builder().with_pixels_per_point(pixels_per_point), options)
}

/// As [`window`], for names with letters that no font has.
pub fn window_of_any_letters(options: Options) -> Window {
    begun(builder().allow_missing_glyphs(), options)
}

fn builder() -> HarnessBuilder<App> {
    Harness::builder()
        .with_size(eframe::egui::vec2(1400.0, 900.0))
        .with_pixels_per_point(1.0)
        .with_render_cursor(false)
        .with_accessibility_check(false)
        .wgpu()
}

fn begun(builder: HarnessBuilder<App>, options: Options) -> Window {
    builder.build_eframe(move |cc| App::with_options(cc, options).expect("a worker"))
}

/// Runs frames until `done` returns true. The limit only ends a hanging test.
pub fn until(window: &mut Window, what: &str, mut done: impl FnMut(&App) -> bool) {
    let start = Instant::now();
    while !done(window.state()) {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "still no {what}: {}",
            said(window)
        );
        window.step();
        std::thread::sleep(Duration::from_millis(20));
    }
    window.run_steps(2);
}

/// The texts of the window's notices.
pub fn said(window: &Window) -> String {
    window
        .state()
        .state
        .notices
        .iter()
        .map(|n| n.text.as_str())
        .collect::<Vec<_>>()
        .join(" | ")
}

/// Clicks on what may be scrolled out of sight.
pub fn click(w: &mut Window, label: &str) {
    w.get_by_label(label).scroll_to_me();
    w.run_steps(4);
    w.get_by_label(label).click();
    w.run_steps(4);
}

/// Replaces what a field of the window says, and ends the typing.
pub fn fill_in(window: &mut Window, field: &str, text: &str) {
    window.get_by_label(field).focus();
    window.run_steps(2);
    window.key_press_modifiers(Modifiers::COMMAND, Key::A);
    window.get_by_label(field).type_text(text);
    window.run_steps(2);
    window.key_press(Key::Enter);
    window.run_steps(3);
}

/// A folder of its own for one test.
pub fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    path
}

/// A 4 cm cube of water in air with one field on it.
pub fn small_case(name: &str) -> Options {
    cube_case(name, 8)
}

/// A cube of water of 3 cm on a sheet of water of 1 cm, 1 cm behind it and wider, irradiated through the sheet. The body that
/// is found is the cube.
pub fn case_on_a_couch(name: &str) -> Options {
    let sheet = |[i, j, k]: [usize; 3]| {
        (14..16).contains(&j) && (2..18).contains(&i) && (2..18).contains(&k)
    };
    let cube = |at: [usize; 3]| at.into_iter().all(|n| (6..12).contains(&n));
    case_of(name, 20, 180.0, |at| cube(at) || sheet(at))
}

/// A cube of water of `side` voxels of 5 mm a side, in air, with one field of 2 cm x 2 cm on it.
pub fn cube_case(name: &str, side: usize) -> Options {
    case_of(name, side + 4, 0.0, |at| {
        at.into_iter().all(|n| (2..side + 2).contains(&n))
    })
}

/// Water in air by voxel, `size` voxels of 5 mm along each side, with one field of 2 cm x 2 cm on the middle.
fn case_of(
    name: &str,
    size: usize,
    gantry_deg: f64,
    is_water: impl Fn([usize; 3]) -> bool,
) -> Options {
    let folder = folder(name);
    let first = DVec3::splat(-2.5 * (size as f64 - 1.0));
    let grid = Grid::axis_aligned(first, DVec3::splat(5.0), [size; 3]).expect("a grid");
    let at = |n: usize| [n % size, n / size % size, n / (size * size)];
    let hu = (0..grid.len())
        .map(|n| if is_water(at(n)) { 0.0 } else { -1000.0 })
        .collect();
    let case = folder.join("cube.mha");
    mha::write(&case, &Volume::new(Arc::new(grid), hu)).expect("a volume");
    let plan = folder.join("plan.toml");
    let text = r#"
        name = "Test"
        machine = "point-6mv"
        isocentre_mm = [0.0, 0.0, 0.0]
        [[beam]]
        name = "AP"
        gantry_deg = GANTRY
        mu = 100.0
        jaws_mm = { x = [-10.0, 10.0], y = [-10.0, 10.0] }
    "#;
    std::fs::write(&plan, text.replace("GANTRY", &format!("{gantry_deg:?}"))).expect("a plan");
    Options {
        case: Some(case.display().to_string()),
        plan: Some(plan),
        ..Options::default()
    }
}
