//! The second check of a plan from elsewhere: its dose recomputed here for its own monitor units, beside the dose that came with
//! it. The graph's queries make all figures; `analysis::second_check` judges them.

mod files;
mod machines;
mod planned;

pub use files::CheckFiles;
pub use machines::CheckMachines;

use planned::Planned;

use super::dvh::DvhOf;
use super::gamma::{FiguresOfGamma, GammaAnswer, GammaByStructure, GammaOfPair};
use super::graph::{Failure, Graph};
use super::inputs::Settings;
use super::patient::{Densities, MaskOf};
use super::plan_dose::DoseOfPlan;
use super::plan_job::{ComputedPlan, compute_in};
use super::ray::RayOfBeam;
use super::shared::Shared;
use analysis::second_check::{
    Agreement, DosePoint, FAR, FieldOnPatient, Figures, GammaAgreement, GoalCheck, Item,
    LowerGamma, MachineUse, MetricPair, PointAgreement, SecondCheck, StructureCheck, TargetDoses,
    Tolerances, beam_point, judge, plan_point,
};
use analysis::{
    Dvh, Engine, GoalRow, Metric, Unanswered, check_pair, scorecard, unit_remark, value_at,
};
use case::{
    Beam, BeamDose, Case, Dose, DoseStatus, Goal, Plan, Severity, Structure, StructureKind,
};
use dicom::StatedPlan;
use engine::JobControl;
use engine::gamma::{Criterion, Normalisation};
use physics::Machine;
use std::sync::Arc;

/// Gamma is searched for as far as this: beyond, a point fails by far, and its figure is not shown.
const MOST_GAMMA: f64 = 3.0;

/// A second check to be made.
#[derive(Clone, Debug)]
pub struct CheckJob<'a> {
    pub files: &'a CheckFiles,
    /// With the models that compute its beams.
    pub plan: Arc<Plan>,
    pub machines: Vec<MachineUse>,
    pub settings: &'a Settings,
    pub engine: Engine,
    pub tolerances: &'a Tolerances,
    pub goals: &'a [Goal],
    /// Inputs that the dose counts otherwise than the plan's files have them, in words.
    pub changed_here: Vec<String>,
}

/// Recomputes the plan and compares. What cannot be compared stands in the answer with its reason.
///
/// # Errors
/// [`Failure`] of a cancelled check.
pub fn second_check(
    job: &CheckJob<'_>,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<SecondCheck, Failure> {
    let CheckJob {
        files,
        plan,
        settings,
        ..
    } = job;
    let stated = files.stated(plan);
    let mut planned = Planned::new(job, &stated);
    let beam_sum = planned.beam_sum(job);
    let mut check = CheckInProgress {
        job,
        case: Case {
            plans: vec![Arc::clone(plan)],
            ..files.case.clone()
        },
        graph: Graph::default(),
        control,
        structures: Vec::new(),
        goals: Vec::new(),
        notes: warnings(&files.case)
            .chain(planned.notes.iter().cloned())
            .collect(),
        device: String::new(),
        recomputed: String::new(),
        uncertainty_percent: None,
    };
    if planned.is_worth_computing() {
        check.compare(&mut planned, &stated, tell)?;
    }
    planned.settle(&mut check.notes);
    let Planned {
        whole: plan_item,
        beams,
        ..
    } = planned;
    let case = &files.case;

    Ok(SecondCheck {
        case: case.source.clone(),
        patient: case.patient.name.replace('^', " ").trim().to_owned(),
        patient_id: case.patient.id.clone(),
        plan: plan.name.clone(),
        fractions: plan.fractions,
        prescription_gy: plan.prescription_gy,
        machines: job.machines.clone(),
        engine: job.engine.kind(),
        grid_mm: settings.grid_mm,
        hu_table: settings.hu_table.name.clone(),
        dose_to: settings.dose_to.word(),
        uncertainty_percent: check.uncertainty_percent,
        device: check.device,
        planned: planned
            .dose
            .map_or(String::new(), |index| label_with_status(&case.doses[index])),
        recomputed: check.recomputed,
        tolerances: job.tolerances.clone(),
        judgement: judge(Figures {
            whole: &plan_item,
            beams: &beams,
            beam_sum: beam_sum.as_ref(),
            fractions: plan.fractions,
            limits: job.tolerances,
            changed_here: &job.changed_here,
        }),
        whole: plan_item,
        beams,
        beam_sum,
        structures: check.structures,
        goals: check.goals,
        notes: check.notes,
    })
}

fn label_with_status(dose: &Dose) -> String {
    format!("{} ({})", dose.label, dose.status_text())
}

/// Warnings of the files.
fn warnings(case: &Case) -> impl Iterator<Item = String> + '_ {
    let remarks = case
        .ct
        .iter()
        .flat_map(|ct| &ct.remarks)
        .chain(&case.remarks);
    remarks
        .filter(|remark| remark.severity == Severity::Warning)
        .map(|remark| match &remark.files[..] {
            [file] => format!("{} ({file})", remark.message),
            _ => remark.message.clone(),
        })
}

/// A check under way.
struct CheckInProgress<'a> {
    job: &'a CheckJob<'a>,
    /// With the checked plan alone.
    case: Case,
    graph: Graph,
    control: &'a JobControl,
    structures: Vec<StructureCheck>,
    goals: Vec<GoalCheck>,
    notes: Vec<String>,
    device: String,
    recomputed: String,
    uncertainty_percent: Option<f64>,
}

/// The planned dose of a beam: its file, by the index of the case's dose, and the dose to a point that the plan states.
#[derive(Clone, Copy)]
struct PlannedBeam<'a> {
    index: Option<usize>,
    stated_dose: Option<&'a BeamDose>,
}

/// A dose of the case, with its index.
#[derive(Clone, Copy)]
struct PlannedDose<'a> {
    index: usize,
    dose: &'a Arc<Dose>,
}

/// A recomputed dose, with its query.
#[derive(Clone, Copy)]
struct RecomputedDose<'a> {
    query: &'a Shared<DoseOfPlan>,
    dose: &'a Arc<Dose>,
}

impl CheckInProgress<'_> {
    fn compare(
        &mut self,
        planned: &mut Planned,
        stated: &StatedPlan,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<(), Failure> {
        let job = self.job;
        let computed = match compute_in(
            &self.graph,
            &self.case,
            job.engine,
            job.settings,
            self.control,
            tell,
        ) {
            Ok(computed) => computed,
            Err(stopped @ (Failure::Cancelled(_) | Failure::CancelledByUser)) => {
                return Err(stopped);
            }
            Err(failure) => {
                planned
                    .whole
                    .not_judged
                    .push(format!("The plan could not be recomputed: {failure}."));
                return Ok(());
            }
        };
        let mut devices: Vec<&str> = computed
            .result
            .receipts
            .iter()
            .map(|r| r.device.as_str())
            .collect();
        devices.dedup();
        self.device = devices.join(", ");
        self.recomputed = computed.result.dose.status_text();
        self.uncertainty_percent = computed
            .result
            .certainty
            .as_ref()
            .and_then(|certainty| certainty.uncertainty_percent);
        for remark in &computed.result.remarks {
            // Remarks of the files stand there with their names.
            if !self
                .notes
                .iter()
                .any(|note| note.starts_with(remark.as_str()))
            {
                self.notes.push(remark.clone());
            }
        }
        let treated = job.plan.beams.iter().filter(|beam| !beam.setup);
        for (beam, item) in treated.clone().zip(&mut planned.beams) {
            item.field = self.field(beam)?;
        }
        for (beam, item) in treated.zip(&mut planned.beams) {
            if item.not_judged.is_empty() && beam.mu > 0.0 {
                tell(&format!("comparing {}", item.name));
                let index = planned.of_beams.get(&beam.number).copied();
                let stated_dose = planned.stated.iter().find(|dose| dose.beam == beam.number);
                self.compare_beam(
                    beam,
                    item,
                    PlannedBeam { index, stated_dose },
                    stated,
                    &computed,
                    tell,
                )?;
            }
        }
        if planned.is_whole()
            && let Some(index) = planned.dose
        {
            tell("comparing the plan");
            self.compare_whole(index, &mut planned.whole, stated, &computed)?;
        }
        Ok(())
    }

    /// The field of a beam on the patient of the check; `None` for a beam without control points, and without a CT.
    fn field(&self, beam: &Beam) -> Result<Option<FieldOnPatient>, Failure> {
        let Some((start, densities)) = beam
            .start()
            .zip(Densities::new(&self.case, self.job.settings))
        else {
            return Ok(None);
        };
        let plan = &self.job.plan;
        let machine = Machine::resolve(plan.machine_of(beam)).ok();
        let sad_mm = machine
            .map(|machine| machine.sad_mm)
            .or(beam.source_axis_mm)
            .unwrap_or(1000.0);
        let source_mm = beam.frame_at(start, plan.position, sad_mm).source_mm;
        let densities = densities.for_beam(beam);
        let ray = match self.graph.full(
            &RayOfBeam {
                densities,
                source_mm,
                isocentre_mm: beam.isocentre_mm,
            },
            self.control,
        ) {
            Ok(ray) => ray,
            Err(stopped @ (Failure::Cancelled(_) | Failure::CancelledByUser)) => {
                return Err(stopped);
            }
            Err(_) => None,
        };
        let jaws = start.jaws;
        let equivalent_square_mm = jaws.equivalent_square_mm();
        Ok(Some(FieldOnPatient {
            sides_mm: jaws.sides_mm(),
            equivalent_square_mm,
            ray,
        }))
    }

    fn compare_beam(
        &mut self,
        beam: &Beam,
        item: &mut Item,
        planned: PlannedBeam<'_>,
        stated: &StatedPlan,
        computed: &ComputedPlan,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<(), Failure> {
        if planned.index.is_none() && planned.stated_dose.is_none() {
            return Ok(());
        }
        let query = &match self.recomputed_beam(beam, computed, tell) {
            Ok(query) => query,
            Err(stopped @ (Failure::Cancelled(_) | Failure::CancelledByUser)) => {
                return Err(stopped);
            }
            Err(why) => {
                item.not_judged.push(format!(
                    "{} could not be recomputed by itself: {why}.",
                    item.name
                ));
                return Ok(());
            }
        };
        let recomputed = self.graph.full(&**query, self.control)?.dose;
        if let Some(why) = why_not_final(&item.name, &recomputed) {
            item.not_judged.push(why);
            return Ok(());
        }
        if let Some(index) = planned.index {
            let dose = Arc::clone(&self.case.doses[index]);
            let point = beam_point(beam, &stated.beam_doses, &dose.gy);
            let planned = PlannedDose { index, dose: &dose };
            let recomputed = RecomputedDose {
                query,
                dose: &recomputed,
            };
            item.agreement = self.agreement(item, planned, recomputed, point, None)?;
        } else if let Some(beam_dose) = planned.stated_dose {
            let planned_gy = f64::from(self.job.plan.fractions) * beam_dose.gy;
            let point = PointAgreement {
                place: "the point of its beam dose".to_owned(),
                point_mm: beam_dose.point_mm.to_array(),
                planned_gy,
                recomputed_gy: value_at(&recomputed.gy, beam_dose.point_mm).unwrap_or(f64::NAN),
            };
            item.agreement = Some(Agreement {
                point: Some(point),
                ..Agreement::default()
            });
        }
        Ok(())
    }

    /// The dose of a beam by itself. Monte Carlo computes all beams together: a single beam takes another run.
    fn recomputed_beam(
        &self,
        beam: &Beam,
        computed: &ComputedPlan,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Shared<DoseOfPlan>, Failure> {
        if let Some(query) = computed
            .beams
            .iter()
            .find(|query| query.what == super::Shown::Beam(beam.number))
        {
            return Ok(query.clone());
        }
        if self
            .job
            .plan
            .beams
            .iter()
            .filter(|beam| !beam.setup)
            .count()
            == 1
        {
            return Ok(computed.whole.clone());
        }
        let alone = Plan {
            beams: vec![beam.clone()],
            ..(*self.job.plan).clone()
        };
        let case = Case {
            plans: vec![Arc::new(alone)],
            ..self.case.clone()
        };
        let (engine, settings) = (self.job.engine, self.job.settings);
        let computed = compute_in(&self.graph, &case, engine, settings, self.control, tell)?;
        Ok(computed.whole)
    }

    fn compare_whole(
        &mut self,
        index: usize,
        item: &mut Item,
        stated: &StatedPlan,
        computed: &ComputedPlan,
    ) -> Result<(), Failure> {
        let recomputed = self.graph.full(&*computed.whole, self.control)?.dose;
        if let Some(why) = why_not_final(&item.name, &recomputed) {
            item.not_judged.push(why);
            return Ok(());
        }
        let dose = Arc::clone(&self.case.doses[index]);
        let point = plan_point(
            &self.job.plan,
            &stated.references,
            &stated.beam_doses,
            &dose.gy,
        );
        let query = &computed.whole;
        let case = &self.case;
        let masks: Vec<(u32, MaskOf)> = { case.structures.structures.iter() }
            .filter_map(|s| Some((s.number, MaskOf::new(case, s)?)))
            .collect();
        let planned = PlannedDose { index, dose: &dose };
        let recomputed = RecomputedDose {
            query,
            dose: &recomputed,
        };
        item.agreement = self.agreement(item, planned, recomputed, point, Some(&masks))?;
        self.metrics(
            Shared::new(DoseOfPlan::of_file(&dose, index, None), None),
            query.clone(),
            &masks,
        )?;
        for row in &self.structures {
            let kind = self
                .case
                .structures
                .by_name(&row.name)
                .map(|structure| structure.kind);
            let means = row.metrics.iter().find(|pair| pair.metric == Metric::MEAN);
            if let Some((planned, recomputed)) =
                means.and_then(|pair| pair.planned.zip(pair.recomputed))
                && kind.is_some_and(StructureKind::is_target)
            {
                let (name, mean_gy) = (row.name.clone(), [planned, recomputed]);
                item.targets.push(TargetDoses { name, mean_gy });
            }
        }
        Ok(())
    }

    /// Gamma and the doses at a point; `None` with a reason where the doses cannot be compared.
    fn agreement(
        &mut self,
        item: &mut Item,
        planned: PlannedDose<'_>,
        recomputed: RecomputedDose<'_>,
        point: Option<DosePoint>,
        masks: Option<&[(u32, MaskOf)]>,
    ) -> Result<Option<Agreement>, Failure> {
        let Some(point) = point else {
            item.not_judged.push(format!(
                "The planned dose of {} is zero everywhere.",
                item.name
            ));
            return Ok(None);
        };
        match check_pair(planned.dose, recomputed.dose) {
            Ok(note) => self
                .notes
                .extend(note.filter(|note| !self.notes.contains(note))),
            Err(why) => {
                item.not_judged.push(format!("{}: {why}.", item.name));
                return Ok(None);
            }
        }
        let doses = [planned.dose, recomputed.dose];
        let greatest_gy = doses.map(|dose| f64::from(dose.max_gy()));
        let unit =
            unit_remark(greatest_gy[0], greatest_gy[1]).map(|why| format!("{}: {why}.", item.name));
        self.notes.extend(unit);
        let planned_query =
            Shared::new(DoseOfPlan::of_file(planned.dose, planned.index, None), None);
        let counted = match self.both_ways(&planned_query, recomputed.query, masks) {
            Ok(counted) => counted,
            Err(stopped @ (Failure::Cancelled(_) | Failure::CancelledByUser)) => {
                return Err(stopped);
            }
            Err(why) => {
                item.not_judged.push(format!(
                    "Gamma of {} could not be computed: {why}.",
                    item.name
                ));
                return Ok(None);
            }
        };
        let [planned_gy, recomputed_gy] =
            doses.map(|dose| value_at(&dose.gy, point.point_mm).unwrap_or(f64::NAN));
        let point_mm = point.point_mm.to_array();
        let point = PointAgreement {
            place: point.place,
            point_mm,
            planned_gy,
            recomputed_gy,
        };
        Ok(Some(Agreement {
            greatest_gy,
            point: Some(point),
            ..counted
        }))
    }

    /// Gamma of either dose at the points of the other, with one normalisation: what one of them lacks has no points in it. With
    /// masks, the rows of the structures too: the worse of both ways.
    fn both_ways(
        &mut self,
        planned: &Shared<DoseOfPlan>,
        recomputed: &Shared<DoseOfPlan>,
        masks: Option<&[(u32, MaskOf)]>,
    ) -> Result<Agreement, Failure> {
        let masks = masks.unwrap_or_default();
        let (gamma, normalisation_gy, at_planned) =
            self.gamma(self.gamma_query(planned, recomputed), masks, true)?;
        let normalisation = Normalisation::Typed(normalisation_gy);
        let query = GammaOfPair {
            normalisation,
            ..self.gamma_query(recomputed, planned)
        };
        let (gamma_back, _, at_recomputed) = self.gamma(query, masks, false)?;
        let set = &self.case.structures;
        for (number, _) in masks {
            let Some(structure) = set.by_number(*number) else {
                continue;
            };
            let both = [&at_planned, &at_recomputed].map(|gamma| {
                let figures = gamma.structures.iter().find(|(n, _)| n == number);
                figures.map(|(_, figures)| *figures)
            });
            let rates = both.map(|figures| figures.and_then(|figures| figures.pass_rate_percent));
            let points = both.map(|figures| figures.map_or(0, |figures| figures.points));
            let lower = LowerGamma::of_both(rates, points);
            self.structures.push(StructureCheck {
                name: structure.name.clone(),
                gamma_pass_rate_percent: lower.map(|lower| lower.pass_rate_percent),
                gamma_points: lower.map_or(0, |lower| lower.points),
                gamma_points_of: lower.map_or("", |lower| lower.of),
                metrics: Vec::new(),
                remarks: Vec::new(),
            });
        }
        let [gamma, gamma_back] = [gamma, gamma_back].map(Some);
        Ok(Agreement {
            gamma,
            gamma_back,
            normalisation_gy,
            ..Agreement::default()
        })
    }

    /// Gamma of a pair by the tolerances of the check.
    fn gamma_query(
        &self,
        reference: &Shared<DoseOfPlan>,
        evaluated: &Shared<DoseOfPlan>,
    ) -> GammaOfPair {
        let limits = self.job.tolerances;
        let criteria = vec![
            Criterion::global(limits.gamma_dose_percent, limits.gamma_dta_mm),
            FAR,
        ];
        GammaOfPair {
            threshold_percent: limits.gamma_threshold_percent,
            max_gamma: Some(MOST_GAMMA),
            ..GammaOfPair::new(
                reference.clone(),
                evaluated.clone(),
                criteria,
                self.job.settings.device,
            )
        }
    }

    /// Gamma of a pair, with its normalisation in Gy and its figures by structure.
    fn gamma(
        &self,
        gamma: GammaOfPair,
        masks: &[(u32, MaskOf)],
        outside_fails: bool,
    ) -> Result<(GammaAgreement, f64, Arc<GammaByStructure>), Failure> {
        let GammaAnswer { request, result } = self.graph.full(&gamma, self.control)?;
        let normalisation_gy = result.normalisation_gy;
        let counted = GammaAgreement::new(
            &request.reference,
            &result.maps,
            normalisation_gy,
            outside_fails,
        );
        let figures = FiguresOfGamma {
            gamma,
            masks: masks.to_vec(),
            bodies: Vec::new(),
            signed: false,
        };
        let figures = self.graph.full(&figures, self.control)?;
        let of_all = figures.report.figures;
        let (mean, max, beyond_max_gamma) = (of_all.mean, of_all.max, of_all.beyond_max_gamma);
        Ok((
            GammaAgreement {
                mean,
                max,
                beyond_max_gamma,
                ..counted
            },
            normalisation_gy,
            figures,
        ))
    }

    /// Metrics and goals of the structures in both doses.
    fn metrics(
        &mut self,
        planned: Shared<DoseOfPlan>,
        recomputed: Shared<DoseOfPlan>,
        masks: &[(u32, MaskOf)],
    ) -> Result<(), Failure> {
        let hundred_gy = self.job.plan.prescription_gy;
        let mut dvhs: Vec<(u32, DvhPair)> = Vec::new();
        for ((number, mask), row) in masks.iter().zip(&mut self.structures) {
            let mut pair = [None, None];
            for (dose, dvh) in [&planned, &recomputed].into_iter().zip(&mut pair) {
                match self
                    .graph
                    .full(&DvhOf::new(mask.clone(), dose.clone(), None), self.control)
                {
                    Ok(answer) => *dvh = Some(answer.dvh),
                    Err(stopped @ (Failure::Cancelled(_) | Failure::CancelledByUser)) => {
                        return Err(stopped);
                    }
                    Err(why) => row.remarks.push(why.to_string()),
                }
            }
            row.remarks.dedup();
            row.metrics = Metric::REPORTED
                .map(|metric| MetricPair {
                    metric,
                    unit: metric.unit().symbol(),
                    planned: metric_value(pair[0].as_deref(), metric, hundred_gy),
                    recomputed: metric_value(pair[1].as_deref(), metric, hundred_gy),
                })
                .to_vec();
            dvhs.push((*number, pair));
        }
        let [planned, recomputed] = [0, 1].map(|side| self.goal_rows(&dvhs, side));
        self.goals = planned
            .iter()
            .zip(&recomputed)
            .map(|(a, b)| goal_check(a, b))
            .collect();
        Ok(())
    }

    /// Goals in the planned dose (side 0) or the recomputed one (side 1). Both are whole: a dose that is not final is not compared.
    fn goal_rows(&self, dvhs: &[(u32, DvhPair)], side: usize) -> Vec<GoalRow> {
        let (goals, hundred_gy) = (self.job.goals, self.job.plan.prescription_gy);
        scorecard(
            goals,
            &self.case.structures,
            hundred_gy,
            None,
            |structure: &Structure| {
                let dvh_pair = dvhs.iter().find(|(number, _)| *number == structure.number);
                let dvh = dvh_pair.and_then(|(_, pair)| pair[side].as_deref());
                dvh.ok_or_else(|| Unanswered::NoDose("it has no DVH".to_owned()))
            },
        )
    }
}

/// DVHs of a structure in the planned and in the recomputed dose.
type DvhPair = [Option<Arc<Dvh>>; 2];

fn metric_value(dvh: Option<&Dvh>, metric: Metric, hundred_gy: Option<f64>) -> Option<f64> {
    dvh?.metric(metric, hundred_gy).ok()
}

fn goal_value(row: &GoalRow) -> Option<f64> {
    row.answer.as_ref().ok().map(|outcome| outcome.value)
}

fn verdict_words(row: &GoalRow) -> String {
    match &row.answer {
        Ok(outcome) if !row.is_undecided() => outcome.verdict.word().to_owned(),
        _ => row.verdict_text(),
    }
}

fn goal_check(planned: &GoalRow, recomputed: &GoalRow) -> GoalCheck {
    GoalCheck {
        goal: planned.goal.to_string(),
        unit: planned.goal.unit().symbol(),
        planned: goal_value(planned),
        recomputed: goal_value(recomputed),
        verdicts: [verdict_words(planned), verdict_words(recomputed)],
    }
}

/// Why a recomputed dose cannot be held against the planned one.
fn why_not_final(name: &str, dose: &Dose) -> Option<String> {
    if dose.status == DoseStatus::Coarse {
        return Some(format!(
            "The recomputed dose of {name} is not final: {} (`Grid` of the check, or --grid).",
            dose.status_text()
        ));
    }
    if dose.status != DoseStatus::Final {
        return Some(format!(
            "The recomputed dose of {name} is not final: {}.",
            dose.status_text()
        ));
    }
    let left_out = dose.caveats.join(", ");
    (!dose.caveats.is_empty())
        .then(|| format!("The recomputed dose of {name} is not complete: {left_out}."))
}
