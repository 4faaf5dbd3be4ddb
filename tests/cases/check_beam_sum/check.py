import glob
import os
import shutil
import sys

import numpy as np
import pydicom
from planned import falsify, with_beam_doses
from program import Checks, run

check, out = Checks(), sys.argv[1]
source = with_beam_doses(f"{out}/source")


def of(name):
    shutil.copytree(source, f"{out}/{name}")
    return f"{out}/{name}"


def halved(gy, x, y, z):
    return gy * np.where(x > np.median(x), 1.04, 1.0)


def one(gy, x, y, z):
    n = np.unravel_index(gy.argmax(), gy.shape)
    gy[n] *= 1.02
    return gy


status, said = run("check", of("as-exported"), "--device", "cpu")
check("as it is exported: within", status == 0, said)
check("and said to be the sum", "is the sum of its" in said)
for name, how in {
    "1.029-times": lambda gy, x, y, z: 1.029 * gy,
    "0.98-times": lambda gy, x, y, z: 0.98 * gy,
    "half": halved,
    "one-voxel-off": lambda gy, x, y, z: np.roll(gy, 1, axis=2),
    "one-voxel": one,
}.items():
    folder = of(name)
    falsify(folder, how)
    status, said = run("check", folder, "--device", "cpu")
    check(f"{name}: not within", status == 1 and "is not the sum of its" in said, said)

folder = of("grid-moved")
dose = pydicom.dcmread(f"{folder}/RD.dcm")
x, y, z = map(float, dose.ImagePositionPatient)
dose.ImagePositionPatient = [x, y + float(dose.PixelSpacing[0]), z]
dose.save_as(f"{folder}/RD.dcm", enforce_file_format=True)
status, said = run("check", folder, "--device", "cpu")
check("the grid one voxel off: not within", status == 1 and "is not the sum of its" in said, said)

# A beam changed, the plan as it was: the other way round.
folder = of("beam")
path = sorted(glob.glob(f"{folder}/RD-*"))[0]
dose = pydicom.dcmread(path)
dose.DoseGridScaling = f"{1.01 * float(dose.DoseGridScaling):.9e}"
dose.save_as(path, enforce_file_format=True)
status, said = run("check", folder, "--device", "cpu")
check("1 % in a beam: not within", status == 1 and "is not the sum of its" in said, said)

folder = of("missing")
os.remove(sorted(glob.glob(f"{folder}/RD-*"))[0])
status, said = run("check", folder, "--device", "cpu")
check("a missing beam is named", "there is none of beam '" in said, said)

# Beams of one fraction, the plan's dose of the course: told, and the beams are not judged by it.
folder = of("fraction")
plan = pydicom.dcmread(glob.glob(f"{folder}/RP*.dcm")[0])
fractions = int(plan.FractionGroupSequence[0].NumberOfFractionsPlanned)
assert fractions > 1, fractions
for path in glob.glob(f"{folder}/RD-*"):
    dose = pydicom.dcmread(path)
    dose.DoseGridScaling = f"{float(dose.DoseGridScaling) / fractions:.9e}"
    dose.save_as(path, enforce_file_format=True)
status, said = run("check", folder, "--device", "cpu")
check("beams of one fraction", f"times {fractions} fractions" in said and "is not the sum" not in said, said)
check.end()
