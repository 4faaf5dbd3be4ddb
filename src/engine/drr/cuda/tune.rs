//! Launch layout by a small search, cached for the device, on disk too (Tornai 2012, section II.C: the
//! best block is 8 to 192 threads, and with another the same image takes up to 2.4 times as long).

use super::{DrrBuffers, remembered};
use crate::cuda::{CardLock, CudaError, kernels};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};

/// The layout of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Threads that share a ray: 1, 2, 4 or 8.
    pub lanes: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Pixels of a row that a block takes, of a region; their number of rows follows.
    pub tile_width: u32,
}

/// Works with the same best layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    pub kernel: &'static str,
    pub listed: bool,
    /// Powers of two: rays, samples to a ray.
    pub rays: u32,
    pub samples: u32,
}

impl Class {
    /// The layouts that a search times.
    pub fn candidates(&self) -> Vec<Launch> {
        let shared: &[u32] = match self.kernel {
            DrrBuffers::EXACT => &[1],
            kernel if kernel.starts_with("drr_texture") => &Launch::LANES,
            _ => &[1, 8],
        };
        Launch::candidates(self.listed, shared)
    }
}

/// A launch that takes longer than this, ms, is not searched: its layouts are not run.
const LONGEST_MS: f64 = 30.0;
const RUNS: usize = 3;

impl Launch {
    /// The choice where nothing is known.
    pub const PLAIN: Self = Self {
        lanes: 1,
        threads: 128,
        tile_width: 8,
    };

    /// Threads that may share a ray through the texture.
    pub const LANES: [u32; 4] = [1, 2, 4, 8];

    /// Layouts that a search times, with the numbers of threads a ray in `shared`.
    pub fn candidates(listed: bool, shared: &[u32]) -> Vec<Self> {
        let tiles: &[u32] = if listed { &[1] } else { &[4, 8, 16, 32] };
        let mut launches = Vec::new();
        for &lanes in shared {
            for threads in [32, 64, 128, 256, 512] {
                let fits = tiles.iter().filter(|&&tile| tile <= threads / lanes);
                launches.extend(fits.map(|&tile_width| Self {
                    lanes,
                    threads,
                    tile_width,
                }));
            }
        }
        launches
    }
}

/// The best layout for a work: cached in memory or on disk, or found by timing the candidates.
pub(super) fn best(card: &mut CardLock<'_>, work: &DrrBuffers) -> Result<Launch, CudaError> {
    let class = work.class();
    if let Some(launch) = card.layouts().get(&class) {
        return Ok(*launch);
    }
    let key = name(card)?;
    let launch = match remembered::layout(&key, &class) {
        Some(launch) => launch,
        None => {
            let launch = search(card, work)?;
            remembered::store(&key, &class, launch);
            launch
        }
    };
    tracing::debug!("{class:?}: {launch:?}");
    card.layouts().insert(class, launch);
    Ok(launch)
}

/// Key of a layout: the card, its driver and these kernels.
fn name(card: &CardLock<'_>) -> Result<String, CudaError> {
    let mut kernels_of = Digest::default();
    kernels::ptx("drr")?
        .bytes()
        .for_each(|byte| kernels_of.add(u64::from(byte)));
    Ok(format!(
        "{}, driver {}, kernels {kernels_of}",
        card.name, card.driver
    ))
}

fn search(card: &mut CardLock<'_>, work: &DrrBuffers) -> Result<Launch, CudaError> {
    work.queue(card, Launch::PLAIN)?;
    let mut best = (Launch::PLAIN, time(card, work, Launch::PLAIN, 1)?);
    if best.1 > LONGEST_MS {
        return Ok(best.0);
    }
    for launch in work.class().candidates() {
        let ms = time(card, work, launch, RUNS)?;
        if ms < best.1 {
            best = (launch, ms);
        }
    }
    Ok(best.0)
}

/// The least time of some runs, ms.
fn time(
    card: &mut CardLock<'_>,
    work: &DrrBuffers,
    launch: Launch,
    runs: usize,
) -> Result<f64, CudaError> {
    let mut clock = card.clock()?;
    for _ in 0..runs {
        work.queue(card, launch)?;
        clock.mark(card, "run")?;
    }
    Ok(clock
        .finish(card)?
        .into_iter()
        .map(|(_, ms)| ms)
        .fold(f64::INFINITY, f64::min))
}
