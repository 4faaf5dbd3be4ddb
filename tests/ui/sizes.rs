//! Every workspace on small and large displays and with large fonts: what must never be cut or covered, and a golden picture on one.
//!
//! Compared in pictures is the layout: they are shrunk to the width of [`WIDTH`], so that neither text nor images of another
//! driver's rounding matter. The whole pictures lie in the folder of the tests' files, to be looked at.

use crate::harness::{Window, folder, until, window};
use beamsight::app::command::Command;
use beamsight::app::feature::goals::command::GoalAction;
use beamsight::app::state::Workspace;
use beamsight::app::{App, CompareOptions, DoseWord, OneView, Options, RegisterOptions};
use beamsight::files::{CasePicture, RecentCase, ThemeChoice};
use eframe::egui::accesskit::Role;
use eframe::egui::{Rect, Vec2, ViewportId};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{SnapshotOptions, image_snapshot_options};

/// Width and height in pixels, pixels a point, and the theme.
const DISPLAYS: [([f32; 2], f32, ThemeChoice); 7] = [
    ([1024.0, 700.0], 1.0, ThemeChoice::Dark),
    ([1280.0, 720.0], 1.0, ThemeChoice::Dark),
    ([1280.0, 720.0], 1.0, ThemeChoice::Light),
    ([1600.0, 1000.0], 1.0, ThemeChoice::Dark),
    ([2560.0, 1440.0], 1.0, ThemeChoice::Dark),
    ([1600.0, 1000.0], 1.5, ThemeChoice::Dark),
    ([1600.0, 1000.0], 2.0, ThemeChoice::Light),
];
/// The display of the golden pictures: on the others names and rectangles hold the layout.
const GOLDEN: usize = 3;
/// Width of a golden picture, pixels.
const WIDTH: u32 = 320;

/// Faults of a display, a sentence each.
type Faults = Vec<String>;

/// Shows a window on each display, once it is ready; `check` gets the window's rectangle in points and finds faults.
fn look(
    name: &str,
    mut w: Window,
    ready: fn(&App) -> bool,
    check: fn(&mut Window, Rect) -> Faults,
) {
    let mut faults = Faults::new();
    // Panels begin as they do in the smallest window.
    w.set_size(Vec2::from(DISPLAYS[0].0));
    until(&mut w, "results", ready);
    for (display, (pixels, scale, theme)) in DISPLAYS.into_iter().enumerate() {
        let [width, height] = pixels;
        let size = Vec2::from(pixels) / scale;
        w.input_mut()
            .viewports
            .entry(ViewportId::ROOT)
            .or_default()
            .native_pixels_per_point = Some(scale);
        w.state_mut().state.theme = theme;
        w.set_size(size);
        w.run_steps(4);
        until(&mut w, "results", ready);
        let picture = w.render().expect("a picture");
        let in_light = if theme == ThemeChoice::Light {
            "_light"
        } else {
            ""
        };
        let name = format!("{name}_{width}x{height}_{scale}{in_light}");
        picture
            .save(folder("sizes").join(format!("{name}.png")))
            .expect("saved");
        let found = check(&mut w, Rect::from_min_size(Default::default(), size));
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
        // The first page shows what is new, which changes with each version.
        if display == GOLDEN && w.state().state.is_loaded() {
            let low = picture.height() * WIDTH / picture.width();
            let small = image::imageops::thumbnail(&picture, WIDTH, low);
            let options = SnapshotOptions::new()
                .threshold(2.0)
                .max_failed_pixels(400_usize);
            image_snapshot_options(&small, name, &options);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Name and rectangle of the widgets of a role, whose name is as asked.
fn named(w: &Window, role: Role, is_asked: impl Fn(&str) -> bool) -> Vec<(String, Rect)> {
    let name = |node: &egui_kittest::Node<'_>| {
        let node = node.accesskit_node();
        node.label().or_else(|| node.value()).unwrap_or_default()
    };
    let all = w.query_all_by(|node| node.role() == role);
    all.map(|node| (name(&node), node.rect()))
        .filter(|(name, _)| is_asked(name))
        .collect()
}

/// Parts that are too few, are not in the window, or lie on one another.
fn apart(window: Rect, least: usize, parts: &[(String, Rect)]) -> Faults {
    let mut faults = Faults::new();
    if parts.len() < least {
        faults.push(format!("{} of {least} parts: {parts:?}", parts.len()));
    }
    for (n, (name, rect)) in parts.iter().enumerate() {
        if !window.contains_rect(*rect) || rect.width() < 4.0 || rect.height() < 4.0 {
            faults.push(format!("{name} at {rect:?} of {window:?}"));
        }
        for (other, its) in &parts[..n] {
            let common = rect.intersect(*its);
            if common.width() > 1.0 && common.height() > 1.0 {
                faults.push(format!("{name} {rect:?} on {other} {its:?}"));
            }
        }
    }
    faults
}

const PATIENT: &str = "Demo, thorax  (DEMO-THORAX)";

/// Name of the patient and statuses of doses.
fn patient_and_status(w: &Window) -> Vec<(String, Rect)> {
    let is_asked = |name: &str| name == PATIENT || name.starts_with("Dose status");
    named(w, Role::Label, is_asked)
}

/// Buttons of the bar.
const BAR: [&str; 9] = [
    "Open", "Save", "Undo", "Plan", "Compare", "Register", "Log", "Theme", "About",
];

fn bar(w: &Window) -> Vec<(String, Rect)> {
    let mut bar = named(w, Role::Button, |name| BAR.contains(&name));
    bar.extend(named(w, Role::Label, |name| {
        name == PATIENT || name == "Not for clinical use"
    }));
    bar
}

fn thorax(workspace: Workspace) -> Options {
    Options {
        case: Some("demo:thorax".to_owned()),
        grid_mm: Some(6.0),
        workspace,
        ..Options::default()
    }
}

fn is_there(app: &App) -> bool {
    app.state.is_loaded() && app.is_settled()
}

/// Faults of the DVHs on screen: of the header, and of the first structures of the table.
fn dvh(w: &Window, window: Rect) -> Faults {
    let mut header = named(w, Role::Label, |name| {
        name == "DVH" || name.starts_with("Goals")
    });
    header.extend(named(w, Role::Button, |name| {
        ["Optimise", "Save the DVHs as CSV", "Axes"].contains(&name)
    }));
    let names = named(w, Role::Label, |name| {
        ["DVH of BODY", "DVH of PTV", "DVH of GTV"].contains(&name)
    });
    [apart(window, 3, &header), apart(window, 3, &names)].concat()
}

/// The scorecard in place of the metrics, beside the header of the DVHs.
fn scorecard(w: &mut Window, window: Rect) -> Faults {
    w.state_mut()
        .command(Command::Goals(GoalAction::InPlaceOfMetrics(true)));
    w.run_steps(4);
    let mut parts = named(w, Role::Button, |name| {
        ["Add goal", "Optimise", "Make deliverable"].contains(&name)
    });
    parts.extend(named(w, Role::Label, |name| name == "DVH"));
    w.state_mut()
        .command(Command::Goals(GoalAction::InPlaceOfMetrics(false)));
    w.run_steps(4);
    apart(window, 3, &parts)
}

#[test]
fn the_plan_workspace_fits_every_display() {
    look(
        "plan",
        window(thorax(Workspace::Plan)),
        is_there,
        |w, window| {
            let always = [
                apart(window, 10, &bar(w)),
                apart(window, 4, &patient_and_status(w)),
            ]
            .concat();
            [always, dvh(w, window), scorecard(w, window)].concat()
        },
    );
}

/// Controls of the panel at the left, which scrolls, that reach under the figures beside it.
fn beyond_left_panel(w: &Window) -> Faults {
    let edge = named(w, Role::Label, |name| name == "DVH")
        .first()
        .map_or(0.0, |(_, rect)| rect.left());
    let mut parts = named(w, Role::Label, |name| name.starts_with("Dose status"));
    for role in [Role::ComboBox, Role::Slider, Role::SpinButton] {
        parts.extend(named(w, role, |_| true));
    }
    // The bar lies above the panel.
    let reaches = |(_, rect): &&(String, Rect)| {
        rect.top() > 60.0 && rect.left() < edge && rect.right() > edge
    };
    parts
        .iter()
        .filter(reaches)
        .map(|(name, rect)| format!("{name} {rect:?} beyond {edge}"))
        .collect()
}

#[test]
fn the_compare_workspace_fits_every_display() {
    let sides = [Some(DoseWord::Plan(0)), Some(DoseWord::Plan(0))];
    let compare = Some(CompareOptions {
        sides,
        ..CompareOptions::default()
    });
    let options = Options {
        compare,
        ..thorax(Workspace::Compare)
    };
    look("compare", window(options), is_there, |w, window| {
        let names = named(w, Role::Label, |name| {
            name == "Compare BODY" || name == "Compare PTV"
        });
        let sliders = named(w, Role::Slider, |name| !name.is_empty());
        let parts = [names, sliders.into_iter().take(4).collect()].concat();
        let always = [
            apart(window, 10, &bar(w)),
            apart(window, 4, &patient_and_status(w)),
        ]
        .concat();
        [always, apart(window, 6, &parts), beyond_left_panel(w)].concat()
    });
}

#[test]
fn the_register_workspace_fits_every_display() {
    let register = Some(RegisterOptions {
        made_up: true,
        ..RegisterOptions::default()
    });
    let options = Options {
        register,
        ..thorax(Workspace::Register)
    };
    let ready = |app: &App| is_there(app) && app.state.register.images().len() == 2;
    look("register", window(options), ready, |w, window| {
        let slider = named(w, Role::Slider, |name| name == "Share of the DRR");
        [apart(window, 10, &bar(w)), apart(window, 1, &slider)].concat()
    });
}

#[test]
fn the_room_fits_every_display() {
    let options = Options {
        view: Some(OneView::Room),
        ..thorax(Workspace::Plan)
    };
    look("room", window(options), is_there, |w, window| {
        let parts = named(w, Role::Button, |name| {
            ["Display", "BEV", "Room", "Couch", "Source"].contains(&name)
        });
        [apart(window, 10, &bar(w)), apart(window, 3, &parts)].concat()
    });
}

/// Two recent cases, one with a picture: grey from left to right.
fn recent() -> Vec<RecentCase> {
    let [columns, rows] = CasePicture::SIZE;
    let grey = (0..columns * rows)
        .flat_map(|n| [(n % columns) as u8; 3])
        .collect();
    let case = |word: &str, patient: &str, picture| RecentCase {
        word: word.to_owned(),
        patient: patient.to_owned(),
        opened: "2026-11-27".to_owned(),
        picture,
    };
    vec![
        case(
            "/cases/lung",
            "Mustermann, Maximilian Alexander  (LUNG-0815)",
            CasePicture::new(grey),
        ),
        case("/cases/session.json", "", None),
    ]
}

#[test]
fn the_first_page_fits_every_display() {
    let mut w = window(Options::default());
    w.state_mut().state.recent = recent();
    look("first", w, App::is_settled, |w, window| {
        let cards = named(w, Role::Button, |name| {
            name.starts_with("Open lung") || name.starts_with("Open session")
        });
        let buttons = named(w, Role::Button, |name| {
            [
                "Open folder…",
                "Open file…",
                "One-minute tour",
                "Forget lung",
                "Forget session.json",
            ]
            .contains(&name)
        });
        let mut parts = named(w, Role::Button, |name| BAR.contains(&name));
        parts.extend(named(w, Role::Label, |name| name == "Not for clinical use"));
        [
            apart(window, 9, &parts),
            apart(window, 2, &cards),
            apart(window, 5, &buttons),
        ]
        .concat()
    });
}
