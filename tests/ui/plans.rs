//! Plans and beams: listed, copied, deleted, arranged; the dose on show is always that of the displayed plan.

use crate::harness::{Window, small_case, until, window};
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::feature::compare::state::Source;
use beamsight::app::feature::plan::command::PlanAction;
use beamsight::app::state::results::Settings;
use beamsight::app::state::{Selection, Workspace};
use beamsight::case::{Beam, DoseStatus, Edit, Plan, Template};
use beamsight::engine::dose::DoseTo;
use eframe::egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;

fn opened(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "dose", is_final);
    w
}

fn is_final(app: &App) -> bool {
    app.state.results.shown_status() == Some(DoseStatus::Final) && app.is_settled()
}

fn command(w: &mut Window, command: Command) {
    w.state_mut().command(command);
    w.run_steps(3);
}

fn plans(w: &mut Window, action: PlanAction) {
    command(w, Command::Plans(action));
}

fn plan(w: &Window) -> Plan {
    (**w.state().state.plan().expect("a plan")).clone()
}

fn set_beam(w: &mut Window, beam: usize, change: impl FnOnce(&mut Beam)) {
    let (index, mut value) = (w.state().state.plan, plan(w).beams[beam].clone());
    change(&mut value);
    command(
        w,
        Command::Edit {
            edit: Edit::SetBeam {
                plan: index,
                beam,
                value,
            }
            .into(),
            gesture: None,
        },
    );
}

fn click(w: &mut Window, label: &str) {
    w.get_by_label(label).click();
    w.run_steps(4);
}

/// The displayed dose: its label, largest value and identity.
fn shown(w: &Window) -> Option<(String, f32, Vec<f32>)> {
    let dose = w.state().state.results.shown_dose()?;
    Some((dose.label.clone(), dose.max_gy(), dose.gy.data().to_vec()))
}

/// Jobs finished that computed the dose of a beam.
fn beam_jobs(w: &Window) -> usize {
    let beams: Vec<String> = plan(w)
        .beams
        .iter()
        .map(|b| format!("Dose of beam {}, final", b.name))
        .collect();
    w.state()
        .state
        .jobs
        .finished
        .iter()
        .filter(|job| beams.iter().any(|name| **name == *job.name))
        .count()
}

#[test]
fn a_deleted_plan_leaves_the_dose_of_the_displayed_one() {
    let mut w = opened("plans_delete");
    let first = shown(&w).expect("the dose of Test");
    click(&mut w, "Copy plan");
    assert_eq!(
        (w.state().state.plan, plan(&w).name.as_str()),
        (1, "Test copy")
    );
    set_beam(&mut w, 0, |b| b.mu = 250.0);
    until(&mut w, "dose of the copy", is_final);
    let second = shown(&w).expect("the dose of the copy");
    assert_eq!(second.0, "Plan Test copy");
    assert!(
        (second.1 / first.1 - 2.5).abs() < 1e-4,
        "{} {}",
        second.1,
        first.1
    );
    // The other plan goes: the displayed one keeps its dose, at its new place.
    plans(&mut w, PlanAction::Remove(0));
    assert_eq!(
        (w.state().state.plan, plan(&w).name.as_str()),
        (0, "Test copy")
    );
    assert_eq!(shown(&w), Some(second.clone()));
    assert_eq!(
        w.state().state.results.shown_status(),
        Some(DoseStatus::Final)
    );
    command(&mut w, Command::Undo);
    assert_eq!(
        (w.state().state.plan, plan(&w).name.as_str()),
        (1, "Test copy")
    );
    assert_eq!(shown(&w), Some(second));
    // The displayed plan goes: its dose is never shown for the other.
    plans(&mut w, PlanAction::Remove(1));
    assert_eq!(plan(&w).name, "Test");
    assert!(shown(&w).is_none_or(|(label, max, _)| label == "Plan Test" && max == first.1));
    until(&mut w, "dose of Test", is_final);
    assert_eq!(shown(&w), Some(first));
    click(&mut w, "Delete plan");
    assert!(w.state().state.case().plans.is_empty() && shown(&w).is_none());
    assert!(w.query_by_label("No plan").is_some());
    command(&mut w, Command::Undo);
    until(&mut w, "dose of Test", is_final);
}

#[test]
fn two_plans_are_compared_from_the_tree() {
    let mut w = opened("plans_compare");
    click(&mut w, "Copy plan");
    click(&mut w, "Compare with");
    click(&mut w, "Compare with Test");
    let state = &w.state().state;
    assert_eq!(state.workspace, Workspace::Compare);
    assert_eq!(
        state.compare.sides,
        [Some(Source::Plan(1)), Some(Source::Plan(0))]
    );
    plans(&mut w, PlanAction::Remove(0));
    assert_eq!(w.state().state.compare.sides, [Some(Source::Plan(0)), None]);
}

#[test]
fn monitor_units_weights_and_switches_change_the_sum_without_transport() {
    let mut w = opened("plans_weights");
    let one = shown(&w).expect("a dose").2;
    w.state_mut().command(Command::Select(Selection::Beam(1)));
    w.run_steps(4);
    w.get_by_label("Opposing beam").scroll_to_me();
    w.run_steps(4);
    click(&mut w, "Opposing beam");
    until(&mut w, "dose of both", is_final);
    let jobs = beam_jobs(&w);
    assert!(jobs >= 1);
    let both = shown(&w).expect("a dose").2;
    plans(
        &mut w,
        PlanAction::Weight {
            beam: 0,
            percent: 75.0,
            gesture: None,
        },
    );
    until(&mut w, "weighted dose", is_final);
    let mu: Vec<f64> = plan(&w).beams.iter().map(|b| b.mu).collect();
    assert_eq!(mu, [150.0, 50.0]);
    // The sum is linear: 1.5 AP + 0.5 PA, with PA = both - AP.
    let weighted = shown(&w).expect("a dose").2;
    let most = both.iter().copied().fold(0.0, f32::max);
    for n in 0..both.len() {
        let want = 1.5 * one[n] + 0.5 * (both[n] - one[n]);
        assert!(
            (weighted[n] - want).abs() < 1e-5 * most,
            "{} {want}",
            weighted[n]
        );
    }
    set_beam(&mut w, 1, |b| b.off = true);
    until(&mut w, "rest", App::is_settled);
    assert_eq!(
        w.state().state.results.shown_status(),
        Some(DoseStatus::Partial)
    );
    let dose = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    assert!(
        dose.caveats
            .iter()
            .any(|c| c == "1 of 2 beams (1 switched off)"),
        "{:?}",
        dose.caveats
    );
    for (now, one) in dose.gy.data().iter().zip(&one) {
        assert!((now - 1.5 * one).abs() < 1e-5 * most);
    }
    set_beam(&mut w, 1, |b| b.off = false);
    until(&mut w, "the sum again", is_final);
    assert_eq!(shown(&w).expect("a dose").2, weighted);
    assert_eq!(beam_jobs(&w), jobs, "no beam was computed again");
}

#[test]
fn a_template_is_added_round_the_isocentre_and_its_names_follow_the_gantry() {
    let mut w = opened("plans_template");
    click(&mut w, "Add beams");
    click(&mut w, "Opposed pair, lateral");
    let names = |w: &Window| {
        plan(w)
            .beams
            .iter()
            .map(|b| b.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&w), ["AP", "G090", "G270"]);
    assert_eq!(w.state().state.selection, Selection::Beam(2));
    w.key_press(Key::ArrowRight);
    w.run_steps(4);
    assert_eq!(names(&w), ["AP", "G091", "G270"]);
    set_beam(&mut w, 0, |b| b.control_points[0].gantry_deg = 20.0);
    assert_eq!(
        names(&w),
        ["AP", "G091", "G270"],
        "a name that was typed stays"
    );
    plans(&mut w, PlanAction::Reorder { beam: 2, to: 0 });
    assert_eq!(names(&w), ["G270", "AP", "G091"]);
    for _ in 0..4 {
        command(&mut w, Command::Undo);
    }
    assert_eq!(names(&w), ["AP"], "a template is one step");
    plans(&mut w, PlanAction::Add(Template::Equispaced(5)));
    assert_eq!(plan(&w).beams.len(), 6);
}

#[test]
fn the_isocentre_is_clicked_in_a_view_and_moves_all_beams_that_share_it() {
    let mut w = opened("plans_isocentre");
    plans(&mut w, PlanAction::Add(Template::Lateral));
    until(&mut w, "rays", App::is_settled);
    // A cube of 40 mm round the isocentre.
    for beam in plan(&w).beams {
        let ray = w
            .state()
            .state
            .results
            .central_ray(beam.number)
            .flatten()
            .expect("a ray");
        assert!(
            (ray.ssd_mm - 980.0).abs() < 1e-6 && (ray.depth_mm - 20.0).abs() < 1e-6,
            "{ray:?}"
        );
        assert!((ray.water_mm - 20.0).abs() < 0.2, "{ray:?}");
    }
    plans(&mut w, PlanAction::PickIsocentre(true));
    let at = w.get_by_label("Axial").rect().center() + vec2(20.0, 0.0);
    w.hover_at(at);
    w.run_steps(2);
    w.drag_at(at);
    w.run_steps(1);
    w.drop_at(at);
    w.run_steps(4);
    let places: Vec<DVec3> = plan(&w).beams.iter().map(|b| b.isocentre_mm).collect();
    assert!(
        places[0].x > 1.0 && places[0].y.abs() < 1.0 && places[0].z.abs() < 3.0,
        "{places:?}"
    );
    assert!(places.iter().all(|p| *p == places[0]), "shared");
    assert!(!w.state().state.plan_tools.picks_isocentre, "one click");
    plans(
        &mut w,
        PlanAction::ShareIsocentre {
            beam: 0,
            shared: false,
        },
    );
    plans(
        &mut w,
        PlanAction::Isocentre {
            beam: 1,
            mm: DVec3::new(0.0, 5.0, 0.0),
            gesture: None,
        },
    );
    let now: Vec<DVec3> = plan(&w).beams.iter().map(|b| b.isocentre_mm).collect();
    assert_eq!(now, [places[0], DVec3::new(0.0, 5.0, 0.0), places[0]]);
    until(&mut w, "rays", App::is_settled);
    // The ray of the beam from 90 degrees passes 5 mm further back and still enters the cube's side.
    let ray = w
        .state()
        .state
        .results
        .central_ray(2)
        .flatten()
        .expect("a ray");
    assert!((ray.ssd_mm - 980.0).abs() < 1e-6, "{ray:?}");
    plans(
        &mut w,
        PlanAction::ShareIsocentre {
            beam: 1,
            shared: true,
        },
    );
    assert_eq!(
        plan(&w).shared_isocentre_mm(),
        Some(DVec3::new(0.0, 5.0, 0.0))
    );
}

/// Approving is a step; from then on no widget, key or list of steps changes the plan, and the refusal says who approved it.
#[test]
fn an_approved_plan_is_read_only_until_it_is_copied_or_the_approval_taken_back() {
    let mut w = opened("approved");
    command(&mut w, Command::Select(Selection::Plan));
    w.get_by_label("Reason of the approval").focus();
    w.run_steps(2);
    w.get_by_label("Reason of the approval")
        .type_text("all goals are met");
    w.run_steps(3);
    click(&mut w, "Approve");
    let approved = plan(&w);
    let approval = approved.approval.clone().expect("a record");
    assert_eq!(
        (&*approval.reason, &*approval.by),
        ("all goals are met", beamsight::files::user_name())
    );
    assert!(approval.at.ends_with(" UTC"), "{}", approval.at);
    set_beam(&mut w, 0, |beam| beam.mu += 1.0);
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(3);
    command(&mut w, Command::StepTo(0));
    plans(&mut w, PlanAction::Remove(0));
    assert_eq!(plan(&w), approved);
    let refusals = w
        .state()
        .state
        .notices
        .iter()
        .filter(|notice| notice.text.contains("approved by"))
        .count();
    assert!(refusals >= 1);
    plans(&mut w, PlanAction::Copy(0));
    set_beam(&mut w, 0, |beam| beam.mu += 1.0);
    assert_eq!(
        (plan(&w).approval, plan(&w).mu()),
        (None, approved.mu() + 1.0)
    );
    command(&mut w, Command::ShowPlan(0));
    click(&mut w, "Take approval back");
    set_beam(&mut w, 0, |beam| beam.mu += 2.0);
    assert_eq!(
        (plan(&w).approval, plan(&w).mu()),
        (None, approved.mu() + 2.0)
    );
}

/// A plan whose dose is coarse and misses a goal is approved only by a second click, which says what speaks against it.
#[test]
fn approving_a_plan_that_is_not_final_or_misses_goals_asks() {
    let mut w = opened("approved_all_the_same");
    let missed = "BODY: Dmin >= 50 Gy".parse().expect("a goal");
    command(
        &mut w,
        Command::Edit {
            edit: Edit::SetGoals(vec![missed]).into(),
            gesture: None,
        },
    );
    until(&mut w, "dose", is_final);
    command(&mut w, Command::Select(Selection::Plan));
    let said = w.state().state.reservations_of_approval();
    assert_eq!(said, ["1 goal is missed: BODY: Dmin >= 50 Gy."]);
    w.get_by_label("Approve").scroll_to_me();
    w.run_steps(4);
    click(&mut w, "Approve");
    assert!(plan(&w).approval.is_none(), "asked first");
    w.get_by_label("1 goal is missed: BODY: Dmin >= 50 Gy.");
    click(&mut w, "Not yet");
    assert!(plan(&w).approval.is_none() && w.query_by_label("Approve all the same").is_none());
    // A coarse dose is named, too.
    let settings = Settings {
        grid_mm: 6.0,
        ..w.state().state.results.settings.clone()
    };
    command(&mut w, Command::Compute(settings));
    until(&mut w, "coarse dose", App::is_settled);
    assert_eq!(
        w.state().state.reservations_of_approval()[0],
        "Its dose is COARSE."
    );
    click(&mut w, "Approve");
    click(&mut w, "Approve all the same");
    assert!(plan(&w).is_approved());
}

/// The grid that was chosen for one patient is none of the next one's, and a notice says that it is the usual again.
#[test]
fn settings_of_one_patient_do_not_pass_to_the_next_in_silence() {
    let mut w = opened("settings_first");
    let usual_mm = w.state().state.results.settings.grid_mm;
    let settings = Settings {
        grid_mm: 6.0,
        dose_to: DoseTo::Water,
        ..w.state().state.results.settings.clone()
    };
    command(&mut w, Command::Compute(settings));
    let next = small_case("settings_second").case.expect("a case");
    w.state_mut().open(&next);
    w.run_steps(3);
    if w.query_by_label("Open without saving").is_some() {
        click(&mut w, "Open without saving");
    }
    until(&mut w, "the next case", |app| {
        app.state.case().source.contains("settings_second")
    });
    let state = &w.state().state;
    assert_eq!(state.results.settings.grid_mm, usual_mm);
    let notices: Vec<&str> = state
        .notices
        .iter()
        .map(|notice| notice.text.as_str())
        .collect();
    let said = notices
        .iter()
        .find(|text| text.starts_with("Settings of the case before"))
        .expect("a notice");
    assert!(
        said.contains("(6 mm before)") && said.contains("doses are still to water"),
        "{said}"
    );
}

/// Planes through the isocentre wherever the cross-hair is; distances that add up; a volume for each structure.
#[test]
fn the_report_is_of_the_isocentre_and_has_the_figures_of_each_beam() {
    let mut w = opened("report_fields");
    command(&mut w, Command::CentreOn(DVec3::new(11.0, -7.0, 5.0)));
    let state = &w.state().state;
    let report = beamsight::app::gather::plan(state).expect("a report");
    let isocentre_mm = plan(&w).beams[0].isocentre_mm;
    let places: Vec<_> = report
        .planes
        .iter()
        .map(|place| (place.words.as_str(), place.at_mm))
        .collect();
    assert_eq!(places, [("the isocentre", isocentre_mm)]);
    assert_eq!(report.fields.len(), plan(&w).beams.len());
    let weights: f64 = report
        .fields
        .iter()
        .filter_map(|field| field.weight_percent)
        .sum();
    assert!((weights - 100.0).abs() < 1e-9, "{weights}");
    for field in &report.fields {
        let ray = field.ray.flatten().expect("it meets the patient");
        assert!(
            (ray.ssd_mm + ray.depth_mm - 1000.0).abs() < 1e-6 && ray.depth_mm > 0.0,
            "{ray:?}"
        );
        assert!(
            (ray.water_mm / ray.depth_mm - 1.0).abs() < 0.05,
            "water throughout: {ray:?}"
        );
        assert_eq!(field.energy, "6 MV");
    }
    let listed = report.structures.len() + report.other_volumes.len();
    assert_eq!(listed, state.case().structures.structures.len());
}

/// An arc is added and changed by start, stop and direction; a list of weights adds up to 100 %.
#[test]
fn arcs_have_start_stop_and_direction_and_weights_add_up() {
    let mut w = opened("plans_arc");
    click(&mut w, "Arc…");
    crate::harness::fill_in(&mut w, "New arc start", "150");
    crate::harness::fill_in(&mut w, "New arc stop", "30");
    click(&mut w, "New arc CCW");
    click(&mut w, "Add arc");
    let arc = plan(&w).beams[1].arc().expect("an arc");
    assert_eq!(
        (arc.start_deg, arc.stop_deg, arc.clockwise),
        (150.0, 30.0, false)
    );
    assert_eq!(plan(&w).beams[1].name, "G150-030");
    w.get_by_label("Arc CW").scroll_to_me();
    w.run_steps(4);
    click(&mut w, "Arc CW");
    let beam = plan(&w).beams[1].clone();
    assert!(
        beam.arc().expect("an arc").clockwise && beam.control_points.len() == 61,
        "240 degrees by 4"
    );
    command(&mut w, Command::Undo);
    assert_eq!(
        plan(&w).beams[1].control_points.len(),
        31,
        "120 degrees by 4, in one step"
    );
    command(&mut w, Command::Undo);
    assert_eq!(plan(&w).beams.len(), 1);
    // Three beams of the same weight: 33.3 % each.
    plans(&mut w, PlanAction::CopyBeam(0));
    plans(&mut w, PlanAction::CopyBeam(0));
    let shares: Vec<u32> = plan(&w).whole_percents().into_iter().flatten().collect();
    assert_eq!((shares.len(), shares.iter().sum::<u32>()), (3, 100));
}
