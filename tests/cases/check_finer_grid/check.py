import sys

from planned import ONE_BEAM, cube_images
from program import Checks, run

check, out = Checks(), sys.argv[1]
plan, folder = f"{out}/plan.toml", f"{out}/plan"
with open(plan, "w") as f:
    f.write(ONE_BEAM.replace("30.0", "4.0"))
status, said = run("export", cube_images(folder), "--plan", plan, "--grid", 1, "--out", folder, "--device", "cpu")
assert status == 0, said
status, said = run("check", folder, "--device", "cpu")
check("on 2.5 mm: not judged, with the way out", status == 3 and "take a finer grid" in said and "--grid" in said, said)
status, said = run("check", folder, "--grid", 1, "--device", "cpu")
check("on 1 mm: within", status == 0 and "grid 1 mm" in said, said)
status, said = run("check", folder, "--grid", 5, "--device", "cpu")
check("a coarser grid is no check", status == 2 and "--grid" in said, said)
check.end()
