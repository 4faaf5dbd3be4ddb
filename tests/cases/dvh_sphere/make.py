"""Spheres of 15 and 30 mm on planes of 1 mm, and doses on a grid of 2.5 mm that rise by 1 Gy a mm: along the planes, and across them."""
import os
import sys

import numpy as np
from study import ct, dose, fresh, structures

out = sys.argv[1]
CENTRE = np.array([0.3, -0.2, 0.1])


def sphere(radius):
    circles = []
    for z in range(-36, 36):
        within = radius**2 - (z - CENTRE[2]) ** 2
        if within > 0:
            angles = np.linspace(0, 2 * np.pi, 240, endpoint=False)
            x, y = (CENTRE[i] + np.sqrt(within) * f(angles) for i, f in ((0, np.cos), (1, np.sin)))
            circles.append([round(float(v), 3) for a, b in zip(x, y) for v in (a, b, z)])
    return circles


ids = fresh()
folder = f"{out}/ct"
ct(ids, folder, slices=72, size=(72, 72), spacing=(1.0, 1.0, 1.0))
structures(ids, folder, [("SMALL", "ORGAN", sphere(15)), ("LARGE", "ORGAN", sphere(30))])
place = -39.2 + 2.5 * np.arange(32)
for name, axis in (("along", 2), ("across", 0)):
    os.makedirs(f"{out}/{name}")
    values = np.zeros((32, 32, 32)) + (50 + place).reshape([-1 if n == axis else 1 for n in range(3)])
    dose(ids, f"{out}/{name}", values, (-39.2, -39.2, -39.2), (2.5, 2.5, 2.5))
