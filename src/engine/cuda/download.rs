//! Copies from a card: they come into the landing, and threads take them out as they come.

use super::device::CardLock;
use super::error::CudaError;
use super::memory::Buffer;
use super::pages::HostBuffer;
use super::staging::{LEAST_PART_BYTES, Said, StagingBuffer, in_order};
use super::transfer::Milestone;
use bytemuck::Pod;
use cudarc::driver::{CudaEvent, CudaStream, DriverError, result};
use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

/// What comes as one copy at most: each costs the bus 2 us.
const MOST_RUN_BYTES: usize = 2 << 20;
/// A download that the landing has no room for is taken out in parts of this many bytes, as those of later turns are copies by themselves.
const TURN_PART_BYTES: usize = 1 << 20;
/// What a thread is worth waking for.
const THREAD_BYTES: usize = 1 << 20;

impl CardLock<'_> {
    /// The values of a buffer, once everything queued before is done.
    ///
    /// # Errors
    /// What the driver says, also of what was queued before.
    pub fn download<T: Pod + Send + Sync>(&mut self, buffer: &Buffer<T>) -> Result<Vec<T>, CudaError> {
        Ok(self.download_meanwhile(buffer, None, |_| Ok(()))?.0)
    }

    /// As [`Self::download`]. Threads are woken to take what comes when the card has come to `soon`, not only when it is through; what is
    /// done `meanwhile` is done while it comes.
    ///
    /// # Errors
    /// What the driver says, also of what was queued before; those of `meanwhile`.
    pub fn download_meanwhile<T: Pod + Send + Sync, R>(
        &mut self,
        buffer: &Buffer<T>,
        soon: Option<Milestone>,
        meanwhile: impl FnOnce(&Self) -> Result<R, CudaError>,
    ) -> Result<(Vec<T>, R), CudaError> {
        let room = HostBuffer::Later(buffer.count());
        let (values, _, done) = self.read_staged(buffer, room, &|_| (), soon, meanwhile)?;
        Ok((values, done))
    }

    /// As [`Self::download`], into a room for as many values; what `see` says of its parts as they come, in their order.
    ///
    /// # Errors
    /// What the driver says, also of what was queued before.
    pub fn download_seen<T: Pod + Send + Sync, S: Send>(
        &mut self,
        buffer: &Buffer<T>,
        room: HostBuffer<T>,
        see: impl Fn(&[T]) -> S + Sync,
    ) -> Result<(Vec<T>, Vec<S>), CudaError> {
        let see = |piece: &[u8]| see(bytemuck::cast_slice(piece));
        let (values, seen, ()) = self.read_staged(buffer, room, &see, None, |_| Ok(()))?;
        Ok((values, seen))
    }

    fn read_staged<T: Pod + Send + Sync, S: Send, R>(
        &mut self,
        buffer: &Buffer<T>,
        room: HostBuffer<T>,
        see: &(impl Fn(&[u8]) -> S + Sync),
        soon: Option<Milestone>,
        meanwhile: impl FnOnce(&Self) -> Result<R, CudaError>,
    ) -> Result<(Vec<T>, Vec<S>, R), CudaError> {
        let mut landing = self.landing(buffer.bytes())?;
        let done = self.read_pieces(buffer, &mut landing, room, see, soon, meanwhile);
        if done.is_err() {
            // What may still be on its way would come into what passes next; the error that counts is known.
            let _ = self.wait();
        }
        *self.staging() = Some(landing);
        done
    }

    /// By way of the landing: its rooms are filled as soon as the card is through with what was queued before; each thread empties a room
    /// and has what belongs there next sent after.
    fn read_pieces<T: Pod + Send + Sync, S: Send, R>(
        &mut self,
        buffer: &Buffer<T>,
        landing: &mut StagingBuffer,
        room: HostBuffer<T>,
        see: &(impl Fn(&[u8]) -> S + Sync),
        soon: Option<Milestone>,
        meanwhile: impl FnOnce(&Self) -> Result<R, CudaError>,
    ) -> Result<(Vec<T>, Vec<S>, R), CudaError> {
        let stream = self.stream().clone();
        let from = Origin { address: buffer.address(), bytes: buffer.bytes(), stream: &stream };
        let memory = landing.memory.as_mut_slice().map_err(self.failed("copying from it"))?;
        let part_bytes = if from.bytes > memory.len() { TURN_PART_BYTES } else { LEAST_PART_BYTES };
        let count = memory.len() / part_bytes;
        let runs = runs(from.bytes.div_ceil(part_bytes).min(count), MOST_RUN_BYTES / part_bytes);
        let first_turn = Arrivals::new(runs.iter().map(|run| &landing.passed[run.end - 1]).collect());
        for (run, come) in runs.iter().zip(&first_turn.events) {
            let rooms = &mut memory[run.start * part_bytes..run.end * part_bytes];
            from.fetch(run.start * part_bytes, rooms, come).map_err(self.failed("copying from it"))?;
        }
        // While the card still works.
        let mut values = room.values();
        match soon {
            Some(soon) => soon.wait()?,
            // One thread waits for what was queued before, then all take what has come.
            None if !runs.is_empty() => first_turn.wait_for(0).map_err(self.failed("working"))?,
            None => (),
        }
        let mut parts: Vec<Vec<(usize, &mut [u8])>> = (0..count).map(|_| Vec::new()).collect();
        let out: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        out.chunks_mut(part_bytes)
            .enumerate()
            .for_each(|(n, part)| parts[n % count].push((n * part_bytes, part)));
        let run_of = runs.iter().enumerate().flat_map(|(n, run)| run.clone().map(move |_| n));
        let taking = |(((room, run), come), parts)| Taking { room, run, come, parts };
        let rooms = memory.chunks_mut(part_bytes).zip(run_of).zip(&landing.passed).zip(parts);
        let mut rooms: Vec<Taking> = rooms.map(taking).collect();

        // The last room is this thread's own: when it has come, the others are as good as empty.
        let own = rooms.pop();
        let helpers = rayon::current_num_threads().min(from.bytes / THREAD_BYTES).min(rooms.len());
        let rooms = Mutex::new(rooms.into_iter());
        let next = || rooms.lock().unwrap_or_else(PoisonError::into_inner).next();
        let mut said: Vec<_> = (0..helpers).map(|_| Ok(Vec::new())).collect();
        let (told, own) = rayon::in_place_scope(|scope| {
            let (next, from, first_turn) = (&next, &from, &first_turn);
            for said in &mut said {
                scope.spawn(move |_| *said = take(iter::from_fn(next), from, first_turn, see));
            }
            (meanwhile(self), take(own.into_iter().chain(iter::from_fn(next)), from, first_turn, see))
        });
        let said: Result<Vec<Said<S>>, DriverError> = said.into_iter().chain([own]).collect();
        let seen = in_order(said.map_err(self.failed("working"))?).collect();
        Ok((values, seen, told?))
    }
}

/// Where a download comes from.
struct Origin<'a> {
    address: u64,
    bytes: usize,
    stream: &'a CudaStream,
}

impl Origin<'_> {
    /// Queues the copy of what lies `at` so many bytes into rooms of the landing, as much as there is, and when it has come.
    #[expect(unsafe_code, reason = "cuMemcpyDtoHAsync into page-locked memory, read after its events")]
    fn fetch(&self, at: usize, rooms: &mut [u8], come: &CudaEvent) -> Result<(), DriverError> {
        let len = rooms.len().min(self.bytes - at);
        // Threads of the pool may have worked for another card.
        self.stream.context().bind_to_thread()?;
        // SAFETY: the buffer, which the caller holds, has so much; the rooms are read only after the event that follows the
        // copy, and what was in them before has been sent or taken out.
        unsafe {
            result::memcpy_dtoh_async(&mut rooms[..len], self.address + at as u64, self.stream.cu_stream())
        }?;
        come.record(self.stream)
    }
}

/// A room of the landing in a download: what of the download passes through it, turn by turn.
struct Taking<'a> {
    room: &'a mut [u8],
    /// With which run the first turn's part comes.
    run: usize,
    /// When those of later turns have come.
    come: &'a CudaEvent,
    /// How many bytes from the beginning each lies, and where it belongs.
    parts: Vec<(usize, &'a mut [u8])>,
}

/// Waits for the part of each turn of some rooms, takes it out, has the next sent, and notes what is seen of it.
fn take<'a, S>(
    rooms: impl Iterator<Item = Taking<'a>>,
    from: &Origin<'_>,
    first_turn: &Arrivals<'_>,
    see: &impl Fn(&[u8]) -> S,
) -> Result<Said<S>, DriverError> {
    let mut seen = Vec::new();
    for Taking { room, run, come, parts } in rooms {
        first_turn.wait_for(run)?;
        let mut parts = parts.into_iter().peekable();
        while let Some((at, part)) = parts.next() {
            part.copy_from_slice(&room[..part.len()]);
            let next = parts.peek().map(|(at, _)| from.fetch(*at, room, come));
            seen.push((at, see(part)));
            if let Some(sent) = next {
                sent?;
                come.synchronize()?;
            }
        }
    }
    Ok(seen)
}

/// What comes one after the other and is waited for by many threads: one of them asks the driver, which serves one at a time, and the
/// others look at what that one says.
struct Arrivals<'a> {
    events: Vec<&'a CudaEvent>,
    come: AtomicUsize,
    asking: Mutex<()>,
}

impl<'a> Arrivals<'a> {
    fn new(events: Vec<&'a CudaEvent>) -> Self {
        Self { events, come: AtomicUsize::new(0), asking: Mutex::new(()) }
    }

    /// Waits until that of this number has come.
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

/// Which parts of a download come as one copy: one at first, so that taking out begins soon, then ever more, so that little of the bus goes
/// to the beginnings of copies, and fewer again at the end, so that little is left to take out when the last has come.
fn runs(parts: usize, longest: usize) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut next, mut most) = (0, 1);
    while next < parts {
        let run = (parts - next).div_ceil(2).min(most);
        runs.push(next..next + run);
        next += run;
        most = (2 * most).min(longest);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every part comes once, in order, in copies that are not too long; the first and the last are short.
    #[test]
    fn runs_bring_every_part_once() {
        for (parts, longest) in (0..300).flat_map(|parts| [1, 2, 8].map(|longest| (parts, longest))) {
            let runs = runs(parts, longest);
            let all: Vec<usize> = runs.iter().flat_map(Clone::clone).collect();
            assert_eq!(all, (0..parts).collect::<Vec<_>>());
            assert!(runs.iter().all(|run| !run.is_empty() && run.len() <= longest), "{runs:?}");
            assert!([runs.first(), runs.last()].into_iter().flatten().all(|run| run.len() == 1), "{runs:?}");
        }
        assert!(runs(128, 8).len() < 24, "most are long");
    }
}
