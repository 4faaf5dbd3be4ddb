//! A graphics device, open, and what it keeps from job to job.

use super::adapter::{Adapter, adapter};
use super::buffer::{Buffer, Pool};
use super::error::WgpuError;
use super::faults::Faults;
use super::kernel::Pipelines;
use super::needs;
use super::pace::Pace;
use super::session::Session;
use crate::JobControl;
use geometry::VolumeId;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of volumes that are kept, at most.
const KEPT_BYTES: u64 = 1 << 30;

/// An open graphics device: one queue on which everything runs in order.
pub struct Device {
    adapter: &'static Adapter,
    pub(super) handle: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) limits: wgpu::Limits,
    pub(super) faults: Faults,
    pub(super) pool: Pool,
    state: Mutex<State>,
}

/// Data that jobs leave for those after them.
#[derive(Default)]
pub(super) struct State {
    pub pipelines: Pipelines,
    pub pace: Pace,
    pub volumes: Volumes,
}

/// Volumes on the device by identity, the most recently used last.
#[derive(Default)]
pub(super) struct Volumes(Vec<(VolumeId, Arc<Buffer<f32>>)>);

impl Volumes {
    pub fn find(&mut self, id: VolumeId) -> Option<Arc<Buffer<f32>>> {
        let index = self.0.iter().position(|(cached_id, _)| *cached_id == id)?;
        let entry = self.0.remove(index);
        self.0.push(entry);
        self.0.last().map(|(_, buffer)| Arc::clone(buffer))
    }

    pub fn keep(&mut self, id: VolumeId, buffer: &Arc<Buffer<f32>>) {
        self.0.push((id, Arc::clone(buffer)));
        while self.0.len() > 1 && self.bytes() > KEPT_BYTES {
            self.0.remove(0);
        }
    }

    fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, buffer)| buffer.bytes()).sum()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("adapter", &self.adapter)
            .finish_non_exhaustive()
    }
}

/// The devices opened so far, of the process.
static OPEN: Mutex<Vec<Arc<Device>>> = Mutex::new(Vec::new());

fn open_devices() -> MutexGuard<'static, Vec<Arc<Device>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The devices opened so far.
pub fn opened() -> Vec<Arc<Device>> {
    open_devices().clone()
}

impl Device {
    /// The device of that number, or the preferred one, opened at its first use and then left open. One that was lost is opened anew.
    ///
    /// # Errors
    /// No device, one too weak for the kernels, or a driver that refuses.
    pub fn open(ordinal: Option<usize>) -> Result<Arc<Self>, WgpuError> {
        let adapter = adapter(ordinal)?;
        let mut open = open_devices();
        if let Some(device) = open
            .iter()
            .find(|device| device.adapter.ordinal == adapter.ordinal)
        {
            return Ok(Arc::clone(device));
        }
        let device = Arc::new(Self::new(adapter)?);
        open.push(Arc::clone(&device));
        Ok(device)
    }

    fn new(adapter: &'static Adapter) -> Result<Self, WgpuError> {
        // Everything that the adapter has: what a job needs is checked against it.
        let limits = adapter.handle.limits();
        needs::check(&adapter.to_string(), &limits)?;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("engine"),
            required_features: adapter.handle.features() & wgpu::Features::TIMESTAMP_QUERY,
            required_limits: limits.clone(),
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.handle.request_device(&descriptor));
        let (handle, queue) = opened.map_err(|error| WgpuError::Refused {
            device: adapter.to_string(),
            why: error.to_string(),
        })?;
        let faults = Faults::watch(&handle);
        let (pool, state) = (Pool::default(), Mutex::default());
        Ok(Self {
            adapter,
            handle,
            queue,
            limits,
            faults,
            pool,
            state,
        })
    }

    /// A separate device, which nobody else opens.
    #[cfg(test)]
    pub(crate) fn apart(ordinal: Option<usize>) -> Result<Arc<Self>, WgpuError> {
        Self::new(adapter(ordinal)?).map(Arc::new)
    }

    /// Loses the device, as a driver does that resets it.
    #[cfg(test)]
    pub(crate) fn lose(&self) {
        self.handle.destroy();
    }

    pub fn adapter(&self) -> &'static Adapter {
        self.adapter
    }

    /// Bytes of a buffer that a kernel takes, at most.
    pub fn most_bytes(&self) -> u64 {
        self.limits
            .max_storage_buffer_binding_size
            .min(self.limits.max_buffer_size)
    }

    /// A job's hold on the device; others wait. It ends soon after `control` is cancelled.
    pub fn session<'a>(&'a self, control: &'a JobControl) -> Session<'a> {
        Session::new(
            self,
            self.state.lock().unwrap_or_else(PoisonError::into_inner),
            control,
        )
    }

    /// Takes a lost device out of those opened, so that the next job opens it anew.
    pub(super) fn forget(&self) {
        open_devices().retain(|device| !std::ptr::eq(&**device, self));
    }

    /// Bytes kept for jobs to come.
    pub fn cached_bytes(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(state.volumes.bytes() + self.pool.bytes()).unwrap_or(usize::MAX)
    }

    /// Gives back what [`Self::cached_bytes`] counts.
    pub fn empty(&self) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .volumes = Volumes::default();
        self.pool.empty();
    }
}
