//! The status of a displayed dose follows from the case: after any sequence of edits, a dose displayed as
//! final is the one that the command line computes for the current case.

use crate::harness::{Window, said, small_case, until, window};
use beamsight::analysis::{Engine, GoalRow};
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::feature::optimise::command::OptimiseAction;
use beamsight::app::state::Selection;
use beamsight::app::state::results::{EngineChoice, Shown};
use beamsight::app::state::roi::Shape;
use beamsight::case::{
    Beam, DoseEngine, DoseStatus, Edit, Jaws, Normalisation, Plan, Radiation, Structure,
    StructureKind,
};
use beamsight::engine::JobControl;
use beamsight::engine::dose::DoseTo;
use beamsight::geometry::Volume;
use beamsight::results::{PlanJob, PlanResult, compute_plan};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The small case with two beams, normalised to a sphere called PTV.
fn normalised(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "dose", is_final);
    command(
        &mut w,
        Command::AddShape(beamsight::app::command::NewShape::Sphere),
    );
    let number = w
        .state()
        .state
        .case()
        .structures
        .structures
        .last()
        .expect("the sphere")
        .number;
    command(
        &mut w,
        Command::Reshape {
            structure: number,
            shape: Shape::Sphere {
                centre_mm: DVec3::ZERO,
                radius_mm: 9.0,
            },
            gesture: None,
        },
    );
    rename(&mut w, number, "PTV");
    let second = Beam::fixed(
        "Left",
        2,
        90.0,
        DVec3::ZERO,
        Jaws::symmetric(24.0, 20.0),
        80.0,
    );
    edit(
        &mut w,
        Edit::AddBeam {
            plan: 0,
            beam: second,
        },
    );
    let plan = plan(&w);
    let to = Normalisation::to_named("PTV", 90.0, 2.0);
    edit(
        &mut w,
        Edit::SetPlan {
            plan: 0,
            value: Plan {
                normalisation: Some(to),
                ..plan
            },
        },
    );
    until(&mut w, "normalised dose", is_final);
    w
}

fn is_final(app: &App) -> bool {
    app.state.results.shown_status() == Some(DoseStatus::Final) && app.is_settled()
}

/// Waits until all results of the last edit are complete.
fn rest(w: &mut Window) {
    w.run_steps(3);
    until(w, "end of the jobs", App::is_settled);
}

fn command(w: &mut Window, command: Command) {
    w.state_mut().command(command);
}

fn edit(w: &mut Window, edit: Edit) {
    command(
        w,
        Command::Edit {
            edit: edit.into(),
            gesture: None,
        },
    );
}

fn plan(w: &Window) -> Plan {
    (**w.state().state.plan().expect("a plan")).clone()
}

fn structure(w: &Window, name: &str) -> Option<(usize, Structure)> {
    let set = &w.state().state.case().structures.structures;
    set.iter()
        .enumerate()
        .find(|(_, s)| s.name == name)
        .map(|(n, s)| (n, s.clone()))
}

fn rename(w: &mut Window, number: u32, name: &str) {
    let set = &w.state().state.case().structures.structures;
    let Some(index) = set.iter().position(|s| s.number == number) else {
        return;
    };
    let value = Structure {
        name: name.to_owned(),
        ..set[index].clone()
    };
    edit(w, Edit::SetStructure { index, value });
}

fn turn(w: &mut Window, beam: usize, gantry_deg: f64) {
    command(
        w,
        Command::Gantry {
            beam,
            gantry_deg,
            gesture: None,
        },
    );
}

/// The current case, computed as the command line does.
fn computed(app: &App, plan: Plan) -> PlanResult {
    let case = app.state.case();
    let settings = &app.state.results.settings;
    let job = PlanJob {
        ct: case.ct.clone().expect("a CT"),
        structures: case.structures.clone(),
        remarks: case.remarks.clone(),
        plan,
        hu_table: settings.hu_table.name.clone(),
        grid_mm: settings.grid_mm,
        quality: settings.quality,
        dose_to: settings.dose_to,
        device: settings.device,
        engine: Engine::COLLAPSED_CONE,
        parts: None,
        body: settings.body,
    };
    compute_plan(&job, &JobControl::default(), &|_| {}).expect("a dose")
}

/// Fails where a result displayed as final is not that of the current case. `checked` lists the comparisons
/// made.
fn check(app: &App, checked: &mut Vec<String>, context: &str) {
    let (state, results) = (&app.state, &app.state.results);
    if results.shown_status() != Some(DoseStatus::Final) {
        return;
    }
    let dose = results.shown_dose().expect("a dose");
    let plan = (**state.plan().expect("a plan")).clone();
    let structures = &state.case().structures.structures;
    let shapes: Vec<_> = structures
        .iter()
        .map(|s| (s.number, s.contours.len(), s.contours.first()))
        .collect();
    let key = format!(
        "{:?} {plan:?} {shapes:?} {:?} {:?}",
        dose.gy.id(),
        results.shown,
        results.settings.dose_to
    );
    if !checked.contains(&key) {
        checked.push(key);
        let whole = computed(app, plan.clone());
        let want = match results.shown {
            Shown::Plan => whole.dose.gy,
            Shown::Beam(number) => {
                let mut alone = Plan {
                    normalisation: None,
                    ..plan.clone()
                };
                alone.beams.retain(|b| b.number == number);
                let of_beam = computed(app, alone).dose.gy;
                let gy = of_beam
                    .data()
                    .iter()
                    .map(|gy| (f64::from(*gy) * whole.factor) as f32)
                    .collect();
                Arc::new(Volume::new(Arc::clone(of_beam.grid()), gy))
            }
            Shown::Point(..) | Shown::Imported(_) => return,
        };
        let most = f64::from(want.data().iter().copied().fold(0.0, f32::max));
        assert_eq!(**want.grid(), **dose.gy.grid(), "{context}");
        let off = want
            .data()
            .iter()
            .zip(dose.gy.data())
            .map(|(a, b)| f64::from((a - b).abs()));
        let off = off.fold(0.0, f64::max) / most;
        if results.shown == Shown::Plan {
            let bits = |gy: &[f32]| gy.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert!(
                bits(want.data()) == bits(dose.gy.data()),
                "{context}: not the same to the bit, {off}"
            );
        }
        let what = format!(
            "{:?} of {:?}, factor {:?}",
            results.shown,
            plan.normalisation,
            results.normalisation_factor()
        );
        let max = f64::from(dose.max_gy());
        assert!(
            off < 1e-5,
            "{context}: a final dose is {:.3} % of the maximum off ({most} Gy computed, {max} shown; {} by the command line): {what}",
            100.0 * off,
            whole.factor
        );
        if plan.normalisation.is_some() {
            let factor = results.normalisation_factor().expect("a factor").value;
            assert!(
                (factor / whole.factor - 1.0).abs() < 1e-5,
                "{context}: {factor}, not {}",
                whole.factor
            );
        }
        assert!(dose.caveats.is_empty(), "{context}: {:?}", dose.caveats);
    }
    if results.dvh_status() == Some(DoseStatus::Final) && results.shown == Shown::Plan {
        let whole = computed(app, plan);
        for (structure, want) in &whole.dvhs {
            // A structure added just now has none yet.
            let Some(dvh) = results.dvh(structure.number) else {
                continue;
            };
            let off = (dvh.mean_gy() / want.mean_gy() - 1.0).abs();
            assert!(
                off < 1e-4 || want.mean_gy() < 1e-3,
                "{context}: mean of {} is {off} off",
                structure.name
            );
        }
    }
}

/// The texts that the window paints.
fn painted(w: &Window) -> BTreeSet<String> {
    fn texts(shape: &egui::Shape, into: &mut BTreeSet<String>) {
        match shape {
            egui::Shape::Text(text) => {
                into.insert(text.galley.text().to_owned());
            }
            egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| texts(shape, into)),
            _ => {}
        }
    }
    let mut all = BTreeSet::new();
    w.output()
        .shapes
        .iter()
        .for_each(|clipped| texts(&clipped.shape, &mut all));
    all
}

/// The numbers of dose, monitor units and volume that the window writes as if they were those of the case: without a
/// status, and where the dose has a chip of its own that is not final, without those of that dose.
fn claimed(w: &Window) -> impl Iterator<Item = String> {
    let results = &w.state().state.results;
    let whole = [results.shown_status(), results.dvh_status()] == [Some(DoseStatus::Final); 2];
    let of_dose = move |text: &str| text.contains(" Gy") && whole;
    let always = |text: &str| {
        [" MU", " Gy a fraction", "cm³", "units ×"]
            .iter()
            .any(|unit| text.contains(unit))
    };
    let states = |text: &str| text.contains('(') && !text.contains("(normalisation)");
    let is_number = move |text: &String| {
        text.contains(|c: char| c.is_ascii_digit())
            && (always(text) || of_dose(text))
            && !states(text)
    };
    painted(w).into_iter().filter(is_number)
}

/// A small generator (SplitMix64): the same edits on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Makes one random edit of a planner and returns its name.
fn random_edit(w: &mut Window, random: &mut Random) -> &'static str {
    let now = plan(w);
    let beam = random.below(now.beams.len().max(1) as u64) as usize;
    match random.below(16) {
        0..=2 if !now.beams.is_empty() => {
            turn(w, beam, random.below(360) as f64);
            "gantry"
        }
        3 if !now.beams.is_empty() => {
            let value = Beam {
                mu: 20.0 + random.below(200) as f64,
                ..now.beams[beam].clone()
            };
            edit(
                w,
                Edit::SetBeam {
                    plan: 0,
                    beam,
                    value,
                },
            );
            "monitor units"
        }
        4 => {
            let fractions = 1 + random.below(5) as u32;
            edit(
                w,
                Edit::SetPlan {
                    plan: 0,
                    value: Plan { fractions, ..now },
                },
            );
            "fractions"
        }
        5 => {
            let number = structure(w, "PTV")
                .or_else(|| structure(w, "Boost"))
                .map(|(_, s)| s.number);
            rename(
                w,
                number.unwrap_or(99),
                if random.below(2) == 0 { "PTV" } else { "Boost" },
            );
            "rename"
        }
        6 => {
            let number = structure(w, "PTV")
                .or_else(|| structure(w, "Boost"))
                .map(|(_, s)| s.number);
            command(
                w,
                Command::RemoveStructure {
                    number: number.unwrap_or(99),
                    sure: true,
                },
            );
            "delete structure"
        }
        7 | 8 => {
            command(w, Command::Undo);
            "undo"
        }
        9 => {
            command(w, Command::Redo);
            "redo"
        }
        10 => {
            let what = if random.below(2) == 0 {
                Shown::Plan
            } else {
                Shown::Beam(1 + random.below(2) as u32)
            };
            command(w, Command::ShowDose(what));
            "dose on show"
        }
        11 => {
            let to = Normalisation::to_named("PTV", 50.0 + random.below(50) as f64, 2.0);
            let normalisation = (random.below(3) > 0).then_some(to);
            edit(
                w,
                Edit::SetPlan {
                    plan: 0,
                    value: Plan {
                        normalisation,
                        ..now
                    },
                },
            );
            "normalisation"
        }
        12 => {
            let radius_mm = 6.0 + random.below(8) as f64;
            let shape = Shape::Sphere {
                centre_mm: DVec3::new(3.0, 0.0, 0.0),
                radius_mm,
            };
            if let Some((_, s)) = structure(w, "PTV") {
                command(
                    w,
                    Command::Reshape {
                        structure: s.number,
                        shape,
                        gesture: None,
                    },
                );
            }
            "reshape"
        }
        14 => {
            let beam = Selection::Beam(1 + random.below(2) as u32);
            let selection = if random.below(3) == 0 {
                Selection::Plan
            } else {
                beam
            };
            command(w, Command::Select(selection));
            "selection"
        }
        13 if now.beams.len() > 1 => {
            let radiation = if random.below(2) == 0 {
                Radiation::Electron
            } else {
                Radiation::Photon
            };
            let value = Beam {
                radiation,
                ..now.beams[1].clone()
            };
            edit(
                w,
                Edit::SetBeam {
                    plan: 0,
                    beam: 1,
                    value,
                },
            );
            "radiation"
        }
        _ => {
            let mut settings = w.state().state.results.settings.clone();
            settings.dose_to = if random.below(2) == 0 {
                DoseTo::Water
            } else {
                DoseTo::Medium
            };
            command(w, Command::Compute(settings));
            "dose to"
        }
    }
}

#[test]
fn whatever_is_edited_a_dose_shown_as_final_is_that_of_the_case() {
    let mut w = normalised("standing_random");
    let mut random = Random(20);
    let mut checked = Vec::new();
    let (mut finals, mut others, mut compared) = (0, 0, 0);
    for turn in 0..60 {
        let what = random_edit(&mut w, &mut random);
        let context = format!("edit {turn}, {what}");
        // At once, and in the frames in which answers to this and to earlier edits arrive.
        check(w.state(), &mut checked, &context);
        let mut numbers = BTreeSet::new();
        for _ in 0..random.below(12) {
            w.step();
            check(w.state(), &mut checked, &context);
            numbers.extend(claimed(&w));
        }
        if turn % 2 == 1 {
            rest(&mut w);
            check(w.state(), &mut checked, &context);
            let at_rest = painted(&w);
            let wrong: Vec<_> = numbers.difference(&at_rest).collect();
            assert!(
                wrong.is_empty(),
                "{context}: written while results were on their way: {wrong:?}"
            );
            compared += numbers.len();
            let app = w.state();
            let results = &app.state.results;
            match results.shown_status() {
                Some(DoseStatus::Final) => finals += 1,
                // No result is pending: a status other than final has a reason.
                Some(DoseStatus::Failed) | None => {
                    assert!(
                        results.shown_failure().is_some() || results.shown != Shown::Plan,
                        "{context}"
                    );
                    others += 1;
                }
                Some(DoseStatus::Partial) => others += 1,
                status => panic!("{context}: {status:?} at rest"),
            }
        }
    }
    let counts = format!("{finals} {others} {} {compared}", checked.len());
    assert!(
        finals > 3 && others > 1 && checked.len() > 5 && compared > 30,
        "{counts}"
    );
}

#[test]
fn a_renamed_structure_keeps_its_plan_and_a_deleted_one_fails_it() {
    let mut w = normalised("standing_rename");
    let before = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .gy
        .id();
    let (_, ptv) = structure(&w, "PTV").expect("the PTV");
    rename(&mut w, ptv.number, "PTV_60");
    assert_eq!(
        plan(&w)
            .normalisation
            .expect("kept")
            .structure()
            .map(|(name, _)| name.to_owned())
            .as_deref(),
        Some("PTV_60")
    );
    turn(&mut w, 0, 180.0);
    until(&mut w, "final dose", is_final);
    assert_ne!(
        w.state()
            .state
            .results
            .shown_dose()
            .expect("a dose")
            .gy
            .id(),
        before,
        "the dose follows"
    );
    // Deleting an object that a plan refers to asks first.
    command(
        &mut w,
        Command::Select(beamsight::app::state::Selection::Structure(ptv.number)),
    );
    w.run_steps(3);
    w.get_by_label("Delete structure").click();
    w.run_steps(3);
    assert!(structure(&w, "PTV_60").is_some(), "asked first");
    w.get_by_label("Keep the structure").click();
    w.run_steps(3);
    assert!(structure(&w, "PTV_60").is_some() && is_final(w.state()));
    w.get_by_label("Delete structure").click();
    w.run_steps(3);
    w.get_by_label("Delete it all the same").click();
    w.run_steps(3);
    assert!(structure(&w, "PTV_60").is_none());
    turn(&mut w, 0, 90.0);
    rest(&mut w);
    let app = w.state();
    assert_eq!(app.state.results.shown_status(), Some(DoseStatus::Failed));
    let plan_status = app
        .state
        .results
        .plan_status(app.state.plan().expect("a plan"));
    assert_eq!(
        (plan_status, app.state.results.dvh_status()),
        (Some(DoseStatus::Failed), Some(DoseStatus::Failed))
    );
    let why = app.state.results.shown_failure().expect("a sentence");
    assert!(
        why.contains("cannot be normalised") && why.contains("'PTV_60'"),
        "{why}"
    );
    assert!(
        app.state.results.normalisation_factor().is_none(),
        "no monitor units of an old factor"
    );
    assert_eq!(w.query_all_by_label("Dose status final").count(), 0);
    command(&mut w, Command::Undo);
    command(&mut w, Command::Undo);
    until(&mut w, "final dose", is_final);
}

#[test]
fn two_structures_of_one_name_are_refused() {
    let mut w = normalised("standing_names");
    let body = w.state().state.case().structures.structures[0].number;
    rename(&mut w, body, "ptv");
    assert!(
        said(&w).contains("another structure is called 'PTV'"),
        "{}",
        said(&w)
    );
    assert!(structure(&w, "ptv").is_none());
}

#[test]
fn a_plan_with_a_beam_that_is_not_computed_is_partial_everywhere() {
    let mut w = normalised("standing_partial");
    let mut value = plan(&w).beams[1].clone();
    value.radiation = Radiation::Electron;
    edit(
        &mut w,
        Edit::SetBeam {
            plan: 0,
            beam: 1,
            value,
        },
    );
    rest(&mut w);
    let app = w.state();
    let dose = app.state.results.shown_dose().expect("a dose");
    assert_eq!(dose.status_text(), "partial: 1 of 2 beams");
    assert_eq!(
        app.state
            .results
            .plan_status(app.state.plan().expect("a plan")),
        Some(DoseStatus::Partial)
    );
    assert_eq!(app.state.results.dvh_status(), Some(DoseStatus::Partial));
    assert_eq!(w.query_all_by_label("Dose status final").count(), 0);
    let of_command_line = computed(w.state(), plan(&w));
    assert_eq!(of_command_line.dose.status_text(), "partial: 1 of 2 beams");
    assert_eq!(
        of_command_line
            .figures
            .to_string()
            .matches("partial: 1 of 2 beams")
            .count(),
        1
    );
    // An imaging field is no part of the dose.
    let mut value = plan(&w).beams[1].clone();
    (value.setup, value.mu) = (true, 0.0);
    edit(
        &mut w,
        Edit::SetBeam {
            plan: 0,
            beam: 1,
            value,
        },
    );
    until(&mut w, "final dose", is_final);
}

#[test]
fn another_plan_never_shows_doses_of_the_one_before() {
    let mut w = normalised("standing_plans");
    let mut other = Plan {
        name: "Other".to_owned(),
        normalisation: None,
        ..plan(&w)
    };
    other.beams[0].mu = 37.0;
    edit(&mut w, Edit::AddPlan(other));
    command(&mut w, Command::ShowPlan(1));
    let mut checked = Vec::new();
    until(&mut w, "final dose of the other plan", |app| {
        check(app, &mut checked, "other plan");
        // The first frame is the one displayed when the plan was chosen.
        let dose = app.state.results.shown_dose();
        let own = dose.is_none_or(|d| d.label == "Plan Other" || d.status == DoseStatus::Stale);
        assert!(own, "{:?}", dose.map(|d| (&d.label, d.status)));
        is_final(app) && dose.is_some_and(|d| d.label == "Plan Other")
    });
    assert!(!checked.is_empty());
}

/// Waits, without a frame of the window, until the worker has no jobs left.
fn let_the_worker_end(w: &Window) {
    let start = std::time::Instant::now();
    while w.state().live_jobs() > 0 {
        assert!(
            start.elapsed() < std::time::Duration::from_secs(120),
            "the worker does not end"
        );
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn a_turned_gantry_reaches_sum_and_dvh_in_one_trip() {
    let mut w = normalised("standing_one_trip");
    rest(&mut w);
    let before = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .gy
        .id();
    let asked = w.state().jobs_asked();
    turn(&mut w, 0, 137.0);
    let asked_at_once = w.state().jobs_asked();
    assert!(
        asked_at_once > asked,
        "beam, sum and DVHs are asked for together"
    );
    let_the_worker_end(&w);
    w.step();
    let results = &w.state().state.results;
    assert_ne!(results.shown_dose().expect("a dose").gy.id(), before);
    assert_eq!(
        (results.shown_status(), results.dvh_status()),
        (Some(DoseStatus::Final), Some(DoseStatus::Final))
    );
    assert!(results.normalisation_factor().is_some());
    assert_eq!(
        w.state().jobs_asked(),
        asked_at_once,
        "nothing was asked for afterwards"
    );
    check(w.state(), &mut Vec::new(), "one trip");
}

#[test]
fn the_worker_is_asked_in_the_frame_of_the_edit() {
    let mut w = normalised("standing_same_frame");
    command(
        &mut w,
        Command::Select(beamsight::app::state::Selection::Beam(2)),
    );
    rest(&mut w);
    w.get_by_role_and_label(egui::accesskit::Role::Slider, "Gantry")
        .focus();
    w.run_steps(3);
    let (asked, beams) = (w.state().jobs_asked(), plan(&w).beams);
    w.key_press(egui::Key::ArrowRight);
    let mut frames = 0;
    while plan(&w).beams == beams {
        assert_eq!(w.state().jobs_asked(), asked, "nothing to compute yet");
        w.step();
        frames += 1;
        assert!(frames < 10, "the key turns the gantry");
    }
    assert!(
        w.state().jobs_asked() > asked,
        "asked at the end of the frame that changed the beam"
    );
}

/// Three doses are never mixed up: that of the case, the optimiser's, and that of the maps.
#[test]
fn the_optimisers_dose_is_a_preview_and_that_of_maps_is_partial() {
    let mut w = normalised("standing_optimise");
    let plan = Plan {
        machine: "generic-6mv".to_owned(),
        prescription_gy: Some(2.0),
        ..plan(&w)
    };
    edit(
        &mut w,
        Edit::SetPlan {
            plan: 0,
            value: plan,
        },
    );
    let (index, ptv) = structure(&w, "PTV").expect("a target");
    let value = Structure {
        kind: StructureKind::Ptv,
        ..ptv
    };
    edit(&mut w, Edit::SetStructure { index, value });
    until(&mut w, "dose", is_final);
    let optimise = &mut w.state_mut().state.optimise;
    (optimise.rows_mm, optimise.beamlet_mm) = (Some(5.0), 10.0);
    command(&mut w, Command::Optimise(OptimiseAction::Start));
    let (mut checked, mut previews, mut partial) = (Vec::new(), 0, false);
    until(&mut w, "maps with their dose", |app| {
        let state = &app.state;
        check(app, &mut checked, "while it is optimised");
        if state.optimisers_dose().is_some() {
            previews += 1;
            assert_eq!(state.curves_status(), Some(DoseStatus::Preview));
            assert!(
                state
                    .reservation_on_view()
                    .is_some_and(|words| words.contains("optimiser's dose"))
            );
            assert!(state.scorecard_on_view().iter().all(GoalRow::is_undecided));
        } else {
            assert_eq!(state.curves_status(), state.results.dvh_status());
        }
        // What leaves the window, as a report, is of the dose of the case.
        let case = state
            .shown_dvhs()
            .iter()
            .map(|(_, dvh)| dvh.mean_gy())
            .sum::<f64>();
        let own = state.case().structures.structures.iter();
        let own = own
            .filter_map(|s| Some(state.results.dvh(s.number)?.mean_gy()))
            .sum::<f64>();
        assert_eq!(case, own);
        let has_maps = state
            .plan()
            .is_some_and(|plan| plan.beams.iter().all(|b| b.fluence.is_some()));
        let status = state.results.shown_status();
        assert!(
            !(has_maps && status == Some(DoseStatus::Final)),
            "a dose of maps is never final"
        );
        partial = has_maps && status == Some(DoseStatus::Partial) && app.is_settled();
        partial
    });
    assert!(
        partial && previews > 0 && !checked.is_empty(),
        "{previews} previews"
    );
    let choice = EngineChoice {
        engine: DoseEngine::MonteCarloConvolution,
        uncertainty_percent: 2.0,
        ..EngineChoice::default()
    };
    command(&mut w, Command::Engine { plan: 0, choice });
    until(&mut w, "maps by Monte Carlo", |app| {
        let results = &app.state.results;
        let status = results.shown_status();
        assert_ne!(
            status,
            Some(DoseStatus::Final),
            "a dose of maps is never final"
        );
        results.certainty().is_some() && status == Some(DoseStatus::Partial) && app.is_settled()
    });
    let dose = w.state().state.results.shown_dose().expect("a dose");
    assert!(
        dose.caveats
            .iter()
            .any(|caveat| caveat == "fluence, not deliverable"),
        "{:?}",
        dose.caveats
    );
}
