//! Calculations that make or change a structure: margins, rings, booleans, crops, HU, slices, clean-up.

use crate::command::{Command, Commands};
use crate::feature::structures::panel::around;
use crate::feature::structures::state::{ContouringAction, Destination};
use crate::kit::{REFUSED, field, fields, number, refuses, section};
use crate::state::{State, ViewKind};
use analysis::contouring::{Cleared, MOST_MARGIN_MM, Operation, SIDES, drawn_of};
use case::{Structure, StructureKind, StructureSet};
use egui::{Button, CollapsingHeader, ComboBox, Label, RichText, Ui};
use geometry::Grid;
use geometry::polygons::Boolean;

/// Sides of the patient at the smaller and the greater coordinates of each axis (LPS).
const SIDES_OF_AXIS: [[&str; 2]; 3] = [
    ["right", "left"],
    ["anterior", "posterior"],
    ["inferior", "superior"],
];

/// Entries of the user, kept by the window for each structure.
#[derive(Clone)]
struct Draft {
    grow: bool,
    mm: f64,
    /// By side, where the sides differ.
    sides_mm: Option<[f64; 6]>,
    how: Boolean,
    other: Option<u32>,
    inside: bool,
    crop_by: Option<u32>,
    distance_mm: f64,
    hu: [f64; 2],
    smooth_mm: f64,
    below_cm2: f64,
    ring_mm: [f64; 2],
    /// Round all structures of the type of this one.
    ring_round_all: bool,
    /// The view whose slices are cleared.
    plane: ViewKind,
    /// Tools for slices and clean-up change all structures on show.
    all_shown: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            grow: true,
            mm: 5.0,
            sides_mm: None,
            how: Boolean::Union,
            other: None,
            inside: true,
            crop_by: None,
            distance_mm: 0.0,
            hu: [-200.0, 200.0],
            smooth_mm: 2.0,
            below_cm2: 1.0,
            ring_mm: around::RING_MM,
            ring_round_all: false,
            plane: ViewKind::Axial,
            all_shown: false,
        }
    }
}

/// The tools for a structure.
struct Tools<'a> {
    state: &'a State,
    set: &'a StructureSet,
    structure: &'a Structure,
    commands: &'a mut Commands,
    /// Buttons that change this structure change all on show.
    all_shown: bool,
}

pub fn show(ui: &mut Ui, state: &State, structure: &Structure, commands: &mut Commands) {
    section(ui, "Contouring");
    if state.case().ct.is_none() {
        ui.weak("Contours are calculated on the planes of a CT, and there is none.");
        return;
    }
    if structure.contours.is_empty() {
        ui.weak("Margins and the like need a structure with contours.");
        return;
    }
    let id = egui::Id::unique(("contouring", structure.number));
    let mut draft: Draft = ui.data_mut(|d| d.get_temp(id)).unwrap_or_default();
    let set = &state.case().structures;
    let mut tools = Tools {
        state,
        set,
        structure,
        commands,
        all_shown: false,
    };
    CollapsingHeader::new("Margin")
        .default_open(true)
        .show(ui, |ui| tools.margin(ui, &mut draft));
    CollapsingHeader::new("Ring").show(ui, |ui| tools.ring(ui, &mut draft));
    CollapsingHeader::new("Boolean").show(ui, |ui| tools.boolean(ui, &mut draft));
    CollapsingHeader::new("Crop").show(ui, |ui| tools.crop(ui, &mut draft));
    CollapsingHeader::new("Threshold, region growing").show(ui, |ui| tools.by_hu(ui, &mut draft));
    CollapsingHeader::new("Slices").show(ui, |ui| tools.slices(ui, &mut draft));
    CollapsingHeader::new("Smooth, clean up").show(ui, |ui| tools.clean_up(ui, &mut draft));
    ui.data_mut(|d| d.insert_temp(id, draft));
}

impl<'a> Tools<'a> {
    fn margin(&mut self, ui: &mut Ui, draft: &mut Draft) {
        let refused = refuses(ui, |ui| margin_fields(ui, draft));
        let mm = draft.sides_mm.unwrap_or([draft.mm; 6]);
        let (name, kind) = self.margin_name(draft.grow, mm);
        let nothing = mm
            .iter()
            .all(|mm| *mm == 0.0)
            .then_some("A margin of 0 mm changes nothing");
        let why_not = refused.then_some(REFUSED).or(nothing);
        self.outcome(
            ui,
            Operation::Margin {
                grow: draft.grow,
                mm,
            },
            Some((name, kind)),
            why_not,
        );
    }

    /// The name and type that a planner would give: PTV of a GTV or CTV, PRV of an organ.
    fn margin_name(&self, grow: bool, mm: [f64; 6]) -> (String, StructureKind) {
        let Structure { name, kind, .. } = self.structure;
        let size = if mm.iter().all(|m| *m == mm[0]) {
            format!("{}mm", mm[0])
        } else {
            "margin".to_owned()
        };
        let target = matches!(kind, StructureKind::Gtv | StructureKind::Ctv);
        match (grow, kind) {
            (true, _) if target => {
                let word = if *kind == StructureKind::Gtv {
                    "GTV"
                } else {
                    "CTV"
                };
                let named = if name.contains(word) {
                    name.replace(word, "PTV")
                } else {
                    "PTV".to_owned()
                };
                let named = if self.set.by_name(&named).is_some() {
                    format!("{named}_{size}")
                } else {
                    named
                };
                (named, StructureKind::Ptv)
            }
            (true, StructureKind::Organ) => (format!("{name}_PRV_{size}"), StructureKind::Organ),
            (true, _) => (format!("{name}_{size}"), made_kind(*kind)),
            (false, _) => (format!("{name}-{size}"), made_kind(*kind)),
        }
    }

    fn ring(&mut self, ui: &mut Ui, draft: &mut Draft) {
        let refused = refuses(ui, |ui| {
            ui.horizontal(|ui| {
                let range = 0.0..=MOST_MARGIN_MM;
                number("Ring from mm", &mut draft.ring_mm[0], " mm")
                    .range(range.clone())
                    .show(ui);
                ui.label("to");
                number("Ring to mm", &mut draft.ring_mm[1], " mm")
                    .range(range)
                    .show(ui);
            });
        });
        let kind = self.structure.kind;
        let of_kind = drawn_of(self.set, kind).len();
        let many = of_kind > 1 && kind.is_target();
        if many {
            ui.checkbox(
                &mut draft.ring_round_all,
                format!("Round all {of_kind} of type {}", kind.name()),
            );
        }
        let round_all = (many && draft.ring_round_all).then_some(kind);
        let [from, to] = draft.ring_mm;
        let source = round_all.map_or(self.structure.name.as_str(), |kind| kind.name());
        let name = format!("{source}_ring_{from}-{to}mm");
        let inside =
            around::body_with_contours(self.set).filter(|body| *body != self.structure.number);
        let crossed = (from >= to).then_some("A ring must end further out than it begins");
        let why_not = refused.then_some(REFUSED).or(crossed);
        let operation = Operation::Ring {
            mm: draft.ring_mm,
            round_all,
            inside,
        };
        self.outcome(ui, operation, Some((name, StructureKind::Other)), why_not);
    }

    fn boolean(&mut self, ui: &mut Ui, draft: &mut Draft) {
        ui.horizontal_wrapped(|ui| {
            for (how, word, hint) in [
                (Boolean::Union, "Union", "What lies in either"),
                (
                    Boolean::Difference,
                    "Minus",
                    "This structure without the other",
                ),
                (Boolean::Intersection, "And", "What lies in both"),
                (Boolean::Xor, "Xor", "What lies in one of them alone"),
            ] {
                ui.selectable_value(&mut draft.how, how, word)
                    .on_hover_text(hint);
            }
        });
        let other = self.other(ui, "With", &mut draft.other, |_| true);
        let Some(other) = other else { return };
        let sign = match draft.how {
            Boolean::Union => "+",
            Boolean::Difference => "-",
            Boolean::Intersection => " and ",
            Boolean::Xor => " xor ",
        };
        let name = format!("{}{sign}{}", self.structure.name, other.name);
        let operation = Operation::Boolean {
            how: draft.how,
            other: other.number,
        };
        self.outcome(
            ui,
            operation,
            Some((name, made_kind(self.structure.kind))),
            None,
        );
    }

    fn crop(&mut self, ui: &mut Ui, draft: &mut Draft) {
        ui.horizontal(|ui| {
            ui.selectable_value(&mut draft.inside, true, "Keep inside");
            ui.selectable_value(&mut draft.inside, false, "Keep outside");
        });
        let other = self.other(ui, "Of", &mut draft.crop_by, |s| {
            s.kind == StructureKind::External
        });
        let Some(other) = other else { return };
        let refused = refuses(ui, |ui| {
            fields(ui, "crop distance", |ui| {
                field(ui, "At least", |ui| {
                    let range = 0.0..=MOST_MARGIN_MM;
                    number("Crop distance", &mut draft.distance_mm, " mm from it")
                        .range(range)
                        .show(ui);
                });
            });
        });
        let name = format!("{}_crop", self.structure.name);
        let operation = Operation::Crop {
            inside: draft.inside,
            other: other.number,
            distance_mm: draft.distance_mm,
        };
        let why_not = refused.then_some(REFUSED);
        self.outcome(ui, operation, Some((name, self.structure.kind)), why_not);
    }

    fn by_hu(&mut self, ui: &mut Ui, draft: &mut Draft) {
        let refused = refuses(ui, |ui| {
            fields(ui, "hu limits", |ui| {
                field(ui, "HU", |ui| {
                    number("Lowest HU", &mut draft.hu[0], "")
                        .decimals(0)
                        .speed(5.0)
                        .show(ui);
                    ui.label("to");
                    number("Highest HU", &mut draft.hu[1], "")
                        .decimals(0)
                        .speed(5.0)
                        .show(ui);
                });
            });
        });
        let hu = draft.hu.map(|v| v as f32);
        let crossed = (hu[0] >= hu[1]).then_some("The lower limit must be below the upper one");
        let why_not = refused.then_some(REFUSED).or(crossed);
        let [threshold, region] =
            ["HU", "region"].map(|suffix| format!("{}_{suffix}", self.structure.name));
        ui.weak("Threshold: all of this structure within the limits");
        let kind = StructureKind::Other;
        self.outcome(
            ui,
            Operation::Threshold { hu },
            Some((threshold, kind)),
            why_not,
        );
        ui.weak("Region growing: what hangs together with the crosshair");
        let grow = Operation::Grow {
            hu,
            from_mm: self.state.crosshair_mm,
        };
        self.outcome(ui, grow, Some((region, kind)), why_not);
    }

    /// Which structures a tool for slices or the clean-up changes.
    fn scope(&mut self, ui: &mut Ui, draft: &mut Draft) {
        let count = around::shown_together(self.state).len();
        if count < 2 {
            draft.all_shown = false;
            return;
        }
        let hint = "The tools here change all structures on show together, as one step; not the body, couches and boluses";
        ui.checkbox(&mut draft.all_shown, format!("All {count} shown"))
            .on_hover_text(hint);
        self.all_shown = draft.all_shown;
    }

    /// How many slices have contours, and how many between them are filled by those.
    fn filled(&self, ui: &mut Ui) {
        let Some(ct) = &self.state.case().ct else {
            return;
        };
        let (drawn, between) = drawn_and_filled(ct.hu.grid(), self.structure);
        let text = match between {
            0 => format!("{drawn} slices drawn, none left out between them"),
            between => format!(
                "{drawn} slices drawn; the {between} between them take the nearest contours"
            ),
        };
        ui.add(Label::new(RichText::new(text).small().weak()).wrap());
    }

    /// Clears the slice at the crosshair, or all on one side of it, in the planes of a view.
    fn clear(&mut self, ui: &mut Ui, draft: &mut Draft) {
        ui.horizontal(|ui| {
            for kind in [ViewKind::Axial, ViewKind::Sagittal, ViewKind::Coronal] {
                let button = Button::selectable(draft.plane == kind, kind.name());
                let button = ui.add(button).on_hover_text("The slices that are cleared");
                if button
                    .accessible_name(format!("Clear {} slices", kind.name()))
                    .clicked()
                {
                    draft.plane = kind;
                }
            }
        });
        let (axis, at_mm) = (draft.plane.normal_axis(), self.state.crosshair_mm);
        let [smaller, greater] = SIDES_OF_AXIS[axis];
        ui.horizontal_wrapped(|ui| {
            let hint = "Removes what lies on the slice at the crosshair";
            self.change(
                ui,
                "Clear slice",
                hint,
                Operation::Clear {
                    at_mm,
                    axis,
                    part: Cleared::Slice,
                },
                false,
            );
            for (word, up) in [(greater, true), (smaller, false)] {
                let operation = Operation::Clear {
                    at_mm,
                    axis,
                    part: Cleared::Beyond { greater: up },
                };
                let hint = format!("Removes all that lies {word} of the slice at the crosshair");
                self.change(ui, &format!("Delete {word}"), &hint, operation, false);
            }
        });
    }

    fn slices(&mut self, ui: &mut Ui, draft: &mut Draft) {
        self.filled(ui);
        self.scope(ui, draft);
        self.clear(ui, draft);
        let hint = "Fills the slices between drawn ones by their shapes";
        self.change(ui, "Interpolate", hint, Operation::Interpolate, false);
        let at_mm = self.state.crosshair_mm;
        let hint = "Copies the contours of the slice at the crosshair, replacing what is there";
        ui.horizontal(|ui| {
            let up = Operation::CopySlice {
                at_mm,
                superior: true,
            };
            self.change(ui, "Copy slice superior", hint, up, false);
            let down = Operation::CopySlice {
                at_mm,
                superior: false,
            };
            self.change(ui, "Copy slice inferior", hint, down, false);
        });
    }

    fn clean_up(&mut self, ui: &mut Ui, draft: &mut Draft) {
        self.scope(ui, draft);
        ui.horizontal(|ui| {
            let smooth_mm = &mut draft.smooth_mm;
            let refused = refuses(ui, |ui| {
                number("Smooth mm", smooth_mm, " mm")
                    .range(0.5..=20.0)
                    .show(ui);
            });
            let hint = "Rounds edges finer than this, in 3D";
            self.change(
                ui,
                "Smooth",
                hint,
                Operation::Smooth {
                    mm: draft.smooth_mm,
                },
                refused,
            );
        });
        ui.horizontal_wrapped(|ui| {
            let below_cm2 = &mut draft.below_cm2;
            let refused = refuses(ui, |ui| {
                number("Smaller than cm²", below_cm2, " cm²")
                    .range(0.01..=1000.0)
                    .decimals(2)
                    .show(ui);
            });
            let holes = Operation::RemoveHoles {
                below_cm2: *below_cm2,
            };
            self.change(
                ui,
                "Remove holes",
                "Fills holes smaller than this on a slice",
                holes,
                refused,
            );
            let parts = Operation::RemoveParts {
                below_cm2: *below_cm2,
            };
            self.change(
                ui,
                "Remove small parts",
                "Removes parts smaller than this on a slice",
                parts,
                refused,
            );
        });
    }

    /// Chooses another structure with contours; `preferred` first.
    fn other(
        &self,
        ui: &mut Ui,
        caption: &str,
        chosen: &mut Option<u32>,
        preferred: impl Fn(&Structure) -> bool,
    ) -> Option<&'a Structure> {
        let others = self.set.structures.iter();
        let others: Vec<&'a Structure> = others
            .filter(|s| s.number != self.structure.number && !s.contours.is_empty())
            .collect();
        let current = others.iter().find(|s| Some(s.number) == *chosen);
        let current = current
            .or_else(|| others.iter().find(|s| preferred(s)))
            .or(others.first());
        let Some(current) = current.copied() else {
            ui.weak("There is no other structure with contours.");
            return None;
        };
        let mut taken = current;
        fields(ui, caption, |ui| {
            field(ui, caption, |ui| {
                let combo = ComboBox::from_id_salt(caption)
                    .selected_text(&current.name)
                    .width(150.0);
                let response = combo.show_ui(ui, |ui| {
                    for &other in &others {
                        if ui
                            .selectable_label(other.number == current.number, &other.name)
                            .clicked()
                        {
                            *chosen = Some(other.number);
                            taken = other;
                        }
                    }
                });
                response
                    .response
                    .accessible_name(format!("{caption} structure"));
            });
        });
        Some(taken)
    }

    /// Buttons that create a new structure or change this one.
    fn outcome(
        &mut self,
        ui: &mut Ui,
        operation: Operation,
        new: Option<(String, StructureKind)>,
        why_not: Option<&str>,
    ) {
        ui.horizontal_wrapped(|ui| {
            if let Some((name, kind)) = new {
                let name = self.set.free_name(&name);
                let button = Button::new(format!("Create {name}"));
                let response = ui.add_enabled(why_not.is_none(), button);
                let response = match why_not {
                    Some(why) => response.on_disabled_hover_text(why),
                    None => response,
                };
                if response.clicked() {
                    self.push(operation, Destination::New { name, kind });
                }
            }
            let response = ui.add_enabled(why_not.is_none(), Button::new("Change this"));
            let response =
                response.on_hover_text(format!("Replaces the contours of {}", self.structure.name));
            let label = format!("{} changes this structure", operation.name());
            let response = match why_not {
                Some(why) => response.on_disabled_hover_text(why),
                None => response,
            };
            if response.accessible_name(label).clicked() {
                self.push(operation, Destination::Itself);
            }
        });
    }

    /// A button that changes this structure; `refused`: the number beside it was not taken.
    fn change(&mut self, ui: &mut Ui, word: &str, hint: &str, operation: Operation, refused: bool) {
        let button = ui.add_enabled(!refused, Button::new(word));
        if button
            .on_hover_text(hint)
            .on_disabled_hover_text(REFUSED)
            .clicked()
        {
            let into = match self.all_shown {
                true => Destination::Each(around::shown_together(self.state)),
                false => Destination::Itself,
            };
            self.push(operation, into);
        }
    }

    fn push(&mut self, operation: Operation, into: Destination) {
        let structure = self.structure.number;
        self.commands.push(Command::Contouring(ContouringAction {
            structure,
            operation,
            into,
        }));
    }
}

fn margin_fields(ui: &mut Ui, draft: &mut Draft) {
    ui.horizontal(|ui| {
        ui.selectable_value(&mut draft.grow, true, "Grow");
        ui.selectable_value(&mut draft.grow, false, "Shrink");
        let range = 0.0..=MOST_MARGIN_MM;
        if draft.sides_mm.is_none() {
            number("Margin mm", &mut draft.mm, " mm")
                .range(range)
                .show(ui);
        }
        let mut by_side = draft.sides_mm.is_some();
        if ui.checkbox(&mut by_side, "By side").changed() {
            draft.sides_mm = by_side.then_some([draft.mm; 6]);
        }
    });
    if let Some(sides) = &mut draft.sides_mm {
        fields(ui, "margins", |ui| {
            for (side, mm) in SIDES.into_iter().zip(sides.iter_mut()) {
                let range = 0.0..=MOST_MARGIN_MM;
                field(ui, side, |ui| number(side, mm, " mm").range(range).show(ui));
            }
        });
    }
}

/// Type of what is made of a structure: there is one body, and a part of a target is none.
fn made_kind(kind: StructureKind) -> StructureKind {
    match kind {
        StructureKind::External | StructureKind::Support | StructureKind::Bolus => {
            StructureKind::Other
        }
        other => other,
    }
}

/// How many slices of the CT a structure is drawn on, and how many slices between them lack its contour.
fn drawn_and_filled(grid: &Grid, structure: &Structure) -> (usize, usize) {
    let edges = grid.edges_mm(2);
    let first = structure
        .contours
        .iter()
        .filter_map(|c| c.points_mm.first());
    let slices = first.map(|p| {
        let z_mm = grid.local_from_patient(*p).z;
        edges.partition_point(|edge| *edge <= z_mm)
    });
    let mut drawn: Vec<usize> = slices.collect();
    drawn.sort_unstable();
    drawn.dedup();
    let span = drawn
        .last()
        .zip(drawn.first())
        .map_or(0, |(last, first)| last - first + 1);
    (drawn.len(), span - drawn.len())
}
