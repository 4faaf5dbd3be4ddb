import shutil
import sys

from planned import box_of, exported, falsify
from program import Checks, run

check = Checks()
source = exported(f"{sys.argv[1]}/source")


def cropped(name, how):
    """A copy of the plan with the voxels of its dose that `how` chooses."""
    folder = shutil.copytree(source, f"{sys.argv[1]}/{name.replace(' ', '-')}")
    falsify(folder, how)
    return folder


def a_block(gy, x, y, z):
    """125 voxels in the middle of the beam."""
    return tuple(slice(n // 2 - 2, n // 2 + 3) for n in gy.shape)


for name, how in {"cropped to its high dose": lambda gy, x, y, z: box_of(gy, 0.5), "of 125 voxels": a_block}.items():
    status, said = run("check", cropped(name, how))
    check(f"{name}: not judged", status == 3 and "NOT JUDGED" in said, said)
    check(f"{name}: why", "lies outside the planned grid" in said)
    check(f"{name}: how many", "lie outside the planned grid and are not judged" in said)


def a_little(gy, x, y, z):
    z, y, x = box_of(gy, 0.1)
    return slice(z.start + 1, z.stop - 1), y, slice(x.start + 1, x.stop - 1)


status, said = run("check", cropped("a-little", a_little))
verdict = next(line for line in said.splitlines() if line.startswith("plan "))
check("the rim of the penumbra: within tolerance", status == 0 and "within tolerance; " in verdict, said)
check("and counted in the verdict", "points of the recomputed dose" in verdict and "are not judged" in verdict, verdict)
check.end()
