//! Columns of beamlets in the memory of a card.

use super::dlpack::{DataType, DlDevice, Shown, wanted};
use engine::influence::CardColumns;
use numpy::{PyArray1, ToPyArray as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Columns of a beam's beamlets in the memory of the card that computes with them: ``torch.from_dlpack(columns)`` is int16
/// ``[beamlet, row]``, which times ``gy_per_step[:, None]`` is Gy of all fractions at fluence 1. They are to be read only: the
/// engine's own search reads the same memory.
#[pyclass(frozen, name = "CardColumns", module = "beamsight")]
pub struct PyCardColumns(pub Arc<CardColumns>);

#[pymethods]
impl PyCardColumns {
    /// Gy of a step of each beamlet, float32.
    #[getter]
    fn gy_per_step<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.0.gy_per_step().to_pyarray(py)
    }

    /// Beamlets and rows.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.0.shape().into()
    }

    /// DLPack's word for CUDA, and the number of the card.
    fn __dlpack_device__(&self) -> (i32, i32) {
        DlDevice::card(self.0.steps.ordinal()).words()
    }

    /// The columns as a capsule of DLPack. All work on them has ended, so that any stream may read them. Raises BufferError where a
    /// copy, or another device, is requested.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let columns = &self.0;
        let shown = Shown {
            address: columns.steps.address(),
            place: DlDevice::card(columns.steps.ordinal()),
            data_type: DataType::INT16,
            shape: columns.shape().to_vec(),
            owner: Box::new(Arc::clone(columns)),
        };
        shown.capsule(py, wanted(options)?)
    }

    fn __repr__(&self) -> String {
        let ([beamlets, rows], card) = (self.0.shape(), self.0.steps.ordinal());
        format!("CardColumns of {beamlets} beamlets, {rows} rows, on cuda:{card}")
    }
}
