"""Each volume goes through `drr`, whose projection matrix gives the rays."""
import json
import sys

import numpy as np
from program import Checks, run
from volume import Grid, read_mha

out, checks = sys.argv[1], Checks()
COLUMNS, ROWS = 53, 47


def seen(volume, *words):
    """Integrals of attenuation, the source, and a point on each pixel's ray."""
    status, said = run("drr", volume, "--values", "attenuation", "--isocentre", "2,-3,4", "--size", f"{COLUMNS}x{ROWS}", "--pixel", "3.1,3.3",
                       "--device", "cpu", "--overwrite", "--json", "--out", f"{out}/drr.mha", *words)
    assert status == 0, said
    matrix = np.array(json.loads(said[said.index("{"):said.rindex("}") + 1])["projection_matrix"], float)
    source = -np.linalg.solve(matrix[:, :3], matrix[:, 3])
    j, i = np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
    way = np.stack([i, j, 1 + 0 * i], -1) @ np.linalg.inv(matrix[:, :3]).T
    return read_mha(f"{out}/drr.mha", (ROWS, COLUMNS)), source, way / np.linalg.norm(way, axis=-1, keepdims=True)


def chord(low, high, source, way):
    """Length of each ray within a box (Cyrus and Beck)."""
    with np.errstate(divide="ignore"):
        cuts = np.stack([(low - source) / way, (high - source) / way])
    return np.maximum(cuts.max(0).min(-1) - cuts.min(0).max(-1), 0)


SIDES = [("--gantry", g, "--couch", c) for g, c in ((0, 0), (37, 21), (90, 0), (200, 340), (211, 300))]
MU = float(np.float32(0.02))
size, spacing = np.array((40, 44, 24)), np.array((2, 1.5, 2.5))
box = Grid(tuple(-(size - 1) / 2 * spacing), tuple(spacing), tuple(size))
box.write(f"{out}/box.mha", lambda x, y, z: 0.02 + 0 * x)
air = Grid((-90, -70, -60), (2, 2, 2), (91, 71, 61))
air.write(f"{out}/air.mha", lambda x, y, z: np.where((abs(x) < 21) & (abs(y) < 15) & (abs(z) < 10), 0.02, 0))
ball = Grid((-33.2,) * 3, (0.8,) * 3, (84,) * 3)
ball.write(f"{out}/ball.mha", lambda x, y, z: 0.02 * np.maximum(1 - (x * x + y * y + z * z) / 900, 0))

for side in SIDES:
    name = "gantry {1}, couch {3}".format(*side)
    for words, within in ((["--integrator", "exact"], 1e-6), (["--step", 0.1], 2e-4)):
        got, source, way = seen(f"{out}/box.mha", *side, *words)
        want = MU * chord(-size * spacing / 2, size * spacing / 2, source, way)
        off = abs(got - want).max() / want.max()
        checks(f"a box from {name}, {words[-1]}", want.max() > 0.5 and off < within, f"{off:.1e}")
    got, source, way = seen(f"{out}/air.mha", *side, "--integrator", "exact")
    want = MU * chord(np.array((-21, -15, -9)), np.array((21, 15, 9)), source, way)
    checks(f"a box in air from {name}", want.max() > 0.3 and abs(got - want).max() < 1e-6, f"{abs(got - want).max():.1e}")
    # Voxels of 0.8 mm discretise the ball.
    for integrator, worst, mean in (("trilinear", 2.5e-3, 2e-4), ("exact", 2e-2, 2e-3)):
        got, source, way = seen(f"{out}/ball.mha", *side, "--integrator", integrator)
        d2 = source @ source - (way @ source) ** 2
        want = 4 / 3 * 0.02 * 30 * np.maximum(1 - d2 / 900, 0) ** 1.5
        off = abs(got - want) / 0.8
        checks(f"a ball from {name}, {integrator}", off.max() < worst and off.mean() < mean, f"{off.max():.1e}, {off.mean():.1e}")
checks.end()
