import sys

from planned import box_of, exported, falsify
from program import Checks, run

check = Checks()
for name, how in {
    "cropped to its high dose": lambda gy, x, y, z: box_of(gy, 0.5),
    "of 125 voxels": lambda gy, x, y, z: (slice(58, 63), slice(38, 43), slice(58, 63)),
}.items():
    folder = exported(f"{sys.argv[1]}/{name.replace(' ', '-')}")
    falsify(folder, how)
    status, said = run("check", folder)
    check(f"{name}: not judged", status == 3 and "NOT JUDGED" in said, said)
    check(f"{name}: why", "lies outside the planned grid" in said)
    check(f"{name}: how many", "lie outside the planned grid and are not judged" in said)



def a_little(gy, x, y, z):
    z, y, x = box_of(gy, 0.1)
    return slice(z.start + 1, z.stop - 1), y, slice(x.start + 1, x.stop - 1)


folder = exported(f"{sys.argv[1]}/a-little")
falsify(folder, a_little)
status, said = run("check", folder)
verdict = next(line for line in said.splitlines() if line.startswith("plan "))
check("the rim of the penumbra: within tolerance", status == 0 and "within tolerance; " in verdict, said)
check("and counted in the verdict", "points of the recomputed dose" in verdict and "are not judged" in verdict, verdict)
check.end()
