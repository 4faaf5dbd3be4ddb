"""Objects of other libraries as those of beamsight: paths, arrays, pydicom data sets, SimpleITK images."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from . import _beamsight as core
from .errors import ArgumentError


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
        return core.Dose(sitk_array(value), sitk_grid(value), "SimpleITK image")
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


def to_sitk(array: Any, grid: core.Grid) -> Any:
    """A SimpleITK image of an array ``[z, y, x]`` on a grid of even planes; the values are copied."""
    import SimpleITK

    if not grid.is_even:
        raise ArgumentError("the planes of the grid are uneven: a SimpleITK image has one spacing")
    image = SimpleITK.GetImageFromArray(np.asarray(array))
    image.SetOrigin(grid.origin_mm)
    image.SetSpacing(grid.spacing_mm)
    image.SetDirection(np.asarray(grid.directions).T.ravel().tolist())
    return image


def _save(dataset: Any, path: str) -> None:
    if getattr(dataset, "file_meta", None) is None:
        raise ArgumentError("the pydicom data set has no file meta information: read it by pydicom.dcmread")
    dataset.save_as(path)
