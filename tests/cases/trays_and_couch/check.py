import os
import sys
from pathlib import Path

import numpy as np
import study
from program import Checks, run

folder = Path(sys.argv[1])
check = Checks()
generic = (Path(__file__).resolve().parents[3] / "assets/machines/generic-6mv.toml").read_text()
HOW = ["--grid", "5", "--quality", "fast", "--device", "cpu"]
TRAYS = '[trays]\nT1 = 0.97\n"T 2" = 0.9\n'
# An arc goes in steps of 4 degrees from 96 on: none of them passes 112.
COUCH = "[couch]\nfactor = 0.9\ngantry_deg = [[112.0, 250.0]]\n"


def machine(name, tables):
    path = folder / f"{name}.toml"
    path.write_text(f"{generic}\n{tables}")
    return path


def plan(name, machine, gantry=0, mu=100, couch=0, accessories=(), to=None):
    """A beam of 60 x 60 mm, or an arc to another gantry angle."""
    path = folder / f"{name}-plan.toml"
    arc = "" if to is None else "".join(f"[[beam.control_point]]\nmeterset_weight = {w}\ngantry_deg = {g}\n" for w, g in ((0, gantry), (1, to)))
    path.write_text(f'name = "t"\nmachine = "{machine}"\nisocentre_mm = [0, 0, 0]\n[[beam]]\nname = "b"\ngantry_deg = {gantry}\n'
                    f"couch_deg = {couch}\nmu = {mu}\naccessories = {list(accessories)}\njaws_mm = {{ x = [-30, 30], y = [-30, 30] }}\n{arc}")
    return path


def dose(name, machine, *words, **beam):
    """The dose on the voxels of demo:water, and what is said."""
    out = folder / f"{name}.mha"
    status, said = run("dose", "demo:water", "--plan", plan(name, machine, **beam), *HOW, *words, "--out", out)
    check(f"{name} is computed", status == 0, said[-300:] if status else "")
    data = out.read_bytes() if status == 0 else b"LOCAL\n"
    return np.frombuffer(data[data.index(b"LOCAL\n") + 6:], "<f4").astype(float), said


def off(got, want):
    return float(abs(got - want).max() / want.max())


plain, both = machine("plain", ""), machine("both", TRAYS + COUCH)
open_field, said = dose("open", both)
check("a field without tray and from above: nothing is said", "factor" not in said and "partial" not in said, said)
for name, ids, factor in (("tray", ["T1"], 0.97), ("trays", ["T1", "T 2"], 0.97 * 0.9)):
    got, said = dose(name, both, accessories=ids)
    check(f"{name}: {factor} times the open field", off(got, factor * open_field) < 1e-6, off(got, factor * open_field))
    check(f"{name}: said, and whole", f"tray 'T1' is counted by its factor 0.970" in said and "partial" not in said.lower(), said)
for name, file, ids in (("no-table", plain, ["T1"]), ("other-tray", both, ["T1", "T3"])):
    got, said = dose(name, file, accessories=ids)
    check(f"{name}: partial", f"accessory '{ids[-1]}'" in said and "partial" in said.lower() and "[trays]" in said, said)

below, _ = dose("below", plain, gantry=180)
got, said = dose("couch", both, gantry=180)
check("through the couch: 0.9", off(got, 0.9 * below) < 1e-6, off(got, 0.9 * below))
check("through the couch: said", "couch is counted by the factor 0.900" in said and "100 % of the monitor units" in said, said)
got, said = dose("voxels", both, "--body", "none", gantry=180)
want, _ = dose("voxels-plain", plain, "--body", "none", gantry=180)
check("all that the CT shows counts: no factor", off(got, want) == 0, off(got, want))
check("all that the CT shows counts: said", "couch is not counted by the factor" in said, said)
got, said = dose("turned", both, gantry=180, couch=20)
want, _ = dose("turned-plain", plain, gantry=180, couch=20)
check("a turned couch: no factor, and said", off(got, want) == 0 and "where it is turned" in said, said)
got, said = dose("arc", both, gantry=96, to=128)
first, _ = dose("first", plain, gantry=96, to=112, mu=50)
second, _ = dose("second", plain, gantry=112, to=128, mu=50)
check("an arc: on its part within the range", off(got, first + 0.9 * second) < 1e-6, off(got, first + 0.9 * second))
check("an arc: its part is said", "50 % of the monitor units" in said, said)

for name, tables, words in (
    ("percent", "[trays]\nT1 = 97\n", ["trays.T1", "97", "from 0.5 to 1"]),
    ("nameless", '[trays]\n"" = 0.97\n', ["trays", "no identifier"]),
    ("exchanged", COUCH.replace("112.0, 250.0", "250.0, 112.0"), ["couch.gantry_deg", "from above"]),
    ("unknown", COUCH + "depth_mm = 50\n", ["depth_mm", "README.md"]),
):
    file = machine(name, tables)
    status, said = run("dose", "demo:water", "--plan", plan(name, file), *HOW)
    check(f"{name} is refused", status == 1 and all(word in said for word in [*words, f"{name}.toml"]), said[-300:])


def dicom(name, accessories):
    """A field of 60 x 60 mm as an RT plan, with accessories by (identifier, type)."""
    case = f"{folder}/{name}"
    os.makedirs(case)
    ids = study.fresh()
    study.ct(ids, case)
    beam = study.beam(1, "STATIC", [(0, study.jaws(-30, 30, -30, 30)), (1, None)])
    beam.NumberOfGeneralAccessories = len(accessories)
    items = [study.item(GeneralAccessoryNumber=n, GeneralAccessoryID=id) for n, (id, _) in enumerate(accessories, 1)]
    for accessory, (_, kind) in zip(items, accessories):
        if kind:
            accessory.GeneralAccessoryType = kind
    beam.GeneralAccessorySequence = items
    study.plan(ids, case, [beam], 100)
    return case


tray = dicom("dicom", [("T1", "TRAY"), ("R1", "RETICLE")])
for file, partial in (("generic-6mv", True), (both, False)):
    status, said = run("dose", tray, "--machine", file, *HOW)
    check(f"RT plan, {file}: {'partial' if partial else 'whole'}", status == 0 and ("partial: accessory 'T1'" in said) == partial, said)
    check(f"RT plan, {file}: a reticle is no matter", "R1" not in said and "RETICLE" not in said, said)

(folder / "pdd.csv").write_text("# curve: pdd\n# field_mm: 100 x 100\n# ssd_mm: 900\n15,100\n50,86.7\n100,67.3\n150,51.6\n200,39.4\n")
status, said = run("machine", "check", both, "--pdd", folder / "pdd.csv", "--quality", "fast", "--device", "cpu")
check("machine check: the factors are not tested", "[couch] and [trays] are taken from the machine file" in said, said)
check.end()
