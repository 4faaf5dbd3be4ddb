"""Usage: check.py FOLDER."""
import glob
import json
import os
import subprocess
import sys

import pydicom

out = sys.argv[1]
names = ["Left breast tangents, open", "Left breast tangents, wedge"]
point = dict(meterset_weight=1.0, gantry_deg=0.0, collimator_deg=0.0, couch_deg=0.0, jaws=dict(x=[-50.0, 50.0], y=[-50.0, 50.0]))
beam = dict(name="AP", number=1, mu=100.0, isocentre_mm=[0.0, -50.0, 0.0], control_points=[point])
plans = [dict(name=name, machine="generic-6mv", position="HFS", prescription_gy=None, fractions=1, normalisation=None, beams=[beam],
              uid=None) for name in names]
with open(f"{out}/two.json", "w") as file:
    json.dump(dict(version=1, case="demo:water", plans=plans, structures=[], view=None), file)
words = ["export", f"{out}/two.json", "--only", "plan", "--out", f"{out}/dicom"]
done = subprocess.run([os.environ["BEAMSIGHT"], *words], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
read = [pydicom.dcmread(path) for path in sorted(glob.glob(f"{out}/dicom/RP*.dcm"))]
assert [d.RTPlanName for d in read] == names
labels = [d.RTPlanLabel for d in read]
assert len(set(labels)) == 2 and all(len(label) <= 16 for label in labels), labels
