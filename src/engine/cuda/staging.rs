//! Pinned host memory through which copies between host and card pass.

use super::device::CardLock;
use super::error::CudaError;
use cudarc::driver::{CudaEvent, PinnedHostSlice};

/// Greatest staging buffer; larger copies reuse it in turns. Pinning costs half a ms for each MiB, once.
const MOST_STAGING_BYTES: usize = 32 << 20;
/// Least staging buffer, so that it is seldom pinned anew.
const LEAST_STAGING_BYTES: usize = 4 << 20;

/// Copies pass through in parts of this many bytes at least.
// Parts of 64 KiB add 1.6 ms to a download, parts of 128 or 512 KiB take as long, and one copy cannot overlap with the host's work.
pub(super) const LEAST_PART_BYTES: usize = 1 << 18;

/// Pinned memory, reused by later copies.
pub(super) struct StagingBuffer {
    pub memory: PinnedHostSlice<u8>,
    /// Recorded when a part was last copied.
    pub passed: Vec<CudaEvent>,
}

pub(super) type Staging = Option<StagingBuffer>;

/// A small landing.
const SMALL_LANDING_BYTES: usize = 1 << 18;
/// Greater landings at most: into one comes a copy, from the other a thread takes what has come.
const MOST_GREAT_LANDINGS: usize = 2;

/// Pinned memory in which copies land that end without the lock on the card; each is one copy's until that has ended.
#[derive(Default)]
pub(super) struct Landings {
    small: Vec<PinnedHostSlice<u8>>,
    great: Vec<PinnedHostSlice<u8>>,
    /// Greater ones, those in use with them.
    great_count: usize,
}

impl Landings {
    /// A free landing of at least `bytes` bytes.
    fn take(&mut self, bytes: usize) -> Option<PinnedHostSlice<u8>> {
        if bytes <= SMALL_LANDING_BYTES {
            return self.small.pop();
        }
        let fits = self
            .great
            .iter()
            .position(|landing| landing.num_bytes() >= bytes)?;
        Some(self.great.swap_remove(fits))
    }

    /// Whether another landing of `bytes` bytes may be allocated; a smaller free one is dropped for it.
    fn makes_room(&mut self, bytes: usize) -> bool {
        if bytes <= SMALL_LANDING_BYTES {
            return true;
        }
        if self.great_count == MOST_GREAT_LANDINGS && self.great.pop().is_none() {
            return false;
        }
        self.great_count = (self.great_count + 1).min(MOST_GREAT_LANDINGS);
        true
    }

    /// Takes one back.
    pub fn keep(&mut self, landing: PinnedHostSlice<u8>) {
        let is_small = landing.num_bytes() <= SMALL_LANDING_BYTES;
        if is_small {
            self.small.push(landing)
        } else {
            self.great.push(landing)
        }
    }
}

impl CardLock<'_> {
    /// A landing for `bytes` bytes; `None` where all are in use, for nothing, and for more than the greatest staging buffer.
    pub(super) fn landing(
        &mut self,
        bytes: usize,
    ) -> Result<Option<PinnedHostSlice<u8>>, CudaError> {
        if bytes == 0 || bytes > MOST_STAGING_BYTES {
            return Ok(None);
        }
        let mut landings = self.device.landings();
        if let Some(kept) = landings.take(bytes) {
            return Ok(Some(kept));
        }
        if !landings.makes_room(bytes) {
            return Ok(None);
        }
        drop(landings);
        self.pinned(bytes.next_power_of_two().max(SMALL_LANDING_BYTES))
            .map(Some)
    }

    /// The cached staging buffer, or a new one where it is too small.
    pub(super) fn staging_buffer(&mut self, bytes: usize) -> Result<StagingBuffer, CudaError> {
        let wanted = bytes
            .next_power_of_two()
            .clamp(LEAST_STAGING_BYTES, MOST_STAGING_BYTES);
        match self.staging().take() {
            Some(kept) if kept.memory.num_bytes() >= wanted => Ok(kept),
            _ => {
                // No copy from the old buffer is under way when it is freed.
                self.wait()?;
                let passed: Result<Vec<_>, _> = (0..wanted / LEAST_PART_BYTES)
                    .map(|_| self.context().new_event(None))
                    .collect();
                let passed = passed.map_err(self.failed("timing"))?;
                Ok(StagingBuffer {
                    memory: self.pinned(wanted)?,
                    passed,
                })
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
}
