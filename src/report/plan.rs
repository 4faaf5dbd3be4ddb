//! The report of a plan: pictures, beams with their apertures, DVHs and goals of a dose, and what that dose is worth.

mod apertures;
mod fields;
mod pages;

pub use fields::{FieldFacts, Outline};

use super::picture::Pictures;
use super::room::RoomLook;
use super::{Curve, DoseFacts, save};
use analysis::{Dvh, GoalRow, Metric, is_computed, met_text};
use case::{Beam, ControlPoint, Dose, DoseStatus, FluenceMap, Mlc, Plan, Structure};
use glam::DVec3;
use sequence::{DeliveryFigures, PlanDelivery};
use std::path::Path;

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
    /// The factor with its uncertainty and standing: `1.0234 ± 1.0 %`.
    pub factor_words: Option<String>,
    pub dose: Option<DoseFacts>,
    /// Why nothing of the report is final, for every page; `None` for a final dose of the plan.
    pub reservation: Option<String>,
    pub beams: Vec<BeamFacts>,
    /// Delivery of the plan, where all beams have leaves.
    pub delivery: Option<PlanDelivery>,
    pub fields: Vec<FieldFacts>,
    /// Structures of the apertures.
    pub outlines: Vec<Outline>,
    pub structures: Vec<PlanStructure>,
    /// Structures without metrics, cm3.
    pub other_volumes: Vec<(String, f64)>,
    pub goals: Vec<GoalRow>,
    /// 100 % of the goals in Gy, and its name.
    pub goals_percent_of: Option<(f64, &'static str)>,
    /// 100 % of the isodoses in Gy, and its name.
    pub reference: Option<(f64, &'static str)>,
    pub curves: Vec<Curve>,
    /// Pictures of [`Self::planes`]: all but where the planes lie.
    pub pictures: Pictures,
    /// Places that planes are drawn through: each isocentre of the treatment beams.
    pub planes: Vec<PlanesThrough>,
    pub room: Option<RoomPicture>,
}

/// A place that three planes are drawn through.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanesThrough {
    /// `the isocentre`, `the isocentre of AP and PA`, `the crosshair`.
    pub words: String,
    /// Patient LPS, mm.
    pub at_mm: DVec3,
}

/// Most isocentres that a report draws planes through, half a page each.
const MOST_PLACES: usize = 8;

impl PlanesThrough {
    /// The isocentres of a plan's treatment beams, in the order of the beams; of its setup beams where it has no others. Beyond
    /// [`MOST_PLACES`] none are drawn. Empty for a plan without beams.
    pub fn isocentres(plan: &Plan) -> Vec<Self> {
        let is_treated = plan.beams.iter().any(|beam| !beam.setup);
        let mut places: Vec<(DVec3, Vec<&str>)> = Vec::new();
        for beam in plan.beams.iter().filter(|beam| !(is_treated && beam.setup)) {
            match places.iter_mut().find(|(mm, _)| *mm == beam.isocentre_mm) {
                Some((_, names)) => names.push(&beam.name),
                None => places.push((beam.isocentre_mm, vec![&beam.name])),
            }
        }
        let is_shared = places.len() == 1;
        let places = places.into_iter().take(MOST_PLACES);
        places
            .map(|(at_mm, names)| Self {
                words: (match &names[..] {
                    _ if is_shared => "the isocentre".to_owned(),
                    [others @ .., last] if !others.is_empty() => {
                        format!("the isocentre of {} and {last}", others.join(", "))
                    }
                    _ => format!("the isocentre of {}", names.concat()),
                }),
                at_mm,
            })
            .collect()
    }
}

/// The room with the beams.
#[derive(Clone)]
pub struct RoomPicture {
    pub look: RoomLook,
    /// Caption: the beams and surfaces shown.
    pub words: String,
}

impl RoomPicture {
    /// `levels_percent`: isodoses whose surfaces are shown, with the status of their dose.
    pub fn new(look: RoomLook, levels_percent: &[f32], status: Option<DoseStatus>) -> Self {
        let mut words =
            "From the foot end of the couch. Gantry head and couch top have assumed sizes."
                .to_owned();
        if let Some(status) = status.filter(|_| !levels_percent.is_empty()) {
            let percent: Vec<String> = levels_percent
                .iter()
                .map(|level| format!("{level} %"))
                .collect();
            words += &format!(
                " Surfaces of the isodoses of {} (dose {}).",
                percent.join(" and "),
                status.word()
            );
        }
        Self { look, words }
    }
}

/// Pixels of the picture of the room.
pub const ROOM_PX: [u32; 2] = [720, 420];

/// The map of a beam, delivered by its leaves or in their place.
#[derive(Clone)]
pub struct BeamMap {
    pub fluence: FluenceMap,
    /// Monitor units of fluence 1 in a fraction, as delivered.
    pub mu: f64,
    pub has_leaves: bool,
}

impl BeamMap {
    fn new(beam: &Beam, factor: Option<f64>) -> Option<Self> {
        let fluence = beam.map()?.clone();
        let mu = beam
            .cut_from
            .as_ref()
            .filter(|_| beam.is_cut())
            .map_or(beam.mu, |from| from.mu);
        Some(Self {
            fluence,
            mu: mu * factor.unwrap_or(1.0),
            has_leaves: beam.is_cut(),
        })
    }
}

/// An aperture of a beam at one of its control points.
#[derive(Clone, Debug, PartialEq)]
pub struct Aperture {
    /// Number of the control point, from 1.
    pub number: usize,
    /// Monitor units of the beam that are delivered by then, percent.
    pub delivered_percent: f64,
    pub point: ControlPoint,
}

/// Most apertures of a beam that a report draws: with its map two rows.
const MOST_APERTURES: usize = 7;

impl Aperture {
    /// Control points whose jaws, leaves or angles differ from those before, evenly spread with the first and the last where they are many.
    fn of(beam: &Beam) -> Vec<Self> {
        let points = &beam.control_points;
        let changed: Vec<usize> = (0..points.len())
            .filter(|n| *n == 0 || has_moved(*n, points))
            .collect();
        let count = changed.len().min(MOST_APERTURES);
        let chosen = (0..count).map(|n| changed[n * (changed.len() - 1) / (count - 1).max(1)]);
        chosen
            .map(|n: usize| Self {
                number: n + 1,
                delivered_percent: 100.0 * points[n].meterset_weight,
                point: points[n].clone(),
            })
            .collect()
    }
}

fn has_moved(n: usize, points: &[ControlPoint]) -> bool {
    let [previous, point] = [&points[n - 1], &points[n]];
    previous.jaws != point.jaws
        || previous.leaves_mm != point.leaves_mm
        || previous.gantry_deg != point.gantry_deg
        || previous.collimator_deg != point.collimator_deg
        || previous.couch_deg != point.couch_deg
}

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
    pub map: Option<BeamMap>,
    /// Apertures on the way through its control points, at most [`MOST_APERTURES`].
    pub apertures: Vec<Aperture>,
    /// Per fraction, as delivered: after normalisation, where that is known.
    pub mu: f64,
    pub is_normalised: bool,
    /// Figures of a beam with leaves whose machine states its limits of delivery.
    pub delivery: Option<DeliveryFigures>,
    /// Why the beam is not in the dose.
    pub left_out: Option<String>,
}

impl BeamFacts {
    /// `None` for a beam without control points. `factor`: of the monitor units by the normalisation, where it is known.
    pub fn new(plan: &Plan, beam: &Beam, factor: Option<f64>) -> Option<Self> {
        let start = beam.start()?.clone();
        let last = beam.control_points.last()?;
        let delivered = Beam {
            mu: beam.mu * factor.unwrap_or(1.0),
            ..beam.clone()
        };
        Some(Self {
            name: beam.name.clone(),
            number: beam.number,
            machine: plan.machine_of(beam).to_owned(),
            to_gantry_deg: (last.gantry_deg != start.gantry_deg).then_some(last.gantry_deg),
            start,
            control_points: beam.control_points.len(),
            isocentre_mm: beam.isocentre_mm.to_array(),
            mlc: beam.mlc.clone(),
            map: BeamMap::new(beam, factor),
            apertures: Aperture::of(beam),
            mu: delivered.mu,
            delivery: DeliveryFigures::of_beam(plan, &delivered),
            is_normalised: plan.normalisation.is_none() || factor.is_some(),
            left_out: (!is_computed(beam)).then(|| {
                beam.read_only
                    .clone()
                    .unwrap_or_else(|| "it is no photon beam".to_owned())
            }),
        })
    }
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

impl PlanStructure {
    /// `hundred_gy`: 100 % of metrics in percent of a dose.
    pub fn new(structure: &Structure, dvh: &Dvh, hundred_gy: Option<f64>) -> Self {
        Self {
            name: structure.name.clone(),
            volume_cm3: dvh.volume_cm3(),
            values: Metric::REPORTED
                .map(|metric| dvh.metric(metric, hundred_gy).ok())
                .to_vec(),
            remarks: dvh.remarks(),
        }
    }
}

/// Why the dose is not the final one of the plan.
///
/// `failure`: why the plan has none; `status`: the DVHs' status, which may belong to an earlier dose.
pub fn reservation(
    failure: Option<&str>,
    dose: Option<&Dose>,
    status: Option<DoseStatus>,
) -> Option<String> {
    if let Some(why) = failure {
        return Some(format!("The plan has no dose: {why}"));
    }
    let Some(dose) = dose else {
        return Some("The plan has no dose.".to_owned());
    };
    match status.unwrap_or(dose.status) {
        DoseStatus::Final if dose.caveats.is_empty() => None,
        DoseStatus::Final => Some(format!(
            "Reservations about the dose: {}.",
            dose.caveats.join(", ")
        )),
        DoseStatus::Imported => {
            let part = dose
                .part
                .map(|part| format!(" It is that of {}.", part.word()))
                .unwrap_or_default();
            let caveats = match dose.caveats.join(", ") {
                caveats if caveats.is_empty() => caveats,
                caveats => format!(" Reservations about it: {caveats}."),
            };
            Some(format!(
                "The dose is of a file ({}), not computed from this plan.{part}{caveats}",
                dose.label
            ))
        }
        status => {
            let word = status.word().to_uppercase();
            let caveats = dose.caveats.join(", ");
            let why = if caveats.is_empty() {
                word
            } else {
                format!("{word} ({caveats})")
            };
            Some(format!(
                "{why}: the dose is not final, nothing in this report is."
            ))
        }
    }
}

impl PlanReport {
    /// "5 of 7 met", and how many are undecided.
    pub fn met(&self) -> String {
        met_text(&self.goals)
    }
}

/// Writes the report as PDF.
///
/// # Errors
/// Errors of the file system.
pub fn write(report: &PlanReport, path: &Path) -> Result<(), String> {
    save(path, &pages::draw(report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;

    /// Seven of thirty control points are drawn, the first and the last among them; segments that stay count once.
    #[test]
    fn apertures_are_spread_over_the_way_and_a_map_stays_beside_its_leaves() {
        let mut beam = Beam::fixed(
            "B",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 50.0),
            200.0,
        );
        let start = beam.control_points[0].clone();
        let point_at = |n: usize, leaf_mm: f64| ControlPoint {
            meterset_weight: n as f64 / 29.0,
            leaves_mm: vec![[-leaf_mm, leaf_mm]],
            ..start.clone()
        };
        beam.control_points = (0..30).map(|n| point_at(n, 1.0 + n as f64)).collect();
        assert_eq!(numbers_of(&beam), [1, 5, 10, 15, 20, 25, 30]);
        assert_eq!(Aperture::of(&beam)[6].delivered_percent, 100.0);
        beam.control_points = vec![
            point_at(0, 9.0),
            point_at(14, 9.0),
            point_at(14, 5.0),
            point_at(29, 5.0),
        ];
        assert_eq!(numbers_of(&beam), [1, 3]);
        assert!(BeamMap::new(&beam, None).is_none());
        let map = FluenceMap {
            axis: case::MlcAxis::X,
            rows_mm: vec![-5.0, 5.0],
            first_mm: -5.0,
            step_mm: 5.0,
            columns: 2,
            values: vec![0.5, 1.0],
        };
        // The leaves were cut from the map of 120 MU and deliver it in 200; the plan is normalised by 1.5.
        beam.cut_from = Some(Box::new(case::CutFrom {
            map: map.clone(),
            mu: 120.0,
            limits: Vec::new(),
        }));
        let shown = BeamMap::new(&beam, Some(1.5)).expect("the map of the leaves");
        assert!(shown.has_leaves && shown.fluence == map && shown.mu == 180.0);
        let beam = Beam {
            fluence: Some(map),
            ..beam
        };
        let shown = BeamMap::new(&beam, Some(1.5)).expect("the newer map");
        assert!(!shown.has_leaves && shown.mu == 300.0);
    }

    fn numbers_of(beam: &Beam) -> Vec<usize> {
        Aperture::of(beam)
            .iter()
            .map(|aperture| aperture.number)
            .collect()
    }

    #[test]
    fn each_isocentre_of_treatment_has_its_planes() {
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = vec![
            beam_at(1, 0.0, false),
            beam_at(2, 5.0, false),
            beam_at(3, 0.0, false),
            beam_at(4, 9.0, true),
        ];
        let wanted = [
            ("the isocentre of B1 and B3", 0.0),
            ("the isocentre of B2", 5.0),
        ];
        assert_eq!(
            places_of(&plan),
            wanted.map(|(words, z)| (words.to_owned(), z))
        );
        plan.beams.remove(1);
        assert_eq!(
            places_of(&plan),
            [("the isocentre".to_owned(), 0.0)],
            "a setup beam lies elsewhere"
        );
    }

    fn beam_at(n: u32, z: f64, setup: bool) -> Beam {
        let at_mm = DVec3::new(1.0, 2.0, z);
        let beam = Beam::fixed(
            &format!("B{n}"),
            n,
            0.0,
            at_mm,
            Jaws::symmetric(100.0, 50.0),
            100.0,
        );
        Beam { setup, ..beam }
    }

    fn places_of(plan: &Plan) -> Vec<(String, f64)> {
        PlanesThrough::isocentres(plan)
            .into_iter()
            .map(|place| (place.words, place.at_mm.z))
            .collect()
    }
}
