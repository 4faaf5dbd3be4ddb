import sys

import study

out = sys.argv[1]
points = [(0, study.jaws(-50, 50)), (1, None)]
far, electrons = (study.beam(n, "STATIC", points) for n in (1, 2))
far.SourceAxisDistance = 800
electrons.RadiationType = "ELECTRON"
for name, beams in [("none", []), ("word", [study.beam(1, "STATIC", points)]), ("beams", [far, electrons])]:
    ids = study.fresh()
    study.ct(ids, f"{out}/{name}", slices=4, size=(8, 8))
    if beams:
        study.plan(ids, f"{out}/{name}", beams, 100)
path = f"{out}/word/rp.dcm"
data = open(path, "rb").read()
# BeamNumber, IS of two letters: a writer of sound files writes no word.
number = b"\x0a\x30\xc0\x00IS\x02\x001 "
assert data.count(number) == 1
with open(path, "wb") as f:
    f.write(data.replace(number, number[:-2] + b"xx"))
