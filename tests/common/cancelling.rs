//! A job that is cancelled at a known point of its work.

use beamsight::engine::JobControl;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Runs `job` on one thread, with a control that cancels it when it reports `share` or more. Returns the
/// answer, and the number of reports afterwards: each means wasted work.
pub fn cancelled_at<T: Send>(share: f32, job: impl FnOnce(&JobControl) -> T + Send) -> (T, usize) {
    let own = Arc::new(OnceLock::<JobControl>::new());
    let after = Arc::new(AtomicUsize::new(0));
    let listener = {
        let (own, after) = (Arc::clone(&own), Arc::clone(&after));
        move |done: f32| {
            let Some(control) = own.get() else { return };
            if control.is_cancelled() {
                after.fetch_add(1, Ordering::Relaxed);
            } else if done >= share {
                control.cancel();
            }
        }
    };
    let control = JobControl::new().with_listener(listener);
    own.set(control.clone()).expect("set once");
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread");
    (one.install(|| job(&control)), after.load(Ordering::Relaxed))
}
