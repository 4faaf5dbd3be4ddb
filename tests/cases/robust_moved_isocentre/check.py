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
made = plan(f"{folder}/p.toml", gantries=(0, 90))
DOSE = [*COARSE, "--grid", "5"]
code, said = run("robust", case, "--plan", made, "--goals", asked, *DOSE, "--shift-mm", "6", "--json", "--out", f"{folder}/r.json",
                 "--least", f"{folder}/least.mha", "--greatest", f"{folder}/greatest.mha")
check("seven scenarios are computed", code == 0, said[-300:] if code else "")
told = json.load(open(f"{folder}/r.json"))
check("they are the plan and six shifts", [s["shift_mm"] for s in told["scenarios"]] == [
    [0, 0, 0], [6, 0, 0], [-6, 0, 0], [0, 6, 0], [0, -6, 0], [0, 0, 6], [0, 0, -6]], told["scenarios"])


def volume(path):
    header = open(path, "rb").read(2000).split(b"ElementDataFile")[0].decode()
    size = [int(n) for n in re.search(r"DimSize = (.*)", header)[1].split()]
    return read_mha(path, size[::-1])


doses, values = [], []
for n, scenario in enumerate(told["scenarios"]):
    text = open(made).read().replace("isocentre_mm = [0, 0, 0]", f"isocentre_mm = {scenario['shift_mm']}")
    open(f"{folder}/m{n}.toml", "w").write(text)
    run("dose", case, "--plan", f"{folder}/m{n}.toml", *DOSE, "--out", f"{folder}/m{n}.mha")
    doses.append(volume(f"{folder}/m{n}.mha"))
    _, table = run("dvh", case, "--dose", f"{folder}/m{n}.mha", "--metrics", "D95%", "--structure", "PTV", "--json")
    values.append(float(re.search(r'"D95%":([0-9.]+)', table)[1]))
check("the least dose of each voxel", np.array_equal(volume(f"{folder}/least.mha"), np.min(doses, axis=0)))
check("the greatest dose of each voxel", np.array_equal(volume(f"{folder}/greatest.mha"), np.max(doses, axis=0)))
goal = told["goals"][0]
check("D95% as planned", abs(goal["value"] - values[0]) < 0.01, (goal["value"], values[0]))
check("D95% in the worst scenario", abs(goal["worst"] - min(values)) < 0.01, (goal["worst"], values))
worst = told["scenarios"][int(np.argmin(values))]["shift_mm"]
check("it is the worst one", goal["worst_shift_mm"] == worst, (goal["worst_shift_mm"], worst))
code, said = run("robust", case, "--plan", made, *DOSE, "--shift-mm", "11")
check("a shift of 11 mm is refused", code == 2 and "panicked" not in said, said[-200:])
check.end()
