//! `beamsight bench live`: a gantry turned through the worker, as the window does it.

use super::Answer;
use super::Failure;
use crate::engine::bench::cccs::water;
use crate::engine::cccs::{BeamDose, Quality, beam_dose};
use crate::engine::{Compute, Wish};
use crate::worker::{Lane, News, Slot, Task, Worker};
use anyhow::{Context as _, anyhow};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// de Greef 2009, Table VIII: angles of the arc, one degree apart.
const ANGLES: usize = 21;
const SIZE: [usize; 3] = [200, 120, 120];
const SPACING_MM: f64 = 2.5;
const FIELD_MM: f64 = 100.0;
const PATIENCE: Duration = Duration::from_secs(120);

/// Turns over the arc `runs` times after once to warm up: ms from the request to the final dose on the host.
///
/// # Errors
/// A device that gives no answer.
pub fn run(runs: usize, wish: Wish) -> Result<Answer, Failure> {
    let device = wish.resolve()?;
    let request = water(SIZE, [SPACING_MM; 3], FIELD_MM, Quality::Standard).map_err(anyhow::Error::from)?;
    let (tell, told) = crossbeam_channel::unbounded();
    let worker: Worker<BeamDose> = Worker::start(Arc::new(move || {
        // Nobody listens once the bench is over.
        let _ = tell.send(());
    }))
    .context("starting the worker")?;
    let mut times_ms = Vec::new();
    for turn in 0..=runs {
        for angle in 0..ANGLES {
            let start = Instant::now();
            let (mut request, device) = (request.clone(), device.clone());
            request.beam.control_points.iter_mut().for_each(|p| p.gantry_deg = angle as f64);
            let work = move |watch: &crate::engine::Watch| beam_dose(&request, &device, watch);
            worker.submit(Slot::BeamDose { plan: 0, beam: 0 }, Task::new("live", work).on(Lane::Device));
            answer(&worker, &told)?;
            if turn > 0 {
                times_ms.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    Ok(summary(times_ms, &device))
}

/// Waits for the job's end.
fn answer(worker: &Worker<BeamDose>, told: &crossbeam_channel::Receiver<()>) -> anyhow::Result<BeamDose> {
    loop {
        told.recv_timeout(PATIENCE).context("waiting for the dose")?;
        for report in worker.drain() {
            match report.news {
                News::Done(dose, _) => return Ok(dose),
                News::Failed { message } => return Err(anyhow!(message)),
                _ => {}
            }
        }
    }
}

fn summary(mut times_ms: Vec<f64>, device: &Compute) -> Answer {
    times_ms.sort_by(f64::total_cmp);
    let at = |part: f64| times_ms[((times_ms.len() - 1) as f64 * part).ceil() as usize];
    let (median, high, worst) = (at(0.5), at(0.95), at(1.0));
    let text = format!(
        "live on {device}: {} doses, gantry 0 to {}, 10x10 on {}x{}x{} voxels of {SPACING_MM} mm, {} directions\n\
         from the request to the final dose on the host: median {median:.2} ms, 95th percentile {high:.2} ms, worst {worst:.2} ms\n",
        times_ms.len(),
        ANGLES - 1,
        SIZE[0],
        SIZE[1],
        SIZE[2],
        Quality::Standard.directions(),
    );
    let json = json!({
        "job": "live",
        "device": device.to_string(),
        "doses": times_ms.len(),
        "median_ms": median,
        "percentile_95_ms": high,
        "worst_ms": worst,
    });
    Answer { json, text }
}
