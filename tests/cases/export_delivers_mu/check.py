import glob
import re
import sys

import pydicom
import study
from program import Checks, number, run

FULL = ["--grid", "2.5", "--quality", "full", "--device", "cpu"]
FAST = ["--grid", "5", "--quality", "fast", "--device", "cpu"]
PLAN = """name = "p"
machine = "generic-6mv"
position = "HFS"
isocentre_mm = [0, 0, 0]
prescription_gy = 2.0
fractions = 1
normalisation = { structure = "PTV", volume_percent = 95.0, dose_gy = 2.0 }
[[beam]]
name = "b"
gantry_deg = 0
mu = 100
jaws_mm = { x = [-30, 30], y = [-30, 30] }
"""
made, check = sys.argv[1], Checks()
case, plan = f"{made}/case", f"{made}/plan.toml"
ids = study.fresh()
study.ct(ids, case)
body = [study.box(78, 3.0 * k) for k in range(-11, 11)]
study.structures(ids, case, [("BODY", "EXTERNAL", body), ("PTV", "PTV", [study.box(20, 3.0 * k) for k in range(-5, 6)])])
with open(plan, "w") as out:
    out.write(PLAN)
_, said = run("dose", case, "--plan", plan, *FULL)
delivered = number(said, "p:")
for name, more in (("dose", ["--dose", "plan"]), ("plan", ["--only", "ct,structures,plan"])):
    out = f"{made}/{name}"
    status, said = run("export", case, "--plan", plan, "--out", out, *more, *FULL)
    check(f"export of {name}", status == 0, said)
    written = pydicom.dcmread(glob.glob(f"{out}/RP*.dcm")[0])
    mu = float(written.FractionGroupSequence[0].ReferencedBeamSequence[0].BeamMeterset)
    check(f"export of {name}: monitor units", abs(mu / delivered - 1) < 1e-4, f"{mu} of {delivered}")
    _, again = run("dose", out, *FULL)
    d95 = float(re.search(r"PTV .*?D95 ([0-9.]+)", again)[1])
    check(f"export of {name}: opened again", abs(d95 - 2.0) < 0.01, d95)
status, said = run("export", case, "--plan", plan, "--out", f"{made}/coarse", "--only", "ct,structures,plan", *FAST)
check("a coarse grid is refused", status == 1 and "'p'" in said and "normalised" in said and "2.5 mm" in said, said)
run("demo", "thorax", "--out", f"{made}/chest")
d95 = [float(re.search(r"PTV .*?D95 ([0-9.]+)", run("dose", of, *FAST)[1])[1]) for of in ("demo:thorax", f"{made}/chest")]
check("demo:thorax and what demo --out writes", abs(d95[0] / d95[1] - 1) < 0.01, d95)
check.end()
