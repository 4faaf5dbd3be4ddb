//! `beamsight bench live`: a gantry turned through the worker as the window does it, from the request to sum, normalisation
//! and DVHs on the host; beside it the engine alone.

use super::Answer;
use super::Failure;
use crate::analysis::BodyChoice;
use crate::case::{
    Beam, Case, Contour, Ct, Jaws, Normalisation, Plan, Structure, StructureKind, StructureSet,
};
use crate::engine::bench::cccs::water;
use crate::engine::cccs::{Quality, beam_dose};
use crate::engine::{Compute, DeviceChoice, JobControl};
use crate::geometry::{Grid, PatientPosition, Volume, sphere_contours};
use crate::results::{
    At, Delivery, Densities, DoseOfBeam, DoseOfPlan, DvhOf, Grade, MaskOf, Place, Query, Results, Settings,
    Shared, Standing,
};
use crate::worker::{News, Worker};
use anyhow::{Context as _, anyhow};
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// de Greef 2009, Table VIII: angles of the arc, one degree apart.
const ANGLES: usize = 21;
const SIZE: [usize; 3] = [200, 120, 120];
const SPACING_MM: f64 = 2.5;
const FIELD_MM: f64 = 100.0;
const STRUCTURES: u32 = 10;
const PATIENCE: Duration = Duration::from_secs(120);

/// Turns over the arc `runs` times after once to warm up.
///
/// # Errors
/// A device that gives no answer.
pub fn run(runs: usize, choice: DeviceChoice) -> Result<Answer, Failure> {
    let device = choice.resolve()?;
    let mut text = format!(
        "live on {device}: gantry turned over {ANGLES} angles, {runs} times; 10x10 on {}x{}x{} voxels of {SPACING_MM} mm, {} \
         directions\n",
        SIZE[0],
        SIZE[1],
        SIZE[2],
        Quality::Standard.directions(),
    );
    let mut rows = vec![summary("engine alone, one beam", engine_alone(runs, &device)?)];
    for beams in [1, 5] {
        let name = format!("one of {beams} beam(s) turned, sum, normalisation, {STRUCTURES} DVHs");
        rows.push(summary(&name, Patient::new(beams, choice)?.turned(runs)?));
    }
    for (line, _) in &rows {
        text += line;
    }
    let rows: Vec<Value> = rows.into_iter().map(|(_, json)| json).collect();
    Ok(Answer { json: json!({ "job": "live", "device": device.to_string(), "rows": rows }), text })
}

fn engine_alone(runs: usize, device: &Compute) -> anyhow::Result<Vec<f64>> {
    let mut request = water(SIZE, [SPACING_MM; 3], FIELD_MM, Quality::Standard)?;
    let (control, mut times_ms) = (JobControl::new(), Vec::new());
    for turn in 0..=runs {
        for angle in 0..ANGLES {
            request.beam.control_points.iter_mut().for_each(|p| p.gantry_deg = angle as f64);
            let start = Instant::now();
            beam_dose(&request, device, &control)?;
            times_ms.extend((turn > 0).then(|| start.elapsed().as_secs_f64() * 1e3));
        }
    }
    Ok(times_ms)
}

/// A block of water with structures and a plan, and the threads that compute it.
struct Patient {
    case: Case,
    settings: Settings,
    results: Results,
    worker: Worker<Place, Delivery>,
    told: crossbeam_channel::Receiver<()>,
}

impl Patient {
    fn new(beams: u32, device: DeviceChoice) -> anyhow::Result<Self> {
        let extent = DVec3::new(SIZE[0] as f64 - 1.0, SIZE[1] as f64 - 1.0, SIZE[2] as f64 - 1.0);
        let grid = Arc::new(Grid::axis_aligned(-0.5 * SPACING_MM * extent, DVec3::splat(SPACING_MM), SIZE)?);
        let hu = Volume::new(Arc::clone(&grid), vec![0.0; grid.len()]);
        let ct = Arc::new(Ct::unnamed(Arc::new(hu), PatientPosition::Hfs));
        let structures: Vec<Structure> = (1..=STRUCTURES).map(|number| ball(&grid, number)).collect();
        let mut plan = Plan::new("live", "generic-6mv");
        plan.beams = (1..=beams).map(beam_of).collect();
        plan.normalisation = Some(Normalisation::to_named("Ball 1", 95.0, 2.0));
        let set = StructureSet { structures, ..StructureSet::default() };
        let settings = Settings {
            quality: Quality::Standard,
            grid_mm: SPACING_MM,
            device,
            body: BodyChoice::Everything,
            ..Settings::default()
        };
        let (tell, told) = crossbeam_channel::unbounded();
        let worker = Worker::start(Arc::new(move || {
            // Nobody listens once the bench is over.
            let _ = tell.send(());
        }))
        .context("starting the worker")?;
        let (plans, structures) = (vec![Arc::new(plan)], Arc::new(set));
        let case = Case { ct: Some(ct), structures, plans, ..Case::default() };
        Ok(Self { case, settings, results: Results::default(), worker, told })
    }

    /// Turns one beam by a degree each time; ms from the turn to the dose and the DVHs of the plan. Without previews, as the window
    /// has it where full doses are quick.
    fn turned(mut self, runs: usize) -> anyhow::Result<Vec<f64>> {
        let mut times_ms = Vec::new();
        for turn in 0..=runs {
            for angle in 0..ANGLES {
                let start = Instant::now();
                let plan = Arc::make_mut(&mut self.case.plans[0]);
                for beam in plan.beams.iter_mut().take(1) {
                    beam.control_points.iter_mut().for_each(|p| p.gantry_deg = angle as f64);
                }
                self.ask()?;
                let took_ms = self.wait(start)?;
                times_ms.extend((turn > 0).then_some(took_ms));
            }
        }
        Ok(times_ms)
    }

    /// Asks for beams, dose and DVHs as the window does.
    fn ask(&mut self) -> anyhow::Result<()> {
        let (case, settings, results) = (&self.case, &self.settings, &mut self.results);
        let densities = Densities::of(case, settings).context("a CT")?;
        let plan = &case.plans[0];
        let beams: Vec<DoseOfBeam> =
            plan.beams.iter().map(|b| DoseOfBeam::of(&densities, plan, b, settings, None)).collect();
        let dose = DoseOfPlan::of_plan(case, plan, None, &beams, None, None).context("a dose")?;
        let shared = Shared::new(dose.clone(), None);
        results.entry((0, 0)).set(Some(densities));
        results.entry((0, 0)).set(Some(dose));
        for beam in beams {
            results.entry((0, beam.inputs().beam.number)).set(Some(beam));
        }
        for structure in &case.structures.structures {
            let mask = MaskOf::of(case, structure).context("a mask")?;
            results.entry((0, structure.number)).set(Some(mask.clone()));
            results.entry((0, structure.number)).set(Some(DvhOf { mask, dose: shared.clone() }));
        }
        self.submit::<MaskOf>();
        self.submit::<Densities>();
        self.submit::<DoseOfBeam>();
        self.submit::<DoseOfPlan>();
        self.submit::<DvhOf>();
        self.results.tidy();
        Ok(())
    }

    fn submit<Q: Query>(&mut self) {
        let at: Vec<At> = self.results.each::<Q>().map(|(at, _)| at).collect();
        for at in at {
            if let Some((place, task)) =
                self.results.job::<Q, Delivery>(at, Grade::Full, true, |delivery| delivery)
            {
                self.worker.submit(place, task);
            }
        }
    }

    /// Waits for the dose and all DVHs: ms since `start`.
    fn wait(&mut self, start: Instant) -> anyhow::Result<f64> {
        let is_there = |standing| standing == Some(Standing::Current);
        loop {
            let dose = self.results.each::<DoseOfPlan>().all(|(_, node)| is_there(node.standing()));
            if dose && self.results.each::<DvhOf>().all(|(_, node)| is_there(node.standing())) {
                return Ok(start.elapsed().as_secs_f64() * 1e3);
            }
            self.told.recv_timeout(PATIENCE).context("waiting for the dose")?;
            for report in self.worker.drain() {
                match report.news {
                    News::Done(delivery, _) => {
                        if let Some((why, _)) = &delivery.failure {
                            return Err(anyhow!(why.clone()));
                        }
                        self.results.take(delivery);
                    }
                    News::Failed { message } => return Err(anyhow!(message)),
                    _ => {}
                }
            }
        }
    }
}

fn beam_of(number: u32) -> Beam {
    Beam::fixed(
        &format!("B{number}"),
        number,
        72.0 * f64::from(number - 1),
        DVec3::ZERO,
        Jaws::symmetric(FIELD_MM, FIELD_MM),
        100.0,
    )
}

/// Balls of 1.5 to 11 cm round the isocentre, one in the other.
pub(super) fn ball(grid: &Grid, number: u32) -> Structure {
    let outlines = sphere_contours(grid, DVec3::ZERO, 15.0 + 5.0 * f64::from(number % 20));
    let contours = outlines.into_iter().map(|points_mm| Contour { points_mm, image_uid: None }).collect();
    let kind = StructureKind::Other;
    Structure {
        name: format!("Ball {number}"),
        number,
        kind,
        colour: kind.default_colour(),
        contours,
        points_mm: Vec::new(),
    }
}

pub(super) fn summary(name: &str, mut times_ms: Vec<f64>) -> (String, Value) {
    times_ms.sort_by(f64::total_cmp);
    let at = |part: f64| times_ms[((times_ms.len() - 1) as f64 * part).ceil() as usize];
    let (median, high, worst) = (at(0.5), at(0.95), at(1.0));
    let text = format!(
        "  {name}: median {median:.2} ms, 95th percentile {high:.2} ms, worst {worst:.2} ms ({} times)\n",
        times_ms.len()
    );
    let json = json!({
        "what": name,
        "times": times_ms.len(),
        "median_ms": median,
        "percentile_95_ms": high,
        "worst_ms": worst,
    });
    (text, json)
}
