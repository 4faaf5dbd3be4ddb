import re
import sys

from optimising import circle, goals, optimise, phantom, plan
from program import Checks

folder, check = sys.argv[1], Checks()


def sphere(planes, x):
    return [circle((4 - z * z) ** 0.5, z, x) for z in planes if abs(z) < 2]


def case(name, *rois):
    return phantom(f"{folder}/{name}", 2.5, (80, 64), 21, lambda planes: [
        ("PTV_A", "PTV", [circle(15, z) for z in planes if abs(z) < 11])] + [
        (roi, "PTV", contours(planes)) for roi, contours in rois])


asked = goals(f"{folder}/g.toml", ("PTV_A", "D95% >= 50 Gy"), ("PTV_B", "D95% >= 50 Gy"))
for x in (46.25, 45.0):
    made = plan(f"{folder}/p.toml")
    code, said = optimise(case(f"x{x:g}", ("PTV_B", lambda planes, x=x: sphere(planes, x))), made, asked, "--grid", "5")
    check(f"sphere at {x} mm is optimised", code == 0, said[-300:] if code else "")
    side = re.search(r"jaws_mm = \{ x = \[[-0-9.]+, ([-0-9.]+)\]", open(f"{folder}/optimised.toml").read())
    check(f"gantry 0 reaches the sphere at {x} mm", float(side[1]) >= 46, side[1])
    check(f"nothing is said of beamlets at {x} mm", "beamlets: no beam" not in said, said if "beamlets: no beam" in said else "")
# Leaves lie up to 200 mm from the isocentre along z: 185 mm below the targets they cover PTV_A, and end before PTV_B.
far = plan(f"{folder}/p.toml", gantries=(0, 180))
text = open(far).read().replace("isocentre_mm = [0, 0, 0]", "isocentre_mm = [0, 0, -185]")
open(far, "w").write(text)
code, said = optimise(case("far", ("PTV_B", lambda planes: [circle(5, z, 60) for z in planes if z > 21])), far, asked, "--grid", "5")
named = "PTV_B has no beamlets" in said
check("a target that no beam sees is named", named, "" if named else said[-600:])
check.end()
