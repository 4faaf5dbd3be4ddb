//! Pictures of the views, pixel by pixel, against closed forms. Rendered by any wgpu device, lavapipe first.

use beamsight::analysis::Spread;
use beamsight::app::render::{self, Gpu};
use beamsight::app::state::ViewKind;
use beamsight::app::state::display::{DoseDisplay, WashOf, WindowLevel};
use beamsight::app::state::results::Certainty;
use beamsight::app::view::{
    self, BeamLayer, DoseLayer, Scene, StructureLook, ViewEvent, ViewState,
};
use beamsight::case::{
    Beam, Contour, Dose, DoseStatus, Jaws, Rgb, Structure, StructureKind, StructureSet,
};
use beamsight::engine::dose::DoseTo;
use beamsight::engine::histories::{Next, RunLength, Until};
use beamsight::engine::mccs::{DIRECTIONS, MccsRequest, Variant, refine};
use beamsight::engine::{Compute, JobControl};
use beamsight::geometry::{Grid, Mask, PatientPosition, Volume};
use beamsight::physics::{Machine, Material, Patient};
use eframe::egui;
use egui::Vec2;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, SnapshotOptions, SnapshotResults};
use glam::DVec3;
use std::sync::Arc;
use std::time::Duration;

/// A single view that fills the window.
struct OneView {
    scene: Scene,
    state: ViewState,
    events: Vec<ViewEvent>,
}

impl eframe::App for OneView {
    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        view::show(ui, &mut self.state, &self.scene, &mut self.events);
        for event in &self.events {
            match *event {
                ViewEvent::CrosshairMoved(to) => self.scene.crosshair_mm = to,
                ViewEvent::GantryDragged { beam, gantry_deg } => {
                    self.scene.beams[beam].gantry_deg = gantry_deg
                }
                ViewEvent::WindowLevel(w, l) => self.scene.window = WindowLevel::new(w, l),
                _ => {}
            }
        }
    }
}

fn harness(
    kind: ViewKind,
    size: Vec2,
    build: impl FnOnce(Gpu) -> Scene,
) -> Harness<'static, OneView> {
    Harness::builder()
        .with_size(size)
        .with_pixels_per_point(1.0)
        .with_render_cursor(false)
        .wgpu()
        .build_eframe(|cc| {
            let gpu = render::install(cc.wgpu_render_state.as_ref().expect("a wgpu harness"));
            OneView {
                scene: build(gpu),
                state: ViewState::new(kind),
                events: Vec::new(),
            }
        })
}

/// A volume from a function of the patient position.
fn volume(grid: Grid, f: impl Fn(DVec3) -> f64) -> Arc<Volume<f32>> {
    let [nx, ny, nz] = grid.size();
    let mut data = Vec::with_capacity(grid.len());
    for k in 0..nz {
        for j in 0..ny {
            data.extend((0..nx).map(|i| f(grid.centre_mm(i, j, k)) as f32));
        }
    }
    Arc::new(Volume::new(Arc::new(grid), data))
}

fn uneven(tilt_deg: f64) -> Grid {
    let (s, c) = tilt_deg.to_radians().sin_cos();
    let planes = [0.0, 2.0, 9.0, 10.0, 14.0, 20.5, 24.0, 33.0, 36.0, 40.0];
    Grid::new(
        DVec3::new(-30.0, -40.0, -20.0),
        DVec3::X,
        DVec3::new(0.0, c, s),
        [3.0, 4.0],
        [21, 21],
        &planes,
    )
    .expect("a valid grid")
}

/// A linear function of position is reproduced by trilinear sampling on any grid: even, uneven, oblique.
#[test]
fn a_linear_ramp_goes_through_window_and_level() {
    let ramp = |p: DVec3| 3.0 * p.x - 2.0 * p.y + 4.0 * p.z + 50.0;
    for tilt in [0.0, 12.0] {
        for kind in [ViewKind::Axial, ViewKind::Sagittal, ViewKind::Coronal] {
            let ct = volume(uneven(tilt), ramp);
            let middle = ct.grid().middle_mm();
            let mut h = harness(kind, Vec2::new(300.0, 220.0), |gpu| Scene {
                ct: Some(Arc::clone(&ct)),
                window: WindowLevel::new(600.0, 50.0),
                crosshair_mm: middle,
                ..Scene::new(gpu)
            });
            h.state_mut().state.mm_per_point = Some(0.4);
            h.run();
            let picture = h.render().expect("a picture");
            let rect = h.get_by_label(kind.name()).rect();
            let [right, down] = kind.axes();
            let mut compared = 0;
            for (x, y) in [(145, 106), (120, 90), (190, 130), (100, 140), (205, 75)] {
                let (dx, dy) = (
                    f64::from(x) + 0.5 - f64::from(rect.center().x),
                    f64::from(y) + 0.5 - f64::from(rect.center().y),
                );
                let at = middle + right * (dx * 0.4) + down * (dy * 0.4);
                if ct.trilinear(at).is_none() {
                    continue;
                }
                let want = ((ramp(at) - (50.0 - 300.0)) / 600.0).clamp(0.0, 1.0) * 255.0;
                let got = picture.get_pixel(x, y).0;
                assert!(
                    got[0] == got[1] && got[1] == got[2],
                    "grey at {x},{y}: {got:?}"
                );
                assert!(
                    (f64::from(got[0]) - want).abs() <= 1.5,
                    "{kind:?} tilt {tilt} at {x},{y}: {got:?}, not {want:.1}"
                );
                compared += 1;
            }
            assert!(
                compared >= 3,
                "{kind:?} tilt {tilt}: the points must lie in the CT"
            );
        }
    }
}

/// Dose falls linearly with the distance from an axis; its isodoses are circles of known radius.
#[test]
fn isodose_lines_lie_where_the_closed_form_says() {
    let gy = |p: DVec3| 60.0 * (1.2 - 0.01 * (p.x * p.x + p.y * p.y).sqrt());
    let grid = Grid::axis_aligned(
        DVec3::new(-60.3, -61.0, -10.0),
        DVec3::new(1.0, 1.0, 2.5),
        [122, 122, 9],
    )
    .unwrap();
    let dose = Dose {
        gy: volume(grid, gy),
        status: DoseStatus::Final,
        label: "cone".into(),
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats: Vec::new(),
        remarks: Vec::new(),
        part: None,
    };
    let mut display = DoseDisplay {
        wash: false,
        ..DoseDisplay::default()
    };
    display
        .levels
        .retain(|l| [100.0, 90.0, 80.0].contains(&l.percent));
    let colours: Vec<[u8; 3]> = display.levels.iter().map(|l| l.colour.0).collect();
    // The image has 300 points: the legend's strip of 62 is beside it, and no words cover the lines.
    let mut h = harness(ViewKind::Axial, Vec2::new(362.0, 300.0), |gpu| Scene {
        dose: Some(DoseLayer {
            dose: Arc::new(dose),
            reference: Some((60.0, "prescription")),
            display,
            certainty: None,
            trouble: None,
        }),
        ..Scene::new(gpu)
    });
    h.state_mut().state.mm_per_point = Some(0.5);
    h.state_mut().state.centre_mm = Some(DVec3::ZERO);
    h.run();
    let picture = h.render().expect("a picture");
    for (colour, radius_mm) in colours.iter().zip([20.0, 30.0, 40.0]) {
        // Rays from the middle: the level's colour appears within a pixel of its radius, in full strength.
        for degrees in [7.0_f64, 48.0, 131.0, 200.0, 293.0] {
            let (s, c) = degrees.to_radians().sin_cos();
            let strength = |r_px: f64| {
                let (x, y) = (150.0 + r_px * c, 150.0 + r_px * s);
                let p = picture.get_pixel(x as u32, y as u32).0;
                let off: i32 = (0..3)
                    .map(|i| (i32::from(p[i]) - i32::from(colour[i])).abs())
                    .sum();
                off
            };
            let r_px = radius_mm / 0.5;
            let nearest = (-10..=10)
                .map(|i| r_px + f64::from(i) * 0.1)
                .map(strength)
                .min()
                .unwrap();
            assert!(
                nearest < 60,
                "{radius_mm} mm at {degrees} degrees: off by {nearest}"
            );
            assert!(
                strength(r_px - 5.0) > 150 && strength(r_px + 5.0) > 150,
                "only near the radius"
            );
        }
    }
}

#[test]
fn paging_uploads_nothing_and_stops_at_the_last_plane() {
    let ct = volume(uneven(0.0), |p| p.z);
    let mut h = harness(ViewKind::Axial, Vec2::new(100.0, 100.0), |gpu| Scene {
        ct: Some(ct),
        crosshair_mm: DVec3::new(0.0, 0.0, -20.0),
        ..Scene::new(gpu)
    });
    h.run();
    h.render().expect("a picture");
    let uploads = h.state().scene.gpu.texture_use().1;
    assert_eq!(uploads, 1);
    let mut seen = Vec::new();
    for _ in 0..12 {
        h.hover_at(egui::pos2(50.0, 50.0));
        h.event(egui::Event::MouseWheel {
            unit: egui::MouseWheelUnit::Line,
            delta: Vec2::new(0.0, 1.0),
            phase: egui::TouchPhase::Move,
            modifiers: egui::Modifiers::NONE,
            source: egui::MouseWheelSource::Wheel,
        });
        h.run();
        h.render().expect("a picture");
        seen.push(h.state().scene.crosshair_mm.z + 20.0);
    }
    assert_eq!(
        seen,
        [
            2.0, 9.0, 10.0, 14.0, 20.5, 24.0, 33.0, 36.0, 40.0, 40.0, 40.0, 40.0
        ]
    );
    assert_eq!(
        h.state().scene.gpu.texture_use().1,
        uploads,
        "paging uploaded a texture"
    );
}

/// Frames of a window without views, while a large CT is opened, do not count against its texture.
#[test]
fn a_texture_made_ahead_waits_for_its_first_frame() {
    let ct = volume(uneven(0.0), |p| p.z);
    let mut h = harness(ViewKind::Axial, Vec2::new(100.0, 100.0), Scene::new);
    let gpu = h.state().scene.gpu.clone();
    gpu.prepare_ct(&ct);
    gpu.begin_frame(10_000);
    assert_eq!(gpu.texture_use(), (2 * ct.data().len() as u64, 1));
    h.state_mut().scene.ct = Some(ct);
    h.run();
    h.render().expect("a picture");
    assert_eq!(gpu.texture_use().1, 1, "it is made once");
    gpu.prepare_ct(&volume(uneven(0.0), |p| p.x));
    [20_000, 20_240]
        .into_iter()
        .for_each(|frame| gpu.begin_frame(frame));
    assert_eq!(gpu.texture_use().1, 2);
    assert!(gpu.texture_use().0 > 0);
    gpu.begin_frame(20_241);
    assert_eq!(
        gpu.texture_use().0,
        0,
        "a CT that is never displayed is evicted as any other"
    );
}

/// A sphere as contours on the planes of a grid.
fn sphere_set(grid: &Arc<Grid>, centre: DVec3, radius: f64) -> (Arc<StructureSet>, Arc<Mask>) {
    let contours: Vec<Contour> = grid
        .planes_mm()
        .iter()
        .map(|z| grid.origin_mm().z + z)
        .filter(|z| (z - centre.z).abs() < radius)
        .map(|z| {
            let r = (radius * radius - (z - centre.z).powi(2)).sqrt();
            let point = |i: i32| {
                let (s, c) = (f64::from(i) * std::f64::consts::TAU / 90.0).sin_cos();
                DVec3::new(centre.x + r * c, centre.y + r * s, z)
            };
            Contour {
                points_mm: (0..90).map(point).collect(),
                image_uid: None,
            }
        })
        .collect();
    let lines: Vec<&[DVec3]> = contours.iter().map(|c| c.points_mm.as_slice()).collect();
    let mask = Mask::from_contours(grid, &lines, &|_| true).expect("a mask");
    let structure = Structure {
        colour: Rgb([0, 255, 0]),
        contours: contours.into(),
        ..Structure::new("sphere", 1, StructureKind::Ptv)
    };
    let set = StructureSet {
        structures: vec![structure],
        ..StructureSet::default()
    };
    (Arc::new(set), Arc::new(mask))
}

/// Distance of the greenest pixel beyond 20 from the middle of the picture, along a direction.
fn greenest(picture: &impl Fn(f64, f64) -> [u8; 4], degrees: f64) -> f64 {
    let (s, c) = degrees.to_radians().sin_cos();
    let green = |r: f64| {
        let p = picture(r * c, r * s);
        i32::from(p[1]) - i32::from(p[0]).max(i32::from(p[2]))
    };
    let candidates = (80..560).map(|i| f64::from(i) * 0.25);
    candidates.max_by_key(|r| green(*r)).unwrap_or(0.0)
}

/// A sphere's section is a circle of known radius in every plane, whether drawn from contours (axial) or cut
/// from the mask (sagittal, coronal); from the source it appears as its tangent cone.
#[test]
fn outlines_of_a_sphere_have_its_radius_in_every_view() {
    let planes: Vec<f64> = (0..60)
        .map(|k| 2.0 * f64::from(k) + 0.6 * f64::from(k % 2))
        .collect();
    let origin = DVec3::new(-60.0, -60.0, -59.0);
    let grid =
        Grid::new(origin, DVec3::X, DVec3::Y, [1.5, 1.5], [80, 80], &planes).expect("a valid grid");
    let ct = volume(grid, |_| -1000.0);
    let (set, mask) = sphere_set(ct.grid(), DVec3::ZERO, 40.0);
    let beam = Beam::fixed(
        "B",
        1,
        30.0,
        DVec3::ZERO,
        Jaws::symmetric(300.0, 300.0),
        1.0,
    );
    let beam = BeamLayer::new(0, &beam, PatientPosition::Hfs, 1000.0, false).expect("a beam");
    // The tangent cone of a sphere round the isocentre, at the isocentre plane: r / sqrt(1 - (r / SAD)^2).
    let seen_mm = 40.0 / (1.0 - 0.04_f64.powi(2)).sqrt();
    for (kind, radius_mm) in [
        (ViewKind::Axial, 40.0),
        (ViewKind::Sagittal, 40.0),
        (ViewKind::Coronal, 40.0),
        (ViewKind::Bev, seen_mm),
    ] {
        let mut h = harness(kind, Vec2::new(300.0, 300.0), |gpu| Scene {
            ct: Some(Arc::clone(&ct)),
            structures: Arc::clone(&set),
            looks: vec![StructureLook {
                current: true,
                visible: true,
                selected: false,
                colour: Rgb([0, 255, 0]),
                mask: Some(Arc::clone(&mask)),
            }],
            beams: if kind == ViewKind::Bev {
                vec![beam.clone()]
            } else {
                Vec::new()
            },
            ..Scene::new(gpu)
        });
        h.state_mut().state.mm_per_point = Some(0.5);
        h.state_mut().state.centre_mm = Some(DVec3::ZERO);
        h.run_steps(4);
        let picture = h.render().expect("a picture");
        let at = |dx: f64, dy: f64| {
            picture
                .get_pixel((150.0 + dx) as u32, (150.0 + dy) as u32)
                .0
        };
        for degrees in [20.0, 70.0, 110.0, 160.0, 200.0, 250.0, 290.0, 340.0] {
            let got = greenest(&at, degrees) * 0.5;
            assert!(
                (got - radius_mm).abs() < 1.0,
                "{kind:?} at {degrees} degrees: {got:.2} mm, not {radius_mm:.2}"
            );
        }
    }
}

/// A structure with one contour redrawn, and the step undone: the pictures are those of views that never showed another mask, and no
/// texture is added.
#[test]
fn a_redrawn_structure_is_drawn_from_the_texture_it_has() {
    let planes: Vec<f64> = (0..60).map(|k| 2.0 * f64::from(k)).collect();
    let origin = DVec3::new(-60.0, -60.0, -59.0);
    let grid =
        Grid::new(origin, DVec3::X, DVec3::Y, [1.5, 1.5], [80, 80], &planes).expect("a valid grid");
    let grid = Arc::new(grid);
    let (set, before) = sphere_set(&grid, DVec3::ZERO, 40.0);
    let mut contours = set.structures[0]
        .contours
        .iter()
        .map(|c| c.points_mm.clone())
        .collect::<Vec<_>>();
    // Near the upper end, as wide as the middle: within the box of the sphere.
    let last = contours.len() - 5;
    contours[last]
        .iter_mut()
        .for_each(|p| *p *= DVec3::new(1.5, 1.5, 1.0));
    let lines: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    let after = Arc::new(Mask::from_contours(&grid, &lines, &|_| true).expect("a mask"));
    assert_eq!(
        (before.offset(), before.size()),
        (after.offset(), after.size())
    );
    let look = |mask: &Arc<Mask>| StructureLook {
        current: true,
        visible: true,
        selected: false,
        colour: Rgb([0, 255, 0]),
        mask: Some(Arc::clone(mask)),
    };
    let view = |mask: &Arc<Mask>| {
        let (structures, looks) = (Arc::clone(&set), vec![look(mask)]);
        let ct = volume((*grid).clone(), |_| -1000.0);
        harness(ViewKind::Sagittal, Vec2::new(300.0, 300.0), |gpu| Scene {
            ct: Some(ct),
            structures,
            looks,
            ..Scene::new(gpu)
        })
    };
    let draw = |h: &mut Harness<'static, OneView>| {
        h.run_steps(2);
        h.render().expect("a picture").into_raw()
    };
    let fresh = [&before, &after].map(|mask| draw(&mut view(mask)));
    assert!(fresh[0] != fresh[1], "the contour is seen");
    let mut h = view(&before);
    draw(&mut h);
    let (bytes, uploads) = h.state().scene.gpu.texture_use();
    for (n, mask) in [(1, &after), (0, &before), (1, &after)] {
        h.state_mut().scene.looks = vec![look(mask)];
        assert!(draw(&mut h) == fresh[n], "the picture of mask {n}");
    }
    assert_eq!(h.state().scene.gpu.texture_use(), (bytes, uploads + 3));
}

/// Dragging the handle round the isocentre turns the gantry; nothing else moves, and at rest no rays are
/// cast.
#[test]
fn the_gantry_follows_its_handle_and_rest_costs_nothing() {
    let ct = volume(uneven(0.0), |p| p.x);
    let beam = Beam::fixed("AP", 1, 0.0, DVec3::ZERO, Jaws::symmetric(40.0, 40.0), 1.0);
    let beam = BeamLayer::new(0, &beam, PatientPosition::Hfs, 1000.0, true).expect("a beam");
    let mut h = harness(ViewKind::Axial, Vec2::new(362.0, 300.0), |gpu| Scene {
        ct: Some(ct),
        beams: vec![beam],
        ..Scene::new(gpu)
    });
    h.state_mut().state.mm_per_point = Some(0.5);
    h.state_mut().state.centre_mm = Some(DVec3::ZERO);
    h.run();
    // The strip of the legend, 62 points wide, is beside the image.
    let middle = h.get_by_label("Axial").rect().center();
    assert_eq!(middle, egui::pos2(150.0, 150.0));
    // Gantry 0: the source is anterior, above the isocentre, 0.42 of the view away.
    h.drag_at(middle - egui::vec2(0.0, 126.0));
    h.run();
    for degrees in [20.0_f32, 60.0, 90.0] {
        let (s, c) = degrees.to_radians().sin_cos();
        h.hover_at(middle + egui::vec2(100.0 * s, -100.0 * c));
        h.run();
    }
    h.drop_at(middle + egui::vec2(100.0, 0.0));
    h.run();
    assert_eq!(h.state().scene.beams[0].gantry_deg, 90.0);
    assert_eq!(
        h.state().state.centre_mm,
        Some(DVec3::ZERO),
        "the view did not pan"
    );

    h.state_mut().state.kind = ViewKind::Bev;
    h.drag_at(middle);
    h.run_steps(5);
    h.render().expect("a picture");
    let held = h.state().scene.gpu.casts();
    h.drop_at(middle);
    h.run_steps(5);
    h.render().expect("a picture");
    let casts = h.state().scene.gpu.casts();
    assert!(
        held >= 1 && casts == held + 1,
        "a coarse picture, then a fine one once the pointer is let go: {held}, {casts}"
    );
    h.run_steps(5);
    h.render().expect("a picture");
    assert_eq!(h.state().scene.gpu.casts(), casts);
    assert!(
        h.output()
            .viewport_output
            .values()
            .all(|v| v.repaint_delay.as_secs() > 60),
        "idle repaints"
    );
}

#[test]
fn a_volume_too_large_for_the_device_is_a_message() {
    let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [1, 1, 20_000]).expect("a valid grid");
    let ct = volume(grid, |_| 0.0);
    let id = ct.id();
    let mut h = harness(ViewKind::Coronal, Vec2::new(200.0, 200.0), |gpu| Scene {
        ct: Some(ct),
        ..Scene::new(gpu)
    });
    h.run();
    h.render().expect("a picture");
    let why = h.state().scene.gpu.failure(id).expect("a failure");
    assert!(
        why.contains("20000") && why.contains("cannot be shown"),
        "{why}"
    );
}

/// The whole appearance: two small golden images, with a tolerance.
#[test]
fn golden_views() {
    let body = |p: DVec3| {
        let r = (p.x / 90.0).hypot(p.y / 60.0);
        if r > 1.0 {
            -1000.0
        } else if (p - DVec3::new(0.0, 40.0, 0.0)).length() < 14.0 {
            900.0
        } else {
            20.0 + 30.0 * (p.x * 0.05).sin()
        }
    };
    let grid = Grid::axis_aligned(
        DVec3::new(-100.0, -75.0, -60.0),
        DVec3::new(2.0, 2.0, 3.0),
        [101, 76, 41],
    );
    let ct = volume(grid.expect("a valid grid"), body);
    let (set, mask) = sphere_set(ct.grid(), DVec3::ZERO, 25.0);
    let dose_grid = Grid::axis_aligned(
        DVec3::new(-70.0, -75.0, -40.0),
        DVec3::splat(5.0),
        [29, 31, 17],
    );
    let gy = |p: DVec3| {
        63.0 / (1.0 + ((p.length() - 34.0) * 0.12).exp()) + if p.x.abs() < 30.0 { 9.0 } else { 0.0 }
    };
    let dose = Dose {
        gy: volume(dose_grid.expect("a valid grid"), gy),
        status: DoseStatus::Preview,
        label: "golden".into(),
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats: Vec::new(),
        remarks: Vec::new(),
        part: None,
    };
    let dose = DoseLayer {
        dose: Arc::new(dose),
        reference: Some((60.0, "prescription")),
        display: DoseDisplay::default(),
        certainty: None,
        trouble: None,
    };
    let beam = Beam::fixed("AP", 1, 20.0, DVec3::ZERO, Jaws::symmetric(60.0, 70.0), 1.0);
    let beam = BeamLayer::new(0, &beam, PatientPosition::Hfs, 1000.0, true).expect("a beam");
    let mut results = SnapshotResults::new();
    for (kind, name) in [(ViewKind::Axial, "view_axial"), (ViewKind::Bev, "view_bev")] {
        let mut h = harness(kind, Vec2::new(360.0, 270.0), |gpu| Scene {
            ct: Some(Arc::clone(&ct)),
            dose: Some(dose.clone()),
            structures: Arc::clone(&set),
            looks: vec![StructureLook {
                current: true,
                visible: true,
                selected: false,
                colour: Rgb([255, 82, 82]),
                mask: Some(Arc::clone(&mask)),
            }],
            beams: vec![beam.clone()],
            ..Scene::new(gpu)
        });
        h.run_steps(5);
        // Other drivers round lines and letters slightly differently; a wrong picture differs in thousands of
        // pixels.
        let options = SnapshotOptions::new()
            .threshold(2.0)
            .max_failed_pixels(400_usize);
        h.snapshot_options(name, &options);
        results.extend_harness(&mut h);
    }
}

/// A wide and a narrow field from both sides on an oval of water with a lung, by a fixed number of histories:
/// the picture is the same on every machine, for any number of threads.
fn monte_carlo(seed: u64) -> (Arc<Volume<f32>>, DoseLayer) {
    let oval = |p: DVec3| (p.x / 90.0).hypot(p.y / 60.0) < 1.0;
    let lung = |p: DVec3| ((p.x - 35.0) / 30.0).hypot(p.y / 40.0) < 1.0;
    let grid = Grid::axis_aligned(
        DVec3::new(-100.0, -70.0, -30.0),
        DVec3::splat(5.0),
        [41, 29, 13],
    );
    let ct = volume(grid.expect("a valid grid"), |p| match () {
        () if !oval(p) => -1000.0,
        () if lung(p) => -740.0,
        () => 0.0,
    });
    let density = Arc::new(Volume::new(
        ct.grid().clone(),
        ct.data().iter().map(|hu| 1.0 + hu * 1e-3).collect(),
    ));
    let materials = ct.data().iter().map(|hu| match hu {
        -1000.0 => Material::Air,
        0.0 => Material::Water,
        _ => Material::Lung,
    });
    let patient = Patient {
        relative_electron_density: density.clone(),
        mass_density_g_cm3: density,
        material: Arc::new(Volume::new(
            ct.grid().clone(),
            materials.map(|m| m as u8).collect(),
        )),
        position: PatientPosition::Hfs,
        has_couch: true,
    };
    let machine = Machine::resolve("generic-6mv").expect("a machine");
    let beam = |gantry: f64, side: f64, mu: f64| {
        let beam = Beam::fixed("B", 1, gantry, DVec3::ZERO, Jaws::symmetric(side, side), mu);
        (beam, machine.clone())
    };
    let request = MccsRequest {
        grid: ct.grid().clone(),
        patient: Arc::new(patient),
        beams: vec![beam(90.0, 50.0, 100.0), beam(0.0, 30.0, 50.0)],
        dose_to: DoseTo::Medium,
        length: RunLength {
            until: Until::Histories(200_000),
            batch: 10_000,
            show_every: Duration::from_secs(3600),
        },
        seed,
        directions: DIRECTIONS,
        variant: Variant::Own,
    };
    let run = refine(&request, &Compute::Cpu, &JobControl::new(), &mut |_| {
        Next::GoOn
    })
    .expect("a dose");
    let dose = Dose {
        gy: run.gy.clone(),
        status: run.status,
        label: "golden".into(),
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats: Vec::new(),
        remarks: Vec::new(),
        part: None,
    };
    let certainty = Certainty {
        spread: Spread::new(run.gy, run.sigma_gy),
        uncertainty_percent: run.uncertainty_percent,
        histories: run.histories,
    };
    let layer = DoseLayer {
        reference: Some((f64::from(dose.max_gy()), "maximum")),
        dose: Arc::new(dose),
        display: DoseDisplay::default(),
        certainty: Some(Arc::new(certainty)),
        trouble: None,
    };
    (ct, layer)
}

/// A Monte Carlo dose and its uncertainty: names, units and colours of both.
#[test]
fn golden_views_of_monte_carlo() {
    let (ct, layer) = monte_carlo(1);
    let again = monte_carlo(1).1;
    assert!(
        again.dose.gy.data() == layer.dose.gy.data(),
        "equal seeds and histories, equal doses"
    );
    assert!(monte_carlo(2).1.dose.gy.data() != layer.dose.gy.data());
    let mut results = SnapshotResults::new();
    for (name, wash_of) in [
        ("view_mccs_dose", WashOf::Dose),
        ("view_mccs_uncertainty", WashOf::Uncertainty),
    ] {
        let display = DoseDisplay {
            wash_of,
            ..layer.display.clone()
        };
        let mut h = harness(ViewKind::Axial, Vec2::new(460.0, 330.0), |gpu| Scene {
            ct: Some(Arc::clone(&ct)),
            dose: Some(DoseLayer {
                display,
                ..layer.clone()
            }),
            ..Scene::new(gpu)
        });
        h.run_steps(5);
        let options = SnapshotOptions::new()
            .threshold(2.0)
            .max_failed_pixels(400_usize);
        h.snapshot_options(name, &options);
        results.extend_harness(&mut h);
    }
}
