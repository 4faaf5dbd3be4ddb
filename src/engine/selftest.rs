//! Correctness of the jobs on this machine: `selftest` of each job has seeded cases on every device, against the CPU and against
//! closed forms.

use super::{Compute, DeviceError, JobControl};
use super::{cccs, drr, drr_gradient, gamma, influence, mc, mccs, path};
use crate::histories::HistoriesDose;
use serde::Serialize;

/// A line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub job: &'static str,
    pub case: String,
    pub device: String,
    /// How it was computed, where there are several ways.
    pub way: &'static str,
    /// The reference of the comparison.
    pub against: &'static str,
    /// Largest and mean difference and the tolerance, in `unit`.
    pub worst: f64,
    pub mean: f64,
    pub tolerance: f64,
    pub unit: &'static str,
    /// Whether an equal run gave the same bits.
    pub repeats: bool,
}

impl Row {
    pub fn passes(&self) -> bool {
        self.worst <= self.tolerance && self.repeats
    }
}

/// The jobs that graphics devices have a form of.
const ON_WGPU: [&str; 4] = ["path", "cccs", "influence", "gamma"];

type Test = fn(&Compute, &JobControl) -> Result<Vec<Row>, DeviceError>;

/// The jobs and their tests.
const TESTS: [(&str, Test); 8] = [
    ("path", path::selftest::rows),
    ("cccs", cccs::selftest::rows),
    ("influence", influence::selftest::rows),
    ("mccs", mccs::selftest::rows),
    ("mc", mc::selftest::rows),
    ("drr", drr::selftest::rows),
    ("pose", drr_gradient::selftest::rows),
    ("gamma", gamma::selftest::rows),
];

/// Tests every job on a device.
///
/// # Errors
/// [`DeviceError`] where a device gives no answer at all; cancelled among them.
pub fn run(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let mut rows = Vec::new();
    for (n, (job, test)) in TESTS.iter().enumerate() {
        control.report(n as f32 / TESTS.len() as f32);
        if !matches!(device, Compute::Wgpu(_)) || ON_WGPU.contains(job) {
            rows.extend(test(device, control)?);
        }
    }
    control.report(1.0);
    Ok(rows)
}

/// Tests every job that graphics devices have a form of over cases that take little time on any of them, software included.
///
/// # Errors
/// As [`run`].
/// Mean over the voxels above half the maximum of the squared difference over its variance.
pub(crate) fn chi_square(a: &HistoriesDose, b: &HistoriesDose) -> f64 {
    let greatest = a.gy.data().iter().copied().fold(0.0, f32::max);
    let (mut sum, mut count) = (0.0, 0.0);
    for i in 0..a.gy.data().len() {
        let [x, y] = [a, b].map(|d| f64::from(d.gy.data()[i]));
        if x + y > f64::from(greatest) {
            let variance: f64 = [a, b]
                .map(|d| f64::from(d.sigma_gy.data()[i]).powi(2))
                .iter()
                .sum();
            sum += (x - y).powi(2) / variance;
            count += 1.0;
        }
    }
    sum / count
}

#[cfg(test)]
pub fn run_small(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let mut rows = path::selftest::small_rows(device, control)?;
    rows.extend(cccs::selftest::small_rows(device, control)?);
    rows.extend(influence::selftest::rows(device, control)?);
    rows.extend(gamma::selftest::small_rows(device, control)?);
    Ok(rows)
}

/// Tests what cards do together; nothing where there is only one.
///
/// # Errors
/// As [`run`].
pub fn run_together(cards: &[Compute], control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    if cards.len() > 1 {
        mccs::selftest::shared_rows(cards, control)
    } else {
        Ok(Vec::new())
    }
}

/// Largest and mean difference of two lists of one length; a NaN on either side is infinitely wrong.
pub(crate) fn differences<T: Copy + Into<f64>>(got: &[T], want: &[f64]) -> (f64, f64) {
    let off = got.iter().zip(want).map(|(&got, want)| {
        let off = (got.into() - want).abs();
        if off.is_nan() { f64::INFINITY } else { off }
    });
    let (worst, sum) = off.fold((0.0_f64, 0.0), |(worst, sum), off| {
        (worst.max(off), sum + off)
    });
    if got.len() == want.len() && !got.is_empty() {
        (worst, sum / got.len() as f64)
    } else {
        (f64::INFINITY, f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PathRequest;
    use crate::skip::{Missing, skip};
    use crate::{CudaError, DeviceChoice, cuda, wgpu};
    use crate::{WgpuError, phantom};
    use glam::DVec3;
    use std::sync::Arc;

    #[test]
    fn differences_miss_nothing() {
        assert_eq!(differences(&[1.0, 2.5], &[1.0, 2.0]), (0.5, 0.25));
        for wrong in [&[1.0, f32::NAN][..], &[1.0], &[]] {
            assert_eq!(differences(wrong, &[1.0, 2.0]).0, f64::INFINITY);
        }
    }

    fn assert_passes(rows: &[Row]) {
        assert!(rows.len() > 20, "{}", rows.len());
        let wrong: Vec<_> = rows.iter().filter(|row| !row.passes()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_cpu_passes() {
        assert_passes(&run(&Compute::Cpu, &JobControl::new()).expect("nobody cancels it"));
    }

    /// The kernels of graphics devices are right on any that is there, a program on the CPU among them.
    #[test]
    fn a_graphics_device_passes() {
        let Ok(devices) = wgpu::adapters() else {
            return skip(
                Missing::Graphics,
                "no WGSL kernel is tested: there is no Vulkan, Metal or DirectX 12",
            );
        };
        let device = DeviceChoice::Wgpu(Some(devices[0].ordinal))
            .resolve()
            .expect("a device that opens");
        let rows = run_small(&device, &JobControl::new()).expect("an answer");
        for row in &rows {
            println!(
                "{} {} {}: {} {}",
                row.job, row.case, row.way, row.worst, row.unit
            );
        }
        assert_passes(&rows);
    }

    /// A card that goes while jobs ask for it is reported, and the CPU answers; a cancelled job is none of its faults.
    #[test]
    fn a_lost_graphics_device_is_stood_in_for() {
        let Ok(devices) = wgpu::adapters() else {
            return skip(
                Missing::Graphics,
                "no graphics device is lost: there is no Vulkan, Metal or DirectX 12",
            );
        };
        let device = wgpu::Device::apart(Some(devices[0].ordinal)).expect("a device that opens");
        let density = Arc::new(phantom::trunk([12, 10, 8], [9.0, 9.0, 9.0]).expect("a trunk"));
        let request = PathRequest {
            source_mm: DVec3::new(3.0, -1000.0, 5.0),
            targets: Arc::clone(density.grid()),
            density,
        };
        let on_card = Compute::Wgpu(Arc::clone(&device));
        let trace = |control: &JobControl| crate::path::trace(&request, &on_card, control);
        let by_card = trace(&JobControl::new()).expect("depths");
        assert_eq!(by_card.receipt.card_failure(), None);
        let cancelled = JobControl::new();
        cancelled.cancel();
        assert!(trace(&cancelled).is_err());
        device.lose();
        let by_cpu = trace(&JobControl::new()).expect("the CPU's depths");
        let why = by_cpu.receipt.card_failure().expect("a reason").to_owned();
        assert!(
            why.contains(&devices[0].name) && why.contains("--device cpu"),
            "{why}"
        );
        let (worst, _) = differences(
            by_card.depth_mm.data(),
            &by_cpu
                .depth_mm
                .data()
                .iter()
                .map(|d| f64::from(*d))
                .collect::<Vec<_>>(),
        );
        assert!(worst < 0.01, "{worst}");
    }

    /// Requests that do not fit are refused with numbers before memory is taken.
    #[test]
    fn too_much_for_a_graphics_device_is_refused() {
        let Ok(devices) = wgpu::adapters() else {
            return skip(
                Missing::Graphics,
                "no memory is asked for: there is no Vulkan, Metal or DirectX 12",
            );
        };
        let device = wgpu::Device::open(Some(devices[0].ordinal)).expect("a device that opens");
        let control = JobControl::new();
        let refused = device
            .session(&control)
            .alloc::<u64>("a wall", usize::MAX / 32)
            .map(|wall| wall.count());
        assert!(
            matches!(&refused, Err(WgpuError::TooLarge { .. })),
            "{refused:?}"
        );
        assert!(refused.is_err_and(
            |why| why.to_string().contains("a wall") && why.to_string().contains("MiB")
        ));
    }

    /// A driver that is there and does not work is a failure.
    #[test]
    fn every_card_passes() {
        let cards = match cuda::cards() {
            Err(error @ (CudaError::NoDriver | CudaError::NoCard)) => {
                return skip(Missing::Card, &format!("no kernel is tested: {error}"));
            }
            found => found.expect("the cards of this machine"),
        };
        let cards: Vec<Compute> = cards
            .iter()
            .map(|card| {
                DeviceChoice::Cuda(card.ordinal)
                    .resolve()
                    .expect("a card that opens")
            })
            .collect();
        for card in &cards {
            assert_passes(&run(card, &JobControl::new()).expect("an answer"));
        }
        let together = run_together(&cards, &JobControl::new()).expect("an answer");
        assert!(together.iter().all(Row::passes), "{together:#?}");
    }
}
