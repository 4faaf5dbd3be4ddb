"""Plans: optimised, checked, exported; machines: the verbs ``optimise``, ``check``, ``export`` and ``machine``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _accept
from . import _beamsight as core
from ._jobs import how_computed, how_run, plan_of
from ._progress import Progress, callback
from ._typed import POSE, typed

File = Union[str, "os.PathLike[str]"]
Files = Union[File, Sequence[File]]
_POSE = (f"what register found, or {POSE[0]}", lambda pose: isinstance(pose, core.Registration) or POSE[1](pose))


def optimise(
    case: Any,
    plan: Any = None,
    *,
    goals: Optional[str] = None,
    beamlets: float = 5.0,
    rows: Optional[float] = None,
    technique: str = "maps",
    arcs: int = 1,
    engine: str = "cccs",
    uncertainty: Optional[float] = None,
    grid: Optional[float] = None,
    quality: Optional[str] = None,
    dose_to: Optional[str] = None,
    machine: Optional[str] = None,
    hu_table: Optional[str] = None,
    body: Optional[str] = None,
    device: str = "auto",
    progress: Progress = None,
) -> core.Optimum:
    """Fluence maps of a plan's beams whose true dose meets goals best: those of ``beamsight optimise``.

    ``goals``: a shipped template by its word, or a file; left out, those of the case's session. ``beamlets``: their width along
    the leaves' travel, mm. ``rows``: spacing of the sampled voxels, mm (that of the dose grid). ``technique``: ``maps``, which are
    true and not deliverable, or with ``leaves`` that deliver them, refined on their true dose: by a sliding window (``imrt``), by
    step and shoot (``step``, or ``few`` for five segments a beam), or by arcs (``vmat``: those of the plan, or so many whole turns as
    ``arcs``, 1 to 4, where it has none). ``engine``: with ``mc`` or ``mccs`` the maps, once at rest by collapsed cone, are corrected by four runs of Monte Carlo, each
    to ``uncertainty`` in percent (1); weights of goals stay, and ``receipt["histories"]`` tells the runs. ``plan`` and the rest: as
    ``dose`` has them. Raises ArgumentError, ComputationError.
    """
    run = how_run(engine, None, uncertainty)
    how = how_computed(grid, quality, dose_to, machine, hu_table, body, device)
    asked = {"goals": goals, "beamlets": beamlets, "rows": rows, "technique": technique, "arcs": arcs, "search": True}
    return _optimise(case, plan, how, typed(asked), run, progress)


def influence(
    case: Any,
    plan: Any = None,
    *,
    goals: Optional[str] = None,
    beamlets: float = 5.0,
    rows: Optional[float] = None,
    grid: Optional[float] = None,
    quality: Optional[str] = None,
    dose_to: Optional[str] = None,
    machine: Optional[str] = None,
    hu_table: Optional[str] = None,
    body: Optional[str] = None,
    device: str = "auto",
    progress: Progress = None,
) -> core.Optimum:
    """True collapsed-cone columns of a plan's beamlets at sampled voxels, for an optimiser of one's own: the matrix on which
    ``optimise`` works, its rows by structure, its objectives, and fluences to start from. Arguments as ``optimise``."""
    how = how_computed(grid, quality, dose_to, machine, hu_table, body, device)
    asked = {"goals": goals, "beamlets": beamlets, "rows": rows, "technique": "maps", "arcs": 1, "search": False}
    return _optimise(case, plan, how, typed(asked), how_run("cccs", None, None), progress)


def _optimise(
    case: Any, plan: Any, how: Dict[str, Any], asked: Dict[str, Any], run: Dict[str, Any], progress: Progress
) -> core.Optimum:
    case = _accept.case(case)
    with callback(progress, "optimise" if asked["search"] else "influence") as tell:
        return core._optimise(case, plan_of(plan, case), how, asked, run, tell)


def plan(
    case: Any,
    protocol: str,
    *,
    technique: Optional[str] = None,
    grid: Optional[float] = None,
    quality: Optional[str] = None,
    dose_to: Optional[str] = None,
    machine: Optional[str] = None,
    hu_table: Optional[str] = None,
    body: Optional[str] = None,
    device: str = "auto",
    progress: Progress = None,
) -> Tuple[core.Plan, core.Dose, Dict[str, Any]]:
    """A plan by a protocol, as ``beamsight plan``: structures by expression, beams, maps, leaves, true dose and judged goals.

    ``protocol``: a shipped one by its word, or a file. ``technique``: ``maps``, ``imrt``, ``step``, ``few`` or ``vmat`` in place of the
    protocol's. The rest: as ``dose`` has them. Gives the plan with its delivered monitor units, its dose, and figures: ``targets``,
    ``goals`` with ``value`` and ``met``, ``robust`` under the protocol's set-up error. Raises ArgumentError, ComputationError.
    """
    case = _accept.case(case)
    how = how_computed(grid, quality, dose_to, machine, hu_table, body, device)
    with callback(progress, "plan") as tell:
        return core._plan(case, os.fspath(protocol), technique, how, tell)


def robust(
    case: Any,
    plan: Any = None,
    *,
    shift_mm: float = 3.0,
    scenarios: int = 7,
    goals: Optional[str] = None,
    engine: str = "cccs",
    uncertainty: Optional[float] = None,
    grid: Optional[float] = None,
    quality: Optional[str] = None,
    dose_to: Optional[str] = None,
    machine: Optional[str] = None,
    hu_table: Optional[str] = None,
    body: Optional[str] = None,
    device: str = "auto",
    progress: Progress = None,
) -> Tuple[Dict[str, Any], core.Dose, core.Dose]:
    """A plan under set-up errors: true doses with all isocentres shifted by ``shift_mm``, as ``beamsight robust``.

    ``scenarios``: 7 along the axes of the patient, or 27 with the diagonals. Gives what ``beamsight robust --json`` has
    (``scenarios``, ``goals`` with ``value`` and ``worst``, ``bands``), and the least and the greatest dose of each voxel, which no
    plan delivers: both are partial. ``plan``, ``goals`` and the rest: as ``optimise`` and ``dose`` have them. Raises ArgumentError,
    ComputationError.
    """
    case = _accept.case(case)
    how = how_computed(grid, quality, dose_to, machine, hu_table, body, device)
    shifts = typed({"shift_mm": shift_mm, "scenarios": scenarios, "goals": goals})
    with callback(progress, "robust") as tell:
        return core._robust(case, plan_of(plan, case), how, shifts, how_run(engine, None, uncertainty), tell)


def fractions(
    case: Any,
    poses: Any,
    plan: Any = None,
    *,
    goals: Optional[str] = None,
    engine: str = "cccs",
    uncertainty: Optional[float] = None,
    grid: Optional[float] = None,
    quality: Optional[str] = None,
    dose_to: Optional[str] = None,
    machine: Optional[str] = None,
    hu_table: Optional[str] = None,
    body: Optional[str] = None,
    device: str = "auto",
    progress: Progress = None,
) -> Tuple[Dict[str, Any], core.Dose]:
    """Fractions at the poses of their days, and the sum of the course, as ``beamsight fractions``.

    ``poses``: a table (``.csv``), or for each fraction that was delivered what ``register`` found, or six numbers (tx, ty, tz in mm,
    rx, ry, rz in degrees). Fractions to come count at the mean pose. Gives what ``beamsight fractions --json`` has, and the sum in Gy:
    rigid, and partial for it. The rest: as ``robust`` has it. Raises FileError, ArgumentError, ComputationError.
    """
    case = _accept.case(case)
    how = how_computed(grid, quality, dose_to, machine, hu_table, body, device)
    asked = {"poses": poses if _accept.is_path(poses) else [_six_numbers(pose) for pose in poses], "goals": goals}
    with callback(progress, "fractions") as tell:
        return core._fractions(case, plan_of(plan, case), how, asked, how_run(engine, None, uncertainty), tell)


def _six_numbers(pose: Any) -> Tuple[float, ...]:
    numbers = pose.pose if isinstance(pose, core.Registration) else pose
    kind, accepts = POSE
    if not accepts(numbers):
        raise TypeError(f"a pose is what register found, or {kind}, not {numbers!r}")
    return tuple(float(number) for number in numbers)


def check(
    folder: File,
    *,
    machine: Union[str, Sequence[str]] = (),
    engine: str = "cccs",
    uncertainty: Optional[float] = None,
    grid: Optional[float] = None,
    gamma: Optional[Tuple[float, float]] = None,
    goals: Optional[str] = None,
    tolerances: Optional[File] = None,
    device: str = "auto",
    progress: Progress = None,
) -> Dict[str, Any]:
    """The second check of the plans of a folder (CT, RTPLAN, RTDOSE, RTSTRUCT): each recomputed for its own monitor units and
    compared, as ``beamsight check FOLDER --json`` has it.

    Gives ``{"checks": [...], "notes": [...]}``; the verdict of a check is ``check["judgement"]["verdict"]``, with its reasons:
    a plan that could not be judged has no verdict of agreement. ``machine``: model of the treatment machine, once for each
    energy. ``grid``: spacing of the recomputed dose in mm (2.5, which is the most). ``gamma``: percent and mm. Raises FileError, ArgumentError, ComputationError.
    """
    machines = [machine] if isinstance(machine, str) else list(machine)
    with callback(progress, "check") as tell:
        return core._check(folder, machines, engine, uncertainty, grid, gamma, goals, tolerances, device, tell)


def machine_fit(
    out: File,
    *,
    pdd: Files = (),
    profiles: Files = (),
    output_factors: Optional[File] = None,
    start: File = "generic-6mv",
    fix: Sequence[str] = (),
    quality: Optional[str] = None,
    overwrite: bool = False,
    device: str = "auto",
    progress: Progress = None,
) -> Dict[str, Any]:
    """Fits a machine to measured depth doses, profiles and output factors and writes its file (``.toml``), as
    ``beamsight machine fit``. Gives the report: ``verdict``, ``outside``, ``not_tested``, ``parameters``, and ``curves``, whose
    ``points`` are positions (mm) with the measured and the computed dose (percent of the maximum of a depth dose, of the axis of a
    profile). ``fix``: parameters that stay. ``quality`` of the comparison in the end: ``full``, ``standard`` or ``fast``. A fit of a
    few fields takes minutes. Raises FileError, ArgumentError, ComputationError."""
    with callback(progress, "machine fit") as tell:
        return core._machine_fit(_files(pdd), _files(profiles), output_factors, out, os.fspath(start), list(fix), quality, overwrite, device, tell)


def machine_check(
    machine: File,
    *,
    pdd: Files = (),
    profiles: Files = (),
    output_factors: Optional[File] = None,
    quality: Optional[str] = None,
    device: str = "auto",
    progress: Progress = None,
) -> Dict[str, Any]:
    """Compares a machine (a shipped name or a file) with measured data, as ``beamsight machine check``: the
    report of ``machine_fit``."""
    with callback(progress, "machine check") as tell:
        return core._machine_check(os.fspath(machine), _files(pdd), _files(profiles), output_factors, quality, device, tell)


def _files(files: Files) -> List[File]:
    return [files] if _accept.is_path(files) else list(files)  # type: ignore[arg-type, list-item]


def export(
    case: Any,
    out: File,
    plan: Any = None,
    *,
    only: Optional[Sequence[str]] = None,
    dose: Optional[str] = None,
    bits: int = 32,
    anonymise: bool = False,
    shift_dates: Optional[int] = None,
    xrays: Files = (),
    pose: Union[None, Sequence[float], core.Registration] = None,
    any_patient: bool = False,
    overwrite: bool = False,
    engine: str = "cccs",
    histories: Optional[float] = None,
    uncertainty: Optional[float] = None,
    grid: Optional[float] = None,
    quality: Optional[str] = None,
    dose_to: Optional[str] = None,
    machine: Optional[str] = None,
    hu_table: Optional[str] = None,
    body: Optional[str] = None,
    device: str = "auto",
    progress: Progress = None,
) -> Path:
    """Writes a case as one study of DICOM files into a folder, all files or none, as ``beamsight export``; gives the folder.

    ``only``: of ct, structures, plan, dose, registration, drr, xray. ``dose``: plan, beams or both. Only a final dose leaves.
    ``anonymise``: DICOM PS3.15, basic profile. ``xrays``: files of X-rays (RT image, DX, CR, XA; a picture with its place beside
    it), which leave as they are, with the DRRs that they would be of the CT in ``pose`` and the registration of both; ``pose``: what
    ``register`` found, or six numbers as ``drr`` takes them (zeros). ``any_patient``: X-rays of another patient ID are taken.
    Remarks on what was left are warnings of Python. Raises FileError, ArgumentError, ComputationError.
    """
    import warnings

    case = _accept.case(case)
    run = how_run(engine, histories, uncertainty)
    options = {
        "only": None if only is None else list(only),
        "dose": dose,
        "bits": bits,
        "anonymise": anonymise,
        "shift_dates": shift_dates,
        "overwrite": overwrite,
        "xrays": _files(xrays),
        "pose": pose,
        "any_patient": any_patient,
    }
    how = how_computed(grid, quality, dose_to, machine, hu_table, body, device)
    with callback(progress, "export") as tell:
        folder, _, remarks = core._export(case, out, plan_of(plan, case), how, run, typed(options, pose=_POSE), tell)
    for remark in remarks:
        warnings.warn(remark, stacklevel=2)
    return Path(folder)
