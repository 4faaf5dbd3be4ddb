"""Each pair of doses goes through `gamma`, whose map is compared voxel by voxel."""
import sys

import numpy as np
from program import Checks, run
from volume import Grid, read_mha

out, checks = sys.argv[1], Checks()
BOX = Grid((-20, -20, -20), (2, 2.5, 3), (21, 17, 15))


def pair(name, a, b, want, percent=3, mm=3, margin=0, on=BOX, evaluated_on=None, within=1e-3, more=()):
    """`want` of x, y, z and of the unit of dose difference, Gy; the outermost `margin` mm are left out."""
    on.write(f"{out}/a.mha", a)
    (evaluated_on or on).write(f"{out}/b.mha", b)
    status, said = run("gamma", f"{out}/a.mha", f"{out}/b.mha", "--dose", percent, "--dta", mm, "--threshold", 0, "--norm", "max",
                       "--max-gamma", 1e6, "--device", "cpu", "--overwrite", "--out", f"{out}/gamma.mha", *more)
    if status:
        return checks(name, False, said)
    unit = percent / 100 * float(np.max(a(on.x, on.y, on.z).astype("f4")) if callable(a) else a)
    off = abs(read_mha(f"{out}/gamma.mha", on.shape) - want(on.x, on.y, on.z, unit))[on.inner(margin)]
    checks(name, off.size > 80 and off.max() < within, f"{off.max():.1e} at {off.size} voxels")


def even(gy):
    return lambda x, y, z: gy + 0 * x


def slope(gx, gy, gz, base, scale=1.0):
    return lambda x, y, z: scale * (base + gx * x + gy * y + gz * z)


def constant(value):
    return lambda x, y, z, unit: value + 0 * x


def wave(x, y, z):
    return 2 + np.sin(0.1 * x) * np.cos(0.2 * y)


pair("a dose from itself", wave, wave, constant(0), within=1e-12)
for percent in (0.3, 2.0, 3.0, 7.5):
    pair(f"{percent} % more", even(2.0), even(2 * (1 + percent / 100)), constant(percent / 3), within=1e-5)

for way in ((1, 0, 0), (0.6, -0.8, 0), (0.5, 0.7, -0.4)):
    g, shift = 0.02 * np.array(way) / np.linalg.norm(way), np.array((1.3, 0.4, -0.7))
    for percent, mm in ((3, 3), (2, 2), (1, 5)):
        want = lambda x, y, z, unit: abs(g @ shift) / unit / np.hypot(1, 0.02 * mm / unit) + 0 * x
        pair(f"a slope along {way}, {percent} %/{mm} mm", slope(*g, 2), slope(*g, 2 - g @ shift), want, percent, mm, 2 * mm)

# A ramp one voxel wide: from its top the foot of the perpendicular is nearest, from below the ramp's foot.
STEPS, STEEP = Grid((-20, -20, -20), (1, 2, 2), (61, 12, 12)), 3 / 0.06
step = lambda at: lambda x, y, z: np.where(x >= at - 1e-9, 2.0, 1.0)
lean = STEEP / np.hypot(1, STEEP)
between = lambda x: (x > -1e-9) & (x < 4 - 1e-9)
pair("a step, further on", step(0), step(4), lambda x, y, z, unit: np.where(between(x), (4 - x) / 3 * lean, 0), on=STEPS)
pair("a step, further back", step(4), step(0), lambda x, y, z, unit: np.where(between(x), (x + 1) / 3 * lean, 0), on=STEPS)

g = np.array((0.03, 0.01, -0.02))
for local in (False, True):
    def want(x, y, z, unit):
        gy = slope(*g, 4)(x, y, z)
        unit = 0.02 * gy if local else unit
        return 0.02 * gy / unit / np.hypot(1, 1.02 * np.linalg.norm(g) * 3 / unit)
    pair(f"a dose scaled, local {local}", slope(*g, 4), slope(*g, 4, 1.02), want, 2, 3, 6, more=["--local"] if local else [])

# The evaluated dose peaks on its own plane, between two of the reference: resampled onto those it would lose the peak.
tent = lambda x, y, z: np.maximum(2 - abs(z - 1) / 2, 0)
PEAK = Grid((-20, -20, -7), (2, 2, 2), (21, 21, 9))
for z in (1.0, 0.0, 2.0):
    plane = Grid((-10, -10, z), (2.5, 2.5, 1), (9, 9, 1))
    pair(f"a peak seen from plane {z}", tent, tent, constant(0), 1, 1, on=plane, evaluated_on=PEAK, within=1e-5)
planes, steep = Grid((-10, -10, 0), (2.5, 2.5, 2), (9, 9, 2)), 0.5 * 3 / 0.06
pair("a peak 1 mm off", even(2.0), tent, constant(steep / np.hypot(1, steep) / 3), on=planes, evaluated_on=PEAK)

# Slice by slice the slope along z does not count; planes of the evaluated dose between those of the reference are interpolated.
flat = lambda x, y, z, unit: 0.05 / unit / np.hypot(1, 0.02 * 3 / unit) + 0 * x
BETWEEN = Grid((-20, -20, -21.3), (2, 2.5, 2.8), (21, 17, 18))
for name, evaluated_on in (("on the same planes", BOX), ("between planes", BETWEEN)):
    pair(f"slices {name}", slope(0.02, 0, 0.05, 4), slope(0.02, 0, 0.05, 4.05), flat, margin=4, evaluated_on=evaluated_on, more=["--dims", 2.5])
checks.end()
