//! The report of a computed plan, as the window writes it but for the picture of the room.

use super::Failure;
use analysis::{DifferenceDisplay, GoalRow, given_words};
use app::feature::beam::jobs::hull_of;
use app::state::display::{DoseDisplay, WINDOW_PRESETS};
use app::view::framed_mm;
use case::{Case, Plan, StructureKind};
use engine::JobControl;
use geometry::AnatomicalPlane;
use glam::DVec3;
use physics::Machine;
use report::plan::{
    BeamFacts, FieldFacts, Outline, PlanReport, PlanStructure, PlanesThrough, reservation,
};
use report::{Curve, DoseFacts, PROGRAM, Pictures, patient_name, written_now};
use results::{Densities, Graph, MaskOf, PlanResult, RayOfBeam, Settings};
use sequence::PlanDelivery;
use std::sync::Arc;

/// The report of a plan with its delivered monitor units, in its case.
///
/// # Errors
/// A machine that cannot be read; cancellation.
pub fn plan_report(
    case: &Case,
    result: &PlanResult,
    goals: Vec<GoalRow>,
    settings: &Settings,
    control: &JobControl,
) -> Result<PlanReport, Failure> {
    let (plan, dose) = (&result.plan, &result.dose);
    let prescription = plan.prescription_gy.map(|gy| (gy, "prescription"));
    let hundred_gy = prescription.map(|(gy, _)| gy);
    let max_gy = result.figures.max_gy;
    let structures = result.dvhs.iter();
    Ok(PlanReport {
        program: PROGRAM.to_owned(),
        written: written_now(),
        patient: patient_name(case),
        patient_id: case.patient.id.clone(),
        case: case.source.clone(),
        plan: plan.clone(),
        densities: given_words(&case.structures, Some(plan)),
        factor: None,
        factor_words: None,
        dose: Some(DoseFacts::new(dose, max_gy, None)),
        reservation: reservation(None, Some(dose), Some(dose.status)),
        beams: plan
            .beams
            .iter()
            .filter_map(|beam| BeamFacts::new(plan, beam, None))
            .collect(),
        delivery: PlanDelivery::new(plan, 1.0),
        fields: fields(case, plan, settings, control)?,
        outlines: outlines(case),
        other_volumes: Vec::new(),
        structures: structures
            .clone()
            .map(|(s, dvh)| PlanStructure::new(s, dvh, hundred_gy))
            .collect(),
        goals,
        goals_percent_of: prescription,
        reference: prescription,
        curves: structures.map(|(s, dvh)| Curve::new(s, dvh)).collect(),
        pictures: pictures(case, result, control)?,
        planes: PlanesThrough::isocentres(plan),
        room: None,
    })
}

/// The beams beside what they meet.
fn fields(
    case: &Case,
    plan: &Plan,
    settings: &Settings,
    control: &JobControl,
) -> Result<Vec<FieldFacts>, Failure> {
    let densities = Densities::new(case, settings);
    let graph = Graph::default();
    let mut fields = Vec::new();
    for (index, beam) in plan.beams.iter().enumerate() {
        let machine = Machine::resolve(plan.machine_of(beam)).map_err(anyhow::Error::from)?;
        let mv = (machine.nominal_mv, machine.is_flattened() == Some(false));
        let ray = match (&densities, beam.start()) {
            (Some(densities), Some(start)) => {
                let frame = beam.frame_at(start, plan.position, machine.sad_mm);
                let query = RayOfBeam {
                    densities: densities.for_beam(beam),
                    source_mm: frame.source_mm,
                    isocentre_mm: beam.isocentre_mm,
                };
                Some(graph.full(&query, control)?)
            }
            _ => None,
        };
        fields.extend(FieldFacts::new(plan, index, machine.sad_mm, Some(mv), ray));
    }
    Ok(fields)
}

/// All structures but the body, whose shadow fills the apertures.
fn outlines(case: &Case) -> Vec<Outline> {
    let grid = case.ct.as_ref().map(|ct| &**ct.hu.grid());
    let structures = case.structures.structures.iter();
    let shown = structures.filter(|s| s.kind != StructureKind::External);
    let outlines = shown.filter_map(|structure| {
        Some(Outline {
            // A structure without a volume has no shadow.
            hull: Arc::new(hull_of(structure, grid).ok()?),
            colour: structure.colour,
        })
    });
    outlines.collect()
}

/// Pictures of the dose with the levels and grey values that a window begins with.
fn pictures(case: &Case, result: &PlanResult, control: &JobControl) -> Result<Pictures, Failure> {
    let graph = Graph::default();
    let mut outlines = Vec::new();
    for (structure, _) in &result.dvhs {
        if let Some(query) = MaskOf::new(case, structure) {
            outlines.push((graph.full(&query, control)?, structure.colour));
        }
    }
    let (display, window) = (DoseDisplay::default(), WINDOW_PRESETS[1].1);
    let levels = display.levels.iter().filter(|level| level.shown);
    let grid = case.ct.as_ref().map(|ct| ct.hu.grid());
    Ok(Pictures {
        ct: case.ct.as_ref().map(|ct| ct.hu.clone()),
        window_width_hu: window.width_hu,
        window_level_hu: window.level_hu,
        doses: [Some(Arc::new(result.dose.clone())), None],
        gamma: None,
        gamma_end: 2.0,
        plane: AnatomicalPlane::Axial,
        crosshair_mm: DVec3::ZERO,
        outlines,
        isodoses: levels.map(|level| (level.percent, level.colour)).collect(),
        wash_opacity: display.wash.then_some(display.wash_opacity),
        difference: DifferenceDisplay::default(),
        reference_gy: result.plan.prescription_gy,
        shown_mm: grid.map(|grid| framed_mm(grid, &case.structures)),
    })
}
