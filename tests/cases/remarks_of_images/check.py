"""What `info` warns of stands with dose, DVHs, goals and exports of such images; in sessions and volumes, too."""
import glob
import json
import os
import sys

import doors
import numpy as np
import pydicom
import study
from program import Checks, run
from volume import Grid

made, check = sys.argv[1], Checks()
FAST = ["--grid", "5", "--quality", "fast", "--device", "cpu"]
BODY = ("BODY", "EXTERNAL", [[v for x, y in ((-98, -78), (98, -78), (98, 78), (-98, 78)) for v in (x, y, 3.0 * k)] for k in range(-11, 11)])
PTV = ("PTV", "PTV", [study.box(20, 3.0 * k) for k in range(-5, 6)])
GOALS = f"{made}/goals.toml"
open(GOALS, "w").write('name = "g"\nsource = "s"\n[[goal]]\nstructure = "PTV"\ngoal = "Dmean >= 0.1 Gy"\n')


def case(name, change):
    folder, ids = f"{made}/{name}", study.fresh()
    study.ct(ids, folder)
    for n, path in enumerate(sorted(glob.glob(f"{folder}/ct*.dcm"))):
        d = pydicom.dcmread(path)
        if change(d, n) is False:
            os.remove(path)
        else:
            d.save_as(path, enforce_file_format=True)
    study.structures(ids, folder, [BODY, PTV])
    study.plan(ids, folder, [study.beam(1, "STATIC", [(0, study.jaws(-30, 30)), (1, None)])], 100)
    return folder


def told(folder, words, partial):
    """The words in text and JSON of each verb, with the status that follows from them."""
    status, said = run("dose", folder, *FAST, "--out", f"{folder}.mha")
    check(f"{folder}: dose", status == 0 and words in said and ("partial: " in said) == partial, said)
    status, said = run("dose", folder, *FAST, "--json")
    answer = json.JSONDecoder().raw_decode(said[said.index("{"):])[0]
    check(f"{folder}: dose --json", words in str(answer["remarks"]) and (answer["status"] == "partial") == partial, answer["status"])
    status, said = run("dvh", folder, "--dose", "plan", *FAST, "--goals", GOALS)
    check(f"{folder}: goal", ("1 undecided" in said) == partial and words in said, said)
    status, said = run("dvh", folder, "--dose", f"{folder}.mha", "--goals", GOALS)
    check(f"{folder}: goal of the dose read again", ("1 undecided" in said) == partial and words[:20] in said, said)
    status, said = run("export", folder, "--out", f"{folder}-out", "--device", "cpu")
    check(f"{folder}: export", words in said and (status != 0) == partial, said)
    if not partial:
        comments = str(pydicom.dcmread(f"{folder}-out/RD.dcm").ImageComments)
        check(f"{folder}: RTDOSE", words in comments, comments)


def without_rescale(d, _):
    del d.RescaleIntercept


for name, change, words, partial in [
    ("projections", lambda d, n: setattr(d, "ImageType", ["DERIVED", "SECONDARY", "MIP"]), "the images are projections", True),
    ("densities", lambda d, n: setattr(d, "RescaleType", "ED"), "the values are in 'ED'", True),
    ("gap", lambda d, n: 8 > n or n > 12, "plane(s) seem to be missing", True),
    ("iodine", lambda d, n: setattr(d, "ImageType", ["DERIVED", "PRIMARY", "AXIAL", "IODINE"]), "decomposition by energies", True),
    ("no-rescale", without_rescale, "lack RescaleSlope or RescaleIntercept", True),
    ("tilt", lambda d, n: setattr(d, "GantryDetectorTilt", 18), "GantryDetectorTilt is 18", False),
    ("lossy", lambda d, n: setattr(d, "LossyImageCompression", "01"), "compressed with loss", False),
    ("tubes", lambda d, n: setattr(d, "KVP", 80 if n < 9 else 140), "tubes of 80 to 140 kV", False),
    ("contrast", lambda d, n: setattr(d, "ContrastBolusAgent", "Iohexol"), "contrast agent", False),
]:
    told(case(name, change), words, partial)

# A volume that is no CT: relative densities; and one of HU that does not say so.
plan = doors.toml(made, 'jaws_mm = { x = [-30.0, 30.0], y = [-30.0, 30.0] }\n')
for name, values, words, partial in [
    ("densities", lambda x, y, z: np.where((abs(x) < 60) & (abs(y) < 60), 1.0, 0.001), "densities, or in another unit than HU", True),
    ("unsaid", lambda x, y, z: np.where((abs(x) < 60) & (abs(y) < 60), 0.0, -1000.0), "the file does not say that its values are HU", False),
]:
    Grid((-78, -78, -38), (4, 4, 4), (40, 40, 20)).write(f"{made}/{name}.mha", values)
    _, said = run("dose", f"{made}/{name}.mha", "--plan", plan, *FAST)
    check(f"{name} in a volume", words in said and ("partial: " in said) == partial, said)
check.end()
