import glob
import os
import re
import sys

import pydicom
import study
from program import Checks, run

# As the program writes a plan.
PLAN = (
    '{"name":"p","machine":"generic-6mv","position":"HFS","prescription_gy":2.0,"fractions":1,"normalisation":{"structure":"PTV",'
    '"volume_percent":95.0,"dose_gy":2.0},"beams":[{"name":"b","number":1,"radiation":"photon","mu":100.0,"isocentre_mm":[0.0,0.0,0.0],'
    '"control_points":[{"meterset_weight":1.0,"gantry_deg":0.0,"collimator_deg":0.0,"couch_deg":0.0,"jaws":{"x":[-30.0,30.0],'
    '"y":[-30.0,30.0]}}]}],"uid":null,"approval":{"stage":"approved","by":"Dr A","at":"2026-11-26 21:43:03 UTC","reason":"ok"}}')
made, check = sys.argv[1], Checks()
folder, session = f"{made}/current", f"{made}/s.json"


def fnv1a(text):
    value = 0x6C62272E07BB014262B821756295C58D
    for letter in text.encode():
        value = ((value ^ letter) * 0x0000000001000000000000000000013B) % (1 << 128)
    return value


def rois(x):
    body = [study.box(78, 3.0 * k) for k in range(-11, 11)]
    return [("BODY", "EXTERNAL", body), ("PTV", "PTV", [study.box(20, 3.0 * k, x) for k in range(-5, 6)])]


def look(name):
    """Whether the plan leaves approved, and what was said of session, structures and patient."""
    out = f"{made}/{name}"
    _, told = run("info", session)
    _, said = run("export", session, "--only", "ct,structures,plan", "--out", out, "--device", "cpu")
    files = glob.glob(f"{out}/RP*.dcm")
    approved = bool(files) and pydicom.dcmread(files[0]).get("ApprovalStatus") == "APPROVED"
    lines = [line.strip() for line in (told + said).splitlines() if re.search("[Nn]ote|[Ww]arn|error", line)]
    return approved, [line for line in lines if re.search("session|approved", line)]


ids = study.fresh(name="Doe^Jane", id="P1")
study.ct(ids, folder)
study.structures(ids, folder, rois(0.0))
with open(session, "w") as out:
    out.write('{"version":1,"case":"' + folder + '","series_uid":"' + ids["series"] + '","plans":[' + PLAN
              + '],"records":{"0":"2.25.' + str(fnv1a(PLAN)) + '"},"structures":[],"view":null}')
approved, said = look("saved")
check("as saved it is approved", approved, said)
check("a session of an earlier version says that it does not know its patient", any("does not say for which patient" in s for s in said), said)
study.structures(ids, folder, rois(25.0))
approved, said = look("moved")
check("the target was drawn anew", not approved or said, said)
for path in glob.glob(f"{folder}/*"):
    os.remove(path)
other = study.fresh(name="Roe^Richard", id="P2")
study.ct(other, folder)
study.structures(other, folder, rois(0.0))
approved, said = look("other")
check("another patient is in the folder", not approved and any("images" in s and ids["series"] in s for s in said), said)
check.end()
