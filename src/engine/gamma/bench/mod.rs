//! Gamma beside Gu 2010: its Tables 1 (cases), 2 (as its own search, which is `benches/gu`), 3 (criteria) and Figure 2
//! (resolution).

mod pairs;

use crate::bench::{Options, card_error, median, timed};
use crate::failure::Failure;
use crate::gamma::{Criterion, GammaRequest, GammaResult};
use crate::gamma::{cpu, cuda, wgpu};
use crate::{Compute, DeviceError, JobControl};
use geometry::Volume;
pub use pairs::{CASES, PaperCase, computed};
use std::sync::Arc;

/// Phases of a card that are kernels, by its own events.
const ON_CARD: [&str; 2] = ["prepare", "search"];
/// The case of Table 3 and Figure 2.
const HEAVY: &str = "H2";
/// Table 3: dose difference in %, distance in mm, and the paper's times, s: its GPU, its CPU.
const TABLE_3: [(f64, f64, [f64; 2]); 9] = [
    (1.0, 1.0, [7.56, 240.37]),
    (1.0, 2.0, [26.31, 863.33]),
    (1.0, 3.0, [52.96, 1545.09]),
    (2.0, 1.0, [2.27, 74.27]),
    (2.0, 2.0, [7.56, 265.82]),
    (2.0, 3.0, [15.62, 486.68]),
    (3.0, 1.0, [1.27, 40.09]),
    (3.0, 2.0, [3.70, 119.32]),
    (3.0, 3.0, [7.56, 245.34]),
];
const FIGURE_2: [[usize; 3]; 4] = [
    [128, 128, 144],
    [256, 256, 72],
    [256, 256, 144],
    [512, 512, 72],
];

/// A line of a table.
#[derive(Clone, Debug)]
pub struct Line {
    /// `table1`, ...
    pub table: &'static str,
    pub case: &'static str,
    pub size: [usize; 3],
    pub criterion: Criterion,
    pub threshold_percent: f64,
    /// Points that have a gamma, and what came of them.
    pub points: usize,
    pub pass_rate_percent: f64,
    pub most: f32,
    pub sum_of_cubes: f64,
    /// Median time of the computation, ms: on a card of all its kernels by its own events, and of the search alone.
    pub ms: f64,
    pub search_ms: f64,
    /// Median time of the whole call with doses the device has not seen, and of the same again, ms.
    pub call_ms: f64,
    pub again_ms: f64,
    /// Time that all threads of the host spent in the call, microseconds a point.
    pub cpu_us_per_point: f64,
    /// The paper's times, s: its GPU, its CPU.
    pub paper_s: Option<[f64; 2]>,
}

impl Line {
    pub fn voxels(&self) -> usize {
        self.size.iter().product()
    }

    pub fn name(&self) -> String {
        format!("{}-{}", self.table, self.case)
    }
}

/// Reference and evaluated dose.
type Pair = [Arc<Volume<f32>>; 2];

/// The request of one line.
struct GammaRequestCase {
    table: &'static str,
    size: [usize; 3],
    criterion: Criterion,
    threshold_percent: f64,
    paper_s: Option<[f64; 2]>,
}

/// Every table whose lines are wanted by name (`table1-H2`).
pub fn lines(
    device: &Compute,
    options: &Options,
    control: &JobControl,
    report: &dyn Fn(&Line),
) -> Result<Vec<Line>, DeviceError> {
    let mut lines = Vec::new();
    let mut doses = None;
    for case in CASES {
        let asks: Vec<GammaRequestCase> = asks(&case)
            .into_iter()
            .filter(|ask| options.wants(&format!("{}-{}", ask.table, case.name)))
            .collect();
        if asks.is_empty() {
            continue;
        }
        let dose = match &doses {
            Some(dose) => dose,
            None => doses.insert(computed(control)?),
        };
        let mut kept: Option<([usize; 3], Pair)> = None;
        for ask in asks {
            let pair = match kept.take().filter(|(size, _)| *size == ask.size) {
                Some((_, pair)) => pair,
                None => case.pair(dose, ask.size)?,
            };
            let line = time(&case, &ask, &pair, device, options, control)?;
            report(&line);
            lines.push(line);
            kept = Some((ask.size, pair));
        }
    }
    Ok(lines)
}

fn asks(case: &PaperCase) -> Vec<GammaRequestCase> {
    let usual = Criterion::global(3.0, 3.0);
    let [paper_cpu, paper_gpu, _] = case.paper_s;
    let ask = |table, size, criterion, threshold_percent, paper_s| GammaRequestCase {
        table,
        size,
        criterion,
        threshold_percent,
        paper_s,
    };
    let size = case.size();
    let mut asks = Vec::new();
    for threshold in [10.0, 0.0] {
        let paper = (threshold == 0.0).then_some([paper_gpu, paper_cpu]);
        asks.push(ask("table1", size, usual, threshold, paper));
    }
    asks.push(ask("table2", size, usual, 0.0, None));
    if case.name == HEAVY {
        for (dose_percent, dta_mm, paper) in TABLE_3 {
            let criterion = Criterion::global(dose_percent, dta_mm);
            asks.push(ask("table3", size, criterion, 0.0, Some(paper)));
        }
        for size in FIGURE_2 {
            asks.push(ask("figure2", size, usual, 0.0, None));
        }
    }
    asks
}

fn time(
    case: &PaperCase,
    ask: &GammaRequestCase,
    [reference, evaluated]: &Pair,
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Line, DeviceError> {
    // Another identity: the device's cache of the first is not used.
    let fresh =
        |dose: &Volume<f32>| Arc::new(Volume::new(Arc::clone(dose.grid()), dose.data().to_vec()));
    let run = |request: &GammaRequest| match device {
        Compute::Cpu => cpu::gamma(request, control).map_err(Failure::Job),
        Compute::Cuda(card) => {
            cuda::gamma(request, card, control).map_err(|e| e.map_card(DeviceError::Cuda))
        }
        Compute::Wgpu(card) => {
            wgpu::gamma(request, card, control).map_err(|e| e.map_card(DeviceError::Wgpu))
        }
    };
    let [mut times, mut searches, mut calls, mut again, mut cpu] = <[Vec<f64>; 5]>::default();
    let mut last = None;
    for n in 0..=options.runs {
        let doses = [reference, evaluated].map(|dose| fresh(dose));
        let [a, b] = doses;
        let request = GammaRequest {
            threshold_percent: ask.threshold_percent,
            ..GammaRequest::new(a, b, vec![ask.criterion])
        };
        let start_seconds = cpu_seconds();
        let (result, call_ms) = timed(|| run(&request));
        let spent_us = 1e6 * (cpu_seconds() - start_seconds);
        let result = result.map_err(|e| card_error("gamma", e))?;
        tracing::info!(
            "{} {}: {:?}",
            ask.table,
            case.name,
            result.receipt.phases_ms
        );
        // The first run loads the kernels and takes memory.
        if n > 0 || options.runs == 0 {
            let phase = |wanted: &[&str]| -> f64 {
                let phases = result.receipt.phases_ms.iter();
                phases
                    .filter(|(phase, _)| wanted.contains(&phase.as_str()))
                    .map(|(_, ms)| ms)
                    .sum()
            };
            times.push(phase(&ON_CARD));
            searches.push(phase(&["search"]));
            calls.push(call_ms);
            cpu.push(spent_us / result.receipt.work.max(1) as f64);
            if device.is_card() {
                again.push(timed(|| run(&request)).1);
            }
        }
        last = Some(result);
    }
    let summary = last.map(|result| Summary::new(&result)).unwrap_or_default();
    Ok(Line {
        table: ask.table,
        case: case.name,
        size: ask.size,
        criterion: ask.criterion,
        threshold_percent: ask.threshold_percent,
        points: summary.points,
        pass_rate_percent: summary.pass_rate_percent,
        most: summary.most,
        sum_of_cubes: summary.sum_of_cubes,
        ms: median(times),
        search_ms: median(searches),
        call_ms: median(calls),
        again_ms: median(again),
        cpu_us_per_point: median(cpu),
        paper_s: ask.paper_s,
    })
}

/// Processor time of all threads so far, to 10 ms; `None` where the system does not report it.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which is in parentheses, user and system time are the 12th and 13th word, in hundredths.
    let words = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(2);
    let ticks: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    if ticks.len() == 2 {
        0.01 * (ticks[0] + ticks[1])
    } else {
        f64::NAN
    }
}

#[derive(Default)]
struct Summary {
    points: usize,
    pass_rate_percent: f64,
    most: f32,
    sum_of_cubes: f64,
}

impl Summary {
    fn new(result: &GammaResult) -> Self {
        let Some(map) = result.maps.first() else {
            return Self::default();
        };
        let analysed = || map.gamma.data().iter().filter(|gamma| !gamma.is_nan());
        Self {
            points: map.counts.analysed,
            pass_rate_percent: map.counts.pass_rate_percent(),
            most: analysed().copied().fold(0.0, f32::max),
            sum_of_cubes: analysed().map(|gamma| f64::from(*gamma).powi(3)).sum(),
        }
    }
}
