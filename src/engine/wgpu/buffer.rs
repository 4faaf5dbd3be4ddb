//! Memory of a device: typed buffers whose memory is used again.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are kept for the next job, at most.
const KEPT_BYTES: u64 = 1 << 30;

/// Buffers out of use.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool(Arc<Mutex<Vec<wgpu::Buffer>>>);

impl Pool {
    pub fn take(&self, bytes: u64) -> Option<wgpu::Buffer> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = free.iter().position(|buffer| buffer.size() == bytes)?;
        Some(free.swap_remove(index))
    }

    /// Keeps a buffer, and lets go of the oldest beyond what is kept.
    fn put(&self, buffer: wgpu::Buffer) {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(buffer);
        let mut bytes: u64 = free.iter().map(wgpu::Buffer::size).sum();
        while bytes > KEPT_BYTES {
            bytes -= free.remove(0).size();
        }
    }

    pub fn bytes(&self) -> u64 {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(wgpu::Buffer::size)
            .sum()
    }

    pub fn empty(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// Values of a type on a device. The memory goes back to the pool with it; what is queued with it runs before what uses the
/// memory next, since a device has one queue.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(super) raw: wgpu::Buffer,
    pub(super) count: usize,
    pool: Pool,
    kind: PhantomData<fn() -> T>,
}

impl<T> Buffer<T> {
    pub(super) fn new(raw: wgpu::Buffer, count: usize, pool: Pool) -> Self {
        Self {
            raw,
            count,
            pool,
            kind: PhantomData,
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn bytes(&self) -> u64 {
        self.raw.size()
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.pool.put(self.raw.clone());
    }
}

/// A buffer as kernels take it, whatever its type.
pub trait Bound {
    fn raw(&self) -> &wgpu::Buffer;
}

impl<T> Bound for Buffer<T> {
    fn raw(&self) -> &wgpu::Buffer {
        &self.raw
    }
}
