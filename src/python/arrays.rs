//! Arrays of numpy and volumes: answers are views of the volume's own memory, arguments are copied once.

use super::errors::argument;
use geometry::{Grid, Volume};
use numpy::ndarray::{ArrayView3, Axis};
use numpy::{
    AllowTypeChange, PyArray3, PyArrayDescrMethods as _, PyArrayLike3, PyArrayMethods as _, PyUntypedArray,
    PyUntypedArrayMethods as _,
};
use pyo3::prelude::*;
use std::sync::Arc;

/// The owner of a volume whose memory arrays show.
#[pyclass(frozen, module = "beamsight")]
struct Values(Arc<Volume<f32>>);

/// A volume as a read-only array `[z, y, x]` of float32, without a copy: it stays as long as the array does.
#[expect(unsafe_code, reason = "the array borrows the volume, which its base object holds")]
pub fn shown<'py>(py: Python<'py>, volume: &Arc<Volume<f32>>) -> PyResult<Bound<'py, PyArray3<f32>>> {
    let [nx, ny, nz] = volume.grid().size();
    let owner = Bound::new(py, Values(Arc::clone(volume)))?;
    let held = &owner.get().0;
    let view = ArrayView3::from_shape((nz, ny, nx), held.data()).map_err(argument)?;
    // SAFETY: the owner holds the volume, whose data never change nor move, as long as the array has it as its base; the
    // array is made read-only before anybody sees it.
    let array = unsafe { PyArray3::borrow_from_array(&view, owner.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// Refuses arrays that numpy would silently turn into other numbers.
fn check_kind(array: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    if array.hasattr("mask")? && array.hasattr("filled")? {
        return Err(argument(format!(
            "{what} is a masked array, whose masked values would count: fill them (numpy.ma.filled) with what they are"
        )));
    }
    if let Ok(array) = array.cast::<PyUntypedArray>()
        && !matches!(array.dtype().kind(), b'f' | b'i' | b'u')
    {
        return Err(argument(format!("{what} holds {}, not real numbers", array.dtype())));
    }
    Ok(())
}

/// An array of real numbers with three axes `[z, y, x]`, in any layout, as a volume.
///
/// # Errors
/// `ArgumentError` for another shape than that of the grid, for masked and for other than real arrays.
pub fn volume_of(array: &Bound<'_, PyAny>, grid: Arc<Grid>, what: &str) -> PyResult<Arc<Volume<f32>>> {
    check_kind(array, what)?;
    let [nx, ny, nz] = grid.size();
    let wrong = |shape: &[usize]| {
        argument(format!(
            "{what} has the shape {shape:?}, and its grid [{nz}, {ny}, {nx}] (planes, rows, columns)"
        ))
    };
    if let Ok(array) = array.cast::<PyUntypedArray>()
        && array.shape() != [nz, ny, nx]
    {
        return Err(wrong(array.shape()));
    }
    let array: PyArrayLike3<'_, f32, AllowTypeChange> = array.extract().map_err(|_| {
        argument(format!("{what} is no array of real numbers with three axes (planes, rows, columns)"))
    })?;
    let view = array.as_array();
    if view.shape() != [nz, ny, nx] {
        return Err(wrong(view.shape()));
    }
    let data = match view.as_slice() {
        Some(values) => values.to_vec(),
        None => {
            let mut data = Vec::with_capacity(grid.len());
            view.axis_iter(Axis(0)).for_each(|plane| data.extend(plane.iter()));
            data
        }
    };
    Ok(Arc::new(Volume::new(grid, data)))
}

/// The array as `numpy.asarray` asks for it: of another type it is a copy, which `copy=False` forbids.
pub fn as_asked<'py>(
    array: Bound<'py, PyAny>,
    dtype: Option<Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let same = match &dtype {
        Some(dtype) => {
            array.getattr("dtype")?.eq(array.py().import("numpy")?.call_method1("dtype", (dtype,))?)?
        }
        None => true,
    };
    match (same, copy) {
        (true, None | Some(false)) => Ok(array),
        (true, Some(true)) => array.call_method0("copy"),
        (false, Some(false)) => Err(argument("another type needs a copy")),
        (false, _) => array.call_method1("astype", (dtype,)),
    }
}
