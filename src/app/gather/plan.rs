//! The report of the displayed plan.

use super::pictures;
use crate::feature::beam::jobs::hull_of;
use crate::state::State;
use crate::state::results::Shown;
use analysis::given_words;
use case::{Plan, StructureKind};
use report::plan::{
    BeamFacts, FieldFacts, Outline, PlanReport, PlanStructure, PlanesThrough, RoomPicture,
    reservation,
};
use report::room::RoomLook;
use report::{Curve, DoseFacts, PROGRAM, patient_name, written_now};
use sequence::PlanDelivery;
use std::sync::Arc;

/// Gathers the report of the displayed plan.
///
/// # Errors
/// Why there is nothing to report, in words.
pub fn plan(state: &State) -> Result<PlanReport, String> {
    let plan = state.plan().ok_or("there is no plan")?;
    let results = &state.results;
    if let Shown::Beam(_) = results.shown {
        return Err(
            "the dose on show is that of one beam: show the dose of the plan first".to_owned(),
        );
    }
    let stated = results
        .normalisation_factor()
        .filter(|_| plan.normalisation.is_some());
    let factor = stated.map(|factor| factor.value);
    let dose = results.shown_dose();
    let uncertainty_percent = results
        .certainty()
        .and_then(|certainty| certainty.uncertainty_percent);
    let max_gy = results.shown_max_gy().unwrap_or_default();
    let (case, dvhs) = (state.case(), state.shown_dvhs());
    let hundred_gy = state.goal_hundred().map(|(gy, _)| gy);
    let mut planes = PlanesThrough::isocentres(plan);
    if planes.is_empty() {
        planes.push(PlanesThrough {
            words: "the crosshair".to_owned(),
            at_mm: state.crosshair_mm,
        });
    }
    Ok(PlanReport {
        program: PROGRAM.to_owned(),
        written: written_now(),
        patient: patient_name(case),
        patient_id: case.patient.id.clone(),
        case: case.source.clone(),
        plan: (**plan).clone(),
        densities: given_words(&case.structures, Some(plan)),
        factor,
        factor_words: stated.map(|factor| factor.worded(4, "", "")),
        dose: dose
            .filter(|_| results.shown_failure().is_none())
            .map(|dose| DoseFacts::new(dose, max_gy, uncertainty_percent)),
        reservation: reservation(
            results.shown_failure(),
            dose.map(|dose| &**dose),
            results.dvh_status(),
        ),
        beams: plan
            .beams
            .iter()
            .filter_map(|beam| BeamFacts::new(plan, beam, factor))
            .collect(),
        delivery: PlanDelivery::new(plan, factor.unwrap_or(1.0)),
        fields: fields(state, plan),
        outlines: outlines(state),
        other_volumes: other_volumes(state),
        structures: dvhs
            .iter()
            .map(|(s, dvh)| PlanStructure::new(s, dvh, hundred_gy))
            .collect(),
        goals: state.scorecard(),
        goals_percent_of: state.goal_hundred(),
        reference: state.reference(),
        curves: dvhs.iter().map(|(s, dvh)| Curve::new(s, dvh)).collect(),
        pictures: pictures::of_displayed(state),
        planes,
        room: None,
    })
}

fn fields(state: &State, plan: &Plan) -> Vec<FieldFacts> {
    let results = &state.results;
    let beams = plan.beams.iter().enumerate();
    let fields = beams.filter_map(|(index, beam)| {
        let name = plan.machine_of(beam);
        let machine = results.machine(name);
        let mv = machine.map(|machine| (machine.nominal_mv, machine.is_flattened() == Some(false)));
        FieldFacts::new(
            plan,
            index,
            results.sad_mm(name),
            mv,
            results.central_ray(beam.number),
        )
    });
    fields.collect()
}

/// Volumes of the structures that have no row of metrics, cm3.
fn other_volumes(state: &State) -> Vec<(String, f64)> {
    let rows: Vec<u32> = state
        .shown_dvhs()
        .iter()
        .map(|(structure, _)| structure.number)
        .collect();
    let others = state
        .case()
        .structures
        .structures
        .iter()
        .filter(|s| !rows.contains(&s.number));
    others
        .filter_map(|s| Some((s.name.clone(), state.results.volume_cm3(s.number)?)))
        .collect()
}

/// Structures on show but the body, whose shadow fills the apertures.
fn outlines(state: &State) -> Vec<Outline> {
    let case = state.case();
    let grid = case.ct.as_ref().map(|ct| &**ct.hu.grid());
    let shown = case.structures.structures.iter();
    let shown =
        shown.filter(|s| !state.hidden.contains(&s.number) && s.kind != StructureKind::External);
    let outlines = shown.filter_map(|structure| {
        Some(Outline {
            hull: Arc::new(hull_of(structure, grid).ok()?),
            colour: structure.colour,
        })
    });
    outlines.collect()
}

/// The report with the picture of the room as the state has it.
#[must_use]
pub fn with_room(report: PlanReport, look: Option<RoomLook>, state: &State) -> PlanReport {
    let levels: Vec<f32> = state
        .isodose_surfaces()
        .iter()
        .map(|surface| surface.percent)
        .collect();
    let room = look.map(|look| RoomPicture::new(look, &levels, state.results.isodose_status()));
    PlanReport { room, ..report }
}
