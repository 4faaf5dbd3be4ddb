//! The room in the Plan workspace: what it shows of the state, its switch and its menu.

use crate::command::{Command, Commands};
use crate::feature::room;
use crate::feature::room::state::Room;
use crate::feature::room::view::{Preset, RoomScene, RoomStructure};
use crate::kit::lasting_menu;
use crate::render::Gpu;
use crate::state::{State, ViewKind};
use crate::view;
use crate::view::{Scene, ViewEvent, ViewState};
use analysis::CouchTop;
use case::StructureKind;
use egui::{Align, Layout, Rect, Response, Ui, UiBuilder, pos2};
use report::room::RoomLook;
use std::sync::Arc;

/// Height of the switch, points; it ends left of the button that maximises.
const SWITCH: f32 = 24.0;

/// Shows a view, or the room in the place of the beam's-eye view, with the switch between them.
pub(super) fn show(
    ui: &mut Ui,
    state: &State,
    view: &mut ViewState,
    scene: &Scene,
    events: &mut Vec<ViewEvent>,
    commands: &mut Commands,
) -> Response {
    if view.kind != ViewKind::Bev {
        return view::show(ui, view, scene, events);
    }
    let response = match state.room.shown {
        true => room::view::show(ui, view, &scene_of(state, scene), events),
        false => view::show(ui, view, scene, events),
    };
    if state.room.shown && response.hovered() && state.pointer_mm.is_some() {
        // The pointer has no depth in the room.
        commands.push(Command::Hover(None));
    }
    switch(ui, response.rect, state, commands);
    response
}

/// The room as a report shows it, from the foot end of the couch; `None` without a structure that has a surface.
pub fn look(state: &State, gpu: &Gpu, size_px: [u32; 2]) -> Option<RoomLook> {
    let scene = Scene {
        show_beams: true,
        ..super::plan::scene(state, gpu)
    };
    let room = scene_of(state, &scene);
    // Nearer than on the display, where the head turns round the couch.
    let camera = room.camera(Preset::Room).zoomed(1.6);
    (!room.structures.is_empty()).then(|| room.look(&camera, size_px))
}

fn scene_of<'a>(state: &'a State, scene: &'a Scene) -> RoomScene<'a> {
    let results = &state.results;
    let set = &state.case().structures.structures;
    let position = state.plan().map(|p| p.position);
    let position = position
        .or(state.case().ct.as_ref().map(|ct| ct.position))
        .unwrap_or_default();
    let body = set.iter().find(|s| s.kind == StructureKind::External);
    let body = body.and_then(|s| results.surface(s.number));
    let shown = set.iter().zip(&scene.looks).filter(|(s, look)| {
        let machine = s.kind != StructureKind::Support || state.room.machine;
        look.visible && machine && (s.kind != StructureKind::External || state.room.body)
    });
    let structures = shown.filter_map(|(s, look)| {
        let surface = Arc::clone(results.surface(s.number)?);
        Some(RoomStructure {
            surface,
            colour: s.colour,
            kind: s.kind,
            selected: look.selected,
        })
    });
    let has_couch = set
        .iter()
        .any(|s| s.kind == StructureKind::Support && !s.contours.is_empty());
    let beams = state.plan().map(|p| p.beams.as_slice()).unwrap_or_default();
    let near = results
        .near_heads()
        .unwrap_or_default()
        .into_iter()
        .filter_map(|near| {
            let (index, beam) = beams
                .iter()
                .enumerate()
                .find(|(_, b)| b.number == near.beam)?;
            Some((index, beam.name.clone(), near))
        });
    RoomScene {
        scene,
        settings: &state.room,
        position,
        structures: structures.collect(),
        isodoses: state.isodose_surfaces(),
        isodose_status: results.isodose_status(),
        body_mm: body.and_then(|surface| surface.bounds_mm()),
        couch_top: body
            .filter(|_| !has_couch)
            .and_then(|surface| CouchTop::below(surface, position)),
        near: near.collect(),
    }
}

/// The switch between the two views, and the room's menu.
fn switch(ui: &mut Ui, rect: Rect, state: &State, commands: &mut Commands) {
    let place = Rect::from_min_max(
        pos2(rect.min.x + 0.4 * rect.width(), rect.min.y + 3.0),
        pos2(rect.max.x - 30.0, rect.min.y + 3.0 + SWITCH),
    );
    if place.width() < 60.0 {
        return;
    }
    let mut room = state.room.clone();
    let across = Layout::right_to_left(Align::Center);
    ui.scope_builder(UiBuilder::new().max_rect(place).layout(across), |ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        ui.selectable_value(&mut room.shown, true, "Room").on_hover_text(
            "The patient on the couch in three dimensions: drag to orbit, right drag to pan, wheel to zoom; \
             drag the gantry head to turn the gantry",
        );
        ui.selectable_value(&mut room.shown, false, "BEV").on_hover_text("The beam's-eye view");
        if state.room.shown {
            lasting_menu(ui, egui::Button::new("Display"), |ui| menu(ui, state, &mut room))
                .0
                .on_hover_text("What the room shows");
        }
    });
    if room != state.room {
        commands.push(Command::Room(room));
    }
}

fn menu(ui: &mut Ui, state: &State, room: &mut Room) {
    ui.checkbox(&mut room.body, "Body surface");
    ui.checkbox(&mut room.solid, "Solid organs")
        .on_hover_text("Else organs are see-through; targets are solid");
    ui.checkbox(&mut room.machine, "Gantry head and couch")
        .on_hover_text("The head, and a couch top that no structure shows, have assumed sizes");
    ui.separator();
    ui.weak("Isodose surfaces");
    if state.reference().is_none() {
        ui.weak("The dose has no 100 %: set a prescription");
        return;
    }
    for level in &state.dose_display.levels {
        let mut drawn = room.draws_isodose(level.percent);
        let words = format!("Surface of {} %", level.percent);
        if ui.checkbox(&mut drawn, words).changed() {
            room.set_isodose(level.percent, drawn);
        }
    }
}
