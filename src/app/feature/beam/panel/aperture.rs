//! The aperture of a beam: fitted to a structure, shielded, leaves by number.

use crate::command::{Command, Commands, gesture};
use crate::feature::beam::command::ApertureAction;
use crate::feature::beam::state::Aperture;
use crate::kit::{REFUSED, field, fields, number, refuses, section, theme};
use crate::state::State;
use analysis::{AperturePart, JawRule, LeafEdge, REACH_MM, aperture_faults, with_leaves};
use case::{Beam, Edit, MlcAxis, Plan};
use egui::{Button, CollapsingHeader, ComboBox, Label, RichText, ScrollArea, Ui};
use geometry::Margin;
use physics::Leaves;

const MOST_MARGIN_MM: f64 = 50.0;
/// Faults said at once.
const FAULTS: usize = 3;

/// Shows the aperture of a beam that may be changed.
pub fn show(
    ui: &mut Ui,
    state: &State,
    plan: &Plan,
    index: usize,
    beam: &Beam,
    commands: &mut Commands,
) {
    section(ui, "Fit aperture");
    misfit(ui, state, beam, commands);
    let mut next = state.aperture.clone();
    let refused = refuses(ui, |ui| settings(ui, state, &mut next));
    if next != state.aperture {
        commands.push(Command::Aperture(ApertureAction::Set(next)));
    }
    let why = refused
        .then(|| REFUSED.to_owned())
        .or_else(|| why_not(state));
    buttons(ui, why, plan, index, beam, commands);
    leaves(ui, state, plan, index, beam, commands);
    for fault in aperture_faults(beam, FAULTS) {
        ui.colored_label(theme::palette(ui).error, fault);
    }
}

/// Says that the aperture no longer fits, with the button that fits it again.
fn misfit(ui: &mut Ui, state: &State, beam: &Beam, commands: &mut Commands) {
    let Some((fit, why)) = state.misfit(beam) else {
        return;
    };
    let name = state
        .case()
        .structures
        .by_number(fit.structure)
        .map_or("its structure", |s| s.name.as_str());
    let text = format!("The aperture no longer fits {name}: {why} since.");
    ui.add(
        Label::new(
            RichText::new(text)
                .small()
                .color(theme::palette(ui).warning),
        )
        .wrap(),
    );
    refit(ui, state, commands);
}

/// The button that fits all apertures again that no longer fit.
pub fn refit(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let count = state.misfits().len();
    let beams = if count == 1 {
        "1 beam".to_owned()
    } else {
        format!("{count} beams")
    };
    let hint = "Each to the structure and with the margin that it was fitted with. Follow, at Fit aperture, does it by itself";
    if ui
        .small_button(format!("Refit {beams}"))
        .on_hover_text(hint)
        .clicked()
    {
        commands.push(Command::Aperture(ApertureAction::Refit));
    }
}

fn settings(ui: &mut Ui, state: &State, next: &mut Aperture) {
    fields(ui, "fit", |ui| {
        field(ui, "Structure", |ui| {
            let target = state
                .fitted_structure()
                .filter(|_| next.structure.is_none());
            let of_target =
                target.map_or("no target".to_owned(), |s| format!("{} (target)", s.name));
            let set = &state.case().structures;
            let chosen = next
                .structure
                .and_then(|n| set.by_number(n))
                .map(|s| s.name.clone());
            let combo = ComboBox::from_id_salt("fit structure").width(150.0);
            let combo = combo
                .selected_text(chosen.unwrap_or_else(|| of_target.clone()))
                .truncate();
            let response = combo.show_ui(ui, |ui| {
                ui.selectable_value(&mut next.structure, None, "the plan's target");
                for structure in &set.structures {
                    ui.selectable_value(
                        &mut next.structure,
                        Some(structure.number),
                        &structure.name,
                    );
                }
            });
            response.response.accessible_name("Structure to fit to");
        });
        field(ui, "Margin", |ui| {
            let margin = &mut next.how.margin;
            if next.per_side {
                ui.weak("by side");
            } else {
                let mut mm = margin.x_mm[0];
                let field = number("Fit margin", &mut mm, " mm").range(0.0..=MOST_MARGIN_MM);
                if field.show(ui).changed() {
                    *margin = Margin::uniform(mm);
                }
            }
            let switch = ui.checkbox(&mut next.per_side, "per side").on_hover_text(
                "X1, X2, Y1 and Y2 have margins of their own, in the frame of the collimator",
            );
            if switch.changed() && !next.per_side {
                *margin = Margin::uniform(margin.x_mm[0]);
            }
        });
        if next.per_side {
            let Margin { x_mm, y_mm } = &mut next.how.margin;
            for (axis, pair) in [("X", x_mm), ("Y", y_mm)] {
                field(ui, &format!("{axis}1, {axis}2"), |ui| {
                    for (side, mm) in pair.iter_mut().enumerate() {
                        let name = format!("Fit margin {axis}{}", side + 1);
                        number(&name, mm, " mm")
                            .range(0.0..=MOST_MARGIN_MM)
                            .show(ui);
                    }
                });
            }
        }
        field(ui, "Leaf edge", |ui| {
            for (edge, word, hint) in [
                (
                    LeafEdge::Outside,
                    "outside",
                    "The leaf's whole end stays outside the outline",
                ),
                (
                    LeafEdge::Middle,
                    "middle",
                    "The middle of the leaf's end meets the outline",
                ),
                (
                    LeafEdge::Inside,
                    "inside",
                    "The leaf's end covers the outline up to its innermost point",
                ),
            ] {
                ui.selectable_value(&mut next.how.edge, edge, word)
                    .on_hover_text(hint);
            }
        });
        field(ui, "Jaws to", |ui| {
            ui.selectable_value(&mut next.how.jaws, JawRule::Outline, "outline");
            ui.selectable_value(&mut next.how.jaws, JawRule::Leaves, "leaves")
                .on_hover_text("The rectangle round the open leaf pairs");
        });
        field(ui, "", |ui| {
            let hint = "Fitted apertures of the plan are fitted again in the same step whenever gantry, isocentre or target move; \
                        those changed by hand stay, and arcs wait for Refit";
            ui.checkbox(&mut next.follows, "Follow").on_hover_text(hint);
        });
    });
}

/// Why no aperture can be set to the chosen structure.
fn why_not(state: &State) -> Option<String> {
    match state.fitted_structure() {
        None => Some("The case has no target: choose a structure.".to_owned()),
        Some(s) if s.contours.is_empty() => {
            Some(format!("{} has no contours: draw it first.", s.name))
        }
        Some(_) => None,
    }
}

/// `why`: why nothing can be fitted.
fn buttons(
    ui: &mut Ui,
    why: Option<String>,
    plan: &Plan,
    index: usize,
    beam: &Beam,
    commands: &mut Commands,
) {
    let points = beam.control_points.len();
    let extent = if points > 1 {
        format!(", at all {points} control points")
    } else {
        String::new()
    };
    ui.horizontal_wrapped(|ui| {
        let hint = format!("Jaws and leaves round the structure with the margin{extent}");
        button(ui, "Fit", why.clone(), &hint, ApertureAction::Fit(Some(index)), commands);
        if plan.beams.len() > 1 {
            let hint = "Jaws and leaves of every beam round the structure";
            button(ui, "Fit all beams", why.clone(), hint, ApertureAction::Fit(None), commands);
        }
        let hint = format!(
            "Closes leaves over the structure with the margin, from the side that loses less{extent}"
        );
        let why =
            why.or_else(|| beam.mlc.is_none().then(|| "The beam has no leaves: add an MLC.".to_owned()));
        button(ui, "Shield", why, &hint, ApertureAction::Shield(Some(index)), commands);
    });
}

/// A button for an action on apertures; `why` disables it.
fn button(
    ui: &mut Ui,
    word: &str,
    why: Option<String>,
    hint: &str,
    action: ApertureAction,
    commands: &mut Commands,
) {
    let response = ui.add_enabled(why.is_none(), Button::new(word));
    let response = response
        .on_disabled_hover_text(why.unwrap_or_default())
        .on_hover_text(hint);
    if response.clicked() {
        commands.push(Command::Aperture(action));
    }
}

fn leaves(
    ui: &mut Ui,
    state: &State,
    plan: &Plan,
    index: usize,
    beam: &Beam,
    commands: &mut Commands,
) {
    let Some(mlc) = &beam.mlc else {
        let machine = plan.machine_of(beam);
        let machine_leaves = state
            .results
            .machine(machine)
            .and_then(|m| m.leaves.as_ref());
        ui.horizontal(|ui| {
            ui.add_enabled_ui(machine_leaves.is_some(), |ui| {
                let menu = ui.menu_button("Add MLC", |ui| {
                    let Some(machine_leaves) = machine_leaves else { return };
                    let others = Leaves::shipped().into_iter().filter(|l| l.name != machine_leaves.name);
                    for leaves in [machine_leaves.clone()].into_iter().chain(others) {
                        let mark = if leaves.name == machine_leaves.name { " (the machine's)" } else { "" };
                        if ui
                            .button(format!("{}{mark}", leaves.name))
                            .on_hover_text(&leaves.description)
                            .clicked()
                        {
                            let value = with_leaves(beam, leaves.to_case());
                            commands.edit(Edit::SetBeam { plan: state.plan, beam: index, value });
                        }
                    }
                });
                let why = format!(
                    "The machine {machine} has no leaves: no dose is computed of a beam with an MLC on it."
                );
                menu.response.on_disabled_hover_text(why);
            });
            ui.weak("jaws alone");
        });
        return;
    };
    ui.horizontal(|ui| {
        let mut brush = state.aperture.brush;
        let hint = "A drag across the leaves in the beam's-eye view sets their tips to the pointer; also with Shift held";
        if ui.toggle_value(&mut brush, "Brush leaves").on_hover_text(hint).changed() {
            let next = Aperture { brush, ..state.aperture.clone() };
            commands.push(Command::Aperture(ApertureAction::Set(next)));
        }
        if ui.button("Remove MLC").clicked() {
            let mut value = Beam { mlc: None, ..beam.clone() };
            value.control_points.iter_mut().for_each(|p| p.leaves_mm.clear());
            commands.edit(Edit::SetBeam { plan: state.plan, beam: index, value });
        }
    });
    let axis = if mlc.axis == MlcAxis::X { "X" } else { "Y" };
    CollapsingHeader::new(RichText::new("Leaf positions").small())
        .id_salt("leaf positions")
        .show(ui, |ui| {
            let Some(point) = beam.control_points.get(state.shown_point(beam)) else {
                return;
            };
            let row = ui.spacing().interact_size.y;
            let table = ScrollArea::vertical()
                .max_height(220.0)
                .id_salt("leaf table");
            table.show_rows(ui, row, point.leaves_mm.len(), |ui, rows| {
                for pair in rows {
                    let Some(side) = mlc.boundaries_mm.get(pair..pair + 2) else {
                        continue;
                    };
                    ui.horizontal(|ui| {
                        ui.add_sized(
                            [96.0, row],
                            Label::new(
                                RichText::new(format!(
                                    "{}  {:.1} to {:.1}",
                                    pair + 1,
                                    side[0],
                                    side[1]
                                ))
                                .weak()
                                .small(),
                            ),
                        );
                        for bank in 0..2 {
                            let tips = point.leaves_mm[pair];
                            let mut mm = tips[bank];
                            let range = if bank == 0 {
                                -REACH_MM..=tips[1].max(-REACH_MM)
                            } else {
                                tips[0].min(REACH_MM)..=REACH_MM
                            };
                            let name = format!("Leaf {} {axis}{}", pair + 1, bank + 1);
                            let response =
                                number(&name, &mut mm, "").speed(0.5).range(range).show(ui);
                            if response.changed() {
                                let part = AperturePart::Leaf { pair, bank };
                                let gesture = gesture(&response);
                                let action = ApertureAction::Move {
                                    beam: index,
                                    part,
                                    to_mm: mm,
                                    gesture,
                                };
                                commands.push(Command::Aperture(action));
                            }
                        }
                    });
                }
            });
        });
}
