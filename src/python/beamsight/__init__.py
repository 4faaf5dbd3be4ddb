"""Radiotherapy on arrays: the engines of Beamsight for Python. Not for clinical use.

Arrays are indexed ``[z, y, x]`` (planes, rows, columns), as those of pydicom and SimpleITK; positions are (x, y, z) in mm in the
DICOM patient frame (LPS), angles degrees (IEC 61217), doses Gy of all fractions. Every dose carries its status: only ``final``
and ``imported`` without caveats is one to rely on. Functions are named as the verbs of the command ``beamsight`` and give
the same numbers to the bit.
"""

from . import errors
from ._accept import to_sitk
from ._beamsight import (
    Case,
    Ct,
    Depth,
    Dose,
    Dvh,
    Gamma,
    Grid,
    Plan,
    Structure,
    Structures,
    __version__,
    open,
    path,
    read_dose,
)
from ._gamma import gamma
from ._jobs import dose, dvh

__all__ = [
    "Case",
    "Ct",
    "Depth",
    "Dose",
    "Dvh",
    "Gamma",
    "Grid",
    "Plan",
    "Structure",
    "Structures",
    "__version__",
    "dose",
    "dvh",
    "errors",
    "gamma",
    "open",
    "path",
    "read_dose",
    "to_sitk",
]
