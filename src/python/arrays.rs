//! Arrays of numpy and volumes: answers are views of the volume's own memory; arguments that are read-only are the volume's memory,
//! others are copied once.

use super::errors::argument;
use geometry::{Grid, Volume};
use numpy::ndarray::ArrayView3;
use numpy::{
    PyArray3, PyArrayDescrMethods as _, PyArrayMethods as _, PyUntypedArray,
    PyUntypedArrayMethods as _,
};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyBytes};
use std::sync::Arc;

/// The owner of a volume whose memory arrays show.
#[pyclass(frozen, module = "beamsight")]
struct Values(Arc<Volume<f32>>);

/// A volume as a read-only array `[z, y, x]` of float32, without a copy: it stays as long as the array does.
#[expect(
    unsafe_code,
    reason = "the array borrows the volume, which its base object holds"
)]
pub fn shown<'py>(
    py: Python<'py>,
    volume: &Arc<Volume<f32>>,
) -> PyResult<Bound<'py, PyArray3<f32>>> {
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
        return Err(argument(format!(
            "{what} holds {}, not real numbers",
            array.dtype()
        )));
    }
    Ok(())
}

/// Whether nobody may write into the memory of an array: it and all arrays that it is a view of are read-only, down to one that
/// owns the memory, to bytes, or to a volume of this program.
fn is_read_only(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut base = array.clone();
    while base.is_instance_of::<PyUntypedArray>() {
        let flags = base.getattr("flags")?;
        if flags.getattr("writeable")?.is_truthy()? {
            return Ok(false);
        }
        let next = base.getattr("base")?;
        if next.is_none() {
            return flags.getattr("owndata")?.is_truthy();
        }
        base = next;
    }
    Ok(base.is_instance_of::<PyBytes>() || base.is_instance_of::<Values>())
}

/// An array of real numbers with three axes `[z, y, x]`, in any layout, as a volume. A read-only array of float32, row by row, is
/// the volume's memory; another one is copied once.
///
/// # Errors
/// `ArgumentError` for another shape than the grid's, for masked and for other than real arrays.
pub fn volume_of(
    array: &Bound<'_, PyAny>,
    grid: Arc<Grid>,
    what: &str,
) -> PyResult<Arc<Volume<f32>>> {
    check_kind(array, what)?;
    let [nx, ny, nz] = grid.size();
    let grid_shape = [nz, ny, nx];
    let untyped = array.cast::<PyUntypedArray>();
    // Before numpy copies it.
    untyped.as_ref().map_or(Ok(()), |untyped| {
        check_shape(untyped.shape(), grid_shape, what)
    })?;
    let py = array.py();
    let options = [("order", "C")].into_py_dict(py)?;
    let copy = py.import("numpy")?.call_method(
        "asarray",
        (array, numpy::dtype::<f32>(py)),
        Some(&options),
    );
    let copy = copy
        .ok()
        .and_then(|copy| copy.cast_into::<PyArray3<f32>>().ok())
        .ok_or_else(|| {
            argument(format!(
                "{what} is no array of real numbers with three axes (planes, rows, columns)"
            ))
        })?;
    check_shape(copy.shape(), grid_shape, what)?;
    // Numpy has made it just now, of an array of another type or layout: nobody else knows it.
    let is_new = untyped.is_ok() && !copy.is(array) && copy.getattr("base")?.is_none();
    if copy.data().is_aligned() && copy.is_c_contiguous() && (is_new || is_read_only(&copy)?) {
        return Ok(Arc::new(lent(copy, grid)));
    }
    // Numpy's copies lie on large pages, which the system provides sooner than a vector's small ones.
    let copy = copy
        .call_method1("copy", ("C",))?
        .cast_into::<PyArray3<f32>>()?;
    Ok(Arc::new(lent(copy, grid)))
}

fn check_shape(shape: &[usize], grid_shape: [usize; 3], what: &str) -> PyResult<()> {
    if shape == grid_shape {
        return Ok(());
    }
    Err(argument(format!(
        "{what} has the shape {shape:?}, and its grid {grid_shape:?} (planes, rows, columns)"
    )))
}

/// A volume in the memory of an array, which is contiguous, aligned, and written by nobody.
#[expect(unsafe_code, reason = "the volume borrows the array, which it holds")]
fn lent(array: Bound<'_, PyArray3<f32>>, grid: Arc<Grid>) -> Volume<f32> {
    // SAFETY: the array has `len` values at this aligned address, row by row; they neither move nor end while the volume holds the
    // array, and nobody writes into an array that is read-only or that nobody else knows. `python.md` says what is forbidden.
    let values = unsafe { std::slice::from_raw_parts(array.data().cast_const(), array.len()) };
    Volume::lent(grid, values, Box::new(array.unbind()))
}

/// The array as `numpy.asarray` asks for it: of another type it is a copy, which `copy=False` forbids.
pub fn as_asked<'py>(
    array: Bound<'py, PyAny>,
    dtype: Option<Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let same = match &dtype {
        Some(dtype) => array.getattr("dtype")?.eq(array
            .py()
            .import("numpy")?
            .call_method1("dtype", (dtype,))?)?,
        None => true,
    };
    match (same, copy) {
        (true, None | Some(false)) => Ok(array),
        (true, Some(true)) => array.call_method0("copy"),
        (false, Some(false)) => Err(argument("another type needs a copy")),
        (false, _) => array.call_method1("astype", (dtype,)),
    }
}
