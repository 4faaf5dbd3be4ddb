//! Work in the window, for the memory that the process holds after it: planning, comparing and registering in rounds, each of
//! which ends where it began.

use super::{FRAME, SIZE_POINTS, Window, missing, settle};
use crate::command::{Command, NewShape};
use crate::feature::draw::command::DrawAction;
use crate::feature::draw::state::Tool;
use crate::feature::plan::command::PlanAction;
use crate::feature::register::command::RegisterAction;
use crate::render::interfaces::device;
use crate::render::offscreen::{Offscreen, OffscreenError};
use crate::state::unsaved::Work;
use crate::state::{ViewKind, Workspace};
use crate::window::{App, Options};
use case::{Beam, Edit, Pose, Template};
use egui::{Vec2, vec2};
use engine::DeviceChoice;
use engine::bench::memory::resident;
use glam::DVec3;
use std::time::{Duration, Instant};

/// Places of a drag, and frames of a display at each.
const PLACES: u32 = 8;
const FRAMES: usize = 6;
/// Gestures of the script: the places of a drag are one step of the history.
const TURN: u64 = 1;
const OPEN: u64 = 2;
const MOVE: u64 = 3;
/// Frames after which the graphics device holds no texture that is not on show, and some.
const FRAMES_OF_TEXTURES: usize = 250;
/// Time without work before the memory at rest is read.
const REST: Duration = Duration::from_secs(3);
/// The window of these frames.
const SMALL_POINTS: Vec2 = vec2(640.0, 400.0);

/// The work that was done, and the memory after it.
#[derive(Clone, Copy, Debug)]
pub struct Worked {
    pub rounds: usize,
    /// Steps of the history that were made and undone.
    pub steps: usize,
    /// Jobs of the worker.
    pub jobs: u64,
    /// Memory of the process at rest, bytes, and the most there has been; none where the system does not tell.
    pub resident: Option<[u64; 2]>,
}

/// Opens each case in turn in one window and works on it for its share of the time; the last one is left as it was opened, with all
/// that it shows computed. Without time the cases are opened and nothing else.
///
/// # Errors
/// [`OffscreenError`]: no window, a case that does not open, or results that do not come in time.
pub fn work(
    cases: &[String],
    choice: DeviceChoice,
    time: Duration,
) -> Result<Worked, OffscreenError> {
    let graphics = device().ok();
    let draws = graphics.is_some();
    let options = Options {
        device: choice,
        ..Options::default()
    };
    let window = Offscreen::new(SIZE_POINTS, 1.0, graphics, |cc| {
        App::with_options(cc, options)
    })?;
    let mut user = User {
        window,
        draws,
        steps: 0,
    };
    let share = time.div_f64(cases.len().max(1) as f64);
    let mut rounds = 0;
    for case in cases {
        user.open(case)?;
        let begin = Instant::now();
        while begin.elapsed() < share {
            user.round(rounds)?;
            rounds += 1;
        }
    }
    settle(&mut user.window)?;
    if draws && rounds > 0 {
        // Their number counts, not their size, which takes a processor that draws in the place of a graphics card a minute.
        user.window.resize(SMALL_POINTS);
        user.draw(FRAMES_OF_TEXTURES)?;
        user.window.resize(SIZE_POINTS);
        user.draw(1)?;
    }
    // The program gives freed memory back once it rests.
    std::thread::sleep(REST);
    Ok(Worked {
        rounds,
        steps: user.steps,
        jobs: user.window.app.jobs_asked(),
        resident: resident(),
    })
}

struct User {
    window: Window,
    /// Whether there is a graphics device: textures are evicted by frames that are drawn.
    draws: bool,
    steps: usize,
}

impl User {
    /// Opens a case, and gives it a plan where it has none.
    fn open(&mut self, case: &str) -> Result<(), OffscreenError> {
        let state = &mut self.window.app.state;
        let previous_case = state.origin.as_ref().map(|origin| origin.number);
        // No question about unsaved work: there is nobody to answer.
        state.saved = Some(Work::new(state));
        self.act(Command::Open(case.to_owned()))?;
        settle(&mut self.window)?;
        let state = &self.window.app.state;
        if state.origin.as_ref().map(|origin| origin.number) == previous_case {
            return Err(OffscreenError::Draw(format!("{case} was not opened")));
        }
        if state.plan().is_none() {
            self.act(Command::AddPlan)?;
        }
        if self
            .window
            .app
            .state
            .plan()
            .is_some_and(|plan| plan.beams.is_empty())
        {
            self.act(Command::Plans(PlanAction::Add(Template::Box)))?;
        }
        settle(&mut self.window)
    }

    /// Carries a command out and shows the frames of a tenth of a second, the last one drawn.
    fn act(&mut self, command: Command) -> Result<(), OffscreenError> {
        self.window.app.command(command);
        for _ in 0..FRAMES {
            let start = Instant::now();
            self.window.frame(Vec::new());
            std::thread::sleep(FRAME.saturating_sub(start.elapsed()));
        }
        if self.draws {
            self.window.picture()?;
        }
        Ok(())
    }

    fn draw(&mut self, frames: usize) -> Result<(), OffscreenError> {
        for _ in 0..frames {
            self.window.frame(Vec::new());
            self.window.picture()?;
        }
        Ok(())
    }

    fn round(&mut self, number: usize) -> Result<(), OffscreenError> {
        let state = &self.window.app.state;
        let (done, plan, selection) = (state.history.done(), state.plan, state.selection);
        self.plan(number)?;
        self.undo_to(done)?;
        self.compare(plan, done)?;
        self.register()?;
        self.act(Command::Workspace(Workspace::Plan))?;
        self.act(Command::ShowPlan(plan))?;
        self.act(Command::Select(selection))?;
        settle(&mut self.window)
    }

    /// Turns a beam, opens its jaws, adds a beam and deletes it, draws a structure.
    fn plan(&mut self, number: usize) -> Result<(), OffscreenError> {
        let from_deg = self.gantry_deg()? + (37 * number) as f64;
        for place in 1..=PLACES {
            self.turn(from_deg + f64::from(place))?;
        }
        for _ in 0..PLACES {
            let (plan, mut value) = self.first_beam()?;
            value
                .control_points
                .iter_mut()
                .for_each(|point| point.jaws.x[1] += 1.0);
            self.act(Command::Edit {
                edit: Edit::SetBeam {
                    plan,
                    beam: 0,
                    value,
                }
                .into(),
                gesture: Some(OPEN),
            })?;
        }
        settle(&mut self.window)?;
        self.act(Command::Plans(PlanAction::CopyBeam(0)))?;
        settle(&mut self.window)?;
        let state = &self.window.app.state;
        let beam = state
            .plan()
            .map_or(0, |plan| plan.beams.len())
            .saturating_sub(1);
        let edit = Edit::RemoveBeam {
            plan: state.plan,
            beam,
        };
        self.act(Command::Edit {
            edit: edit.into(),
            gesture: None,
        })?;
        self.act(Command::AddShape(NewShape::Sphere))?;
        self.act(Command::Draw(DrawAction::Tool(Some(Tool::Brush))))?;
        let centre_mm = self.window.app.state.crosshair_mm;
        for place in 0..PLACES {
            let [from_mm, to_mm] =
                [place, place + 1].map(|n| centre_mm + 5.0 * f64::from(n) * DVec3::X);
            let begins = place == 0;
            let brush = DrawAction::Brush {
                view: ViewKind::Axial,
                from_mm,
                to_mm,
                begins,
                erase: false,
            };
            self.act(Command::Draw(brush))?;
        }
        self.act(Command::Draw(DrawAction::Tool(None)))?;
        settle(&mut self.window)
    }

    /// Compares a plan with a copy whose first beam is turned, by two criteria of gamma; the copy is then undone.
    fn compare(&mut self, plan: usize, done: usize) -> Result<(), OffscreenError> {
        let as_opened = self.window.app.state.compare.clone();
        self.act(Command::Plans(PlanAction::Copy(plan)))?;
        let turned_deg = self.gantry_deg()? + 5.0;
        self.turn(turned_deg)?;
        self.act(Command::Plans(PlanAction::Compare(plan)))?;
        settle(&mut self.window)?;
        for dta_mm in [3.0, 1.5] {
            let mut compare = self.window.app.state.compare.clone();
            compare.gamma.dta_mm = dta_mm;
            self.act(Command::Compare(compare))?;
            settle(&mut self.window)?;
        }
        self.undo_to(done)?;
        self.act(Command::Compare(as_opened))
    }

    /// Makes up two X-rays, moves the patient in them and removes them.
    fn register(&mut self) -> Result<(), OffscreenError> {
        self.act(Command::Register(RegisterAction::MakeUp))?;
        settle(&mut self.window)?;
        for place in 1..=PLACES {
            let mm = f64::from(place);
            let pose = Pose::new([mm, 0.0, -mm], [0.0, 0.5 * mm, 0.0]);
            self.act(Command::Register(RegisterAction::Move {
                pose,
                gesture: Some(MOVE),
            }))?;
        }
        settle(&mut self.window)?;
        while !self.window.app.state.register.images().is_empty() {
            self.act(Command::Register(RegisterAction::RemoveImage(0)))?;
        }
        settle(&mut self.window)
    }

    fn turn(&mut self, gantry_deg: f64) -> Result<(), OffscreenError> {
        self.act(Command::Gantry {
            beam: 0,
            gantry_deg,
            gesture: Some(TURN),
        })
    }

    /// Undoes step by step, as far as there are steps.
    fn undo_to(&mut self, done: usize) -> Result<(), OffscreenError> {
        loop {
            let previous = self.window.app.state.history.done();
            if previous <= done {
                return Ok(());
            }
            self.act(Command::Undo)?;
            let after = self.window.app.state.history.done();
            if after >= previous {
                return Err(OffscreenError::Draw("a step was not undone".to_owned()));
            }
            self.steps += previous - after;
        }
    }

    fn gantry_deg(&self) -> Result<f64, OffscreenError> {
        let (_, beam) = self.first_beam()?;
        beam.start()
            .map(|point| point.gantry_deg)
            .ok_or_else(|| missing("a control point"))
    }

    /// The first beam of the displayed plan, with the plan's index.
    fn first_beam(&self) -> Result<(usize, Beam), OffscreenError> {
        let state = &self.window.app.state;
        let beam = state
            .plan()
            .and_then(|plan| plan.beams.first())
            .ok_or_else(|| missing("a beam"))?;
        Ok((state.plan, beam.clone()))
    }
}
