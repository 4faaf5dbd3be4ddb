//! Slabs of a dispatch: parts short enough that no driver takes the device for hung, and that a cancelled job ends soon.

use std::collections::HashMap;
use std::time::Duration;

/// Wanted of a slab; twice as long is still far from what drivers reset after.
const SLAB: Duration = Duration::from_millis(50);
/// Expected to end within this, a dispatch is queued without waiting for it.
const SHORT: Duration = Duration::from_millis(20);
/// Largest ratio of a slab to the slab before: the first ones are short, to find the pace.
const GROWTH: f64 = 8.0;
/// Steps of the first slab of a kernel that has not run yet: of all workgroups together.
const FIRST: f64 = 1024.0;

/// Seconds to a step of each kernel (a workgroup, or what its time goes with), as last timed.
#[derive(Debug, Default)]
pub(super) struct Pace(HashMap<&'static str, f64>);

/// A slab to come: layers, and whether its time is needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slab {
    pub layers: u32,
    pub timed: bool,
}

impl Pace {
    /// The next slab of a kernel, of `left` layers (one or more) with `steps_of_layer` steps each, after a slab of `last_layers`.
    pub fn next(
        &self,
        kernel: &str,
        left: u32,
        steps_of_layer: f64,
        last_layers: Option<u32>,
    ) -> Slab {
        let seconds = self.0.get(kernel).map(|s| s * steps_of_layer);
        if seconds.is_some_and(|s| s * f64::from(left) < SHORT.as_secs_f64()) {
            return Slab {
                layers: left,
                timed: false,
            };
        }
        let fit = seconds.map_or(FIRST / steps_of_layer, |s| SLAB.as_secs_f64() / s);
        let grown = last_layers.map_or(f64::INFINITY, |layers| GROWTH * f64::from(layers));
        // A cast of a float to an integer saturates.
        Slab {
            layers: (fit.min(grown) as u32).clamp(1, left),
            timed: true,
        }
    }

    pub fn note(&mut self, kernel: &'static str, steps: f64, took: Duration) {
        self.0.insert(kernel, took.as_secs_f64() / steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_cover_all_and_follow_the_time_that_the_last_one_took() {
        let mut pace = Pace::default();
        let (mut left, mut last_layers, mut slabs) = (128, None, Vec::new());
        while left > 0 {
            let slab = pace.next("transport", left, 200.0, last_layers);
            // 4 ms to a layer, known after the first slab: a short rest is not waited for.
            let is_short = last_layers.is_some() && 4 * left < 20;
            assert!(slab.layers >= 1 && slab.layers <= left && slab.timed != is_short);
            let took = Duration::from_millis(4) * slab.layers;
            pace.note("transport", 200.0 * f64::from(slab.layers), took);
            slabs.push(slab.layers);
            left -= slab.layers;
            last_layers = Some(slab.layers);
        }
        assert_eq!(slabs.iter().sum::<u32>(), 128);
        assert_eq!((slabs[0], slabs[1]), (5, 12));
        assert!(
            slabs
                .iter()
                .all(|layers| Duration::from_millis(4) * *layers <= SLAB)
        );
    }

    #[test]
    fn a_short_dispatch_is_not_waited_for_and_the_slowest_still_moves() {
        let mut pace = Pace::default();
        pace.note("crop", 100.0, Duration::from_millis(1));
        assert_eq!(
            pace.next("crop", 10, 100.0, None),
            Slab {
                layers: 10,
                timed: false
            }
        );
        pace.note("crop", 1.0, Duration::from_secs(9));
        assert_eq!(
            pace.next("crop", 10, 100.0, None),
            Slab {
                layers: 1,
                timed: true
            }
        );
        assert_eq!(
            pace.next("unknown", 4, 1e9, None),
            Slab {
                layers: 1,
                timed: true
            }
        );
    }
}
