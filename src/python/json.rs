//! Answers that are tables of figures, as dictionaries of Python: the same keys and numbers as `--json` of the verbs.

use super::errors::argument;
use pyo3::prelude::*;
use serde::Serialize;

/// A value as dictionaries, lists, numbers and texts.
pub fn dictionary<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(argument)?;
    py.import("json")?.call_method1("loads", (text,))
}
