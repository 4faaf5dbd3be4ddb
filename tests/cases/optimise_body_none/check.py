import sys

from optimising import circle, goals, monitor_units, optimise, phantom, plan
from program import Checks

folder, check = sys.argv[1], Checks()
case = phantom(f"{folder}/case", 5.0, (48, 40), 27, lambda planes: [
    ("PTV", "PTV", [circle(25, z) for z in planes if abs(z) < 32]),
    ("CORE", "ORGAN", [circle(8, z) for z in planes if abs(z) < 32])])
asked = goals(f"{folder}/g.toml", ("PTV", "D95% >= 50 Gy"), ("PTV", "D10% <= 55 Gy"), ("CORE", "D10% <= 25 Gy"))
made = plan(f"{folder}/p.toml", gantries=range(0, 360, 40))
mu = []
for body in ([], ["--body", "none"]):
    code, said = optimise(case, made, asked, "--grid", "5", *body)
    check(f"optimised {body}", code == 0, said[-300:] if code else "")
    mu.append(monitor_units(said))
check("as many monitor units without a body", abs(mu[1] / mu[0] - 1) < 0.1, mu)
code, said = optimise(case, made, asked, "--grid", "5", "--body", "none", "--technique", "step")
check("step and shoot without a body", code == 0, said[-300:] if code else "")
check.end()
