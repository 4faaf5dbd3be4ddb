import json
import sys

import study
from program import Checks, run

made, check = sys.argv[1], Checks()
folder, session = f"{made}/current", f"{made}/s.json"


def contours(half, x=0.0, planes=range(-5, 6)):
    return [study.box(half, 3.0 * k, x) for k in planes]


body, target = ("BODY", "EXTERNAL", contours(78, planes=range(-11, 11))), ("PTV", "PTV", contours(20))
ring, cord, opti = ("Ring", "CONTROL", contours(30)), ("SpinalCord", "ORGAN", contours(10, 60.0)), ("Opti", "CONTROL", contours(5, -40.0))


def look():
    status, said = run("info", session)
    check("the session opens", status == 0, said)
    names = [line.split()[1] for line in said.splitlines() if line.startswith("Structure ")]
    return names, [line for line in said.splitlines() if "ROI numbers" in line]


ids = study.fresh()
study.ct(ids, folder)
study.structures(ids, folder, [body, target, ring, cord])
with open(session, "w") as out:
    json.dump({"version": 1, "case": folder, "series_uid": ids["series"], "plans": [], "structures": [], "removed_structures": [3],
               "view": None}, out)
names, _ = look()
check("as saved", names == ["BODY", "PTV", "SpinalCord"], names)
study.structures(ids, folder, [body, target, cord, opti])
names, said = look()
check("exported anew", "SpinalCord" in names or any("'SpinalCord' (3) is removed" in line for line in said), (names, said))
check.end()
