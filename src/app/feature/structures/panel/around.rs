//! Structures that every plan needs, derived from its targets by one click, and structures of a template.

use crate::command::{Command, Commands};
use crate::feature::draw::command::DrawAction;
use crate::feature::structures::state::{ContouringAction, Destination};
use crate::state::State;
use crate::state::files::FileAction;
use analysis::body_of;
use analysis::contouring::{Operation, drawn_of, lungs};
use case::{StructureKind, StructureSet};
use egui::{Button, Ui};
use files::StructureTemplate;

/// Inner and outer side of a ring, mm from the target: outside of the fall-off that no plan can avoid.
pub const RING_MM: [f64; 2] = [5.0, 20.0];

/// Targets that rings are made round and that lungs lose: the first type that the case has.
const ROUND: [StructureKind; 3] = StructureKind::TARGETS;
const WITHOUT: [StructureKind; 3] = [StructureKind::Ctv, StructureKind::Gtv, StructureKind::Ptv];

/// The first of these types that a structure with contours has.
fn drawn_kind(set: &StructureSet, kinds: [StructureKind; 3]) -> Option<StructureKind> {
    kinds
        .into_iter()
        .find(|kind| !drawn_of(set, *kind).is_empty())
}

/// The body that rings end at, if it has contours.
pub fn body_with_contours(set: &StructureSet) -> Option<u32> {
    body_of(set)
        .filter(|body| !body.contours.is_empty())
        .map(|body| body.number)
}

/// Entries of the menu of new structures.
pub fn in_menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let set = &state.case().structures;
    let [from, to] = RING_MM;
    let round = drawn_kind(set, ROUND);
    let hint = format!(
        "What lies {from} to {to} mm away from all targets of the highest type, inside the body"
    );
    let ring = ui
        .add_enabled(round.is_some(), Button::new("Ring round targets"))
        .on_hover_text(hint);
    if ring
        .on_disabled_hover_text("No target (PTV, CTV or GTV) has contours")
        .clicked()
        && let Some(kind) = round
    {
        let operation = Operation::Ring {
            mm: RING_MM,
            round_all: Some(kind),
            inside: body_with_contours(set),
        };
        let name = format!("{}_ring_{from}-{to}mm", kind.name());
        let first = drawn_of(set, kind).first().copied();
        make(
            first,
            operation,
            (set.free_name(&name), StructureKind::Other),
            commands,
        );
        ui.close();
    }
    let without = lungs_without_targets(set);
    let minus = drawn_kind(set, WITHOUT).unwrap_or(StructureKind::Ctv);
    let button = ui.add_enabled(
        without.is_ok(),
        Button::new(format!("Lungs minus {}", minus.name())),
    );
    if button
        .on_hover_text(LUNGS_HINT)
        .on_disabled_hover_text(without.as_ref().err().copied().unwrap_or(""))
        .clicked()
        && let Ok(without) = without
    {
        without.make(set.free_name(&without.name), commands);
        ui.close();
    }
    ui.menu_button("From template", |ui| templates(ui, set, commands));
}

/// Words of the two buttons for lungs on what they make.
pub const LUNGS_HINT: &str =
    "Both lungs as one structure without the targets, as limits of lungs are meant";

/// Both lungs without the targets of a case, to be made.
pub struct LungsWithoutTargets {
    lung: u32,
    operation: Operation,
    /// As TG-263 writes it, like `Lungs-CTV`.
    pub name: String,
}

impl LungsWithoutTargets {
    pub fn make(&self, name: String, commands: &mut Commands) {
        make(
            Some(self.lung),
            self.operation,
            (name, StructureKind::Organ),
            commands,
        );
    }
}

/// # Errors
/// Why they cannot be made.
pub fn lungs_without_targets(set: &StructureSet) -> Result<LungsWithoutTargets, &'static str> {
    let (lung, with) = lungs(set)
        .ok_or("No structures with contours are called lungs: Lungs, or Lung_L and Lung_R")?;
    let minus = drawn_kind(set, WITHOUT).ok_or("No target (CTV, GTV or PTV) has contours")?;
    let name = format!("Lungs-{}", minus.name());
    Ok(LungsWithoutTargets {
        lung,
        operation: Operation::Without { with, minus },
        name,
    })
}

fn make(
    source: Option<u32>,
    operation: Operation,
    new: (String, StructureKind),
    commands: &mut Commands,
) {
    let Some(structure) = source else { return };
    let (name, kind) = new;
    let into = Destination::New { name, kind };
    commands.push(Command::Contouring(ContouringAction {
        structure,
        operation,
        into,
    }));
}

fn templates(ui: &mut Ui, set: &StructureSet, commands: &mut Commands) {
    for word in StructureTemplate::shipped() {
        // Shipped texts are small, and a test reads each of them.
        let Ok(template) = StructureTemplate::resolve(word) else {
            continue;
        };
        let names: Vec<&str> = template
            .structures
            .iter()
            .map(|s| s.name.as_str())
            .collect();
        let hint = format!("{}\n{}", names.join(", "), template.source);
        if ui.button(&template.name).on_hover_text(hint).clicked() {
            commands.push(Command::Draw(DrawAction::Template(word)));
            ui.close();
        }
    }
    ui.separator();
    let hint = "Adds the structures of a TOML file that the case has not";
    if ui.button("Load template…").on_hover_text(hint).clicked() {
        commands.push(Command::Pick(FileAction::OpenStructures));
        ui.close();
    }
    let save = ui.add_enabled(!set.structures.is_empty(), Button::new("Save as template…"));
    if save
        .on_hover_text("Names, types and colours of this case")
        .clicked()
    {
        commands.push(Command::Pick(FileAction::SaveStructures));
        ui.close();
    }
}

/// Structures on show that tools for slices may change together: not the body, couches and boluses.
pub fn shown_together(state: &State) -> Vec<u32> {
    let fixed = [
        StructureKind::External,
        StructureKind::Support,
        StructureKind::Bolus,
    ];
    let structures = state.case().structures.structures.iter();
    structures
        .filter(|s| {
            !fixed.contains(&s.kind) && !s.contours.is_empty() && !state.hidden.contains(&s.number)
        })
        .map(|s| s.number)
        .collect()
}
