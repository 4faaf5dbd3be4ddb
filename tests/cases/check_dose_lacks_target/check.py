import sys

from planned import exported, falsify
from program import Checks, number, run

check = Checks()
folder = exported(f"{sys.argv[1]}/water")
status, said = run("check", folder)
check("the plan as exported is within tolerance", status == 0 and "water: within tolerance" in said, said)


def without_a_ball(gy, x, y, z):
    gy[(x - 22) ** 2 + (y + 50) ** 2 + (z - 22) ** 2 < 10**2] = 0
    return gy


falsify(folder, without_a_ball)
status, said = run("check", folder)
check("without the target it is not", status == 1 and "NOT within tolerance" in said, said)
check("and that is said", "of its recomputed high dose are nowhere near in the planned dose" in said)
# The rim is near a voxel with dose.
lacking = number(next((line for line in said.splitlines() if "nowhere near" in line), ""), "The plan: ") or 0
check("with its volume", 0 < lacking <= 4.2, lacking)
status, said = run("check", folder, "--gamma", "10%/10mm")
check("whatever the criterion", status == 1 and "nowhere near" in said, said)
check.end()
