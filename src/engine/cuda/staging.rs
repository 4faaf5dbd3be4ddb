//! Page-locked host memory that copies between host and card pass through.

use super::device::CardLock;
use super::error::CudaError;
use cudarc::driver::{CudaEvent, PinnedHostSlice};

/// As many bytes of it as a copy is given at most; a larger one takes turns. Taking it costs half a ms for each MiB, once.
const MOST_LANDING_BYTES: usize = 32 << 20;
/// ... and at least, so that it is seldom taken anew.
const LEAST_LANDING_BYTES: usize = 4 << 20;

/// Copies pass through in parts of this many bytes at least.
pub(super) const LEAST_PART_BYTES: usize = 1 << 18;

/// Page-locked memory, kept.
pub(super) struct StagingBuffer {
    pub memory: PinnedHostSlice<u8>,
    /// When parts were last sent or came.
    pub passed: Vec<CudaEvent>,
}

pub(super) type Staging = Option<StagingBuffer>;

/// What threads say of pieces, with the pieces' numbers.
pub(super) type Said<S> = Vec<(usize, S)>;

impl CardLock<'_> {
    /// The page-locked memory kept, or new where it is too small.
    pub(super) fn landing(&mut self, bytes: usize) -> Result<StagingBuffer, CudaError> {
        let wanted = bytes.next_power_of_two().clamp(LEAST_LANDING_BYTES, MOST_LANDING_BYTES);
        match self.staging().take() {
            Some(kept) if kept.memory.num_bytes() >= wanted => Ok(kept),
            _ => {
                // Nothing is on its way from the memory that this takes the place of.
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

/// What threads say of pieces, by the pieces' numbers.
pub(super) fn in_order<S>(said: Vec<Said<S>>) -> impl Iterator<Item = S> {
    let mut all: Said<S> = said.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(n, _)| *n);
    all.into_iter().map(|(_, said)| said)
}
