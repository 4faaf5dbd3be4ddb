//! Times of the jobs on this machine, beside the papers, on every device: `bench` of each job, and what they share.

pub mod memory;

use super::cuda::{Buffer, CardLock, CudaError, Device};
use super::failure::Failure;
use super::wgpu::{self, WgpuError};
use super::{Compute, DeviceError, JobControl, cccs, path};
use rayon::prelude::*;
use std::time::Instant;

/// Options of a bench.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only cases whose names begin so; all where empty.
    pub cases: Vec<String>,
    /// Timed runs of a case, after one or more that are not timed.
    pub runs: usize,
}

impl Options {
    pub(crate) fn wants(&self, case: &str) -> bool {
        self.cases.is_empty()
            || self
                .cases
                .iter()
                .any(|wanted| case.starts_with(wanted.as_str()))
    }
}

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub case: String,
    /// How it was computed, where there are several ways.
    pub way: &'static str,
    pub voxels: usize,
    /// Rays or directions to each voxel.
    pub directions: usize,
    /// Median time of the computation: on a card by its own events, without transfers.
    pub ms: f64,
    /// Least bytes it must move: every input read once, every output written once.
    pub least_bytes: usize,
    /// Median time of the whole call on the host, its results copied there.
    pub call_ms: f64,
    /// Time of the paper, ms, and its hardware.
    pub paper: Option<(f64, &'static str)>,
}

impl Row {
    /// Time of a voxel and direction.
    pub fn ns_each(&self) -> f64 {
        self.ms * 1e6 / (self.voxels * self.directions) as f64
    }

    /// Rate of the bytes that must move, 1e9 a second.
    pub fn gb_per_s(&self) -> f64 {
        self.least_bytes as f64 / self.ms / 1e6
    }
}

/// The times of one device.
#[derive(Clone, Debug)]
pub struct Report {
    pub job: &'static str,
    pub device: String,
    /// A large copy within its memory, bytes read plus bytes written, 1e9 a second.
    pub copy_gb_per_s: f64,
    pub rows: Vec<Row>,
}

type Bench = fn(&Compute, &Options, &JobControl) -> Result<Vec<Row>, DeviceError>;

/// Times the radiological depth on a device.
///
/// # Errors
/// [`DeviceError`]; cancelled among them.
pub fn path_report(
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Report, DeviceError> {
    report("path", path::bench::rows, device, options, control)
}

/// Times the collapsed cone on a device.
///
/// # Errors
/// [`DeviceError`]; cancelled among them.
pub fn cccs_report(
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Report, DeviceError> {
    report("cccs", cccs::bench::rows, device, options, control)
}

fn report(
    job: &'static str,
    bench: Bench,
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Report, DeviceError> {
    let rows = bench(device, options, control)?;
    let copy_gb_per_s = match device {
        Compute::Cpu => copy_on_cpu(),
        Compute::Cuda(device) => copy_on_card(device)?,
        Compute::Wgpu(device) => copy_on_wgpu(device, control)?,
    };
    Ok(Report {
        job,
        device: device.to_string(),
        copy_gb_per_s,
        rows,
    })
}

/// The error of a bench, the card's or the job's.
pub(crate) fn card_error<E: std::fmt::Display, D: Into<DeviceError>>(
    job: &'static str,
    failure: Failure<E, D>,
) -> DeviceError {
    match failure {
        Failure::Card(error) => error.into(),
        Failure::Job(error) => DeviceError::case(job, error),
    }
}

/// The middle of some times.
pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Wall time of something, ms.
pub(crate) fn timed<T>(what: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let value = what();
    (value, start.elapsed().as_secs_f64() * 1e3)
}

fn copy_on_wgpu(device: &wgpu::Device, control: &JobControl) -> Result<f64, WgpuError> {
    /// Copies to a run: the clock is the host's.
    const COPIES: usize = 16;
    let session = device.session(control);
    let mut count = 64 << 20;
    let (from, to) = loop {
        let both = session
            .zeroed::<f32>("a copy", count)
            .and_then(|from| Ok((from, session.zeroed("a copy", count)?)));
        match both {
            Err(WgpuError::TooLarge { .. } | WgpuError::OutOfMemory { .. }) if count > 1 << 20 => {
                count /= 2
            }
            other => break other?,
        }
    };
    session.wait("copying")?;
    let mut times = Vec::new();
    for _ in 0..9 {
        let (done, ms) = timed(|| {
            (0..COPIES).for_each(|_| session.copy(&from, &to));
            session.wait("copying")
        });
        done?;
        times.push(ms);
    }
    Ok(2.0 * (COPIES * count * size_of::<f32>()) as f64 / median(times) / 1e6)
}

fn copy_on_card(device: &Device) -> Result<f64, DeviceError> {
    let mut card = device.lock();
    let (from, to) = two_large_buffers(&mut card)?;
    card.fill(&from, 0x3f)?;
    card.copy(&from, &to)?;
    let mut times = Vec::new();
    for _ in 0..9 {
        let mut clock = card.clock()?;
        card.copy(&from, &to)?;
        clock.mark(&card, "copy")?;
        times.extend(clock.finish(&card)?.into_iter().map(|(_, ms)| ms));
    }
    Ok(2.0 * from.bytes() as f64 / median(times) / 1e6)
}

/// A GiB each, or as much as there is.
fn two_large_buffers(card: &mut CardLock<'_>) -> Result<(Buffer<f32>, Buffer<f32>), CudaError> {
    let mut count = 256 << 20;
    loop {
        let both = card
            .alloc(count)
            .and_then(|from| Ok((from, card.alloc(count)?)));
        match both {
            Err(CudaError::OutOfMemory { .. }) if count > 1 << 20 => count /= 2,
            other => return other,
        }
    }
}

fn copy_on_cpu() -> f64 {
    const VALUES: usize = 32 << 20;
    const PART: usize = 1 << 20;
    let from = vec![0.75_f32; VALUES];
    let mut to = vec![0.5_f32; VALUES];
    let times = (0..5).map(|_| {
        timed(|| {
            let parts = to.par_chunks_mut(PART).zip(from.par_chunks(PART));
            parts.for_each(|(to, from)| to.copy_from_slice(from));
        })
        .1
    });
    2.0 * (VALUES * size_of::<f32>()) as f64 / median(times.collect()) / 1e6
}
