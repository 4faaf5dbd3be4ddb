"""A plan of 40 leaf pairs of 5 mm whose boundaries are stated in metres, and the same in mm."""
import sys

import study

for name, unit in (("mm", 1.0), ("metres", 0.001)):
    folder, ids = f"{sys.argv[1]}/{name}", study.fresh()
    study.ct(ids, folder)
    positions = study.jaws(-50, 50, -50, 50)
    positions.append(study.item(RTBeamLimitingDeviceType="MLCX", LeafJawPositions=[-100.0] * 40 + [100.0] * 40))
    beam = study.beam(1, "STATIC", [(0, positions), (1, None)])
    sides = [float(f"{unit * 5 * n:.9g}") for n in range(-20, 21)]
    beam.BeamLimitingDeviceSequence.append(
        study.item(RTBeamLimitingDeviceType="MLCX", NumberOfLeafJawPairs=40, LeafPositionBoundaries=sides))
    study.plan(ids, folder, [beam], 100)
