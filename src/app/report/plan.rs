//! The report of a plan: pictures, beams with their apertures, DVHs and goals of the displayed dose, and what that dose is
//! worth. Gathered from the state in one step; the worker draws and writes it.

use super::picture::Scenery;
use super::{Curve, DoseFacts, utc};
use crate::render::RoomLook;
use crate::state::State;
use crate::state::results::{CaseResults, Shown};
use analysis::{GoalRow, Metric, given_words, is_computed, met_text};
use case::{Beam, ControlPoint, Dose, DoseStatus, Mlc, Plan, StructureKind};
use files::replace_file;
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

/// Contents of the report of a plan.
#[derive(Clone)]
pub struct PlanReport {
    pub program: String,
    /// UTC.
    pub written: String,
    pub patient: String,
    pub patient_id: String,
    pub case: String,
    pub plan: Plan,
    /// Densities that count in dose in place of the CT's.
    pub densities: Vec<String>,
    /// Factor of all monitor units by the normalisation.
    pub factor: Option<f64>,
    /// Uncertainty of the monitor units by that of the dose that is normalised to, in words: ` ± 1.0 %`.
    pub factor_uncertainty: String,
    pub dose: Option<DoseFacts>,
    /// Why nothing of the report is final, for every page; `None` for a final dose of the plan.
    pub reservation: Option<String>,
    pub beams: Vec<BeamFacts>,
    pub structures: Vec<PlanStructure>,
    pub goals: Vec<GoalRow>,
    /// 100 % of the goals in Gy, and its name.
    pub goals_percent_of: Option<(f64, &'static str)>,
    /// 100 % of the isodoses in Gy, and its name.
    pub reference: Option<(f64, &'static str)>,
    pub(super) curves: Vec<Curve>,
    pub(super) scenery: Scenery,
    pub(super) room: Option<RoomPicture>,
}

/// The room with the beams.
#[derive(Clone)]
pub(super) struct RoomPicture {
    pub look: RoomLook,
    /// What it shows.
    pub words: String,
}

/// Pixels of the picture of the room.
pub const ROOM_PX: [u32; 2] = [720, 420];

/// A beam as the table has it.
#[derive(Clone)]
pub struct BeamFacts {
    pub name: String,
    pub number: u32,
    pub machine: String,
    pub start: ControlPoint,
    /// Gantry angle of the last control point, where it turns.
    pub to_gantry_deg: Option<f64>,
    pub control_points: usize,
    pub isocentre_mm: [f64; 3],
    pub mlc: Option<Mlc>,
    /// Per fraction, as delivered: after normalisation, where that is known.
    pub mu: f64,
    pub is_normalised: bool,
    /// Why the beam is not in the dose.
    pub left_out: Option<String>,
}

/// Figures of a structure.
#[derive(Clone)]
pub struct PlanStructure {
    pub name: String,
    pub volume_cm3: f64,
    /// In the order of [`Metric::REPORTED`].
    pub values: Vec<Option<f64>>,
    pub remarks: Vec<String>,
}

/// Gathers the report of the displayed plan.
///
/// # Errors
/// Why there is nothing to report, in words.
pub fn gather(state: &State) -> Result<PlanReport, String> {
    let plan = state.plan().ok_or("there is no plan")?;
    let results = &state.results;
    if let Shown::Beam(_) = results.shown {
        return Err("the dose on show is that of one beam: show the dose of the plan first".to_owned());
    }
    let factor = results.normalisation_factor().filter(|_| plan.normalisation.is_some()).map(|f| f.value);
    let shown_dose = results.shown_dose().filter(|_| results.shown_failure().is_none());
    let case = state.case();
    Ok(PlanReport {
        program: format!("Beamsight {}", env!("CARGO_PKG_VERSION")),
        written: utc(SystemTime::now()),
        patient: case.patient.name.replace('^', " ").trim().to_owned(),
        patient_id: case.patient.id.clone(),
        case: case.source.clone(),
        plan: (**plan).clone(),
        densities: given_words(&case.structures, Some(plan)),
        factor,
        factor_uncertainty: results.factor_uncertainty_words(),
        dose: shown_dose.map(|dose| facts_of(dose, results)),
        reservation: reservation(state),
        beams: plan.beams.iter().filter_map(|beam| beam_facts(plan, beam, factor)).collect(),
        structures: structures(state),
        goals: state.scorecard(),
        goals_percent_of: state.goal_hundred(),
        reference: state.reference(),
        curves: curves(state),
        scenery: Scenery::of_displayed(state),
        room: None,
    })
}

/// Why the dose is not the final one of the plan.
fn reservation(state: &State) -> Option<String> {
    let results = &state.results;
    if let Some(why) = results.shown_failure() {
        return Some(format!("The plan has no dose: {why}"));
    }
    let Some(dose) = results.shown_dose() else { return Some("The plan has no dose.".to_owned()) };
    match results.dvh_status().unwrap_or(dose.status) {
        DoseStatus::Final if dose.caveats.is_empty() => None,
        DoseStatus::Final => Some(format!("Reservations about the dose: {}.", dose.caveats.join(", "))),
        DoseStatus::Imported => {
            Some(format!("The dose is of a file ({}), not computed from this plan.", dose.label))
        }
        status => {
            let word = status.word().to_uppercase();
            let caveats = dose.caveats.join(", ");
            let why = if caveats.is_empty() { word } else { format!("{word} ({caveats})") };
            Some(format!("{why}: the dose is not final, nothing in this report is."))
        }
    }
}

fn facts_of(dose: &Dose, results: &CaseResults) -> DoseFacts {
    let grid = dose.gy.grid();
    let [dx, dy] = grid.spacing_xy_mm();
    DoseFacts {
        label: dose.label.clone(),
        status: dose.status,
        caveats: dose.caveats.clone(),
        uncertainty_percent: results.certainty().and_then(|certainty| certainty.uncertainty_percent),
        max_gy: results.shown_max_gy().unwrap_or_default(),
        voxels: grid.size(),
        spacing_mm: [dx, dy, grid.even_plane_spacing_mm().unwrap_or(f64::NAN)],
        frame_of_reference_uid: dose.frame_of_reference_uid.clone(),
        receipt: dose.receipt.as_deref().cloned(),
    }
}

fn beam_facts(plan: &Plan, beam: &Beam, factor: Option<f64>) -> Option<BeamFacts> {
    let start = beam.start()?.clone();
    let last = beam.control_points.last()?;
    Some(BeamFacts {
        name: beam.name.clone(),
        number: beam.number,
        machine: plan.machine_of(beam).to_owned(),
        to_gantry_deg: (last.gantry_deg != start.gantry_deg).then_some(last.gantry_deg),
        start,
        control_points: beam.control_points.len(),
        isocentre_mm: beam.isocentre_mm.to_array(),
        mlc: beam.mlc.clone(),
        mu: beam.mu * factor.unwrap_or(1.0),
        is_normalised: plan.normalisation.is_none() || factor.is_some(),
        left_out: (!is_computed(beam))
            .then(|| beam.read_only.clone().unwrap_or_else(|| "it is no photon beam".to_owned())),
    })
}

/// The visible structures with a DVH, in the order of the tree.
fn structures(state: &State) -> Vec<PlanStructure> {
    let hundred_gy = state.goal_hundred().map(|(gy, _)| gy);
    let of = |s: &case::Structure| {
        let dvh = state.results.dvh(s.number)?;
        Some(PlanStructure {
            name: s.name.clone(),
            volume_cm3: dvh.volume_cm3(),
            values: Metric::REPORTED.map(|metric| dvh.metric(metric, hundred_gy).ok()).to_vec(),
            remarks: dvh.remarks(),
        })
    };
    visible(state).into_iter().filter_map(of).collect()
}

fn visible(state: &State) -> Vec<&case::Structure> {
    let all = state.case().structures.structures.iter();
    let mut shown: Vec<_> = all.filter(|s| !state.hidden.contains(&s.number)).collect();
    shown.sort_by_key(|s| s.kind.min(StructureKind::Organ));
    shown
}

fn curves(state: &State) -> Vec<Curve> {
    let of = |s: &case::Structure| {
        let dvh = state.results.dvh(s.number)?;
        Some(Curve { name: s.name.clone(), colour: s.colour, points: [dvh.cumulative(), Vec::new()] })
    };
    visible(state).into_iter().filter_map(of).collect()
}

/// What the picture of the room shows, in words.
fn room_words(state: &State) -> String {
    let mut words =
        "From the foot end of the couch. Gantry head and couch top have assumed sizes.".to_owned();
    let surfaces = state.isodose_surfaces();
    if let Some(status) = state.results.isodose_status().filter(|_| !surfaces.is_empty()) {
        let percent: Vec<String> = surfaces.iter().map(|s| format!("{} %", s.percent)).collect();
        words += &format!(" Surfaces of the isodoses of {} (dose {}).", percent.join(" and "), status.word());
    }
    words
}

impl PlanReport {
    /// With the picture of the room as the state has it.
    #[must_use]
    pub fn with_room(self, look: Option<RoomLook>, state: &State) -> Self {
        let room = look.map(|look| RoomPicture { look, words: room_words(state) });
        Self { room, ..self }
    }

    /// "5 of 7 met", and how many are undecided.
    pub fn met(&self) -> String {
        met_text(&self.goals)
    }
}

/// Writes the report as PDF.
///
/// # Errors
/// Those of the file system.
pub fn write(report: &PlanReport, path: &Path) -> Result<(), String> {
    let bytes = super::plan_pages::draw(report);
    replace_file(path, |out| out.write_all(&bytes))
        .map_err(|e| format!("cannot write {}: {e}; choose a folder you may write to", path.display()))
}
