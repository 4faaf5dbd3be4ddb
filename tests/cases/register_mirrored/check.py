import json
import subprocess
import os
import sys

from picture import drr, xray
from program import Checks

check, out = Checks(), sys.argv[1]
TRUE, ISO = "3,-4,5,0,0,1", "0,14,25"
pictures = {gantry: drr(out, gantry, ISO, TRUE) for gantry in (0, 90)}


def register(**turned):
    """Exit status and answer, with pictures turned over by `turned`."""
    images = []
    for name, values in turned.items():
        gantry = int(name[1:])
        path = f"{out}/gantry-{gantry}.png"
        xray(path, values, gantry, [0.0, 14.0, 25.0])
        images += ["--image", path]
    run = subprocess.run([os.environ["BEAMSIGHT"], "register", "demo:thorax", *images, "--isocentre", ISO, "--device", "cpu", "--json"],
                         capture_output=True, text=True)
    return run.returncode, json.loads(run.stdout)


front, side = pictures[0], pictures[90]
status, said = register(g0=front, g90=side)
check("as they are: a match", status == 0 and abs(said["pose"]["tx_mm"] - 3) < 0.5 and not said["evidence"]["flipped"], said["pose"])
for name, words, how in (
    ("the AP one mirrored", dict(g0=front[:, ::-1], g90=side), "mirrored left to right"),
    ("the lateral one mirrored", dict(g0=front, g90=side[:, ::-1]), "mirrored left to right"),
    ("the AP one upside down", dict(g0=front[::-1], g90=side), "upside down"),
    ("both mirrored", dict(g0=front[:, ::-1], g90=side[:, ::-1]), "mirrored left to right"),
    ("one alone, mirrored", dict(g0=front[:, ::-1]), "mirrored left to right"),
    ("the lateral one turned by 180 degrees", dict(g0=front, g90=side[::-1, ::-1]), "turned by 180 degrees"),
):
    status, said = register(**words)
    told = [why for why in said["no_match"] or [] if how in why]
    check(name, status == 4 and told, (status, said["pose"], said["evidence"]["images"], said["evidence"].get("flipped")))
check.end()
