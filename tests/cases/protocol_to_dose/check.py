import json
import os
import re
import sys

import numpy as np
from optimising import COARSE, circle, phantom
from program import Checks, number, run
from volume import read_mha

PROTOCOL = """
name = "Ball"
site = "phantom"
source = "own"
fractions = 25
technique = "step"
set_up_error_mm = 5.0
[[level]]
target = "Target"
aliases = ["PTV"]
gy = 50.0
[beams]
fields_deg = [0.0, 90.0, 180.0, 270.0]
[[structure]]
name = "Half"
of = "PTV & OAR"
[[structure]]
name = "Organ outside"
of = "OAR - (PTV + 5 mm)"
[[goal]]
structure = "Target"
goal = "D50% >= 50 Gy"
[[goal]]
structure = "Organ outside"
goal = "Dmean <= 40 Gy"
"""
folder, check = sys.argv[1], Checks()
case = phantom(f"{folder}/case", 5.0, (44, 36), 21, lambda planes: [
    ("PTV", "PTV", [circle(20, z) for z in planes if abs(z) < 21]),
    ("OAR", "ORGAN", [[v for x, y in ((0, -30), (60, -30), (60, 30), (0, 30)) for v in (x, y, z)] for z in planes if abs(z) < 21])])
open(f"{folder}/p.toml", "w").write(PROTOCOL)
HOW = [*COARSE, "--grid", "5"]
code, said = run("plan", case, "--protocol", f"{folder}/p.toml", *HOW, "--out", f"{folder}/out")
check("a plan is made", code == 0, said[-400:] if code else "")
told = json.load(open(f"{folder}/out/plan.json"))
check("its target is found by alias", told["targets"] == [{"target": "Target", "structure": "PTV", "gy": 50.0}], told["targets"])
check("both structures are made", told["made_structures"] == ["Half", "Organ outside"], told["made_structures"])
check("it has leaves", told["mu"] > 0 and told["technique"] == "step", told["mu"])
report = open(f"{folder}/out/report.pdf", "rb").read()
check("it has a report", report.startswith(b"%PDF") and report.count(b"/Type /Page\n") + report.count(b"/Type /Page/") >= 2, len(report))
check("why a coarse dose does not leave is told", "coarse" in (told["not_exported"] or "") and not [f for f in os.listdir(f"{folder}/out") if f.endswith(".dcm")],
      told["not_exported"])
run("dose", case, "--plan", f"{folder}/out/plan.toml", *HOW, "--out", f"{folder}/again.mha")


def volume(path):
    header = open(path, "rb").read(2000).split(b"ElementDataFile")[0].decode()
    size = [int(n) for n in re.search(r"DimSize = (.*)", header)[1].split()]
    return read_mha(path, size[::-1]), [float(n) for n in re.search(r"(?:Offset|Position|Origin) = (.*)", header)[1].split()]


(gy, origin), (again, _) = volume(f"{folder}/out/dose.mha"), volume(f"{folder}/again.mha")
check("plan.toml has this dose", np.allclose(gy, again, atol=2e-3 * gy.max()), np.abs(gy - again).max())
z, y, x = np.meshgrid(*(origin[a] + 5.0 * np.arange(gy.shape[2 - a]) for a in (2, 1, 0)), indexing="ij")
inside = (np.hypot(x, y) < 20) & (abs(z) < 21)
goals = {(g["structure"], str(g["metric"])): g["value"] for g in told["goals"]["goals"]}
median = next(value for (name, _), value in goals.items() if name == "PTV")
check("the median is that of its voxels", abs(median - np.median(gy[inside])) < 1.0, (median, np.median(gy[inside])))
# The session has the structures: half a circle of 36 corners on nine planes of 5 mm; the export has the drawn ones alone.
code, said = run("info", f"{folder}/out/session.json")
half = number(next(line for line in said.splitlines() if "Half" in line), "OTHER") or number(next(line for line in said.splitlines() if "Half" in line), "Half")
closed = 0.5 * 36 / 2 * 20**2 * np.sin(np.radians(10)) * 45 / 1000
check("Half has its volume", half and abs(half - closed) < 0.01 * closed, (half, closed))
code, said = run("export", f"{folder}/out/session.json", *HOW, "--only", "ct,structures", "--out", f"{folder}/export")
_, listed = run("info", f"{folder}/export")
check("what was made does not leave", code == 0 and "OAR" in listed and "Half" not in listed, said[-200:])
bands = open(f"{folder}/out/bands.csv").read().splitlines()
rows = [line.split(",") for line in bands[1:]]
check("bands enclose the plan", rows and all(float(r[3]) <= float(r[2]) <= float(r[4]) for r in rows), len(rows))
check("the set-up error is told", told["robust"]["shift_mm"] == 5.0 and len(told["robust"]["scenarios"]) == 7)
check.end()
