"""Arrays in and arrays out: layouts, shapes, kinds, grids."""

import sys
import threading

import numpy as np
import pytest

import beamsight
from beamsight.errors import ArgumentError
from conftest import grid, linear


def test_grids_place_voxels_where_dicom_has_them():
    own = beamsight.Grid((3, 4, 5), (1.0, 2.0, 3.0), (10.0, 20.0, 30.0))
    assert own.position_mm((2, 3, 4)) == (14.0, 26.0, 36.0)
    assert own.voxel((14.0, 26.0, 36.0)) == (2.0, 3.0, 4.0)
    z, y, x = own.axes()
    assert (list(z), list(y), list(x)) == ([30, 33, 36], [20, 22, 24, 26], [10, 11, 12, 13, 14])
    # A grid of coronal planes: its axes lie along x, -z and y.
    coronal = beamsight.Grid((2, 2, 2), (1, 1, 1), (0, 0, 0), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    assert coronal.position_mm((1, 1, 0)) == (0.0, 1.0, -1.0)
    with pytest.raises(ArgumentError, match="turned"):
        coronal.axes()


@pytest.mark.parametrize(
    "words, says",
    [
        (dict(shape=(0, 2, 2), spacing_mm=(1, 1, 1)), "no voxels"),
        (dict(shape=(2, 2, 2), spacing_mm=(1, -1, 1)), "spacing"),
        (dict(shape=(2, 2, 2), spacing_mm=(1, 1, float("nan"))), "spacing"),
        (dict(shape=(2, 2, 2), spacing_mm=(1, 1, 1), origin_mm=(0, float("inf"), 0)), "origin"),
        (dict(shape=(2, 2, 2), spacing_mm=(1, 1, 1), directions=[[1, 0, 0], [0, 1, 0], [0, 0, -1]]), "cross product"),
        (dict(shape=(2, 2, 2), spacing_mm=(1, 1, 1), directions=[[1, 0, 0], [1, 0, 0], [0, 0, 1]]), "cross product"),
        (dict(shape=(3, 2, 2), spacing_mm=(1, 1, 1), planes_mm=[0, 2, 1]), "ascend"),
        (dict(shape=(3, 2, 2), spacing_mm=(1, 1, 1), planes_mm=[0, 2]), "3 planes"),
        (dict(shape=(2**40, 2**40, 2), spacing_mm=(1, 1, 1)), "memory"),
    ],
)
def test_numbers_that_make_no_grid_are_refused(words, says):
    with pytest.raises(ArgumentError, match=says):
        beamsight.Grid(**words)


def layouts(values):
    yield "C", np.ascontiguousarray(values)
    yield "Fortran", np.asfortranarray(values)
    yield "float64", values.astype(np.float64)
    yield "big-endian", values.astype(">f4")
    yield "int16", values.astype(np.int16)
    wide = np.zeros([2 * n for n in values.shape], np.float32)
    wide[::2, ::2, ::2] = values
    yield "strided", wide[::2, ::2, ::2]
    yield "reversed", np.ascontiguousarray(values[::-1])[::-1]
    frozen = values.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen


def test_every_layout_gives_the_same_dose():
    own = grid()
    values = np.round(linear(own))
    for name, array in layouts(values):
        dose = beamsight.Dose(array, own)
        assert np.array_equal(dose.gy, values), name
        assert dose.status == "imported" and dose.grid == own


def address(array):
    return array.__array_interface__["data"][0]


def test_a_read_only_array_is_the_memory_of_its_dose():
    own = grid()
    values = linear(own)
    values.flags.writeable = False
    before = sys.getrefcount(values)
    dose = beamsight.Dose(values, own)
    assert address(dose.gy) == address(values) and np.array_equal(dose.gy, values)
    assert sys.getrefcount(values) == before + 1, "the dose holds the array"
    # So are views of one, bytes, and the array of another dose.
    raw = np.frombuffer(values.tobytes(), np.float32).reshape(values.shape)
    for array in (values[:], raw, dose.gy, np.asarray(dose)[:]):
        assert address(beamsight.Dose(array, own).gy) == address(array)
    assert beamsight.gamma(dose, beamsight.Dose(values.copy(), own), device="cpu").pass_rate_percent == 100
    del dose, array
    assert sys.getrefcount(values) == before, "the dose gives the array back"


def test_memory_that_somebody_may_write_into_is_copied(tmp_path):
    own = grid()
    values = linear(own)
    view = values[:]
    view.flags.writeable = False
    values.tofile(tmp_path / "raw")
    for name, array in {
        "writeable": values,
        "a read-only view of a writeable array": view,
        "a file": np.memmap(tmp_path / "raw", np.float32, "r", shape=values.shape),
        "a read-only view of a bytearray": np.frombuffer(memoryview(bytearray(values)).toreadonly(), np.float32).reshape(values.shape),
    }.items():
        dose = beamsight.Dose(array, own)
        assert address(dose.gy) != address(array) and np.array_equal(dose.gy, values), name


def test_a_dose_is_read_by_dlpack_where_it_lies():
    own = grid()
    dose = beamsight.Dose(linear(own), own)
    assert dose.__dlpack_device__() == (1, 0)
    array = np.from_dlpack(dose)
    assert address(array) == address(dose.gy) and array.dtype == np.float32 and array.shape == own.shape
    with pytest.raises(BufferError, match="not on"):
        dose.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="copy"):
        dose.__dlpack__(copy=True)
    dose.__dlpack__()  # A capsule that nobody takes frees what it holds.
    before = array[3, 4, 5]
    del dose
    assert array[3, 4, 5] == before


def test_a_dose_is_a_copy_and_shows_its_own_memory_read_only():
    own = grid()
    values = linear(own)
    dose = beamsight.Dose(values, own)
    before = dose.gy[0, 0, 0]
    values[:] = 0
    assert dose.gy[0, 0, 0] == before, "the dose of an array does not change with it"
    shown = dose.gy
    assert not shown.flags.writeable and shown.flags.c_contiguous
    assert shown.__array_interface__["data"][0] == dose.gy.__array_interface__["data"][0], "no copy is made"
    with pytest.raises(ValueError):
        shown[0, 0, 0] = 1
    del dose
    assert shown[0, 0, 0] == before, "the array holds the memory"
    assert np.asarray(beamsight.Dose(shown, own), dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize(
    "array, says",
    [
        (np.zeros((24, 20, 28)), "planes, rows, columns"),
        (np.zeros((20, 24)), "planes, rows, columns"),
        (np.zeros((20, 24, 28), complex), "complex128"),
        ([[[1j]]], "real numbers"),
        (np.zeros((20, 24, 28), bool), "bool"),
        (np.zeros((20, 24, 28), object), "object"),
        (np.ma.masked_greater(np.ones((20, 24, 28)), 0), "masked"),
        ("a dose", "real numbers"),
        (None, "real numbers"),
    ],
)
def test_arrays_that_are_no_dose_are_refused(array, says):
    with pytest.raises(ArgumentError, match=says):
        beamsight.Dose(array, grid())


def test_threads_compute_side_by_side():
    own = grid()
    dose = beamsight.Dose(linear(own), own)
    rates = []
    threads = [
        threading.Thread(target=lambda: rates.append(beamsight.gamma(dose, dose, device="cpu").pass_rate_percent))
        for _ in range(8)
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert rates == [100.0] * 8
