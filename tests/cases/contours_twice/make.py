"""Contours that repeat, overlap or hold one another on their planes."""
import sys

from study import box, ct, fresh, structures

out = sys.argv[1]
planes = [3.0 * k for k in range(-5, 6)]


def half(x1, x2, z):
    return [v for x, y in ((x1, -20), (x2, -20), (x2, 20), (x1, 20)) for v in (x, y, z)]


def overlapping():
    return [c for z in planes for c in (half(-20, 5, z), half(-5, 20, z))]


def exclusive(d):
    for contour in d.ROIContourSequence[-1].ContourSequence:
        contour.ContourGeometricType = "CLOSEDPLANAR_XOR"


ids = fresh()
ct(ids, out)
structures(ids, out, [
    ("ONCE", "ORGAN", [box(20, z) for z in planes]),
    ("TWICE", "ORGAN", [c for z in planes for c in (box(20, z), box(20, z))]),
    ("TWICE_ON_ONE", "ORGAN", [box(20, z) for z in planes] + [box(20, 0.0)]),
    ("TWICE_NEARLY", "ORGAN", [c for z in planes for c in (box(20, z), box(20.02, z))]),
    ("ROUND_TWICE", "ORGAN", [box(20, z) + box(20, z) for z in planes]),
    ("OVERLAP", "ORGAN", overlapping()),
    ("RING", "ORGAN", [c for z in planes for c in (box(20, z), box(10, z))]),
    ("XOR", "ORGAN", overlapping()),
], exclusive)
