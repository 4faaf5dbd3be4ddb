"""Squares on two planes 36 mm apart, on every plane between them, and half-way between planes of the CT."""
import sys

from study import box, ct, fresh, structures

out = sys.argv[1]
ids = fresh()
ct(ids, out)
structures(ids, out, [
    ("KEY", "ORGAN", [box(20, z) for z in (-18.0, 18.0)]),
    ("EVERY", "ORGAN", [box(20, 3.0 * k) for k in range(-6, 7)]),
    ("BETWEEN", "ORGAN", [box(20, z) for z in (-19.5, 16.5)]),
])
