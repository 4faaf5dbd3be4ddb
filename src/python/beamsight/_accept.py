"""Objects of other libraries as those of beamsight: paths, arrays, pydicom data sets, SimpleITK images."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, Mapping, Optional, Sequence

import numpy as np

from . import _beamsight as core
from .errors import ArgumentError


# What an image states of itself, as the header of a .mha file of beamsight does; SimpleITK reads and writes both alike.
_FACTS = ("Comment", "DoseStatus", "Remarks", "Quantity", "Unit", "PatientID", "PatientName", "FrameOfReferenceUID")


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def is_sitk(value: Any) -> bool:
    return hasattr(value, "GetDirection") and hasattr(value, "GetSpacing")


def is_dataset(value: Any) -> bool:
    return hasattr(value, "save_as") and hasattr(value, "SOPClassUID")


def case(value: Any) -> core.Case:
    """A case: one, a CASE word or path, or a list of pydicom data sets, which are read as files are."""
    if isinstance(value, core.Case):
        return value
    if is_path(value):
        return core.open(value)
    if isinstance(value, (list, tuple)) and value and all(is_dataset(each) for each in value):
        with tempfile.TemporaryDirectory(prefix="beamsight-") as folder:
            for number, dataset in enumerate(value):
                _save(dataset, os.path.join(folder, f"{number:05}.dcm"))
            return core.open(folder)
    raise ArgumentError(f"{type(value).__name__} is no case: pass beamsight.open(path), a path, or pydicom data sets")


def case_of_arrays(
    hu: Any,
    grid: core.Grid,
    masks: Optional[Mapping[str, Any]] = None,
    *,
    kinds: Optional[Mapping[str, str]] = None,
    position: str = "HFS",
    patient_id: str = "",
    patient_name: str = "",
    label: str = "arrays",
    plans: Sequence[core.Plan] = (),
) -> core.Case:
    """A case of arrays ``[z, y, x]`` on a grid: ``hu`` in Hounsfield units, and ``masks`` of truth values by the names of structures.

    A structure's contours run along the edges of its voxels, so that ``case.structures[name].mask()`` gives them back. ``kinds``
    by name: external (the body, outside of which nothing counts), ptv, ctv, gtv, organ, support, bolus or other; left out, what
    the name begins with (PTV, CTV, GTV, BODY, EXTERNAL), else organ. ``position``: how the patient lies. Raises ArgumentError."""
    masks, kinds = masks or {}, kinds or {}
    unknown = set(kinds) - set(masks)
    if unknown:
        raise ArgumentError(f"kinds names {sorted(unknown)}, and masks has no such structure")
    named = [(name, kinds.get(name, _kind(name)), mask) for name, mask in masks.items()]
    stated = {
        "position": position,
        "patient_id": patient_id,
        "patient_name": patient_name,
        "label": label,
        "plans": list(plans),
    }
    return core._case_of_arrays(hu, grid, named, stated)


def _kind(name: str) -> str:
    kinds = {"PTV": "ptv", "CTV": "ctv", "GTV": "gtv", "BODY": "external", "EXTERNAL": "external"}
    return next((kind for word, kind in kinds.items() if name.strip().upper().startswith(word)), "organ")


def dose(value: Any) -> core.Dose:
    """A dose: one, a path, a pydicom data set (RTDOSE), a SimpleITK image in Gy, or (array in Gy, grid)."""
    if isinstance(value, core.Dose):
        return value
    if is_path(value):
        return core.read_dose(value)
    if is_dataset(value):
        with tempfile.TemporaryDirectory(prefix="beamsight-") as folder:
            path = os.path.join(folder, "dose.dcm")
            _save(value, path)
            return core.read_dose(path)
    if is_sitk(value):
        facts = {key: value.GetMetaData(key) for key in _FACTS if value.HasMetaDataKey(key)}
        return core._dose_of_image(sitk_array(value), sitk_grid(value), "SimpleITK image", facts)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], core.Grid):
        return core.Dose(*value)
    raise ArgumentError(
        f"{type(value).__name__} is no dose: pass a Dose, a path, a pydicom data set, a SimpleITK image in Gy, or (array, grid)"
    )


def sitk_array(image: Any) -> np.ndarray:
    import SimpleITK

    return SimpleITK.GetArrayViewFromImage(image)


def sitk_grid(image: Any) -> core.Grid:
    """The grid of a SimpleITK image of three dimensions; columns of its direction matrix are the axes x, y, z."""
    if image.GetDimension() != 3 or image.GetNumberOfComponentsPerPixel() != 1:
        raise ArgumentError("the SimpleITK image is no scalar volume of three dimensions")
    directions = np.reshape(image.GetDirection(), (3, 3)).T
    return core.Grid(image.GetSize()[::-1], image.GetSpacing(), image.GetOrigin(), directions.tolist())


def to_sitk(array: Any, grid: Optional[core.Grid] = None) -> Any:
    """A SimpleITK image of a :class:`Dose`, or of an array ``[z, y, x]`` on a grid, of even planes; the values are copied.

    The image of a dose carries its status, patient and frame of reference as metadata, with the keys of a ``.mha`` file of
    ``Dose.save``: SimpleITK writes them into one, and functions that take the image as a dose read them. Filters of SimpleITK
    make images without metadata: pass their result with ``made_of`` of :class:`Dose`."""
    import SimpleITK

    facts: Dict[str, str] = {}
    if isinstance(array, core.Dose):
        if grid is not None and grid != array.grid:
            raise ArgumentError("a dose has a grid of its own: leave grid out")
        array, grid, facts = array.gy, array.grid, core._facts(array)
    elif grid is None:
        raise ArgumentError("an array has no grid: pass it, too")
    elif (dose := _handed_out(array, grid)) is not None:
        facts = core._facts(dose)
    if not grid.is_even:
        raise ArgumentError("the planes of the grid are uneven: a SimpleITK image has one spacing")
    image = SimpleITK.GetImageFromArray(np.asarray(array))
    for key, value in facts.items():
        image.SetMetaData(key, value)
    image.SetOrigin(grid.origin_mm)
    image.SetSpacing(grid.spacing_mm)
    image.SetDirection(np.asarray(grid.directions).T.ravel().tolist())
    return image


def _handed_out(array: Any, grid: core.Grid) -> Optional[core.Dose]:
    """The dose that an array was handed out of, where its status is to be carried along."""
    if getattr(array, "dtype", None) != np.float32 or np.shape(array) != grid.shape:
        return None
    try:
        dose = core.Dose(array, grid)
    except ArgumentError:
        return None
    return None if dose.status == "imported" and not dose.caveats else dose


def _save(dataset: Any, path: str) -> None:
    if getattr(dataset, "file_meta", None) is None:
        raise ArgumentError("the pydicom data set has no file meta information: read it by pydicom.dcmread")
    dataset.save_as(path)
