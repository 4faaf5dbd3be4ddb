//! Memory of this program in the hands of other libraries by DLPack (dlpack.h, version 0.8), without a copy.

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::any::Any;
use std::ffi::{CStr, c_void};

/// kDLCPU and kDLCUDA of dlpack.h.
const CPU: i32 = 1;
const CUDA: i32 = 2;

/// Name of a capsule that nobody has taken yet.
const NOT_TAKEN: &CStr = c"dltensor";

/// DLDevice: a kind, and a number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DlDevice {
    kind: i32,
    number: i32,
}

impl DlDevice {
    pub const HOST: Self = Self {
        kind: CPU,
        number: 0,
    };

    pub fn card(ordinal: usize) -> Self {
        Self {
            kind: CUDA,
            number: ordinal as i32,
        }
    }

    /// As `__dlpack_device__` gives it.
    pub fn words(self) -> (i32, i32) {
        (self.kind, self.number)
    }
}

/// DLDataType.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

impl DataType {
    pub const INT16: Self = Self {
        code: 0,
        bits: 16,
        lanes: 1,
    };
    pub const FLOAT32: Self = Self {
        code: 2,
        bits: 32,
        lanes: 1,
    };
}

/// DLTensor and DLManagedTensor.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    place: DlDevice,
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
    shape: Vec<i64>,
    owner: Box<dyn Any + Send + Sync>,
}

/// Ends the tensor of [`Shared`]: whoever has taken it calls this once.
#[expect(unsafe_code, reason = "dlpack.h hands the tensor back by its address")]
unsafe extern "C" fn end(tensor: *mut ManagedTensor) {
    // SAFETY: the address belongs to a Shared made by `capsule`, and is handed back once.
    drop(unsafe { Box::from_raw(tensor.cast::<Shared>()) });
}

/// Ends a capsule whose tensor nobody has taken.
#[expect(unsafe_code, reason = "a capsule's destructor is one of C")]
unsafe extern "C" fn end_capsule(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: the interpreter calls this once with a capsule of `capsule`; one that was taken bears another name.
    unsafe {
        if pyo3::ffi::PyCapsule_IsValid(capsule, NOT_TAKEN.as_ptr()) == 1 {
            let tensor = pyo3::ffi::PyCapsule_GetPointer(capsule, NOT_TAKEN.as_ptr());
            end(tensor.cast());
        }
    }
}

/// Values row by row in memory that `owner` keeps; they are to be read only.
pub struct Shown {
    pub address: u64,
    pub place: DlDevice,
    pub data_type: DataType,
    pub shape: Vec<usize>,
    pub owner: Box<dyn Any + Send + Sync>,
}

/// An option that is there and not `None`.
fn option<'py>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(options.get_item(name)?.filter(|value| !value.is_none()))
}

/// The place that a consumer requests by `dl_device`, without a copy; `None` where it takes any.
///
/// # Errors
/// `BufferError`: a copy is requested, which the consumer makes itself.
pub fn wanted(options: Option<&Bound<'_, PyDict>>) -> PyResult<Option<DlDevice>> {
    let Some(options) = options else {
        return Ok(None);
    };
    if option(options, "copy")?
        .map(|copy| copy.is_truthy())
        .transpose()?
        == Some(true)
    {
        return Err(PyBufferError::new_err(
            "its memory is handed out as it is: copy what is made of it",
        ));
    }
    let place = option(options, "dl_device")?
        .map(|device| device.extract::<(i32, i32)>())
        .transpose()?;
    Ok(place.map(|(kind, number)| DlDevice { kind, number }))
}

impl Shown {
    /// A capsule of DLPack. All work on the values has ended, so that any stream may read them.
    ///
    /// # Errors
    /// `BufferError` where they lie elsewhere than `wanted`.
    #[expect(unsafe_code, reason = "a capsule holds an address")]
    pub fn capsule<'py>(
        self,
        py: Python<'py>,
        wanted: Option<DlDevice>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Self {
            address,
            place,
            data_type,
            shape,
            owner,
        } = self;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != place) {
            let (held_on, requested_on) = (place.words(), wanted.words());
            return Err(PyBufferError::new_err(format!(
                "it lies on device {held_on:?} of DLPack, not on {requested_on:?}"
            )));
        }
        let shape: Vec<i64> = shape.into_iter().map(|n| n as i64).collect();
        let mut shared = Box::new(Shared {
            managed: ManagedTensor {
                tensor: Tensor {
                    data: address as *mut c_void,
                    place,
                    axes: shape.len() as i32,
                    data_type,
                    shape: std::ptr::null_mut(),
                    strides: std::ptr::null_mut(),
                    byte_offset: 0,
                },
                context: std::ptr::null_mut(),
                deleter: Some(end),
            },
            shape,
            owner,
        });
        shared.managed.tensor.shape = shared.shape.as_mut_ptr();
        let address = Box::into_raw(shared);
        // SAFETY: the name is one of C and lives as long as the program; the address belongs to a Shared, which the capsule's
        // destructor or whoever takes the tensor ends once.
        unsafe {
            let capsule =
                pyo3::ffi::PyCapsule_New(address.cast(), NOT_TAKEN.as_ptr(), Some(end_capsule));
            if capsule.is_null() {
                drop(Box::from_raw(address));
            }
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }
}
