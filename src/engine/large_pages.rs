//! Large pages of the system's memory: a buffer that is mapped anew is faulted in by pages of 2 MiB in place of 4 KiB.

/// Large pages of x86-64, and of most arm64.
pub const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Asks for large pages where memory that begins at `start` covers them.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "madvise, a hint that changes no memory")]
pub fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    let skip = start.align_offset(LARGE_PAGE_BYTES);
    let len = bytes.saturating_sub(skip) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
    if len > 0 {
        // SAFETY: the advice neither reads nor writes the pages. Where the system does not take it nothing is lost but time.
        let _ = unsafe { libc::madvise(start.wrapping_add(skip).cast(), len, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
pub fn ask_for_large_pages(_: *mut u8, _: usize) {}
