//! Faults that a device reports from outside the call that caused them: errors, and its loss.

use super::error::WgpuError;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Debug)]
enum Fault {
    OutOfMemory,
    Invalid(String),
    Lost(String),
}

/// The first fault since the last call of [`Faults::take`]. Without a handler of errors wgpu ends the program.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults(Arc<Mutex<Option<Fault>>>);

impl Faults {
    /// Receives what a device reports.
    pub fn watch(device: &wgpu::Device) -> Self {
        let faults = Self::default();
        let (errors, lost) = (faults.clone(), faults.clone());
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            errors.note(match error {
                wgpu::Error::OutOfMemory { .. } => Fault::OutOfMemory,
                wgpu::Error::Validation { description, .. }
                | wgpu::Error::Internal { description, .. } => Fault::Invalid(description),
            });
        }));
        device.set_device_lost_callback(move |reason, message| {
            lost.note(Fault::Lost(format!("{message} ({reason:?})")));
        });
        faults
    }

    fn note(&self, fault: Fault) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What follows upon a loss is not its reason, and a loss is the reason of an error beside it.
        if first.is_none() || matches!(fault, Fault::Lost(_)) {
            *first = Some(fault);
        }
    }

    /// The fault, as an error of the operation `doing` on `bytes` bytes.
    pub fn take(&self, device: &str, doing: &str, bytes: u64) -> Option<WgpuError> {
        let fault = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        let (device, doing) = (device.to_owned(), doing.to_owned());
        Some(match fault {
            Fault::OutOfMemory => WgpuError::OutOfMemory {
                device,
                what: doing,
                asked_mib: bytes >> 20,
            },
            Fault::Invalid(why) => WgpuError::Invalid { device, doing, why },
            Fault::Lost(why) => WgpuError::Lost { device, doing, why },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_stands_before_the_errors_that_follow_from_it() {
        let faults = Faults::default();
        assert!(faults.take("card", "tracing", 0).is_none());
        faults.note(Fault::Invalid("a buffer is gone".to_owned()));
        faults.note(Fault::Lost("reset".to_owned()));
        faults.note(Fault::OutOfMemory);
        assert!(matches!(
            faults.take("card", "tracing", 0),
            Some(WgpuError::Lost { .. })
        ));
        assert!(faults.take("card", "tracing", 0).is_none());
    }
}
