//! Beside an optimisation: the plan before it, objectives that no goal stands for, bounds of the fluence, maps in the report.

use crate::harness::{click, fill_in, folder, said, until, window};
use crate::optimise::{
    at_rest, edit, mean, no_button, optimised, plan, planned, show_goals, status, steps, take,
};
use beamsight::analysis::Side;
use beamsight::app::command::Command;
use beamsight::app::feature::compare::state::Source;
use beamsight::app::feature::optimise::command::OptimiseAction;
use beamsight::app::state::{Selection, ViewKind, Workspace};
use beamsight::app::{App, Options};
use beamsight::case::{DoseStatus, Edit, Normalisation, Plan, Structure};
use beamsight::report::plan::PlanReport;
use beamsight::sequence::Technique;
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;

#[test]
fn one_click_compares_with_the_plan_before() {
    let mut w = planned("optimise_before");
    show_goals(&mut w);
    assert!(
        w.query_by_label("Compare with before").is_none(),
        "there is nothing before"
    );
    let (forward, dose) = (plan(w.state()), mean(w.state(), "Cord"));
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    at_rest(&mut w);
    let (optimised, done) = (plan(w.state()), steps(w.state()));
    show_goals(&mut w);
    w.get_by_label("Compare with before").click();
    w.run_steps(3);
    let state = &w.state().state;
    assert_eq!(
        (state.workspace, state.plan, steps(w.state())),
        (Workspace::Compare, 0, done + 1)
    );
    assert_eq!(
        state.compare.sides,
        [1, 0].map(|plan| Some(Source::Plan(plan)))
    );
    let before = (*state.case().plans[1]).clone();
    assert_eq!(before.name, "Test before optimisation");
    assert_eq!(
        Plan {
            name: forward.name.clone(),
            ..before
        },
        forward
    );
    // Each dose is worth what it is: nothing that is compared with fluence is final.
    until(&mut w, "both doses", |app| {
        app.is_settled() && app.state.results.pair().is_some()
    });
    let results = &w.state().state.results;
    let status = |side| results.side(side).expect("a dose").status;
    assert_eq!(
        [Side::A, Side::B].map(status),
        [DoseStatus::Final, DoseStatus::Partial]
    );
    assert_eq!(results.pair_status(), Some(DoseStatus::Partial));
    let cord = w
        .state()
        .state
        .case()
        .structures
        .by_name("Cord")
        .expect("an organ")
        .number;
    let own = results.side_dvh(Side::A, cord).expect("a DVH").mean_gy();
    assert!(
        (own - dose).abs() < 1e-6,
        "the dose before: {own} for {dose}"
    );
    // A second click finds the plan that the first one added, and undo takes that away.
    w.state_mut().command(Command::Workspace(Workspace::Plan));
    w.run_steps(3);
    show_goals(&mut w);
    w.get_by_label("Compare with before").click();
    w.run_steps(3);
    assert_eq!(
        (w.state().state.case().plans.len(), steps(w.state())),
        (2, done + 1)
    );
    w.state_mut().command(Command::Undo);
    at_rest(&mut w);
    let state = &w.state().state;
    assert_eq!((state.case().plans.len(), plan(w.state())), (1, optimised));
}

#[test]
fn a_session_keeps_the_plan_before_and_the_technique() {
    let mut w = planned("optimise_session");
    let forward = plan(w.state());
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    at_rest(&mut w);
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::SetTechnique(
            Technique::StepAndShoot,
        )));
    let path = folder("optimise_session").join("kept.json");
    let _ = std::fs::remove_file(&path);
    w.state_mut().command(Command::SaveSession(path.clone()));
    until(&mut w, "saved session", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    let mut again = window(Options {
        case: Some(path.display().to_string()),
        ..Options::default()
    });
    until(&mut again, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    assert_eq!(
        again.state().state.leaves.technique,
        Technique::StepAndShoot
    );
    assert_eq!(again.state().state.plan_before_maps(), Some(&forward));
    again
        .state_mut()
        .command(Command::Optimise(OptimiseAction::CompareBefore));
    let before = again.state().state.case().plans[1].beams.clone();
    assert_eq!(
        (before, plan(again.state())),
        (forward.beams, plan(w.state()))
    );
}

#[test]
fn objectives_that_no_goal_stands_for_are_changed_weighed_and_removed() {
    let mut w = planned("optimise_objectives");
    show_goals(&mut w);
    assert!(
        w.query_by_label("Add objective").is_none(),
        "a forward plan minimises nothing"
    );
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    at_rest(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    // The mean squared distance from 2 Gy.
    let spread = |app: &App| -> f64 {
        let curves = app.state.curves_on_view();
        let ptv = curves
            .iter()
            .find(|(s, _)| s.name == "PTV")
            .expect("a curve")
            .1;
        (0..50)
            .map(|n| (ptv.dose_at_percent(1.0 + 2.0 * f64::from(n)) - 2.0).powi(2) / 50.0)
            .sum()
    };
    let (before, done, wide) = (plan(w.state()), steps(w.state()), spread(w.state()));
    // One dose throughout the target makes it more even; a click, its maps and its name are one step.
    w.get_by_label("Add objective").click();
    w.run_steps(3);
    w.get_by_label("Uniform dose in PTV").click();
    w.run_steps(3);
    let ptv = w
        .state()
        .state
        .case()
        .structures
        .by_name("PTV")
        .expect("a target")
        .number;
    let uniform = |app: &App| plan(app).objectives.uniform.clone();
    assert_eq!(
        (uniform(w.state())[0].number, uniform(w.state())[0].dose_gy),
        (Some(ptv), 2.0)
    );
    assert_eq!(
        w.state().state.history.names().last(),
        Some(&"Change objectives of plan Test")
    );
    at_rest(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    let slid = steps(w.state());
    fill_in(&mut w, "Weight of PTV: uniform", "40");
    at_rest(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    assert!(
        uniform(w.state())[0].weight > 10.0,
        "{:?}",
        uniform(w.state())
    );
    assert_eq!(
        steps(w.state()),
        slid + 1,
        "a typed weight is one step with its maps"
    );
    assert!(
        spread(w.state()) < 0.9 * wide,
        "{} of {wide}",
        spread(w.state())
    );
    let shares = w.state().state.other_shares().expect("shares");
    let goals: f64 = (0..2)
        .map(|goal| {
            *w.state()
                .state
                .goal_share(goal)
                .expect("a share")
                .as_ref()
                .expect("")
        })
        .sum();
    let all = goals
        + shares.fall_off
        + shares.monitor_units
        + shares.uniform[0].as_ref().expect("a share");
    assert!((all - 1.0).abs() < 1e-6, "all that is minimised: {all}");
    // It follows a rename, and goes through a session.
    let set = w.state().state.case().structures.clone();
    let index = set
        .structures
        .iter()
        .position(|s| s.name == "PTV")
        .expect("a target");
    let value = Structure {
        name: "Boost".to_owned(),
        ..set.structures[index].clone()
    };
    edit(&mut w, Edit::SetStructure { index, value });
    assert_eq!(uniform(w.state())[0].structure, "Boost");
    let path = folder("optimise_objectives").join("kept.json");
    std::fs::remove_file(&path).ok();
    w.state_mut().command(Command::SaveSession(path.clone()));
    until(&mut w, "a session", |app| path.exists() && app.is_settled());
    let kept = beamsight::files::session::read(&path)
        .expect("a session")
        .plans[0]
        .objectives
        .clone();
    assert_eq!(kept, plan(w.state()).objectives);
    // The fall-off falls off faster, and goes.
    let before_fall_off = plan(w.state()).objectives.fall_off;
    at_rest(&mut w);
    w.get_by_label("Fall-off per mm").scroll_to_me();
    w.run_steps(4);
    fill_in(&mut w, "Fall-off per mm", "20");
    assert_eq!(plan(w.state()).objectives.fall_off.percent_per_mm, 20.0);
    at_rest(&mut w);
    let done_then = steps(w.state());
    w.get_by_label("Remove Fall-off round targets")
        .scroll_to_me();
    w.run_steps(4);
    w.get_by_label("Remove Fall-off round targets").click();
    w.run_steps(2);
    at_rest(&mut w);
    assert_eq!(plan(w.state()).objectives.fall_off.weight, 0.0);
    assert!(w.query_by_label("Fall-off per mm").is_none());
    assert!(steps(w.state()) > done_then);
    w.get_by_label("Add objective").click();
    w.run_steps(3);
    w.get_by_label("Fall-off round targets").click();
    w.run_steps(3);
    assert_eq!(
        plan(w.state()).objectives.fall_off,
        before_fall_off,
        "the usual one is back"
    );
    at_rest(&mut w);
    while steps(w.state()) > done {
        w.state_mut().command(Command::Undo);
    }
    at_rest(&mut w);
    assert_eq!((plan(w.state()), steps(w.state())), (before, done));
}

#[test]
fn a_brushed_limit_binds_the_map_and_one_click_clears_it() {
    let mut w = optimised("optimise_limits");
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    w.state_mut().command(Command::Select(Selection::Beam(1)));
    w.run_steps(3);
    let (before, done) = (plan(w.state()), steps(w.state()));
    w.get_by_label("Brush limits").click();
    w.run_steps(3);
    w.state_mut()
        .command(Command::ToggleMaximise(ViewKind::Bev));
    fill_in(&mut w, "Limit of the brush", "25");
    fill_in(&mut w, "Size of the limit brush", "4");
    // From the middle of the field 8 mm to the right; the view is as wide as it fits.
    let view = w.get_by_label(ViewKind::Bev.name()).rect();
    let per_mm = view.width().min(view.height()) / 260.0;
    let at = |x: f32, y: f32| view.center() + vec2(x * per_mm, -y * per_mm);
    take(&mut w, at(-1.0, 2.0));
    w.hover_at(at(3.0, 2.0));
    w.run_steps(2);
    w.hover_at(at(7.0, 2.0));
    w.run_steps(2);
    let stroke = plan(w.state()).beams[0].fluence_limits.clone();
    assert!(!stroke.is_empty(), "{}", said(&w));
    let picture = w.render().expect("a picture");
    picture
        .save(folder("optimise_limits").join("brush.png"))
        .expect("saved");
    no_button(&mut w, at(7.0, 2.0));
    at_rest(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    // The strongest beamlet of before had all monitor units of the beam: a quarter of them is allowed.
    let now = plan(w.state());
    let most_mu = 0.25 * before.beams[0].mu;
    let (beam, map) = (&now.beams[0], now.beams[0].fluence.as_ref().expect("a map"));
    assert!(!beam.fluence_limits.is_empty());
    for limit in &beam.fluence_limits {
        let mu = beam.mu * f64::from(map.values[limit.beamlet]);
        assert!(
            (limit.mu - most_mu).abs() < 1e-9 && mu < most_mu + 1e-3,
            "{mu} of {most_mu} MU"
        );
    }
    let old = before.beams[0].fluence.as_ref().expect("a map");
    let bound = |n: usize| before.beams[0].mu * f64::from(old.values[n]) > most_mu + 1.0;
    assert!(stroke.iter().any(|limit| bound(limit.beamlet)), "it binds");
    assert_eq!(
        steps(w.state()),
        done + 1,
        "a stroke and its maps are one step"
    );
    assert!(now.beams[1].fluence_limits.is_empty());
    let picture = w.render().expect("a picture");
    picture
        .save(folder("optimise_limits").join("answered.png"))
        .expect("saved");
    w.get_by_label("Clear limits").click();
    w.run_steps(2);
    assert!(plan(w.state()).beams[0].fluence_limits.is_empty());
    at_rest(&mut w);
    let freed = plan(w.state());
    let of = |plan: &Plan| {
        let map = plan.beams[0].fluence.clone().expect("a map");
        plan.beams[0].mu
            * f64::from(
                stroke
                    .iter()
                    .map(|l| map.values[l.beamlet])
                    .fold(0.0, f32::max),
            )
    };
    assert!(
        of(&freed) > most_mu + 1.0,
        "{} MU without the limit of {most_mu}",
        of(&freed)
    );
    while steps(w.state()) > done {
        w.state_mut().command(Command::Undo);
    }
    at_rest(&mut w);
    assert_eq!((plan(w.state()), steps(w.state())), (before, done));
}

#[test]
fn the_report_has_the_map_of_each_beam_and_says_what_it_is_worth() {
    let mut w = optimised("optimise_report");
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    let report = beamsight::app::gather::plan(&w.state().state).expect("a report");
    let maps = report
        .beams
        .iter()
        .map(|beam| beam.map.as_ref().map(|map| map.fluence.clone()));
    assert!(
        maps.eq(plan(w.state())
            .beams
            .iter()
            .map(|beam| beam.fluence.clone()))
    );
    assert!(
        report
            .reservation
            .as_ref()
            .is_some_and(|why| why.contains("fluence, not deliverable"))
    );
    let pages = |report: &PlanReport| {
        let path = folder("optimise_report").join("plan.pdf");
        beamsight::report::plan::write(report, &path).expect("a report");
        let pdf = std::fs::read(&path).expect("a file");
        let image = b"/Subtype /Image";
        pdf.windows(image.len())
            .filter(|part| part == image)
            .count()
    };
    let mut bare = report.clone();
    bare.beams.iter_mut().for_each(|beam| beam.map = None);
    assert_eq!(
        pages(&bare),
        5,
        "outlines stand in the apertures all the same"
    );
    bare.outlines.clear();
    assert_eq!(
        [pages(&bare), pages(&report)],
        [3, 5],
        "three planes, and two maps"
    );
}

/// The greatest dose outside the target stands below the objectives, and a click goes there; what is done unasked is told.
#[test]
fn the_hottest_place_outside_the_targets_is_one_click_away() {
    let mut w = planned("fluence_hottest");
    let mut normalised = plan(w.state());
    normalised.normalisation = Some(Normalisation::of_target("PTV", None));
    edit(
        &mut w,
        Edit::SetPlan {
            plan: 0,
            value: normalised,
        },
    );
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    at_rest(&mut w);
    assert!(plan(w.state()).normalisation.is_none());
    assert!(
        said(&w).contains("the normalisation of the plan is taken out"),
        "{}",
        said(&w)
    );
    show_goals(&mut w);
    w.run_steps(3);
    let spot = w
        .state()
        .state
        .optimise
        .view()
        .latest()
        .expect("an answer")
        .hottest_outside
        .expect("a look at it");
    let label = format!(
        "Outside the targets up to {:.2} Gy ({:.0} %)",
        spot.gy,
        50.0 * spot.gy
    );
    click(&mut w, &label);
    w.run_steps(3);
    assert_eq!(w.state().state.crosshair_mm, spot.at_mm);
}
