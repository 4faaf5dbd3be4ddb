"""Gamma of two doses, in beamsight's own words and in those of pymedphys."""

from __future__ import annotations

import warnings
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from . import _accept
from . import _beamsight as core
from ._progress import Progress, callback
from ._typed import PAIR, listed, typed
from .errors import ArgumentError, UnjudgedWarning

# Its arguments, in its order, with its defaults (pymedphys 0.41).
_PYMEDPHYS: Dict[str, Any] = {
    "axes_reference": None,
    "dose_reference": None,
    "axes_evaluation": None,
    "dose_evaluation": None,
    "dose_percent_threshold": None,
    "distance_mm_threshold": None,
    "lower_percent_dose_cutoff": 20,
    "interp_fraction": 10,
    "max_gamma": None,
    "local_gamma": False,
    "global_normalisation": None,
    "skip_once_passed": False,
    "random_subset": None,
    "ram_available": None,
    "quiet": None,
    "interp_algo": None,
}


_CRITERIA = "dose and dta are numbers, percent and mm, and criteria is a list of pairs of them: [(3, 2), (2, 2)]"


def gamma(*args: Any, **options: Any) -> Any:
    """Gamma of two doses (Low 1998); the distance to the evaluated dose, interpolated linearly, is exact.

    Own form
    --------
    ``gamma(reference, evaluated, dose=3, dta=2, *, local=False, threshold=10, norm="near-max", max_gamma=2, dims=3,
    structure=None, case=None, measured=False, any_patient=False, subset=None, seed=1, trilinear=False, device="auto",
    progress=None)`` gives a :class:`Gamma`, with the map, the report and the receipt.

    Doses are :class:`Dose`, paths, pydicom data sets, SimpleITK images in Gy, or ``(array in Gy, grid)``, each on a grid of
    its own. ``dose``: percent of ``norm``, or of the dose at the point with ``local``; ``dta``: mm; ``criteria``: a list
    of (percent, mm) in their place, answered together. ``threshold``: percent of ``norm`` below which no point is looked at.
    ``norm``: ``near-max``, ``max``, ``rx`` (the prescription of ``case``) or Gy. ``max_gamma``: where the search ends;
    None, as far as it takes. ``dims``: 3, 2.5 (plane by plane) or 2. The same as ``beamsight gamma``, to the bit.

    Form of pymedphys
    -----------------
    ``gamma(axes_reference, dose_reference, axes_evaluation, dose_evaluation, dose_percent_threshold,
    distance_mm_threshold, lower_percent_dose_cutoff=20, interp_fraction=10, max_gamma=None, local_gamma=False,
    global_normalisation=None, skip_once_passed=False, random_subset=None, ram_available=None, quiet=None)`` gives the array of
    gamma, or a dictionary of arrays by (percent, mm) for several thresholds. Axes are coordinates in mm in the order of the
    array's axes, (z, y, x), (y, x) or (x,). The dose between voxels is exact, so ``interp_fraction``, ``ram_available``,
    ``quiet`` and ``interp_algo`` change nothing. NaN marks points below the cutoff and points outside the evaluated dose,
    for which pymedphys looks for the nearest dose inside: a ``beamsight.errors.UnjudgedWarning`` counts these.

    Raises ArgumentError and ComputationError.
    """
    if len(args) > 4 or not options.keys().isdisjoint(list(_PYMEDPHYS)[:6]):
        unknown = set(options) - set(_PYMEDPHYS)
        if unknown or len(args) > len(_PYMEDPHYS):
            raise TypeError(f"gamma() with axes takes the arguments of pymedphys.gamma, not {sorted(unknown)}")
        given = dict(zip(_PYMEDPHYS, args))
        twice = set(given) & set(options)
        if twice:
            raise TypeError(f"gamma() got several values for {sorted(twice)}")
        return _as_pymedphys(**{**_PYMEDPHYS, **given, **options})
    return _own(*args, **options)


def _own(
    reference: Any,
    evaluated: Any,
    dose: float = 3.0,
    dta: float = 2.0,
    *,
    criteria: Optional[Sequence[Tuple[float, float]]] = None,
    local: bool = False,
    threshold: float = 10.0,
    norm: Union[str, float] = "near-max",
    max_gamma: Optional[float] = 2.0,
    dims: Union[str, float] = 3,
    structure: Optional[str] = None,
    case: Any = None,
    measured: bool = False,
    any_patient: bool = False,
    subset: Optional[int] = None,
    seed: int = 1,
    trilinear: bool = False,
    device: str = "auto",
    progress: Progress = None,
) -> core.Gamma:
    how = {
        "criteria": listed([(dose, dta)] if criteria is None else criteria, PAIR, _CRITERIA),
        "stricter": True,
        "local": local,
        "threshold": threshold,
        "norm": norm,
        "max_gamma": max_gamma,
        "dims": f"{dims:g}" if isinstance(dims, (int, float)) else dims,
        "structure": structure,
        "measured": measured,
        "any_patient": any_patient,
        "subset": subset,
        "seed": seed,
        "trilinear": trilinear,
        "device": device,
    }
    of = None if case is None else _accept.case(case)
    with callback(progress, "gamma") as tell:
        return core._gamma(_accept.dose(reference), _accept.dose(evaluated), typed(how), of, tell)


def _as_pymedphys(**given: Any) -> Any:
    missing = [name for name in list(_PYMEDPHYS)[:6] if given[name] is None]
    if missing:
        raise TypeError(f"gamma() misses {', '.join(missing)}")
    axes = _axes(given["axes_reference"]), _axes(given["axes_evaluation"])
    arrays = np.asarray(given["dose_reference"]), np.asarray(given["dose_evaluation"])
    for name, own, array in zip(("reference", "evaluation"), axes, arrays):
        shape = tuple(len(axis) for axis in own)
        if shape != array.shape:
            raise ArgumentError(f"the {name} dose has the shape {array.shape}, and its axes {shape}")
    if len(axes[0]) != len(axes[1]) or not 1 <= len(axes[0]) <= 3:
        raise ArgumentError(f"doses of {len(axes[0])} and {len(axes[1])} axes: both have 1, 2 or 3")
    line = len(axes[0]) == 1
    reference, flipped = _dose(axes[0], arrays[0], [0.0] if line else None)
    # A line is a plane that is the same across it.
    evaluated, _ = _dose(axes[1], arrays[1], [-1.0, 1.0] if line else None)
    percents = np.atleast_1d(np.asarray(given["dose_percent_threshold"], dtype=float))
    distances = np.atleast_1d(np.asarray(given["distance_mm_threshold"], dtype=float))
    most = given["max_gamma"]
    most = None if most is None or np.isinf(most) else float(most)
    criteria = [(float(percent), float(mm)) for percent in percents for mm in distances]
    normal = given["global_normalisation"]
    how = {
        "criteria": criteria,
        "stricter": False,
        "local": bool(given["local_gamma"]),
        "threshold": float(given["lower_percent_dose_cutoff"]),
        "norm": "max" if normal is None else float(normal),
        "max_gamma": None if most is None else max(most, 1.1),
        "dims": "3" if len(axes[0]) == 3 else "2",
        "structure": None,
        "measured": False,
        "any_patient": False,
        "subset": given["random_subset"],
        "seed": 1 if given["random_subset"] is None else int(np.random.default_rng().integers(1 << 31)),
        "trilinear": False,
        "device": "auto",
    }
    answer = core._gamma(reference, evaluated, how)
    _warn_of_unjudged(answer)

    def shown(index: int) -> np.ndarray:
        array = np.array(answer.of_criterion(index)).reshape([len(axis) for axis in axes[0]])
        array = np.flip(array, flipped)
        return array if most is None else np.minimum(array, most)

    if len(criteria) == 1:
        return shown(0)
    return {criterion: shown(index) for index, criterion in enumerate(criteria)}


def _warn_of_unjudged(answer: core.Gamma) -> None:
    unjudged, points = answer.not_judged, answer.points + answer.not_judged
    if unjudged:
        warnings.warn(
            f"{unjudged} of {points} points of the reference have no gamma (NaN), since they lie outside the evaluated dose, or have "
            "0 Gy under a local criterion: they neither pass nor fail, and a pass rate is one of the others alone",
            UnjudgedWarning,
            # The line of the caller of beamsight.gamma.
            stacklevel=4,
        )


def _axes(axes: Any) -> Tuple[np.ndarray, ...]:
    # pymedphys takes the only axis of a line by itself, too.
    if isinstance(axes, np.ndarray) and axes.ndim == 1 or np.ndim(axes[0]) == 0:
        axes = (axes,)
    own = tuple(np.asarray(axis, dtype=float) for axis in axes)
    for axis in own:
        step = np.diff(axis)
        if axis.ndim != 1 or not np.all(np.isfinite(axis)) or not (np.all(step > 0) or np.all(step < 0)):
            raise ArgumentError("each axis is a line of finite coordinates in mm that ascend or descend")
    return own


def _dose(axes: Tuple[np.ndarray, ...], array: np.ndarray, rows: Optional[list]) -> Tuple[core.Dose, Tuple[int, ...]]:
    """A dose on ascending axes, and which axes were turned round for that."""
    flipped = tuple(n for n, axis in enumerate(axes) if len(axis) > 1 and axis[1] < axis[0])
    array = np.flip(array, flipped)
    axes = tuple(axis[::-1] if n in flipped else axis for n, axis in enumerate(axes))
    if rows is not None:
        array, axes = np.broadcast_to(array, (len(rows), *array.shape)), (np.array(rows), *axes)
    if len(axes) == 2:
        array, axes = array[None], (np.zeros(1), *axes)
    z, y, x = axes
    grid = core.Grid(array.shape, (_spacing(x), _spacing(y), 1.0), (x[0], y[0], z[0]), None, (z - z[0]).tolist())
    return core.Dose(array, grid), flipped


def _spacing(axis: np.ndarray) -> float:
    if len(axis) == 1:
        return 1.0
    mean = (axis[-1] - axis[0]) / (len(axis) - 1)
    if np.max(np.abs(axis - (axis[0] + mean * np.arange(len(axis))))) > 1e-3:
        raise ArgumentError("rows and columns are unevenly spaced: resample the dose on even ones (planes may be uneven)")
    return float(mean)
