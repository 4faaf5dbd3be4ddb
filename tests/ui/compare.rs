//! The Compare workspace: A and B are labelled right, sliders change the pass rate, incomparable doses are
//! refused.

use crate::harness::{Window, cube_case, folder, said, until, window};
use beamsight::analysis::Side;
use beamsight::app::command::Command;
use beamsight::app::feature::compare::state::{GammaNorm, Layout, Source};
use beamsight::app::gather::comparison;
use beamsight::app::render::Isolines;
use beamsight::app::state::Workspace;
use beamsight::app::state::display::DoseReference;
use beamsight::app::state::results::Standing;
use beamsight::app::{App, CompareOptions, DoseWord, Options, Picked};
use beamsight::case::{Dose, DoseStatus, Edit, History, PatientInfo, Plan};
use beamsight::files::mha::{self, Facts, Quantity};
use beamsight::geometry::{Grid, Volume};
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Pos2, Rect, vec2};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use std::sync::Arc;

/// The Compare workspace on a cube of water of 8 cm a side.
fn compare(name: &str) -> Window {
    let mut w = window(Options {
        workspace: Workspace::Compare,
        ..cube_case(name, 16)
    });
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    w
}

/// A dose on voxels of `spacing` mm, from a function of the position.
fn dose(label: &str, spacing: f64, gy: impl Fn(DVec3) -> f64) -> Dose {
    let size = (80.0 / spacing) as usize;
    let first = DVec3::splat(-0.5 * spacing * (size as f64 - 1.0));
    let grid = Grid::axis_aligned(first, DVec3::splat(spacing), [size; 3]).expect("a grid");
    let voxels = (0..grid.len()).map(|n| (n % size, n / size % size, n / size / size));
    let data = voxels
        .map(|(i, j, k)| gy(grid.centre_mm(i, j, k)) as f32)
        .collect();
    Dose {
        gy: Arc::new(Volume::new(Arc::new(grid), data)),
        status: DoseStatus::Imported,
        label: label.to_owned(),
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats: Vec::new(),
        remarks: Vec::new(),
        part: None,
    }
}

/// Puts two doses into the case and compares them; 100 % are 10 Gy.
fn with_doses(w: &mut Window, a: Dose, b: Dose) {
    let state = &mut w.state_mut().state;
    let first = state.case().doses.len();
    for dose in [a, b] {
        state
            .history
            .apply(Edit::AddDose(Arc::new(dose)), None)
            .expect("an edit");
    }
    state.compare.sides = [Some(Source::Dose(first)), Some(Source::Dose(first + 1))];
    state.dose_display.reference = DoseReference::Typed(10.0);
    state.compare.isolines = Isolines::None;
    w.run_steps(2);
    until(w, "both doses", App::is_settled);
}

fn pass_rate(app: &App) -> Option<f64> {
    let (result, _, standing) = app.state.results.gamma()?;
    (standing == Standing::Current).then(|| result.maps[0].counts.pass_rate_percent())
}

/// Colour at a position of the window.
fn pixels(w: &mut Window) -> impl Fn(Pos2) -> [i32; 3] + use<> {
    let image = w.render().expect("a picture");
    move |at| {
        let p = image.get_pixel(at.x as u32, at.y as u32).0;
        [p[0], p[1], p[2]].map(i32::from)
    }
}

fn pane(w: &Window, name: &str) -> Rect {
    w.get_by_label(name).rect()
}

/// A second plan: the first with other monitor units.
fn second_plan(w: &mut Window, times: f64) {
    let state = &mut w.state_mut().state;
    let mut plan: Plan = (*state.case().plans[0]).clone();
    plan.name = "Second".to_owned();
    plan.beams[0].mu *= times;
    state
        .history
        .apply(Edit::AddPlan(plan), None)
        .expect("an edit");
    state.compare.sides = [Some(Source::Plan(0)), Some(Source::Plan(1))];
}

#[test]
fn two_computed_plans_differ_by_their_monitor_units_and_swapping_turns_it_round() {
    let mut w = compare("compare_plans");
    second_plan(&mut w, 1.2);
    until(&mut w, "gamma", |app| {
        pass_rate(app).is_some() && app.is_settled()
    });
    assert_eq!(said(&w), "");
    let state = &w.state().state;
    let [a, b] = Side::BOTH.map(|side| state.results.side(side).expect("a dose").clone());
    assert_eq!(
        (a.label.as_str(), b.label.as_str()),
        ("Plan Test", "Plan Second")
    );
    assert_eq!((a.status, b.status), (DoseStatus::Final, DoseStatus::Final));
    let at = |d: &Dose| f64::from(d.gy.trilinear(DVec3::new(1.0, -20.0, 2.0)).expect("inside"));
    assert!((at(&b) / at(&a) - 1.2).abs() < 1e-4);
    // The DVH's mean is updated, for any structure.
    let mean = |side| {
        state
            .results
            .side_dvh(side, 1)
            .expect("a DVH of the body")
            .mean_gy()
    };
    assert!((mean(Side::B) / mean(Side::A) - 1.2).abs() < 1e-3);
    // On the beam's axis B is higher: red.
    let axis = pane(&w, "Compare difference").center();
    let [red, _, blue] = pixels(&mut w)(axis + vec2(12.0, -12.0));
    assert!(red > blue + 40, "B higher is red: {red} {blue}");
    w.get_by_label("Swap A and B").click();
    w.run_steps(2);
    until(&mut w, "swapped", |app| {
        pass_rate(app).is_some() && app.is_settled()
    });
    assert_eq!(
        w.state().state.results.side(Side::A).expect("A").label,
        "Plan Second"
    );
    let [red, _, blue] = pixels(&mut w)(axis + vec2(12.0, -12.0));
    assert!(blue > red + 40, "B lower is blue: {red} {blue}");
}

#[test]
fn sliders_and_numbers_move_the_pass_rate() {
    let mut w = compare("compare_sliders");
    // B is A and 5 % of the maximum: gamma is 5 / criterion wherever the dose is uniform.
    with_doses(
        &mut w,
        dose("even", 4.0, |_| 10.0),
        dose("more", 4.0, |_| 10.5),
    );
    until(&mut w, "gamma", |app| pass_rate(app).is_some());
    assert_eq!(pass_rate(w.state()), Some(0.0), "3 % do not hold 5 %");
    let gamma = w.state().state.results.gamma().expect("gamma").0.maps[0]
        .gamma
        .clone();
    assert!((gamma.at(10, 10, 10) - 5.0 / 3.0).abs() < 1e-4);
    w.get_by_role_and_label(Role::Slider, "Gamma dose")
        .set_value_accesskit(6.0);
    let mut stale = false;
    until(&mut w, "new rate", |app| {
        stale |= app
            .state
            .results
            .gamma()
            .is_some_and(|(.., standing)| standing == Standing::Stale);
        pass_rate(app) == Some(100.0) && app.is_settled()
    });
    assert!(stale, "until the new one lands the old one is called stale");
    w.get_by_role_and_label(Role::Slider, "Gamma dose")
        .set_value_accesskit(4.5);
    w.run_steps(1);
    until(&mut w, "old rate", |app| {
        pass_rate(app) == Some(0.0) && app.is_settled()
    });
    // With B as the reference its maximum is the 100 % dose, 10.5 Gy.
    w.get_by_label("Reference B").click();
    w.run_steps(2);
    until(&mut w, "other way", |app| {
        pass_rate(app).is_some() && app.is_settled()
    });
    let gamma = w.state().state.results.gamma().expect("gamma").0.maps[0]
        .gamma
        .clone();
    assert!((gamma.at(10, 10, 10) - 0.5 / (0.045 * 10.5)).abs() < 1e-4);
    w.get_by_label("Reference A").click();
    w.run_steps(2);
    // The threshold excludes all points: reported, and no map is shown.
    let b = dose("less", 4.0, |p| if p.x < 0.0 { 10.0 } else { 1.0 });
    w.state_mut()
        .state
        .history
        .apply(Edit::AddDose(Arc::new(b)), None)
        .expect("an edit");
    w.state_mut().state.compare.sides = [Some(Source::Dose(2)), Some(Source::Dose(0))];
    w.run_steps(2);
    until(&mut w, "third", |app| {
        pass_rate(app).is_some() && app.is_settled()
    });
    let analysed = |app: &App| {
        app.state.results.gamma().expect("gamma").0.maps[0]
            .counts
            .analysed
    };
    let all = analysed(w.state());
    w.get_by_role_and_label(Role::Slider, "Gamma threshold")
        .set_value_accesskit(50.0);
    // Until then the result of the previous threshold may still be displayed.
    let half = |app: &App| app.state.results.gamma().is_some() && analysed(app) * 2 == all;
    until(
        &mut w,
        "half of the voxels get 10 % of the maximum",
        |app| app.is_settled() && half(app),
    );
}

/// TG-218's limits are for a measured dose: two computed ones have no verdict, nor has a preview, whatever passes. One hot voxel
/// does not loosen the criterion.
#[test]
fn a_verdict_is_given_of_a_measured_and_a_final_dose() {
    let mut w = compare("compare_verdict");
    let hot = |p: DVec3| {
        if p.distance(DVec3::splat(2.0)) < 1.0 {
            32.0
        } else {
            10.0
        }
    };
    with_doses(&mut w, dose("hot", 4.0, hot), dose("more", 4.0, |_| 10.5));
    until(&mut w, "verdict", |app| {
        app.is_settled() && app.state.gamma_verdict().is_some()
    });
    let words = |w: &Window| w.state().state.gamma_verdict().expect("a verdict").words;
    assert!(
        words(&w).contains("no verdict: the limits of AAPM TG-218 are for a measured dose"),
        "{}",
        said(&w)
    );
    let (result, ..) = w.state().state.results.gamma().expect("gamma");
    assert!(
        (result.normalisation_gy - 10.0).abs() < 1e-6,
        "{} Gy",
        result.normalisation_gy
    );
    assert_eq!(
        pass_rate(w.state()),
        Some(0.0),
        "3 % of 10 Gy do not hold 0.5 Gy"
    );
    w.get_by_label("Reference was measured").click();
    w.run_steps(2);
    assert!(
        words(&w).contains("TG-218: below the action limit (90 %)"),
        "{}",
        words(&w)
    );
    assert!(comparison(&w.state().state).is_ok_and(|report| {
        report
            .gamma
            .is_some_and(|gamma| gamma.verdict == words(&w) && gamma.normalisation.contains("D2%"))
    }));
    // The maximum is there to be chosen: 3 % of 32 Gy let all pass, and there is no verdict on that.
    w.state_mut().state.compare.gamma.norm = GammaNorm::Maximum;
    w.run_steps(2);
    let all_pass = |app: &App| pass_rate(app).is_some_and(|rate| rate > 99.0);
    until(&mut w, "maximum", |app| {
        app.is_settled() && all_pass(app) && app.state.gamma_verdict().is_some()
    });
    assert!(
        words(&w).contains("the criterion is looser than it says"),
        "{}",
        words(&w)
    );
    // A dose that is a preview.
    let preview = Dose {
        status: DoseStatus::Preview,
        ..dose("noise", 4.0, |_| 10.0)
    };
    with_doses(&mut w, dose("even", 4.0, |_| 10.0), preview);
    until(&mut w, "verdict", |app| {
        app.is_settled() && app.state.gamma_verdict().is_some()
    });
    assert_eq!(words(&w), "no verdict: B is preview");
}

#[test]
fn the_sign_tells_where_b_is_higher_from_where_it_is_lower() {
    let mut w = compare("compare_sign");
    let b = |p: DVec3| if p.x < 0.0 { 9.0 } else { 11.0 };
    with_doses(&mut w, dose("even", 4.0, |_| 10.0), dose("tilted", 4.0, b));
    w.state_mut().state.compare.layout = Layout::Gamma;
    w.get_by_label("Sign on the map").click();
    w.run_steps(2);
    let signed = |app: &App| {
        app.state
            .results
            .gamma_figures()
            .and_then(|(f, _)| f.signed.clone())
    };
    until(&mut w, "signs", |app| {
        app.is_settled() && signed(app).is_some()
    });
    let map = signed(w.state()).expect("signs");
    assert!(map.at(2, 10, 10) < -1.0 && map.at(17, 10, 10) > 1.0);
    let middle = pane(&w, "Compare gamma").center();
    let colours = pixels(&mut w);
    let [left, right] = [-60.0, 60.0].map(|x| colours(middle + vec2(x, -12.0)));
    assert!(left[2] > left[0] + 40, "B lower is blue: {left:?}");
    assert!(right[0] > right[2] + 40, "B higher is red: {right:?}");
}

#[test]
fn a_cluster_in_the_list_is_gone_to() {
    let mut w = compare("compare_cluster");
    let spot = DVec3::new(22.0, -14.0, 18.0);
    let a = dose("even", 4.0, |_| 10.0);
    with_doses(
        &mut w,
        a,
        dose(
            "spot",
            4.0,
            |p| if p.distance(spot) < 7.0 { 5.0 } else { 10.0 },
        ),
    );
    until(&mut w, "figures", |app| {
        app.state.results.gamma_figures().is_some() && app.is_settled()
    });
    let figures = w
        .state()
        .state
        .results
        .gamma_figures()
        .expect("figures")
        .0
        .clone();
    assert_eq!(figures.clusters.len(), 1);
    let (held, cluster) = &figures.clusters[0];
    assert!(cluster.worst().distance(spot) < 7.0);
    assert_eq!(*held, None, "the body alone is no place");
    w.get_by_label("1  outside structures").click();
    w.run_steps(3);
    assert_eq!(w.state().state.crosshair_mm, cluster.worst());
}

#[test]
fn every_layout_shows_a_and_b_where_it_says() {
    let mut w = compare("compare_layouts");
    // The doses are identified by their colourwash; each has its own grid.
    with_doses(
        &mut w,
        dose("high", 4.0, |_| 10.0),
        dose("low", 5.0, |_| 5.0),
    );
    let middle = |r: Rect, x: f32| r.lerp_inside(vec2(x, 0.42));
    let colour = |w: &mut Window, name: &str, x: f32| {
        let at = middle(pane(w, name), x);
        pixels(w)(at)
    };
    let a = colour(&mut w, "Compare A", 0.44);
    let b = colour(&mut w, "Compare B", 0.44);
    assert_ne!(a, b);
    let go = |w: &mut Window, layout: Layout| {
        w.get_by_label(layout.name()).click();
        w.run_steps(3);
        assert_eq!(w.state().state.compare.layout, layout);
    };
    go(&mut w, Layout::Swipe);
    assert_eq!(
        [
            colour(&mut w, "Compare swipe", 0.44),
            colour(&mut w, "Compare swipe", 0.56)
        ],
        [a, b]
    );
    // The line is dragged to the left: B replaces A there.
    let rect = pane(&w, "Compare swipe");
    w.drag_at(middle(rect, 0.5));
    w.run_steps(2);
    w.hover_at(middle(rect, 0.4));
    w.run_steps(2);
    w.drop_at(middle(rect, 0.4));
    w.run_steps(2);
    assert!((w.state().state.compare.swipe - 0.4).abs() < 0.02);
    assert_eq!(colour(&mut w, "Compare swipe", 0.44), b);
    go(&mut w, Layout::Flicker);
    assert_eq!(colour(&mut w, "Compare flicker", 0.44), a);
    w.key_down(Key::Space);
    w.run_steps(2);
    assert_eq!(colour(&mut w, "Compare flicker", 0.44), b);
    w.key_up(Key::Space);
    w.run_steps(2);
    assert_eq!(colour(&mut w, "Compare flicker", 0.44), a);
    go(&mut w, Layout::Spyglass);
    let rect = pane(&w, "Compare spyglass");
    w.hover_at(middle(rect, 0.44));
    w.run_steps(2);
    let get = pixels(&mut w);
    assert_eq!(get(middle(rect, 0.44)), b);
    assert_eq!(get(middle(rect, 0.44) + vec2(110.0, 0.0)), a);
    go(&mut w, Layout::Checkerboard);
    let rect = pane(&w, "Compare checkerboard");
    let get = pixels(&mut w);
    let square = |i: f32, j: f32| get(rect.min + vec2((i + 0.6) * 56.0, (j + 0.6) * 56.0));
    assert_eq!(
        [square(5.0, 4.0), square(6.0, 4.0), square(6.0, 5.0)],
        [b, a, b]
    );
}

#[test]
fn the_legend_of_the_difference_is_symmetric_and_colours_lie_where_the_difference_does() {
    let mut w = compare("compare_legend");
    // +8 % on the patient's left, -8 % on the right, 0 in between.
    let step = |p: DVec3| {
        10.0 + if p.x > 20.0 {
            0.8
        } else if p.x < -20.0 {
            -0.8
        } else {
            0.0
        }
    };
    with_doses(&mut w, dose("a", 4.0, |_| 10.0), dose("b", 4.0, step));
    w.get_by_label("Difference").click();
    w.run_steps(3);
    let rect = pane(&w, "Compare difference");
    let get = pixels(&mut w);
    // From the rim of the pane: 84 points of legend, 6 in, heading, caption.
    let x = rect.right() - 4.0 - 88.0 + 6.0 + 7.0;
    let top = rect.top() + 8.0 + 10.0 + 15.0 + 12.0;
    let hue = |y: f32| {
        let [r, _, b] = get(Pos2::new(x, y));
        r - b
    };
    for share in [0.05, 0.2, 0.35, 0.43] {
        let (up, down) = (hue(top + 150.0 * share), hue(top + 150.0 * (1.0 - share)));
        assert!(up > 40 && down < -40, "{share}: {up} {down}");
    }
    // The dead band is 1 of 10: 7.5 points on either side of the middle.
    for away in [-6.0, 0.0, 6.0] {
        assert!(
            hue(top + 75.0 + away).abs() < 20,
            "{away}: nothing inside the dead band"
        );
    }
    let y = rect.center().y - 60.0;
    let mm = 30.0 * rect.width().min(rect.height()) / (120.0 * 1.03);
    let at = |dx: f32| {
        let [r, _, b] = get(Pos2::new(rect.center().x + dx, y));
        r - b
    };
    assert!(
        at(mm) > 40,
        "the left of the patient is on the right: B higher"
    );
    assert!(at(-mm) < -40, "B lower");
    assert!(at(0.3 * mm).abs() < 8, "nothing between");
}

#[test]
fn what_cannot_be_compared_is_refused_and_what_is_stale_says_so() {
    let mut w = compare("compare_refused");
    let mut a = dose("a", 4.0, |_| 10.0);
    a.frame_of_reference_uid = "1.2.3".to_owned();
    let mut b = dose("b", 4.0, |_| 10.0);
    b.frame_of_reference_uid = "1.2.4".to_owned();
    with_doses(&mut w, a, b);
    let results = &w.state().state.results;
    let why = results.pair_refusal().expect("a refusal");
    assert!(
        why.contains("frames of reference") && why.contains("1.2.3") && why.contains("1.2.4"),
        "{why}"
    );
    assert!(results.pair().is_none() && results.gamma().is_none());
    // A negative dose is refused by gamma, with its name; the other comparisons work.
    let first = w.state().state.case().doses.len();
    with_doses(&mut w, dose("c", 4.0, |_| 10.0), dose("d", 4.0, |p| p.x));
    assert!(first > 0 && w.state().state.results.pair().is_some());
    let why = w
        .state()
        .state
        .results
        .gamma_failure()
        .expect("no gamma")
        .to_owned();
    assert!(why.contains("negative"), "{why}");
    assert!(pass_rate(w.state()).is_none());
}

#[test]
fn a_copy_stays_while_the_plan_changes() {
    let mut w = compare("compare_copy");
    until(&mut w, "final", |app| {
        app.state.results.side(Side::A).is_some() && app.is_settled()
    });
    assert_eq!(w.state().state.compare.sides, [Some(Source::Plan(0)), None]);
    w.get_by_label("New dose from A and B").click();
    w.run_steps(3);
    w.get_by_label("Copy of A").click();
    w.run_steps(2);
    until(&mut w, "pair", |app| {
        app.state.results.pair().is_some() && app.is_settled()
    });
    let b = w.state().state.results.side(Side::B).expect("B").clone();
    assert_eq!(
        (b.label.as_str(), b.status),
        ("Copy of Plan Test", DoseStatus::Final)
    );
    let mut beam = w.state().state.plan().expect("a plan").beams[0].clone();
    beam.mu = 150.0;
    let edit = Edit::SetBeam {
        plan: 0,
        beam: 0,
        value: beam,
    };
    w.state_mut()
        .state
        .history
        .apply(edit, None)
        .expect("an edit");
    w.run_steps(1);
    assert_ne!(
        w.state().state.results.side(Side::A).map(|d| d.status),
        Some(DoseStatus::Final)
    );
    until(&mut w, "new dose", |app| {
        app.is_settled()
            && app
                .state
                .results
                .side(Side::A)
                .is_some_and(|d| d.status == DoseStatus::Final)
    });
    let max = |side| {
        w.state()
            .state
            .results
            .side_max_gy(side)
            .expect("a maximum")
    };
    assert!(
        (max(Side::A) / max(Side::B) - 1.5).abs() < 1e-4,
        "A follows the plan, the copy does not"
    );
}

#[test]
fn words_of_the_command_line_choose_the_doses() {
    let file = folder("compare_words").join("dose.mha");
    let b = dose("b", 4.0, |_| 7.0);
    beamsight::files::mha::write(&file, &b.gy).expect("a file");
    let wish = CompareOptions {
        sides: [Some(DoseWord::Plan(0)), Some(DoseWord::File(file))],
        layout: Layout::Gamma,
        ..CompareOptions::default()
    };
    let options = Options {
        workspace: Workspace::Compare,
        compare: Some(wish),
        ..cube_case("compare_words", 8)
    };
    let mut w = window(options);
    until(&mut w, "both", |app| {
        app.state.results.pair().is_some() && app.is_settled()
    });
    assert_eq!(
        w.state()
            .state
            .results
            .side(Side::B)
            .map(|d| d.label.as_str()),
        Some("dose.mha")
    );
    assert_eq!(w.state().state.compare.layout, Layout::Gamma);
    assert!(w.query_all_by_label("Compare gamma").count() == 1);
    let wrong = CompareOptions {
        sides: [None, Some(DoseWord::Dose(3))],
        ..CompareOptions::default()
    };
    let mut w = window(Options {
        compare: Some(wrong),
        ..cube_case("compare_words", 8)
    });
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("no dose of its own"))
    });
}

#[test]
fn the_report_says_what_the_window_shows() {
    let mut w = compare("compare_report");
    with_doses(
        &mut w,
        dose("even", 4.0, |_| 10.0),
        dose("more", 4.0, |_| 10.5),
    );
    let goals = vec!["BODY: Dmean <= 10.2 Gy".parse().expect("a goal")];
    w.state_mut().command(Command::Edit {
        edit: Edit::SetGoals(goals).into(),
        gesture: None,
    });
    let folder = folder("compare_report");
    for ending in ["pdf", "csv", "json"] {
        let file = folder.join(format!("report.{ending}"));
        let _ = std::fs::remove_file(&file);
        w.state_mut().state.compare.report_path = file.display().to_string();
        w.run_steps(2);
        w.get_by_label("Write report").scroll_to_me();
        w.run_steps(3);
        w.get_by_label("Write report").click();
        w.run_steps(2);
        until(&mut w, "report", |app| file.is_file() && app.is_settled());
    }
    // A second report to the same path asks first.
    w.get_by_label("Write report").click();
    until(&mut w, "question", |app| !app.state.replacing.is_empty());
    w.get_by_label("Keep it").click();
    w.run_steps(3);
    let read =
        |ending: &str| std::fs::read(folder.join(format!("report.{ending}"))).expect("a file");
    let pdf = read("pdf");
    let pictures = pdf.windows(15).filter(|w| w == b"/Subtype /Image").count();
    assert!(
        pdf.starts_with(b"%PDF-") && pictures == 4,
        "A, B, B - A and gamma: {pictures}"
    );
    let json: serde_json::Value = serde_json::from_slice(&read("json")).expect("JSON");
    assert_eq!(json["doses"][0]["label"], "even");
    assert_eq!(json["doses"][1]["status"], "imported");
    assert_eq!(json["gamma"]["criteria"][0]["pass_rate_percent"], 0.0);
    assert_eq!(json["gamma"]["criteria"][0]["dta_mm"], 2.0);
    assert_eq!(json["gamma"]["reference"], "A");
    assert!(
        json["gamma"]["receipt"]["digest"]
            .as_str()
            .is_some_and(|d| d.len() == 16)
    );
    let mean = &json["structures"][0]["metrics"][0];
    assert_eq!(mean["metric"], "Dmean");
    assert!((mean["b_minus_a"].as_f64().expect("a number") - 0.5).abs() < 1e-4);
    let goal = &json["goals"][0]["doses"];
    assert_eq!(
        [&goal[0][1], &goal[1][1]],
        [true, false],
        "met in A, lost in B: {goal}"
    );
    let csv = String::from_utf8(read("csv")).expect("text");
    let row = csv
        .lines()
        .find(|l| l.starts_with("Dmean,BODY,Gy,"))
        .expect("a row");
    assert_eq!(row, "Dmean,BODY,Gy,10.0000,10.5000,0.5000");
    // A report never holds stale results: the present ones belong to the previous sides.
    assert!(comparison(&w.state().state).is_ok());
    w.state_mut().state.compare.sides.swap(0, 1);
    w.run_steps(1);
    assert!(comparison(&w.state().state).is_err());
}

/// A small golden image of two computed doses: letters, colours, statuses.
#[test]
fn the_compare_page_looks_as_it_did() {
    let mut w = compare("compare_golden");
    second_plan(&mut w, 1.05);
    until(&mut w, "both", |app| {
        app.state.results.pair().is_some() && app.is_settled()
    });
    // Copies of 60 Gy with their own names and frame: those of the case depend on the test's folder.
    let results = &w.state().state.results;
    let times = (60.0 / results.side_max_gy(Side::A).expect("a maximum")) as f32;
    let [a, b] = Side::BOTH.map(|side| {
        let dose = results.side(side).expect("a dose");
        let data = dose.gy.data().iter().map(|gy| gy * times).collect();
        let gy = Arc::new(Volume::new(dose.gy.grid().clone(), data));
        Dose {
            gy,
            label: format!("Dose {}", side.name()),
            frame_of_reference_uid: "1.2.3".into(),
            ..(**dose).clone()
        }
    });
    let mut case = w.state().state.case().clone();
    case.patient.name = "Golden^Cube".to_owned();
    w.state_mut().state.history = History::new(case);
    with_doses(&mut w, a, b);
    let state = &mut w.state_mut().state;
    state.dose_display.reference = DoseReference::Maximum;
    state.compare.isolines = Isolines::Own;
    w.set_size(vec2(1200.0, 760.0));
    w.run_steps(2);
    until(&mut w, "gamma", |app| {
        pass_rate(app).is_some() && app.is_settled()
    });
    w.run_steps(4);
    w.snapshot("compare");
}

/// A dose of another patient becomes one of the case only after an answer, which it says from then on.
#[test]
fn a_dose_of_another_patient_is_asked_about() {
    let case = Some("demo:water".to_owned());
    let mut w = window(Options {
        case,
        workspace: Workspace::Compare,
        grid_mm: Some(10.0),
        ..Options::default()
    });
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let case = w.state().state.case().clone();
    let grid = Grid::axis_aligned(DVec3::splat(-20.0), DVec3::splat(10.0), [5, 5, 5]).unwrap();
    let volume = Volume::new(Arc::new(grid), vec![1.0; 125]);
    let write = |name: &str, id: &str, frame: &str| {
        let path = folder("compare-identity").join(name);
        let patient = PatientInfo {
            id: id.to_owned(),
            ..PatientInfo::default()
        };
        mha::write_with(&path, &volume, &Facts::new(Quantity::Dose, &patient, frame)).unwrap();
        path
    };
    let frame = case.stated_frames().next().unwrap().to_owned();
    let pick = |w: &mut Window, path: std::path::PathBuf| {
        // The button moves when a dose of the choice above it arrives.
        until(w, "rest", App::is_settled);
        w.state_mut()
            .set_dialog(Arc::new(move |_| Picked::Path(path.clone())));
        w.get_by_label("Open dose…").click();
        w.run_steps(2);
    };
    let doses = |app: &App| app.state.case().doses.len();
    let other = write("other.mha", "SOMEBODY ELSE", &frame);
    for (button, count) in [("Leave it out", 0), ("They are one patient: show it", 1)] {
        pick(&mut w, other.clone());
        until(&mut w, "question", |app| {
            !app.state.strange_doses.is_empty()
        });
        assert_eq!(
            w.query_all_by_label_contains("'other.mha' is a dose of the patient SOMEBODY ELSE")
                .count(),
            1
        );
        w.get_by_label(button).click();
        until(&mut w, "answer", |app| app.state.strange_doses.is_empty());
        assert_eq!(doses(w.state()), count);
    }
    let dose = w.state().state.case().doses[0].clone();
    assert_eq!(dose.label, "other.mha");
    assert!(
        dose.status_text()
            .contains("dose of another patient, SOMEBODY ELSE, accepted")
    );
    // Another frame has no answer; the case's own dose needs none.
    pick(&mut w, write("frame.mha", &case.patient.id, "1.2.3"));
    until(&mut w, "refusal", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("frame.mha"))
    });
    assert!(
        said(&w).contains("frame of reference 1.2.3"),
        "{}",
        said(&w)
    );
    pick(&mut w, write("own.mha", &case.patient.id, &frame));
    until(&mut w, "dose", |app| app.state.case().doses.len() == 2);
    assert!(!said(&w).contains("own.mha"), "{}", said(&w));
}
