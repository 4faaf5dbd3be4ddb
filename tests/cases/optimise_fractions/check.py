import sys

from optimising import circle, goals, monitor_units, optimise, phantom, plan
from program import Checks

folder, check = sys.argv[1], Checks()
case = phantom(f"{folder}/case", 5.0, (48, 40), 27, lambda planes: [
    ("PTV", "PTV", [circle(20, z) for z in planes if abs(z) < 22]),
    ("OAR", "ORGAN", [circle(10, z, 35) for z in planes if abs(z) < 22])])
asked = goals(f"{folder}/g.toml", ("PTV", "D95% >= 47.5 Gy"), ("PTV", "Dmax <= 55 Gy"), ("OAR", "Dmean <= 20 Gy"))
# Without a price of monitor units many maps have one dose, and monitor units hang on round-off.
for weight, within in ((0.0, 0.1), (1.0, 0.03), (30.0, 0.03)):
    courses = {}
    for fractions in (1, 5, 25):
        made = plan(f"{folder}/p.toml", fractions=fractions, more=f"[objectives]\nmonitor_units = {weight}\n")
        code, said = optimise(case, made, asked, "--grid", "5")
        check(f"monitor units {weight:g}, {fractions} fractions", code == 0, said[-300:] if code else "")
        courses[fractions] = monitor_units(said) * fractions
    for fractions in (1, 5):
        part = courses[fractions] / courses[25]
        check(f"monitor units {weight:g}: {fractions} fractions as 25", abs(part - 1) < within, f"{courses}")
check.end()
