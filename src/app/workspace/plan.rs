//! The Plan workspace: four linked views, each maximisable.

use crate::command::{Command, Commands};
use crate::feature::beam::command::ApertureAction;
use crate::feature::draw::view::DrawingLayer;
use crate::feature::measure::command::MeasureAction;
use crate::feature::plan::command::PlanAction;
use crate::feature::start;
use crate::kit::theme;
use crate::render::Gpu;
use crate::state::display::WindowLevel;
use crate::state::{Selection, State, ViewKind, Workspace};
use crate::view::{BeamLayer, DoseLayer, Scene, StructureLook, ViewEvent, ViewState, drag};
use egui::{Rect, Ui, UiBuilder, pos2, vec2};

/// Points between two views.
const GAP: f32 = 2.0;

pub fn show(
    ui: &mut Ui,
    state: &State,
    gpu: &Gpu,
    views: &mut [ViewState; 4],
    commands: &mut Commands,
) {
    let available = ui.available_rect_before_wrap();
    if !state.is_loaded() {
        start::panel::show(ui, state, commands);
        return;
    }
    theme::dark_style(ui);
    ui.painter()
        .rect_filled(available, 0.0, theme::IMAGE.ground);
    let scene = scene(state, gpu);
    let mut hovered = false;
    let one = views.iter().any(|v| v.maximised);
    let picks = state.picks_isocentre_of();
    for (index, view) in views.iter_mut().enumerate() {
        if one && !view.maximised {
            continue;
        }
        let rect = if one {
            available
        } else {
            quarter(available, index)
        };
        let mut events = Vec::new();
        let place = UiBuilder::new().max_rect(rect);
        let response = ui.scope_builder(place, |ui| {
            ui.set_clip_rect(rect);
            super::room::show(ui, state, view, &scene, &mut events, commands)
        });
        let response = response.inner;
        hovered |= response.hovered() || response.dragged();
        if picks.is_some() && response.hovered() {
            ui.ctx().set_cursor_icon(egui::CursorIcon::Crosshair);
        }
        let under = events.iter().rev().find_map(|event| match event {
            ViewEvent::Hover(mm) => Some(*mm),
            _ => None,
        });
        if let (Some(beam), Some(mm), true) = (picks, under, response.clicked()) {
            commands.push(Command::Plans(PlanAction::Isocentre {
                beam,
                mm,
                gesture: None,
            }));
        }
        let kind = view.kind;
        if let Some(held) = drag::held(ui, &response) {
            commands.follow(&response, move |pointer| {
                Some(command(kind, held.event(pointer.at)?))
            });
        }
        events.retain(|event| !(commands.has_followed(&response) && drag::is_of_held(event)));
        commands.extend(events.into_iter().map(|event| command(kind, event)));
    }
    if !hovered && state.pointer_mm.is_some() {
        commands.push(Command::Hover(None));
    }
}

/// The command of what a user did in a view.
fn command(view: ViewKind, event: ViewEvent) -> Command {
    match event {
        ViewEvent::CrosshairMoved(mm) => Command::CentreOn(mm),
        ViewEvent::WindowLevel(width, level) => Command::Window(WindowLevel::new(width, level)),
        ViewEvent::Hover(mm) => Command::Hover(Some(mm)),
        ViewEvent::GantryDragged { beam, gantry_deg } => Command::Gantry {
            beam,
            gantry_deg,
            gesture: Some(0x6761_6e74),
        },
        ViewEvent::ShapeDragged { structure, shape } => Command::Reshape {
            structure,
            shape,
            gesture: Some(0x7368_6170),
        },
        ViewEvent::Draw(action) => Command::Draw(action),
        ViewEvent::PartDragged { beam, part, to_mm } => Command::Aperture(ApertureAction::Move {
            beam,
            part,
            to_mm,
            gesture: Some(0x7061_7274),
        }),
        ViewEvent::LeavesBrushed {
            beam,
            bank,
            from_mm,
            to_mm,
        } => Command::Aperture(ApertureAction::Brush {
            beam,
            bank,
            from_mm,
            to_mm,
        }),
        ViewEvent::FluenceLimited {
            beam,
            from_mm,
            to_mm,
        } => Command::Aperture(ApertureAction::Limit {
            beam,
            from_mm,
            to_mm,
        }),
        ViewEvent::Measured(number, item) => Command::Measure(MeasureAction::Set(number, item)),
        ViewEvent::MeasureReleased => Command::Measure(MeasureAction::Release),
        ViewEvent::ToggleMaximise => Command::ToggleMaximise(view),
    }
}

/// The rectangle of a view: two rows of two.
fn quarter(available: Rect, index: usize) -> Rect {
    let size = vec2(
        0.5 * (available.width() - GAP),
        0.5 * (available.height() - GAP),
    );
    let column = (index % 2) as f32;
    let row = (index / 2) as f32;
    let min = pos2(
        available.left() + column * (size.x + GAP),
        available.top() + row * (size.y + GAP),
    );
    Rect::from_min_size(min, size)
}

/// Current content of the views: all of it shared, so cheap.
pub(super) fn scene(state: &State, gpu: &Gpu) -> Scene {
    let case = state.case();
    let selected_structure = match state.selection {
        Selection::Structure(number) => Some(number),
        _ => None,
    };
    let looks = case
        .structures
        .structures
        .iter()
        .map(|s| StructureLook {
            visible: !state.hidden.contains(&s.number),
            selected: selected_structure == Some(s.number),
            colour: s.colour,
            current: state.results.volume_cm3(s.number).is_some(),
            mask: state.results.mask(s.number).cloned(),
        })
        .collect();
    let beams = match state.plan() {
        Some(plan) => plan
            .beams
            .iter()
            .enumerate()
            .filter_map(|(index, beam)| {
                let selected = state.selection == Selection::Beam(beam.number);
                BeamLayer::new(
                    index,
                    beam,
                    plan.position,
                    state.results.sad_mm(plan.machine_of(beam)),
                    selected,
                )
                .map(|layer| layer.at_point(beam, state.shown_point(beam)))
                .map(|layer| {
                    layer.with_fluence(
                        beam,
                        state.beam_on_view(beam),
                        state.status_of_beam_on_view(beam),
                    )
                })
            })
            .collect(),
        None => Vec::new(),
    };
    let dose = state.results.shown_dose().map(|dose| DoseLayer {
        dose: dose.clone(),
        reference: state.reference(),
        display: state.dose_display.clone(),
        certainty: state.results.certainty().cloned(),
        trouble: state.results.shown_failure().map(str::to_owned),
    });
    Scene {
        ct: case.ct.as_ref().map(|ct| ct.hu.clone()),
        window: state.window,
        dose,
        structures: case.structures.clone(),
        looks,
        beams,
        show_beams: state.show_beams,
        brush: state.aperture.brush,
        limit_brush: Some(state.aperture.limits).filter(|brush| brush.on),
        shape: state
            .selected_structure()
            .and_then(|(_, s)| state.shapes.shape_of(s).map(|shape| (s.number, shape))),
        drawing: drawing(state),
        measures: state.measures.clone(),
        crosshair_mm: state.crosshair_mm,
        ..Scene::new(gpu.clone())
    }
}

/// The tool in the hand, and the structure that it draws.
fn drawing(state: &State) -> Option<DrawingLayer> {
    let plans = state.workspace == Workspace::Plan;
    let (tool, (_, structure)) = state
        .drawing
        .tool
        .filter(|_| plans)
        .zip(state.drawn_structure())?;
    Some(DrawingLayer {
        tool,
        erase: state.drawing.erase,
        diameter_mm: state.drawing.diameter_mm,
        name: structure.name.clone(),
        number: structure.number,
        colour: structure.colour,
        outline: state.drawing.outline.clone(),
        pointer_mm: state.pointer_mm,
    })
}
