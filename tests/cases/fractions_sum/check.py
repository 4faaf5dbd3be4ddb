import json
import re
import sys

import numpy as np
from optimising import COARSE, circle, goals, phantom, plan
from program import Checks, run
from volume import read_mha

folder, check = sys.argv[1], Checks()
case = phantom(f"{folder}/case", 5.0, (44, 36), 21, lambda planes: [
    ("PTV", "PTV", [circle(20, z) for z in planes if abs(z) < 21])])
asked = goals(f"{folder}/g.toml", ("PTV", "D95% >= 48 Gy"))
text = open(plan(f"{folder}/p.toml", gantries=(0, 90), fractions=5)).read()
DOSE = [*COARSE, "--grid", "5"]
# Shifts that can be told from each other, a turn of 4 degrees about the patient's length, and a fraction as planned.
open(f"{folder}/poses.csv", "w").write(
    "fraction;tx;ty;tz;rx;ry;rz\n1;6;0;0;0;0;0\n2;0;-4,5;3;0;0;0\n3;0;0;0;0;0;4\n")
code, said = run("fractions", case, "--plan", f"{folder}/p.toml", "--poses", f"{folder}/poses.csv", "--goals", asked, *DOSE,
                 "--json", "--out", f"{folder}/sum.mha")
check("fractions are computed", code == 0, said[-300:] if code else "")
told = json.loads(said[said.index("{"):said.rindex("}") + 1])
check("three are delivered and two are to come", (len(told["delivered"]), told["to_come"]) == (3, 2), told["to_come"])
mean = [2.0, -1.5, 1.0, 0, 0, 4 / 3]
numbers = told["mean_pose"]["translation_mm"] + told["mean_pose"]["rotation_deg"]
check("the mean pose", np.allclose(numbers, mean), numbers)
check("rigid, and partial for it", told["sum"]["status"] == "partial" and "rigid" in told["sum"]["caveats"][0], told["sum"])


def volume(path):
    header = open(path, "rb").read(2000).split(b"ElementDataFile")[0].decode()
    size = [int(n) for n in re.search(r"DimSize = (.*)", header)[1].split()]
    return read_mha(path, size[::-1])


def moved(name, shift, turn):
    """The dose of the plan moved by hand. The patient turned by +rz, from the left to the back, meets a gantry turned back by it."""
    turn = np.radians(turn)
    back = np.array([[np.cos(turn), np.sin(turn), 0], [-np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    isocentre = (back @ -np.array(shift)).tolist()
    hand = text.replace("isocentre_mm = [0, 0, 0]", f"isocentre_mm = {isocentre}")
    hand = re.sub(r"gantry_deg = ([0-9.]+)", lambda m: f"gantry_deg = {float((float(m[1]) - np.degrees(turn)) % 360)}", hand)
    open(f"{folder}/{name}.toml", "w").write(hand)
    code, said = run("dose", case, "--plan", f"{folder}/{name}.toml", *DOSE, "--out", f"{folder}/{name}.mha")
    check(f"the plan moved by hand, {name}", code == 0, said[-300:] if code else "")
    return volume(f"{folder}/{name}.mha")


doses = [moved("a", (6, 0, 0), 0), moved("b", (0, -4.5, 3), 0), moved("c", (0, 0, 0), 4), moved("d", mean[:3], mean[5])]
expected = 0.2 * (doses[0] + doses[1] + doses[2]) + 0.4 * doses[3]
found = volume(f"{folder}/sum.mha")
worst = float(np.max(np.abs(found - expected)) / np.max(expected))
check("the sum of the course", worst < 1e-4, worst)
away = float(np.max(np.abs(found - doses[0])) / np.max(expected))
check("fractions differ from each other", away > 0.05, away)
check.end()
