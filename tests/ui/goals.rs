//! Goals while planning: the scorecard beside the DVHs, changed from lists, and the same goals in Compare.

use crate::harness::{Window, case_on_a_couch, folder, small_case, until, window};
use beamsight::analysis::{GoalRow, Side, Verdict};
use beamsight::app::command::Command;
use beamsight::app::feature::compare::state::Source;
use beamsight::app::feature::goals::command::GoalAction;
use beamsight::app::state::Workspace;
use beamsight::app::{App, Options};
use beamsight::case::{Edit, Goal};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;

/// The small case with a dose of some Gy; its only structure is the body, a cube of water of 64 cm3.
fn planned(name: &str) -> Window {
    planned_on(small_case(name))
}

/// The same of a case of the harness with one structure.
fn planned_on(case: Options) -> Window {
    let mut w = window(case);
    settled(&mut w);
    // The point source of the small case has no calibration: its doses are far below a Gy.
    let mut plan = (**w.state().state.plan().expect("a plan")).clone();
    plan.machine = "generic-6mv".to_owned();
    plan.beams[0].mu = 1000.0;
    w.state_mut().command(Command::Edit {
        edit: Edit::SetPlan {
            plan: 0,
            value: plan,
        }
        .into(),
        gesture: None,
    });
    settled(&mut w);
    w
}

fn settled(w: &mut Window) {
    w.run_steps(2);
    until(w, "DVHs", |app| {
        app.is_settled() && app.state.results.dvh(1).is_some()
    });
}

fn set(w: &mut Window, goals: &[&str]) {
    let goals: Vec<Goal> = goals
        .iter()
        .map(|words| words.parse().expect("a goal"))
        .collect();
    w.state_mut().command(Command::Edit {
        edit: Edit::SetGoals(goals).into(),
        gesture: None,
    });
    w.state_mut()
        .command(Command::Goals(GoalAction::InPlaceOfMetrics(true)));
    settled(w);
}

fn texts(app: &App) -> Vec<String> {
    app.state.goals().iter().map(Goal::to_string).collect()
}

fn body(app: &App) -> String {
    app.state.case().structures.structures[0].name.clone()
}

fn told(rows: &[GoalRow]) -> Vec<&'static str> {
    rows.iter()
        .map(|row| {
            row.answer
                .as_ref()
                .map_or_else(|why| why.short(), |o| o.verdict.word())
        })
        .collect()
}

/// Chooses an entry of a list: its last widget of that name is in the list that is open.
fn choose(w: &mut Window, list: &str, entry: &str) {
    w.get_by_label(list).click();
    w.run_steps(3);
    w.get_all_by_label(entry).last().expect("an entry").click();
    w.run_steps(3);
}

#[test]
fn the_scorecard_says_pass_near_fail_and_what_has_no_value_and_counts_what_is_met() {
    let mut w = planned("goals_verdicts");
    let mean = w.state().state.results.dvh(1).expect("a DVH").mean_gy();
    let body = body(w.state());
    let goals = [
        format!("{body}: Dmean <= {:.3} Gy", mean + 1.0),
        format!("{body}: Dmean <= {:.3} Gy (tolerance 1 Gy)", mean - 0.5),
        format!("{body}: Dmean >= {:.3} Gy (priority 2)", mean + 2.0),
        "Nowhere: Dmax <= 1000 Gy (priority 3)".to_owned(),
        format!("{body}: V95% >= 0 % (priority 3)"),
    ];
    set(&mut w, &goals.each_ref().map(String::as_str));
    let rows = w.state().state.scorecard();
    // Without a prescription nothing is percent of it, whatever the isodoses show.
    assert_eq!(
        told(&rows),
        ["pass", "near", "fail", "no structure", "no value"]
    );
    let margin = |n: usize| rows[n].answer.as_ref().expect("a value").margin;
    assert!(
        (margin(0) - 1.0).abs() < 0.01
            && (margin(1) + 0.5).abs() < 0.01
            && (margin(2) + 2.0).abs() < 0.01
    );
    for text in [
        "1 of 5 met, 2 undecided",
        "+ pass",
        "≈ near",
        "× fail",
        "? no structure",
        "? no value",
    ] {
        assert!(w.query_all_by_label(text).count() >= 1, "{text} is written");
    }
    assert!(
        w.query_all_by_label("1.00 Gy below").count() >= 1,
        "the distance is written"
    );
    // A structure that is hidden is held to its goals as well.
    w.state_mut().command(Command::ShowStructure {
        number: 1,
        shown: false,
    });
    until(&mut w, "DVH of a hidden structure", |app| {
        app.is_settled() && told(&app.state.scorecard())[0] == "pass"
    });
}

#[test]
fn a_goal_is_added_changed_moved_and_removed_from_lists_and_each_is_a_step() {
    let mut w = planned("goals_lists");
    let body = body(w.state());
    assert!(w.state().state.goals_are_usual());
    w.get_by_label("Goals").click();
    w.run_steps(3);
    w.get_by_label("Add goal").click();
    w.run_steps(3);
    assert_eq!(texts(w.state()), [format!("{body}: Dmax <= 50 Gy")]);
    choose(&mut w, "Goal metric", "V20Gy");
    assert_eq!(texts(w.state()), [format!("{body}: V20Gy <= 50 %")]);
    choose(&mut w, "Goal unit", "cc");
    choose(&mut w, "Goal sign", ">=  at least");
    assert_eq!(texts(w.state()), [format!("{body}: V20Gy >= 50 cc")]);
    for (field, text) in [
        ("Goal limit", "12.5"),
        ("Goal number", "7"),
        ("Goal tolerance", "2"),
        ("Goal priority", "3"),
    ] {
        w.get_by_label(field).click();
        w.run_steps(2);
        w.key_press_modifiers(Modifiers::COMMAND, Key::A);
        w.get_by_label(field).type_text(text);
        w.run_steps(2);
        w.key_press(Key::Enter);
        w.run_steps(3);
    }
    assert_eq!(
        texts(w.state()),
        [format!(
            "{body}: V7Gy >= 12.5 cc (tolerance 2 cc, priority 3)"
        )]
    );
    w.state_mut().command(Command::Undo);
    w.run_steps(2);
    assert_eq!(
        texts(w.state()),
        [format!("{body}: V7Gy >= 12.5 cc (tolerance 2 cc)")]
    );
    w.state_mut().command(Command::Redo);
    // The typed form stays.
    w.get_by_label("New goal").focus();
    w.run_steps(2);
    w.get_by_label("New goal")
        .type_text(&format!("{body}: D95% >= 1 Gy (priority 4)"));
    w.run_steps(2);
    w.key_press(Key::Enter);
    w.run_steps(3);
    let order = |app: &App| -> Vec<String> {
        app.state
            .scorecard()
            .iter()
            .map(|row| row.goal.metric().to_string())
            .collect()
    };
    assert_eq!(order(w.state()), ["V7Gy", "D95%"]);
    w.get_by_label("Goal down").click();
    w.run_steps(2);
    w.get_by_label("Goal down").click();
    w.run_steps(2);
    assert_eq!(
        order(w.state()),
        ["D95%", "V7Gy"],
        "moved down a priority, then behind its neighbour"
    );
    w.get_by_label("Remove goal").click();
    w.run_steps(3);
    assert_eq!(
        texts(w.state()),
        [format!("{body}: D95% >= 1 Gy (priority 4)")]
    );
    // Nonsense is told beside the field.
    w.state_mut()
        .command(Command::Goals(GoalAction::AddTyped("Cord: Dmax".into())));
    w.run_steps(2);
    assert!(
        w.query_all_by_label_contains("a goal is a structure, a colon")
            .count()
            == 1
    );
    assert_eq!(w.state().state.goals().len(), 1);
}

#[test]
fn goals_follow_the_gantry_and_say_while_the_dose_is_not_final() {
    let mut w = planned("goals_drag");
    let body = body(w.state());
    let goal = format!("{body}: Dmean <= 100 Gy");
    set(&mut w, &[&goal]);
    assert_eq!(
        w.state().state.goal_reservation(),
        None,
        "the dose is final"
    );
    assert!(w.query_all_by_label_contains("STALE").count() == 0);
    let before = w.state().state.scorecard()[0]
        .answer
        .clone()
        .expect("a value")
        .value;
    // In the frame of the change the value is that of the earlier state, and says so.
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg: 45.0,
        gesture: None,
    });
    let reservation = w
        .state()
        .state
        .goal_reservation()
        .expect("the dose is not that of this gantry angle");
    assert!(
        reservation.contains("STALE") || reservation.contains("PREVIEW"),
        "{reservation}"
    );
    let rows = w.state().state.scorecard();
    assert_eq!(
        told(&rows),
        ["undecided"],
        "neither the earlier state nor a preview decides"
    );
    assert!(
        rows[0]
            .verdict_text()
            .starts_with("undecided, the dose is "),
        "{}",
        rows[0].verdict_text()
    );
    w.step();
    assert!(
        w.query_all_by_label_contains(" · ").count() >= 1
            || w.state().state.goal_reservation().is_none(),
        "the row says it"
    );
    settled(&mut w);
    until(&mut w, "final dose", |app| {
        app.state.goal_reservation().is_none()
    });
    let after = w.state().state.scorecard()[0]
        .answer
        .clone()
        .expect("a value")
        .value;
    assert!(
        (after - before).abs() > 1e-4,
        "{after} Gy at 45 degrees, {before} Gy at 0"
    );
    // A plan that cannot be computed meets nothing.
    let mut plan = (**w.state().state.plan().expect("a plan")).clone();
    plan.machine = "no-such-machine".to_owned();
    w.state_mut().command(Command::Edit {
        edit: Edit::SetPlan {
            plan: 0,
            value: plan,
        }
        .into(),
        gesture: None,
    });
    until(&mut w, "failure", |app| {
        app.is_settled() && told(&app.state.scorecard()) == ["no dose"]
    });
}

/// A sheet of water of 1 cm before a cube, outside its body: it changes the mean by some percent, which turns one goal of two.
#[test]
fn goals_that_matter_outside_the_body_cannot_turn_are_decided() {
    let mut w = planned_on(case_on_a_couch("goals_outside"));
    let body = body(w.state());
    set(&mut w, &[&format!("{body}: Dmean <= 100 Gy")]);
    let is_decided = |app: &App| app.is_settled() && told(&app.state.scorecard()) == ["pass"];
    until(&mut w, "a decided goal", is_decided);
    let row = w.state().state.scorecard().remove(0);
    let value = row.answer.expect("a value").value;
    let words = " Gy with the matter outside the body counted";
    let counted: f64 = row
        .remarks
        .iter()
        .find_map(|r| r.strip_suffix(words)?.parse().ok())
        .expect("a value with it");
    assert!(
        (0.01..0.25).contains(&(counted / value - 1.0).abs()),
        "{counted} of {value} Gy"
    );
    assert!(
        w.state()
            .state
            .goal_reservation()
            .is_some_and(|said| said.contains("PARTIAL"))
    );
    set(
        &mut w,
        &[&format!(
            "{body}: Dmean >= {:.3} Gy",
            0.5 * (value + counted)
        )],
    );
    let is_turned = |app: &App| {
        let text = app.state.scorecard()[0].verdict_text();
        app.is_settled() && text.starts_with("undecided, ") && text.contains(&format!("{words}: "))
    };
    until(&mut w, "a goal that it turns", is_turned);
}

#[test]
fn goals_follow_a_renamed_structure_and_never_pass_without_one() {
    let mut w = planned("goals_rename");
    let goal = format!("{}: Dmax >= 0 Gy", body(w.state()));
    set(&mut w, &[&goal]);
    let mut value = w.state().state.case().structures.structures[0].clone();
    value.name = "Outline".to_owned();
    w.state_mut().command(Command::Edit {
        edit: Edit::SetStructure { index: 0, value }.into(),
        gesture: None,
    });
    settled(&mut w);
    assert_eq!(texts(w.state()), ["Outline: Dmax >= 0 Gy"]);
    assert_eq!(told(&w.state().state.scorecard()), ["pass"]);
    w.state_mut().command(Command::Edit {
        edit: Edit::RemoveStructure { index: 0 }.into(),
        gesture: None,
    });
    w.run_steps(3);
    assert_eq!(told(&w.state().state.scorecard()), ["no structure"]);
    assert!(w.query_all_by_label("0 of 1 met, 1 undecided").count() >= 1);
}

#[test]
fn templates_are_loaded_with_their_unmatched_structures_and_saved() {
    let mut w = planned("goals_template");
    let body = body(w.state());
    let goal = format!("{body}: Dmean <= 3 Gy (priority 2)");
    set(&mut w, &[&goal]);
    let path = folder("goals_template").join("mine.toml");
    let _ = std::fs::remove_file(&path);
    let here = path.clone();
    w.state_mut().set_dialog(std::sync::Arc::new(move |_| {
        beamsight::app::Picked::Path(here.clone())
    }));
    w.get_by_label("Templates").click();
    w.run_steps(3);
    w.get_by_label("Save as template…").click();
    until(&mut w, "the file", |_| path.exists());
    w.state_mut().command(Command::Goals(GoalAction::RemoveAll));
    w.run_steps(2);
    assert!(
        w.state().state.goals().is_empty(),
        "an empty list is the user's own"
    );
    w.get_by_label("Templates").click();
    w.run_steps(3);
    w.get_by_label("Load template…").click();
    until(&mut w, "the goals", |app| !app.state.goals().is_empty());
    assert_eq!(texts(w.state()), std::slice::from_ref(&goal));
    w.get_by_label("Templates").click();
    w.run_steps(3);
    w.get_by_label("Thorax, QUANTEC").click();
    w.run_steps(3);
    let said = crate::harness::said(&w);
    assert!(
        said.contains("no structure for SpinalCord, Lungs, Heart, Pericardium, Esophagus"),
        "{said}"
    );
    assert_eq!(
        told(&w.state().state.scorecard())
            .iter()
            .filter(|t| **t == "no structure")
            .count(),
        8
    );
    w.state_mut().command(Command::Undo);
    assert_eq!(texts(w.state()), [goal], "a template is one step");
}

#[test]
fn compare_has_the_goals_of_the_plan_for_a_and_b() {
    let mut w = planned("goals_compare");
    let mean = w.state().state.results.dvh(1).expect("a DVH").mean_gy();
    let goal = format!("{}: Dmean <= {:.3} Gy", body(w.state()), mean * 1.5);
    set(&mut w, &[&goal]);
    // B is A with twice the monitor units.
    let mut plan = (**w.state().state.plan().expect("a plan")).clone();
    plan.name = "Twice".to_owned();
    plan.beams[0].mu *= 2.0;
    w.state_mut().command(Command::Edit {
        edit: Edit::AddPlan(plan).into(),
        gesture: None,
    });
    let mut compare = w.state().state.compare.clone();
    compare.sides = [Some(Source::Plan(0)), Some(Source::Plan(1))];
    w.state_mut().command(Command::Compare(compare));
    w.state_mut()
        .command(Command::Workspace(Workspace::Compare));
    until(&mut w, "both", |app| {
        app.is_settled()
            && app.state.results.side_dvhs_current()
            && app.state.results.pair().is_some()
    });
    let verdict = |app: &App, side| {
        app.state.side_scorecard(side)[0]
            .answer
            .clone()
            .expect("a value")
            .verdict
    };
    assert_eq!(verdict(w.state(), Side::A), Verdict::Pass);
    assert_eq!(verdict(w.state(), Side::B), Verdict::Fail);
    assert!(w.query_all_by_label("lost in B").count() == 1);
    assert!(
        w.query_all_by_label(&goal).count() >= 1,
        "the goal is in the list of Compare"
    );
    w.get_by_label("Remove goal 1").click();
    w.run_steps(3);
    assert!(w.state().state.goals().is_empty());
    w.state_mut().command(Command::Workspace(Workspace::Plan));
    w.run_steps(2);
    assert!(
        w.state().state.scorecard().is_empty(),
        "and in the Plan workspace as well"
    );
}

#[test]
fn the_report_of_the_plan_has_its_pictures_and_says_on_every_page_what_is_not_final() {
    let mut w = planned("goals_report");
    let goal = format!("{}: Dmean <= 100 Gy", body(w.state()));
    set(&mut w, &[&goal]);
    let report = beamsight::app::gather::plan(&w.state().state).expect("a report");
    assert_eq!(report.reservation, None, "the dose is final");
    assert_eq!(
        (report.met().as_str(), report.beams.len()),
        ("1 of 1 met", 1)
    );
    assert_eq!(report.beams[0].start.jaws.x, [-10.0, 10.0]);
    let path = folder("goals_report").join("plan.pdf");
    let _ = std::fs::remove_file(&path);
    let here = path.clone();
    w.state_mut().set_dialog(std::sync::Arc::new(move |_| {
        beamsight::app::Picked::Path(here.clone())
    }));
    w.state_mut()
        .command(Command::Select(beamsight::app::state::Selection::Plan));
    w.run_steps(3);
    w.get_by_label("Report…").click();
    until(&mut w, "the report", |app| {
        path.exists() && app.is_settled()
    });
    let pdf = std::fs::read(&path).expect("a file");
    let count = |what: &[u8]| pdf.windows(what.len()).filter(|part| *part == what).count();
    assert!(
        pdf.starts_with(b"%PDF-") && count(b"/Subtype /Image") == 4,
        "axial, sagittal, coronal, room"
    );
    // In the frame of a change the report is not of the plan as it stands.
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg: 45.0,
        gesture: None,
    });
    let report = beamsight::app::gather::plan(&w.state().state).expect("a report");
    let why = report.reservation.expect("a reservation");
    assert!(why.contains("STALE") || why.contains("PREVIEW"), "{why}");
    let mut plan = (**w.state().state.plan().expect("a plan")).clone();
    plan.machine = "no-such-machine".to_owned();
    w.state_mut().command(Command::Edit {
        edit: Edit::SetPlan {
            plan: 0,
            value: plan,
        }
        .into(),
        gesture: None,
    });
    until(&mut w, "failure", |app| {
        app.is_settled() && app.state.results.shown_failure().is_some()
    });
    let report = beamsight::app::gather::plan(&w.state().state).expect("a report");
    assert!(
        report
            .reservation
            .as_deref()
            .is_some_and(|why| why.contains("no dose"))
            && report.dose.is_none()
    );
    assert_eq!(report.met(), "0 of 1 met, 1 undecided");
}

/// Goals are typed one after another: the letters of the second are no shortcuts.
#[test]
fn after_enter_the_next_goal_is_typed_where_the_last_was() {
    let mut w = planned("goals_enter");
    let body = body(w.state());
    let display = w.state().state.dose_display.clone();
    w.get_by_label("Goals").click();
    w.run_steps(3);
    w.get_by_label("New goal").focus();
    w.run_steps(2);
    let mut typed = Vec::new();
    for limit in [40, 50] {
        let goal = format!("{body}: Dmax <= {limit} Gy");
        w.get_by_label("New goal").type_text(&goal);
        w.run_steps(2);
        w.key_press(Key::Enter);
        w.run_steps(3);
        for key in [Key::L, Key::D, Key::B] {
            w.key_press(key);
            w.run_steps(1);
        }
        assert_eq!(
            w.state().state.dose_display,
            display,
            "colours and lines are as they were"
        );
        typed.push(goal);
    }
    assert!(
        typed.iter().all(|goal| texts(w.state()).contains(goal)),
        "{:?}",
        texts(w.state())
    );
    // A refused one stays where it can be mended.
    w.get_by_label("New goal")
        .type_text(&format!("{body}: Dmax"));
    w.run_steps(2);
    w.key_press(Key::Enter);
    w.run_steps(3);
    assert_eq!(w.state().state.goal_editor.draft, format!("{body}: Dmax"));
    w.get_by_label("New goal").type_text(" <= 45 Gy");
    w.run_steps(2);
    w.key_press(Key::Enter);
    w.run_steps(3);
    assert!(
        texts(w.state()).contains(&format!("{body}: Dmax <= 45 Gy")),
        "{:?}",
        texts(w.state())
    );
}

/// As a typed goal does, a template adds to the goals on show.
#[test]
fn the_first_template_leaves_the_usual_goals_of_the_target() {
    let mut w = planned("goals_first_template");
    let target = w.state().state.case().structures.structures[0].clone();
    let value = beamsight::case::Structure {
        kind: beamsight::case::StructureKind::Ptv,
        ..target
    };
    w.state_mut().command(Command::Edit {
        edit: Edit::SetStructure { index: 0, value }.into(),
        gesture: None,
    });
    let mut plan = (**w.state().state.plan().expect("a plan")).clone();
    plan.prescription_gy = Some(2.0);
    w.state_mut().command(Command::Edit {
        edit: Edit::SetPlan {
            plan: 0,
            value: plan,
        }
        .into(),
        gesture: None,
    });
    w.run_steps(3);
    let usual = texts(w.state());
    assert!(!usual.is_empty() && w.state().state.goals_are_usual());
    w.state_mut()
        .command(Command::Goals(GoalAction::Template("quantec-thorax")));
    w.run_steps(3);
    let now = texts(w.state());
    assert!(
        now.len() > usual.len() && usual.iter().all(|goal| now.contains(goal)),
        "{usual:?} {now:?}"
    );
}

/// A typed name means the structure that it can only mean, the tabulator completes it, and nonsense stays in the field.
#[test]
fn typed_goals_are_matched_completed_and_refused_at_the_field() {
    let mut w = planned("goals_typed");
    let mut value = w.state().state.case().structures.structures[0].clone();
    (value.name, value.kind) = ("PTV-1".to_owned(), beamsight::case::StructureKind::Ptv);
    w.state_mut().command(Command::Edit {
        edit: Edit::SetStructure { index: 0, value }.into(),
        gesture: None,
    });
    w.state_mut()
        .command(Command::Goals(GoalAction::InPlaceOfMetrics(true)));
    settled(&mut w);
    let enter = |w: &mut Window, text: &str| {
        w.state_mut()
            .command(Command::Goals(GoalAction::Draft(String::new())));
        w.run_steps(2);
        crate::harness::fill_in(w, "New goal", text);
    };
    enter(&mut w, "PTV: D95% >= 57 Gy");
    assert_eq!(texts(w.state()), ["PTV-1: D95% >= 57 Gy"]);
    for (text, why) in [
        (
            "Liver: Dmean <= 20 Gy",
            "no structure of the case is called 'Liver'",
        ),
        ("PTV: V20Gy <= 130 %", "the limit of V20Gy is at most 100 %"),
        (
            "PTV: Dmax <= 45000 Gy",
            "the limit of Dmax is at most 1000 Gy",
        ),
        ("PTV: Dmax <= NaN Gy", "no limit"),
    ] {
        enter(&mut w, text);
        assert!(w.query_by_label_contains(why).is_some(), "{text}");
        assert_eq!(
            w.state().state.goal_editor.draft,
            text,
            "it stays to be corrected"
        );
        assert_eq!(w.state().state.goals().len(), 1);
    }
    w.state_mut()
        .command(Command::Goals(GoalAction::Draft(String::new())));
    w.run_steps(2);
    w.get_by_label("New goal").focus();
    w.run_steps(2);
    w.get_by_label("New goal").type_text("pt");
    w.run_steps(3);
    assert!(w.query_by_label("Complete PTV-1").is_some());
    w.key_press(Key::Tab);
    w.run_steps(3);
    assert_eq!(w.state().state.goal_editor.draft, "PTV-1: ");
    w.get_by_label("Complete Dmax").click();
    w.run_steps(3);
    assert_eq!(w.state().state.goal_editor.draft, "PTV-1: Dmax ");
    w.get_by_label("New goal").type_text("<= 64 Gy");
    w.run_steps(2);
    w.key_press(Key::Enter);
    w.run_steps(3);
    assert_eq!(
        texts(w.state()),
        ["PTV-1: D95% >= 57 Gy", "PTV-1: Dmax <= 64 Gy"]
    );
}

/// The usual goals of the target stay when a template is added, also before the plan has a prescription.
#[test]
fn a_template_adds_to_the_goals_of_the_target() {
    let mut w = planned("goals_template_target");
    let mut value = w.state().state.case().structures.structures[0].clone();
    (value.name, value.kind) = ("PTV".to_owned(), beamsight::case::StructureKind::Ptv);
    w.state_mut().command(Command::Edit {
        edit: Edit::SetStructure { index: 0, value }.into(),
        gesture: None,
    });
    assert!(
        w.state().state.goals_are_usual() && w.state().state.goals().is_empty(),
        "no prescription"
    );
    w.state_mut()
        .command(Command::Goals(GoalAction::Template("quantec-thorax")));
    w.run_steps(2);
    assert_eq!(
        texts(w.state())[..2],
        ["PTV: D95% >= 95 %", "PTV: D2% <= 107 %"]
    );
    assert!(w.state().state.goals().len() > 5);
    w.state_mut().command(Command::Undo);
    assert!(w.state().state.goals_are_usual(), "one step");
}

#[test]
fn rows_without_a_value_stand_below_each_other() {
    let mut w = planned("goals_rows");
    let goals = [
        "Nowhere: Dmax <= 10 Gy",
        "Nowhere: Dmean <= 5 Gy",
        "Nobody: V20Gy <= 30 %",
    ];
    set(&mut w, &goals);
    let rows = goals.map(|goal| w.get_by_label(&format!("Goal {goal}")).rect());
    assert!(
        rows.windows(2).all(|two| two[1].top() >= two[0].bottom()),
        "{rows:?}"
    );
}
