//! Threads that compute: the threads that this process begins with, and in a forked process another pool.
//!
//! A fork copies the memory of a process and one thread. The threads of rayon's pool are not there, so that whoever waits for
//! them waits for ever; locks that other threads held stay locked.

use super::errors::Kind;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls that compute now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Whether this process was forked from one that had this module.
static IS_FORKED: AtomicBool = AtomicBool::new(false);
/// Whether that process computed at the fork: locks of the engines may be held by threads that are not here.
static FORKED_WHILE_COMPUTING: AtomicBool = AtomicBool::new(false);
/// The pool of a forked process.
static POOL: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);

/// Notes that this process was forked; called there before anything else.
#[pyfunction(name = "_note_fork")]
pub fn note_fork() {
    if RUNNING.swap(0, Ordering::Relaxed) > 0 {
        FORKED_WHILE_COMPUTING.store(true, Ordering::Relaxed);
    }
    IS_FORKED.store(true, Ordering::Relaxed);
    // The pool of a forked parent has no threads here: it is neither used nor ended, which would wait for them. Whoever held its
    // lock at the fork was computing.
    if let Ok(mut pool) = POOL.try_lock() {
        std::mem::forget(pool.take());
    }
}

/// Whether this process was forked from one that had this module: drivers of cards do not work here.
pub fn is_forked() -> bool {
    IS_FORKED.load(Ordering::Relaxed)
}

/// A call that computes, counted while it lives.
struct Running;

impl Running {
    fn begin() -> PyResult<Self> {
        if FORKED_WHILE_COMPUTING.load(Ordering::Relaxed) {
            return Err(Kind::Computation.exception(
                "this process was forked while another thread computed, whose locks it can never get: fork before or after, or \
                 start processes by multiprocessing.get_context('spawn')",
            ));
        }
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Ok(Self)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Does work of many threads, on threads that this process has.
///
/// # Errors
/// `ComputationError` in a process that can never compute, since it was forked while another thread did, or has no threads.
pub fn compute<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let _running = Running::begin()?;
    if is_forked() {
        pool().map(|pool| pool.install(work))
    } else {
        Ok(work())
    }
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = &*pool {
        return Ok(Arc::clone(pool));
    }
    let threads = ThreadPoolBuilder::new().build().map_err(|why| {
        Kind::Computation.exception(format!("there are no threads to compute with: {why}"))
    })?;
    let threads = Arc::new(threads);
    Ok(Arc::clone(pool.insert(threads)))
}
