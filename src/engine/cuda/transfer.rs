//! Copies to a card and on it, events, and times by them.

use super::device::CardLock;
use super::error::CudaError;
use super::memory::Buffer;
use super::staging::StagingBuffer;
use crate::in_turn::{Results, in_order};
use bytemuck::Pod;
use cudarc::driver::{CudaEvent, DriverError, result, sys::CUevent_flags};
use geometry::Volume;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Uploads pass through the staging buffer in pieces of this many bytes, each copied when it is filled.
// A call of gamma takes 5.5 ms with pieces of 1 MiB, 6.0 with 512 KiB and 6.2 with 2 MiB.
const PIECE_BYTES: usize = 1 << 20;
/// Parts in which `see` receives an upload: 64 Ki values of four bytes.
const SEEN_BYTES: usize = 1 << 18;
/// Uploads of this many bytes and more go through pinned memory.
const STAGED_BYTES: usize = 2 << 20;

/// The name of a volume's copy in the card's cache.
const VOLUME: &str = "the volume";

impl CardLock<'_> {
    /// The values of a volume on the card, copied there once for its identity.
    pub fn uploaded<T: Pod>(&mut self, volume: &Volume<T>) -> Result<Arc<Buffer<T>>, CudaError> {
        self.cached((volume.id(), VOLUME), |card| card.upload(volume.data()))
    }

    /// Has a buffer stand for a volume, whose values it holds.
    pub(crate) fn keep<T: Pod>(&mut self, volume: &Volume<T>, buffer: Buffer<T>) {
        self.cache_item((volume.id(), VOLUME), Arc::new(buffer));
    }

    /// Takes the copy of a volume out of the cache, or copies the volume to the card.
    pub(crate) fn taken<T: Pod>(
        &mut self,
        volume: &Volume<T>,
    ) -> Result<Arc<Buffer<T>>, CudaError> {
        match self.take_cached((volume.id(), VOLUME)) {
            Some(buffer) => Ok(buffer),
            None => self.upload(volume.data()).map(Arc::new),
        }
    }

    /// Copies volumes to the card that it does not hold, as [`Self::uploaded`] does: their numbers in the list, and what `see` says of
    /// every 256 KiB of them as they pass.
    pub fn upload_seen<T: Pod, S: Send>(
        &mut self,
        volumes: &[&Volume<T>],
        see: impl Fn(&[T]) -> S + Sync,
    ) -> Result<Vec<(usize, Vec<S>)>, CudaError> {
        let mut new: Vec<(usize, Arc<Buffer<T>>)> = Vec::new();
        let mut pieces = Vec::new();
        for (n, volume) in volumes.iter().enumerate() {
            let twice = volumes[..n].iter().any(|other| other.id() == volume.id());
            if twice || self.holds(volume) {
                continue;
            }
            let buffer = self.alloc(volume.data().len())?;
            pieces.extend(pieces_of(
                buffer.address(),
                bytemuck::cast_slice(volume.data()),
            ));
            new.push((n, Arc::new(buffer)));
        }
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let mut seen = self
            .write_staged(&pieces, &|piece| see(bytemuck::cast_slice(piece)))?
            .into_iter();
        let mut results = Vec::new();
        for (n, buffer) in new {
            let parts = buffer.bytes().div_ceil(SEEN_BYTES);
            results.push((n, seen.by_ref().take(parts).collect()));
            self.cache_item((volumes[n].id(), VOLUME), buffer);
        }
        Ok(results)
    }

    /// Whether the card has a copy of a volume.
    pub fn holds<T: Pod>(&mut self, volume: &Volume<T>) -> bool {
        self.find_cached::<Buffer<T>>((volume.id(), VOLUME))
            .is_some()
    }

    /// A copy of `values` on the card.
    pub fn upload<T: Pod>(&mut self, values: &[T]) -> Result<Buffer<T>, CudaError> {
        let buffer = self.alloc(values.len())?;
        self.write(&buffer, values)?;
        Ok(buffer)
    }

    /// Overwrites the beginning of a buffer.
    #[expect(
        unsafe_code,
        reason = "cuMemcpyHtoDAsync into a buffer whose size is checked"
    )]
    pub fn write<T: Pod>(&mut self, buffer: &Buffer<T>, values: &[T]) -> Result<(), CudaError> {
        self.check_len(values.len(), buffer.count())?;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if bytes.len() >= STAGED_BYTES {
            let pieces: Vec<_> = pieces_of(buffer.address(), bytes).collect();
            return self.write_staged(&pieces, &|_| ()).map(|_| ());
        }
        let bound = self.context().bind_to_thread();
        let stream = self.stream().cu_stream();
        // SAFETY: the buffer holds at least as many values; the driver copies pageable memory before it returns.
        bound
            .and_then(|()| unsafe { result::memcpy_htod_async(buffer.address(), values, stream) })
            .map_err(self.failed("copying to it"))
    }

    /// Copies pieces to addresses on the card, each within a buffer, through pinned memory; returns the results of `see` for their parts.
    fn write_staged<S: Send>(
        &mut self,
        pieces: &[(u64, &[u8])],
        see: &(impl Fn(&[u8]) -> S + Sync),
    ) -> Result<Vec<S>, CudaError> {
        let mut staging = self.staging_buffer(pieces.iter().map(|(_, bytes)| bytes.len()).sum())?;
        let done = self.write_pieces(pieces, &mut staging, see);
        *self.staging() = Some(staging);
        done
    }

    /// Through the staging buffer: each thread fills the next slot and queues its copy, waiting only for that slot's last copy. Copies may
    /// be under way on return. The driver's own copy of pageable memory uses one thread.
    #[expect(
        unsafe_code,
        reason = "cuMemcpyHtoDAsync from page-locked memory, filled again after its event"
    )]
    fn write_pieces<S: Send>(
        &mut self,
        pieces: &[(u64, &[u8])],
        staging: &mut StagingBuffer,
        see: &(impl Fn(&[u8]) -> S + Sync),
    ) -> Result<Vec<S>, CudaError> {
        let (context, stream) = (self.context().clone(), self.stream().clone());
        let memory = staging
            .memory
            .as_mut_slice()
            .map_err(self.failed("copying to it"))?;
        let slots: Vec<_> = memory
            .chunks_mut(PIECE_BYTES)
            .zip(&staging.passed)
            .map(Mutex::new)
            .collect();
        let copy = |n: usize, (to, piece): (u64, &[u8])| {
            let mut slot = slots[n % slots.len()]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let (slot, copied) = &mut *slot;
            copied.synchronize()?;
            let slot = &mut slot[..piece.len()];
            let parts = slot.chunks_mut(SEEN_BYTES).zip(piece.chunks(SEEN_BYTES));
            let seen: Vec<S> = parts
                .map(|(slot, part)| {
                    slot.copy_from_slice(part);
                    see(part)
                })
                .collect();
            // SAFETY: the caller's buffer holds the piece; the slot is not written again before the event that follows has
            // come, and page-locked memory is given back only when nothing is on its way from it.
            unsafe { result::memcpy_htod_async(to, slot, stream.cu_stream()) }?;
            copied.record(&stream)?;
            Ok(seen)
        };
        let next = AtomicUsize::new(0);
        let threads = rayon::current_num_threads().min(pieces.len());
        let seen: Result<Vec<Results<Vec<S>>>, DriverError> = (0..threads)
            .into_par_iter()
            .with_max_len(1)
            .map(|_| {
                context.bind_to_thread()?;
                let mut seen = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(piece) = pieces.get(n) else {
                        return Ok(seen);
                    };
                    seen.push((n, copy(n, *piece)?));
                }
            })
            .collect();
        Ok(in_order(seen.map_err(self.failed("copying to it"))?)
            .flatten()
            .collect())
    }

    /// Sets every byte of a buffer.
    #[expect(unsafe_code, reason = "cuMemsetD8Async over the whole of a buffer")]
    pub fn fill<T: Pod>(&mut self, buffer: &Buffer<T>, byte: u8) -> Result<(), CudaError> {
        let bound = self.context().bind_to_thread();
        let stream = self.stream().cu_stream();
        // SAFETY: the buffer has that many bytes, and any bits are a value of a plain type.
        bound
            .and_then(|()| unsafe {
                result::memset_d8_async(buffer.address(), byte, buffer.bytes(), stream)
            })
            .map_err(self.failed("filling memory"))
    }

    /// Copies one buffer over another of the same length, on the card.
    #[expect(unsafe_code, reason = "cuMemcpyDtoDAsync between buffers of one size")]
    pub fn copy<T: Pod>(&mut self, from: &Buffer<T>, to: &Buffer<T>) -> Result<(), CudaError> {
        self.check_len(from.count(), to.count())?;
        let bound = self.context().bind_to_thread();
        let stream = self.stream().cu_stream();
        let (from, to, bytes) = (from.address(), to.address(), from.bytes());
        // SAFETY: both buffers have that many bytes.
        bound
            .and_then(|()| unsafe { result::memcpy_dtod_async(to, from, bytes, stream) })
            .map_err(self.failed("copying on it"))
    }

    /// Waits for everything queued.
    pub fn wait(&mut self) -> Result<(), CudaError> {
        self.stream().synchronize().map_err(self.failed("working"))
    }

    fn check_len(&self, count: usize, capacity: usize) -> Result<(), CudaError> {
        if count <= capacity {
            return Ok(());
        }
        Err(CudaError::TooLarge {
            what: format!("a copy of {count} values"),
            most: capacity.to_string(),
        })
    }

    fn event(&self) -> Result<CudaEvent, CudaError> {
        self.stream()
            .record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
            .map_err(self.failed("timing"))
    }

    /// Records an event behind everything queued so far.
    pub fn ready_event(&self) -> Result<ReadyEvent, CudaError> {
        Ok(ReadyEvent {
            device: self.device.card().to_string(),
            event: self.event()?,
        })
    }

    /// A clock that starts behind the work queued so far.
    pub fn clock(&self) -> Result<Clock, CudaError> {
        Ok(Clock {
            start: self.event()?,
            marks: Vec::new(),
        })
    }
}

/// The pieces of a copy to an address on the card.
fn pieces_of(to: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    bytes
        .chunks(PIECE_BYTES)
        .enumerate()
        .map(move |(n, piece)| (to + (n * PIECE_BYTES) as u64, piece))
}

/// An event in a card's queue.
pub struct ReadyEvent {
    device: String,
    event: CudaEvent,
}

impl ReadyEvent {
    /// Waits for the event; needs no lock on the card.
    pub fn wait(self) -> Result<(), CudaError> {
        self.event
            .synchronize()
            .map_err(|e| CudaError::failed(&self.device, "working", e))
    }
}

/// Times on the card between marks, by its own events.
pub struct Clock {
    start: CudaEvent,
    marks: Vec<(String, CudaEvent)>,
}

impl Clock {
    /// Ends a phase here in the queue.
    pub fn mark(&mut self, card: &CardLock<'_>, phase: &str) -> Result<(), CudaError> {
        self.marks.push((phase.to_owned(), card.event()?));
        Ok(())
    }

    /// Waits for the last mark: the phases and their times in ms.
    pub fn finish(self, card: &CardLock<'_>) -> Result<Vec<(String, f64)>, CudaError> {
        let mut from = &self.start;
        let mut phases = Vec::with_capacity(self.marks.len());
        for (phase, until) in &self.marks {
            let ms = from.elapsed_ms(until).map_err(card.failed(phase))?;
            phases.push((phase.clone(), f64::from(ms)));
            from = until;
        }
        Ok(phases)
    }
}
