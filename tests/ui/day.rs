//! A planner's morning, as the guide tells it: from a CT with a GTV and no plan to a plan that is saved, lost, recovered,
//! compared and reported, by mouse and keys alone.
//!
//! The picture of each step lies in the folder of the tests' files; those of `assets/guide/steps` are made of them.

use crate::common::patient_case;
use crate::harness::{Window, click, fill_in, folder, until, window};
use beamsight::analysis::Verdict;
use beamsight::app::command::Command;
use beamsight::app::feature::plan::command::PlanAction;
use beamsight::app::state::results::Shown;
use beamsight::app::state::{Selection, Workspace};
use beamsight::app::{App, Options, Picked};
use beamsight::case::{DoseStatus, Edit, Structure, StructureKind};
use eframe::egui::{Key, Pos2, vec2};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whose morning it is.
#[derive(Clone, Copy)]
struct Patient {
    name: &'static str,
    gtv: &'static str,
    ptv: &'static str,
    goals: &'static [&'static str],
    /// Status of the dose on its grid, once all of it is counted.
    computed: DoseStatus,
}

const DEMO: Patient = Patient {
    name: "day",
    gtv: "GTV",
    ptv: "PTV",
    goals: &[
        "PTV: D95% >= 60 Gy",
        "SpinalCord: Dmax <= 50 Gy",
        "Heart: V25Gy <= 10 %",
        "Lung_L: Dmean <= 10 Gy",
    ],
    computed: DoseStatus::Final,
};

/// A real CT, its couch behind the patient, on a coarse grid.
const LUNG: Patient = Patient {
    name: "day_lung",
    gtv: "GTV-1",
    ptv: "PTV-1",
    goals: &[
        "PTV-1: D95% >= 60 Gy",
        "Spinal-Cord: Dmax <= 50 Gy",
        "Lung-Right: Dmean <= 12 Gy",
        "Lung-Left: V20Gy <= 45 %",
    ],
    computed: DoseStatus::Coarse,
};

impl Patient {
    fn is_computed(self) -> impl Fn(&App) -> bool {
        move |app| app.state.results.shown_status() == Some(self.computed) && app.is_settled()
    }

    fn folder(self) -> PathBuf {
        folder(self.name)
    }
}

/// Chooses an entry of a list or menu: its last widget of that name is in the one that is open.
fn choose(w: &mut Window, list: &str, entry: &str) {
    click(w, list);
    w.get_all_by_label(entry).last().expect("an entry").click();
    w.run_steps(4);
}

fn picture(w: &mut Window, of: Patient, step: &str) {
    w.run_steps(4);
    w.render()
        .expect("a picture")
        .save(of.folder().join(format!("{step}.png")))
        .expect("saved");
}

fn named<'a>(app: &'a App, name: &str) -> &'a Structure {
    app.state
        .case()
        .structures
        .by_name(name)
        .unwrap_or_else(|| panic!("{name} is there"))
}

fn points_mm(structure: &Structure) -> Vec<DVec3> {
    structure
        .contours
        .iter()
        .flat_map(|c| c.points_mm.iter().copied())
        .collect()
}

fn cm3(w: &Window, name: &str) -> f64 {
    w.state()
        .state
        .results
        .volume_cm3(named(w.state(), name).number)
        .expect("a volume")
}

fn select(w: &mut Window, name: &str) {
    let number = named(w.state(), name).number;
    w.state_mut()
        .command(Command::Select(Selection::Structure(number)));
    w.run_steps(4);
}

/// The CT of `demo:thorax` with its contours but for the PTV, and no plan.
fn begun(state: &Path) -> Window {
    let mut w = window(Options {
        case: Some("demo:thorax".to_owned()),
        state_folder: Some(state.to_owned()),
        ..Options::default()
    });
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.state.plan().is_some()
    });
    w.set_size(vec2(1600.0, 1000.0));
    w.run_steps(2);
    w.state_mut().command(Command::Plans(PlanAction::Remove(0)));
    let ptv = w
        .state()
        .state
        .case()
        .structures
        .structures
        .iter()
        .position(|s| s.name == "PTV");
    w.state_mut().command(Command::Edit {
        edit: Edit::RemoveStructure {
            index: ptv.expect("a PTV"),
        }
        .into(),
        gesture: None,
    });
    until(&mut w, "rest", App::is_settled);
    w
}

fn grow_a_ptv(w: &mut Window, of: Patient) {
    select(w, of.gtv);
    let gtv_cm3 = cm3(w, of.gtv);
    click(w, &format!("Create {}", of.ptv));
    until(w, "PTV", |app| {
        app.state.case().structures.by_name(of.ptv).is_some() && app.is_settled()
    });
    assert_eq!(named(w.state(), of.ptv).kind, StructureKind::Ptv);
    assert!(cm3(w, of.ptv) > 1.5 * gtv_cm3);
    let points = points_mm(named(w.state(), of.gtv));
    let centre = points.iter().sum::<DVec3>() / points.len() as f64;
    w.state_mut().command(Command::CentreOn(centre));
    w.run_steps(3);
    picture(w, of, "1-ptv");
}

/// A stroke on the PTV's rim, at the crosshair's plane.
fn correct_it(w: &mut Window, of: Patient) {
    let before = cm3(w, of.ptv);
    click(w, "Brush");
    let middle = w.get_by_label("Axial").rect().center();
    let under = |w: &mut Window, place: Pos2| {
        w.hover_at(place);
        w.run_steps(3);
        w.state()
            .state
            .pointer_mm
            .expect("the pointer is over the view")
    };
    let (here, there) = (under(w, middle), under(w, middle + vec2(100.0, 0.0)));
    let points_per_mm = 100.0 / (there.x - here.x);
    let at = |x_mm: f64, y_mm: f64| {
        middle
            + vec2(
                ((x_mm - here.x) * points_per_mm) as f32,
                ((y_mm - here.y) * points_per_mm) as f32,
            )
    };
    let plane = w.state().state.crosshair_mm;
    let on_plane = points_mm(named(w.state(), of.ptv))
        .into_iter()
        .filter(|p| (p.z - plane.z).abs() < 2.0);
    let right = on_plane.map(|p| p.x).fold(f64::MIN, f64::max);
    let way = [
        at(right, plane.y - 8.0),
        at(right + 3.0, plane.y),
        at(right, plane.y + 8.0),
    ];
    w.hover_at(way[0]);
    w.run_steps(1);
    w.drag_at(way[0]);
    for place in &way[1..] {
        w.hover_at(*place);
        w.run_steps(1);
    }
    picture(w, of, "2-brush");
    w.drop_at(way[2]);
    w.key_press(Key::Escape);
    until(w, "volume", App::is_settled);
    assert!(cm3(w, of.ptv) > before, "{} {before}", cm3(w, of.ptv));
}

fn plan_five_fields(w: &mut Window, of: Patient) {
    click(w, "New plan");
    choose(w, "Add beams", "5 equispaced beams");
    until(w, "dose", |app| {
        app.is_settled() && app.state.results.shown_status().is_some()
    });
    if w.query_by_label("Count it as scanned").is_some() {
        // The couch of a real CT.
        assert_eq!(
            w.state().state.results.shown_status(),
            Some(DoseStatus::Partial)
        );
        picture(w, of, "3-couch");
        click(w, "Count it as scanned");
    }
    until(w, "whole dose", of.is_computed());
    let plan = w.state().state.plan().expect("a plan").clone();
    assert_eq!(plan.beams.len(), 5);
    assert!(
        plan.beams
            .iter()
            .all(|b| b.mlc.is_some() && b.isocentre_mm == plan.beams[0].isocentre_mm)
    );
    picture(w, of, "3-fields");
    w.state_mut().command(Command::Select(Selection::Plan));
    w.run_steps(4);
    assert_eq!(
        (plan.prescription_gy, plan.fractions),
        (Some(60.0), 30),
        "what a new plan begins with"
    );
    let to = plan.normalisation.as_ref().and_then(|n| n.structure());
    assert_eq!(
        to.map(|(name, _)| name),
        Some(of.ptv),
        "normalised to the target from the start"
    );
    let ptv = named(w.state(), of.ptv).number;
    let d95_gy = w
        .state()
        .state
        .results
        .dvh(ptv)
        .expect("a DVH")
        .dose_at_percent(95.0);
    assert!((d95_gy - 60.0).abs() < 0.05, "{d95_gy}");
    picture(w, of, "4-normalised");
}

fn set_goals(w: &mut Window, of: Patient) {
    of.goals
        .iter()
        .for_each(|goal| fill_in(w, "New goal", goal));
    until(w, "verdicts", of.is_computed());
    let card = w.state().state.scorecard();
    let passed = card
        .iter()
        .filter(|row| {
            row.answer
                .as_ref()
                .is_ok_and(|o| o.verdict == Verdict::Pass)
        })
        .count();
    assert!(card.len() >= 4 && passed >= 3, "{passed} of {}", card.len());
    let is_final = of.computed == DoseStatus::Final;
    assert_eq!(w.state().state.goal_reservation().is_none(), is_final);
    picture(w, of, "5-goals");
}

/// The session is saved; then work goes on, and the program is killed.
fn save_and_be_killed(mut w: Window, state: &Path, out: &Path) {
    w.state_mut().command(Command::SaveSession(out.to_owned()));
    until(&mut w, "saved session", |app| {
        !app.state.is_unsaved() && app.is_settled()
    });
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg: 10.0,
        gesture: None,
    });
    let state = state.to_owned();
    until(&mut w, "kept work", move |app| {
        let files = std::fs::read_dir(state.join("unsaved"))
            .into_iter()
            .flatten()
            .flatten();
        app.is_settled() && files.count() > 0
    });
    // Dropped without closing, as after a kill.
    drop(w);
}

fn recovered(state: &Path, of: Patient) -> Window {
    let mut w = window(Options {
        state_folder: Some(state.to_owned()),
        ..Options::default()
    });
    w.set_size(vec2(1600.0, 1000.0));
    until(&mut w, "offer", |app| !app.state.recoverable.is_empty());
    picture(&mut w, of, "6-recover");
    w.get_by_label_contains("Recover ").click();
    until(&mut w, "case", |app| {
        app.state.is_loaded() && of.is_computed()(app)
    });
    let plan = w.state().state.plan().expect("a plan");
    assert_eq!(
        plan.beams[0].control_points[0].gantry_deg, 10.0,
        "the last turn too"
    );
    w
}

fn compare_and_report(w: &mut Window, of: Patient) {
    click(w, "Copy plan");
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg: 30.0,
        gesture: None,
    });
    until(w, "dose of the copy", of.is_computed());
    let first = w.state().state.case().plans[0].name.clone();
    click(w, "Compare with");
    click(w, &format!("Compare with {first}"));
    until(w, "gamma", |app| {
        app.is_settled() && app.state.results.gamma().is_some()
    });
    assert_eq!(w.state().state.workspace, Workspace::Compare);
    picture(w, of, "7-compare");
    let path = of.folder().join("plan.pdf");
    let _ = std::fs::remove_file(&path);
    let here: PathBuf = path.clone();
    w.state_mut()
        .set_dialog(Arc::new(move |_| Picked::Path(here.clone())));
    w.state_mut().command(Command::Workspace(Workspace::Plan));
    w.state_mut().command(Command::Select(Selection::Plan));
    until(w, "dose", |app| {
        of.is_computed()(app) && app.state.results.shown == Shown::Plan
    });
    click(w, "Report…");
    until(w, "the report", |app| path.exists() && app.is_settled());
    assert!(std::fs::read(&path).expect("a file").starts_with(b"%PDF-"));
}

fn morning(of: Patient, begun: impl FnOnce(&Path) -> Window) {
    let state = folder(&format!("{}_state", of.name));
    let _ = std::fs::remove_dir_all(&state);
    let mut w = begun(&state);
    grow_a_ptv(&mut w, of);
    correct_it(&mut w, of);
    plan_five_fields(&mut w, of);
    set_goals(&mut w, of);
    let out = of.folder().join("morning.json");
    let _ = std::fs::remove_file(&out);
    save_and_be_killed(w, &state, &out);
    let mut w = recovered(&state, of);
    compare_and_report(&mut w, of);
}

#[test]
fn from_a_gtv_to_a_report() {
    morning(DEMO, begun);
}

/// On a real CT, whose couch keeps the dose partial until it is counted by one click.
#[test]
fn from_the_gtv_of_a_patient_to_a_report() {
    let Some(case) = patient_case("lung1-001") else {
        return;
    };
    morning(LUNG, |state| {
        let mut w = window(Options {
            case: Some(case.display().to_string()),
            grid_mm: Some(6.0),
            state_folder: Some(state.to_owned()),
            ..Options::default()
        });
        until(&mut w, "case", |app| {
            app.state.is_loaded() && app.is_settled()
        });
        w.set_size(vec2(1600.0, 1000.0));
        w.run_steps(2);
        w
    });
}
