import sys

from planned import ONE_BEAM, exported
from program import Checks, run

check, out = Checks(), sys.argv[1]
folder = exported(f"{out}/plan", ONE_BEAM.replace("30.0", "4.0"), ("--grid", 1))
status, said = run("check", folder, "--device", "cpu")
check("on 2.5 mm: not judged, with the way out", status == 3 and "take a finer grid" in said and "--grid" in said, said)
status, said = run("check", folder, "--grid", 1, "--device", "cpu")
check("on 1 mm: within", status == 0 and "grid 1 mm" in said, said)
status, said = run("check", folder, "--grid", 5, "--device", "cpu")
check("a coarser grid is no check", status == 2 and "--grid" in said, said)
check.end()
