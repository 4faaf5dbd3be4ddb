//! Arrays in the memory of a card, handed to other libraries by DLPack (dlpack.h, version 0.8) without a copy.

use engine::influence::CardColumns;
use numpy::{PyArray1, ToPyArray as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// Columns of a beam's beamlets in the memory of the card that computes with them: ``torch.from_dlpack(columns)`` is int16
/// ``[beamlet, row]``, which times ``gy_per_step[:, None]`` is Gy of all fractions at fluence 1. They are to be read only: the
/// engine's own search reads the same memory.
#[pyclass(frozen, name = "CardColumns", module = "beamsight")]
pub struct PyCardColumns(pub Arc<CardColumns>);

/// kDLCUDA and kDLInt of dlpack.h.
const CUDA: i32 = 2;
const INT: u8 = 0;

/// Name of a capsule that nobody has taken yet.
const NOT_TAKEN: &CStr = c"dltensor";

/// DLDevice, DLDataType, DLTensor and DLManagedTensor of dlpack.h.
#[repr(C)]
struct Device {
    kind: i32,
    number: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    axes: i32,
    data_type: DataType,
    shape: *mut i64,
    /// Null: rows one after another.
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct ManagedTensor {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// A tensor with what it points to; the tensor is first, so that both have one address.
#[repr(C)]
struct Shared {
    managed: ManagedTensor,
    shape: [i64; 2],
    columns: Arc<CardColumns>,
}

/// Ends the tensor of [`Shared`]: whoever has taken it calls this once.
#[expect(unsafe_code, reason = "dlpack.h hands the tensor back by its address")]
unsafe extern "C" fn end(tensor: *mut ManagedTensor) {
    // SAFETY: the address is that of a Shared made by `__dlpack__`, and is handed back once.
    drop(unsafe { Box::from_raw(tensor.cast::<Shared>()) });
}

/// Ends a capsule whose tensor nobody has taken.
#[expect(unsafe_code, reason = "a capsule's destructor is one of C")]
unsafe extern "C" fn end_capsule(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: the interpreter calls this once with the capsule of `__dlpack__`; one that was taken bears another name.
    unsafe {
        if pyo3::ffi::PyCapsule_IsValid(capsule, NOT_TAKEN.as_ptr()) == 1 {
            let tensor = pyo3::ffi::PyCapsule_GetPointer(capsule, NOT_TAKEN.as_ptr());
            end(tensor.cast());
        }
    }
}

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
        (CUDA, self.0.ordinal() as i32)
    }

    /// The columns as a capsule of DLPack. All work on them has ended, so that any stream may read them.
    #[pyo3(signature = (**_options))]
    #[expect(unsafe_code, reason = "a capsule holds an address")]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut shared = Box::new(Shared {
            managed: ManagedTensor {
                tensor: Tensor {
                    data: self.0.address() as *mut c_void,
                    device: Device { kind: CUDA, number: self.0.ordinal() as i32 },
                    axes: 2,
                    data_type: DataType { code: INT, bits: 16, lanes: 1 },
                    shape: std::ptr::null_mut(),
                    strides: std::ptr::null_mut(),
                    byte_offset: 0,
                },
                context: std::ptr::null_mut(),
                deleter: Some(end),
            },
            shape: self.0.shape().map(|n| n as i64),
            columns: Arc::clone(&self.0),
        });
        shared.managed.tensor.shape = shared.shape.as_mut_ptr();
        let address = Box::into_raw(shared);
        // SAFETY: the name is one of C and lives as long as the program; the address is that of a Shared, which the capsule's
        // destructor or whoever takes the tensor ends once.
        unsafe {
            let capsule = pyo3::ffi::PyCapsule_New(address.cast(), NOT_TAKEN.as_ptr(), Some(end_capsule));
            if capsule.is_null() {
                drop(Box::from_raw(address));
            }
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }

    fn __repr__(&self) -> String {
        let ([beamlets, rows], card) = (self.0.shape(), self.0.ordinal());
        format!("CardColumns of {beamlets} beamlets, {rows} rows, on cuda:{card}")
    }
}
