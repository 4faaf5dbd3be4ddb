import os
import struct
import sys

import numpy as np
import study
from program import Checks, run
from raw import END_OF_ITEM, END_OF_SEQUENCE, ITEM, UNDEFINED, bare, ct, element, long, write

out, checks = sys.argv[1], Checks()


def rewritten(name, change, **more):
    """A CT whose bytes are changed once they are written."""
    path = f"{out}/{name}"
    data = bytearray(write(path, ct(), **more))
    change(data)
    with open(path, "wb") as f:
        f.write(data)
    return path


write(f"{out}/title.dcm", ct(), more=element(0x00020016, b"AE", "EIGHTEEN_LETTERS_X"))
checks.opens(f"{out}/title.dcm", "HU 0 to 5", "SourceApplicationEntityTitle", "title.dcm")
checks.opens(rewritten("length.dcm", lambda data: data.__setitem__(slice(140, 144), struct.pack("<I", 9999))), "HU 0 to 5")
# The tag of the transfer syntax becomes another.
checks.opens(rewritten("none.dcm", lambda data: data.__setitem__(data.index(b"\2\0\x10\0") + 2, 0x99)), "no transfer syntax")
write(f"{out}/own.dcm", ct(), "1.2.840.113619.5.2")
checks.refused(f"{out}/own.dcm", "1.2.840.113619.5.2", "Explicit VR Little Endian")

# Elements of unknown VR have that of the dictionary, also in a sequence.
unknown = [(0x00080060, b"CT"), (0x00200032, b"-10\\-20\\5 "), (0x00280010, struct.pack("<H", 2)), (0x00281052, b"-990")]
write(f"{out}/unknown.dcm", ct(*(element(tag, b"UN", value) for tag, value in unknown)))
checks.opens(f"{out}/unknown.dcm", "HU 10 to 15")
checks("and has no remark", "remark" not in run("info", f"{out}/unknown.dcm")[1])
name = "Herz Ä".encode()
roi = bare(ITEM, UNDEFINED) + bare(0x30060022, 2) + b"7 " + bare(0x30060026, len(name)) + name + bare(END_OF_ITEM, 0)
write(f"{out}/rs.dcm", element(0x00080005, b"CS", "ISO_IR 192") + element(0x00080016, b"UI", "1.2.840.10008.5.1.4.1.1.481.3\0")
      + element(0x00080060, b"CS", "RTSTRUCT") + element(0x00200052, b"UI", "1.2.3.3\0")
      + long(0x30060020, b"UN", UNDEFINED) + roi + bare(END_OF_SEQUENCE, 0))
checks.opens(f"{out}/rs.dcm", "Herz Ä")

# What is no number is not called missing.
write(f"{out}/nan.dcm", ct(element(0x00200032, b"DS", "0\\nan\\0")))
checks.refused(f"{out}/nan.dcm", "ImagePositionPatient has a value that is no number")
ids = study.fresh()
for keyword, value in (("DoseGridScaling", "NaN"), ("ImagePositionPatient", ["0", "NaN", "0"])):
    folder = f"{out}/{keyword}"
    os.makedirs(folder)
    study.dose(ids, folder, np.ones((2, 4, 4)), (0, 0, 0), (2, 2, 2), lambda d: setattr(d, keyword, value))
    checks.refused(f"{folder}/rd.dcm", keyword, "NaN", verb=["gamma", f"{folder}/rd.dcm"])
    checks("and is not called missing", "has no" not in run("gamma", f"{folder}/rd.dcm", f"{folder}/rd.dcm")[1])

# Two MLC layers of one name are not computed.
folder = f"{out}/layers"
study.ct(ids, folder, slices=4, size=(8, 8))
leaves = [study.item(RTBeamLimitingDeviceType="MLCX", LeafJawPositions=[-5.0, -5.0, 5.0, 5.0]) for _ in range(2)]
beam = study.beam(1, "STATIC", [(0, study.jaws(-50, 50) + leaves), (1, None)])
beam.BeamLimitingDeviceSequence.extend(
    study.item(RTBeamLimitingDeviceType="MLCX", NumberOfLeafJawPairs=2, LeafPositionBoundaries=[-10 + n, 0, 10 + n]) for n in range(2))
study.plan(ids, folder, [beam], 100)
status, said = run("dose", folder)
checks("an MLC of two layers is not computed", status == 1 and "MLC of 2 layers" in said, said)
checks.end()
