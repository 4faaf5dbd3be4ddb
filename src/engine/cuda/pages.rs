//! Host memory with pre-faulted pages: page faults at the first write take several times as long as the copy from the card.

use crate::large_pages::{LARGE_PAGE_BYTES, ask_for_large_pages};
use bytemuck::Pod;
use rayon::prelude::*;
use std::thread::JoinHandle;

/// No system's pages are smaller.
const PAGE_BYTES: usize = 4096;

/// Threads that fault pages in during an upload: a call of gamma takes 5.5 ms with three, 9.2 with one, 6.3 with all at its end.
const FINDING: usize = 3;

/// Host memory for a download.
pub enum HostBuffer<T> {
    /// Zeros, faulted in when the download is queued, while the card computes.
    Later(usize),
    /// Zeros, faulted in by threads of their own.
    Coming(usize, JoinHandle<Vec<T>>),
}

impl<T: Pod + Send> HostBuffer<T> {
    /// Faults in the pages of `count` values while the caller goes on.
    pub fn begin(count: usize) -> Self {
        let thread = std::thread::Builder::new()
            .name("pages".to_owned())
            .spawn(move || {
                let mut values = vec![T::zeroed(); count];
                ask_for_large_pages(values.as_mut_ptr().cast(), size_of_val(&*values));
                let part = count.div_ceil(FINDING).max(1);
                std::thread::scope(|scope| {
                    for part in values.chunks_mut(part) {
                        scope.spawn(|| touch(part));
                    }
                });
                values
            });
        thread.map_or(Self::Later(count), |thread| Self::Coming(count, thread))
    }

    /// The values, all 0.
    pub(crate) fn values(self) -> Vec<T> {
        match self {
            Self::Later(count) => ready_pages(count),
            Self::Coming(count, thread) => thread.join().unwrap_or_else(|_| ready_pages(count)),
        }
    }
}

/// Zeros in pre-faulted pages, large ones where the system has them.
fn ready_pages<T: Pod + Send>(count: usize) -> Vec<T> {
    let mut values = vec![T::zeroed(); count];
    ask_for_large_pages(values.as_mut_ptr().cast(), size_of_val(&*values));
    values
        .par_chunks_mut((LARGE_PAGE_BYTES / size_of::<T>().max(1)).max(1))
        .for_each(touch);
    values
}

fn touch<T: Pod>(part: &mut [T]) {
    let step = (PAGE_BYTES / size_of::<T>().max(1)).max(1);
    part.iter_mut()
        .step_by(step)
        .for_each(|value| *value = T::zeroed());
}
