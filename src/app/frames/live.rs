//! Results that follow a dragged handle: dose, isodoses, DVHs and goals.

use super::handle::{Handle, Path};
use super::{FRAME, Window, await_report, press, settle, window};
use crate::render::interfaces::device;
use crate::render::offscreen::OffscreenError;
use crate::window::App;
use case::{Case, DoseStatus};
use egui::Event;
use engine::DeviceChoice;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Places of the pointer before the measurement begins: a drag is one after some points.
const WARM_UP: usize = 5;

/// The structure whose DVH is watched.
const WATCHED: u32 = 1;

/// Times of the results that followed a handle.
pub struct Live {
    pub handle: Handle,
    /// From a move of the pointer to the frame in which dose and DVHs answer it, previews or not, ms.
    pub answered_ms: Vec<f64>,
    /// To the frame in which they are final, ms; empty where that was not waited for.
    pub final_ms: Vec<f64>,
    /// To the picture of that, drawn and read back, ms.
    pub drawn_ms: Vec<f64>,
    /// New doses and new DVHs a second, shown while the pointer moves in each frame of 60 Hz.
    pub doses_per_s: f64,
    pub dvhs_per_s: f64,
    /// The window's own work in those frames, ms.
    pub frames_ms: Vec<f64>,
}

/// Drags each handle: `places` of the pointer, each held until dose and DVHs answer it, with `to_the_end` until they are
/// final, then without a stop for a time.
///
/// # Errors
/// [`OffscreenError`]: no graphics device, no window, or a dose that is not computed in time.
pub fn live_times(
    case: Case,
    choice: DeviceChoice,
    grid_mm: f64,
    places: usize,
    to_the_end: bool,
    on_the_move: Duration,
) -> Result<Vec<Live>, OffscreenError> {
    let window = window(case, choice, grid_mm, Some(device()?))?;
    let mut player = Player { window, to_the_end };
    Handle::ALL
        .into_iter()
        .map(|handle| player.drag(handle, places, on_the_move))
        .collect()
}

struct Player {
    window: Window,
    to_the_end: bool,
}

impl Player {
    fn drag(
        &mut self,
        handle: Handle,
        places: usize,
        on_the_move: Duration,
    ) -> Result<Live, OffscreenError> {
        let path = Path::find(handle, &mut self.window)?;
        settle(&mut self.window)?;
        let steps = self.window.app.state.history.done();
        self.window.frame(vec![Event::PointerMoved(path.at(0))]);
        self.window.frame(vec![press(path.at(0), true)]);
        let (mut answered_ms, mut final_ms, mut drawn_ms) = (Vec::new(), Vec::new(), Vec::new());
        for place in 1..=WARM_UP + places {
            let start = Instant::now();
            self.window.frame(vec![Event::PointerMoved(path.at(place))]);
            let answered = self.follow(start, is_answered)?;
            let counts = place > WARM_UP;
            answered_ms.extend(counts.then_some(answered));
            if self.to_the_end {
                let finished = self.follow(start, is_final)?;
                self.window.picture()?;
                final_ms.extend(counts.then_some(finished));
                drawn_ms.extend(counts.then(|| 1e3 * start.elapsed().as_secs_f64()));
            }
        }
        let (doses_per_s, dvhs_per_s, frames_ms) =
            self.move_on(&path, WARM_UP + places, on_the_move)?;
        if self.window.app.state.history.done() == steps {
            return Err(OffscreenError::Draw(format!(
                "the {} was not dragged",
                handle.name()
            )));
        }
        settle(&mut self.window)?;
        Ok(Live {
            handle,
            answered_ms,
            final_ms,
            drawn_ms,
            doses_per_s,
            dvhs_per_s,
            frames_ms,
        })
    }

    /// Shows frames until the results stand so; ms from the start.
    fn follow(&mut self, start: Instant, stand: fn(&App) -> bool) -> Result<f64, OffscreenError> {
        while !stand(&self.window.app) {
            await_report(&mut self.window, start)?;
            self.window.frame(Vec::new());
        }
        Ok(1e3 * start.elapsed().as_secs_f64())
    }

    /// Moves the pointer on in each frame of a display, back to where it began, and lets go: new doses and new DVHs a
    /// second, and the frames' times.
    fn move_on(
        &mut self,
        path: &Path,
        from: usize,
        time: Duration,
    ) -> Result<(f64, f64, Vec<f64>), OffscreenError> {
        let begin = Instant::now();
        let (mut doses, mut dvhs, mut frames_ms) = (BTreeSet::new(), Vec::new(), Vec::new());
        let mut place = from;
        while begin.elapsed() < time {
            let start = Instant::now();
            place += 1;
            frames_ms.push(self.window.frame(vec![Event::PointerMoved(path.at(place))]));
            let results = &self.window.app.state.results;
            doses.extend(results.shown_dose().map(|dose| dose.gy.id()));
            let dvh = results.dvh(WATCHED).cloned();
            if let Some(dvh) =
                dvh.filter(|dvh| dvhs.last().is_none_or(|last| !Arc::ptr_eq(last, dvh)))
            {
                dvhs.push(dvh);
            }
            std::thread::sleep(FRAME.saturating_sub(start.elapsed()));
        }
        let seconds = begin.elapsed().as_secs_f64();
        self.window.frame(vec![Event::PointerMoved(path.at(0))]);
        self.window.frame(vec![press(path.at(0), false)]);
        // The first answer on show was there before the pointer moved.
        let [doses_per_s, dvhs_per_s] =
            [doses.len(), dvhs.len()].map(|shown| shown.saturating_sub(1) as f64 / seconds);
        Ok((doses_per_s, dvhs_per_s, frames_ms))
    }
}

fn statuses(app: &App) -> [Option<DoseStatus>; 2] {
    let results = &app.state.results;
    [results.shown_status(), results.dvh_status()]
}

fn is_answered(app: &App) -> bool {
    statuses(app)
        .into_iter()
        .all(|status| status.is_some_and(|status| status < DoseStatus::Stale))
}

fn is_final(app: &App) -> bool {
    statuses(app)
        .iter()
        .all(|status| *status == Some(DoseStatus::Final))
}
