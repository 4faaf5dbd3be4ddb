//! The case as a tree: series, structures, plan, beams.

use crate::command::{Command, Commands, NewShape};
use crate::feature::draw::command::DrawAction;
use crate::feature::{plan, structures};
use crate::kit::{row, section, theme};
use crate::state::{Selection, State};
use case::{DoseStatus, StructureKind};
use dicom::Choice;
use egui::{Checkbox, Sense, Ui, vec2};

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            images(ui, state, commands);
            structures(ui, state, commands);
            plan::panel::list::show(ui, state, commands);
            doses(ui, state, commands);
            ui.add_space(8.0);
        });
}

fn select(response: &egui::Response, what: Selection, commands: &mut Commands) {
    if response.clicked() {
        commands.push(Command::Select(what));
    }
}

fn images(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Images");
    if state.folder().is_some() {
        let hint =
            "What belongs to what in the folder, what is missing, and what else can be opened";
        if ui.small_button("References…").on_hover_text(hint).clicked() {
            commands.push(Command::ShowReferences(true));
        }
    }
    let Some(ct) = &state.case().ct else {
        ui.weak("No CT");
        return;
    };
    let [nx, ny, nz] = ct.hu.grid().size();
    let name = if ct.description.is_empty() {
        "CT series"
    } else {
        &ct.description
    };
    let detail = format!("{nx} × {ny} × {nz}");
    let response = row(name, &detail, state.selection == Selection::Ct).show(ui, 0.0, |_| {});
    select(&response, Selection::Ct, commands);
    let series = state.origin.iter().flat_map(|o| &o.series);
    // The phases of a 4D CT share a UID and differ in their names.
    let others = series.filter(|s| {
        s.uid != ct.series_uid || (s.name != ct.description && !ct.description.is_empty())
    });
    for other in others {
        let response = row(&other.name, &other.detail, false)
            .weak(true)
            .show(ui, 0.0, |_| {});
        if !other.is_ct {
            response.on_hover_text("Listed only: the plan workspace shows CT.");
        } else if response
            .on_hover_text("Opens this series instead")
            .clicked()
        {
            let other_patients = state
                .folder()
                .is_some_and(|folder| folder.choice.other_patients);
            let series = Some(other.index);
            commands.push(Command::OpenChoice(Choice {
                series,
                other_patients,
                ..Choice::default()
            }));
        }
    }
    let warnings = ct
        .remarks
        .iter()
        .filter(|r| r.severity == case::Severity::Warning)
        .count();
    if warnings > 0 {
        let plural = if warnings == 1 { "" } else { "s" };
        let text = format!("{warnings} warning{plural} about this series");
        let link = ui.add(egui::Link::new(
            egui::RichText::new(text)
                .small()
                .color(theme::palette(ui).warning),
        ));
        select(&link, Selection::Ct, commands);
    }
}

fn structures(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let set = &state.case().structures.structures;
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let title = format!("Structures ({})", set.len());
        ui.label(
            egui::RichText::new(title)
                .strong()
                .size(12.0)
                .color(theme::palette(ui).weak),
        );
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            new_structure_menu(ui, state, commands);
            if !set.is_empty() {
                let any_hidden = set.iter().any(|s| state.hidden.contains(&s.number));
                let word = if any_hidden { "Show all" } else { "Hide all" };
                if ui.small_button(word).clicked() {
                    commands.push(Command::ShowAllStructures(any_hidden));
                }
            }
        });
    });
    // EXTERNAL, PTV, CTV, GTV, then the rest (assets/CONVENTIONS.md, Display); the order of the file within each.
    let mut order: Vec<&case::Structure> = set.iter().collect();
    order.sort_by_key(|s| s.kind.min(StructureKind::Organ));
    for structure in order {
        let shown = !state.hidden.contains(&structure.number);
        let volume = state.results.volume_cm3(structure.number);
        let detail = match volume {
            Some(cm3) => format_cm3(cm3),
            None if structure.contours.is_empty() => "empty".to_owned(),
            None if state.results.mask_failure(structure.number).is_some() => {
                "no volume".to_owned()
            }
            None => match state.results.former_volume_cm3(structure.number) {
                Some(cm3) => format!("({})", format_cm3(cm3)),
                None => "…".to_owned(),
            },
        };
        let detail = match structure.counted_density() {
            Some(density_override) => format!("{} · {detail}", density_override.density),
            None => detail,
        };
        let selected = state.selection == Selection::Structure(structure.number);
        let name = theme::spelled(ui.ctx(), &structure.name);
        let response = row(&name, &detail, selected)
            .weak(!shown)
            .show(ui, 38.0, |ui| {
                let mut on = shown;
                let switch = ui.add(Checkbox::without_text(&mut on));
                let name = format!("Show {}", structure.name);
                if switch.accessible_name(name).changed() {
                    commands.push(Command::ShowStructure {
                        number: structure.number,
                        shown: on,
                    });
                }
                let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
                theme::swatch(ui, rect, structure.colour);
            });
        let response = match state.results.mask_failure(structure.number) {
            Some(why) => response.on_hover_text(why),
            None => response,
        };
        select(&response, Selection::Structure(structure.number), commands);
    }
}

/// Types of a structure that is drawn by hand, in the order of their use.
const NEW_KINDS: [StructureKind; 8] = [
    StructureKind::Ptv,
    StructureKind::Ctv,
    StructureKind::Gtv,
    StructureKind::Organ,
    StructureKind::External,
    StructureKind::Support,
    StructureKind::Bolus,
    StructureKind::Other,
];

fn new_structure_menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let has_ct = state.case().ct.is_some();
    ui.add_enabled_ui(has_ct, |ui| {
        let menu = ui.menu_button("New", |ui| {
            for kind in NEW_KINDS {
                let hint =
                    "Without contours, to be drawn with the brush; its name is in the inspector";
                if ui.button(kind.name()).on_hover_text(hint).clicked() {
                    commands.push(Command::Draw(DrawAction::New(kind)));
                    ui.close();
                }
            }
            ui.separator();
            structures::panel::around::in_menu(ui, state, commands);
            ui.separator();
            if ui.button("Sphere").clicked() {
                commands.push(Command::AddShape(NewShape::Sphere));
                ui.close();
            }
            if ui.button("Box").clicked() {
                commands.push(Command::AddShape(NewShape::Box));
                ui.close();
            }
            if ui.button("Body from CT").clicked() {
                commands.push(Command::AddBody);
                ui.close();
            }
            structures::panel::outside::in_menu(ui, commands);
            structures::panel::beside::in_menu(ui, state, commands);
        });
        menu.response.accessible_name("New structure");
    });
}

fn doses(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.add_space(4.0);
    section(ui, "Dose");
    let choices = state.results.choices(state.case(), state.plan());
    if choices.is_empty() {
        ui.weak("No dose");
    }
    for (what, label, status) in choices {
        let displayed = state.results.shown == what;
        let detail = status.map_or("not computed", DoseStatus::word);
        let response = row(
            &label,
            detail,
            displayed && state.selection == Selection::DoseDisplay,
        )
        .show(ui, 12.0, |ui| {
            ui.add_space(1.0);
            let (rect, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
            if displayed {
                ui.painter()
                    .circle_filled(rect.center(), 3.5, theme::palette(ui).accent);
            } else {
                ui.painter().circle_stroke(
                    rect.center(),
                    3.0,
                    egui::Stroke::new(1.0, theme::palette(ui).weak),
                );
            }
        });
        if response.clicked() {
            commands.push(Command::ShowDose(what));
            commands.push(Command::Select(Selection::DoseDisplay));
        }
    }
    structures::panel::outside::offer(ui, state, commands);
}

/// A volume with digits that suit its size.
pub fn format_cm3(cm3: f64) -> String {
    if cm3 >= 100.0 {
        format!("{cm3:.0} cm³")
    } else if cm3 >= 1.0 {
        format!("{cm3:.1} cm³")
    } else {
        format!("{cm3:.2} cm³")
    }
}
