//! Contents of a report's pictures: volumes, outlines and levels as they are on show.

use crate::state::State;
use crate::view::framed_mm;
use analysis::Side;
use geometry::Grid;
use report::Pictures;
use std::sync::Arc;

/// Contents of pictures of A and B.
pub fn of_pair(state: &State) -> Pictures {
    let case = state.case();
    let doses = Side::BOTH.map(|side| state.results.side(side).cloned());
    let grid: Option<&Arc<Grid>> = case
        .ct
        .as_ref()
        .map(|ct| ct.hu.grid())
        .or_else(|| doses.iter().flatten().next().map(|d| d.gy.grid()));
    let shown = case
        .structures
        .structures
        .iter()
        .filter(|s| !state.hidden.contains(&s.number));
    let gamma = state
        .results
        .gamma()
        .filter(|_| state.results.gamma_failure().is_none());
    let display = &state.dose_display;
    let levels = display.levels.iter().filter(|level| level.shown);
    Pictures {
        ct: case.ct.as_ref().map(|ct| ct.hu.clone()),
        window_width_hu: state.window.width_hu,
        window_level_hu: state.window.level_hu,
        gamma: gamma.and_then(|(result, ..)| result.maps.first().map(|m| m.gamma.clone())),
        gamma_end: state.compare.gamma.max_gamma,
        plane: state.compare.plane.plane(),
        crosshair_mm: state.crosshair_mm,
        outlines: shown
            .filter_map(|s| Some((state.results.mask(s.number)?.clone(), s.colour)))
            .collect(),
        isodoses: levels.map(|level| (level.percent, level.colour)).collect(),
        wash_opacity: display.wash.then_some(display.wash_opacity),
        difference: state.compare.difference,
        reference_gy: state.compare_reference().map(|(gy, _)| gy),
        shown_mm: grid.map(|grid| framed_mm(grid, &case.structures)),
        doses,
    }
}

/// Contents of pictures of the displayed dose, which takes the place of A.
pub fn of_displayed(state: &State) -> Pictures {
    let case = state.case();
    let dose = state.results.shown_dose().cloned();
    let grid = case
        .ct
        .as_ref()
        .map(|ct| ct.hu.grid())
        .or_else(|| dose.as_ref().map(|d| d.gy.grid()));
    Pictures {
        shown_mm: grid.map(|grid| framed_mm(grid, &case.structures)),
        doses: [dose, None],
        gamma: None,
        reference_gy: state.reference().map(|(gy, _)| gy),
        ..of_pair(state)
    }
}
