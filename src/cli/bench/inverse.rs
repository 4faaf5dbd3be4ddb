//! `beamsight bench inverse`: fluence maps of nine fields from nothing, then drags of a goal and of a gantry, step by step.

use super::super::scorecard::goals_of;
use super::{Args, Failure, VerbOutput};
use anyhow::anyhow;
use case::{Case, Goal, Plan};
use engine::{DeviceChoice, JobControl};
use open::{CaseWord, OpenOptions, open};
use results::{Graph, LiveOptimiser, OptimiseQuery, Optimum, Settings, Step};
use sequence::{Technique, sequence_plan};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

/// The case that is optimised where none is named, and the template of its goals.
const CASE: &str = "demo:tg119";
const GOALS: &str = "tg119-c-shape";
/// Width of the beamlets, mm.
const BEAMLET_MM: f64 = 5.0;
/// Spacing of the coarser rows, mm.
const COARSE_MM: f64 = 5.0;
/// A drag lowers the last goal's limit by this part at a time, and turns the first beam by so much, degrees.
const DRAG_PART: f64 = 0.01;
const TURN_DEG: f64 = 2.0;

/// Steps of one kind: times in ms, and evaluations of the objective.
#[derive(Default)]
struct Row {
    name: &'static str,
    ms: Vec<f64>,
    evaluations: Vec<u64>,
}

impl Row {
    fn median(&self) -> f64 {
        let mut ms = self.ms.clone();
        ms.sort_by(f64::total_cmp);
        ms.get(ms.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// An optimiser, and how far it has been asked.
struct Run {
    graph: Graph,
    control: JobControl,
    place: Option<LiveOptimiser>,
    settings: Settings,
    case: Case,
    goals: Vec<Goal>,
}

impl Run {
    fn query(&self, rows_mm: Option<f64>) -> Result<OptimiseQuery, Failure> {
        let plan = self.case.plans.first();
        let query = OptimiseQuery::new(
            &self.case,
            plan.ok_or_else(|| Failure::Words("the case has no plan".to_owned()))?,
            self.goals.clone(),
            &self.settings,
            rows_mm,
            BEAMLET_MM,
        );
        query.map_err(Failure::Words)
    }

    /// Turns the first `beams` of the plan.
    fn turn(&mut self, beams: usize) {
        let plan = self.case.plans.first_mut().map(Arc::make_mut);
        let points = plan
            .into_iter()
            .flat_map(|plan| plan.beams.iter_mut().take(beams));
        let points = points.flat_map(|beam| beam.control_points.iter_mut());
        points.for_each(|point| point.gantry_deg += TURN_DEG);
    }

    /// Columns of all fields at the voxels of a grid, after each of a few turns of all of them.
    fn columns(
        &mut self,
        rows_mm: Option<f64>,
        columns: &mut Row,
        turns: usize,
    ) -> Result<(), Failure> {
        let original = self.case.clone();
        let mut place = None;
        // The first find the rows, load kernels and calibrate the machine, as the dose of a plan has done before it is optimised.
        for turn in 0..=turns {
            let query = self.query(rows_mm)?;
            let start = Instant::now();
            let beams = loop {
                let step = LiveOptimiser::step(
                    &mut place,
                    &query,
                    &self.graph,
                    &self.control,
                    &mut |_| true,
                );
                match step.map_err(|why| Failure::Work(anyhow!("{why}")))? {
                    Step::Columns { done, of } if done < of => (),
                    Step::Columns { of, .. } => break of,
                    Step::Optimum(optimum) => break optimum.beams.len(),
                }
            };
            if turn > 0 {
                columns
                    .ms
                    .push(1e3 * start.elapsed().as_secs_f64() / beams.max(1) as f64);
            }
            self.turn(usize::MAX);
        }
        self.case = original;
        Ok(())
    }

    /// One step, its time, and the answer.
    fn step(&mut self) -> Result<(f64, Step), Failure> {
        let query = self.query(None)?;
        let start = Instant::now();
        let step = LiveOptimiser::step(
            &mut self.place,
            &query,
            &self.graph,
            &self.control,
            &mut |_| true,
        );
        let step = step.map_err(|why| Failure::Work(anyhow!("{why}")))?;
        Ok((1e3 * start.elapsed().as_secs_f64(), step))
    }

    /// Steps until all columns are there and one solution is found.
    fn solution(
        &mut self,
        columns: &mut Row,
        solution: &mut Row,
        evaluations_before: u64,
    ) -> Result<Arc<Optimum>, Failure> {
        loop {
            match self.step()? {
                (ms, Step::Columns { .. }) => columns.ms.push(ms),
                (ms, Step::Optimum(optimum))
                    if optimum.receipt.evaluations > evaluations_before =>
                {
                    solution.ms.push(ms);
                    solution
                        .evaluations
                        .push(optimum.receipt.evaluations - evaluations_before);
                    return Ok(optimum);
                }
                // The step that makes the last columns has an answer without an evaluation.
                (ms, Step::Optimum(_)) => columns.ms.push(ms),
            }
        }
    }

    /// Leaves for all maps, as cut and refined on their true dose.
    fn leaves(&self, optimum: &Optimum, runs: usize) -> Result<(Row, Row), Failure> {
        let mut cut = Row {
            name: "leaves of all fields, as cut",
            ..Row::default()
        };
        let mut refined = Row {
            name: "their refinement",
            ..Row::default()
        };
        let maps = Plan {
            beams: optimum.beams.clone(),
            ..Plan::clone(optimum.query.plan())
        };
        let start = Instant::now();
        let mut leaves = sequence_plan(&maps, Technique::SlidingWindow)?;
        cut.ms.push(1e3 * start.elapsed().as_secs_f64());
        for _ in 1..runs {
            let start = Instant::now();
            leaves = sequence_plan(&maps, Technique::SlidingWindow)?;
            cut.ms.push(1e3 * start.elapsed().as_secs_f64());
        }
        let leaves = leaves.plan;
        let start = Instant::now();
        let live = self
            .place
            .as_ref()
            .and_then(|live| live.refined(&maps, &leaves, &self.control));
        live.transpose()
            .map_err(|why| Failure::Work(anyhow!("{why}")))?;
        refined.ms.push(1e3 * start.elapsed().as_secs_f64());
        Ok((cut, refined))
    }
}

fn row(name: &'static str) -> Row {
    Row {
        name,
        ..Row::default()
    }
}

/// # Errors
/// A case that cannot be optimised, a failing device.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let device = choice.resolve()?;
    let word: CaseWord = args.cases.first().map_or(CASE, String::as_str).parse()?;
    let case = open(&word, OpenOptions::default(), &|_| true)?;
    let goals = goals_of(&case, Some(GOALS))?
        .map(|matched| matched.goals)
        .unwrap_or_default();
    let settings = Settings {
        device: choice,
        ..Settings::default()
    };
    let mut run = Run {
        graph: Graph::default(),
        control: JobControl::new(),
        place: None,
        settings,
        case,
        goals,
    };
    let mut columns = row("columns of a field");
    let mut cold = row("first solution");
    let mut truth = row("true dose");
    let mut refinement = row("solution after it");
    let runs = args.runs_on(&device);
    let mut coarse = row("columns of a field on 5 mm");
    run.columns(Some(COARSE_MM), &mut coarse, runs)?;
    let start = Instant::now();
    let mut optimum = run.solution(&mut row(""), &mut cold, 0)?;
    while !optimum.is_at_rest() {
        let (ms, Step::Optimum(next)) = run.step()? else {
            continue;
        };
        let evaluations = next.receipt.evaluations - optimum.receipt.evaluations;
        let row = if evaluations == 0 {
            &mut truth
        } else {
            &mut refinement
        };
        row.ms.push(ms);
        row.evaluations.push(evaluations);
        optimum = next;
    }
    let in_total = Row {
        name: "from nothing to rest",
        ms: vec![1e3 * start.elapsed().as_secs_f64()],
        evaluations: vec![optimum.receipt.evaluations],
    };
    let (cut, refined) = run.leaves(&optimum, runs)?;
    let mut drag = row("drag of a goal");
    let mut drag_truth = row("true dose of a drag");
    let mut over_least = Vec::new();
    for _ in 0..runs {
        if let Some(goal) = run.goals.last_mut() {
            *goal = goal.clone().with_limit(goal.limit() * (1.0 - DRAG_PART));
        }
        optimum = run.solution(&mut row(""), &mut drag, optimum.receipt.evaluations)?;
        let ratio = run
            .place
            .as_ref()
            .map_or(Ok(f64::NAN), LiveOptimiser::over_least);
        over_least.push(ratio.map_err(|why| Failure::Work(anyhow!("{why}")))?);
        let (ms, step) = run.step()?;
        drag_truth.ms.push(ms);
        if let Step::Optimum(next) = step {
            optimum = next;
        }
    }
    let (mut turned, mut turn) = (
        row("columns of a turned beam"),
        row("solution after it is turned"),
    );
    for _ in 0..runs {
        run.turn(1);
        optimum = run.solution(&mut turned, &mut turn, 0)?;
    }
    run.columns(None, &mut columns, runs)?;
    let rows = [
        columns, coarse, cold, truth, refinement, in_total, cut, refined, drag, drag_truth, turned,
        turn,
    ];
    let device = device.to_string();
    over_least.sort_by(f64::total_cmp);
    Ok(VerbOutput {
        text: text(&rows, &over_least, &device),
        json: json(&rows, &over_least, &device, &optimum),
    })
}

fn text(rows: &[Row], over_least: &[f64], device: &str) -> String {
    let mut text = format!(
        "inverse planning on {device}\n{:<30} {:>6} {:>12} {:>12} {:>12}\n",
        "step", "times", "median ms", "longest ms", "evaluations"
    );
    for row in rows {
        let longest = row.ms.iter().copied().fold(0.0, f64::max);
        let mut evaluations = row.evaluations.clone();
        evaluations.sort_unstable();
        let middle = evaluations
            .get(evaluations.len() / 2)
            .map_or(String::new(), u64::to_string);
        let (times, median) = (row.ms.len(), row.median());
        let _ = writeln!(
            text,
            "{:<30} {times:>6} {median:>12.1} {longest:>12.1} {middle:>12}",
            row.name
        );
    }
    if let [.., worst] = over_least {
        let median = over_least[over_least.len() / 2];
        let _ = writeln!(
            text,
            "objective of a drag over its least: median {median:.4}, worst {worst:.4}"
        );
    }
    text
}

fn json(rows: &[Row], over_least: &[f64], device: &str, optimum: &Optimum) -> Value {
    let rows = rows.iter().map(|row| json!({ "step": row.name, "ms": row.ms, "median_ms": row.median(), "evaluations": row.evaluations }));
    json!({
        "job": "inverse",
        "device": device,
        "beams": optimum.beams.len(),
        "objective_of_a_drag_over_its_least": over_least,
        "rows": rows.collect::<Vec<_>>(),
    })
}
