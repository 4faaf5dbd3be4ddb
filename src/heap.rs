//! The heap of a window or a listener: large buffers go back to the system when they are freed, and have large pages until then.

use beamsight::engine::large_pages::{LARGE_PAGE_BYTES, ask_for_large_pages};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Buffers of so many bytes are mapped by themselves, so that their pages go back to the system when they are freed: doses, masks
/// and CTs have more, and what a frame or a DVH allocates has less.
const MAPPED_FROM_BYTES: c_int = 1 << 20;

/// Buffers of so many bytes hold a large page wherever they begin.
const LARGE_FROM_BYTES: usize = 2 * LARGE_PAGE_BYTES;

/// Whether large buffers are given back when they are freed.
static GIVES_BACK: AtomicBool = AtomicBool::new(false);

/// The heap of glibc raises that limit to 32 MiB once such a buffer is freed, and its trimming to twice that: each of eight heaps a
/// processor then holds the largest volumes that its threads ever had. A window or a listener would hold them for hours; a verb that
/// ends soon is quicker with them.
#[expect(unsafe_code, reason = "mallopt, before there is another thread")]
pub fn give_large_buffers_back() {
    GIVES_BACK.store(true, Ordering::Relaxed);
    // SAFETY: the process has one thread, and a parameter that is refused changes nothing.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM_BYTES) };
}

/// The system's heap, which asks for large pages: what is mapped anew for each dose would else be faulted in by pages of 4 KiB.
pub struct Heap;

#[expect(unsafe_code, reason = "each call is passed on to the system's heap")]
// SAFETY: memory comes from the system's heap and goes back to it, with the caller's layouts.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's own promises.
        in_large_pages(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        in_large_pages(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, buffer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        in_large_pages(unsafe { System.realloc(buffer, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, buffer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(buffer, layout) }
    }
}

/// Asks for large pages where a buffer that will be given back covers them.
fn in_large_pages(buffer: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= LARGE_FROM_BYTES && !buffer.is_null() && GIVES_BACK.load(Ordering::Relaxed) {
        ask_for_large_pages(buffer, bytes);
    }
    buffer
}
