//! Copies between host and card, and the time things take there.

use super::device::Session;
use super::error::CudaError;
use super::memory::Buffer;
use crate::geometry::Volume;
use bytemuck::Pod;
use cudarc::driver::{CudaEvent, DriverError, PinnedHostSlice, result, sys::CUevent_flags};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Copies pass through page-locked memory in pieces of this many bytes: those of an upload are sent as they are filled, those of a
/// download copied out as they arrive.
const PIECE_BYTES: usize = 1 << 20;
/// As many bytes of page-locked memory as a download is given at most; a larger one takes turns. Taking it costs half a
/// ms for each MiB, once.
const MOST_LANDING_BYTES: usize = 32 << 20;
/// ... and at least, so that it is seldom taken anew.
const LEAST_LANDING_BYTES: usize = 4 << 20;

/// An upload is seen in parts of this many bytes: 64 Ki values of four.
const SEEN_BYTES: usize = 1 << 18;
/// An upload of this many bytes goes through page-locked memory, too.
const STAGED_BYTES: usize = 2 << 20;

/// A copy on the card, and what was said of its pieces where it was made just now.
type Seen<T, S> = (Arc<Buffer<T>>, Option<Vec<S>>);

/// Page-locked host memory that copies pass through, kept.
pub(super) struct Landing {
    memory: PinnedHostSlice<u8>,
    /// When what was last put into each piece has been sent.
    sent: Vec<Option<CudaEvent>>,
}

pub(super) type Staging = Option<Landing>;

/// No system's pages are smaller.
const PAGE_BYTES: usize = 4096;
/// Large pages of x86-64, and of most arm64.
const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Zeros whose pages the system has already given, in large ones where it has them: found one by one at the first write,
/// small pages take several times as long as the copy from the card.
fn ready_pages<T: Pod + Send>(count: usize) -> Vec<T> {
    let mut values = vec![T::zeroed(); count];
    ask_for_large_pages(bytemuck::cast_slice_mut(&mut values));
    let touch = |part: &mut [T]| {
        let step = (PAGE_BYTES / size_of::<T>().max(1)).max(1);
        part.iter_mut().step_by(step).for_each(|value| *value = T::zeroed());
    };
    values.par_chunks_mut((LARGE_PAGE_BYTES / size_of::<T>().max(1)).max(1)).for_each(touch);
    values
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "madvise, a hint that changes no memory")]
fn ask_for_large_pages(bytes: &mut [u8]) {
    let skip = bytes.as_ptr().align_offset(LARGE_PAGE_BYTES);
    let Some(whole) = bytes.get_mut(skip..) else { return };
    let len = whole.len() / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
    if len > 0 {
        // SAFETY: whole pages within a slice that is ours; the advice neither reads nor writes them. Where the system
        // does not take it nothing is lost but time.
        let _ = unsafe { libc::madvise(whole.as_mut_ptr().cast(), len, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: &mut [u8]) {}

impl Session<'_> {
    /// The values of a volume on the card, copied there once for its identity.
    ///
    /// # Errors
    /// No memory; what the driver says.
    pub fn uploaded<T: Pod>(&mut self, volume: &Volume<T>) -> Result<Arc<Buffer<T>>, CudaError> {
        self.kept((volume.id(), "the volume"), |session| session.upload(volume.data()))
    }

    /// As [`Self::uploaded`]; what `see` says of every 256 KiB of it as they pass, where they do.
    ///
    /// # Errors
    /// No memory; what the driver says.
    pub fn uploaded_seen<T: Pod, S: Send>(
        &mut self,
        volume: &Volume<T>,
        see: impl Fn(&[T]) -> S + Sync,
    ) -> Result<Seen<T, S>, CudaError> {
        let mut seen = None;
        let buffer = self.kept((volume.id(), "the volume"), |session| {
            let buffer = session.alloc(volume.data().len())?;
            let bytes: &[u8] = bytemuck::cast_slice(volume.data());
            seen = Some(session.write_staged(&buffer, bytes, &|piece| see(bytemuck::cast_slice(piece)))?);
            Ok(buffer)
        })?;
        Ok((buffer, seen))
    }

    /// A copy of `values` on the card.
    ///
    /// # Errors
    /// No memory; what the driver says.
    pub fn upload<T: Pod>(&mut self, values: &[T]) -> Result<Buffer<T>, CudaError> {
        let buffer = self.alloc(values.len())?;
        self.write(&buffer, values)?;
        Ok(buffer)
    }

    /// Overwrites the beginning of a buffer.
    ///
    /// # Errors
    /// More values than it holds; what the driver says.
    #[expect(unsafe_code, reason = "cuMemcpyHtoDAsync into a buffer whose size is checked")]
    pub fn write<T: Pod>(&mut self, buffer: &Buffer<T>, values: &[T]) -> Result<(), CudaError> {
        self.check_len(values.len(), buffer.count())?;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if bytes.len() >= STAGED_BYTES {
            return self.write_staged(buffer, bytes, &|_| ()).map(|_| ());
        }
        let bound = self.context().bind_to_thread();
        let stream = self.stream().cu_stream();
        // SAFETY: the buffer holds at least as many values; the driver copies pageable memory before it returns.
        bound
            .and_then(|()| unsafe { result::memcpy_htod_async(buffer.address(), values, stream) })
            .map_err(self.failed("copying to it"))
    }

    /// Overwrites a buffer, which has room for all, by way of page-locked memory; says what was seen of each piece.
    fn write_staged<T, S: Send>(
        &mut self,
        buffer: &Buffer<T>,
        bytes: &[u8],
        see: &(impl Fn(&[u8]) -> S + Sync),
    ) -> Result<Vec<S>, CudaError> {
        let mut landing = self.landing(bytes.len())?;
        let done = self.write_pieces(buffer.address(), bytes, &mut landing, see);
        *self.staging() = Some(landing);
        done
    }

    /// Copies to an address on the card, which has room for all, by way of the landing: each thread fills a piece, sends it and goes
    /// on to the next, and waits for none but who was in its piece before. What was sent may still be on its way on return. The
    /// driver's own copy of pageable memory is that of one thread.
    #[expect(unsafe_code, reason = "cuMemcpyHtoDAsync from page-locked memory, filled again after its event")]
    fn write_pieces<S: Send>(
        &mut self,
        to: u64,
        bytes: &[u8],
        landing: &mut Landing,
        see: &(impl Fn(&[u8]) -> S + Sync),
    ) -> Result<Vec<S>, CudaError> {
        let (context, stream) = (self.context().clone(), self.stream().clone());
        let memory = landing.memory.as_mut_slice().map_err(self.failed("copying to it"))?;
        let rooms = memory.chunks_mut(PIECE_BYTES).zip(&mut landing.sent).map(Mutex::new);
        let rooms: Vec<Mutex<(&mut [u8], &mut Option<CudaEvent>)>> = rooms.collect();
        let send = |(n, piece): (usize, &[u8])| {
            let mut room = rooms[n % rooms.len()].lock().unwrap_or_else(PoisonError::into_inner);
            let (room, sent) = &mut *room;
            context.bind_to_thread()?;
            if let Some(before) = sent.take() {
                before.synchronize()?;
            }
            let room = &mut room[..piece.len()];
            let parts = room.chunks_mut(SEEN_BYTES).zip(piece.chunks(SEEN_BYTES));
            let seen: Vec<S> = parts
                .map(|(room, part)| {
                    room.copy_from_slice(part);
                    see(part)
                })
                .collect();
            let to = to + (n * PIECE_BYTES) as u64;
            // SAFETY: the caller's buffer holds all the bytes; the room is not written again before the event that follows has
            // come, and page-locked memory is given back only when nothing is on its way from it.
            unsafe { result::memcpy_htod_async(to, room, stream.cu_stream()) }?;
            **sent = Some(stream.record_event(None)?);
            Ok(seen)
        };
        let seen: Result<Vec<Vec<S>>, DriverError> =
            bytes.par_chunks(PIECE_BYTES).enumerate().with_max_len(1).map(send).collect();
        Ok(seen.map_err(self.failed("copying to it"))?.into_iter().flatten().collect())
    }

    /// Sets every byte of a buffer.
    ///
    /// # Errors
    /// What the driver says.
    #[expect(unsafe_code, reason = "cuMemsetD8Async over the whole of a buffer")]
    pub fn fill<T: Pod>(&mut self, buffer: &Buffer<T>, byte: u8) -> Result<(), CudaError> {
        let bound = self.context().bind_to_thread();
        let stream = self.stream().cu_stream();
        // SAFETY: the buffer has that many bytes, and any bits are a value of a plain type.
        bound
            .and_then(|()| unsafe { result::memset_d8_async(buffer.address(), byte, buffer.bytes(), stream) })
            .map_err(self.failed("filling memory"))
    }

    /// Copies one buffer over another of the same length, on the card.
    ///
    /// # Errors
    /// Other lengths; what the driver says.
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

    /// The values of a buffer, once everything queued before is done.
    ///
    /// # Errors
    /// What the driver says, also of what was queued before.
    pub fn download<T: Pod + Send + Sync>(&mut self, buffer: &Buffer<T>) -> Result<Vec<T>, CudaError> {
        // While the card still works.
        let mut values = ready_pages(buffer.count());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        let mut landing = self.landing(bytes.len())?;
        let done = self.read_turns(buffer.address(), bytes, &mut landing);
        *self.staging() = Some(landing);
        done.map(|()| values)
    }

    /// The page-locked memory kept, or new where it is too small.
    fn landing(&mut self, bytes: usize) -> Result<Landing, CudaError> {
        let wanted = bytes.next_power_of_two().clamp(LEAST_LANDING_BYTES, MOST_LANDING_BYTES);
        match self.staging().take() {
            Some(kept) if kept.memory.num_bytes() >= wanted => Ok(kept),
            _ => {
                // Nothing is on its way from the memory that this takes the place of.
                self.wait()?;
                let sent = std::iter::repeat_with(|| None).take(wanted / PIECE_BYTES).collect();
                Ok(Landing { memory: self.pinned(wanted)?, sent })
            }
        }
    }

    #[expect(
        unsafe_code,
        reason = "page-locked memory comes unset; it is only read where a copy has written it"
    )]
    fn pinned(&self, bytes: usize) -> Result<PinnedHostSlice<u8>, CudaError> {
        // SAFETY: only bytes that a copy from the card has written are read.
        unsafe { self.context().alloc_pinned_with_flags(bytes, 0) }
            .map_err(self.failed("taking page-locked host memory"))
    }

    /// Copies from an address on the card through the halves of the landing in turn: all threads empty one while the other is
    /// being filled.
    #[expect(unsafe_code, reason = "cuMemcpyDtoHAsync into page-locked memory, read after its events")]
    fn read_turns(&mut self, mut from: u64, out: &mut [u8], landing: &mut Landing) -> Result<(), CudaError> {
        let stream = self.stream().clone();
        let half = landing.memory.num_bytes() / 2;
        let (first, second) =
            landing.memory.as_mut_slice().map_err(self.failed("copying from it"))?.split_at_mut(half);
        let halves = [first, second];
        let mut on_its_way: Option<(&mut [u8], Vec<CudaEvent>)> = None;
        let mut parts = out.chunks_mut(half);
        for n in 0.. {
            let part = parts.next();
            let mut arrivals = Vec::new();
            if let Some(part) = &part {
                for piece in halves[n % 2][..part.len()].chunks_mut(PIECE_BYTES) {
                    // SAFETY: the caller's buffer holds the piece; it is read only after the event that follows the copy,
                    // and the half was emptied in the turn before the last.
                    unsafe { result::memcpy_dtoh_async(piece, from, stream.cu_stream()) }
                        .map_err(self.failed("copying from it"))?;
                    from += piece.len() as u64;
                    arrivals.push(self.event()?);
                }
            }
            if let Some((part, arrivals)) = on_its_way.take() {
                // One thread waits for what was queued before, then all take what has arrived.
                if let Some(first) = arrivals.first() {
                    first.synchronize().map_err(self.failed("working"))?;
                }
                let landed = &halves[(n + 1) % 2][..part.len()];
                let pieces = part.par_chunks_mut(PIECE_BYTES).zip(landed.par_chunks(PIECE_BYTES));
                let copied = pieces.zip(&arrivals).try_for_each(|((out, piece), arrived)| {
                    arrived.synchronize()?;
                    out.copy_from_slice(piece);
                    Ok(())
                });
                copied.map_err(self.failed("working"))?;
            }
            match part {
                Some(part) => on_its_way = Some((part, arrivals)),
                None => break,
            }
        }
        Ok(())
    }

    /// Waits for everything queued.
    ///
    /// # Errors
    /// What the driver says of it.
    pub fn wait(&mut self) -> Result<(), CudaError> {
        self.stream().synchronize().map_err(self.failed("working"))
    }

    fn check_len(&self, asked: usize, most: usize) -> Result<(), CudaError> {
        if asked <= most {
            return Ok(());
        }
        Err(CudaError::TooLarge { what: format!("a copy of {asked} values"), most: most.to_string() })
    }

    fn event(&self) -> Result<CudaEvent, CudaError> {
        self.stream().record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(self.failed("timing"))
    }

    /// What is queued so far, to be waited for later.
    ///
    /// # Errors
    /// What the driver says.
    pub fn milestone(&self) -> Result<Milestone, CudaError> {
        Ok(Milestone { device: self.device.card().to_string(), event: self.event()? })
    }

    /// A clock that starts when what is queued is done.
    ///
    /// # Errors
    /// What the driver says.
    pub fn clock(&self) -> Result<Clock, CudaError> {
        Ok(Clock { start: self.event()?, marks: Vec::new() })
    }
}

/// A place in a card's queue.
pub struct Milestone {
    device: String,
    event: CudaEvent,
}

impl Milestone {
    /// Waits until the card has come so far; needs no session.
    ///
    /// # Errors
    /// What the driver says of the work before it.
    pub fn wait(self) -> Result<(), CudaError> {
        self.event.synchronize().map_err(|e| CudaError::failed(&self.device, "working", e))
    }
}

/// Times on the card between marks, by its own events.
pub struct Clock {
    start: CudaEvent,
    marks: Vec<(String, CudaEvent)>,
}

impl Clock {
    /// Ends a phase here in the queue.
    ///
    /// # Errors
    /// What the driver says.
    pub fn mark(&mut self, session: &Session<'_>, phase: &str) -> Result<(), CudaError> {
        self.marks.push((phase.to_owned(), session.event()?));
        Ok(())
    }

    /// Waits for the last mark: the phases and their times in ms.
    ///
    /// # Errors
    /// What the driver says of the work timed.
    pub fn finish(self, session: &Session<'_>) -> Result<Vec<(String, f64)>, CudaError> {
        let mut from = &self.start;
        let mut phases = Vec::with_capacity(self.marks.len());
        for (phase, until) in &self.marks {
            let ms = from.elapsed_ms(until).map_err(session.failed(phase))?;
            phases.push((phase.clone(), f64::from(ms)));
            from = until;
        }
        Ok(phases)
    }
}
