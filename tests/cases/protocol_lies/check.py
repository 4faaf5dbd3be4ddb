import os
import sys

from optimising import COARSE, circle, phantom
from program import Checks, run

folder, check = sys.argv[1], Checks()
case = phantom(f"{folder}/case", 5.0, (44, 36), 21, lambda planes: [
    ("PTV_High", "PTV", [circle(10, z) for z in planes if abs(z) < 11]),
    ("PTV Low", "PTV", [circle(25, z) for z in planes if abs(z) < 21]),
    ("Inner", "ORGAN", [circle(5, z) for z in planes if abs(z) < 6]),
    ("Lens_L", "ORGAN", [circle(5, z, -60) for z in planes if abs(z) < 11]),
    ("Lens_R", "ORGAN", [circle(5, z, 60) for z in planes if abs(z) < 11])])
GOOD = """
name = "N"
site = "neck"
fractions = 30
technique = "imrt"
[[level]]
target = "PTV High"
gy = 60.0
[[level]]
target = "PTVLow"
gy = 50.0
[beams]
fields_deg = [0.0]
[[goal]]
structure = "PTV High"
goal = "D95% >= 95 %"
"""


def refused(name, old, new, *words, status=1):
    assert old in GOOD
    open(f"{folder}/p.toml", "w").write(GOOD.replace(old, new, 1))
    code, said = run("plan", case, "--protocol", f"{folder}/p.toml", *COARSE, "--grid", "5", "--out", f"{folder}/out")
    missing = [word for word in words if word not in said]
    right = code == status and "panicked" not in said and not missing and not os.path.exists(f"{folder}/out")
    check(name, right, "" if right else f"{code}, without {missing}: {said[-300:]}")


refused("left and right are swapped", "60.0", "61.0", "'Lens_L' lies to the right of 'Lens_R'")
refused("no target", 'target = "PTVLow"', 'target = "PTV54"', "no target 'PTV54'", "PTV_High, PTV Low")
refused("two levels of one target", 'target = "PTVLow"', 'target = "PTV_High"', "two levels are for 'PTV_High'")
refused("two structures may be the target", 'target = "PTVLow"', 'target = "PTVLow"\naliases = ["Inner"]\ngy = 50.0\n[[level]]\ntarget = "inner"', "two levels are for 'inner'")
refused("a level within a higher one", 'target = "PTVLow"', 'target = "Inner"', "swapped")
refused("a wish above its limit", "D95% >= 95 %", "D2% <= 107 % (wish 110 %)", "beyond its limit")
refused("a wish on a target", "D95% >= 95 %", "D2% <= 107 % (wish 100 %)", "leave the wish out")
refused("monitor units that no plan has", "[beams]", "[monitor_units]\nmost_per_gy = 1.0\n[beams]", "most_per_gy", "100 to 5000")
refused("a ring of no width", "[beams]", '[[structure]]\nname = "R"\nof = "ring(PTVLow, 0, 0 mm)"\n[beams]', "a ring from 0 to 0 mm")
refused("an unknown key", "fractions = 30", "fractions = 30\nfraction = 3", "fraction")
refused("arcs of static fields", '"imrt"', '"vmat"', "needs arcs")
refused("a dose that is no number", "gy = 60.0", "gy = nan", "NaN")
refused("a set-up error of a metre", "fractions = 30", "fractions = 30\nset_up_error_mm = 1000.0", "set_up_error_mm", "0 to 10")
refused("a nested expression", "[beams]", '[[structure]]\nname = "R"\nof = "' + "(" * 5000 + '"\n[beams]', "too long")
check.end()
