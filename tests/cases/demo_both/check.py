import os
import sys

from program import Checks, run

check, out = Checks(), sys.argv[1]
case, xrays = f"{out}/case", f"{out}/xrays"
status, said = run("demo", "water", "--out", case, "--xray", xrays)
check("both are written", status == 0 and case in said and xrays in said, said)
check("the case", os.path.isfile(f"{case}/plan.toml") and any(name.endswith(".dcm") for name in os.listdir(case)))
check("the X-rays", os.path.isfile(f"{xrays}/gantry-0.png") and os.path.isfile(f"{xrays}/gantry-90.toml"))
status, said = run("demo", "water", "--out", f"{out}/again", "--xray", xrays)
check("an X-ray that is there: nothing is written", status == 1 and "gantry-0.png" in said and not os.path.exists(f"{out}/again"), said)
check.end()
