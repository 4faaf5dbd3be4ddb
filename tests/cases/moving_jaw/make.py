"""A dynamic field whose jaw moves, without leaves and with leaves that move under it, beside the same as 30 static fields."""
import sys

import numpy as np
import study

MU, STEPS = 90, 30
SIDES = [5.0 * n for n in range(-12, 13)]


def at(part, leaves):
    """Positions after a part of the way."""
    positions = study.jaws(-40, 60 - 90 * part)
    if leaves:
        tips = [-45 + 20 * part] * 24 + [55 - 70 * part] * 24
        positions.append(study.item(RTBeamLimitingDeviceType="MLCX", LeafJawPositions=tips))
    return positions


def beam(number, kind, points, leaves):
    made = study.beam(number, kind, points)
    if leaves:
        made.BeamLimitingDeviceSequence.append(study.item(
            RTBeamLimitingDeviceType="MLCX", NumberOfLeafJawPairs=24, LeafPositionBoundaries=SIDES))
    return made


def block(x, y, z):
    return np.where((abs(x) < 120) & (abs(y) < 80), 0, -1000)


for name, leaves in (("jaw", False), ("leaves", True)):
    for split in (False, True):
        folder = f"{sys.argv[1]}/{name}/{'split' if split else 'moving'}"
        ids = study.fresh()
        study.ct(ids, folder, block, slices=40, size=(56, 36), spacing=(5.0, 5.0, 5.0))
        if split:
            beams = [beam(k + 1, "STATIC", [(0, at((k + 0.5) / STEPS, leaves)), (1, None)], leaves) for k in range(STEPS)]
            study.plan(ids, folder, beams, MU / STEPS)
        else:
            study.plan(ids, folder, [beam(1, "DYNAMIC", [(0, at(0, leaves)), (1, at(1, leaves))], leaves)], MU)
