import os
import sys

import numpy as np
import study
from program import Checks, run

check = Checks()
HOW = ["--grid", "5", "--quality", "fast", "--device", "cpu"]
PARTIAL = "the patient beyond the end of the CT not counted"


def cylinder(x, y, z, length=1000.0, middle_y=0.0):
    """Water of 80 mm radius along z."""
    return np.where((np.hypot(x, y - middle_y) < 80) & (abs(z) < length / 2), 0, -1000)


def shoulders(x, y, z):
    """400 mm wide, 100 mm thick, 100 mm long."""
    return np.where((abs(x) < 200) & (abs(y) < 50) & (abs(z) < 50), 0, -1000)


def in_a_circle(x, y, z):
    """The same as a scanner of 256 mm field of view shows it: nothing outside the circle."""
    return np.where(np.hypot(x, y) < 128, shoulders(x, y, z), -1024)


def made(name, values, slices, half, gantry=0, couch=0, isocentre_y=0.0, stop=None, has_dose=False):
    """A CT of `slices` of 3 mm, and a beam of twice `half` along x and y; with `stop` an arc."""
    folder = f"{sys.argv[1]}/{name}"
    os.makedirs(folder)
    ids = study.fresh()
    study.ct(ids, folder, values, slices=slices)
    study.structures(ids, folder, [("PTV", "PTV", [study.box(10, z) for z in (-3.0, 0.0, 3.0)])])
    first = dict(GantryAngle=gantry, PatientSupportAngle=couch, IsocenterPosition=[0.0, isocentre_y, 0.0])
    points = [(0, study.jaws(-half[0], half[0], -half[1], half[1])), (1, None)]
    if stop is not None:
        first["GantryRotationDirection"] = "CW"
    beam = study.beam(1, "STATIC" if stop is None else "DYNAMIC", points, **first)
    if stop is not None:
        beam.ControlPointSequence[1].GantryAngle = stop
        beam.ControlPointSequence[1].GantryRotationDirection = "NONE"
    study.plan(ids, folder, [beam], 100)
    if has_dose:
        study.dose(ids, folder, np.ones((20, 20, 20)), (-57.0, -120.0, -57.0), (6.0, 6.0, 6.0))
    return folder


def said_of(*words, **more):
    status, said = run("dose", made(*words, **more), *HOW)
    return said if status == 0 else f"FAILED {status} {said}"


def is_partial(name, *words, side, **more):
    said = said_of(name, *words, **more)
    ends = f"the CT ends in the field, on the {side} side"
    check(f"{name}: partial", f"partial: {PARTIAL}" in said and ends in said, said)


def is_whole(name, *words, **more):
    said = said_of(name, *words, **more)
    check(f"{name}: no word", "FAILED" not in said and "the CT ends" not in said and "partial" not in said, said)


def whole(x, y, z):
    return cylinder(x, y, z, length=200.0)


def to_the_head(x, y, z):
    return np.where(z > -60, cylinder(x, y, z), -1000)


def to_the_feet(x, y, z):
    return np.where(z < 60, cylinder(x, y, z), -1000)


def low(x, y, z):
    """Its entrance side lies in front of the image, which begins at y = -128 mm."""
    return cylinder(x, y, z, length=200.0, middle_y=-100.0)


is_partial("60 mm of CT for 200 mm of field", cylinder, 20, (40, 100), side="inferior and superior")
is_partial("entrance cut off", low, 80, (30, 30), side="anterior", isocentre_y=-100.0)
# At a couch angle of 90 degrees a gantry at 60 stands at the feet of a patient lying head first.
is_partial("through the last slice", to_the_head, 60, (20, 20), side="superior", gantry=60, couch=270)
is_partial("through the first slice", to_the_feet, 60, (20, 20), side="inferior", gantry=60, couch=90)
is_partial("a shoulder cut off", shoulders, 60, (30, 30), side="right and left", gantry=90)
is_partial("a shoulder cut off by a round field of view", in_a_circle, 60, (30, 30), side="right and left", gantry=90)
is_partial("an arc past a shoulder", shoulders, 60, (20, 20), side="right and left", gantry=30, stop=150)
is_whole("a shoulder beside the field", shoulders, 60, (30, 30))
is_whole("the whole cylinder", whole, 80, (40, 150))
is_whole("an end of the CT far from the field", cylinder, 80, (40, 40))

said = said_of("an end within the reach of scatter", cylinder, 40, (40, 40))
check("within the reach of scatter a remark", "beside the field, on the inferior side" in said and "scatter" in said and "partial" not in said, said)

folder = f"{sys.argv[1]}/entrance cut off"
status, said = run("dose", folder, "--engine", "mccs", "--histories", "20000", "--grid", "5", "--device", "cpu")
check("Monte Carlo says so, too", status == 0 and f"{PARTIAL}" in said, said)
out = f"{sys.argv[1]}/out"
status, said = run("export", folder, "--out", out, "--device", "cpu")
check("its dose does not leave, and the way out is named", status == 1 and PARTIAL in said and "50 mm past the field" in said, said)
folder = made("checked", low, 80, (30, 30), isocentre_y=-100.0, has_dose=True)
status, said = run("check", folder, "--device", "cpu")
check("its second check is not judged", "within tolerance" not in said.replace("NOT within", "") and PARTIAL in said, said)
check.end()
