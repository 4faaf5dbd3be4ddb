//! How long a device takes for a small collapsed-cone dose, and whether that is the CPU's.

use crate::cccs::beam_dose;
use crate::cccs::bench::water;
use crate::dose::{DoseRequest, Quality};
use crate::{DeviceChoice, DeviceError, JobControl};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Timed doses of a device, of which the fastest counts, after one that builds kernels.
const RUNS: usize = 3;
/// A device further off the CPU's dose than this of its maximum is left out.
const MOST_OFF_PERCENT: f64 = 0.5;

/// The CPU's dose and time, once they are known.
#[derive(Default)]
pub(super) struct Measurement {
    by_cpu: Option<(Vec<f32>, f64)>,
}

impl Measurement {
    /// Time of the dose on a device, ms.
    ///
    /// # Errors
    /// A device that has none, or another than the CPU's.
    pub fn ms(&mut self, choice: DeviceChoice) -> Result<f64, DeviceError> {
        // A driver at fault may panic its binding.
        catch_unwind(AssertUnwindSafe(|| self.try_ms(choice))).unwrap_or_else(|_| {
            Err(DeviceError::Driver {
                device: choice,
                why: "it panics".to_owned(),
            })
        })
    }

    fn try_ms(&mut self, choice: DeviceChoice) -> Result<f64, DeviceError> {
        let request = water([64; 3], [3.0; 3], 60.0, Quality::Fast)?;
        let (want, cpu_ms) = match &mut self.by_cpu {
            Some(measured) => measured,
            none => none.insert(dose(&request, DeviceChoice::Cpu, 1)?),
        };
        if choice == DeviceChoice::Cpu {
            return Ok(*cpu_ms);
        }
        let (got, ms) = dose(&request, choice, RUNS)?;
        let percent = percent_off(&got, want);
        if percent <= MOST_OFF_PERCENT {
            Ok(ms)
        } else {
            Err(DeviceError::Wrong {
                device: choice,
                percent,
            })
        }
    }
}

/// How far a dose is off another at most, % of the latter's maximum; no number where one of its values is none.
fn percent_off(got: &[f32], want: &[f32]) -> f64 {
    // In the total order what is no number is more than all.
    let off = got
        .iter()
        .zip(want)
        .map(|(a, b)| (a - b).abs())
        .max_by(f32::total_cmp);
    let greatest = want.iter().copied().fold(0.0, f32::max);
    100.0 * f64::from(off.unwrap_or(f32::NAN) / greatest)
}

/// A dose by a device, Gy, and its fastest time, ms.
fn dose(
    request: &DoseRequest,
    choice: DeviceChoice,
    runs: usize,
) -> Result<(Vec<f32>, f64), DeviceError> {
    let device = choice.resolve()?;
    let failed = |why: String| DeviceError::Driver {
        device: choice,
        why,
    };
    let mut best = (Vec::new(), f64::INFINITY);
    // Its cache keeps what a device works out once for a machine.
    let control = JobControl::new();
    for run in 0..=runs {
        let start = Instant::now();
        let dose =
            beam_dose(request, &device, &control).map_err(|error| failed(error.to_string()))?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        if let Some(why) = dose.receipt.card_failure() {
            return Err(failed(why.to_owned()));
        }
        if run > 0 && ms < best.1 {
            best = (dose.gy.data().to_vec(), ms);
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skip_drawing;
    use crate::wgpu;

    /// On the CPU and on software, which `auto` never takes.
    #[test]
    fn a_device_is_measured_by_a_dose_that_agrees_with_the_cpus() {
        let mut measurement = Measurement::default();
        assert!(measurement.ms(DeviceChoice::Cpu).is_ok_and(|ms| ms > 0.0));
        match wgpu::adapters() {
            Ok(_) => assert!(
                measurement
                    .ms(DeviceChoice::Wgpu(Some(0)))
                    .is_ok_and(|ms| ms > 0.0)
            ),
            Err(_) => skip_drawing(),
        }
        assert!(measurement.ms(DeviceChoice::Wgpu(Some(1000))).is_err());
    }

    #[test]
    fn a_dose_that_is_not_the_cpus_is_seen() {
        assert!((percent_off(&[1.0, 3.96, 0.0], &[1.0, 4.0, 0.0]) - 1.0).abs() < 1e-4);
        assert_eq!(percent_off(&[1.0, 4.0], &[1.0, 4.0]), 0.0);
        for wrong in [&[f32::NAN, 4.0][..], &[f32::INFINITY, 4.0], &[]] {
            let agrees = percent_off(wrong, &[1.0, 4.0]) <= MOST_OFF_PERCENT;
            assert!(!agrees, "{wrong:?}");
        }
    }
}
