//! The window on a case as a picture, drawn without a display.

use crate::render::offscreen::{self, OffscreenError, Picture};
use crate::state::NoticeKind;
use crate::window::{App, Options};
use analysis::{PlanFigures, target_of};
use case::DoseStatus;
use serde::Serialize;
use std::time::Duration;
use thiserror::Error;

/// The window's contents for a case, once all results are computed.
pub struct Shot {
    pub picture: Picture,
    /// Status of the displayed dose.
    pub status: Option<DoseStatus>,
    /// Limitations of the displayed dose, and why the current case has no dose, if it has none.
    pub caveats: Vec<String>,
    /// Statistical uncertainty of the displayed dose, if it is a Monte Carlo dose: `± 1.0 %, 12 million histories`.
    pub certainty: Option<String>,
    /// Metrics of the displayed plan, once it has a dose.
    pub figures: Option<PlanFigures>,
    /// The window's notices: failures, warnings.
    pub notices: Vec<String>,
    /// Comparison of A and B, if they were compared.
    pub compared: Option<Compared>,
}

/// Results of a comparison of two doses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Labels and statuses of A and B.
    pub doses: [(String, DoseStatus); 2],
    /// Remark on the pair.
    pub note: Option<String>,
}

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum ShotError {
    #[error(transparent)]
    Offscreen(#[from] OffscreenError),
    #[error("{0}")]
    Case(String),
}

/// Opens the window without a display, waits for all its jobs, and draws it.
///
/// # Errors
/// [`ShotError`]: the case does not open, there is no graphics device, or the jobs take longer than `patience`.
pub fn picture(
    options: Options,
    size_px: [u32; 2],
    pixels_per_point: f32,
    patience: Duration,
) -> Result<Shot, ShotError> {
    // A report that is missing is an error like a comparison that is.
    let compares = options.compare.is_some() || options.plan_report.is_some();
    let xrays_asked = options.register.as_ref().map_or(0, |w| w.images.len());
    let (app, picture) = offscreen::draw(
        size_px,
        pixels_per_point,
        |cc: &_| App::with_options(cc, options),
        App::is_settled,
        patience,
    )?;
    let (state, results) = (&app.state, &app.state.results);
    let error = state
        .notices
        .iter()
        .find(|n| n.kind == NoticeKind::Error)
        .map(|n| n.text.clone());
    let loaded = state.is_loaded();
    // Nobody answers the question about a strange dose here: it counts as an error.
    let error = error.or_else(|| state.strange_doses.first().map(|dose| dose.why.clone()));
    // A requested X-ray that is missing is an error, too.
    if loaded && state.register.images().len() < xrays_asked {
        let unplaced = state.register.draft().map(|d| d.said());
        let why = unplaced
            .or(error)
            .unwrap_or_else(|| "an X-ray was not opened".to_owned());
        return Err(ShotError::Case(why));
    }
    // A requested comparison that is missing is an error, too.
    let refusal = results.pair_refusal().filter(|_| compares);
    let error = error.or_else(|| refusal.map(str::to_owned));
    if let Some(why) = error.filter(|_| !loaded || compares) {
        return Err(ShotError::Case(why));
    }
    let mut caveats = results
        .shown_dose()
        .map(|d| d.caveats.clone())
        .unwrap_or_default();
    caveats.extend(results.shown_failure().map(str::to_owned));
    Ok(Shot {
        picture,
        status: results.shown_status(),
        caveats,
        certainty: results
            .certainty()
            .map(|c| format!("{}, {}", c.percent_words(), c.histories_words())),
        figures: figures_of(&app),
        notices: state.notices.iter().map(|n| n.text.clone()).collect(),
        compared: compared(&app),
    })
}

fn compared(app: &App) -> Option<Compared> {
    let doses = app
        .state
        .results
        .pair()?
        .map(|dose| (dose.label.clone(), dose.status));
    Some(Compared {
        doses,
        note: app.state.results.pair_note().map(str::to_owned),
    })
}

fn figures_of(app: &App) -> Option<PlanFigures> {
    let (plan, results) = (app.state.plan()?, &app.state.results);
    let target = target_of(plan, &app.state.case().structures)
        .and_then(|t| Some((t.name.as_str(), results.dvh(t.number)?.as_ref())));
    let mut figures = PlanFigures::new(plan, results.shown_dose()?, target);
    // The displayed dose is normalised; the plan's own monitor units are those before normalisation.
    if plan.normalisation.is_some() {
        figures.mu *= results.normalisation_factor()?.value;
    }
    Some(figures)
}
