import os
import sys

import numpy as np
import study
from program import Checks, run

check = Checks()
HOW = ["--grid", "5", "--quality", "fast", "--device", "cpu"]


def water(x, y, z):
    return np.where((np.hypot(x, y) < 80) & (abs(z) < 100), 0, -1000)


def plate(y, planes=range(-110, 111, 3), half=120.0, thickness=15.0):
    """A plate from y on, across x."""
    return [[v for a, b in ((-half, y), (half, y), (half, y + thickness), (-half, y + thickness)) for v in (a, b, z)] for z in planes]


def dense(d):
    """As this program states a density."""
    d.RTROIObservationsSequence[1].ROIPhysicalPropertiesSequence = [
        study.item(ROIPhysicalProperty="REL_ELEC_DENSITY", ROIPhysicalPropertyValue="1"),
        study.item(ROIPhysicalProperty="MEDIUM_OF_TABLE", ROIPhysicalPropertyValue="1")]


def said_of(name, gantry, y, kind="SUPPORT", change=None):
    folder = f"{sys.argv[1]}/{name}"
    os.makedirs(folder)
    ids = study.fresh()
    study.ct(ids, folder, water, slices=80)
    study.structures(ids, folder, [("PTV", "PTV", [study.box(10, z) for z in (-3.0, 0.0, 3.0)]), ("Plate", kind, plate(y))], change)
    points = [(0, study.jaws(-30, 30, -30, 30)), (1, None)]
    study.plan(ids, folder, [study.beam(1, "STATIC", points, GantryAngle=gantry)], 100)
    status, said = run("dose", folder, *HOW)
    return said if status == 0 else f"FAILED {said}"


for name, gantry, y, kind in (("couch", 180, 85.0, "SUPPORT"), ("bolus", 0, -97.0, "BOLUS")):
    said = said_of(name, gantry, y, kind)
    word = kind.lower()
    check(f"a {name} before the patient: partial", f"partial: a {word} without a density not counted" in said, said)
    check(f"a {name} before the patient: named", f"{word} 'Plate' is not included: it has no density" in said, said)
said = said_of("behind", 0, 85.0)
check("behind the patient: a remark", "support 'Plate' is not included" in said and "partial" not in said, said)
said = said_of("lateral", 90, 85.0)
check("beside the field: a remark", "support 'Plate' is not included" in said and "partial" not in said, said)
said = said_of("dense", 180, 85.0, change=dense)
check("with a density: whole", "support 'Plate' is included" in said and "partial" not in said, said)
check.end()
