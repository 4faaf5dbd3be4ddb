"""Radiotherapy on arrays: the engines of Beamsight for Python. Not for clinical use.

Arrays are indexed ``[z, y, x]`` (planes, rows, columns), as those of pydicom and SimpleITK; positions are (x, y, z) in mm in the
DICOM patient frame (LPS), angles degrees (IEC 61217), doses Gy of all fractions. Every dose carries its status: only ``final``
and ``imported`` without caveats is one to rely on. Functions are named as the verbs of the command ``beamsight`` and give
the same numbers to the bit.
"""

import os as _os

# Mesa's layer that puts the compositor's card first complains on standard error where no session has a runtime folder: it is left
# out there, as the program does, unless the user has it choose a card.
if not _os.environ.get("XDG_RUNTIME_DIR", "").startswith("/") and "MESA_VK_DEVICE_SELECT" not in _os.environ:
    _os.environ.setdefault("NODEVICE_SELECT", "1")

from . import errors
from ._accept import case_of_arrays, to_sitk
from ._beamsight import (
    CardColumns,
    Case,
    Ct,
    Depth,
    Dose,
    Dvh,
    Gamma,
    Grid,
    Optimum,
    Plan,
    Radiograph,
    Registration,
    Structure,
    Structures,
    __version__,
    machine_text,
    machines,
    open,
    path,
    read_dose,
)
from ._beamsight import _note_fork
from ._gamma import gamma
from ._imaging import drr, radiograph, register
from ._jobs import dose, dvh
from ._plans import check, export, fractions, influence, machine_check, machine_fit, optimise, plan, robust
from ._tables import Dvhs

# Threads and contexts of cards stay behind where a process is forked.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_note_fork)

__all__ = [
    "CardColumns",
    "Case",
    "Ct",
    "Depth",
    "Dose",
    "Dvh",
    "Dvhs",
    "Gamma",
    "Grid",
    "Optimum",
    "Plan",
    "Radiograph",
    "Registration",
    "Structure",
    "Structures",
    "__version__",
    "case_of_arrays",
    "check",
    "dose",
    "drr",
    "dvh",
    "errors",
    "export",
    "fractions",
    "gamma",
    "influence",
    "machine_check",
    "machine_fit",
    "machine_text",
    "machines",
    "open",
    "optimise",
    "path",
    "plan",
    "radiograph",
    "read_dose",
    "register",
    "robust",
    "to_sitk",
]
