"""Phantoms of water, plans and goals to optimise, and what the program says of them. Positions in mm, doses in Gy."""
import os

import numpy as np
from program import number, run
from study import ct, fresh, structures

COARSE = ["--quality", "fast", "--device", "cpu"]
BODY = (100, 80)


def circle(radius, z, x=0.0, y=0.0, points=36):
    """A contour round (x, y) at a plane, as a flat list."""
    angles = np.arange(points) * 2 * np.pi / points
    return [v for a in angles for v in (x + radius * np.cos(a), y + radius * np.sin(a), z)]


def phantom(folder, spacing, size, slices, rois):
    """A CT of 200 x 160 mm of water in air with its body; `rois(planes)` says name, type and contours of the others."""
    ids = fresh()
    ct(ids, folder, slices=slices, size=size, spacing=(spacing,) * 3)
    planes = [spacing * (i - slices // 2) for i in range(slices)]
    x, y = BODY
    rim = [[v for a, b in ((-x, -y), (x, -y), (x, y), (-x, y)) for v in (a, b, z)] for z in planes]
    structures(ids, folder, [("BODY", "EXTERNAL", rim)] + rois(planes))
    return folder


def plan(path, gantries=(0, 90, 230), fractions=25, more="", of_beam=None):
    """plan.toml of 50 Gy; `of_beam` adds keys to beams by gantry angle."""
    with open(path, "w") as file:
        file.write(f'name = "t"\nmachine = "generic-6mv"\nisocentre_mm = [0, 0, 0]\nprescription_gy = 50\nfractions = {fractions}\n{more}')
        for gantry in gantries:
            file.write(f'[[beam]]\nname = "G{gantry}"\ngantry_deg = {gantry}\nmu = 100\njaws_mm = {{ x = [-30, 30], y = [-30, 30] }}\n')
            file.write((of_beam or {}).get(gantry, ""))
    return path


def goals(path, *pairs):
    """A template of goals of (structure, goal)."""
    with open(path, "w") as file:
        file.write('name = "g"\nsource = "own"\n' + "".join(f'[[goal]]\nstructure = "{s}"\ngoal = "{g}"\n' for s, g in pairs))
    return path


def optimise(case, plan_file, goals_file, *more):
    """Exit status and all that is said; the plan lies beside `plan_file` as `optimised.toml`."""
    out = os.path.join(os.path.dirname(plan_file), "optimised.toml")
    asked = ["--goals", goals_file] if goals_file else []
    return run("optimise", case, "--plan", plan_file, *asked, *COARSE, *more, "--out", out, "--overwrite")


def monitor_units(said, line=1):
    """Monitor units of a fraction: of the maps (1), of leaves (2)."""
    found = [text for text in said.splitlines() if " MU, " in text and "fraction" in text]
    return number(found[line - 1], ": ")
