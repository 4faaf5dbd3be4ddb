//! Display and calculation settings of a case in a session file: the window's own part of it.

use super::State;
use super::display::WindowLevel;
use super::results::{EngineChoice, Settings};
use super::roi::Shape;
use crate::feature::compare::state::Compare;
use crate::feature::measure::state::{Measured, Measures};
use crate::feature::register::state::RegisterRecord;
use analysis::{BodyChoice, body_of};
use case::{Case, Goal};
use engine::dose::{DoseTo, Quality};
use glam::DVec3;
use physics::HuTable;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// All fields are optional, because sessions of other versions have other fields.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Width and level.
    window_hu: Option<[f32; 2]>,
    /// Index of the displayed plan.
    plan: usize,
    crosshair_mm: Option<DVec3>,
    /// Numbers of the hidden structures.
    hidden: Vec<u32>,
    /// Structures (by number) that are draggable shapes.
    shapes: Vec<(u32, Shape)>,
    quality: Option<Quality>,
    dose_to: Option<DoseTo>,
    grid_mm: Option<f64>,
    /// The part of the CT that counts as the body.
    body: Option<BodyChoice>,
    /// By plan index.
    engines: Vec<(usize, EngineChoice)>,
    /// The whole table as TOML: dose depends on it, and its file may be missing later.
    hu_table: Option<String>,
    /// Settings of the Compare workspace.
    compare: Option<Compare>,
    /// Settings of the Register workspace.
    register: Option<RegisterRecord>,
    /// Rulers, dose points and the profile, by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    measures: Vec<(u32, Measured)>,
    /// The name of the technique that leaves are cut by.
    technique: Option<String>,
    /// The user deleted the body: none is made in its place.
    without_body: bool,
    /// For unsaved work: the session file last saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<String>,
}

impl Record {
    pub fn new(state: &State) -> Self {
        let settings = &state.results.settings;
        let set = &state.case().structures.structures;
        Self {
            window_hu: Some([state.window.width_hu, state.window.level_hu]),
            plan: state.plan,
            crosshair_mm: Some(state.crosshair_mm),
            hidden: state.hidden.iter().copied().collect(),
            shapes: set
                .iter()
                .filter_map(|s| Some((s.number, state.shapes.shape_of(s)?)))
                .collect(),
            quality: Some(settings.quality),
            dose_to: Some(settings.dose_to),
            grid_mm: Some(settings.grid_mm),
            body: Some(settings.body),
            engines: state
                .results
                .engines
                .iter()
                .map(|(plan, choice)| (*plan, *choice))
                .collect(),
            hu_table: Some(settings.hu_table.to_toml()),
            compare: Some(state.compare.clone()),
            register: Some(RegisterRecord::new(&state.register)),
            measures: state.measures.items.clone(),
            technique: Some(state.leaves.technique_name().to_owned()),
            without_body: body_of(&state.case().structures).is_none(),
            session_file: None,
        }
    }

    /// As [`Self::new`], with the session file that the work was last saved in.
    pub fn of_unsaved(state: &State) -> Self {
        let session = state
            .origin
            .as_ref()
            .and_then(|o| o.session.as_ref()?.to_str());
        Self {
            session_file: session.map(str::to_owned),
            ..Self::new(state)
        }
    }

    /// The displayed plan, as far as a case has it.
    pub fn plan_of(&self, case: &Case) -> usize {
        if self.plan < case.plans.len() {
            self.plan
        } else {
            0
        }
    }

    pub fn is_without_body(&self) -> bool {
        self.without_body
    }

    pub fn take_session_file(&mut self) -> Option<PathBuf> {
        self.session_file.take().map(PathBuf::from)
    }

    /// Goals of sessions that kept them with the comparison.
    pub fn take_former_goals(&mut self) -> Option<Vec<Goal>> {
        let goals = std::mem::take(&mut self.compare.as_mut()?.former_goals);
        (!goals.is_empty()).then_some(goals)
    }

    /// The part of the Register workspace, which is restored once the case is loaded.
    pub fn take_register(&mut self) -> Option<RegisterRecord> {
        self.register.take()
    }

    /// Restores the settings of a freshly opened case. Returns settings that could not be restored, in words.
    pub fn restore(self, state: &mut State) -> Option<String> {
        if let Some([width, level]) = self
            .window_hu
            .filter(|w| w.iter().all(|v| v.is_finite()) && w[0] >= 1.0)
        {
            state.window = WindowLevel::new(width, level);
        }
        if let Some(mm) = self.crosshair_mm.filter(|mm| mm.is_finite()) {
            state.crosshair_mm = mm;
        }
        state.leaves.choose_technique(self.technique.as_deref());
        state.measures = Measures::restored(self.measures);
        state.hidden = self.hidden.into_iter().collect();
        for (number, shape) in self.shapes {
            let set = &state.history.case().structures.structures;
            if let Some(structure) = set.iter().find(|s| s.number == number) {
                state.shapes.remember(structure, shape);
            }
        }
        if let Some(compare) = self.compare {
            state.compare = compare.restored(state.history.case());
        }
        state.results.engines = self
            .engines
            .into_iter()
            .map(|(plan, choice)| (plan, choice.sound()))
            .collect();
        let settings = &mut state.results.settings;
        let Settings {
            quality,
            dose_to,
            grid_mm,
            hu_table,
            body,
            ..
        } = settings;
        *body = self.body.unwrap_or_default();
        *quality = self
            .quality
            .filter(|q| Quality::NAMED.contains(q))
            .unwrap_or(*quality);
        *dose_to = self.dose_to.unwrap_or(*dose_to);
        *grid_mm = self
            .grid_mm
            .filter(|mm| (1.0..=10.0).contains(mm))
            .unwrap_or(*grid_mm);
        match HuTable::parse(&self.hu_table?, "of the session") {
            Ok(table) => *hu_table = Arc::new(table),
            Err(why) => return Some(format!("The session's HU table is not used: {why}.")),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Until November 2026 a session had a flag for the engine of a plan.
    #[test]
    fn an_engine_is_read_by_its_word_or_by_the_flag_of_former_sessions() {
        use case::DoseEngine::{CollapsedCone, MonteCarloConvolution};
        for (stored, engine) in [
            (
                serde_json::json!({"monte_carlo": true, "seed": 7}),
                MonteCarloConvolution,
            ),
            (serde_json::json!({"monte_carlo": false}), CollapsedCone),
            (serde_json::json!({"engine": "mccs"}), MonteCarloConvolution),
            (serde_json::json!({}), CollapsedCone),
        ] {
            let choice: EngineChoice = serde_json::from_value(stored.clone()).unwrap();
            assert_eq!(choice.engine, engine, "{stored}");
            let written = serde_json::to_value(choice).unwrap();
            assert_eq!(
                serde_json::from_value::<EngineChoice>(written).unwrap(),
                choice,
                "{stored}"
            );
        }
        assert!(
            serde_json::from_value::<EngineChoice>(serde_json::json!({"engine": "magic"})).is_err()
        );
    }

    #[test]
    fn goals_of_sessions_that_kept_them_with_the_comparison_are_taken_once() {
        let view = serde_json::json!({"compare": {"goals": ["BODY: Dmean <= 10 Gy", "Cord: Dmax <= 45 Gy"]}});
        let mut record: Record = serde_json::from_value(view).unwrap();
        let goals = record.take_former_goals().unwrap();
        assert_eq!(
            goals.iter().map(Goal::to_string).collect::<Vec<_>>(),
            ["BODY: Dmean <= 10 Gy", "Cord: Dmax <= 45 Gy"]
        );
        assert!(record.take_former_goals().is_none());
        let written = serde_json::to_value(Compare::default()).unwrap();
        assert!(
            written.get("goals").is_none(),
            "the case has them: {written}"
        );
    }
}
