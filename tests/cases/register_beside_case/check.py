import json
import os
import re
import subprocess
import sys

import pydicom
from program import Checks, run

check, out = Checks(), sys.argv[1]
case = f"{out}/case"
status, said = run("export", "demo:thorax", "--only", "ct,structures,plan", "--out", case)
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
patient = pydicom.dcmread(f"{case}/CT0001.dcm")
x, y, z = map(float, pydicom.dcmread(right).IsocenterPosition)
others = {
    "PatientName": ("Roe^Jim", "name"),
    "PatientBirthDate": ("19600304", "birth date"),
    "PatientSex": ("M" if patient.get("PatientSex") != "M" else "F", "sex"),
}
path = changed("another", IsocenterPosition=[x, y, z + 20], **{keyword: value for keyword, (value, _) in others.items()})
said = remarks(path, right)
status, exported = run("export", case, "--xray", path, "--only", "registration", "--pose", "0,0,0,0,0,0", "--out", f"{out}/export")
for keyword, (_, word) in others.items():
    # What the case does not state contradicts nothing.
    stated = bool(patient.get(keyword))
    for verb, text in (("register", said), ("export", exported)):
        differing = re.search("patients who differ in ([^:]*)", text)
        check(f"{verb}: {keyword}", bool(differing and word in differing[1]) == stated, text)
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
