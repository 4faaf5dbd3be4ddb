//! Pinned host memory through which copies between host and card pass.

use super::device::CardLock;
use super::error::CudaError;
use cudarc::driver::{CudaEvent, PinnedHostSlice};

/// Greatest staging buffer; larger copies reuse it in turns. Pinning costs half a ms for each MiB, once.
const MOST_STAGING_BYTES: usize = 32 << 20;
/// Least staging buffer, so that it is seldom pinned anew.
const LEAST_STAGING_BYTES: usize = 4 << 20;

/// Copies pass through in parts of this many bytes at least.
pub(super) const LEAST_PART_BYTES: usize = 1 << 18;

/// Pinned memory, reused by later copies.
pub(super) struct StagingBuffer {
    pub memory: PinnedHostSlice<u8>,
    /// Recorded when a part was last copied.
    pub passed: Vec<CudaEvent>,
}

pub(super) type Staging = Option<StagingBuffer>;

impl CardLock<'_> {
    /// The cached staging buffer, or a new one where it is too small.
    pub(super) fn staging_buffer(&mut self, bytes: usize) -> Result<StagingBuffer, CudaError> {
        let wanted = bytes.next_power_of_two().clamp(LEAST_STAGING_BYTES, MOST_STAGING_BYTES);
        match self.staging().take() {
            Some(kept) if kept.memory.num_bytes() >= wanted => Ok(kept),
            _ => {
                // No copy from the old buffer is under way when it is freed.
                self.wait()?;
                let event = |_| self.context().new_event(None);
                let passed: Result<Vec<_>, _> = (0..wanted / LEAST_PART_BYTES).map(event).collect();
                let passed = passed.map_err(self.failed("timing"))?;
                Ok(StagingBuffer { memory: self.pinned(wanted)?, passed })
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
