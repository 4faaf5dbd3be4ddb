//! The heap of a window or a listener: what has been freed goes back to the system once the program rests.

use std::thread;
use std::time::Duration;

/// Time between two looks at the work done.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Processor time between two looks below which the program rests, as a part of the time between them: a window that redraws a
/// clock or waits for a pointer takes less.
const REST_SHARE: f64 = 0.05;

/// Looks after which freed memory goes back although the program works on: a drag then waits a few milliseconds, twice a minute.
const MOST_LOOKS: u32 = 30;

/// Starts a thread that gives freed memory back to the system at rest. glibc keeps freed buffers of up to 32 MiB in heaps, eight a
/// processor, and a window or a listener would hold the largest volumes that its threads ever had, for hours. While the program works
/// they stay: each dose of a drag needs the buffers of the one before, and buffers that are mapped anew cost it a third of its pace.
/// Without the thread, for want of one, memory is held and nothing else is lost. A verb that ends soon needs none.
pub fn give_back_at_rest() {
    let _ = thread::Builder::new()
        .name("heap".to_owned())
        .spawn(trim_at_rest);
}

fn trim_at_rest() {
    let (mut looks_since_trim, mut worked_s) = (0, 0.0);
    let mut before_s = processor_s();
    loop {
        thread::sleep(LOOK_EVERY);
        let now_s = processor_s();
        let since_look_s = now_s - before_s;
        before_s = now_s;
        worked_s += since_look_s;
        looks_since_trim += 1;
        let is_at_rest = since_look_s < REST_SHARE * LOOK_EVERY.as_secs_f64();
        let has_worked = worked_s >= LOOK_EVERY.as_secs_f64() * REST_SHARE;
        if has_worked && (is_at_rest || looks_since_trim >= MOST_LOOKS) {
            trim();
            // The trim itself is no work that a further trim could follow.
            (looks_since_trim, worked_s, before_s) = (0, 0.0, processor_s());
        }
    }
}

/// Processor time of all threads, s.
#[expect(
    unsafe_code,
    reason = "clock_gettime, which writes to the time it is given"
)]
fn processor_s() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call. Where the clock cannot be read it stays 0, and nothing is trimmed.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

#[expect(unsafe_code, reason = "malloc_trim, which takes the heap's own locks")]
fn trim() {
    // Instead of another heap: mimalloc held 1671 MiB at the peak of `bench live` for glibc's 1099, and drivers keep glibc's.
    // SAFETY: the heap may be trimmed from any thread at any time; nothing that is allocated moves.
    unsafe { libc::malloc_trim(0) };
}
