//! The worker thread: jobs, slots, progress, cancellation.
