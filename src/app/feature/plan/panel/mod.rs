//! A plan: prescription, fractions, normalisation, and the settings of its dose calculation.

pub mod approval;
pub mod list;
pub mod normalisation;

use crate::command::{Command, Commands};
use crate::feature::commission::state::MachineFitAction;
use crate::feature::plan::command::PlanAction;
use crate::feature::{beam, check, ct, leaves};
use crate::kit::{
    choose_engine, field, fields, number, remarks, section, stated, status_with_caveats, theme,
    title,
};
use crate::state::State;
use crate::state::files::FileAction;
use crate::state::results::CaseResults;
use crate::state::results::{EndsAt, EngineChoice, Settings, machine_label};
use analysis::{BodyChoice, beams_left_out, body_of, computed_mu, why_left_out};
use case::{Case, DoseEngine, Edit, Plan, StructureSet};
use egui::{ComboBox, Ui};
use engine::dose::{DoseTo, Quality};
use engine::mc::ElectronCut;
use engine::{DeviceChoice, Measured, automatic_order, cuda, wgpu};

/// Reasons why plans among the files were refused.
pub fn refused_plans(ui: &mut Ui, case: &Case) {
    for why in &case.refused_plans {
        ui.colored_label(theme::palette(ui).warning, why);
    }
}

/// Densities in place of the CT's, bolus and couch, in the dose of the plan.
pub fn given_densities(ui: &mut Ui, state: &State) {
    for words in analysis::given_words(&state.case().structures, state.plan().map(|p| &**p)) {
        ui.add(egui::Label::new(egui::RichText::new(format!("Density: {words}")).small()).wrap());
    }
}

/// Shows the displayed plan.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(plan) = state.plan() else {
        ui.weak("No plan.");
        refused_plans(ui, state.case());
        return;
    };
    title(ui, "Plan", &plan.name);
    ui.horizontal(|ui| {
        ui.weak("Dose");
        match state.results.plan_status(plan) {
            Some(status) => {
                let reservations = state.results.plan_reservations(plan);
                status_with_caveats(ui, status, &reservations.caveats, &reservations.remarks);
            }
            None => {
                ui.weak("not computed");
            }
        }
        if let Some(certainty) = state.results.run_certainty() {
            ui.weak(format!(
                "{}, {}",
                certainty.percent_words(),
                certainty.histories_words()
            ));
        }
    });
    if let Some(why) = state.results.plan_failure() {
        ui.colored_label(theme::palette(ui).error, why);
    }
    for why in why_left_out(plan) {
        ui.colored_label(theme::palette(ui).warning, format!("Not computed: {why}"));
    }
    fields(ui, "plan", |ui| {
        field(ui, "Name", |ui| {
            let id = egui::Id::unique(("plan name", state.plan));
            if let Some(name) = beam::panel::arrange::name_field(ui, "Plan name", id, &plan.name) {
                set(state, plan, commands, |p| p.name = name);
            }
        });
    });
    let hint =
        "PDF of the plan: pictures, beams, apertures, DVHs, goals and the status of the dose";
    ui.horizontal(|ui| {
        if ui.button("Report…").on_hover_text(hint).clicked() {
            commands.push(Command::Pick(FileAction::SavePlanReport));
        }
        check::panel::button(ui, commands);
    });
    approval::show(ui, state, plan, commands);
    prescription(ui, state, plan, commands);
    normalisation::show(ui, state, plan, commands);
    leaves::panel::show(ui, state);
    computation(ui, state, commands);
    if !plan.remarks.is_empty() {
        section(ui, "About this plan");
        remarks(ui, "plan", &plan.remarks);
    }
}

fn set(state: &State, plan: &Plan, commands: &mut Commands, change: impl FnOnce(&mut Plan)) {
    let mut value = plan.clone();
    change(&mut value);
    commands.edit(Edit::SetPlan {
        plan: state.plan,
        value,
    });
}

fn prescription(ui: &mut Ui, state: &State, plan: &Plan, commands: &mut Commands) {
    section(ui, "Prescription");
    fields(ui, "prescription", |ui| {
        field(ui, "Prescribed", |ui| {
            let mut on = plan.prescription_gy.is_some();
            let switch = ui
                .checkbox(&mut on, "")
                .accessible_name("Has a prescription");
            if switch.changed() {
                set(state, plan, commands, |p| {
                    p.prescription_gy = on.then_some(60.0)
                });
            }
            if let Some(mut gy) = plan.prescription_gy {
                let response = number("Prescription", &mut gy, " Gy")
                    .speed(0.1)
                    .decimals(2)
                    .range(0.1..=200.0)
                    .show(ui);
                if response.changed() {
                    let value = Plan {
                        prescription_gy: Some(gy),
                        ..plan.clone()
                    };
                    commands.edit_with(
                        &response,
                        Edit::SetPlan {
                            plan: state.plan,
                            value,
                        },
                    );
                }
                if plan.prescription_gy.is_some_and(|gy| gy <= 0.0) {
                    ui.colored_label(theme::palette(ui).warning, "no dose: percent mean nothing");
                }
            } else {
                ui.weak("none");
            }
        });
        field(ui, "Fractions", |ui| {
            let mut fractions = f64::from(plan.fractions);
            let response = number("Fractions", &mut fractions, "")
                .speed(0.2)
                .decimals(0)
                .range(1.0..=100.0)
                .show(ui);
            if response.changed() {
                let value = Plan {
                    fractions: fractions.round() as u32,
                    ..plan.clone()
                };
                commands.edit_with(
                    &response,
                    Edit::SetPlan {
                        plan: state.plan,
                        value,
                    },
                );
            }
        });
        field(ui, "Machine", |ui| {
            let combo = ComboBox::from_id_salt("plan machine")
                .width(150.0)
                .truncate();
            let response = combo
                .selected_text(machine_label(&plan.machine))
                .show_ui(ui, |ui| {
                    for name in state.machine_names() {
                        if ui
                            .selectable_label(name == plan.machine, machine_label(&name))
                            .clicked()
                        {
                            set(state, plan, commands, |p| p.machine = name);
                        }
                    }
                });
            response
                .response
                .accessible_name("Machine of the plan")
                .on_hover_text(&plan.machine);
            let hint = "Fit a machine to measured data, or compare it with them";
            if ui
                .small_button("Fit…")
                .accessible_name("Fit a machine")
                .on_hover_text(hint)
                .clicked()
            {
                commands.push(Command::MachineFit(MachineFitAction::Open(true)));
            }
        });
        field(ui, "Monitor units", |ui| {
            ui.vertical(|ui| monitor_units(ui, state, plan))
        });
    });
}

/// Monitor units of the computed beams, with the normalisation of the displayed dose.
fn monitor_units(ui: &mut Ui, state: &State, plan: &Plan) {
    let mu = computed_mu(plan);
    match state
        .results
        .normalisation_factor()
        .filter(|_| plan.normalisation.is_some())
    {
        Some(factor) => {
            stated(ui, "", factor.times(mu), 1, " MU", " a fraction");
            ui.weak(format!(
                "= {mu:.1} × {}",
                factor.worded(4, "", " (normalisation)")
            ));
        }
        None if plan.normalisation.is_some() => {
            ui.label(format!("{mu:.1} MU a fraction before normalisation"));
        }
        None => {
            ui.label(format!("{mu:.1} MU a fraction"));
        }
    }
    if let Some(beams) = beams_left_out(plan) {
        ui.weak(format!("{beams}; {:.1} MU are planned", plan.mu()));
    }
}

/// Collapsed cone or Monte Carlo, and where a Monte Carlo run ends.
fn engine(ui: &mut Ui, state: &State, commands: &mut Commands) -> EngineChoice {
    let current = state.results.engine_of(state.plan);
    let mut next = current;
    fields(ui, "engine", |ui| {
        field(ui, "Engine", |ui| {
            choose_engine(ui, "Engine", 170.0, &mut next.engine);
        });
        if !next.engine.is_statistical() {
            return;
        }
        field(ui, "Until", |ui| {
            ui.selectable_value(&mut next.ends_at, EndsAt::Uncertainty, "uncertainty").on_hover_text(
                "Mean relative standard deviation of the voxels with more than half the greatest dose",
            );
            ui.selectable_value(&mut next.ends_at, EndsAt::Histories, "histories");
        });
        // Each new value restarts the run: it begins when the drag ends.
        field(ui, "", |ui| match next.ends_at {
            EndsAt::Uncertainty => {
                number("Target uncertainty", &mut next.uncertainty_percent, " %")
                    .speed(0.01)
                    .decimals(2)
                    .range(EngineChoice::UNCERTAINTY_PERCENT)
                    .show(ui)
            }
            EndsAt::Histories => number("Histories", &mut next.histories_million, " million")
                .speed(1.0)
                .decimals(2)
                .range(EngineChoice::HISTORIES_MILLION)
                .show(ui),
        });
    });
    if next.engine.is_statistical() {
        egui::CollapsingHeader::new(egui::RichText::new("More").small())
            .id_salt("more of engine")
            .show(ui, |ui| {
                fields(ui, "seed", |ui| {
                    if next.engine == DoseEngine::MonteCarlo {
                        choose_electron_cut(ui, &mut next.electron_cut);
                    }
                    field(ui, "Seed", |ui| {
                        let mut seed = next.seed as f64;
                        let field = number("Seed", &mut seed, "")
                            .speed(0.1)
                            .decimals(0)
                            .range(0.0..=4e9);
                        // A value from a file may have more digits than this field.
                        if field.show(ui).changed() {
                            next.seed = seed.round() as u64;
                        }
                    });
                });
                ui.weak(egui::RichText::new("Equal seeds give equal doses.").small());
            });
        let difference = ui
            .button("Difference to collapsed cone")
            .on_hover_text("Compares the plan with a copy of it by collapsed cone, which scales kernels of water by density");
        if difference.clicked() {
            commands.push(Command::Plans(PlanAction::CompareEngines(state.plan)));
        }
    }
    if next != current {
        commands.push(Command::Engine {
            plan: state.plan,
            choice: next,
        });
    }
    next
}

fn choose_electron_cut(ui: &mut Ui, electron_cut: &mut ElectronCut) {
    field(ui, "Electrons to", |ui| {
        for cut in ElectronCut::ALL {
            ui.selectable_value(electron_cut, cut, format!("{} keV", cut.kev()))
                .on_hover_text(
                    "Kinetic energy at which electrons end: 100 keV for surfaces and voxels below 2 mm, at half the speed",
                );
        }
    });
}

fn quality(ui: &mut Ui, next: &mut Settings) {
    field(ui, "Quality", |ui| {
        let combo = ComboBox::from_id_salt("quality")
            .selected_text(quality_name(next.quality))
            .width(150.0);
        let response = combo.show_ui(ui, |ui| {
            for quality in Quality::NAMED {
                ui.selectable_value(&mut next.quality, quality, quality_name(quality));
            }
        });
        response.response.accessible_name("Quality");
    });
}

fn quality_name(quality: Quality) -> String {
    format!("{} ({} directions)", quality.word(), quality.directions())
}

/// The part of the CT that counts as the body.
fn body(ui: &mut Ui, case: &Case, next: &mut Settings) {
    let set = &case.structures;
    field(ui, "Body", |ui| {
        let combo = ComboBox::from_id_salt("body")
            .selected_text(body_name(set, next.body))
            .width(150.0);
        let response = combo.show_ui(ui, |ui| {
            let structures = set
                .structures
                .iter()
                .filter(|s| !s.contours.is_empty())
                .map(|s| BodyChoice::Structure(s.number));
            // Without a drawn body, the first choice finds it in the CT already.
            let from_ct = body_of(set).map(|_| BodyChoice::Auto);
            for choice in [BodyChoice::Drawn]
                .into_iter()
                .chain(from_ct)
                .chain([BodyChoice::Everything])
                .chain(structures)
            {
                ui.selectable_value(&mut next.body, choice, body_name(set, choice));
            }
        });
        response
            .response
            .accessible_name("Body")
            .on_hover_text("Outside the body nothing counts");
    });
}

fn body_name(set: &StructureSet, choice: BodyChoice) -> String {
    match choice {
        BodyChoice::Drawn => body_of(set).map_or("found in the CT".to_owned(), |body| {
            format!("{} (drawn)", body.name)
        }),
        BodyChoice::Auto => "found in the CT".to_owned(),
        BodyChoice::Everything => "none: all counts".to_owned(),
        BodyChoice::Structure(number) => set
            .structures
            .iter()
            .find(|s| s.number == number)
            .map_or("gone".to_owned(), |s| s.name.clone()),
    }
}

fn computation(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Computation");
    let mut next = state.results.settings.clone();
    let engine = engine(ui, state, commands);
    fields(ui, "computation", |ui| {
        if !engine.engine.is_statistical() {
            quality(ui, &mut next);
        }
        field(ui, "Dose to", |ui| {
            for (to, word) in [(DoseTo::Medium, "medium"), (DoseTo::Water, "water")] {
                ui.selectable_value(&mut next.dose_to, to, word);
            }
        });
        field(ui, "Dose grid", |ui| {
            number("Dose grid", &mut next.grid_mm, " mm")
                .speed(0.1)
                .decimals(2)
                .range(1.0..=10.0)
                .show(ui)
        });
        body(ui, state.case(), &mut next);
        field(ui, "Device", |ui| {
            device(ui, &state.results, &mut next.device)
        });
    });
    given_densities(ui, state);
    for remark in state.results.body_remarks() {
        ui.add(egui::Label::new(egui::RichText::new(remark).small().weak()).wrap());
    }
    if ui
        .small_button("Compute again")
        .on_hover_text("What was cancelled or failed")
        .clicked()
    {
        commands.push(Command::Recompute);
    }
    if next != state.results.settings {
        commands.push(Command::Compute(next));
    }
    ct::panel::hu::choice(ui, state, commands);
    ct::panel::beyond::hu_remarks(ui, state);
}

fn device(ui: &mut Ui, results: &CaseResults, chosen: &mut DeviceChoice) {
    let by_speed = automatic_order();
    let combo = ComboBox::from_id_salt("device")
        .selected_text(results.device_name())
        .width(150.0);
    let combo = combo.show_ui(ui, |ui| {
        let fastest = by_speed
            .first()
            .map(|first| format!(": {}", first.name))
            .unwrap_or_default();
        ui.selectable_value(chosen, DeviceChoice::Auto, format!("automatic{fastest}"));
        ui.selectable_value(chosen, DeviceChoice::Cpu, "cpu");
        for card in cuda::cards().unwrap_or_default() {
            ui.selectable_value(chosen, DeviceChoice::Cuda(card.ordinal), card.to_string());
        }
        for adapter in wgpu::listed() {
            ui.selectable_value(
                chosen,
                DeviceChoice::Wgpu(Some(adapter.ordinal)),
                adapter.to_string(),
            );
        }
    });
    combo.response.accessible_name("Device").on_hover_ui(|ui| {
        ui.label(
            "Automatic is the fastest device, by a small dose that is timed once and remembered.",
        );
        for Measured { name, ms, .. } in by_speed {
            match ms {
                Some(Ok(ms)) => ui.label(format!("{name}: {ms:.1} ms")),
                Some(Err(why)) => ui.label(format!("{name} is left out: {why}")),
                None => ui.label(name),
            };
        }
    });
}
