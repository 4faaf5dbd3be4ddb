import os
import sys

import study

out = sys.argv[1]


def undefined_lengths(d):
    """Sequences whose end is marked."""
    for element in d.iterall():
        element.is_undefined_length = element.VR == "SQ"


ids = study.fresh()
for name in ("half", "pixels", "contour", "imageless", "beside"):
    study.ct(ids, f"{out}/{name}", slices=2, size=(8, 8))
study.structures(ids, f"{out}/contour", [("HEART", "ORGAN", [study.box(20, 0.0)])], undefined_lengths)
os.remove(f"{out}/imageless/ct000.dcm")

for name, file, end in [
    ("half", "ct001.dcm", lambda data: len(data) // 2),
    ("pixels", "ct001.dcm", lambda data: data.rindex(b"\xe0\x7f\x10\x00")),
    ("contour", "rs.dcm", lambda data: data.rindex(b"\xfe\xff\xdd\xe0")),
    ("imageless", "ct001.dcm", lambda data: data.index(b"\x28\x00\x10\x00")),
    ("beside", "ct001.dcm", lambda data: data.index(b"\x28\x00\x10\x00")),
]:
    path = f"{out}/{name}/{file}"
    data = open(path, "rb").read()
    with open(path, "wb") as f:
        f.write(data[:end(data)])
