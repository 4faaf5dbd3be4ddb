//! Window and verb: the same query comes to the same maps and leaves, to the bit, whatever was optimised before.

mod histories;

use super::{
    Leaves, LeavesOf, LeavesSource, MonitorUnitCurveOf, OptimiseQuery, Optimum, OptimumOf, Step,
    optimise_plan,
};
use crate::{Grade, Graph, Settings};
use case::{Beam, Case, Contour, Ct, Goal, Jaws, Plan, Structure, StructureKind, StructureSet};
use engine::{DeviceChoice, JobControl};
use geometry::{Grid, PatientPosition, Volume};
use glam::DVec3;
use inverse::with_arcs;
use sequence::Technique;
use std::sync::Arc;

const SPACING_MM: f64 = 8.0;
const SIZE: [usize; 3] = [22, 22, 12];
const PTV: u32 = 7;
const CORD: u32 = 8;

/// A structure of the case: a box.
struct StructureBox {
    name: &'static str,
    number: u32,
    kind: StructureKind,
    low_mm: DVec3,
    high_mm: DVec3,
}

impl StructureBox {
    fn structure(self) -> Structure {
        let (low, high) = (self.low_mm, self.high_mm);
        let planes = (0..SIZE[2]).map(|k| k as f64 * SPACING_MM);
        let contours = planes
            .filter(|z| (low.z..=high.z).contains(z))
            .map(|z| Contour {
                points_mm: [
                    [low.x, low.y],
                    [high.x, low.y],
                    [high.x, high.y],
                    [low.x, high.y],
                ]
                .map(|[x, y]| DVec3::new(x, y, z))
                .to_vec(),
                image_uid: None,
            })
            .collect::<Vec<_>>();
        let mut structure = Structure::new(self.name, self.number, self.kind);
        structure.contours = contours.into();
        structure
    }
}

fn goal(words: &str, number: u32) -> Goal {
    let mut goal: Goal = words.parse().expect("a goal");
    goal.number = Some(number);
    goal
}

/// Water with a target and a cord behind it, three fields.
fn case() -> Case {
    case_with(vec![0.0; grid().len()])
}

fn grid() -> Grid {
    Grid::axis_aligned(DVec3::ZERO, DVec3::splat(SPACING_MM), SIZE).expect("a grid")
}

/// The same in another image, HU.
fn case_with(hu: Vec<f32>) -> Case {
    let hu = Arc::new(Volume::new(Arc::new(grid()), hu));
    let ptv = StructureBox {
        name: "PTV",
        number: PTV,
        kind: StructureKind::Ptv,
        low_mm: DVec3::new(62.0, 62.0, 30.0),
        high_mm: DVec3::new(110.0, 98.0, 60.0),
    };
    let cord = StructureBox {
        name: "Cord",
        number: CORD,
        kind: StructureKind::Organ,
        low_mm: DVec3::new(70.0, 108.0, 14.0),
        high_mm: DVec3::new(98.0, 128.0, 74.0),
    };
    let isocentre_mm = DVec3::new(86.0, 80.0, 45.0);
    let jaws = Jaws::symmetric(100.0, 100.0);
    let mut plan = Plan::new("P", "generic-6mv");
    (plan.prescription_gy, plan.fractions) = (Some(60.0), 30);
    plan.beams = [0.0, 75.0, 285.0]
        .into_iter()
        .zip(1..)
        .map(|(gantry_deg, number)| {
            Beam::fixed(
                &format!("G{gantry_deg}"),
                number,
                gantry_deg,
                isocentre_mm,
                jaws,
                100.0,
            )
        })
        .collect();
    Case {
        ct: Some(Arc::new(Ct::unnamed(hu, PatientPosition::Hfs))),
        structures: Arc::new(StructureSet {
            structures: vec![ptv.structure(), cord.structure()],
            ..StructureSet::default()
        }),
        plans: vec![Arc::new(plan)],
        goals: Some(
            vec![
                goal("PTV: D95% >= 58 Gy", PTV),
                goal("Cord: D10% <= 30 Gy", CORD),
            ]
            .into(),
        ),
        ..Case::default()
    }
}

fn query(case: &Case) -> OptimiseQuery {
    let settings = Settings {
        grid_mm: SPACING_MM,
        device: DeviceChoice::Cpu,
        ..Settings::default()
    };
    let goals = case.goals.as_ref().expect("goals").to_vec();
    OptimiseQuery::new(case, &case.plans[0], goals, &settings, None, 10.0).expect("a query")
}

/// The window's results of a case, as its jobs step them.
#[derive(Default)]
struct Window {
    graph: Graph,
}

impl Window {
    fn step(&self, case: &Case) -> Step {
        self.step_of(&query(case))
    }

    fn step_of(&self, query: &OptimiseQuery) -> Step {
        let optimum = OptimumOf(query.clone());
        let step = self
            .graph
            .step(&optimum, Grade::Full, &JobControl::new(), &mut |_| {});
        let (step, grade) = step.expect("a step");
        assert_eq!(grade == Grade::Full, step.at_rest().is_some());
        step
    }

    fn to_rest(&self, case: &Case) -> Arc<Optimum> {
        loop {
            if let Some(optimum) = self.step(case).at_rest() {
                return Arc::clone(optimum);
            }
        }
    }

    /// Leaves of a plan that has the maps of the optimum for a case.
    fn leaves(&self, optimised: &Case, plan: &Arc<Plan>, technique: Technique) -> Arc<Leaves> {
        let optimum = OptimumOf(query(optimised));
        let leaves = LeavesOf {
            plan: Arc::clone(plan),
            ..leaves_of(
                optimised,
                technique,
                LeavesSource::Maps(Some(optimum.into())),
            )
        };
        let leaves = self.graph.full(&leaves, &JobControl::new());
        leaves.expect("leaves")
    }
}

fn leaves_of(case: &Case, technique: Technique, source: LeavesSource) -> LeavesOf {
    LeavesOf {
        case: case.clone(),
        plan: Arc::clone(&case.plans[0]),
        settings: query(case).settings,
        technique,
        source,
    }
}

fn verb(case: &Case, technique: Option<Technique>) -> inverse::Optimised {
    optimise_plan(
        &query(case),
        technique,
        &Graph::default(),
        &JobControl::new(),
        &mut |_| {},
    )
    .expect("an optimum")
    .answer
}

/// Number, monitor units, map and control points of each beam.
fn delivered(beams: &[Beam]) -> Vec<Beam> {
    beams
        .iter()
        .map(|beam| Beam {
            name: String::new(),
            ..beam.clone()
        })
        .collect()
}

fn assert_same(optimum: &Optimum, answer: &inverse::Optimised) {
    assert_eq!(optimum.beams, answer.plan.beams);
    assert_eq!(optimum.objective.to_bits(), answer.objective.to_bits());
    assert_eq!(optimum.receipt.evaluations, answer.receipt.evaluations);
}

#[test]
fn the_window_rests_at_the_verbs_maps_and_leaves() {
    let case = case();
    let window = Window::default();
    let optimum = window.to_rest(&case);
    assert!(optimum.receipt.evaluations > 20, "{:?}", optimum.receipt);
    assert_same(&optimum, &verb(&case, None));
    let mut plan = Plan::clone(&case.plans[0]);
    plan.beams.clone_from(&optimum.beams);
    let plan = Arc::new(plan);
    for technique in [Technique::SlidingWindow, Technique::StepAndShoot] {
        let leaves = window.leaves(&case, &plan, technique);
        assert!(leaves.are_refined);
        let by_verb = verb(&case, Some(technique)).leaves.expect("leaves");
        assert_eq!(delivered(&leaves.beams), delivered(&by_verb.plan.beams));
        let phases: Vec<&str> = { leaves.receipt.phases_ms.iter() }
            .map(|(phase, _)| phase.as_str())
            .collect();
        assert_eq!(phases, ["sequence", "refinement"]);
        assert_eq!(leaves.receipt.work, by_verb.true_doses as u64);
    }
}

/// Leaves of an optimum that the optimiser has left for another are the same as where it rests with it.
#[test]
fn leaves_do_not_depend_on_what_the_optimiser_did_since() {
    let case = case();
    let [window, other] = [Window::default(), Window::default()];
    let mut plan = Plan::clone(&case.plans[0]);
    plan.beams.clone_from(&window.to_rest(&case).beams);
    let plan = Arc::new(plan);
    let expected = window.leaves(&case, &plan, Technique::StepAndShoot);
    other.to_rest(&case);
    other.to_rest(&with_harder_goals(&case));
    // The answer at rest is not kept, either.
    other.graph.retain(|_: &OptimumOf| false);
    let leaves = other.leaves(&case, &plan, Technique::StepAndShoot);
    assert!(leaves.are_refined);
    assert_eq!(leaves.beams, expected.beams);
}

/// A goal dragged on the way, a beam turned on the way, and a second run of the plan with its maps.
#[test]
fn the_way_does_not_matter() {
    let start = case();
    let window = Window::default();
    let dragged = with_harder_goals(&start);
    window.to_rest(&start);
    for _ in 0..3 {
        window.step(&dragged);
    }
    let optimum = window.to_rest(&dragged);
    assert_same(&optimum, &verb(&dragged, None));
    let mut turned = dragged.clone();
    Arc::make_mut(&mut turned.plans[0]).beams[1].control_points[0].gantry_deg = 60.0;
    for _ in 0..3 {
        window.step(&turned);
    }
    let optimum = window.to_rest(&turned);
    assert_same(&optimum, &verb(&turned, None));
    let mut again = turned.clone();
    Arc::make_mut(&mut again.plans[0])
        .beams
        .clone_from(&optimum.beams);
    assert_same(&window.to_rest(&again), &verb(&again, None));
}

fn with_harder_goals(case: &Case) -> Case {
    let goals = vec![
        goal("PTV: D95% >= 59 Gy", PTV),
        goal("Cord: D10% <= 22 Gy", CORD),
    ];
    Case {
        goals: Some(goals.into()),
        ..case.clone()
    }
}

#[test]
fn leaves_of_arcs_are_the_verbs() {
    let mut case = case();
    let arcs = with_arcs(&case.plans[0], 1);
    case.plans[0] = Arc::new(arcs);
    let technique = Technique::SlidingWindow;
    let source = LeavesSource::Goals(OptimumOf(query(&case)).into());
    let leaves = Graph::default()
        .full(&leaves_of(&case, technique, source), &JobControl::new())
        .expect("leaves");
    let by_verb = verb(&case, Some(technique));
    assert_eq!(leaves.receipt.work, by_verb.receipt.evaluations);
    let by_verb = by_verb.leaves.expect("leaves");
    assert_eq!(delivered(&leaves.beams), delivered(&by_verb.plan.beams));
}

/// Points of the curve by steps: more monitor units' weight has fewer of them and a worse rest, and a step cut short loses no point.
#[test]
fn a_curve_trades_monitor_units_for_the_other_objectives() {
    let case = case();
    let window = Window::default();
    window.to_rest(&case);
    let curve = MonitorUnitCurveOf {
        optimum: OptimumOf(query(&case)),
        technique: Technique::SlidingWindow,
    };
    let mut numbers = Vec::new();
    let points = loop {
        let step = window
            .graph
            .step(&curve, Grade::Full, &JobControl::new(), &mut |_| {});
        let (points, grade) = step.expect("a step");
        numbers.push(points.len());
        if grade == Grade::Full {
            break points;
        }
    };
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    for pair in points.windows(2) {
        let [fewer, more] = [&pair[1], &pair[0]];
        assert!(fewer.weight > more.weight);
        let [fewer_mu, more_mu] = [fewer, more].map(|point| point.delivery.figures.mu);
        assert!(fewer_mu < 1.02 * more_mu, "{fewer_mu} for {more_mu}");
        assert!(fewer.objective > 0.999 * more.objective);
    }
    let [first, last] = [&points[0], &points[4]];
    assert!(last.delivery.figures.mu < 0.95 * first.delivery.figures.mu);
    // The plan itself is solved at the usual weight.
    let optimum = window.to_rest(&case);
    let at_usual_weight = optimum.objective * (1.0 - optimum.others.monitor_units);
    assert!(
        (points[2].objective / at_usual_weight - 1.0).abs() < 0.05,
        "{} of {at_usual_weight}",
        points[2].objective
    );
    assert_same(&optimum, &verb(&case, None));
}
