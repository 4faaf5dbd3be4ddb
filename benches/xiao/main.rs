//! Both walks of Xiao et al., Med. Phys. 39, 7619 (2012), beside the program's lattice of lines, over the geometries of his
//! Table 1: `cargo bench --bench xiao -- [CASE]... [--walk original|nc|lattice] [--runs N] [--card N]`.
//!
//! A line of the table is a whole dose: kernels by the card's own events, the call by the clock, and the greatest difference of
//! the dose from the lattice's, percent of the maximum. Counters of the kernels: `benches/xiao_table2.sh`.

#[path = "../common/words.rs"]
mod words;

mod rays;

use beamsight::engine::cccs::bench::{ON_CARD, PAPER_NS, XIAO, water};
use beamsight::engine::cccs::cuda::beam_dose;
use beamsight::engine::dose::{BeamDose, DoseRequest, Quality};
use beamsight::engine::{JobControl, cuda};
use rays::Walk;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use words::{Words, end, median};

fn main() -> ExitCode {
    end(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let Words {
        cases,
        runs,
        card,
        walk,
    } = Words::read()?;
    let walks: Vec<Option<Walk>> = match walk.as_deref() {
        None => [None].into_iter().chain(Walk::ALL.map(Some)).collect(),
        Some("lattice") => vec![None],
        Some(word) => {
            let walk = Walk::ALL.into_iter().find(|walk| walk.word() == word);
            vec![Some(walk.ok_or("--walk is lattice, original or nc")?)]
        }
    };
    let card = cuda::Device::open(card)?;
    let control = JobControl::new();
    println!(
        "cccs on {}: median of {runs} runs, {} directions",
        card.card(),
        Quality::Full.directions()
    );
    println!(
        "{:14} {:9} {:>10} {:>10} {:>9} {:>10} {:>9} {:>10}",
        "case", "walk", "voxels", "ms", "ns each", "call ms", "differs %", "paper ms"
    );
    for (name, size, spacing_mm, side_mm) in XIAO {
        if !cases.is_empty() && !cases.iter().any(|case| name.starts_with(case)) {
            continue;
        }
        let request = water(size, spacing_mm, side_mm, Quality::Full)?;
        let lattice = dose(None, &request, &card, &control)?;
        let work = (request.grid.len() * Quality::Full.directions()) as f64;
        let paper_ms = 0.5 * (PAPER_NS[0] + PAPER_NS[1]) * work * 1e-6;
        for &walk in &walks {
            let (mut times, mut calls, mut differs) = (Vec::new(), Vec::new(), 0.0);
            for n in 0..=runs {
                let start = Instant::now();
                let dose = dose(walk, &request, &card, &control)?;
                // The first run loads the kernels.
                if n > 0 {
                    calls.push(1e3 * start.elapsed().as_secs_f64());
                    let phases = dose.receipt.phases_ms.iter();
                    let kernels = phases.filter(|(phase, _)| ON_CARD.contains(&phase.as_str()));
                    times.push(kernels.map(|(_, ms)| ms).sum());
                }
                differs = difference_percent(&dose, &lattice);
            }
            let ms = median(times);
            println!(
                "{name:14} {:9} {:>10} {ms:>10.3} {:>9.5} {:>10.2} {differs:>9.4} {paper_ms:>10.0}",
                walk.map_or("lattice", Walk::word),
                request.grid.len(),
                1e6 * ms / work,
                median(calls),
            );
        }
    }
    Ok(())
}

fn dose(
    walk: Option<Walk>,
    request: &DoseRequest,
    card: &cuda::Device,
    control: &JobControl,
) -> Result<BeamDose, cuda::CudaError> {
    let dose = match walk {
        None => beam_dose(request, card, control),
        Some(walk) => rays::beam_dose(walk, request, card, control),
    };
    dose.map_err(|failure| match failure {
        cuda::Failure::Card(error) => error,
        cuda::Failure::Job(error) => panic!("a block of water has a dose: {error}"),
    })
}

/// The greatest difference of two doses, percent of the maximum.
fn difference_percent(a: &BeamDose, b: &BeamDose) -> f64 {
    let most = b.gy.data().iter().copied().fold(0.0, f32::max);
    let apart =
        a.gy.data()
            .iter()
            .zip(b.gy.data())
            .map(|(a, b)| (a - b).abs());
    100.0 * f64::from(apart.fold(0.0, f32::max) / most)
}
