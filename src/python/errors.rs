//! Errors of the rooms below as exceptions of `beamsight.errors`, with their own sentences.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use results::Failure;
use std::any::Any;
use std::error::Error;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Kinds of failures that a caller may want to tell apart; each is a class of `beamsight.errors`.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A word, a number or an array that is out of its range.
    Argument,
    /// A file or folder that is missing, damaged or contradictory, or cannot be written.
    File,
    /// A job without an answer.
    Computation,
    /// A registration that found no match.
    NoMatch,
    /// A panic: a bug of the program.
    Internal,
}

impl Kind {
    fn class(self, py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
        static CLASSES: [PyOnceLock<Py<PyType>>; 5] = [const { PyOnceLock::new() }; 5];
        let (place, name) = match self {
            Self::Argument => (0, "ArgumentError"),
            Self::File => (1, "FileError"),
            Self::Computation => (2, "ComputationError"),
            Self::NoMatch => (3, "NoMatchError"),
            Self::Internal => (4, "InternalError"),
        };
        CLASSES[place].import(py, "beamsight.errors", name)
    }

    /// The exception with a sentence.
    pub fn exception(self, words: impl ToString) -> PyErr {
        let words = words.to_string();
        Python::attach(|py| match self.class(py) {
            Ok(class) => PyErr::from_type(class.clone(), words),
            Err(error) => error,
        })
    }

    /// The exception of an error, its sources joined where its own sentence does not quote them.
    pub fn caused_by(self, error: &(dyn Error + 'static)) -> PyErr {
        let mut words = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_words = cause.to_string();
            if !words.contains(&cause_words) {
                words = format!("{words}: {cause_words}");
            }
            source = cause.source();
        }
        self.exception(words)
    }
}

/// The exception of a query without an answer.
pub fn failure(failure: &Failure) -> PyErr {
    Kind::Computation.exception(failure)
}

/// The exception of an argument out of range.
pub fn argument(words: impl ToString) -> PyErr {
    Kind::Argument.exception(words)
}

/// Warns by a class of `beamsight.errors`, at the line of the caller.
///
/// # Errors
/// The warning, where its user has warnings raised.
pub fn warn(py: Python<'_>, class: &str, words: String) -> PyResult<()> {
    let class = py.import("beamsight.errors")?.getattr(class)?;
    PyErr::warn(py, &class, &CString::new(words.replace('\0', " "))?, 1)
}

/// Runs the work of an entry point: a panic becomes an exception.
///
/// # Errors
/// Its own; `InternalError` of a panic.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // Objects of Python that the work has changed are whole: they change in steps of their own.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// The exception of a panic, with its message.
fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let words = panic
        .downcast_ref::<&str>()
        .map(|words| (*words).to_owned());
    let words = words
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    Kind::Internal.exception(format!("this is a bug, please report it: {words}"))
}
