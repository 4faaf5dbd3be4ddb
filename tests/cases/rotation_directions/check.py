import glob
import os
import sys

import pydicom
import study
from program import Checks, run

folder = sys.argv[1]
check = Checks()


def arc(collimator, couch):
    """An arc of 40 degrees; collimator and couch by (degrees from one control point to the next, direction stated)."""
    def turned(d):
        d.BeamSequence[0].BeamType = "DYNAMIC"
        points = d.BeamSequence[0].ControlPointSequence
        for k, p in enumerate(points):
            end = k + 1 == len(points)
            p.GantryAngle, p.GantryRotationDirection = 10.0 * k, "NONE" if end else "CW"
            p.BeamLimitingDeviceAngle, p.BeamLimitingDeviceRotationDirection = (collimator[0] * k) % 360, "NONE" if end else collimator[1]
            p.PatientSupportAngle, p.PatientSupportRotationDirection = (couch[0] * k) % 360, "NONE" if end else couch[1]

    ids, out = study.fresh(), f"{folder}/{len(os.listdir(folder))}"
    study.ct(ids, out, slices=10, size=(16, 16), spacing=(12.0, 12.0, 10.0))
    points = [(k / 4, study.jaws(-30, 30) if k == 0 else None) for k in range(5)]
    study.plan(ids, out, [study.beam(1, "DYNAMIC", points)], 100.0, turned)
    return out


def directions(plan):
    """The directions in which gantry, collimator and couch leave the first control point of an export."""
    out = f"{folder}/export{len(os.listdir(folder))}"
    status, said = run("export", water, "--plan", plan, "--only", "ct,plan", "--out", out)
    if status:
        return said
    p = pydicom.dcmread(glob.glob(f"{out}/RP*")[0]).BeamSequence[0].ControlPointSequence[0]
    return p.GantryRotationDirection, p.BeamLimitingDeviceRotationDirection, p.PatientSupportRotationDirection


still = (0, "NONE")
for name, collimator, couch, is_short in (
    ("collimator rises, CC", (7.5, "CC"), still, True),
    ("collimator falls, CW", (-7.5, "CW"), still, True),
    ("collimator rises, CW", (7.5, "CW"), still, False),
    ("collimator falls, CC", (-7.5, "CC"), still, False),
    ("couch rises, CC", still, (5, "CC"), True),
    ("couch falls, CW", still, (-5, "CW"), True),
    ("couch rises, CW", still, (5, "CW"), False),
    ("couch falls, CC", still, (-5, "CC"), False),
):
    status, said = run("info", arc(collimator, couch))
    check(name, status == 0 and ("not computed" not in said) == is_short and is_short != ("the long way round" in said), said[-400:])

water = f"{folder}/0"


def toml(name, start, end, head=""):
    path = f"{folder}/{name}.toml"
    with open(path, "w") as f:
        f.write('name = "t"\nmachine = "generic-6mv"\nisocentre_mm = [0, 0, 0]\n[[beam]]\nname = "b"\nmu = 100\n'
                f"gantry_deg = {start[0]}\ncollimator_deg = {start[1]}\ncouch_deg = {start[2]}\n"
                f"jaws_mm = {{ x = [-30, 30], y = [-30, 30] }}\n{head}[[beam.control_point]]\nmeterset_weight = 0\n"
                f"[[beam.control_point]]\nmeterset_weight = 1\ngantry_deg = {end[0]}\ncollimator_deg = {end[1]}\ncouch_deg = {end[2]}\n")
    return path


rising, falling = ("CW", "CC", "CC"), ("CC", "CW", "CW")
for name, start, end, want in (("rising", (0, 10, 0), (20, 30, 15), rising), ("falling", (20, 30, 15), (0, 10, 0), falling)):
    seen = directions(toml(name, start, end))
    check(f"export, all three {name}", seen == want, seen)

# plan.toml has the directions of DICOM: over 360 to 0 is the short way where they say so.
for axis, place in (("collimator", 1), ("couch", 2)):
    start, end = [0, 0, 0], [0, 0, 0]
    start[place], end[place] = 350, 10
    for word, is_short in (("cc", True), ("cw", False)):
        status, said = run("dose", water, "--plan", toml(f"{axis}-{word}", start, end, f'{axis}_direction = "{word}"\n'),
                           "--grid", "20", "--quality", "fast", "--device", "cpu")
        check(f"plan.toml: {axis} 350 to 10, {word}", (status == 0) == is_short and is_short != ("half a circle or more" in said), said[-300:])
check.end()
