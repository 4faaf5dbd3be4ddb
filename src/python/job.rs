//! Jobs on a thread of their own, while the interpreter is free for other threads, for signals and for progress.

use super::errors::{Kind, guarded};
use super::threads::compute;
use engine::JobControl;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval at which signals are looked for and progress is told.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The words of the step that runs, for the callback.
pub struct Steps(Mutex<String>);

impl Steps {
    pub fn tell(&self, words: &str) {
        if let Ok(mut step) = self.0.lock() {
            words.clone_into(&mut step);
        }
    }

    fn words(&self) -> String {
        self.0.lock().map(|step| step.clone()).unwrap_or_default()
    }
}

/// Runs a job without the GIL. Ctrl-C and an exception of `progress` cancel it; `progress(fraction, step)` is called on the
/// calling thread, with the fraction of the step that its words name. A panic becomes an exception.
///
/// # Errors
/// The job's own, `KeyboardInterrupt`, the callback's exception, `InternalError` of a panic.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&JobControl, &Steps) -> PyResult<T> + Send,
) -> PyResult<T> {
    let (control, steps) = (JobControl::new(), Steps(Mutex::new(String::new())));
    let (done, ended) = channel();
    // The scope ends when the job has: it borrows the arrays of the caller.
    std::thread::scope(|scope| {
        let (job_control, steps) = (control.clone(), &steps);
        scope.spawn(move || {
            // Nobody listens after an interruption.
            let _ = done.send(guarded(|| compute(|| work(&job_control, steps))?));
        });
        let mut told = None;
        let mut tell = |finished: bool| -> PyResult<()> {
            let Some(progress) = progress else {
                return Ok(());
            };
            let status = (if finished { 1.0 } else { control.done() }, steps.words());
            if told.as_ref() != Some(&status) {
                progress.call1((status.0, status.1.as_str()))?;
                told = Some(status);
            }
            Ok(())
        };
        // A receiver belongs to one thread, which lends it to the closure without the GIL.
        let ended = Mutex::new(ended);
        let wait = |patience| {
            py.detach(|| match ended.lock() {
                Ok(ended) => ended.recv_timeout(patience),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            })
        };
        loop {
            match wait(LOOK_EVERY) {
                Ok(answer) => {
                    let answer = answer?;
                    return guarded(|| tell(true)).map(|()| answer);
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupted) =
                        guarded(|| py.check_signals().and_then(|()| tell(false)))
                    {
                        control.cancel();
                        // The job ends within a few ms; its thread is joined before its arrays go.
                        while let Err(RecvTimeoutError::Timeout) = wait(LOOK_EVERY) {}
                        return Err(interrupted);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Kind::Internal.exception(
                        "this is a bug, please report it: the job ended without an answer",
                    ));
                }
            }
        }
    })
}
