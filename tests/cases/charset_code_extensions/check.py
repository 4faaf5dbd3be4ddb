"""Names as the program reads them, and as pydicom reads them in a plan that it writes. Usage: check.py FOLDER [MADE]."""
import json
import os
import subprocess
import sys

import pydicom

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
from names import CASES

out = sys.argv[1]
made = f"{out}/made"
subprocess.run([sys.executable, f"{here}/make.py", made], check=True)
plan = f"{out}/plan.toml"
with open(plan, "w") as file:
    file.write('name = "P"\nmachine = "generic-6mv"\nisocentre_mm = [0.0, 0.0, 0.0]\n[[beam]]\nname = "AP"\ngantry_deg = 0.0\n'
               'mu = 100.0\njaws_mm = { x = [-20.0, 20.0], y = [-20.0, 20.0] }\n')


def run(*words):
    done = subprocess.run([os.environ["BEAMSIGHT"], *words], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def same(name, other):
    # Trailing delimiters of a name say nothing.
    return name.rstrip("=^") == other.rstrip("=^")


for case, (_, name, roi) in CASES.items():
    run("export", f"{made}/{case}", "--plan", plan, "--only", "ct,structures,plan", "--out", f"{out}/{case}")
    for folder in (f"{made}/{case}", f"{out}/{case}"):
        said = json.loads(run("info", folder, "--json"))
        assert same(said["patient"]["name"], name), (folder, said["patient"])
        assert said["structures"][0]["name"] == roi, (folder, said["structures"])
        assert not any("letters" in r["message"] or "mixes" in r["message"] for r in said["remarks"]), said["remarks"]
    read = pydicom.dcmread(f"{out}/{case}/RP.dcm")
    read.decode()
    assert same(str(read.PatientName), name), (case, read.PatientName)
