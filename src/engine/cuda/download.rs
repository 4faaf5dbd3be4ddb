//! Copies from a card: into the staging buffer, from which threads copy each part on its arrival, or into a landing, where a copy ends
//! without the lock on the card.

use super::device::{CardLock, Device};
use super::error::CudaError;
use super::memory::Buffer;
use super::pages::HostBuffer;
use super::staging::{LEAST_PART_BYTES, StagingBuffer};
use super::transfer::ReadyEvent;
use crate::in_turn::{Results, in_order};
use bytemuck::Pod;
use cudarc::driver::{CudaEvent, CudaStream, DriverError, PinnedHostSlice, result};
use rayon::prelude::*;
use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

/// Greatest single copy: each costs the bus 2 us.
const MOST_RUN_BYTES: usize = 2 << 20;
/// Parts of a download larger than the staging buffer: in later turns each is a copy by itself.
const TURN_PART_BYTES: usize = 1 << 20;
/// Bytes that are worth waking a thread.
const THREAD_BYTES: usize = 1 << 20;

impl CardLock<'_> {
    /// The values of a buffer, once everything queued before is done.
    pub fn download<T: Pod + Send + Sync>(
        &mut self,
        buffer: &Buffer<T>,
    ) -> Result<Vec<T>, CudaError> {
        Ok(self.download_overlapping(buffer, None, |_| Ok(()))?.0)
    }

    /// As [`Self::download`]. Threads wake at the event `ready`, not only when everything queued is done; `overlap` runs while the copy
    /// is under way.
    pub fn download_overlapping<T: Pod + Send + Sync, R>(
        &mut self,
        buffer: &Buffer<T>,
        ready: Option<ReadyEvent>,
        overlap: impl FnOnce(&Self) -> Result<R, CudaError>,
    ) -> Result<(Vec<T>, R), CudaError> {
        let host = HostBuffer::Later(buffer.count());
        let (values, _, done) = self.read_staged(buffer, host, &|_| (), ready, overlap)?;
        Ok((values, done))
    }

    /// As [`Self::download`], into a host buffer of as many values; with the results of `see` for its parts, in order.
    pub fn download_seen<T: Pod + Send + Sync, S: Send>(
        &mut self,
        buffer: &Buffer<T>,
        host: HostBuffer<T>,
        see: impl Fn(&[T]) -> S + Sync,
    ) -> Result<(Vec<T>, Vec<S>), CudaError> {
        let (values, seen, ()) = self.read_staged(
            buffer,
            host,
            &|piece| see(bytemuck::cast_slice(piece)),
            None,
            |_| Ok(()),
        )?;
        Ok((values, seen))
    }

    fn read_staged<T: Pod + Send + Sync, S: Send, R>(
        &mut self,
        buffer: &Buffer<T>,
        host: HostBuffer<T>,
        see: &(impl Fn(&[u8]) -> S + Sync),
        ready: Option<ReadyEvent>,
        overlap: impl FnOnce(&Self) -> Result<R, CudaError>,
    ) -> Result<(Vec<T>, Vec<S>, R), CudaError> {
        let mut staging = self.staging_buffer(buffer.bytes())?;
        let done = self.read_pieces(buffer, &mut staging, host, see, ready, overlap);
        if done.is_err() {
            // A copy under way would overwrite the buffer's next content; the error that counts is known.
            let _ = self.wait();
        }
        *self.staging() = Some(staging);
        done
    }

    /// Through the staging buffer: copies into its slots are queued behind the work of the card; each thread empties a slot and
    /// queues the slot's next part.
    fn read_pieces<T: Pod + Send + Sync, S: Send, R>(
        &mut self,
        buffer: &Buffer<T>,
        staging: &mut StagingBuffer,
        host: HostBuffer<T>,
        see: &(impl Fn(&[u8]) -> S + Sync),
        ready: Option<ReadyEvent>,
        overlap: impl FnOnce(&Self) -> Result<R, CudaError>,
    ) -> Result<(Vec<T>, Vec<S>, R), CudaError> {
        let stream = self.stream().clone();
        let from = Origin {
            address: buffer.address(),
            bytes: buffer.bytes(),
            stream: &stream,
        };
        let memory = staging
            .memory
            .as_mut_slice()
            .map_err(self.failed("copying from it"))?;
        let part_bytes = if from.bytes > memory.len() {
            TURN_PART_BYTES
        } else {
            LEAST_PART_BYTES
        };
        let count = memory.len() / part_bytes;
        let runs = runs(
            from.bytes.div_ceil(part_bytes).min(count),
            MOST_RUN_BYTES / part_bytes,
        );
        let first_turn = Arrivals::new(
            runs.iter()
                .map(|run| &staging.passed[run.end - 1])
                .collect(),
        );
        for (run, come) in runs.iter().zip(&first_turn.events) {
            let slots = &mut memory[run.start * part_bytes..run.end * part_bytes];
            from.fetch(run.start * part_bytes, slots, come)
                .map_err(self.failed("copying from it"))?;
        }
        let mut values = host.values();
        match ready {
            Some(ready) => ready.wait()?,
            // One thread waits for the work queued before, then all copy.
            None if !runs.is_empty() => first_turn.wait_for(0).map_err(self.failed("working"))?,
            None => (),
        }
        let mut parts: Vec<Vec<(usize, &mut [u8])>> = (0..count).map(|_| Vec::new()).collect();
        let out: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        out.chunks_mut(part_bytes)
            .enumerate()
            .for_each(|(n, part)| parts[n % count].push((n * part_bytes, part)));
        let run_of = runs
            .iter()
            .enumerate()
            .flat_map(|(n, run)| run.clone().map(move |_| n));
        let slots = memory
            .chunks_mut(part_bytes)
            .zip(run_of)
            .zip(&staging.passed)
            .zip(parts);
        let mut slots: Vec<Taking> = slots
            .map(|(((slot, run), come), parts)| Taking {
                slot,
                run,
                come,
                parts,
            })
            .collect();

        // The last slot is this thread's own: when it has arrived, the others are nearly empty.
        let last_slot = slots.pop();
        let helpers = rayon::current_num_threads()
            .min(from.bytes / THREAD_BYTES)
            .min(slots.len());
        let slots = Mutex::new(slots.into_iter());
        let next = || slots.lock().unwrap_or_else(PoisonError::into_inner).next();
        let mut results: Vec<_> = (0..helpers).map(|_| Ok(Vec::new())).collect();
        let (overlapped, of_this_thread) = rayon::in_place_scope(|scope| {
            let (next, from, first_turn) = (&next, &from, &first_turn);
            for results in &mut results {
                scope.spawn(move |_| *results = take(iter::from_fn(next), from, first_turn, see));
            }
            (
                overlap(self),
                take(
                    last_slot.into_iter().chain(iter::from_fn(next)),
                    from,
                    first_turn,
                    see,
                ),
            )
        });
        let results: Result<Vec<Results<S>>, DriverError> =
            results.into_iter().chain([of_this_thread]).collect();
        let seen = in_order(results.map_err(self.failed("working"))?).collect();
        Ok((values, seen, overlapped?))
    }
}

impl<'a> CardLock<'a> {
    /// Begins a copy of a buffer behind the work queued so far; it goes beside what is queued later, and ends without the lock. Copies
    /// for which there is no landing are made at once.
    pub fn begin_download<T: Pod + Send + Sync>(
        &mut self,
        buffer: &Buffer<T>,
    ) -> Result<Download<'a, T>, CudaError> {
        let Some(mut landing) = self.landing(buffer.bytes())? else {
            return Ok(Download::There(self.download(buffer)?));
        };
        let come = self
            .queue_copy(buffer, &mut landing)
            .map_err(self.failed("copying from it"))?;
        let buffer = buffer.clone();
        Ok(Download::Coming(Coming {
            device: self.device,
            buffer,
            landing: Some(landing),
            come,
        }))
    }

    /// Queues a copy of a buffer into a landing behind the work queued so far; the event after which the landing is read.
    #[expect(
        unsafe_code,
        reason = "cuMemcpyDtoHAsync into page-locked memory, read after its event"
    )]
    fn queue_copy<T: Pod>(
        &self,
        buffer: &Buffer<T>,
        landing: &mut PinnedHostSlice<u8>,
    ) -> Result<CudaEvent, DriverError> {
        let copies = self.copies();
        self.context().bind_to_thread()?;
        let work = self.stream().record_event(None)?;
        copies.wait(&work)?;
        let (to, from) = (landing.as_mut_slice()?, buffer.address());
        // SAFETY: the buffer, which the download holds until the event has come, has so much, and so has the landing.
        unsafe { result::memcpy_dtoh_async(&mut to[..buffer.bytes()], from, copies.cu_stream()) }?;
        copies.record_event(None)
    }
}

/// A copy from a card that ends without the lock on it.
pub enum Download<'a, T> {
    There(Vec<T>),
    Coming(Coming<'a, T>),
}

impl<T: Pod + Send + Sync> Download<'_, T> {
    /// The values, once they have come.
    ///
    /// # Errors
    /// [`CudaError`] of the work before the copy, and of the copy.
    pub fn end(self) -> Result<Vec<T>, CudaError> {
        match self {
            Self::There(values) => Ok(values),
            Self::Coming(coming) => coming.values(),
        }
    }
}

/// A copy that is under way. Neither its buffer nor where it lands is anybody else's before it has come.
pub struct Coming<'a, T> {
    device: &'a Device,
    buffer: Buffer<T>,
    landing: Option<PinnedHostSlice<u8>>,
    come: CudaEvent,
}

impl<T: Pod + Send + Sync> Coming<'_, T> {
    fn values(self) -> Result<Vec<T>, CudaError> {
        let failed =
            |error| CudaError::failed(&self.device.card().to_string(), "copying from it", error);
        let mut values = HostBuffer::Later(self.buffer.count()).values();
        self.come.synchronize().map_err(failed)?;
        if let Some(landing) = &self.landing {
            let from = &landing.as_slice().map_err(failed)?[..self.buffer.bytes()];
            let to = bytemuck::cast_slice_mut(&mut values).par_chunks_mut(THREAD_BYTES);
            to.zip(from.par_chunks(THREAD_BYTES))
                .for_each(|(to, from)| to.copy_from_slice(from));
        }
        Ok(values)
    }
}

impl<T> Drop for Coming<'_, T> {
    fn drop(&mut self) {
        // A landing is kept once nothing is on its way to it; one whose copy failed is left to the driver.
        if self.come.synchronize().is_ok()
            && let Some(landing) = self.landing.take()
        {
            self.device.landings().keep(landing);
        }
    }
}

/// Source of a download.
struct Origin<'a> {
    address: u64,
    bytes: usize,
    stream: &'a CudaStream,
}

impl Origin<'_> {
    /// Queues a copy from byte `offset` on into slots of the staging buffer, and records its arrival.
    #[expect(
        unsafe_code,
        reason = "cuMemcpyDtoHAsync into page-locked memory, read after its events"
    )]
    fn fetch(&self, offset: usize, slots: &mut [u8], come: &CudaEvent) -> Result<(), DriverError> {
        let len = slots.len().min(self.bytes - offset);
        // Threads of the pool may have worked for another card.
        self.stream.context().bind_to_thread()?;
        // SAFETY: the buffer, which the caller holds, has so much; the slots are read only after the event that follows the
        // copy, and their previous contents have been copied.
        unsafe {
            result::memcpy_dtoh_async(
                &mut slots[..len],
                self.address + offset as u64,
                self.stream.cu_stream(),
            )
        }?;
        come.record(self.stream)
    }
}

/// A slot of the staging buffer in a download, and the parts that pass through it, turn by turn.
struct Taking<'a> {
    slot: &'a mut [u8],
    /// Copy with which the first turn's part arrives.
    run: usize,
    /// Arrival of the parts of later turns.
    come: &'a CudaEvent,
    /// Each part's first byte, and its place in host memory.
    parts: Vec<(usize, &'a mut [u8])>,
}

/// For some slots, turn by turn: waits for the part, copies it on, queues the next, and notes the result of `see`.
fn take<'a, S>(
    slots: impl Iterator<Item = Taking<'a>>,
    from: &Origin<'_>,
    first_turn: &Arrivals<'_>,
    see: &impl Fn(&[u8]) -> S,
) -> Result<Results<S>, DriverError> {
    let mut seen = Vec::new();
    for Taking {
        slot,
        run,
        come,
        parts,
    } in slots
    {
        first_turn.wait_for(run)?;
        let mut parts = parts.into_iter().peekable();
        while let Some((part_offset, part)) = parts.next() {
            part.copy_from_slice(&slot[..part.len()]);
            let next = parts
                .peek()
                .map(|(offset, _)| from.fetch(*offset, slot, come));
            seen.push((part_offset, see(part)));
            if let Some(queued) = next {
                queued?;
                come.synchronize()?;
            }
        }
    }
    Ok(seen)
}

/// Events in order that many threads wait for: one of them asks the driver, which serves one at a time, the others read its answer.
struct Arrivals<'a> {
    events: Vec<&'a CudaEvent>,
    come: AtomicUsize,
    asking: Mutex<()>,
}

impl<'a> Arrivals<'a> {
    fn new(events: Vec<&'a CudaEvent>) -> Self {
        Self {
            events,
            come: AtomicUsize::new(0),
            asking: Mutex::new(()),
        }
    }

    /// Waits for the event of this number.
    fn wait_for(&self, n: usize) -> Result<(), DriverError> {
        while self.come.load(Ordering::Acquire) <= n {
            let _asking = match self.asking.try_lock() {
                Ok(asking) => asking,
                Err(TryLockError::Poisoned(asking)) => asking.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    std::thread::yield_now();
                    continue;
                }
            };
            let next = self.come.load(Ordering::Acquire);
            if next <= n {
                self.events[next].synchronize()?;
                self.come.store(next + 1, Ordering::Release);
            }
        }
        Ok(())
    }
}

/// Parts of a download that are one copy: one at first, so that threads begin early; then ever more, since each copy costs the bus a
/// start; fewer again at the end, so that little is left to do when the last has arrived.
fn runs(parts: usize, longest: usize) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut next, mut run_limit) = (0, 1);
    while next < parts {
        let run = (parts - next).div_ceil(2).min(run_limit);
        runs.push(next..next + run);
        next += run;
        run_limit = (2 * run_limit).min(longest);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every part comes once, in order, in copies that are not too long; the first and the last are short.
    #[test]
    fn runs_bring_every_part_once() {
        for (parts, longest) in (0..300).flat_map(|parts| [1, 2, 8].map(|longest| (parts, longest)))
        {
            let runs = runs(parts, longest);
            let parts_in_order: Vec<usize> = runs.iter().flat_map(Clone::clone).collect();
            assert_eq!(parts_in_order, (0..parts).collect::<Vec<_>>());
            assert!(
                runs.iter()
                    .all(|run| !run.is_empty() && run.len() <= longest),
                "{runs:?}"
            );
            assert!(
                [runs.first(), runs.last()]
                    .into_iter()
                    .flatten()
                    .all(|run| run.len() == 1),
                "{runs:?}"
            );
        }
        assert!(runs(128, 8).len() < 24, "most are long");
    }
}
