//! The search of Gu 2010, points as they lie and sorted by dose difference, beside the program's (his Table 2):
//! `cargo bench --bench gu -- [CASE]... [--runs N] [--card N]`.
//!
//! All voxels of pairs of doses of his sizes, 3 %/3 mm. ms: all kernels by the card's own events, and the search alone; the call by
//! the clock with doses that the card holds; and the greatest difference of gamma from the program's.

#[path = "../common/words.rs"]
mod words;

mod search;

use beamsight::engine::gamma::bench::{CASES, computed};
use beamsight::engine::gamma::{Criterion, GammaRequest, GammaResult};
use beamsight::engine::{JobControl, cuda, gamma};
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use words::{Words, end, median};

/// How points are searched.
const SEARCHES: [(&str, Option<bool>); 3] = [
    ("paper", Some(false)),
    ("paper, sorted", Some(true)),
    ("bounded", None),
];
/// Phases of a card that are kernels, by its own events.
const ON_CARD: [&str; 2] = ["prepare", "search"];

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
    if walk.is_some() {
        return Err("--walk is of --bench xiao".into());
    }
    let card = cuda::Device::open(card)?;
    let control = JobControl::new();
    println!("gamma on {}: median of {runs} runs", card.card());
    println!(
        "{:10} {:13} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "case", "search", "points", "ms", "search ms", "call ms", "differs", "GPU s", "CPU s"
    );
    let dose = computed(&control)?;
    for case in CASES {
        if !cases.is_empty() && !cases.iter().any(|name| case.name.starts_with(name)) {
            continue;
        }
        let [reference, evaluated] = case.pair(&dose, case.size())?;
        let request = GammaRequest {
            threshold_percent: 0.0,
            ..GammaRequest::new(reference, evaluated, vec![Criterion::global(3.0, 3.0)])
        };
        let bounded = gamma(None, &request, &card, &control)?;
        let [cpu_s, sorted_s, unsorted_s] = case.paper_s;
        for (word, sorted) in SEARCHES {
            let (mut times, mut searches, mut calls, mut differs) = (vec![], vec![], vec![], 0.0);
            let mut points = 0;
            for n in 0..=runs {
                let start = Instant::now();
                let result = gamma(sorted, &request, &card, &control)?;
                // The first run loads the kernels.
                if n > 0 {
                    calls.push(1e3 * start.elapsed().as_secs_f64());
                    times.push(phases_ms(&result, &ON_CARD));
                    searches.push(phases_ms(&result, &["search"]));
                }
                differs = difference(&result, &bounded);
                points = result.maps[0].counts.analysed;
            }
            print!(
                "{:10} {word:13} {points:>10} {:>9.3} {:>9.3} {:>9.2} {differs:>9.1e}",
                case.name,
                median(times),
                median(searches),
                median(calls)
            );
            match sorted {
                Some(true) => println!(" {sorted_s:>9.2} {cpu_s:>9.2}"),
                Some(false) => println!(" {unsorted_s:>9.2} {cpu_s:>9.2}"),
                None => println!(),
            }
        }
    }
    println!("GPU s, CPU s: Gu 2010, Table 2 (Tesla C1060, an Intel Xeon of 2.27 GHz)");
    Ok(())
}

/// By the search of the paper, `sorted` or not; `None`: the program's.
fn gamma(
    sorted: Option<bool>,
    request: &GammaRequest,
    card: &cuda::Device,
    control: &JobControl,
) -> Result<GammaResult, cuda::CudaError> {
    let result = match sorted {
        None => gamma::cuda::gamma(request, card, control),
        Some(sorted) => search::gamma(sorted, request, card, control),
    };
    result.map_err(|failure| match failure {
        cuda::Failure::Card(error) => error,
        cuda::Failure::Job(error) => panic!("doses on one grid have a gamma: {error}"),
    })
}

fn phases_ms(result: &GammaResult, wanted: &[&str]) -> f64 {
    let phases = result.receipt.phases_ms.iter();
    phases
        .filter(|(phase, _)| wanted.contains(&phase.as_str()))
        .map(|(_, ms)| ms)
        .sum()
}

/// The greatest difference of two maps; infinite where one of them alone has a gamma.
fn difference(a: &GammaResult, b: &GammaResult) -> f32 {
    let both = a.maps[0].gamma.data().iter().zip(b.maps[0].gamma.data());
    let apart = both
        .filter(|(a, b)| !(a.is_nan() && b.is_nan()))
        .map(|(a, b)| (a - b).abs());
    apart.fold(0.0, |worst, apart| {
        if apart.is_nan() {
            f32::INFINITY
        } else {
            worst.max(apart)
        }
    })
}
