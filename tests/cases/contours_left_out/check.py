"""Goals and metrics of structures with contours left out, of one name, or wound twice; dose of such a body."""
import json
import sys

import numpy as np
import study
from program import Checks, run

made, check = sys.argv[1], Checks()
FAST = ["--grid", "5", "--quality", "fast", "--device", "cpu"]


def contours(half, x=0.0):
    return [study.box(half, 3.0 * k, x) for k in range(-5, 6)]


def open_lines(number):
    """The contours of a structure from the seventh on are no longer closed."""
    def change(d):
        for n, contour in enumerate(d.ROIContourSequence[number].ContourSequence):
            if n >= 6:
                contour.ContourGeometricType = "OPEN_PLANAR"
    return change


def case(name, rois, change=None):
    folder, ids = f"{made}/{name}", study.fresh()
    study.ct(ids, folder)
    study.structures(ids, folder, rois, change)
    study.plan(ids, folder, [study.beam(1, "STATIC", [(0, study.jaws(-30, 30)), (1, None)])], 100)
    z, y, x = np.meshgrid(3.0 * np.arange(-11, 11), -126 + 4.0 * np.arange(64), -126 + 4.0 * np.arange(64), indexing="ij")
    gy = np.where((abs(x) < 30) & (abs(y) < 30), 60.0, np.where((abs(x - 60) < 20) & (z > 4), 58.0, 5.0))
    study.dose(ids, folder, gy, (-126, -126, -33), (4, 4, 3))
    return folder


def goals(*of):
    path = f"{made}/goals.toml"
    rows = "".join(f'[[goal]]\nstructure = "{s}"\ngoal = "{g}"\n' for s, g in of)
    open(path, "w").write('name = "g"\nsource = "s"\n' + rows)
    return path


def rows(folder, *of):
    """Verdicts by structure, and all that is said."""
    status, said = run("dvh", folder, "--dose", f"{folder}/rd.dcm", "--goals", goals(*of), "--json")
    answer = json.JSONDecoder().raw_decode(said[said.index("{"):])[0]
    return {row["structure"]: row for row in answer["goals"]["goals"]}, answer


PTV, CORD, LUNG = ("PTV", "PTV", contours(20)), ("Cord", "ORGAN", contours(10, 60.0)), ("Lung", "ORGAN", contours(10, -60.0))

folder = case("left-out", [PTV, CORD, LUNG], open_lines(1))
verdicts, answer = rows(folder, ("Cord", "Dmax <= 50 Gy"), ("Lung", "Dmax <= 50 Gy"))
check("Cord is undecided", verdicts["Cord"]["met"] is None and "5 contours left out" in str(verdicts["Cord"]["why"]), verdicts["Cord"])
check("Lung is met", verdicts["Lung"]["met"] is True, verdicts["Lung"]["verdict"])
cord = next(row for row in answer["structures"] if row["name"] == "Cord")
check("metrics of Cord say so", "open lines" in str(cord["remarks"]) and cord["undecided"], cord)
_, said = run("dose", folder, *FAST)
check("no dose hangs on it", "partial" not in said and "open lines" in said, said)

for name, other in [("by-case", "ptv"), ("by-blanks", "PTV "), ("by-inner-blank", "P TV")]:
    folder = case(name, [PTV, (other, "PTV", contours(30)), LUNG])
    verdicts, _ = rows(folder, ("PTV", "Dmin >= 50 Gy"), ("Lung", "Dmax <= 50 Gy"))
    check(f"{name} is undecided", verdicts["PTV"]["met"] is None and "two structures are called" in str(verdicts["PTV"]["why"]), verdicts["PTV"])
    check(f"{name}: Lung is met", verdicts["Lung"]["met"] is True)

# 40 x 40 mm, and on in the same sense round the middle 20 x 20 mm; a keyhole goes round it in the other.
outer, inner = [(-20, -20), (20, -20), (20, 20), (-20, 20), (-20, -20)], [(-10, -10), (10, -10), (10, 10), (-10, 10), (-10, -10)]
for name, second, met in [("twice", inner, None), ("keyhole", inner[::-1], True)]:
    ring = [[v for a, b in outer + second for v in (a, b, 3.0 * k)] for k in range(-5, 6)]
    folder = case(name, [("PTV", "PTV", ring), LUNG])
    verdicts, _ = rows(folder, ("PTV", "Dmin >= 50 Gy"))
    check(f"PTV of {name}", verdicts["PTV"]["met"] is met, verdicts["PTV"])

# The body counts in the dose.
body = ("BODY", "EXTERNAL", [study.box(78, 3.0 * k) for k in range(-11, 11)])
folder = case("body", [body, PTV], open_lines(0))
_, said = run("dose", folder, *FAST)
check("a body of which contours were left out", "partial: " in said and "16 contours left out" in said, said)
check.end()
