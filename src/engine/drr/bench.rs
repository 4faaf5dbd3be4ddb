//! Line integrals: the volumes, image and sampling of Tornai 2012 (section II.C, Table III), poses and pixels new at every
//! run.

use crate::bench::{Options, median};
use crate::cache::Cache;
use crate::cuda::Device;
use crate::drr::content::Content;
use crate::drr::cpu;
use crate::drr::cuda::{DrrBuffers, Launch};
use crate::drr::rays::Rays;
use crate::drr::{DrrError, DrrRequest, Integrator, Pixels, Region, Spread};
use crate::{Compute, DeviceError, JobControl, Random, phantom};
use case::Pose;
use geometry::{Projection, Volume};
use glam::DVec3;
use std::sync::Arc;
use std::time::Instant;

/// Direction of the rays. The image is 1.5 times as far as the middle of the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Along the slices' normal, as many samples a ray as slices: the paper's 6.3 million.
    Slices,
    /// From the front: a sample to each of the 512 rows.
    Ap,
    /// Gantry 30.
    Gantry30,
}

impl View {
    pub fn word(self) -> &'static str {
        match self {
            Self::Slices => "slices",
            Self::Ap => "ap",
            Self::Gantry30 => "gantry30",
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Line {
    pub case: String,
    pub integrator: Integrator,
    pub pixels: usize,
    pub batch: usize,
    /// Approximate samples per ray: length through the volume over the step, or voxels passed.
    pub samples: f64,
    /// Microseconds an image, mean and standard deviation over the runs: on a card of its kernel by its own events.
    pub us: f64,
    pub sd_us: f64,
    /// Time of the whole call on the host with upload of poses and download of integrals, microseconds an image.
    pub call_us: f64,
    /// The layout found, and the time with the naive one of 256 threads in a row.
    pub launch: Option<Launch>,
    pub naive_us: Option<f64>,
    /// Table III, 580 GTX: optimised time, block size, naive time; microseconds.
    pub paper: Option<(f64, u32, f64)>,
}

/// The time of one layout.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub pixels: usize,
    pub launch: Launch,
    pub us: f64,
}

/// The times of one device.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub lines: Vec<Line>,
    /// Only of a card.
    pub blocks: Vec<Block>,
    /// Looking through the small volume once, ms.
    pub prepare_ms: f64,
}

/// 750 x 750 pixels of 0.4 mm, of which 400 x 225 in the middle are wanted.
const IMAGE: usize = 750;
const PIXEL_MM: f64 = 0.4;
const REGION: Region = Region {
    column: 175,
    row: 262,
    columns: 400,
    rows: 225,
};
const SMALL: ([usize; 3], [f64; 3]) = ([512, 512, 72], [0.521, 0.521, 1.25]);
const GOLD: ([usize; 3], [f64; 3]) = ([512, 512, 825], [0.566, 0.566, 0.4]);

/// Table III for the 580 GTX: pixels, time, block size, time with blocks of 256 (none is printed for 8192).
const PAPER: [(usize, f64, u32, f64); 8] = [
    (1024, 297.0, 8, 727.0),
    (1536, 342.0, 8, 709.0),
    (2048, 391.0, 16, 697.0),
    (3072, 550.0, 192, 677.0),
    (4096, 700.0, 128, 702.0),
    (6144, 1006.0, 192, 1307.0),
    (8192, 1290.0, 256, 1290.0),
    (90_000, 2666.0, 128, 3131.0),
];

fn trunk(sampling: ([usize; 3], [f64; 3])) -> Result<Arc<Volume<f32>>, DeviceError> {
    let (size, spacing_mm) = sampling;
    phantom::trunk(size, spacing_mm)
        .map(Arc::new)
        .map_err(|why| failed(&why))
}

fn failed(why: &dyn std::error::Error) -> DeviceError {
    DeviceError::case("drr", why)
}

pub(crate) fn projection(view: View) -> Result<Projection, DeviceError> {
    if view == View::Slices {
        let (right, down) = (DVec3::X * PIXEL_MM, DVec3::Y * PIXEL_MM);
        let first = DVec3::Z * 500.0 - (right + down) * (0.5 * (IMAGE as f64 - 1.0));
        return Projection::new(DVec3::Z * -1000.0, first, right, down, [IMAGE; 2])
            .map_err(|why| failed(&why));
    }
    let gantry_deg = if view == View::Ap { 0.0 } else { 30.0 };
    phantom::view(gantry_deg, [PIXEL_MM; 2], [IMAGE; 2]).map_err(|why| failed(&why))
}

/// +-20 mm and +-15 degrees (section II.C).
fn poses(random: &mut Random, count: usize) -> Vec<Pose> {
    let mut within = |limit: f64| [0; 3].map(|_| limit * (2.0 * random.unit() - 1.0));
    (0..count)
        .map(|_| Pose::new(within(20.0), within(15.0)))
        .collect()
}

struct DrrCase {
    name: &'static str,
    view: View,
    volume: Arc<Volume<f32>>,
    integrator: Integrator,
    pixels: usize,
    batch: usize,
    /// As the paper's row of as many pixels.
    paper: bool,
    /// At the reference pose, as the peers were timed.
    still: bool,
}

impl DrrCase {
    fn request(&self, random: &mut Random, run: usize) -> Result<DrrRequest, DeviceError> {
        Ok(DrrRequest {
            attenuation: Arc::clone(&self.volume),
            projection: projection(self.view)?,
            poses: if self.still {
                vec![Pose::default(); self.batch]
            } else {
                poses(random, self.batch)
            },
            pose_centre_mm: DVec3::ZERO,
            integrator: self.integrator,
            pixels: if self.pixels == REGION.pixels() {
                Pixels::Region(REGION)
            } else if self.pixels == 200 * 200 {
                Pixels::Region(Region {
                    column: 275,
                    row: 275,
                    columns: 200,
                    rows: 200,
                })
            } else {
                Pixels::Subset {
                    region: Some(REGION),
                    count: self.pixels,
                    spread: Spread::Random,
                    seed: run as u64,
                }
            },
        })
    }
}

/// Times everything the options want.
pub fn report(
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Report, DeviceError> {
    let device = device.with_form("a DRR")?;
    let small = trunk(SMALL)?;
    let looked = Instant::now();
    let _ = Content::cached(&small, control.cache());
    let mut report = Report {
        prepare_ms: looked.elapsed().as_secs_f64() * 1e3,
        ..Report::default()
    };
    let cases = match device {
        Compute::Cpu | Compute::Wgpu(_) => on_cpu_cases(&small),
        Compute::Cuda(_) => on_card_cases(&small),
    };
    let gold = matches!(device, Compute::Cuda(_))
        || options.cases.iter().any(|c| "gold".starts_with(c.as_str()));
    let gold = if gold && options.wants("gold") {
        gold_cases(&trunk(GOLD)?)
    } else {
        Vec::new()
    };
    for case in cases
        .iter()
        .chain(&gold)
        .filter(|case| options.wants(case.name))
    {
        control.check()?;
        report.lines.push(match device {
            Compute::Cpu | Compute::Wgpu(_) => line_on_cpu(case, options.runs, control)?,
            Compute::Cuda(card) => line_on_card(case, card, options.runs.max(2), control)?,
        });
    }
    if let Compute::Cuda(card) = device
        && options.wants("blocks")
    {
        report.blocks = blocks(&small, card, options.runs, control)?;
    }
    Ok(report)
}

fn on_cpu_cases(small: &Arc<Volume<f32>>) -> Vec<DrrCase> {
    let case = |name, view, integrator, pixels| DrrCase {
        name,
        view,
        volume: Arc::clone(small),
        integrator,
        pixels,
        batch: 1,
        paper: name == "slices",
        still: name == "gantry30",
    };
    let voxel = Integrator::Trilinear {
        step_mm: Some(SMALL.1[0]),
    };
    let half = Integrator::Trilinear { step_mm: None };
    let full = REGION.pixels();
    vec![
        case("gantry30", View::Gantry30, Integrator::Exact, full),
        case("gantry30", View::Gantry30, voxel, full),
        case("gantry30", View::Gantry30, half, full),
        case("slices", View::Slices, Integrator::Exact, full),
        case(
            "slices",
            View::Slices,
            Integrator::Trilinear {
                step_mm: Some(SMALL.1[2]),
            },
            full,
        ),
        case(
            "slices",
            View::Slices,
            Integrator::Trilinear {
                step_mm: Some(SMALL.1[2]),
            },
            1024,
        ),
        case(
            "slices",
            View::Slices,
            Integrator::Trilinear {
                step_mm: Some(SMALL.1[2]),
            },
            8192,
        ),
    ]
}

fn on_card_cases(small: &Arc<Volume<f32>>) -> Vec<DrrCase> {
    let mut cases = Vec::new();
    let mut add = |name, view, integrator, pixels, batch, paper| {
        let volume = Arc::clone(small);
        cases.push(DrrCase {
            name,
            view,
            volume,
            integrator,
            pixels,
            batch,
            paper,
            still: false,
        });
    };
    let along_z = Integrator::Texture {
        step_mm: Some(SMALL.1[2]),
    };
    let along_y = Integrator::Texture {
        step_mm: Some(SMALL.1[0]),
    };
    for (pixels, ..) in PAPER {
        for batch in [1, 16, 256] {
            add("slices", View::Slices, along_z, pixels, batch, true);
        }
    }
    for pixels in [1024, 4096, 40_000, 90_000] {
        for batch in [1, 16, 256] {
            add("ap", View::Ap, along_y, pixels, batch, false);
        }
    }
    for integrator in [
        Integrator::Texture { step_mm: None },
        Integrator::Trilinear {
            step_mm: Some(SMALL.1[0]),
        },
        Integrator::Trilinear { step_mm: None },
        Integrator::Exact,
    ] {
        add("ap", View::Ap, integrator, 90_000, 1, false);
        add("gantry30", View::Gantry30, integrator, 90_000, 1, false);
    }
    cases
}

fn gold_cases(gold: &Arc<Volume<f32>>) -> Vec<DrrCase> {
    let [along_z, along_y] = [(View::Slices, GOLD.1[2]), (View::Ap, GOLD.1[0])];
    let views = [along_z, along_y].into_iter().flat_map(|(view, step)| {
        [(1024, 1), (1024, 256), (2048, 1), (90_000, 1), (90_000, 16)]
            .map(|(pixels, batch)| (view, step, pixels, batch))
    });
    views
        .map(|(view, step, pixels, batch)| DrrCase {
            name: "gold",
            view,
            volume: Arc::clone(gold),
            integrator: Integrator::Texture {
                step_mm: Some(step),
            },
            pixels,
            batch,
            paper: false,
            still: false,
        })
        .collect()
}

fn rays(
    case: &DrrCase,
    random: &mut Random,
    run: usize,
    cache: &Cache,
) -> Result<Rays, DeviceError> {
    Rays::new(&case.request(random, run)?, cache).map_err(|why| failed(&why))
}

/// Samples of a ray on average.
fn samples(rays: &Rays) -> f64 {
    let [low, high] = Rays::extent(rays.attenuation.grid());
    let step_mm = rays
        .step_mm
        .unwrap_or(rays.attenuation.grid().spacing_xy_mm()[0]);
    (0..4096)
        .map(|n: usize| {
            let image = &rays.images[n % rays.images.len()];
            let ray = image.ray(rays.indices[n * 7919 % rays.indices.len()], rays.columns);
            ray.clipped(low, high).map_or(0.0, |[enter, leave]| {
                (leave - enter) * (ray.to - ray.from).length() / step_mm
            })
        })
        .sum::<f64>()
        / 4096.0
}

fn line(case: &DrrCase, rays: &Rays, times_us: &[f64], call_us: f64) -> Line {
    let mean = times_us.iter().sum::<f64>() / times_us.len() as f64;
    let variance = times_us.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / times_us.len() as f64;
    let volume = if case.name == "gold" {
        format!("gold {}", case.view.word())
    } else {
        case.view.word().to_owned()
    };
    Line {
        case: volume,
        integrator: case.integrator,
        pixels: case.pixels,
        batch: case.batch,
        samples: samples(rays),
        us: mean,
        sd_us: variance.sqrt(),
        call_us,
        launch: None,
        naive_us: None,
        paper: PAPER
            .into_iter()
            .find(|p| case.paper && p.0 == case.pixels)
            .map(|(_, us, block, naive)| (us, block, naive)),
    }
}

/// `us` on one thread: the processor's time where the system tells (Linux), else the clock's. `call_us` on all threads, by
/// the clock.
fn line_on_cpu(case: &DrrCase, runs: usize, control: &JobControl) -> Result<Line, DeviceError> {
    let mut random = Random::new(1);
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|why| failed(&why))?;
    let mut time = |run: usize, alone: bool| {
        let rays = rays(case, &mut random, run, control.cache())?;
        let integrate = || {
            let (start, busy) = (Instant::now(), busy_us());
            let answer = cpu::integrals(&rays, control);
            let clock = start.elapsed().as_secs_f64() * 1e6;
            let busy = busy.and_then(|busy| Some(busy_us()? - busy));
            (
                answer,
                busy.filter(|&us| alone && us > LEAST_US).unwrap_or(clock),
            )
        };
        let (answer, us) = if alone {
            one.install(integrate)
        } else {
            integrate()
        };
        match answer {
            Ok(_) => Ok((us, rays)),
            Err(DrrError::Cancelled(cancelled)) => Err(cancelled.into()),
            Err(why) => Err(failed(&why)),
        }
    };
    let (_, warm) = time(0, false)?;
    let runs = runs.max(1);
    let alone = (0..runs)
        .map(|run| Ok(time(run, true)?.0))
        .collect::<Result<Vec<_>, DeviceError>>()?;
    let us_on_all_threads = (0..runs)
        .map(|run| Ok(time(run, false)?.0))
        .collect::<Result<Vec<_>, DeviceError>>()?;
    Ok(line(case, &warm, &alone, median(us_on_all_threads)))
}

/// The system counts a thread's time at its ticks, some ms apart: shorter times are read from the clock.
const LEAST_US: f64 = 3e4;

/// How long this thread has been on a processor, microseconds.
fn busy_us() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace()
        .next()?
        .parse::<f64>()
        .ok()
        .map(|ns| ns * 1e-3)
}

/// Keeps a card busy for some tenths of a millisecond, and hardly touches its caches: many steps through a small volume.
fn filler() -> Result<DrrCase, DeviceError> {
    Ok(DrrCase {
        name: "filler",
        view: View::Ap,
        volume: trunk(([32; 3], [1.0; 3]))?,
        integrator: Integrator::Trilinear {
            step_mm: Some(0.002),
        },
        pixels: REGION.pixels(),
        batch: 1,
        paper: false,
        still: true,
    })
}

fn line_on_card(
    case: &DrrCase,
    card: &Device,
    runs: usize,
    control: &JobControl,
) -> Result<Line, DeviceError> {
    let mut random = Random::new(1);
    let first = rays(case, &mut random, 0, control.cache())?;
    let mut card = card.lock();
    let mut work = DrrBuffers::prepare(&mut card, &first)?;
    let launch = work.launch(&mut card)?;
    let naive = Launch {
        lanes: 1,
        threads: 256,
        tile_width: 256,
    };
    let busy = rays(&filler()?, &mut random, 0, control.cache())?;
    let busy = DrrBuffers::prepare(&mut card, &busy)?;
    let (mut times, mut naives, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    let per_image = 1e3 / case.batch as f64;
    for run in 0..runs {
        let rays = rays(case, &mut random, run, control.cache())?;
        for (launch, times) in [(launch, &mut times), (naive, &mut naives)] {
            work.change(&mut card, &rays)?;
            card.wait()?;
            // The timed launch is queued while the card is busy: on an idle card its time would include the submission.
            busy.queue(&mut card, naive)?;
            let mut clock = card.clock()?;
            work.queue(&mut card, launch)?;
            clock.mark(&card, "integrate")?;
            times.extend(
                clock
                    .finish(&card)?
                    .into_iter()
                    .map(|(_, ms)| ms * per_image),
            );
        }
        let start = Instant::now();
        work.change(&mut card, &rays)?;
        work.queue(&mut card, launch)?;
        let _ = card.download(&work.integrals)?;
        calls.push(start.elapsed().as_secs_f64() * 1e3 * per_image);
    }
    let naive_us = naives.iter().sum::<f64>() / naives.len() as f64;
    let line = line(case, &first, &times, median(calls));
    Ok(Line {
        launch: Some(launch),
        naive_us: Some(naive_us),
        ..line
    })
}

/// The paper's study of block sizes (Fig. 2): the paper's view, one image.
fn blocks(
    small: &Arc<Volume<f32>>,
    card: &Device,
    runs: usize,
    control: &JobControl,
) -> Result<Vec<Block>, DeviceError> {
    let mut blocks = Vec::new();
    for pixels in [1024, 1536, 2048, 8192, 90_000] {
        let case = DrrCase {
            name: "blocks",
            view: View::Slices,
            volume: Arc::clone(small),
            integrator: Integrator::Texture {
                step_mm: Some(SMALL.1[2]),
            },
            pixels,
            batch: 1,
            paper: false,
            still: false,
        };
        let mut random = Random::new(1);
        let first = rays(&case, &mut random, 0, control.cache())?;
        let mut card = card.lock();
        let work = DrrBuffers::prepare(&mut card, &first)?;
        for launch in Launch::candidates(pixels != REGION.pixels(), &Launch::LANES) {
            work.queue(&mut card, launch)?;
            let mut clock = card.clock()?;
            for _ in 0..runs.max(5) {
                work.queue(&mut card, launch)?;
                clock.mark(&card, "run")?;
            }
            let times = clock
                .finish(&card)?
                .into_iter()
                .map(|(_, ms)| ms * 1e3)
                .collect();
            blocks.push(Block {
                pixels,
                launch,
                us: median(times),
            });
        }
    }
    Ok(blocks)
}
