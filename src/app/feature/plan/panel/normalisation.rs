//! Normalisation of a plan: to a volume of a structure, a point or the maximum.

use crate::command::{Command, Commands, gesture};
use crate::kit::{field, fields, number, section, theme};
use crate::state::State;
use crate::state::results::CaseResults;
use case::{Case, Edit, Normalisation, NormalisedAt, NormalisedDose, Plan, StructureKind};
use egui::{ComboBox, Ui};
use glam::DVec3;
use std::mem::discriminant;

/// Metrics of a target that plans are normalised to, percent of its volume.
const USUAL_PERCENT: [f64; 4] = [99.0, 98.0, 95.0, 50.0];

/// The dose of a new normalisation without a prescription, Gy.
const FIRST_GY: f64 = 60.0;

pub fn show(ui: &mut Ui, state: &State, plan: &Plan, commands: &mut Commands) {
    section(ui, "Normalisation");
    let mut next = plan.normalisation.clone();
    let mut dragged = None;
    fields(ui, "normalisation", |ui| {
        field(ui, "Scale", |ui| place(ui, state, plan, &mut next));
        let Some(next) = &mut next else { return };
        match &mut next.at {
            NormalisedAt::Volume {
                structure,
                number: structure_number,
                volume_percent,
            } => {
                field(ui, "Structure", |ui| {
                    structures(ui, state.case(), structure, structure_number)
                });
                field(ui, "Volume", |ui| {
                    let r = number("Normalised volume", volume_percent, " %")
                        .range(0.1..=100.0)
                        .show(ui);
                    dragged = dragged.or(gesture(&r));
                });
                field(ui, "", |ui| {
                    for percent in USUAL_PERCENT {
                        let hint = format!("{percent} % of the structure get at least the dose");
                        if ui
                            .small_button(format!("D{percent}"))
                            .on_hover_text(hint)
                            .clicked()
                        {
                            *volume_percent = percent;
                        }
                    }
                });
            }
            NormalisedAt::Point(mm) => point(ui, state, plan, mm, &mut dragged),
            NormalisedAt::Maximum => {}
        }
        field(ui, "Dose", |ui| dose(ui, &mut next.dose, &mut dragged));
        field(ui, "", |ui| unit(ui, plan, &mut next.dose));
    });
    if let Some(normalisation) = &next {
        outcome(ui, &state.results, plan, normalisation);
    }
    if next != plan.normalisation {
        let value = Plan {
            normalisation: next,
            ..plan.clone()
        };
        commands.push(Command::Edit {
            edit: Edit::SetPlan {
                plan: state.plan,
                value,
            }
            .into(),
            gesture: dragged,
        });
    }
}

/// The part of the dose that the plan is scaled to.
fn place(ui: &mut Ui, state: &State, plan: &Plan, next: &mut Option<Normalisation>) {
    let current = next.as_ref().map(|n| n.at.clone());
    let combo = ComboBox::from_id_salt("normalise at")
        .selected_text(place_name(current.as_ref()))
        .width(190.0);
    let response = combo.show_ui(ui, |ui| {
        let point = NormalisedAt::Point(first_isocentre_mm(plan).unwrap_or(state.crosshair_mm));
        for place in [
            None,
            first_volume(state),
            Some(point),
            Some(NormalisedAt::Maximum),
        ] {
            let chosen = place.as_ref().map(discriminant) == current.as_ref().map(discriminant);
            let label = ui.selectable_label(chosen, place_name(place.as_ref()));
            if label.clicked() && !chosen {
                let first_dose = match plan.prescription_gy {
                    Some(_) => NormalisedDose::Percent(100.0),
                    None => NormalisedDose::Gy(FIRST_GY),
                };
                let dose = next.as_ref().map_or(first_dose, |n| n.dose);
                *next = place.map(|place| Normalisation { at: place, dose });
            }
        }
    });
    let hint =
        "All monitor units of the plan are scaled so that this part of its dose is the dose below";
    response
        .response
        .accessible_name("Normalise the plan")
        .on_hover_text(hint);
}

fn place_name(place: Option<&NormalisedAt>) -> &'static str {
    match place {
        None => "not: monitor units as typed",
        Some(NormalisedAt::Volume { .. }) => "to a volume of a structure",
        Some(NormalisedAt::Point(_)) => "to a point",
        Some(NormalisedAt::Maximum) => "to the maximum",
    }
}

/// The target, else any structure with contours; without one a name that is missing, which the plan then says.
fn first_volume(state: &State) -> Option<NormalisedAt> {
    let drawn = state
        .case()
        .structures
        .structures
        .iter()
        .filter(|s| !s.contours.is_empty());
    let first = drawn.min_by_key(|s| match s.kind {
        StructureKind::Ptv => 0,
        StructureKind::Ctv => 1,
        StructureKind::Gtv => 2,
        _ => 3,
    });
    let (name, number) = first.map_or(("PTV", None), |s| (s.name.as_str(), Some(s.number)));
    Some(Normalisation::of_target(name, number).at)
}

/// The isocentre of the first beam for treatment.
fn first_isocentre_mm(plan: &Plan) -> Option<DVec3> {
    plan.beams
        .iter()
        .find(|b| b.is_switched_on())
        .map(|b| b.isocentre_mm)
}

fn structures(ui: &mut Ui, case: &Case, name: &mut String, number: &mut Option<u32>) {
    let combo = ComboBox::from_id_salt("normalise to")
        .selected_text(&*name)
        .width(150.0);
    let response = combo.show_ui(ui, |ui| {
        for s in &case.structures.structures {
            let drawn = !s.contours.is_empty();
            let label = egui::Button::selectable(*number == Some(s.number), &s.name);
            let response = ui
                .add_enabled(drawn, label)
                .on_disabled_hover_text("It has no contours");
            if response.clicked() {
                (*name, *number) = (s.name.clone(), Some(s.number));
            }
        }
    });
    response
        .response
        .accessible_name("Structure of the normalisation");
}

fn point(ui: &mut Ui, state: &State, plan: &Plan, mm: &mut DVec3, dragged: &mut Option<u64>) {
    field(ui, "Point", |ui| {
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let r = number(&format!("Normalisation point {name}"), &mut mm[axis], "").show(ui);
            r.clone()
                .on_hover_text(format!("{name} of the point, patient LPS, mm"));
            *dragged = dragged.or(gesture(&r));
        }
    });
    field(ui, "", |ui| {
        let button = ui
            .small_button("Crosshair")
            .accessible_name("Normalise at the crosshair");
        if button
            .on_hover_text("The point goes to the crosshair")
            .clicked()
        {
            *mm = state.crosshair_mm;
        }
        let isocentre = first_isocentre_mm(plan);
        let button = ui.add_enabled(isocentre.is_some(), egui::Button::new("Isocentre").small());
        let button = button.accessible_name("Normalise at the isocentre");
        let button = button.on_disabled_hover_text("No beam is delivered");
        if button
            .on_hover_text("The point goes to the isocentre of the first beam")
            .clicked()
        {
            *mm = isocentre.unwrap_or(*mm);
        }
    });
}

/// The dose in Gy or in percent of the prescription.
fn dose(ui: &mut Ui, dose: &mut NormalisedDose, dragged: &mut Option<u64>) {
    let r = match dose {
        NormalisedDose::Gy(gy) => number("Normalised dose", gy, " Gy")
            .decimals(2)
            .speed(0.1)
            .range(0.1..=200.0)
            .show(ui),
        NormalisedDose::Percent(percent) => number("Normalised dose", percent, " %")
            .decimals(1)
            .range(1.0..=1000.0)
            .show(ui),
    };
    *dragged = dragged.or(gesture(&r));
}

/// The unit of the dose; a change keeps the dose where there is a prescription.
fn unit(ui: &mut Ui, plan: &Plan, dose: &mut NormalisedDose) {
    let is_gy = matches!(dose, NormalisedDose::Gy(_));
    let prescribed = plan.prescription_gy.filter(|gy| *gy > 0.0);
    if ui
        .selectable_label(is_gy, "Gy")
        .on_hover_text("Dose of the whole course")
        .clicked()
        && let NormalisedDose::Percent(percent) = *dose
    {
        *dose = NormalisedDose::Gy(prescribed.map_or(FIRST_GY, |gy| gy * percent / 100.0));
    }
    let hint = "Percent of the prescription";
    if ui
        .selectable_label(!is_gy, "% of prescription")
        .on_hover_text(hint)
        .clicked()
        && let NormalisedDose::Gy(gy) = *dose
    {
        *dose =
            NormalisedDose::Percent(prescribed.map_or(100.0, |prescribed| 100.0 * gy / prescribed));
    }
}

/// The normalisation in words with its factor, or that the dose is not normalised.
fn outcome(ui: &mut Ui, results: &CaseResults, plan: &Plan, normalisation: &Normalisation) {
    match normalisation.wanted_gy(plan.prescription_gy) {
        Err(why) => {
            ui.colored_label(theme::palette(ui).error, format!("Not normalised: {why}."));
        }
        Ok(gy) => {
            let text = match results.normalisation_factor() {
                Some(factor) if !factor.is_provisional() => {
                    format!(
                        "{} = {gy:.2} Gy: monitor units × {}",
                        normalisation.at,
                        factor.worded(4, "", "")
                    )
                }
                Some(_) => format!("{} = {gy:.2} Gy: not computed yet", normalisation.at),
                None if plan.beams.is_empty() => {
                    format!("{} = {gy:.2} Gy, once the plan has beams", normalisation.at)
                }
                None => format!(
                    "{} = {gy:.2} Gy: not met by the dose on show",
                    normalisation.at
                ),
            };
            ui.add(egui::Label::new(egui::RichText::new(text).small().weak()).wrap());
        }
    }
}
