"""Doses and DVHs: the verbs ``dose`` and ``dvh``."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Union, overload

from . import _accept
from . import _beamsight as core
from ._progress import Progress, callback
from ._tables import Dvhs
from ._typed import NUMBER, TEXT, listed, typed


def how_computed(
    grid: Optional[float] = None,
    quality: Optional[str] = None,
    dose_to: Optional[str] = None,
    machine: Optional[str] = None,
    hu_table: Optional[str] = None,
    body: Optional[str] = None,
    device: str = "auto",
) -> Dict[str, Any]:
    """Arguments of computed doses, as the compiled module takes them."""
    how = {
        "grid": grid,
        "quality": quality,
        "dose_to": dose_to,
        "machine": machine,
        "hu_table": hu_table,
        "body": body,
        "device": device,
    }
    return typed(how)


def how_run(
    engine: str,
    histories: Optional[float],
    uncertainty: Optional[float],
    seed: Optional[int] = None,
    directions: Optional[int] = None,
    variant: Optional[str] = None,
    electron_cut_kev: Optional[int] = None,
) -> Dict[str, Any]:
    """The engine and the arguments of Monte Carlo, as the compiled module takes them."""
    run = {
        "engine": engine,
        "histories": histories,
        "uncertainty": uncertainty,
        "seed": seed,
        "directions": directions,
        "variant": variant,
        "electron_cut_kev": electron_cut_kev,
    }
    return typed(run)


def plan_of(plan: Any, case: core.Case) -> Optional[core.Plan]:
    """A plan: one, a dictionary, a plan file, or None for the case's first."""
    if plan is None or isinstance(plan, core.Plan):
        return plan
    if isinstance(plan, dict):
        return core.Plan.from_dict(plan)
    if not _accept.is_path(plan):
        raise TypeError(f"plan is a Plan, its dictionary or a plan file, not {type(plan).__name__}")
    return core.Plan.read(plan, case)


def dose(
    case: Any,
    plan: Any = None,
    *,
    engine: str = "cccs",
    grid: Optional[float] = None,
    quality: Optional[str] = None,
    dose_to: Optional[str] = None,
    machine: Optional[str] = None,
    hu_table: Optional[str] = None,
    body: Optional[str] = None,
    histories: Optional[float] = None,
    uncertainty: Optional[float] = None,
    seed: Optional[int] = None,
    directions: Optional[int] = None,
    variant: Optional[str] = None,
    electron_cut_kev: Optional[int] = None,
    device: str = "auto",
    on_card: bool = False,
    progress: Progress = None,
) -> core.Dose:
    """The dose of a plan in Gy of all fractions: that of ``beamsight dose``, to the bit.

    ``case``: a :class:`Case`, what ``open`` takes, or pydicom data sets. ``plan``: a :class:`Plan`, its dictionary, a plan
    file, or the case's first; ``{**plan, "beams": [beam]}`` computes single beams. ``engine``: ``cccs`` (collapsed cone),
    ``mccs`` (Monte Carlo convolution) or ``mc`` (Monte Carlo with electrons): both take ``histories`` like 5e7, or
    ``uncertainty`` in percent, and ``seed``, the first ``directions`` and ``variant``, the second ``electron_cut_kev`` (200
    or 100), and their ``sigma_gy`` is one standard deviation. ``grid``: spacing in mm (2.5). ``quality``: ``full`` (384 directions),
    ``standard`` (128) or ``fast`` (48). ``dose_to``: ``medium`` or ``water``. ``machine``: for all beams, a shipped name or
    a file. ``hu_table``: a shipped name or a file. ``body``: ``auto``, ``none`` or a structure. ``device``: ``auto``,
    ``cpu``, ``cuda``, ``cuda:N``, ``wgpu`` or ``wgpu:N``; the result says which one answered. ``progress``: a function
    ``(fraction, step)``, or True for a bar of tqdm.

    With ``on_card`` the dose also stays in the memory of the NVIDIA card, where torch, CuPy and JAX read it by DLPack
    (``torch.from_dlpack(dose)``, to be read only). Beams that the card computed are added there, equal to ``gy`` to the bit;
    Monte Carlo doses, and beams with a bolus of their own, are added on the host and copied to it. ComputationError where no
    NVIDIA card answers.

    The status is ``final`` only for the whole plan at full quality on 2.5 mm or finer; else ``coarse`` or ``partial``, with
    caveats. Ctrl-C cancels. Raises ArgumentError, ComputationError.
    """
    case = _accept.case(case)
    how = how_computed(grid, quality, dose_to, machine, hu_table, body, device)
    run = how_run(engine, histories, uncertainty, seed, directions, variant, electron_cut_kev)
    with callback(progress, "dose") as tell:
        return core._dose(case, plan_of(plan, case), how, run, on_card, tell)


@overload
def dvh(
    case: Any, dose: Any, structures: str, *, prescription_gy: Optional[float] = None, any_patient: bool = False
) -> core.Dvh: ...
@overload
def dvh(
    case: Any,
    dose: Any,
    structures: Optional[Sequence[str]] = None,
    *,
    prescription_gy: Optional[float] = None,
    any_patient: bool = False,
) -> Dvhs: ...
def dvh(
    case: Any,
    dose: Any,
    structures: Union[None, str, Sequence[str]] = None,
    *,
    prescription_gy: Optional[float] = None,
    any_patient: bool = False,
) -> Union[core.Dvh, Dvhs]:
    """DVHs of structures in a dose: those of ``beamsight dvh``, to the bit.

    ``dose``: as ``gamma`` takes them. ``structures``: one name, which gives its :class:`Dvh`, or several, or None for all
    drawn ones, which gives a dictionary by name (:class:`Dvhs`, with ``to_pandas``); a structure without a DVH has the sentence
    that says why in its place.
    ``prescription_gy``: the 100 % of metrics in percent; left out, what the plans of the case prescribe, where they agree.
    Raises ArgumentError.
    """
    case = _accept.case(case)
    if prescription_gy is None:
        prescribed = {plan.prescription_gy for plan in case.plans} - {None}
        prescription_gy = prescribed.pop() if len(prescribed) == 1 else None
    typed({"prescription_gy": prescription_gy}, prescription_gy=NUMBER)
    names = None
    if structures is not None:
        words = f"structures is a name, several names, or None for all, not {type(structures).__name__}"
        names = listed([structures] if isinstance(structures, str) else structures, TEXT, words)
    answers = core._dvh(case, _accept.dose(dose), names, prescription_gy, any_patient)
    if not isinstance(structures, str):
        return Dvhs(answers)
    [(_, answer)] = answers
    if isinstance(answer, str):
        from .errors import ComputationError

        raise ComputationError(f"{structures}: {answer}")
    return answer
