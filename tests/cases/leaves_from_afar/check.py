import json
import sys

from program import Checks, run

SIDES = [-200.0 + 10.0 * n for n in range(10)] + [-100.0 + 5.0 * n for n in range(41)] + [110.0 + 10.0 * n for n in range(10)]


def plan(steps):
    def point(n):
        part = n / steps
        tips = [[-170.0 + 160.0 * part, -60.0 + 220.0 * part] for _ in SIDES[1:]]
        return f"""
meterset_weight = {part}
gantry_deg = 0.0
jaws_mm = {{ x = [-30.0, 30.0], y = [-40.0, 40.0] }}
leaves_mm = {json.dumps(tips)}
"""

    beam = point(0).replace("meterset_weight = 0.0\n", "") + f'mlc = {{ axis = "x", boundaries_mm = {SIDES} }}\n'
    head = 'name = "P"\nmachine = "generic-6mv"\nposition = "HFS"\nprescription_gy = 2.0\nfractions = 1\n\n[[beam]]\nname = "B"\nnumber = 1\n'
    head += "isocentre_mm = [0.0, 0.0, 0.0]\nmu = 200.0"
    return head + beam + "".join("[[beam.control_point]]" + point(n) for n in range(steps + 1))


check = Checks()
found = []
for steps in (1, 24):
    path = f"{sys.argv[1]}/{steps}.toml"
    with open(path, "w") as file:
        file.write(plan(steps))
    status, said = run("dose", "demo:water", "--plan", path, "--quality", "fast", "--grid", "5", "--device", "cpu", "--json")
    check(f"{steps} steps: computed", status == 0, "" if status == 0 else said)
    target = json.loads(next(line for line in said.splitlines() if line.startswith("{")))["figures"]["target"]
    found.append([target[of] for of in ("max_gy", "mean_gy", "min_gy", "d95_gy", "d2_gy")])
check("the same doses", all(abs(one - many) < 0.002 * many for one, many in zip(*found, strict=True)), found)
check.end()
