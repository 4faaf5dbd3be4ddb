import sys

from doors import maximum_gy, of_toml, refused, toml

folder = sys.argv[1]


def arc(*points, head=""):
    keys = "jaws_mm = { x = [-50, 50], y = [-50, 50] }\n" + head
    for n, (deg, *more) in enumerate(points):
        weight = n / (len(points) - 1)
        keys += f"[[beam.control_point]]\nmeterset_weight = {weight}\ngantry_deg = {deg}\n" + "".join(more)
    return of_toml(toml(folder, keys))


cw, cc = 'gantry_direction = "cw"\n', 'gantry_direction = "cc"\n'
for a, b in ((0, 180), (10, 200), (350, 10), (0, 360)):
    refused(arc((a,), (b,)), f"from {a} to {b} degrees", "which way round is not stated", "gantry_direction")
for a, b, way in ((0, 180, cw), (0, 180, cc), (10, 200, cw), (350, 10, cc), (0, 360, cw), (10, 40, cc)):
    refused(arc((a, way), (b,)), "half a circle or more", "less than 180 degrees apart")
plain, stated, early = arc((-10,), (10,)), arc((350, cw), (10,)), arc((350,), (10,), head=cw)
for code, said in (plain, stated, early):
    assert code == 0, said
assert maximum_gy(plain[1]) == maximum_gy(stated[1]) == maximum_gy(early[1])
# 190 degrees in two steps of 95.
code, said = arc((10,), (105,), (200,))
assert code == 0, said
