//! The reference tree of the case's folder: objects that are open, that are missing, and that may be opened in their
//! place.

use super::patients::who;
use crate::command::{Command, Commands};
use crate::feature::open::state::Folder;
use crate::kit::{section, theme};
use crate::state::State;
use crate::state::results::Shown;
use case::Case;
use dicom::{Choice, Entry, Leaf, Object, StudyBranch};
use egui::{Label, RichText, ScrollArea, Ui};
use std::sync::Arc;

const WIDTH: f32 = 640.0;

/// Shows the box when it is open.
pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let Some(folder) = state.folder().filter(|_| state.references_open) else {
        return;
    };
    let mut is_open = true;
    let height = (ctx.content_rect().height() - 160.0).max(160.0);
    egui::Window::new("References")
        .open(&mut is_open)
        .resizable(false)
        .default_size([WIDTH, height])
        .show(ctx, |ui| {
            ui.set_width(WIDTH);
            ui.weak(&folder.catalogue.place);
            let area = ScrollArea::vertical()
                .auto_shrink([false, true])
                .max_height(height);
            area.show(ui, |ui| {
                for branch in &folder.tree.patients {
                    let who = who(&branch.patient.name, &branch.patient.id);
                    section(ui, &format!("Patient {}", theme::spelled(ui.ctx(), &who)));
                    branch
                        .studies
                        .iter()
                        .for_each(|study| study_ui(ui, state, folder, study, commands));
                }
            });
        });
    if !is_open {
        commands.push(Command::ShowReferences(false));
    }
}

fn uid_or_none(uid: &str) -> &str {
    if uid.is_empty() { "not stated" } else { uid }
}

fn study_ui(
    ui: &mut Ui,
    state: &State,
    folder: &Folder,
    study: &StudyBranch,
    commands: &mut Commands,
) {
    ui.weak(RichText::new(format!("Study {}", uid_or_none(&study.uid))).small());
    for frame in &study.frames {
        let text = format!("Frame of reference {}", uid_or_none(&frame.uid));
        ui.indent(("frame", &study.uid, &frame.uid), |ui| {
            ui.weak(RichText::new(text).small());
            frame
                .objects
                .iter()
                .for_each(|leaf| leaf_ui(ui, state, folder, leaf, commands));
        });
    }
}

fn leaf_ui(ui: &mut Ui, state: &State, folder: &Folder, leaf: &Leaf, commands: &mut Commands) {
    let step = if leaf.under.is_some() { 36.0 } else { 14.0 };
    ui.horizontal(|ui| {
        ui.add_space(step);
        let is_open = is_open(state, folder, leaf);
        let name = RichText::new(&leaf.name).strong();
        ui.add(Label::new(if is_open {
            name.color(theme::palette(ui).good)
        } else {
            name
        }));
        if is_open {
            ui.colored_label(theme::palette(ui).good, "open")
                .on_hover_text("Part of the case on show");
        }
        let label = if leaf.label.is_empty() {
            String::new()
        } else {
            format!("'{}'  ", leaf.label)
        };
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if let Some((word, command)) = offered(state, folder, leaf, is_open) {
                let button = ui.small_button(word);
                if button
                    .accessible_name(format!("{word} {}", leaf.name))
                    .clicked()
                {
                    commands.push(command);
                }
            }
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                ui.add(Label::new(format!("{label}{}", leaf.file)).truncate());
            });
        });
    });
    for partner in &leaf.partners {
        ui.horizontal(|ui| {
            ui.add_space(step + 14.0);
            let colour = if partner.missing {
                theme::palette(ui).warning
            } else {
                theme::palette(ui).weak
            };
            let lead = if partner.missing { "missing:" } else { "names" };
            let text = RichText::new(format!("{lead} {}", partner.text))
                .small()
                .color(colour);
            ui.add(Label::new(text).truncate());
        });
    }
}

/// Whether an object is part of the case on show.
fn is_open(state: &State, folder: &Folder, leaf: &Leaf) -> bool {
    let sources = &state.case().sources;
    let path = leaf.path.as_ref();
    match leaf.object {
        // The phases of a 4D CT share a UID and differ in their names.
        Object::Series(n) => shown_series(state.case(), folder) == Some(n),
        Object::StructureSet(_) => {
            sources.structures.as_ref().map(|s| &s.path) == path && path.is_some()
        }
        Object::Plan(_) => sources.plans.iter().any(|s| Some(&s.path) == path),
        Object::Dose(_) => sources.doses.iter().any(|s| Some(&s.path) == path),
        Object::Other => false,
    }
}

/// Word of an object's button, and its command.
fn offered(
    state: &State,
    folder: &Folder,
    leaf: &Leaf,
    is_open: bool,
) -> Option<(&'static str, Command)> {
    let case = state.case();
    match leaf.object {
        Object::Series(n) if !is_open => {
            let series = folder.catalogue.series.get(n)?;
            (series.modality == "CT" && !series.multiframe).then(|| {
                open(Choice {
                    series: Some(n),
                    other_patients: folder.choice.other_patients,
                    ..Choice::default()
                })
            })
        }
        Object::StructureSet(n) if !is_open => {
            let entry = folder.catalogue.structure_sets.get(n)?;
            Some(open(Choice {
                structure_set: Some(n),
                ..choice_with_images_of(state, folder, entry)
            }))
        }
        Object::Plan(n) if !is_open => {
            let entry = folder.catalogue.plans.get(n)?;
            Some(open(Choice {
                plan: Some(n),
                ..choice_with_images_of(state, folder, entry)
            }))
        }
        // One of several plans on show.
        Object::Plan(_) => {
            let source = case
                .sources
                .plans
                .iter()
                .find(|s| Some(&s.path) == leaf.path.as_ref())?;
            let n = case
                .plans
                .iter()
                .position(|plan| plan.uid.is_some() && plan.uid == source.read.uid)?;
            (n != state.plan).then_some(("Show", Command::ShowPlan(n)))
        }
        Object::Dose(_) if is_open => {
            let source = case
                .sources
                .doses
                .iter()
                .find(|s| Some(&s.path) == leaf.path.as_ref())?;
            let n = case
                .doses
                .iter()
                .position(|dose| Arc::ptr_eq(dose, &source.read))?;
            let shown = Shown::Imported(n);
            (state.results.shown != shown).then_some(("Show", Command::ShowDose(shown)))
        }
        Object::Series(_) | Object::StructureSet(_) | Object::Dose(_) | Object::Other => None,
    }
}

fn open(choice: Choice) -> (&'static str, Command) {
    ("Open", Command::OpenChoice(choice))
}

/// The choice on show, with the images of an object; choices made for other images are dropped.
fn choice_with_images_of(state: &State, folder: &Folder, entry: &Entry) -> Choice {
    let current = folder.choice;
    let series = series_for(state, folder, entry);
    let is_same = series
        == current
            .series
            .or_else(|| shown_series(state.case(), folder));
    if is_same {
        Choice { series, ..current }
    } else {
        Choice {
            series,
            other_patients: current.other_patients,
            ..Choice::default()
        }
    }
}

/// The images on show, by index in the catalogue.
fn shown_series(case: &Case, folder: &Folder) -> Option<usize> {
    let ct = case.ct.as_ref()?;
    folder.catalogue.series.iter().position(|s| {
        s.uid == ct.series_uid && (s.description == ct.description || ct.description.is_empty())
    })
}

/// The images to open with an object: the images on show, of whichever patient, unless the object is of another frame of
/// reference that has images.
fn series_for(state: &State, folder: &Folder, entry: &Entry) -> Option<usize> {
    let (series, shown) = (&folder.catalogue.series, shown_series(state.case(), folder));
    let frame = &entry.frame_of_reference_uid;
    if frame.is_empty() || shown.is_some_and(|n| series[n].frame_of_reference_uid == *frame) {
        return shown;
    }
    let of_frame = series
        .iter()
        .position(|s| s.modality == "CT" && !s.multiframe && s.frame_of_reference_uid == *frame);
    of_frame.or(shown)
}
