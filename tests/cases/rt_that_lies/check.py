import os
import sys

import numpy as np
import study
from program import Checks, run

out, checks, count = sys.argv[1], Checks(), 0
GY = np.ones((2, 4, 4))
POINTS = [(0, study.jaws(-50, 50)), (1, None)]


def folder():
    global count
    count += 1
    os.makedirs(f"{out}/{count}")
    return f"{out}/{count}"


def with_changes(**changes):
    """Changes attributes; None removes one."""
    def change(d):
        for keyword, value in changes.items():
            setattr(d, keyword, value) if value is not None else delattr(d, keyword)
    return change


for words, changes in [
    ("relative", dict(DoseUnits="RELATIVE")), ("error of a dose", dict(DoseType="ERROR")), ("DoseGridScaling is 0", dict(DoseGridScaling="0")),
    ("2 frames and 3 offsets", dict(GridFrameOffsetVector=[0, 1, 2])), ("do not ascend", dict(GridFrameOffsetVector=[0, 0])),
    ("neither 0 nor", dict(GridFrameOffsetVector=[9, 11])), ("PixelSpacing is 0", dict(PixelSpacing=[0, 1])),
    ("3 frames", dict(NumberOfFrames=3)), ("DoseGridScaling", dict(DoseGridScaling=None)), ("DoseUnits", dict(DoseUnits=None)),
    ("offsets", dict(GridFrameOffsetVector=None)), ("PixelData", dict(PixelData=None)),
]:
    place, ids = folder(), study.fresh()
    study.dose(ids, place, GY, (0, 0, 5), (2, 2, 2), with_changes(**changes))
    checks.refused(f"{place}/rd.dcm", words, verb=["gamma", f"{place}/rd.dcm"])
    # In a case such a dose is left out with a remark.
    study.ct(ids, place, slices=2, size=(8, 8))
    checks.opens(place, "rd.dcm", words)
    checks("and is no dose of the case", "\nDose " not in run("info", place)[1])

for words, beams in [("no control points", [study.beam(1, "STATIC", POINTS)]), ("two of its beams", [study.beam(1, "STATIC", POINTS) for _ in range(2)]),
                     ("no external beams", [])]:
    place, ids = folder(), study.fresh()
    if "control" in words:
        del beams[0].ControlPointSequence
    study.ct(ids, place, slices=2, size=(8, 8))
    study.plan(ids, place, beams, 100)
    status, said = run("dose", place)
    checks(f"a plan with {words} is refused", status == 1 and words in said and "rp.dcm" in said, said)

# Another position than the CT's is not computed; another frame of reference is never overlaid.
place, ids = folder(), study.fresh()
study.ct(ids, place, slices=2, size=(8, 8))
study.plan(ids, place, [study.beam(1, "STATIC", POINTS)], 100,
           lambda d: setattr(d.PatientSetupSequence[0], "PatientPosition", "FFS"))
checks.opens(place, "rp.dcm", "FFS, the CT shows HFS")
status, said = run("dose", place)
checks("it is not computed", status == 1 and "FFS" in said, said)
place, ids = folder(), study.fresh()
study.ct(ids, place, slices=2, size=(8, 8))
elsewhere = with_changes(FrameOfReferenceUID="1.2.3.999")
study.plan(ids, place, [study.beam(1, "STATIC", POINTS)], 100, elsewhere)
study.dose(ids, place, GY, (0, 0, 5), (2, 2, 2), elsewhere)
checks.opens(place, "another frame of reference", "rp.dcm", "rd.dcm")
said = run("info", place)[1]
checks("and neither is of the case", "\nDose " not in said and "\nPlan " not in said, said)
checks.end()
