//! Reports: of a plan (`plan.rs`), of a second check (`check.rs`), and of the comparison of two doses. The comparison as a report: PDF with pictures, CSV and JSON. The report is gathered from the state in one step, so
//! that its contents belong together; the worker draws and writes it.

pub mod check;
mod pages;
mod pen;
mod picture;
pub mod plan;
mod plan_pages;
mod room;
mod tables;

use crate::state::State;
use crate::state::compare::GammaSettings;
use crate::state::results::Freshness;
use analysis::{DvhPair, GoalRow, Metric, Side, unjudged_words};
use case::{Dose, DoseStatus, Receipt, Rgb, StructureKind};
use dicom::date_time;
use files::replace_file;
use picture::Scenery;
use serde::Serialize;
use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Contents of a report.
#[derive(Clone, Serialize)]
pub struct Report {
    pub program: String,
    /// UTC.
    pub written: String,
    pub not_for_clinical_use: bool,
    pub patient: String,
    pub patient_id: String,
    pub case: String,
    /// A and B.
    pub doses: [DoseFacts; 2],
    /// Remark on the pair.
    pub note: Option<String>,
    /// 100 % in Gy, and its name.
    pub reference: Option<(f64, &'static str)>,
    pub gamma: Option<GammaFacts>,
    /// Why there is no gamma.
    pub no_gamma: Option<String>,
    /// The worst first.
    pub clusters: Vec<ClusterFacts>,
    pub structures: Vec<StructureFacts>,
    pub goals: Vec<GoalFacts>,
    /// 100 % of goals in percent, in Gy, and its name.
    pub goals_percent_of: Option<(f64, &'static str)>,
    /// Position of the planes shown, patient LPS, mm.
    pub crosshair_mm: [f64; 3],
    #[serde(skip)]
    curves: Vec<Curve>,
    #[serde(skip)]
    scenery: Scenery,
}

/// A dose with its status and origin.
#[derive(Clone, Serialize)]
pub struct DoseFacts {
    pub label: String,
    pub status: DoseStatus,
    pub caveats: Vec<String>,
    /// Mean standard deviation of a Monte Carlo dose above half its maximum, percent.
    pub uncertainty_percent: Option<f64>,
    pub max_gy: f64,
    pub voxels: [usize; 3],
    pub spacing_mm: [f64; 3],
    pub frame_of_reference_uid: String,
    /// Receipt of a computed dose.
    pub receipt: Option<Receipt>,
}

impl DoseFacts {
    /// The status with all limitations of the dose and its uncertainty.
    pub fn status_text(&self) -> String {
        let status = case::status_text(self.status, &self.caveats);
        self.uncertainty_percent.map_or(status.clone(), |percent| format!("{status}, ± {percent:.2} %"))
    }

    /// Whether the dose is neither final nor imported, or has caveats.
    pub fn is_limited(&self) -> bool {
        !matches!(self.status, DoseStatus::Final | DoseStatus::Imported) || !self.caveats.is_empty()
    }
}

/// A gamma with its criteria.
#[derive(Clone, Serialize)]
pub struct GammaFacts {
    pub reference: &'static str,
    pub evaluated: &'static str,
    pub local: bool,
    pub normalisation_gy: f64,
    pub normalisation: &'static str,
    pub threshold_percent: f64,
    pub threshold_gy: f64,
    pub max_gamma: f64,
    pub interpolation: &'static str,
    /// The first one is that of the map.
    pub criteria: Vec<CriterionFacts>,
    pub mean: f64,
    pub max: f64,
    /// Points that have more gamma than was searched for: mean and maximum are more, too.
    pub beyond_max_gamma: usize,
    /// The reference was measured.
    pub measured: bool,
    /// By the limits of AAPM TG-218, or why there is none.
    pub verdict: String,
    pub histogram_step: f64,
    pub histogram: Vec<usize>,
    /// Number of points above the end of the histogram.
    pub histogram_above: usize,
    pub receipt: Receipt,
}

/// One criterion and its results.
#[derive(Clone, Serialize)]
pub struct CriterionFacts {
    pub dose_percent: f64,
    pub dta_mm: f64,
    pub points: usize,
    pub passing: usize,
    pub pass_rate_percent: f64,
    /// Points without gamma, neither passing nor failing: outside the evaluated dose, and of 0 Gy under a local criterion.
    pub not_judged: usize,
    pub outside: usize,
    /// The points in words; empty where there are none.
    pub not_judged_words: String,
}

#[derive(Clone, Serialize)]
pub struct ClusterFacts {
    pub volume_cm3: f64,
    pub max_gamma: f64,
    pub worst_mm: [f64; 3],
    pub structure: Option<String>,
    /// Share of the cluster inside the structure, percent.
    pub share_percent: Option<f64>,
}

#[derive(Clone, Serialize)]
pub struct StructureFacts {
    pub name: String,
    pub volume_cm3: f64,
    pub metrics: Vec<MetricFacts>,
    pub gamma_points: Option<usize>,
    pub gamma_pass_rate_percent: Option<f64>,
    pub gamma_not_judged: Option<usize>,
    pub gamma_max: Option<f64>,
    /// Warnings of the DVHs.
    pub remarks: Vec<String>,
}

#[derive(Clone, Serialize)]
pub struct MetricFacts {
    pub metric: String,
    pub unit: &'static str,
    pub a: Option<f64>,
    pub b: Option<f64>,
    pub b_minus_a: Option<f64>,
}

#[derive(Clone, Serialize)]
pub struct GoalFacts {
    pub goal: String,
    pub unit: &'static str,
    /// Value and whether the goal is met, of A and B; neither where it is undecided.
    pub doses: [Option<(f64, Option<bool>)>; 2],
    /// Verdict with the distance to the limit, or why there is none, of A and B.
    pub verdicts: [String; 2],
}

/// A structure's cumulative DVHs in A and B: Gy, percent.
#[derive(Clone)]
struct Curve {
    name: String,
    colour: Rgb,
    points: [Vec<[f64; 2]>; 2],
}

/// Gathers the report of the displayed comparison.
///
/// # Errors
/// The missing results, in words: no stale result enters a report.
pub fn gather(state: &State) -> Result<Report, String> {
    let results = &state.results;
    if let Some(why) = results.pair_refusal() {
        return Err(why.to_owned());
    }
    let Some(pair) = results.pair() else { return Err("there are no two doses to compare".to_owned()) };
    if !results.side_dvhs_current() {
        return Err("the DVHs are still being computed".to_owned());
    }
    let no_gamma = results.gamma_failure().map(str::to_owned);
    let gamma = match results.gamma() {
        Some((.., Freshness::Current)) if no_gamma.is_none() => Some(gamma_facts(state)),
        _ if no_gamma.is_some() => None,
        _ => return Err("gamma is still being computed".to_owned()),
    };
    let gamma = gamma.map(|g| g.ok_or("gamma is still being computed")).transpose()?;
    let reference = state.compare_reference();
    let case = state.case();
    let rows = state.dvh_pairs();
    Ok(Report {
        program: format!("Beamsight {}", env!("CARGO_PKG_VERSION")),
        written: utc(SystemTime::now()),
        not_for_clinical_use: true,
        patient: case.patient.name.replace('^', " ").trim().to_owned(),
        patient_id: case.patient.id.clone(),
        case: case.source.clone(),
        doses: Side::BOTH.map(|side| dose_facts(state, side, pair[side.index()])),
        note: results.pair_note().map(str::to_owned),
        reference,
        clusters: if gamma.is_some() { cluster_facts(state) } else { Vec::new() },
        gamma,
        no_gamma,
        structures: rows.iter().map(|row| structure_facts(state, row, reference.map(|(gy, _)| gy))).collect(),
        goals: goal_facts(state),
        goals_percent_of: state.compare_goal_hundred(),
        crosshair_mm: state.crosshair_mm.to_array(),
        curves: curves(&rows),
        scenery: Scenery::of(state),
    })
}

fn dose_facts(state: &State, side: Side, dose: &Dose) -> DoseFacts {
    let grid = dose.gy.grid();
    let [dx, dy] = grid.spacing_xy_mm();
    DoseFacts {
        label: dose.label.clone(),
        status: dose.status,
        caveats: dose.caveats.clone(),
        uncertainty_percent: state.results.side_certainty(side).and_then(|c| c.uncertainty_percent),
        max_gy: state.results.side_max_gy(side).unwrap_or_default(),
        voxels: grid.size(),
        spacing_mm: [dx, dy, grid.even_plane_spacing_mm().unwrap_or(f64::NAN)],
        frame_of_reference_uid: dose.frame_of_reference_uid.clone(),
        receipt: dose.receipt.as_deref().cloned(),
    }
}

fn gamma_facts(state: &State) -> Option<GammaFacts> {
    let (result, inputs, _) = state.results.gamma()?;
    let (figures, Freshness::Current) = state.results.gamma_figures()? else { return None };
    let settings: &GammaSettings = &state.compare.gamma;
    let [reference, evaluated] = settings.roles().map(Side::name);
    let criteria: Vec<CriterionFacts> = result
        .maps
        .iter()
        .map(|map| CriterionFacts {
            dose_percent: map.criterion.dose_percent,
            dta_mm: map.criterion.dta_mm,
            points: map.counts.analysed,
            passing: map.counts.passing,
            pass_rate_percent: map.counts.pass_rate_percent(),
            not_judged: map.counts.unjudged(),
            outside: map.counts.outside,
            not_judged_words: unjudged_words(&map.counts, settings.roles()[1]).unwrap_or_default(),
        })
        .collect();
    let histogram = &figures.report.histogram;
    Some(GammaFacts {
        reference,
        evaluated,
        local: settings.local,
        normalisation_gy: result.normalisation_gy,
        normalisation: inputs.normalisation.word(),
        threshold_percent: inputs.threshold_percent,
        threshold_gy: result.threshold_gy,
        max_gamma: settings.max_gamma,
        interpolation: "none of the reference; evaluated dose continuous over six tetrahedra a cell (Ju 2008)",
        measured: settings.measured && state.compare.may_be_measured(),
        verdict: state.gamma_verdict()?.words,
        criteria,
        mean: figures.report.figures.mean.unwrap_or_default(),
        max: figures.report.figures.max.unwrap_or_default(),
        beyond_max_gamma: figures.report.figures.beyond_max_gamma,
        histogram_step: histogram.bin,
        histogram: histogram.counts.clone(),
        histogram_above: histogram.above,
        receipt: (*result.receipt).clone(),
    })
}

fn cluster_facts(state: &State) -> Vec<ClusterFacts> {
    let Some((figures, _)) = state.results.gamma_figures() else { return Vec::new() };
    let name = |number: u32| {
        let set = &state.case().structures.structures;
        set.iter().find(|s| s.number == number).map(|s| s.name.clone())
    };
    let facts = figures.clusters.iter().map(|(held, cluster)| ClusterFacts {
        volume_cm3: cluster.volume_cm3,
        max_gamma: f64::from(cluster.max_gamma),
        worst_mm: cluster.worst_mm,
        structure: held.and_then(|(number, _)| name(number)),
        share_percent: held.map(|(_, share)| 100.0 * share),
    });
    facts.collect()
}

fn structure_facts(state: &State, row: &DvhPair<'_>, reference_gy: Option<f64>) -> StructureFacts {
    let metric = |metric: Metric| {
        let [a, b] = row.values(metric, reference_gy);
        MetricFacts {
            metric: metric.to_string(),
            unit: metric.unit().symbol(),
            a,
            b,
            b_minus_a: a.zip(b).map(|(a, b)| b - a),
        }
    };
    let figures = state.results.gamma_figures().filter(|_| state.results.gamma_failure().is_none());
    let inside = figures.and_then(|(f, _)| f.structures.iter().find(|(n, _)| *n == row.structure.number));
    let remarks = Side::BOTH.into_iter().zip(row.dvhs);
    StructureFacts {
        name: row.structure.name.clone(),
        volume_cm3: row.dvhs[0].volume_cm3(),
        metrics: DvhPair::metrics(reference_gy).into_iter().map(metric).collect(),
        gamma_points: inside.map(|(_, i)| i.points),
        gamma_pass_rate_percent: inside.and_then(|(_, i)| i.pass_rate_percent),
        gamma_not_judged: inside.map(|(_, i)| i.not_judged),
        gamma_max: inside.and_then(|(_, i)| i.max),
        remarks: remarks
            .flat_map(|(side, dvh)| dvh.remarks().into_iter().map(move |r| format!("{}: {r}", side.name())))
            .collect(),
    }
}

/// The goals with their answers in A and B, by priority.
fn goal_facts(state: &State) -> Vec<GoalFacts> {
    let [a, b] = Side::BOTH.map(|side| state.side_scorecard(side));
    let met = |row: &GoalRow| (!row.is_undecided()).then(|| row.is_met());
    let value = |row: &GoalRow| row.answer.as_ref().ok().map(|o| (o.value, met(row)));
    let facts = |(a, b): (&GoalRow, &GoalRow)| GoalFacts {
        goal: a.goal.to_string(),
        unit: a.goal.unit().symbol(),
        doses: [value(a), value(b)],
        verdicts: [a.verdict_text(), b.verdict_text()],
    };
    a.iter().zip(&b).map(facts).collect()
}

fn curves(rows: &[DvhPair<'_>]) -> Vec<Curve> {
    let mut order: Vec<&DvhPair<'_>> = rows.iter().collect();
    order.sort_by_key(|r| r.structure.kind.min(StructureKind::Organ));
    let of = |row: &DvhPair<'_>| Curve {
        name: row.structure.name.clone(),
        colour: row.structure.colour,
        points: row.dvhs.map(|dvh| dvh.cumulative()),
    };
    order.into_iter().map(of).collect()
}

/// Writes a report in the format of the file's extension.
///
/// # Errors
/// An extension other than [`REPORT_ENDINGS`](crate::state::files::REPORT_ENDINGS); errors of the file system.
pub fn write(report: &Report, path: &Path) -> Result<(), String> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let bytes = match ending.as_str() {
        "pdf" => pages::draw(report),
        "csv" => tables::csv(report).into_bytes(),
        "json" => tables::json(report)?.into_bytes(),
        _ => return Err(format!("'{}': a report is a .pdf, .csv or .json file", path.display())),
    };
    replace_file(path, |out| out.write_all(&bytes))
        .map_err(|e| format!("cannot write {}: {e}; choose a folder you may write to", path.display()))
}

/// Date and time of day, UTC.
fn utc(at: SystemTime) -> String {
    let (date, time) = date_time(at.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()));
    format!("{}-{}-{} {}:{} UTC", &date[..4], &date[4..6], &date[6..], &time[..2], &time[2..4])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (seconds, want) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_795_276_800, "2026-11-21 16:00 UTC"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), want);
        }
    }
}
