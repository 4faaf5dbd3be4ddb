//! The report of the displayed comparison.

use super::pictures;
use crate::state::State;
use crate::state::results::Standing;
use analysis::Side;
use report::comparison::{
    ClusterFacts, CriterionFacts, GammaFacts, GoalFacts, Report, StructureFacts,
};
use report::{Curve, DoseFacts, PROGRAM, patient_name, written_now};

/// Gathers the report of the displayed comparison.
///
/// # Errors
/// The missing results, in words: no stale result enters a report.
pub fn comparison(state: &State) -> Result<Report, String> {
    let results = &state.results;
    if let Some(why) = results.pair_refusal() {
        return Err(why.to_owned());
    }
    let Some(pair) = results.pair() else {
        return Err("there are no two doses to compare".to_owned());
    };
    if !results.side_dvhs_current() {
        return Err("the DVHs are still being computed".to_owned());
    }
    let no_gamma = results.gamma_failure().map(str::to_owned);
    let gamma = match results.gamma() {
        Some((.., Standing::Current)) if no_gamma.is_none() => Some(gamma_facts(state)),
        _ if no_gamma.is_some() => None,
        _ => return Err("gamma is still being computed".to_owned()),
    };
    let gamma = gamma
        .map(|g| g.ok_or("gamma is still being computed"))
        .transpose()?;
    let reference = state.compare_reference();
    let case = state.case();
    let (rows, scorecards) = (
        state.dvh_pairs(),
        Side::BOTH.map(|side| state.side_scorecard(side)),
    );
    let figures = results
        .gamma_figures()
        .filter(|_| results.gamma_failure().is_none());
    let structures = rows.iter().map(|row| {
        let mut by_structure = figures.iter().flat_map(|(figures, _)| &figures.structures);
        let gamma = by_structure.find(|(number, _)| *number == row.structure.number);
        let reference_gy = reference.map(|(gy, _)| gy);
        StructureFacts::new(row, reference_gy, gamma.map(|(_, figures)| figures))
    });
    let doses = Side::BOTH.map(|side| {
        let uncertainty_percent = results
            .side_certainty(side)
            .and_then(|c| c.uncertainty_percent);
        let max_gy = results.side_max_gy(side).unwrap_or_default();
        DoseFacts::new(pair[side.index()], max_gy, uncertainty_percent)
    });
    let [a, b] = &scorecards;
    Ok(Report {
        program: PROGRAM.to_owned(),
        written: written_now(),
        not_for_clinical_use: true,
        patient: patient_name(case),
        patient_id: case.patient.id.clone(),
        case: case.source.clone(),
        doses,
        note: results.pair_note().map(str::to_owned),
        reference,
        clusters: if gamma.is_some() {
            cluster_facts(state)
        } else {
            Vec::new()
        },
        gamma,
        no_gamma,
        structures: structures.collect(),
        goals: a.iter().zip(b).map(|(a, b)| GoalFacts::new(a, b)).collect(),
        goals_percent_of: state.compare_goal_hundred(),
        crosshair_mm: state.crosshair_mm.to_array(),
        curves: Curve::of_pairs(&rows),
        pictures: pictures::of_pair(state),
    })
}

fn gamma_facts(state: &State) -> Option<GammaFacts> {
    let (result, inputs, _) = state.results.gamma()?;
    let (figures, Standing::Current) = state.results.gamma_figures()? else {
        return None;
    };
    let settings = &state.compare.gamma;
    let [reference, evaluated] = settings.roles();
    let total = &figures.report.figures;
    let histogram = &figures.report.histogram;
    Some(GammaFacts {
        reference: reference.name(),
        evaluated: evaluated.name(),
        local: settings.local,
        normalisation_gy: result.normalisation_gy,
        normalisation: inputs.normalisation.word(),
        threshold_percent: inputs.threshold_percent,
        threshold_gy: result.threshold_gy,
        max_gamma: settings.max_gamma,
        interpolation: "none of the reference; evaluated dose continuous over six tetrahedra a cell (Ju 2008)",
        measured: settings.measured && state.compare.may_be_measured(),
        verdict: state.gamma_verdict()?.words,
        criteria: result
            .maps
            .iter()
            .map(|map| CriterionFacts::new(map, evaluated))
            .collect(),
        mean: total.mean.unwrap_or_default(),
        max: total.max.unwrap_or_default(),
        beyond_max_gamma: total.beyond_max_gamma,
        histogram_step: histogram.bin,
        histogram: histogram.counts.clone(),
        histogram_above: histogram.above,
        receipt: (*result.receipt).clone(),
    })
}

fn cluster_facts(state: &State) -> Vec<ClusterFacts> {
    let Some((figures, _)) = state.results.gamma_figures() else {
        return Vec::new();
    };
    let set = &state.case().structures;
    let facts = figures.clusters.iter().map(|(held, cluster)| ClusterFacts {
        volume_cm3: cluster.volume_cm3,
        max_gamma: f64::from(cluster.max_gamma),
        worst_mm: cluster.worst_mm,
        structure: held.and_then(|(number, _)| Some(set.by_number(number)?.name.clone())),
        share_percent: held.map(|(_, share)| 100.0 * share),
    });
    facts.collect()
}
