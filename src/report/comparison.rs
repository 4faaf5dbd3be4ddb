//! The report of the comparison of two doses: a PDF with pictures, or its figures as CSV and JSON.

mod pages;
mod tables;

use super::picture::Pictures;
use super::{Curve, DoseFacts, save};
use analysis::{DvhPair, GammaFigures, GoalRow, Metric, Side, unjudged_words};
use case::Receipt;
use engine::gamma::GammaMap;
use serde::Serialize;
use std::path::Path;

/// Extensions of a report's file.
pub const ENDINGS: [&str; 3] = ["pdf", "csv", "json"];

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
    pub curves: Vec<Curve>,
    #[serde(skip)]
    pub pictures: Pictures,
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
    /// The map shows the first one.
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

impl CriterionFacts {
    /// Results of a map; `evaluated`: the side that lacks a dose where points are outside.
    pub fn new(map: &GammaMap, evaluated: Side) -> Self {
        Self {
            dose_percent: map.criterion.dose_percent,
            dta_mm: map.criterion.dta_mm,
            points: map.counts.analysed,
            passing: map.counts.passing,
            pass_rate_percent: map.counts.pass_rate_percent(),
            not_judged: map.counts.unjudged(),
            outside: map.counts.outside,
            not_judged_words: unjudged_words(&map.counts, evaluated).unwrap_or_default(),
        }
    }
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

impl StructureFacts {
    /// Figures of a structure in both doses; `gamma` of the points inside.
    pub fn new(
        pair: &DvhPair<'_>,
        reference_gy: Option<f64>,
        gamma: Option<&GammaFigures>,
    ) -> Self {
        let remarks = Side::BOTH
            .into_iter()
            .zip(pair.dvhs)
            .flat_map(|(side, dvh)| {
                dvh.remarks()
                    .into_iter()
                    .map(move |remark| format!("{}: {remark}", side.name()))
            });
        Self {
            name: pair.structure.name.clone(),
            volume_cm3: pair.dvhs[0].volume_cm3(),
            metrics: DvhPair::metrics(reference_gy)
                .into_iter()
                .map(|metric: Metric| {
                    let [a, b] = pair.values(metric, reference_gy);
                    MetricFacts {
                        metric: metric.to_string(),
                        unit: metric.unit().symbol(),
                        a,
                        b,
                        b_minus_a: a.zip(b).map(|(a, b)| b - a),
                    }
                })
                .collect(),
            gamma_points: gamma.map(|inside| inside.points),
            gamma_pass_rate_percent: gamma.and_then(|inside| inside.pass_rate_percent),
            gamma_not_judged: gamma.map(|inside| inside.not_judged),
            gamma_max: gamma.and_then(|inside| inside.max),
            remarks: remarks.collect(),
        }
    }
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

impl GoalFacts {
    /// A goal's rows of both scorecards.
    pub fn new(a: &GoalRow, b: &GoalRow) -> Self {
        Self {
            goal: a.goal.to_string(),
            unit: a.goal.unit().symbol(),
            doses: [value_and_verdict(a), value_and_verdict(b)],
            verdicts: [a.verdict_text(), b.verdict_text()],
        }
    }
}

fn value_and_verdict(row: &GoalRow) -> Option<(f64, Option<bool>)> {
    row.answer
        .as_ref()
        .ok()
        .map(|outcome| (outcome.value, (!row.is_undecided()).then(|| row.is_met())))
}

/// Writes a report in the format of the file's extension.
///
/// # Errors
/// An extension other than [`ENDINGS`]; errors of the file system.
pub fn write(report: &Report, path: &Path) -> Result<(), String> {
    let ending = path
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    let bytes = match ending.as_str() {
        "pdf" => pages::draw(report),
        "csv" => tables::csv(report).into_bytes(),
        "json" => tables::json(report)?.into_bytes(),
        _ => {
            return Err(format!(
                "'{}': a report is a .pdf, .csv or .json file",
                path.display()
            ));
        }
    };
    save(path, &bytes)
}
