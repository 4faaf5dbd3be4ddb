//! Optima that Monte Carlo with electrons corrects in lung, and optima of collapsed cone.

use super::{CORD, PTV, SPACING_MM, Window, case_with, goal, grid, query};
use crate::{
    Graph, OptimiseQuery, Optimum, OptimumStage, PlanJob, PlanResult, Step, compute_plan,
    optimise_plan,
};
use analysis::{Engine, MonteCarlo};
use case::{Case, DoseEngine, Plan};
use engine::histories::Until;
use engine::{DeviceChoice, JobControl};
use inverse::{Optimised, Progress};
use std::sync::Arc;
use std::time::Duration;

/// Histories of a run that corrects, and of a dose that judges.
const RUN: u64 = 1_000_000;
const JUDGE: u64 = 4_000_000;

/// Lung through and through: the target has no tissue that would bring its electrons back.
fn lung() -> Case {
    const LUNG_HU: f32 = -800.0;
    case_with(vec![LUNG_HU; grid().len()])
}

fn by_histories(histories: u64) -> MonteCarlo {
    MonteCarlo {
        engine: DoseEngine::MonteCarlo,
        until: Until::Histories(histories),
        show_every: Duration::ZERO,
        ..MonteCarlo::default()
    }
}

fn corrected(case: &Case) -> OptimiseQuery {
    query(case).corrected_by(Engine::MonteCarlo(by_histories(RUN)))
}

fn optimum(
    query: &OptimiseQuery,
    control: &JobControl,
    report: &mut dyn FnMut(Progress),
) -> Optimised {
    optimise_plan(query, None, &Graph::default(), control, report)
        .expect("an optimum")
        .answer
}

fn verb(query: &OptimiseQuery) -> Optimised {
    optimum(query, &JobControl::new(), &mut |_| {})
}

/// An independent dose of a plan.
fn judge(case: &Case, plan: &Plan) -> PlanResult {
    let settings = query(case).settings;
    let engine = Engine::MonteCarlo(MonteCarlo {
        seed: 77,
        ..by_histories(JUDGE)
    });
    let job = PlanJob {
        ct: Arc::clone(case.ct.as_ref().expect("a CT")),
        structures: Arc::clone(&case.structures),
        remarks: Vec::new(),
        plan: plan.clone(),
        body: settings.body,
        hu_table: settings.hu_table.name.clone(),
        grid_mm: SPACING_MM,
        quality: settings.quality,
        dose_to: settings.dose_to,
        device: DeviceChoice::Cpu,
        engine,
        parts: None,
    };
    compute_plan(&job, &JobControl::new(), &|_| {}).expect("a dose")
}

/// Doses of an answer at the rows of its target, beside an independent dose.
struct Agreement {
    /// Mean of the differences, percent of the prescription.
    mean_percent: f64,
    /// Mean of the squared differences over their variance.
    chi_squared: f64,
}

impl Agreement {
    fn new(case: &Case, answer: &Optimised) -> Self {
        let judged = judge(case, &answer.plan);
        let certainty = judged.certainty.expect("a deviation");
        // The answer has the mean of four runs.
        let variances = 1.0 + JUDGE as f64 / (4 * RUN) as f64;
        let set = answer.rows.set("PTV").expect("rows of the target");
        let (mut sum_gy, mut chi_squared) = (0.0, 0.0);
        for row in &set.rows {
            let voxel = answer.rows.voxels[*row as usize];
            let got_gy = f64::from(answer.doses_gy[*row as usize]);
            let difference_gy = got_gy - f64::from(judged.dose.gy.data()[voxel]);
            let sigma_gy = f64::from(certainty.sigma_gy.data()[voxel]);
            sum_gy += difference_gy;
            chi_squared += difference_gy.powi(2) / (variances * sigma_gy.powi(2));
        }
        let rows = set.rows.len() as f64;
        Self {
            mean_percent: 100.0 * sum_gy / rows / answer.reference_gy,
            chi_squared: chi_squared / rows,
        }
    }
}

fn weights(answer: &Optimised) -> Vec<(String, f64)> {
    let objectives = answer.objectives.iter();
    objectives
        .map(|o| (o.structure.clone(), o.weight))
        .collect()
}

fn to_rest(window: &Window, query: &OptimiseQuery) -> (Arc<Optimum>, Vec<OptimumStage>) {
    let mut stages = Vec::new();
    loop {
        if let Step::Optimum(optimum) = window.step_of(query) {
            if stages.last() != Some(&optimum.stage) {
                stages.push(optimum.stage);
            }
            if optimum.is_at_rest() {
                return (optimum, stages);
            }
        }
    }
}

/// In lung the corrected answer has the dose that an independent run finds, and the uncorrected one has not; the window comes to the
/// same bits.
#[test]
fn maps_corrected_in_lung_have_the_dose_that_an_independent_run_finds() {
    let case = lung();
    let plain = verb(&query(&case));
    let answer = verb(&corrected(&case));
    let (uncorrected, agreement) = (
        Agreement::new(&case, &plain),
        Agreement::new(&case, &answer),
    );
    // The mean of the target's rows has a standard deviation of 0.4 %.
    assert!(
        uncorrected.mean_percent < -2.4,
        "{:.2} %",
        uncorrected.mean_percent
    );
    assert!(
        agreement.mean_percent.abs() < 1.2,
        "{:.2} %",
        agreement.mean_percent
    );
    assert!(
        (0.6..1.5).contains(&agreement.chi_squared),
        "{:.2}",
        agreement.chi_squared
    );
    assert_eq!(weights(&plain), weights(&answer));
    let receipt = answer.receipt.histories.as_ref().expect("runs");
    assert!(
        receipt.runs == 4 && receipt.histories >= 4 * RUN,
        "{receipt:?}"
    );

    let (in_window, stages) = to_rest(&Window::default(), &corrected(&case));
    let expected = [
        OptimumStage::Searching,
        OptimumStage::Correcting,
        OptimumStage::AtRest,
    ];
    assert_eq!(stages, expected);
    assert_eq!(in_window.beams, answer.plan.beams);
    assert_eq!(in_window.objective.to_bits(), answer.objective.to_bits());
    assert!(in_window.dvhs.iter().any(|(number, _)| *number == PTV));
}

/// A run that is cancelled leaves the maps of collapsed cone, and nothing says that they were corrected.
#[test]
fn a_cancelled_correction_leaves_the_maps_of_collapsed_cone() {
    let case = lung();
    let plain = verb(&query(&case));
    assert_eq!(plain.receipt.histories, None);
    let unchosen = verb(&query(&case).corrected_by(Engine::COLLAPSED_CONE));
    assert_eq!(
        (&unchosen.plan, &unchosen.offset_gy),
        (&plain.plan, &plain.offset_gy)
    );
    let control = JobControl::new();
    let mut shown = 0;
    let stopped = optimum(&corrected(&case), &control, &mut |progress| {
        if matches!(progress, Progress::Histories { .. }) {
            shown += 1;
            control.cancel();
        }
    });
    assert!(stopped.stopped && shown == 1, "{shown}");
    assert_eq!(stopped.receipt.histories, None);
    assert_eq!(
        (&stopped.plan, &stopped.offset_gy),
        (&plain.plan, &plain.offset_gy)
    );
}

/// Few histories, where their noise does not matter.
fn few() -> Engine {
    const FEW: u64 = 30_000;
    Engine::MonteCarlo(by_histories(FEW))
}

fn lung_with_goals(words: [&str; 2]) -> Case {
    let [target, cord] = words;
    let mut case = lung();
    case.goals = Some(vec![goal(target, PTV), goal(cord, CORD)].into());
    case
}

/// Objectives that wishes have raised keep their weights, too, and the same request gives the same bits.
#[test]
fn corrections_change_no_weight_where_goals_have_wishes() {
    let case = lung_with_goals(["PTV: D95% >= 58 Gy", "Cord: D10% <= 30 Gy (wish 0 Gy)"]);
    let plain = verb(&query(&case));
    let [answer, again] = [(), ()].map(|()| verb(&query(&case).corrected_by(few())));
    assert_eq!(weights(&plain), weights(&answer));
    assert_ne!(plain.plan, answer.plan);
    assert_eq!(answer.plan, again.plan);
    assert_eq!(answer.doses_gy, again.doses_gy);
}

/// Runs of histories are spent on the search from the start of the plan alone, which rests where the verb does.
#[test]
fn the_way_to_a_corrected_optimum_does_not_matter() {
    let window = Window::default();
    let start = query(&lung()).corrected_by(few());
    for _ in 0..4 {
        window.step_of(&start);
    }
    let dragged = lung_with_goals(["PTV: D95% >= 59 Gy", "Cord: D10% <= 22 Gy"]);
    let dragged = query(&dragged).corrected_by(few());
    let (optimum, stages) = to_rest(&window, &dragged);
    let expected = [
        OptimumStage::Searching,
        OptimumStage::Settling,
        OptimumStage::AtRest,
    ];
    assert_eq!(stages, expected);
    assert_eq!(optimum.beams, verb(&dragged).plan.beams);
}
