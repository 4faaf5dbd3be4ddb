import sys
from pathlib import Path

from doors import HOW, beam, of_session, of_toml, point, refused, run, session, toml

folder = Path(sys.argv[1])
OPEN = "jaws_mm = { x = [-50, 50], y = [-50, 50] }\n"
LEAVES = 'mlc = {{ axis = "x", boundaries_mm = [-10, 0, 10]{} }}\nleaves_mm = [[-5, 5], [-5, 5{}]]\n'


def plan(keys, head=""):
    return of_toml(toml(folder, keys, head))


code, said = plan(OPEN + LEAVES.format("", ""))
assert code == 0, said
refused(plan("jaws_mm = { x = [-50, 50], y = [-50, 50], yy = [-1, 1] }\n"), "unknown field `yy`")
refused(plan("jaws_mm = { x = [-50, 0, 50], y = [-50, 50] }\n"), "invalid length 3")
refused(plan(OPEN + "isocentre_mm = [0, 0, 0, 50]\n"), "invalid length 4")
refused(plan(OPEN + LEAVES.format(", transmission = 0.5", "")), "unknown field `transmission`")
refused(plan(OPEN + LEAVES.format("", ", 9")), "invalid length 3")
refused(plan(OPEN, "normalisation = { point_mm = [0, 0, 0, 1], dose_gy = 2 }\n"), "invalid length 4")

for wrong in (beam(wedge=30), beam(control_points=[point(wedge_deg=30)]),
              beam(control_points=[point(jaws={"x": [-50, 50], "y": [-50, 50], "z": 1})]),
              beam(mlc={"axis": "x", "boundaries_mm": [-5, 5], "tongue_mm": 1}, control_points=[point(leaves_mm=[[-5, 5]])])):
    refused(of_session(session(folder, wrong)), "unknown field")
refused(of_session(session(folder, beam(isocentre_mm=[0, 0, 0, 50]))))

table = folder / "hu.toml"
rows = 'name = "t"\nsource = "test"\npoints = [[-1000.0, 0.001, 0.001], [3000.0, 2.8, 2.5{}]]\nmaterials = [[-1000.0, "water"]]\n'
good = toml(folder, OPEN)
for surplus, ends in (("", 0), (", 1.0", 1)):
    table.write_text(rows.format(surplus))
    code, said = run("dose", "demo:water", "--plan", good, "--hu-table", table, *HOW)
    assert (code != 0) == bool(ends), said
assert "invalid length 4" in said, said
