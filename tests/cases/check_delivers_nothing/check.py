import glob
import shutil
import sys

import pydicom
from planned import with_beam_doses
from program import Checks, run

check, out = Checks(), sys.argv[1]
source = with_beam_doses(f"{out}/source")


def of(name, of_beams):
    """The plan with 0 MU for some of its beams."""
    folder = f"{out}/{name}"
    shutil.copytree(source, folder)
    path = glob.glob(f"{folder}/RP*.dcm")[0]
    plan = pydicom.dcmread(path)
    for beam in list(plan.FractionGroupSequence[0].ReferencedBeamSequence)[of_beams]:
        beam.BeamMeterset = "0"
    plan.save_as(path, enforce_file_format=True)
    return folder


status, said = run("check", of("nothing", slice(None)), "--device", "cpu")
check("nothing is delivered", status == 1 and "delivers nothing" in said and "NOT within tolerance" in said, said)
status, said = run("check", of("one", slice(1)), "--device", "cpu")
check("a beam delivers nothing", status == 1 and "delivers nothing, it has 0 MU: its planned dose goes up to" in said, said)
check.end()
