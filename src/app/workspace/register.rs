//! The Register workspace: one or two X-rays, the DRR over each of them, one pose for both.

use crate::command::{Command, Commands};
use crate::feature::register::command::RegisterAction;
use crate::feature::register::state::{Display, MOST_IMAGES, Register, shifted, turned};
use crate::feature::register::view::{RadiographEvent, RadiographScene, RadiographState};
use crate::feature::start::state::Stop;
use crate::feature::{register, start};
use crate::kit::theme;
use crate::render::Gpu;
use crate::state::files::FileAction;
use crate::state::{NoticeKind, State};
use crate::view;
use case::StructureKind;
use egui::{Key, Rect, Ui, UiBuilder, vec2};
use geometry::Projection;
use glam::DVec3;

/// Points between two views.
const GAP: f32 = 2.0;
/// Key that shows the other image while it is held.
const FLICKER: Key = Key::Space;
/// A field belongs to an image if their sources are no further apart than this, mm.
const SAME_SOURCE_MM: f64 = 5.0;
/// A drag in a view is one step of the history.
const GESTURE: u64 = 0x706f_7365;

pub fn show(
    ui: &mut Ui,
    state: &State,
    gpu: &Gpu,
    views: &mut [RadiographState; MOST_IMAGES],
    commands: &mut Commands,
) {
    let available = ui.available_rect_before_wrap();
    let count = state.register.images().len();
    if count == 0 {
        empty(ui, state, commands);
        return;
    }
    theme::dark_style(ui);
    ui.painter()
        .rect_filled(available, 0.0, theme::IMAGE.ground);
    let sizes: Vec<[f64; 2]> = state
        .register
        .images()
        .iter()
        .map(|i| register::view::size_mm(&i.radiograph.projection))
        .collect();
    let wide = side_by_side(available, &sizes);
    let mut events = Vec::new();
    for (index, view) in views.iter_mut().enumerate().take(count) {
        let scene = scene(ui, state, gpu, index);
        let rect = part(available, wide, index, count);
        ui.scope_builder(UiBuilder::new().max_rect(rect), |ui| {
            ui.set_clip_rect(rect);
            register::view::show(ui, view, &scene, &mut events);
        });
        for event in events.drain(..) {
            answer(&state.register, index, event, commands);
        }
    }
}

/// Whether the images are larger side by side than one above the other.
fn side_by_side(available: Rect, sizes_mm: &[[f64; 2]]) -> bool {
    let [in_a_row, in_a_column] = [true, false].map(|wide| {
        let room = part(available, wide, 0, sizes_mm.len()).size();
        let scales = sizes_mm
            .iter()
            .map(|[w, h]| (f64::from(room.x) / w).min(f64::from(room.y) / h));
        scales.fold(f64::INFINITY, f64::min)
    });
    in_a_row >= in_a_column
}

/// The rectangle of a view: side by side, or one above the other.
fn part(available: Rect, wide: bool, index: usize, count: usize) -> Rect {
    let n = count as f32;
    let size = if wide {
        vec2(
            (available.width() - GAP * (n - 1.0)) / n,
            available.height(),
        )
    } else {
        vec2(
            available.width(),
            (available.height() - GAP * (n - 1.0)) / n,
        )
    };
    let step = if wide {
        vec2(size.x + GAP, 0.0)
    } else {
        vec2(0.0, size.y + GAP)
    };
    Rect::from_min_size(available.min + step * index as f32, size)
}

fn answer(register: &Register, image: usize, event: RadiographEvent, commands: &mut Commands) {
    let pose = *register.poses.now();
    let gesture = Some(GESTURE);
    let action = match event {
        RadiographEvent::Shift(by) => RegisterAction::Move {
            pose: shifted(&pose, by),
            gesture,
        },
        RadiographEvent::Turn { axis, deg } => RegisterAction::Move {
            pose: turned(&pose, axis, deg),
            gesture,
        },
        RadiographEvent::Swipe(swipe) => RegisterAction::Display(Display {
            swipe,
            ..register.display
        }),
        RadiographEvent::Region(Some(region)) => RegisterAction::Region {
            image,
            region: Some(region),
        },
        RadiographEvent::Region(None) => {
            let text = "The region marked holds next to no pixels of the image: mark a larger one.";
            commands.push(Command::Notice(NoticeKind::Warning, text.to_owned()));
            return;
        }
        RadiographEvent::Window(width, level) => {
            let display = register.display;
            let [xray_window, drr_window] =
                [display.xray_window, display.drr_window].map(|[low, high]| {
                    let middle = 0.5 * (low + high) - level;
                    let half = (0.5 * (high - low) + width).clamp(0.02, 5.0);
                    [middle - half, middle + half]
                });
            RegisterAction::Display(Display {
                xray_window,
                drr_window,
                ..display
            })
        }
    };
    commands.push(Command::Register(action));
}

/// Current content of a view: all of it shared, so cheap.
fn scene<'a>(ui: &Ui, state: &'a State, gpu: &'a Gpu, index: usize) -> RadiographScene<'a> {
    let register = &state.register;
    let case = state.case();
    let image = &register.images()[index];
    let shown = case
        .structures
        .structures
        .iter()
        .filter(|s| !state.hidden.contains(&s.number));
    let outlines = shown
        // The body's silhouette is the rim of the DRR.
        .filter(|s| s.kind != StructureKind::External)
        .filter_map(|s| {
            Some((
                state.results.mask(s.number)?.clone(),
                view::on_image(s.colour),
                1.6,
            ))
        })
        .collect();
    let typing = ui.ctx().text_edit_focused();
    RadiographScene {
        gpu,
        image,
        index,
        attenuation: state.results.attenuation(),
        pose: register.shown_pose(),
        centre_mm: register.centre_mm(case),
        display: register.display,
        drr_range: state.results.drr_range(index),
        outlines,
        fields: fields(state, &image.radiograph.projection),
        trouble: register.place_trouble(index, case),
        free: register.is_free(),
        marking: register.marking,
        flicker: !typing && ui.input(|i| i.key_down(FLICKER)),
    }
}

/// The jaws of the plan's beams that share their source with an image: their corners in the isocentre plane.
fn fields(state: &State, image: &Projection) -> Vec<[DVec3; 4]> {
    let Some(plan) = state.plan() else {
        return Vec::new();
    };
    let fields = plan.beams.iter().enumerate().filter_map(|(n, beam)| {
        let sad_mm = state.results.sad_mm(plan.machine_of(beam));
        let layer = view::BeamLayer::new(n, beam, plan.position, sad_mm, false)?;
        let frame = layer.frame();
        let [x, y] = [layer.jaws.x, layer.jaws.y];
        let corners = [[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]];
        let has_same_source = (frame.source_mm - image.source_mm()).length() < SAME_SOURCE_MM;
        has_same_source
            .then(|| corners.map(|[x, y]| frame.patient_from_device(DVec3::new(x, y, 0.0))))
    });
    fields.collect()
}

/// The start page: X-rays to open.
fn empty(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.vertical_centered(|ui| {
        ui.add_space(0.3 * ui.available_height());
        ui.heading("Register X-rays with the CT");
        let loaded = state.case().ct.is_some();
        if loaded {
            ui.weak("One X-ray, or two from different sides: RT image, DX, CR, XA, PNG or TIFF.");
        } else {
            ui.weak("First open a CT: the DRRs are made from it.");
        }
        ui.add_space(10.0);
        if !loaded {
            if ui.button("Open folder…").clicked() {
                commands.push(Command::Pick(FileAction::OpenFolder));
            }
            if ui.button("Open the thorax demo").clicked() {
                commands.push(Command::Open("demo:thorax".to_owned()));
            }
            return;
        }
        if ui.button("Open X-ray…").clicked() {
            commands.push(Command::Pick(FileAction::OpenXray));
        }
        let hint =
            "Two X-rays computed from this CT, the patient moved and turned by an amount that is not shown";
        let make_up = ui.button("Make up a pair to try it").on_hover_text(hint);
        start::panel::tour::mark(ui, Stop::Register, make_up.rect);
        if make_up.clicked() {
            commands.push(Command::Register(RegisterAction::MakeUp));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn two_pictures_lie_so_that_they_are_larger() {
        let [room, wide_room] = [vec2(880.0, 820.0), vec2(1200.0, 500.0)]
            .map(|size| Rect::from_min_size(pos2(10.0, 20.0), size));
        let landscape = [[400.0, 300.0]; 2];
        assert!(!side_by_side(room, &landscape));
        assert!(side_by_side(wide_room, &landscape));
        assert!(side_by_side(room, &[[300.0, 400.0]; 2]));
        for wide in [true, false] {
            let parts = [0, 1].map(|n| part(room, wide, n, 2));
            assert!(parts.iter().all(|p| room.contains_rect(*p)));
            assert!(!parts[0].intersects(parts[1]));
        }
    }
}
