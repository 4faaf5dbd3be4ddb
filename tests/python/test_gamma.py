"""Gamma against closed forms and beside pymedphys."""

import warnings

import numpy as np
import pytest

import beamsight
from beamsight.errors import ArgumentError, ComputationError, UnjudgedWarning
from conftest import grid, linear, positions


def test_gamma_of_linear_doses_is_the_distance_of_planes():
    """Two doses c + g . p that differ by d everywhere: gamma = d / sqrt(DD^2 + (|g| DTA)^2) away from the rim."""
    own, slope, apart = grid((24, 24, 28)), np.array([0.02, 0.03, 0.05]), 0.2
    a, b = linear(own), linear(own) + np.float32(apart)
    norm, percent, mm = 20.0, 3.0, 2.0
    want = apart / np.hypot(0.01 * percent * norm, np.linalg.norm(slope) * mm)
    answer = beamsight.gamma((a, own), (b, own), percent, mm, norm=norm, threshold=0, device="cpu")
    inner = answer.gamma[4:-4, 4:-4, 4:-4]
    assert np.allclose(inner, want, atol=2e-5), (inner.min(), inner.max(), want)
    z, y, x = own.axes()
    theirs = beamsight.gamma((z, y, x), a, (z, y, x), b, percent, mm, 0, global_normalisation=norm)
    assert np.array_equal(theirs, answer.gamma)


def test_local_differences_and_several_criteria():
    own = grid()
    a = linear(own)
    b = a * np.float32(1.01)
    local = beamsight.gamma((a, own), (b, own), 2, 1e-3, local=True, threshold=0, device="cpu")
    assert np.allclose(local.gamma, 0.5, atol=1e-3)
    z, y, x = own.axes()
    both = beamsight.gamma((z, y, x), a, (z, y, x), b, [1, 2], [2, 3], lower_percent_dose_cutoff=0)
    assert set(both) == {(1.0, 2.0), (1.0, 3.0), (2.0, 2.0), (2.0, 3.0)}
    one = beamsight.gamma((z, y, x), a, (z, y, x), b, 1, 2, lower_percent_dose_cutoff=0)
    assert np.array_equal(both[1.0, 2.0], one)


def test_axes_that_descend_are_those_that_ascend():
    own = grid()
    a, b = linear(own), linear(own) + np.float32(0.1)
    z, y, x = own.axes()
    up = beamsight.gamma((z, y, x), a, (z, y, x), b, 3, 2)
    down = beamsight.gamma((z[::-1], y, x), a[::-1], (z, y[::-1], x), b[:, ::-1], 3, 2)
    assert np.allclose(up, down[::-1], atol=1e-6, equal_nan=True)


def test_planes_and_lines():
    """In a plane and on a line the closed form holds with the gradient of the plane and of the line."""
    x, y = np.arange(30.0), np.arange(25.0)
    plane = (5 + 0.1 * x[None, :] + 0.04 * y[:, None]).astype(np.float32)
    got = beamsight.gamma((y, x), plane, (y, x), plane + 0.2, 3, 2, 0, global_normalisation=10)
    want = 0.2 / np.hypot(0.3, 2 * np.hypot(0.1, 0.04))
    assert got.shape == plane.shape and np.allclose(got[5:-5, 5:-5], want, atol=2e-5)
    line = (5 + 0.1 * x).astype(np.float32)
    got = beamsight.gamma((x,), line, (x,), line + 0.2, 3, 2, 0, global_normalisation=10)
    want = 0.2 / np.hypot(0.3, 2 * 0.1)
    assert got.shape == line.shape and np.allclose(got[5:-5], want, atol=2e-5)
    assert np.array_equal(got, beamsight.gamma(x, line, x, line + 0.2, 3, 2, 0, global_normalisation=10))


def test_points_without_a_dose_beside_them_have_no_gamma():
    own = grid()
    small = beamsight.Grid((10, 24, 28), own.spacing_mm, own.origin_mm)
    a = linear(own)
    answer = beamsight.gamma((a, own), (a[:10], small), threshold=0, device="cpu")
    assert np.isnan(answer.gamma[10:]).all() and answer.not_judged == 10 * 24 * 28
    assert answer.pass_rate_percent == 100.0, "neither passing nor failing"


@pytest.mark.parametrize("value, says", [(np.nan, "finite dose"), (np.inf, "finite dose"), (-1.0, "negative")])
def test_values_that_are_no_dose_are_named_with_their_voxel(value, says):
    """They make no dose at all, so that nothing else judges them: gamma need not refuse them itself."""
    own = grid()
    a, b = linear(own), linear(own)
    b[2, 3, 4] = value
    z, y, x = own.axes()
    for judge in (
        lambda: beamsight.Dose(b, own),
        lambda: beamsight.gamma((a, own), (b, own), device="cpu"),
        lambda: beamsight.gamma((z, y, x), a, (z, y, x), b, 3, 2),
    ):
        with pytest.raises(ArgumentError, match=says) as error:
            judge()
        assert "(4, 3, 2)" in str(error.value)


def test_points_outside_the_evaluated_dose_are_counted_in_a_warning():
    axis = np.arange(40.0) * 2.5
    reference, evaluated = np.full((40, 40), 2.0), np.full((20, 40), 2.0)
    with pytest.warns(UnjudgedWarning, match="800 of 1600 points") as caught:
        gamma = beamsight.gamma((axis, axis), reference, (axis[:20], axis), evaluated, 3, 2)
    assert np.isnan(gamma).sum() == 800 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beamsight.gamma((axis, axis), reference, (axis, axis), reference, 3, 2)
    own, small = beamsight.Grid((1, 40, 40), (2.5, 2.5, 1)), beamsight.Grid((1, 20, 40), (2.5, 2.5, 1))
    answer = beamsight.gamma((reference[None], own), (evaluated[None], small), dims=2, device="cpu")
    with pytest.warns(UnjudgedWarning, match="800 of 1600 points"):
        np.asarray(answer)


def test_words_and_numbers_out_of_range_are_refused():
    own = grid()
    dose = beamsight.Dose(linear(own), own)
    for wrong, says in [
        (dict(dta=0), "above 0"),
        (dict(dose=-3), "above 0"),
        (dict(threshold=101), "from 0 to 100"),
        (dict(norm="mean"), "near-max"),
        (dict(norm=float("nan")), "above 0"),
        (dict(max_gamma=0.5), "from 1.1"),
        (dict(dims=4), "one of 3"),
        (dict(device="gpu"), "cuda:N"),
        (dict(structure="PTV"), "give the case"),
    ]:
        with pytest.raises((ArgumentError, ComputationError), match=says):
            beamsight.gamma(dose, dose, **{"device": "cpu", **wrong})
    z, y, x = own.axes()
    with pytest.raises(ArgumentError, match="shape"):
        beamsight.gamma((z, y, x), dose.gy[1:], (z, y, x), dose.gy, 3, 2)
    with pytest.raises(ArgumentError, match="unevenly spaced"):
        beamsight.gamma((z, y, np.sort(x**3)), dose.gy, (z, y, x), dose.gy, 3, 2)
    with pytest.raises(TypeError, match="passes"):
        beamsight.gamma((z, y, x), dose.gy, (z, y, x), dose.gy, 3, 2, passes=1)


def test_two_doses_that_differ_by_a_hundred_are_remarked_on():
    own = grid()
    gy = linear(own)
    answer = beamsight.gamma((gy, own), (gy * 100, own), device="cpu")
    assert any("cGy" in warning for warning in answer.receipt["warnings"]), answer.receipt["warnings"]


def test_beside_pymedphys():
    """A dose of two balls, moved by 1.5 mm and 2 % hotter: pymedphys samples at a tenth of the distance, so that it is above
    the exact gamma by what lies between its samples and nowhere much below."""
    pymedphys = pytest.importorskip("pymedphys", reason="pymedphys is not installed")
    own = grid((18, 20, 22), (2.5, 2.5, 2.5), (-27.0, -24.0, -21.0))
    x, y, z = positions(own)

    def balls(shift):
        r1 = (x - shift) ** 2 + y**2 + z**2
        r2 = (x - shift - 12) ** 2 + (y - 6) ** 2 + (z + 5) ** 2
        return 2 * np.exp(-r1 / 250) + np.exp(-r2 / 120)

    a, b = balls(0.0), 1.02 * balls(1.5)
    axes = own.axes()
    words = dict(lower_percent_dose_cutoff=10, interp_fraction=10, max_gamma=3, interp_algo="scipy")
    ours = beamsight.gamma(axes, a, axes, b, 3, 2, **words)
    theirs = pymedphys.gamma(axes, a, axes, b, 3, 2, **words)
    both = ~np.isnan(ours)
    assert np.array_equal(both, ~np.isnan(theirs)), "the same points are judged"
    apart = theirs[both] - ours[both]
    assert np.abs(np.median(apart)) < 0.02 and np.percentile(np.abs(apart), 99) < 0.1, np.percentile(apart, [0, 1, 50, 99, 100])
    passing = [100 * np.mean(gamma[both] <= 1) for gamma in (ours, theirs)]
    assert abs(passing[0] - passing[1]) < 1.0, passing
