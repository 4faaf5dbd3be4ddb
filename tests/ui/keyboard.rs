//! Keyboard focus: menus with text fields, fields being opened, and shortcuts for beams.

use crate::harness::{Window, small_case, until, window};
use beamsight::app::App;
use beamsight::app::state::Selection;
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers, PointerButton, Pos2};
use egui_kittest::kittest::Queryable as _;

fn opened(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "dose", |app: &App| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    w
}

/// The events of a typed letter: the key and the text.
fn letter(key: Key, text: &str) -> [Event; 2] {
    let event = |pressed| Event::Key {
        key,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    [event(true), Event::Text(text.to_owned())]
}

/// A click and a letter in one frame, as in a slow frame.
fn click_and_type_at_once(w: &mut Window, at: Pos2, key: Key, text: &str) {
    let button = |pressed| Event::PointerButton {
        pos: at,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    let events = &mut w.input_mut().events;
    events.extend([Event::PointerMoved(at), button(true), button(false)]);
    events.extend(letter(key, text));
    w.step();
    w.run_steps(3);
}

fn typed(w: &mut Window, text: &str) {
    for c in text.chars() {
        let key = Key::from_name(&c.to_uppercase().to_string()).expect("a key");
        w.input_mut().events.extend(letter(key, &c.to_string()));
        w.step();
    }
    w.run_steps(2);
}

/// The values that shortcuts change.
fn shown(w: &Window) -> String {
    let s = &w.state().state;
    format!(
        "{} {} {} {:?}",
        s.show_beams, s.dose_display.wash, s.dose_display.lines, s.window
    )
}

#[test]
fn menus_stay_open_while_one_types_into_them() {
    let mut w = opened("menus");
    let before = shown(&w);
    for (menu, field) in [("Open", "Path to open"), ("Save", "File to save")] {
        w.get_by_label(menu).click();
        w.run_steps(4);
        // The field has the focus as soon as the menu is open.
        typed(&mut w, "bd");
        assert_eq!(
            w.get_by_label(field).value().as_deref(),
            Some("bd"),
            "{menu}: typed at once"
        );
        w.get_by_label(field).click();
        w.run_steps(4);
        typed(&mut w, "l1");
        let value = w.get_by_label(field).value().expect("a value");
        assert_eq!(
            (value.len(), shown(&w)),
            (4, before.clone()),
            "{menu}: text, and no shortcut: {value}"
        );
        // A click outside closes it, and keys are shortcuts again.
        w.get_by_label("Beam's eye").click();
        w.run_steps(4);
        assert!(w.query_by_label(field).is_none(), "{menu} closes outside");
    }
    typed(&mut w, "b");
    assert!(
        !w.state().state.show_beams,
        "a shortcut once the menu is closed"
    );
}

#[test]
fn a_field_that_is_being_opened_has_the_keyboard() {
    let mut w = opened("field_opening");
    let before = shown(&w);
    w.get_by_label("Open").click();
    w.run_steps(4);
    let at = w.get_by_label("Path to open").rect().center();
    click_and_type_at_once(&mut w, at, Key::B, "b");
    assert_eq!(shown(&w), before, "a path field");
    let typed_value = w.get_by_label("Path to open").value();
    assert_eq!(
        typed_value.as_deref(),
        Some("b"),
        "the letter is in the field that was clicked"
    );
    w.get_by_label("Beam's eye").click();
    w.run_steps(4);
    let at = w
        .get_by_role_and_label(Role::SpinButton, "Gantry angle")
        .rect()
        .center();
    click_and_type_at_once(&mut w, at, Key::Num3, "3");
    assert_eq!(
        shown(&w),
        before,
        "a number's field, opened for the first time"
    );
    typed(&mut w, "1");
    assert_eq!(shown(&w), before, "and while it is typed into");
    w.key_press(Key::Enter);
    w.run_steps(4);
    let gantry_deg = w
        .state()
        .state
        .selected_beam()
        .and_then(|(_, b)| b.start())
        .expect("a beam")
        .gantry_deg;
    assert_eq!(
        gantry_deg, 31.0,
        "the digit typed with the click is the first of the number"
    );
}

/// A menu opens in the frame of its click, and its field asks for the focus there: what is typed in that frame is the field's.
#[test]
fn letters_behind_the_click_that_opens_a_menu_are_in_its_field() {
    let mut w = opened("menu_typed_ahead");
    let before = shown(&w);
    for (menu, field) in [("Open", "Path to open"), ("Save", "File to save")] {
        let at = w.get_by_label(menu).rect().center();
        click_and_type_at_once(&mut w, at, Key::D, "d");
        w.run_steps(3);
        assert_eq!(
            w.get_by_label(field).value().as_deref(),
            Some("d"),
            "{menu}"
        );
        w.get_by_label("Beam's eye").click();
        w.run_steps(4);
    }
    assert_eq!(shown(&w), before, "no shortcut");
    // A click that opens no field keeps no letter from the shortcuts.
    let at = w.get_by_label("Beam's eye").rect().center();
    click_and_type_at_once(&mut w, at, Key::D, "d");
    w.run_steps(3);
    assert_ne!(shown(&w), before, "colourwash");
}

/// `B` hides the beams in the planes; the beam's-eye view is the same to the pixel.
#[test]
fn the_beams_eye_view_stays_without_beams_in_the_planes() {
    let mut w = opened("bev_kept");
    let axial = w.get_by_label("Axial").rect();
    let bev = w.get_by_label("Beam's eye").rect();
    let part = |w: &mut Window, of: eframe::egui::Rect| {
        let picture = w.render().expect("a picture");
        let of = of.shrink(2.0);
        let (x, y) = (of.left() as u32, of.top() as u32);
        let (width, height) = (of.width() as u32, of.height() as u32);
        (0..width * height)
            .map(|i| picture.get_pixel(x + i % width, y + i / width).0)
            .collect::<Vec<_>>()
    };
    let before = [part(&mut w, axial), part(&mut w, bev)];
    typed(&mut w, "b");
    assert!(!w.state().state.show_beams);
    assert!(
        part(&mut w, axial) != before[0],
        "the planes are without beams"
    );
    assert!(
        part(&mut w, bev) == before[1],
        "the beam's-eye view is as it was"
    );
}

#[test]
fn the_copy_of_a_beam_is_what_is_turned_next() {
    let mut w = opened("copy_beam");
    w.get_by_label("Copy beam").scroll_to_me();
    w.run_steps(4);
    w.get_by_label("Copy beam").click();
    w.run_steps(3);
    assert_eq!(w.state().state.selection, Selection::Beam(2));
    w.key_press(Key::ArrowRight);
    w.run_steps(3);
    let beams = &w.state().state.plan().expect("a plan").beams;
    let angles: Vec<f64> = beams
        .iter()
        .map(|b| b.control_points[0].gantry_deg)
        .collect();
    assert_eq!(angles, [0.0, 1.0], "the original stays where it was");
}

#[test]
fn an_angle_beyond_a_turn_is_refused_in_words() {
    let mut w = opened("angles");
    let type_angle = |w: &mut Window, name: &str, text: &str| {
        w.get_by_role_and_label(Role::SpinButton, name).focus();
        w.run_steps(2);
        w.event(Event::Text(text.to_owned()));
        w.run_steps(2);
        w.key_press(Key::Enter);
        w.run_steps(3);
    };
    let angles = |w: &Window| {
        let start = w
            .state()
            .state
            .selected_beam()
            .and_then(|(_, b)| b.start())
            .expect("a beam")
            .clone();
        [start.gantry_deg, start.collimator_deg, start.couch_deg]
    };
    for (index, name) in ["Gantry angle", "Collimator angle", "Couch angle"]
        .into_iter()
        .enumerate()
    {
        type_angle(&mut w, name, "35");
        assert_eq!(angles(&w)[index], 35.0, "{name}");
        for wrong in ["400", "-361", "inf", "1e30"] {
            type_angle(&mut w, name, wrong);
            assert_eq!(angles(&w)[index], 35.0, "{name} {wrong}");
            assert!(
                w.query_by_label_contains("refused: -360 to 360").is_some(),
                "{name} {wrong}: in words"
            );
        }
        // The same angle by another number: accepted, with a notice.
        type_angle(&mut w, name, "-90");
        assert_eq!(angles(&w)[index], 270.0, "{name}");
        assert!(
            w.query_by_label("-90° is 270°").is_some(),
            "{name}: in words"
        );
        type_angle(&mut w, name, "12");
        assert!(
            w.query_by_label_contains("refused").is_none()
                && w.query_by_label("-90° is 270°").is_none()
        );
    }
    // A number without a range of its own refuses infinity, too.
    type_angle(&mut w, "Isocentre x", "inf");
    assert_eq!(
        w.state()
            .state
            .selected_beam()
            .expect("a beam")
            .1
            .isocentre_mm
            .x,
        0.0
    );
    assert!(w.query_by_label_contains("not a finite number").is_some());
}
