import json
import os
import shutil
import subprocess
import sys

import pydicom
from program import Checks, run

check, out = Checks(), sys.argv[1]
case = f"{out}/case"
status, said = run("demo", "thorax", "--out", case)
assert status == 0, said
for gantry in (0, 90):
    words = ["drr", case, "--gantry", gantry, "--size", "200x200", "--pixel", 1.6, "--out", f"{out}/right-{gantry}.dcm", "--device", "cpu"]
    status, said = run(*words)
    assert status == 0, said


def remarks(*images):
    """The remarks of a registration."""
    words = [os.environ["BEAMSIGHT"], "register", case, *(word for image in images for word in ("--image", image)), "--device", "cpu", "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout, done.stderr
    return " ".join(remark["message"] for remark in json.loads(done.stdout)["remarks"])


def changed(name, **values):
    path = f"{out}/{name}.dcm"
    image = pydicom.dcmread(f"{out}/right-0.dcm")
    for keyword, value in values.items():
        setattr(image, keyword, value)
    image.save_as(path, enforce_file_format=True)
    return path


right = f"{out}/right-90.dcm"
said = remarks(f"{out}/right-0.dcm", right)
check("a right X-ray: nothing", not any(word in said for word in ("who differ", "isocentre", "lies")), said)
patient = pydicom.dcmread(right)
for keyword, value, says in (
    ("PatientName", "Roe^Jim", "name "),
    ("PatientBirthDate", "19600304", "birth date "),
    ("PatientSex", "M" if patient.get("PatientSex") != "M" else "F", "sex "),
):
    path = changed(keyword, **{keyword: value})
    if not patient.get(keyword):
        # What the case does not state contradicts nothing.
        check(f"{keyword}: unstated by the case", "who differ" not in remarks(path, right))
        continue
    said = remarks(path, right)
    check(f"{keyword}: told", "patients who differ in" in said and says in said, said)
    status, told = run("export", case, "--xray", path, "--only", "registration", "--pose", "0,0,0,0,0,0", "--out", f"{out}/export-{keyword}")
    check(f"{keyword}: told by an export", says in told, told)
x, y, z = map(float, patient.IsocenterPosition)
said = remarks(changed("isocentre", IsocenterPosition=[x, y, z + 20]), right)
check("an isocentre 20 mm off", "lies 20.0 mm from that of the plan" in said, said)
said = remarks(changed("prone", PatientPosition="HFP"), right)
check("another position", "lies HFP, that of the CT HFS" in said, said)

# The file beside a picture: a patient who lies prone is seen from the other side.
xrays = f"{out}/xrays"
status, said = run("demo", "thorax", "--xray", xrays)
assert status == 0, said
beside = f"{xrays}/gantry-0.toml"
with open(beside) as f:
    text = f.read()
assert 'position = "HFS"' in text, text
with open(beside, "w") as f:
    f.write(text.replace('position = "HFS"', 'position = "HFP"'))
said = remarks(f"{xrays}/gantry-0.png", f"{xrays}/gantry-90.png")
check("the position beside a picture", "lies HFP, that of the CT HFS" in said, said)
check.end()
