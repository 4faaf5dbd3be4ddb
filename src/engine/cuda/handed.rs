//! Memory of a card in the hands of others who compute there.

use super::device::Device;
use super::memory::Buffer;
use std::sync::Arc;

/// A buffer that other libraries read in place. The card rests whenever it changes hands: ours is done before they read it, and
/// theirs before the memory is another job's.
pub struct Handed<T> {
    device: Arc<Device>,
    buffer: Buffer<T>,
}

impl<T> Handed<T> {
    /// A buffer whose kernels have been queued; the card must not be locked by the caller.
    pub fn new(device: &Arc<Device>, buffer: Buffer<T>) -> Self {
        let handed = Self {
            device: Arc::clone(device),
            buffer,
        };
        handed.wait();
        handed
    }

    /// Its address in the card's own memory; it holds as long as this does.
    pub fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// Number of the card.
    pub fn ordinal(&self) -> usize {
        self.device.card().ordinal
    }

    /// Number of values.
    pub fn count(&self) -> usize {
        self.buffer.count()
    }

    fn wait(&self) {
        if let Err(why) = self.device.lock().context().synchronize() {
            tracing::warn!("{} does not come to rest: {why}", self.device.card());
        }
    }
}

impl<T> Drop for Handed<T> {
    fn drop(&mut self) {
        self.wait();
    }
}
