//! The Register workspace: X-rays, the pose by hand and by the search, and errors of the input.

use crate::harness::{Window, folder, said, until, window};
use beamsight::app::command::Command;
use beamsight::app::feature::register;
use beamsight::app::feature::register::command::RegisterAction;
use beamsight::app::feature::register::state::{Display, Image, Mode, Search};
use beamsight::app::feature::register::view::{RadiographScene, RadiographState};
use beamsight::app::render::{self, Gpu};
use beamsight::app::state::Workspace;
use beamsight::app::{App, Options};
use beamsight::case::{PixelMeaning, Pose, Radiograph};
use beamsight::dicom::{Belonging, write_radiograph};
use beamsight::engine::drr::{DrrRequest, Integrator, Pixels, drr};
use beamsight::engine::{Compute, JobControl};
use beamsight::files::mha;
use beamsight::geometry::{Grid, ImagingSetup, PatientPosition, Volume};
use beamsight::physics::{AttenuationCurve, CurveKind, HuTable};
use beamsight::registration::simulate;
use eframe::egui::{self, Key, Modifiers, PointerButton, Pos2, vec2};
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, SnapshotOptions, SnapshotResults};
use glam::DVec3;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An asymmetric body with bones, at 4 mm; HU.
pub fn body() -> Volume<f32> {
    let size = [56, 44, 50];
    let origin = DVec3::new(-110.0, -86.0, -98.0);
    let grid = Grid::axis_aligned(origin, DVec3::splat(4.0), size).expect("a grid");
    let mut hu = Vec::with_capacity(grid.len());
    for k in 0..size[2] {
        for j in 0..size[1] {
            for i in 0..size[0] {
                let p = grid.centre_mm(i, j, k);
                let within = |at: [f64; 3], r: [f64; 3]| {
                    ((p - DVec3::from(at)) / DVec3::from(r)).length() < 1.0
                };
                hu.push(
                    if within([0.0, 40.0, 0.0], [14.0, 14.0, 90.0])
                        || within([45.0, -20.0, 30.0], [12.0, 9.0, 40.0])
                    {
                        900.0
                    } else if within([-50.0, 5.0, -40.0], [20.0, 20.0, 14.0])
                        || within([-30.0, -40.0, 55.0], [9.0; 3])
                    {
                        1200.0
                    } else if within([40.0, 0.0, -30.0], [35.0, 30.0, 45.0]) {
                        -750.0
                    } else if within([0.0; 3], [100.0, 76.0, 94.0]) {
                        20.0
                    } else {
                        -1000.0
                    },
                );
            }
        }
    }
    Volume::new(Arc::new(grid), hu)
}

pub fn phantom(name: &str) -> Options {
    let case = folder(name).join("body.mha");
    mha::write(&case, &body()).expect("a volume");
    let case = Some(case.display().to_string());
    Options {
        case,
        workspace: Workspace::Register,
        ..Options::default()
    }
}

/// With the simulated pair displayed and the metric known.
pub fn with_pair(name: &str) -> Window {
    let mut w = window(phantom(name));
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    w.get_by_label("Make up a pair to try it").click();
    until(&mut w, "pair", |app| app.state.register.images().len() == 2);
    until(&mut w, "metric", |app| app.state.metric_value().is_some());
    w
}

pub fn pose(app: &App) -> Pose {
    *app.state.register.poses.now()
}

fn drag(w: &mut Window, from: Pos2, by: egui::Vec2, modifiers: Modifiers) {
    w.event(egui::Event::PointerMoved(from));
    let button = |pos, pressed| egui::Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers,
    };
    w.event_modifiers(button(from, true), modifiers);
    w.run_steps(1);
    for n in 1..=4 {
        w.event_modifiers(
            egui::Event::PointerMoved(from + by * (n as f32 / 4.0)),
            modifiers,
        );
        w.run_steps(1);
    }
    w.event_modifiers(button(from + by, false), modifiers);
    w.run_steps(2);
}

#[test]
fn nudges_locks_and_undo() {
    let mut w = with_pair("register-nudge");
    let first = w.state().state.metric_value().expect("a value").0;
    w.get_by_label("tx +").click();
    w.run_steps(2);
    w.get_by_label("5 mm, °").click();
    w.run_steps(2);
    w.get_by_label("rz −").click();
    w.run_steps(2);
    assert_eq!(
        pose(w.state()),
        Pose::new([1.0, 0.0, 0.0], [0.0, 0.0, -5.0])
    );
    until(&mut w, "new metric", |app| {
        app.state
            .metric_value()
            .is_some_and(|(v, now)| now && v != first)
    });
    // A locked number is not changed by buttons, drags or keys.
    w.get_by_label("Lock tx").click();
    w.run_steps(2);
    w.get_by_label("tx +").click();
    w.run_steps(2);
    // The first X-ray is taken from the front: its right is the patient's left, its top his head.
    w.key_press(Key::ArrowRight);
    w.key_press(Key::ArrowUp);
    w.run_steps(2);
    let by = pose(w.state()).translation_mm - DVec3::new(1.0, 0.0, 5.0);
    assert!(by.length() < 1e-9, "{by}");
    w.get_by_label("Undo nudge").click();
    w.run_steps(2);
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert_eq!(pose(w.state()), Pose::new([1.0, 0.0, 0.0], [0.0; 3]));
    assert!(
        !w.state().state.history.can_undo(),
        "the case has no part in it"
    );
    w.get_by_label("Redo nudge").click();
    w.run_steps(2);
    w.get_by_label("Reset pose").click();
    w.run_steps(2);
    assert!(pose(w.state()).is_identity());
    w.get_by_label("Undo nudge").click();
    w.run_steps(2);
    assert_eq!(
        pose(w.state()).rotation_deg.z,
        -5.0,
        "a reset is a step, too"
    );
}

/// A dragged point follows the pointer, in both views, and a turn is about the axis towards the viewer.
#[test]
fn drags_move_and_turn_the_patient() {
    let mut w = with_pair("register-drag");
    for (view, seen) in [
        ("X-ray 1", [DVec3::X, DVec3::Z]),
        ("X-ray 2", [DVec3::Y, DVec3::Z]),
    ] {
        let rect = w.get_by_label(view).rect();
        let before = pose(w.state());
        drag(
            &mut w,
            rect.center() + vec2(30.0, 20.0),
            vec2(48.0, -24.0),
            Modifiers::NONE,
        );
        let by = pose(w.state()).translation_mm - before.translation_mm;
        // The image, 410 mm wide at 1500 mm, fits the view; the patient is at 1000 mm.
        let projection = w.state().state.register.images()[0].radiograph.projection;
        let width = projection.column_step_mm().length() * projection.columns() as f64;
        let height = projection.row_step_mm().length() * projection.rows() as f64;
        let scale =
            (width / f64::from(rect.width())).max(height / f64::from(rect.height())) * 1.02 / 1.5;
        // egui treats the first few points as a click; the remaining ones have the drag's direction.
        let (right, up) = (by.dot(seen[0]) / scale, by.dot(seen[1]) / scale);
        assert!(
            (36.0..=50.0).contains(&right) && (17.0..=25.0).contains(&up),
            "{view}: {right} {up}"
        );
        assert!(
            by.dot(seen[0].cross(seen[1])).abs() < 0.05 * by.length(),
            "{view}: {by}"
        );
        w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
        w.run_steps(2);
        assert_eq!(pose(w.state()), before, "one drag is one step");
    }
    // A drag from the right rim upwards: anticlockwise as seen from the source, which looks along +y: about
    // -y.
    let rect = w.get_by_label("X-ray 1").rect();
    let reach = 0.45 * rect.width().min(rect.height());
    drag(
        &mut w,
        rect.center() + vec2(reach, 0.0),
        vec2(0.0, -40.0),
        Modifiers::SHIFT,
    );
    let r = pose(w.state()).rotation_deg;
    assert!(r.y < -1.0 && r.x.abs() < 1e-6 && r.z.abs() < 1e-6, "{r}");
}

#[test]
fn the_search_finds_the_hidden_pose_and_can_be_accepted_rejected_and_stopped() {
    let mut w = with_pair("register-find");
    let hidden = w.state().state.register.hidden().expect("a made-up pair");
    let start = w.state().state.metric_value().expect("a value").0;
    w.get_by_label("Find pose").click();
    until(
        &mut w,
        "pose",
        |app| matches!(app.state.register.search(), Search::Ended(p) if p.found.is_some()),
    );
    let found = w.state().state.register.shown_pose();
    let off = (found.translation_mm - hidden.translation_mm).length();
    let turned = (found.rotation_deg - hidden.rotation_deg).length();
    assert!(
        off < 1.5 && turned < 1.5,
        "{found} for {hidden}: {off} mm, {turned} degrees"
    );
    w.get_by_label("Accept").click();
    until(&mut w, "metric", |app| {
        app.state.metric_value().is_some_and(|(_, now)| now)
    });
    assert_eq!(pose(w.state()), found);
    assert!(w.state().state.metric_value().expect("a value").0 > start);
    w.get_by_label("Undo nudge").click();
    w.run_steps(2);
    assert!(pose(w.state()).is_identity());
    // A rejected proposal changes nothing; after a stop the best pose so far awaits an answer.
    for action in [RegisterAction::Find, RegisterAction::Stop] {
        w.state_mut().command(Command::Register(action));
    }
    until(&mut w, "end", |app| {
        !matches!(app.state.register.search(), Search::Running(_))
    });
    let has_proposal = matches!(w.state().state.register.search(), Search::Ended(_));
    let how = if has_proposal {
        "waits for 'Accept' or 'Reject'"
    } else {
        "Press 'Find pose' to go on."
    };
    assert!(said(&w).contains(how), "{}", said(&w));
    if has_proposal {
        w.get_by_label("Reject").click();
        w.run_steps(2);
    }
    assert!(w.state().state.register.is_free());
    assert!(pose(w.state()).is_identity());
}

/// At the pose of the X-ray, X-ray and DRR look the same: the difference is grey all over.
#[test]
fn the_difference_vanishes_at_the_true_pose_alone() {
    let mut w = with_pair("register-difference");
    let hidden = w.state().state.register.hidden().expect("a made-up pair");
    let display = Display {
        mode: Mode::Difference,
        graticule: false,
        outlines: false,
        ..w.state().state.register.display
    };
    let mut spread = |pose: Pose| {
        let commands = [
            RegisterAction::Display(display),
            RegisterAction::Move {
                pose,
                gesture: None,
            },
        ];
        for action in commands {
            w.state_mut().command(Command::Register(action));
        }
        w.run_steps(8);
        let picture = w.render().expect("a picture");
        let mut sum = 0.0;
        for name in ["X-ray 1", "X-ray 2"] {
            let rect = w.get_by_label(name).rect().shrink(0.0);
            let middle =
                egui::Rect::from_center_size(rect.center(), 0.3 * vec2(rect.width(), rect.width()));
            for y in middle.top() as u32..middle.bottom() as u32 {
                for x in middle.left() as u32..middle.right() as u32 {
                    sum += (f64::from(picture.get_pixel(x, y).0[0]) - 127.5).powi(2);
                }
            }
        }
        sum
    };
    let true_one = spread(hidden);
    let t = hidden.translation_mm;
    for wrong in [
        Pose {
            translation_mm: -t,
            ..hidden
        },
        Pose {
            rotation_deg: -hidden.rotation_deg,
            ..hidden
        },
        Pose::default(),
    ] {
        let other = spread(wrong);
        assert!(
            other > 2.0 * true_one,
            "{wrong}: {other} against {true_one}"
        );
    }
}

pub fn grey_png(path: &PathBuf, value: impl Fn(u32, u32) -> u8) {
    let (width, height) = (120, 90);
    let file = std::fs::File::create(path).expect("a file");
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().expect("a header");
    let data: Vec<u8> = (0..width * height)
        .map(|n| value(n % width, n / width))
        .collect();
    writer.write_image_data(&data).expect("pixels");
}

#[test]
fn an_image_without_geometry_is_asked_about_and_bad_ones_change_nothing() {
    let folder = folder("register-bad");
    let picture = folder.join("plain.png");
    grey_png(&picture, |x, y| (x + y) as u8);
    let flat = folder.join("flat.png");
    grey_png(&flat, |_, _| 77);
    let mut w = window(phantom("register-bad"));
    until(&mut w, "case", |app| app.state.is_loaded());
    let open = |w: &mut Window, path: &PathBuf| {
        w.state_mut()
            .command(Command::Register(RegisterAction::OpenImage(path.clone())));
    };
    open(&mut w, &picture);
    until(&mut w, "question", |app| {
        app.state.register.draft().is_some()
    });
    let draft = w.state().state.register.draft().expect("a draft").clone();
    assert!(
        ["gantry angle", "isocentre", "pixel size"]
            .iter()
            .all(|name| draft.missing.contains(name)),
        "{draft:?}"
    );
    w.get_by_label("Use this geometry").click();
    until(&mut w, "image", |app| {
        app.state.register.images().len() == 1
    });
    assert!(
        w.state()
            .state
            .register
            .place_trouble(0, w.state().state.case())
            .is_none()
    );
    // A flat X-ray gives a notice, and the other stays.
    open(&mut w, &flat);
    until(&mut w, "question", |app| {
        app.state.register.draft().is_some()
    });
    w.get_by_label("Use this geometry").click();
    until(&mut w, "notice", |app| {
        app.state.notices.iter().next().is_some()
    });
    assert!(said(&w).contains("same value"), "{}", said(&w));
    assert_eq!(w.state().state.register.images().len(), 1);
    // An unreadable file.
    let text = folder.join("words.dcm");
    std::fs::write(&text, "no image").expect("a file");
    open(&mut w, &text);
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("not a DICOM file"))
    });
    assert!(
        !said(&w).contains("same value"),
        "of an X-ray before: {}",
        said(&w)
    );
    // A patient moved behind the source gives a message in the view.
    let action = RegisterAction::Move {
        pose: Pose::new([0.0, -1300.0, 0.0], [0.0; 3]),
        gesture: None,
    };
    w.state_mut().command(Command::Register(action));
    w.run_steps(4);
    let register = &w.state().state.register;
    let trouble = register
        .place_trouble(0, w.state().state.case())
        .expect("a reason");
    assert!(trouble.contains("behind the source"), "{trouble}");
    assert_eq!(register.images().len(), 1);
    // An empty region.
    w.get_by_label("Mark region").click();
    w.run_steps(2);
    let rect = w.get_by_label("X-ray 1").rect();
    drag(&mut w, rect.center(), vec2(7.0, 2.0), Modifiers::NONE);
    assert!(said(&w).contains("The region marked"), "{}", said(&w));
    drag(&mut w, rect.center(), vec2(180.0, 120.0), Modifiers::NONE);
    assert!(
        w.state().state.register.images()[0].region.is_some(),
        "marking goes on until it holds something"
    );
}

/// The front of the built-in water as an RT image: a ramp of grey, at the given source-image distance.
fn rt_image(path: &Path, sid_mm: f64, belonging: &Belonging) {
    let setup = ImagingSetup {
        position: PatientPosition::Hfs,
        gantry_deg: 0.0,
        couch_deg: 0.0,
        isocentre_mm: DVec3::ZERO,
        sad_mm: 1000.0,
        sid_mm,
        shift_mm: [0.0; 2],
        pixel_mm: [6.0; 2],
        columns: 40,
        rows: 30,
    };
    let values = (0..1200).map(|n| 1e-3 * n as f32).collect();
    let projection = setup.projection().expect("a geometry");
    let image = Radiograph::new(values, PixelMeaning::Attenuation, projection, "ramp");
    write_radiograph(
        path,
        &Radiograph {
            setup: Some(setup),
            ..image
        },
        belonging,
    )
    .expect("written");
}

#[test]
fn another_patient_is_asked_about_and_a_detector_in_the_patient_is_said() {
    let folder = folder("register-other");
    let case = Some("demo:water".to_owned());
    let mut w = window(Options {
        case,
        workspace: Workspace::Register,
        ..Options::default()
    });
    until(&mut w, "case", |app| app.state.is_loaded());
    let own = Belonging::new(w.state().state.case());
    let mut other = own.clone();
    other.patient.id = "SOMEBODY ELSE".to_owned();
    let mut open = |name: &str, sid_mm: f64, belonging: &Belonging| {
        let path = folder.join(name);
        rt_image(&path, sid_mm, belonging);
        let told = w.state().state.notices.iter().count();
        w.state_mut()
            .command(Command::Register(RegisterAction::OpenImage(path)));
        until(&mut w, "answer", |app| {
            let register = &app.state.register;
            !register.images().is_empty()
                || !register.strange.is_empty()
                || app.state.notices.iter().count() > told
        });
        if !w.state().state.register.strange.is_empty() {
            assert_eq!(
                w.query_all_by_label_contains("is of the patient ID SOMEBODY ELSE")
                    .count(),
                1
            );
            w.get_by_label("Leave it out").click();
            w.run_steps(3);
        }
        let register = &w.state().state.register;
        (
            said(&w),
            register.images().len(),
            register.place_trouble(0, w.state().state.case()),
        )
    };
    let (notice, images, _) = open("other.dcm", 1500.0, &other);
    assert!(
        notice.contains("Not shown") && notice.contains("SOMEBODY ELSE"),
        "{notice}"
    );
    assert_eq!(images, 0);
    let (notice, images, trouble) = open("near.dcm", 1050.0, &own);
    assert_eq!(images, 1);
    assert!(
        !notice.contains("SOMEBODY ELSE"),
        "of an X-ray before: {notice}"
    );
    assert!(trouble.is_some_and(|why| why.contains("detector lies inside the CT")));
}

/// An X-ray of another patient ID is shown and leaves after an answer, which the session keeps.
#[test]
fn an_x_ray_of_another_patient_is_shown_once_answered_for() {
    let folder = folder("register-accepted");
    let case = Some("demo:water".to_owned());
    let mut w = window(Options {
        case,
        workspace: Workspace::Register,
        ..Options::default()
    });
    until(&mut w, "case", |app| app.state.is_loaded());
    let mut other = Belonging::new(w.state().state.case());
    other.patient.id = "SOMEBODY ELSE".to_owned();
    let path = folder.join("other.dcm");
    rt_image(&path, 1500.0, &other);
    w.state_mut()
        .command(Command::Register(RegisterAction::OpenImage(path)));
    until(&mut w, "question", |app| {
        !app.state.register.strange.is_empty()
    });
    w.get_by_label("They are one patient: show it").click();
    until(&mut w, "X-ray", |app| {
        app.state.register.images().len() == 1
    });
    assert!(
        said(&w).contains("Accepted: the X-ray other.dcm is of the patient SOMEBODY ELSE"),
        "{}",
        said(&w)
    );

    let [session, registration] = ["kept.json", "reg.dcm"].map(|name| folder.join(name));
    [&session, &registration]
        .into_iter()
        .for_each(|path| _ = std::fs::remove_file(path));
    w.state_mut().command(Command::SaveSession(session.clone()));
    w.state_mut()
        .command(Command::SaveRegistration(registration.clone()));
    until(&mut w, "files", |_| {
        session.is_file() && registration.is_file()
    });
    let read = crate::registration::read_registration(&registration);
    assert!(
        read.description.contains("another patient ID, accepted"),
        "{}",
        read.description
    );
    let case = Some(session.display().to_string());
    let mut again = window(Options {
        case,
        workspace: Workspace::Register,
        ..Options::default()
    });
    until(&mut again, "X-ray", |app| {
        app.state.register.images().len() == 1
    });
    assert!(again.state().state.register.strange.is_empty());
    assert!(said(&again).contains("Accepted"), "{}", said(&again));
}

/// A single X-ray that fills the window.
struct OneXray {
    gpu: Gpu,
    image: Image,
    attenuation: Arc<Volume<f32>>,
    display: Display,
    state: RadiographState,
}

impl eframe::App for OneXray {
    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        let scene = RadiographScene {
            gpu: &self.gpu,
            image: &self.image,
            index: 0,
            attenuation: Some(&self.attenuation),
            pose: Pose::new([6.0, 0.0, -4.0], [0.0, 5.0, 0.0]),
            centre_mm: DVec3::ZERO,
            display: self.display,
            drr_range: self.image.range,
            outlines: Vec::new(),
            fields: vec![
                [(-30.0, -40.0), (30.0, -40.0), (30.0, 40.0), (-30.0, 40.0)]
                    .map(|(x, z)| DVec3::new(x, 0.0, z)),
            ],
            trouble: None,
            free: true,
            marking: false,
            flicker: false,
        };
        register::view::show(ui, &mut self.state, &scene, &mut Vec::new());
    }
}

/// Golden images: the patient of the DRR moved to the left, to the feet, and turned.
#[test]
fn overlays_look_as_they_did() {
    let curve = AttenuationCurve::new(CurveKind::Water, &HuTable::shipped_default(), 0.07);
    let attenuation = Arc::new(curve.attenuation(&body()));
    let setup = simulate::imager(0.0, PatientPosition::Hfs, DVec3::ZERO);
    let setup = ImagingSetup {
        columns: 180,
        rows: 140,
        pixel_mm: [2.0, 2.0],
        ..setup
    };
    let request = DrrRequest {
        attenuation: Arc::clone(&attenuation),
        projection: setup.projection().expect("a geometry"),
        poses: vec![Pose::default()],
        pose_centre_mm: DVec3::ZERO,
        integrator: Integrator::Trilinear { step_mm: None },
        pixels: Pixels::All,
    };
    let values = drr(&request, &Compute::Cpu, &JobControl::default())
        .expect("a DRR")
        .integrals;
    let xray = Radiograph::new(
        values,
        PixelMeaning::Attenuation,
        request.projection,
        "golden",
    );
    let image = Image::new(xray).expect("an image");
    let mut results = SnapshotResults::new();
    for (mode, name) in [
        (Mode::Colours, "register_colours"),
        (Mode::Edges, "register_edges"),
    ] {
        let (image, attenuation) = (image.clone(), Arc::clone(&attenuation));
        let mut h = Harness::builder()
            .with_size(vec2(360.0, 280.0))
            .with_pixels_per_point(1.0)
            .with_render_cursor(false)
            .wgpu()
            .build_eframe(move |cc| OneXray {
                gpu: render::install(cc.wgpu_render_state.as_ref().expect("a wgpu harness")),
                image,
                attenuation,
                display: Display {
                    mode,
                    ..Display::default()
                },
                state: RadiographState::default(),
            });
        h.run_steps(6);
        // As in tests/ui/views.rs: other drivers round slightly differently.
        let options = SnapshotOptions::new()
            .threshold(2.0)
            .max_failed_pixels(400_usize);
        h.snapshot_options(name, &options);
        results.extend_harness(&mut h);
    }
}
