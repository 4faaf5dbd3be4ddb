import glob
import os
import sys

import numpy as np
import pydicom
import study
from program import Checks, run

folder = sys.argv[1]
check = Checks()
SPAN_MM, RATES = 150.0, range(100, 601, 100)
HOW = ["--grid", "6", "--quality", "fast", "--device", "cpu"]


def slab(x, y, z):
    """HU of 300 x 180 mm of water in air."""
    return np.where((abs(x) < 150) & (abs(y) < 90), 0, -1000)


def rectangle(x, y, z):
    return [v for a, b in ((-x, -y), (x, -y), (x, y), (-x, y)) for v in (a, b, z)]


case = f"{folder}/case"
ids = study.fresh()
study.ct(ids, case, slab, slices=24, size=(54, 36), spacing=(6.0, 6.0, 6.0))
planes = [z for z, _ in ids["images"]]
study.structures(ids, case, [("BODY", "EXTERNAL", [rectangle(150, 90, z) for z in planes]),
                             ("PTV", "PTV", [rectangle(100, 20, z) for z in planes if abs(z) < 22])])
goals, plan, arc, maps = (f"{folder}/{name}.toml" for name in ("goals", "plan", "arc", "maps"))
with open(goals, "w") as f:
    f.write('name = "g"\nsource = "own"\n' + "".join(f'[[goal]]\nstructure = "PTV"\ngoal = "{g}"\n' for g in ("D95% >= 47.5 Gy", "Dmax <= 55 Gy")))
HEAD = 'name = "t"\nmachine = "generic-6mv"\nisocentre_mm = [0, 0, 0]\nprescription_gy = 50\nfractions = 25\n'
with open(plan, "w") as f:
    f.write(HEAD)
    for name, gantry in (("AP", 0), ("PA", 180)):
        f.write(f'[[beam]]\nname = "{name}"\ngantry_deg = {gantry}\nmu = 100\njaws_mm = {{ x = [-30, 30], y = [-30, 30] }}\n')
with open(arc, "w") as f:
    f.write(f'{HEAD}[[beam]]\nname = "ARC"\ngantry_deg = 340\nmu = 100\njaws_mm = {{ x = [-30, 30], y = [-30, 30] }}\ngantry_direction = "cw"\n')
    for n in range(5):
        f.write(f"[[beam.control_point]]\nmeterset_weight = {n / 4}\ngantry_deg = {(340 + 10 * n) % 360}\n")


def exported(leaves):
    """The beams of a plan as they leave."""
    out = f"{folder}/export{len(os.listdir(folder))}"
    status, said = run("export", case, "--plan", leaves, "--only", "ct,structures,plan", "--out", out)
    check(f"{os.path.basename(leaves)} is exported", status == 0, said[-400:] if status else "")
    found = glob.glob(f"{out}/RP*")
    return list(pydicom.dcmread(found[0]).BeamSequence) if found else []


def farthest_mm(beam):
    """The greatest extent of a bank between two moments with the beam off, and at one control point."""
    leaves, weights, now = [], [], None
    for point in beam.ControlPointSequence:
        for device in point.get("BeamLimitingDevicePositionSequence", []):
            if device.RTBeamLimitingDeviceType == "MLCX":
                now = np.array([float(v) for v in device.LeafJawPositions])
        leaves.append(now)
        weights.append(float(point.CumulativeMetersetWeight))
    leaves, half = np.array(leaves), len(leaves[0]) // 2
    start, worst = 0, 0.0
    for k in range(1, len(weights) + 1):
        if k == len(weights) or weights[k] == weights[k - 1]:
            worst = max(worst, np.ptp(leaves[start:k, :half]), np.ptp(leaves[start:k, half:]))
            start = k
    return worst


def judge(name, beams, least=2):
    check(f"{name}: {len(beams)} beams", len(beams) >= least)
    for beam in beams:
        worst = farthest_mm(beam)
        check(f"{name}, {beam.BeamName}: {worst:.1f} mm of {SPAN_MM:.0f}", worst <= SPAN_MM + 0.1)
        rate = beam.ControlPointSequence[0].get("DoseRateSet")
        check(f"{name}, {beam.BeamName}: DoseRateSet", rate is not None and float(rate) in RATES, rate)


status, said = run("optimise", case, "--plan", plan, "--goals", goals, *HOW, "--out", maps)
check("maps", status == 0, said[-400:] if status else "")
for technique in ("imrt", "step"):
    leaves = f"{folder}/{technique}.toml"
    status, said = run("sequence", case, "--plan", maps, "--technique", technique, *HOW, "--out", leaves)
    check(f"{technique} as cut", status == 0, said[-400:] if status else "")
    judge(f"{technique} as cut", exported(leaves))
for technique, of, least in (("imrt", plan, 2), ("vmat", arc, 1)):
    leaves = f"{folder}/refined-{technique}.toml"
    status, said = run("optimise", case, "--plan", of, "--goals", goals, "--technique", technique, *HOW, "--out", leaves)
    check(f"{technique} refined", status == 0, said[-400:] if status else "")
    judge(f"{technique} refined", exported(leaves), least)
check.end()
