import json
import sys

from doors import beam, of_session, of_toml, point, refused, session, toml

folder = sys.argv[1]
SIDES = [-10.0, 0.0, 10.0]


def written(changes):
    """The plan.toml of a beam of a session."""
    first = changes["control_points"][0]
    pair = lambda axis: json.dumps(first["jaws"][axis])
    keys = f"jaws_mm = {{ x = {pair('x')}, y = {pair('y')} }}\n"
    if "mlc" in changes:
        keys += f'mlc = {{ axis = "x", boundaries_mm = {json.dumps(changes["mlc"]["boundaries_mm"])} }}\n'
    if first.get("leaves_mm"):
        keys += f"leaves_mm = {json.dumps(first['leaves_mm'])}\n"
    if len(changes["control_points"]) > 1:
        for p in changes["control_points"]:
            keys += f"[[beam.control_point]]\nmeterset_weight = {p['meterset_weight']}\n"
    path = toml(folder, keys, gantry=first["gantry_deg"])
    path.write_text(path.read_text().replace("mu = 100", f"mu = {changes['mu']!r}"))
    return path


mlc = {"axis": "x", "boundaries_mm": SIDES}
weights = lambda *all: [point(meterset_weight=w) for w in all]
for words, changes in [
    ("mu = -1 must be from 0 to 1000000000", {"mu": -1.0}),
    ("gantry_deg = 725 must be from -360 to 360", {"control_points": [point(gantry_deg=725.0)]}),
    ("meterset_weight falls from 1 to 0.5", {"control_points": weights(0.0, 1.0, 0.5, 1.0)}),
    ("meterset_weight = 0.5 must be 1 at the last control point", {"control_points": weights(0.0, 0.5)}),
    ("jaws_mm.y = 900 must be from -400 to 400", {"control_points": [point(jaws={"x": [-5, 5], "y": [-5, 900]})]}),
    ("the x jaws at [5, -5] mm are crossed", {"control_points": [point(jaws={"x": [5, -5], "y": [-5, 5]})]}),
    ("1 pairs of leaf tips and no mlc", {"control_points": [point(leaves_mm=[[-5, 5]])]}),
    ("1 pairs of leaf tips, and its mlc 2 leaf pairs", {"mlc": mlc, "control_points": [point(leaves_mm=[[-5, 5]])]}),
    ("leaf pair 2 at [5, -5] mm is crossed", {"mlc": mlc, "control_points": [point(leaves_mm=[[-5, 5], [5, -5]])]}),
    ("do not ascend (0 mm, then -10 mm)",
     {"mlc": {"axis": "x", "boundaries_mm": [-20.0, 0.0, -10.0]},
      "control_points": [point(leaves_mm=[[-5, 5]] * 2)]}),
]:
    made = beam(**changes)
    refused(of_session(session(folder, made)), words)
    refused(of_toml(written(made)), words)
