"""60 Gy everywhere, stated to be of this or that."""
import sys

import numpy as np
import study
from program import Checks, run

made, check = sys.argv[1], Checks()
GOALS = f"{made}/goals.toml"
open(GOALS, "w").write('name = "g"\nsource = "s"\n[[goal]]\nstructure = "PTV"\ngoal = "Dmin >= 50 Gy"\n')


def is_decided(name, keyword, value, words):
    folder, ids = f"{made}/{name}", study.fresh()
    study.ct(ids, folder)
    study.structures(ids, folder, [("PTV", "PTV", [study.box(20, 3.0 * k) for k in range(-5, 6)])])
    study.plan(ids, folder, [study.beam(1, "STATIC", [(0, study.jaws(-30, 30)), (1, None)])], 100)
    gy = np.full((22, 64, 64), 60.0)
    study.dose(ids, folder, gy, (-126, -126, -33), (4, 4, 3), lambda d: setattr(d, keyword, value))
    _, said = run("dvh", folder, "--dose", f"{folder}/rd.dcm", "--goals", GOALS)
    right = "goals: 1 of 1 met" in said if words is None else "1 undecided" in said and words in said
    check(f"{keyword} {value}", right, said)


for kind, words in [("PLAN", None), ("MULTI_PLAN", None), ("BEAM", "one beam"), ("FRACTION", "one fraction"),
                    ("CONTROL_POINT", "one control point"), ("RECORD", "single treatments"), ("BRACHY", "brachytherapy alone")]:
    is_decided(f"of-{kind}", "DoseSummationType", kind, words)
is_decided("image", "TissueHeterogeneityCorrection", "IMAGE", None)
is_decided("water", "TissueHeterogeneityCorrection", "WATER", "computed in water")
is_decided("still", "SpatialTransformOfDose", "NONE", None)
is_decided("moved", "SpatialTransformOfDose", "NON_RIGID", "deformed to other images")
is_decided("effective", "DoseType", "EFFECTIVE", "biologically effective")
check.end()
