import os
import sys
from pathlib import Path

import numpy as np
from program import Checks, run
from volume import read_mha

folder = Path(sys.argv[1])
check = Checks()
generic = (Path(__file__).resolve().parents[3] / "assets/machines/generic-6mv.toml").read_text()
HOW = ["--grid", "2.5", "--quality", "fast", "--device", "cpu"]


def machine(name, offset_mm, text=generic):
    path = folder / f"{name}.toml"
    path.write_text(text.replace("sad_mm = 1000.0\n", f"sad_mm = 1000.0\nleaf_offset_mm = {offset_mm}\n", 1))
    return path


def plan(name, machine, leaves):
    """A field of 60 x 60 mm of a machine, bounded by leaves or by jaws."""
    path, jaws = folder / f"{name}.toml", 50 if leaves else 30
    sides = [-200.0 + 10 * n for n in range(10)] + [-100.0 + 5 * n for n in range(40)] + [100.0 + 10 * n for n in range(11)]
    tips = [[-30.0, 30.0] if -30 < 0.5 * (a + b) < 30 else [70.0, 70.0] for a, b in zip(sides, sides[1:])]
    mlc = f'mlc = {{ axis = "x", boundaries_mm = {sides} }}\nleaves_mm = {tips}\n' if leaves else ""
    path.write_text(f'name = "t"\nmachine = "{machine}"\nisocentre_mm = [0, 0, 0]\n[[beam]]\nname = "b"\ngantry_deg = 0\nmu = 100\n'
                    f"jaws_mm = {{ x = [-{jaws}, {jaws}], y = [-30, 30] }}\n{mlc}")
    return path


def width_mm(name, machine, leaves):
    """Dose along x through the isocentre, over that on the axis: the width of a rectangle of as much."""
    out = folder / f"{name}.mha"
    status, said = run("dose", "demo:water", "--plan", plan(name, machine, leaves), *HOW, "--out", out)
    check(f"{name} is computed", status == 0, said[-300:] if status else "")
    if status:
        return 0.0
    head = dict(line.split(" = ") for line in out.read_bytes().split(b"ElementDataFile")[0].decode().splitlines())
    origin, spacing, size = ([float(v) for v in head[key].split()] for key in ("Offset", "ElementSpacing", "DimSize"))
    values = read_mha(out, [int(n) for n in reversed(size)])
    k, j = (int(round(-origin[axis] / spacing[axis])) for axis in (2, 1))
    row = np.asarray(values[k, j], float)
    # Voxels are wider than the offset: an edge is told by what passes it, not by where a line between two of them crosses a half.
    return row.sum() * spacing[0] / row[int(round(-origin[0] / spacing[0]))]


plain, wide = machine("plain", 0.0), machine("wide", 1.0)
by_leaves = width_mm("plain-leaves", plain, True), width_mm("wide-leaves", wide, True)
grown = by_leaves[1] - by_leaves[0]
check(f"leaves: 2 mm wider, seen {grown:.2f}", abs(grown - 2.0) < 0.1, by_leaves)
by_jaws = width_mm("plain-jaws", plain, False), width_mm("wide-jaws", wide, False)
check("jaws: as wide as before", abs(by_jaws[1] - by_jaws[0]) < 1e-6, by_jaws)

for name, text, offset, words in (
    ("far", generic, 30.0, ["leaf_offset_mm", "30", "to 3"]),
    ("none", generic.replace('mlc = "millennium120"\n', ""), 0.5, ["leaf_offset_mm", "no leaves"]),
):
    status, said = run("dose", "demo:water", "--plan", plan(f"{name}-plan", machine(name, offset, text), False), *HOW)
    check(f"{name} is refused", status == 1 and all(word in said for word in words), said[-300:])


def profile(edges):
    """A profile along x that any wide field of 60 mm has, up to its edge."""
    rows = "".join(f"{x},{100 if abs(x) < 31 else 50 if abs(x) < 36 else 3}\n" for x in range(-60, 61, 3))
    path = folder / f"{edges}.csv"
    path.write_text(f"# curve: profile\n# axis: x\n# depth_mm: 100\n# field_mm: 60 x 60\n# ssd_mm: 900\n# edges: {edges}\n{rows}")
    return path


for edges, label, lacks in (("leaves", "60 x 60 mm by leaves", False), ("jaws", "60 x 60 mm, SSD", True)):
    status, said = run("machine", "check", "generic-6mv", "--profiles", profile(edges), "--quality", "fast", "--device", "cpu")
    check(f"edges: {edges}", label in said and ("fields shaped by leaves" in said) == lacks, said[-1500:])
    asked = ["oblique incidence", "tissue other than water", "small fields", "modulated plans", "couch and trays"]
    check(f"edges: {edges}: MPPG 5.b", all(f"{what}" in said for what in asked), [what for what in asked if what not in said])
status, said = run("machine", "check", "generic-6mv", "--profiles", profile("blocks"), "--device", "cpu")
check("other edges are refused", status == 1 and "neither jaws nor leaves" in said, said[-300:])
check.end()
