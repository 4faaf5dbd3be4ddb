//! An export of a case with its doses in one call, for the window and the command line.

use super::graph::Failure;
use super::imaging_job::{XRays, imaging};
use super::inputs::Settings;
use super::plan_job::compute_written_plan;
use analysis::{
    Certainty, DEFAULT_GRID_MM, Engine, beams_left_out, given_words, is_computed, low_peaks,
    ways_out, why_bolus_stays, why_left_out,
};
use case::{Case, DoseStatus, Plan};
use dicom::{
    ExportOptions, ExportPart, Exported, PlanDoses, WriteError, check_export, export,
    why_no_plan_dose,
};
use engine::JobControl;
use engine::dose::Quality;
use engine::histories::FINAL_PERCENT;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Which doses of a plan leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DosesToExport {
    /// Dose of the whole plan.
    Plan,
    /// Each beam's by itself.
    Beams,
    #[default]
    Both,
}

/// Doses that are computed for an export, and how.
#[derive(Clone, Copy, Debug)]
pub struct ExportHow<'a> {
    pub doses: DosesToExport,
    pub settings: &'a Settings,
    /// Engines of the plans in order; collapsed cone where there is none.
    pub engines: &'a [Engine],
    /// X-rays of the case, for the parts about them.
    pub xrays: Option<&'a XRays>,
}

impl DosesToExport {
    /// All that an engine gives.
    pub fn all_of(engine: Engine) -> Self {
        if engine.is_by_beam() {
            Self::Both
        } else {
            Self::Plan
        }
    }
}

/// Why a case was not exported.
#[derive(Debug, Error)]
pub enum ExportFailure {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Compute(#[from] Failure),
    #[error("{0}")]
    Refused(String),
    /// Nor do the doses of single beams leave.
    #[error("{0}")]
    NoDoseLeaves(String),
}

impl ExportHow<'_> {
    fn engine(&self, plan: usize) -> Engine {
        self.engines.get(plan).copied().unwrap_or_default()
    }
}

/// Computes the doses that leave and writes a case into an empty folder.
///
/// # Errors
/// [`ExportFailure`]: what cannot leave, before anything is computed.
pub fn export_case(
    folder: &Path,
    case: &Case,
    options: &ExportOptions,
    how: ExportHow,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Exported, ExportFailure> {
    let ExportHow {
        settings, xrays, ..
    } = how;
    let options = &ExportOptions {
        imaging: match xrays.filter(|_| options.parts.iter().any(|part| part.is_of_xrays())) {
            Some(xrays) => Some(imaging(
                case,
                xrays,
                options.has(ExportPart::Drr),
                settings,
                control,
            )?),
            None => None,
        },
        ..options.clone()
    };
    check_export(case, options)?;
    if options.has(ExportPart::Dose) {
        check_doses(case, &how)?;
    } else if options.has(ExportPart::Plan) {
        check_normalised(case, &how)?;
    }
    let mut remarks = Vec::new();
    let mut exported = export(
        folder,
        case,
        options,
        |case: &Case| -> Result<Vec<Option<PlanDoses>>, ExportFailure> {
            let mut plan_doses = Vec::new();
            for (n, plan) in case.plans.iter().enumerate() {
                let (doses, remark) =
                    doses_to_export(case, plan, options, &how, how.engine(n), control, tell)?;
                plan_doses.push(doses);
                remarks.extend(remark);
            }
            Ok(plan_doses)
        },
        &|_| control.check().is_ok(),
    )?;
    exported.remarks.extend(remarks);
    Ok(exported)
}

/// Doses of a plan, or of a normalised plan that leaves without them the delivered monitor units, with a remark on those.
fn doses_to_export(
    case: &Case,
    plan: &Arc<Plan>,
    options: &ExportOptions,
    how: &ExportHow,
    engine: Engine,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(Option<PlanDoses>, Option<String>), ExportFailure> {
    if options.has(ExportPart::Dose) {
        return Ok((
            Some(doses_of(case, plan, how, engine, control, tell)?),
            None,
        ));
    }
    if plan.normalisation.is_none() {
        return Ok((None, None));
    }
    let (delivered, remark) = as_delivered(case, plan, how, engine, control, tell)?;
    Ok((Some(delivered), Some(remark)))
}

/// Refuses a normalised plan whose monitor units would follow from no dose, or from a coarse one: those that were typed deliver
/// another dose.
fn check_normalised(case: &Case, how: &ExportHow) -> Result<(), ExportFailure> {
    let Some(plan) = case.plans.iter().find(|plan| plan.normalisation.is_some()) else {
        return Ok(());
    };
    if case.ct.is_none() {
        return Err(not_delivered(plan, "the case has no CT to compute it on"));
    }
    if is_coarse(how.settings) {
        let why = format!(
            "it would be {}; compute it on a grid of {DEFAULT_GRID_MM} mm or less, with all directions of the kernels",
            DoseStatus::Coarse
        );
        return Err(not_delivered(plan, why));
    }
    let mut normalised = case
        .plans
        .iter()
        .filter(|plan| plan.normalisation.is_some());
    let left_out = normalised.find(|plan| beams_left_out(plan).is_some());
    left_out.map_or(Ok(()), |plan| {
        Err(not_delivered(plan, why_left_out(plan).join("; ")))
    })
}

fn not_delivered(plan: &Plan, why: impl std::fmt::Display) -> ExportFailure {
    ExportFailure::Refused(format!(
        "the plan '{}' does not leave: it is normalised ({}), so its monitor units follow from its dose, and {why}. Without its \
         normalisation it leaves with the monitor units that it has",
        plan.name,
        plan.normalisation
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default()
    ))
}

/// Whether doses on the grid and by the kernel directions of the settings are not final.
fn is_coarse(settings: &Settings) -> bool {
    settings.grid_mm > DEFAULT_GRID_MM || settings.quality != Quality::default()
}

/// A plan that leaves without its dose, with the monitor units that deliver its normalisation; and a remark on them.
fn as_delivered(
    case: &Case,
    plan: &Arc<Plan>,
    how: &ExportHow,
    engine: Engine,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(PlanDoses, String), ExportFailure> {
    let (result, _) = match compute_written_plan(case, plan, engine, how.settings, control, tell) {
        Err(Failure::Here(why) | Failure::Below(why)) => return Err(not_delivered(plan, why)),
        computed => computed?,
    };
    check_certainty(plan, result.certainty.as_ref())?;
    let mut remark = format!(
        "plan '{}': it leaves with the monitor units that deliver its normalisation ({}): {:.2} of all beams, {:.4} times those that \
         were typed",
        plan.name,
        plan.normalisation
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        result.plan.mu(),
        result.factor
    );
    if let Some(why) = why_no_plan_dose(result.dose.status, &result.dose.caveats) {
        let _ = write!(
            remark,
            ". The dose that they follow from would not leave: {why}"
        );
    }
    let delivered = PlanDoses {
        note: note(case, plan, how.settings, engine, result.certainty.as_ref()),
        uncertainty_percent: None,
        plan: result.plan,
        dose: None,
        beams: Vec::new(),
        beam_doses: Vec::new(),
    };
    Ok((delivered, remark))
}

/// Refuses a Monte Carlo dose of too few histories, also where a run was to end at more, and did.
fn check_certainty(plan: &Plan, certainty: Option<&Certainty>) -> Result<(), ExportFailure> {
    let percent = certainty.map(|certainty| certainty.uncertainty_percent);
    match percent.filter(|percent| percent.is_none_or(|p| p > FINAL_PERCENT)) {
        None => Ok(()),
        Some(percent) => Err(ExportFailure::Refused(format!(
            "the dose of the plan '{}' does not leave: its standard deviation is {}, and a Monte Carlo dose leaves with at \
             most {FINAL_PERCENT} %: give it more histories",
            plan.name,
            percent.map_or("not known".to_owned(), |p| format!("{p:.1} %"))
        ))),
    }
}

/// Refuses a dose that would not be final.
fn check_doses(case: &Case, how: &ExportHow) -> Result<(), ExportFailure> {
    let (which, settings) = (how.doses, how.settings);
    for (n, plan) in case.plans.iter().enumerate() {
        if which == DosesToExport::Beams && !how.engine(n).is_by_beam() {
            return Err(ExportFailure::Refused(format!(
                "the plan '{}' has no doses of single beams: Monte Carlo computes all beams together. Its dose can leave as a \
                 whole",
                plan.name
            )));
        }
    }
    if is_coarse(settings) {
        return Err(ExportFailure::NoDoseLeaves(format!(
            "the doses would be {}, and only final ones leave: compute them on a grid of {DEFAULT_GRID_MM} mm or less, with all \
             directions of the kernels",
            DoseStatus::Coarse
        )));
    }
    if let Some(why) = why_bolus_stays(&case.structures) {
        return Err(ExportFailure::NoDoseLeaves(format!(
            "no dose of the case leaves: {why}. Its plans can leave without doses"
        )));
    }
    check_inputs(case)?;
    for plan in case.plans.iter().filter(|_| which != DosesToExport::Beams) {
        let partial = beams_left_out(plan)
            .and_then(|left_out| why_no_plan_dose(DoseStatus::Partial, &[left_out]));
        if let Some(why) = partial {
            return Err(ExportFailure::Refused(format!(
                "the dose of the plan '{}' does not leave: {why} ({}). The doses of its computed beams can leave by themselves, \
                 and the plan without any",
                plan.name,
                why_left_out(plan).join("; ")
            )));
        }
    }
    Ok(())
}

/// Refuses doses of images and plans that were remarked on as not whole.
fn check_inputs(case: &Case) -> Result<(), ExportFailure> {
    for plan in &case.plans {
        let mut reservations = case.reservations();
        reservations.add(&plan.reservations());
        if !reservations.caveats.is_empty() {
            return Err(ExportFailure::Refused(format!(
                "the dose of the plan '{}' does not leave: it would be {} ({}). Correct what it is made of and open it again; the plan can \
                 leave without a dose, and the verb dose writes a .mha, which says what it is",
                plan.name,
                case::status_text(DoseStatus::Partial, &reservations.caveats),
                reservations.remarks.join("; ")
            )));
        }
    }
    Ok(())
}

fn doses_of(
    case: &Case,
    plan: &Arc<Plan>,
    &ExportHow {
        doses: which,
        settings,
        ..
    }: &ExportHow,
    engine: Engine,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<PlanDoses, ExportFailure> {
    let (result, beams) = compute_written_plan(case, plan, engine, settings, control, tell)?;
    let name = &plan.name;
    let uncertainty_percent = result
        .certainty
        .as_ref()
        .map(|certainty| certainty.uncertainty_percent);
    check_certainty(plan, result.certainty.as_ref())?;
    let by_beam = if which == DosesToExport::Plan {
        Vec::new()
    } else {
        beams
    };
    // Peaks of single beams are judged by the sum of all.
    if let Some(low) = low_peaks(&result.dose).filter(|_| !by_beam.is_empty()) {
        let refused = refusal(
            &format!("each beam of the plan '{name}'"),
            DoseStatus::Coarse,
            &[low],
        );
        refused.map_or(Ok(()), |why| Err(ExportFailure::NoDoseLeaves(why)))?;
    }
    for (number, dose) in &by_beam {
        let refused = refusal(
            &format!("beam {number} of the plan '{name}'"),
            dose.status,
            &dose.caveats,
        );
        refused.map_or(Ok(()), |why| Err(ExportFailure::NoDoseLeaves(why)))?;
    }
    let plan_dose = (which != DosesToExport::Beams).then_some(result.dose);
    if let Some(dose) = &plan_dose {
        let refused = refusal(&format!("the plan '{name}'"), dose.status, &dose.caveats);
        refused.map_or(Ok(()), |why| Err(ExportFailure::Refused(why)))?;
    }
    Ok(PlanDoses {
        note: note(case, plan, settings, engine, result.certainty.as_ref()),
        uncertainty_percent: uncertainty_percent.flatten(),
        plan: result.plan,
        dose: plan_dose,
        beams: by_beam,
        beam_doses: result.beam_doses,
    })
}

/// Why a dose does not leave, with the ways out; `None` where it does.
fn refusal(what: &str, status: DoseStatus, caveats: &[String]) -> Option<String> {
    let why = why_no_plan_dose(status, caveats)?;
    let ways = ways_out(caveats);
    let ways = if ways.is_empty() {
        String::new()
    } else {
        format!(". To make it whole: {ways}")
    };
    Some(format!("the dose of {what} does not leave: {why}{ways}"))
}

/// How a plan was computed, and which of its beams were not.
fn note(
    case: &Case,
    plan: &Plan,
    settings: &Settings,
    engine: Engine,
    certainty: Option<&Certainty>,
) -> String {
    let by = match certainty {
        Some(Certainty {
            histories,
            uncertainty_percent,
            ..
        }) => format!(
            "{} ({:.2} million histories, standard deviation {:.2} % where the dose is above half its maximum)",
            engine.method(),
            *histories as f64 * 1e-6,
            uncertainty_percent.unwrap_or(f64::NAN)
        ),
        None => engine.method(),
    };
    let computed = plan.beams.iter().filter(|beam| is_computed(beam));
    let machines: BTreeSet<&str> = computed.map(|beam| plan.machine_of(beam)).collect();
    let mut note = format!(
        "Beamsight: {by}, {} mm, dose to {}, machine model {}, all {} fraction(s); not for clinical use.",
        settings.grid_mm,
        settings.dose_to.word(),
        machines.into_iter().collect::<Vec<_>>().join(", "),
        plan.fractions
    );
    let left_out = why_left_out(plan);
    if !left_out.is_empty() {
        let _ = write!(note, " Not computed: {}.", left_out.join("; "));
    }
    // Few programs read densities of structures: elsewhere the dose is to be known as one of other matter than the CT's.
    let density_words = given_words(&case.structures, Some(plan));
    if !density_words.is_empty() {
        let _ = write!(note, " Densities: {}.", density_words.join("; "));
    }
    note
}
