//! Bolus on the body and couch below it.

use crate::command::{Command, Commands};
use crate::feature::structures::state::{ContouringAction, Destination};
use crate::kit::{REFUSED, field, fields, number, refuses, section};
use crate::state::{State, roi};
use analysis::body_of;
use analysis::contouring::{BEYOND_FIELD_MM, BolusOver, EntranceField, Operation};
use case::{Beam, Structure, StructureKind, StructureSet};
use egui::{Button, ComboBox, Ui};

/// Entries of the user, kept by the window.
#[derive(Clone, Copy)]
struct Draft {
    thickness_mm: f64,
    over: Over,
    within_mm: f64,
    below_mm: f64,
}

/// Surface under a bolus: the body, or a beam or a structure by number.
#[derive(Clone, Copy, PartialEq)]
enum Over {
    Body,
    Beam(u32),
    Structure(u32),
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            thickness_mm: 5.0,
            over: Over::Body,
            within_mm: 30.0,
            below_mm: 0.0,
        }
    }
}

impl Draft {
    fn id() -> egui::Id {
        egui::Id::unique("bolus and couch")
    }

    fn load(ui: &Ui) -> Self {
        ui.data(|d| d.get_temp(Self::id())).unwrap_or_default()
    }

    fn keep(self, ui: &Ui) {
        ui.data_mut(|d| d.insert_temp(Self::id(), self));
    }
}

/// The tools of a body.
pub fn of_body(ui: &mut Ui, state: &State, structure: &Structure, commands: &mut Commands) {
    let is_body =
        body_of(&state.case().structures).is_some_and(|body| body.number == structure.number);
    if !is_body || state.case().ct.is_none() {
        return;
    }
    section(ui, "Bolus and couch");
    let mut draft = Draft::load(ui);
    fields(ui, "bolus", |ui| {
        let mut refused = false;
        field(ui, "Bolus", |ui| {
            refused = refuses(ui, |ui| thickness(ui, &mut draft))
        });
        field(ui, "Over", |ui| over(ui, state, &mut draft));
        if let Over::Structure(_) = draft.over {
            field(ui, "Within", |ui| {
                refused |= refuses(ui, |ui| {
                    number("Bolus within", &mut draft.within_mm, " mm of it")
                        .range(0.0..=100.0)
                        .show(ui);
                });
            });
        }
        field(ui, "", |ui| {
            let what = bolus_over(state, structure, draft);
            let button = ui.add_enabled(what.is_some() && !refused, Button::new("Create bolus"));
            let why = if refused {
                REFUSED
            } else {
                "This beam has no open field, or is gone"
            };
            let button = button.on_disabled_hover_text(why);
            if button
                .on_hover_text("A structure of type BOLUS, of water")
                .clicked()
                && let Some(over) = what
            {
                create(structure, draft, over, commands);
            }
        });
        field(ui, "Couch", |ui| {
            let refused = refuses(ui, |ui| {
                number("Couch below the body", &mut draft.below_mm, " mm below")
                    .range(0.0..=500.0)
                    .show(ui);
            });
            let button = ui.add_enabled(!refused, Button::new("Insert couch"));
            if button
                .on_hover_text(COUCH_HINT)
                .on_disabled_hover_text(REFUSED)
                .clicked()
            {
                commands.push(Command::AddCouch(draft.below_mm));
            }
        });
    });
    draft.keep(ui);
}

const COUCH_HINT: &str = "A flat top below the body, shell of carbon fibre and core of foam as structures of type SUPPORT: \
                          530 mm x 50 mm, shell 2 mm of 1.6 g/cm³, core 0.075 g/cm³. These numbers are assumed";

/// One step from the menu of new structures, with the numbers that were entered last.
pub fn in_menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let draft = Draft::load(ui);
    let body = body_of(&state.case().structures);
    let no_body = "There is no drawn body: Body from CT makes one";
    ui.add_enabled_ui(body.is_some(), |ui| {
        let hint = format!(
            "{} mm of water all over the body; less of it in the body's inspector",
            draft.thickness_mm
        );
        let bolus = ui
            .button("Bolus on the body")
            .on_hover_text(hint)
            .on_disabled_hover_text(no_body);
        if bolus.clicked()
            && let Some(body) = body
        {
            create(body, draft, BolusOver::Body, commands);
            ui.close();
        }
        let couch = ui
            .button("Couch below the body")
            .on_hover_text(COUCH_HINT)
            .on_disabled_hover_text(no_body);
        if couch.clicked() {
            commands.push(Command::AddCouch(draft.below_mm));
            ui.close();
        }
    });
}

/// A bolus where a beam enters.
pub fn under_field(ui: &mut Ui, state: &State, index: usize, beam: &Beam, commands: &mut Commands) {
    let Some(body) = body_of(&state.case().structures).filter(|_| state.case().ct.is_some()) else {
        return;
    };
    section(ui, "Bolus");
    let mut draft = Draft::load(ui);
    ui.horizontal(|ui| {
        let refused = refuses(ui, |ui| thickness(ui, &mut draft));
        let over = field_of(state, body, beam);
        let button = ui.add_enabled(over.is_some() && !refused, Button::new("Bolus under this field"));
        let button = button.on_disabled_hover_text(if refused { REFUSED } else { "The jaws are closed" });
        let hint = format!(
            "Water on the body where this beam enters, {BEYOND_FIELD_MM:.0} mm beyond the jaws of its first control point; it \
             lies on for all beams until it is taken off for some"
        );
        if button.on_hover_text(hint).clicked()
            && let Some(over) = over
        {
            create(body, draft, over, commands);
        }
    });
    super::bolus_beams::of_beam(ui, state, index, beam, commands);
    draft.keep(ui);
}

fn thickness(ui: &mut Ui, draft: &mut Draft) {
    number("Bolus thickness", &mut draft.thickness_mm, " mm")
        .range(0.5..=50.0)
        .show(ui);
}

fn over_name(beams: &[Beam], set: &StructureSet, over: Over) -> String {
    match over {
        Over::Body => "the whole body".to_owned(),
        Over::Beam(number) => {
            let beam = beams.iter().find(|b| b.number == number);
            beam.map_or("a beam that is gone".to_owned(), |b| {
                format!("the field of {}", b.name)
            })
        }
        Over::Structure(number) => set
            .by_number(number)
            .map_or("a structure that is gone".to_owned(), |s| {
                format!("near {}", s.name)
            }),
    }
}

fn over(ui: &mut Ui, state: &State, draft: &mut Draft) {
    let beams = state.plan().map_or(&[][..], |plan| &plan.beams[..]);
    let set = &state.case().structures;
    let combo = ComboBox::from_id_salt("bolus over")
        .selected_text(over_name(beams, set, draft.over))
        .width(170.0);
    let response = combo.show_ui(ui, |ui| {
        let fields = beams
            .iter()
            .filter(|b| !b.setup)
            .map(|b| Over::Beam(b.number));
        let inside = set.structures.iter().filter(|s| {
            !s.contours.is_empty()
                && s.kind != StructureKind::External
                && !s.kind.is_beside_patient()
        });
        let near = inside.map(|s| Over::Structure(s.number));
        for choice in std::iter::once(Over::Body).chain(fields).chain(near) {
            ui.selectable_value(&mut draft.over, choice, over_name(beams, set, choice));
        }
    });
    response
        .response
        .accessible_name("Bolus over")
        .on_hover_text("The part of the body that the bolus lies on");
}

fn bolus_over(state: &State, body: &Structure, draft: Draft) -> Option<BolusOver> {
    match draft.over {
        Over::Body => Some(BolusOver::Body),
        Over::Beam(number) => field_of(
            state,
            body,
            state.plan()?.beams.iter().find(|b| b.number == number)?,
        ),
        Over::Structure(number) => {
            state.case().structures.by_number(number)?;
            Some(BolusOver::Structure {
                number,
                within_mm: draft.within_mm,
            })
        }
    }
}

fn field_of(state: &State, body: &Structure, beam: &Beam) -> Option<BolusOver> {
    let plan = state.plan()?;
    let sad_mm = state.results.sad_mm(plan.machine_of(beam));
    let middle_mm = roi::middle_mm(body)?;
    EntranceField::new(beam, plan.position, sad_mm, middle_mm).map(BolusOver::Field)
}

fn create(body: &Structure, draft: Draft, over: BolusOver, commands: &mut Commands) {
    let operation = Operation::Bolus {
        thickness_mm: draft.thickness_mm,
        over,
    };
    let into = Destination::New {
        name: "Bolus".to_owned(),
        kind: StructureKind::Bolus,
    };
    commands.push(Command::Contouring(ContouringAction {
        structure: body.number,
        operation,
        into,
    }));
}
