import re
import sys

from optimising import circle, goals, optimise, phantom, plan
from program import Checks, number

folder, check = sys.argv[1], Checks()
case = phantom(f"{folder}/case", 5.0, (48, 40), 27, lambda planes: [
    ("PTV", "PTV", [circle(20, z) for z in planes if abs(z) < 22]),
    ("OAR", "ORGAN", [circle(10, z, 35) for z in planes if abs(z) < 22])])
least = goals(f"{folder}/least.toml", ("PTV", "D95% >= 95 %"), ("OAR", "Dmean <= 20 Gy"))

normalised = plan(f"{folder}/p.toml", more='normalisation = { structure = "PTV", volume_percent = 95, dose_percent = 100 }\n')
code, said = optimise(case, normalised, least, "--grid", "5")
check("a normalisation that is taken out is told", code == 0 and "normalisation of the plan is taken out" in said, said[-400:])
code, said = optimise(case, plan(f"{folder}/p.toml"), least, "--grid", "5")
check("nothing is told of no normalisation", code == 0 and "normalisation" not in said, said[-400:] if "normalisation" in said else "")

most = goals(f"{folder}/most.toml", ("PTV", "Dmax <= 55 Gy"), ("OAR", "Dmean <= 10 Gy"))
code, said = optimise(case, plan(f"{folder}/p.toml"), most, "--grid", "5")
mean = number(said[said.index("PTV ("):], "mean ")
check("a target with a maximum alone is treated", code == 0 and mean > 45, mean)
check("and that is told", "PTV has upper limits alone, and is held to 50.00 Gy" in said, said[-400:])

# Gantry 90 gets a map, and then upper bounds of 0 on all of it.
code, said = optimise(case, plan(f"{folder}/p.toml"), least, "--grid", "5")
text = open(f"{folder}/optimised.toml").read()
beams = text.split("[[beam]]")
place = next(n for n, beam in enumerate(beams) if 'name = "G90"' in beam)
values = re.search(r"values = \[([^]]*)\]", beams[place])[1].split(",")
count = sum(bool(value.strip()) for value in values)
limits = "fluence_limits = [" + ", ".join(f"{{ beamlet = {n}, mu = 0.0 }}" for n in range(count)) + "]\n"
beams[place] = beams[place].replace('name = "G90"\n', 'name = "G90"\n' + limits)
open(f"{folder}/bounded.toml", "w").write("[[beam]]".join(beams))
for technique in ("maps", "step", "imrt"):
    code, said = optimise(case, f"{folder}/bounded.toml", least, "--grid", "5", "--technique", technique)
    check(f"{technique}: an empty beam loses nothing", code == 0, said[-400:] if code else "")
    check(f"{technique}: it is named", "beam 'G90' gets 0 MU" in said, said[-400:])

# One beam and a target that only it sees: 20 Gy a fraction.
code, said = optimise(case, plan(f"{folder}/p.toml", gantries=(0,), fractions=2, more="[objectives]\nmonitor_units = 0.0\n"), least, "--grid", "5")
check("a beam of many monitor units is remarked on", code == 0 and re.search(r"beam 'G0' [0-9]{4,5} MU", said), said[-500:])
check.end()
