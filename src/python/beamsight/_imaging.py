"""Radiographs and registration: the verbs ``drr`` and ``register``."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple, Union

from . import _accept
from . import _beamsight as core
from ._progress import Progress, callback
from ._typed import NUMBER, PAIR, typed

Pair = Union[float, Sequence[float]]
POSE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _place(gantry: float, couch: float, isocentre: Any, sad: float, sid: float, size: Any, pixel: Pair, shift: Any) -> Dict[str, Any]:
    typed({"gantry": gantry}, gantry=NUMBER)
    pixel = pixel if hasattr(pixel, "__len__") else (pixel, pixel)
    place = {
        "gantry": gantry,
        "couch": couch,
        "isocentre": isocentre,
        "sad": sad,
        "sid": sid,
        "size": size,
        "pixel": pixel,
        "shift": shift,
    }
    return typed(place, pixel=PAIR)


def drr(
    case: Any,
    *,
    gantry: float = 0.0,
    couch: float = 0.0,
    isocentre: Optional[Sequence[float]] = None,
    sad: float = 1000.0,
    sid: float = 1500.0,
    size: Tuple[int, int] = (750, 750),
    pixel: Pair = 0.4,
    shift: Tuple[float, float] = (0.0, 0.0),
    pose: Sequence[float] = POSE,
    integrator: Optional[str] = None,
    step: Optional[float] = None,
    curve: str = "water",
    energy_mev: float = 0.07,
    hu_table: str = "matrad-default",
    threshold: Optional[float] = None,
    bone: float = 1.0,
    gradient: bool = False,
    side: float = 2.0,
    device: str = "auto",
    progress: Progress = None,
) -> core.Radiograph:
    """A digitally reconstructed radiograph: line integrals of attenuation from the source to each pixel.

    Angles are degrees (IEC 61217), distances mm; ``isocentre`` is x, y, z in patient LPS: left out, that of the case's first
    beam, else the middle of the CT. ``size`` is columns, rows. ``pose`` moves the patient: tx, ty, tz (mm), rx, ry, rz
    (degrees), turned about the isocentre by rx about x, then ry about y, then rz about z, then shifted. ``integrator``:
    ``trilinear`` (where it is left out), ``exact`` or ``texture``. ``threshold`` (HU) and ``bone`` as in ``beamsight drr``, whose image this is, to the bit.

    With ``gradient`` the image is that of the pose search: of the CT averaged to voxels of ``side`` mm (or its own, where
    they are larger), with its derivatives by the six numbers of the pose (1/mm, 1/degree), pixel by pixel those of the image: it is
    integrated from face to face of the voxels, on the CPU. With ``integrator="trilinear"`` it is sampled in steps (``step`` mm; half a
    voxel), on a card where there is one, as in the search: the derivative of a smooth sum of pixels, such as a loss, is right to 1 %
    then, that of single pixels differs from differences of the image by 5 to 51 % rms. ``device``: an NVIDIA card or the CPU;
    ``receipt`` says which one answered.

    Raises ArgumentError; ComputationError where the image misses the patient.
    """
    place = _place(gantry, couch, isocentre, sad, sid, size, pixel, shift)
    how = {
        "pose": pose,
        "integrator": integrator,
        "step": step,
        "curve": curve,
        "energy_mev": energy_mev,
        "hu_table": hu_table,
        "threshold": threshold,
        "bone": bone,
        "gradient": gradient,
        "side": side,
        "device": device,
    }
    with callback(progress, "drr") as tell:
        return core._drr(_accept.case(case), place, typed(how), tell)


def radiograph(
    values: Any,
    *,
    gantry: float = 0.0,
    couch: float = 0.0,
    isocentre: Sequence[float] = (0.0, 0.0, 0.0),
    sad: float = 1000.0,
    sid: float = 1500.0,
    pixel: Pair = 0.4,
    shift: Tuple[float, float] = (0.0, 0.0),
    position: str = "HFS",
    bone_is_bright: bool = True,
    label: str = "array",
) -> core.Radiograph:
    """An X-ray of an array ``[row, column]`` with its place, for ``register``: rows from the top (towards the gantry), columns
    from the left, as seen from the source. ``pixel`` is of the image's own plane, at ``sid``. Raises ArgumentError."""
    place = _place(gantry, couch, isocentre, sad, sid, (1, 1), pixel, shift)
    return core._radiograph(values, place, position, bone_is_bright, label)


def register(
    case: Any,
    images: Any,
    *,
    start: Sequence[float] = POSE,
    metric: str = "gradient",
    method: str = "auto",
    lock: Union[str, Sequence[str]] = (),
    reach: Tuple[float, float] = (40.0, 25.0),
    share: float = 1.0,
    seed: int = 1,
    energy_mev: float = 0.07,
    gantry: Pair = (),
    isocentre: Optional[Sequence[float]] = None,
    sad: Optional[float] = None,
    sid: Optional[float] = None,
    pixel: Optional[float] = None,
    bone_dark: bool = False,
    any_patient: bool = False,
    device: str = "auto",
    progress: Progress = None,
) -> core.Registration:
    """The pose of the CT whose radiographs match one or two X-rays best: that of ``beamsight register``.

    ``images``: a file (RT image, DX, CR, XA, or PNG and TIFF with their place beside them), a :class:`Radiograph`, or two of
    them. ``gantry`` (one for each file), ``isocentre``, ``sad``, ``sid``, ``pixel``: where a file does not say. ``metric``: ncc,
    local-ncc, gradient-ncc, gradient, mi or rank. ``method``: auto, cma, powell or gradient. ``lock``: numbers of the pose
    that stay, of tx, ty, tz, rx, ry, rz. ``reach``: mm and degrees from the start.

    Raises NoMatchError, with the reasons, where what is found is no match; ArgumentError, FileError, ComputationError.
    """
    one = isinstance(images, core.Radiograph) or _accept.is_path(images)
    how = {
        "start": start,
        "metric": metric,
        "method": method,
        "lock": lock.replace(",", " ").split() if isinstance(lock, str) else list(lock),
        "reach": reach,
        "share": share,
        "seed": seed,
        "energy_mev": energy_mev,
        "gantry": [gantry] if isinstance(gantry, (int, float)) else list(gantry),
        "isocentre": isocentre,
        "sad": sad,
        "sid": sid,
        "pixel": pixel,
        "bone_dark": bone_dark,
        "any_patient": any_patient,
        "device": device,
    }
    with callback(progress, "register") as tell:
        return core._register(_accept.case(case), [images] if one else list(images), typed(how, pixel=NUMBER), tell)
