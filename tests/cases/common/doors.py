"""Plans of one or more beams as a session and as plan.toml, and what the program says of them."""
import json
import os
import re
import subprocess
from pathlib import Path

BEAMSIGHT = os.environ["BEAMSIGHT"]


def run(*words):
    """Exit status and all that is said."""
    said = subprocess.run([BEAMSIGHT, *map(str, words)], capture_output=True, text=True, env=dict(os.environ, BEAMSIGHT_STATE=""))
    return said.returncode, said.stdout + said.stderr


def point(**more):
    jaws = {"x": [-50.0, 50.0], "y": [-50.0, 50.0]}
    return {"meterset_weight": 1.0, "gantry_deg": 0.0, "collimator_deg": 0.0, "couch_deg": 0.0, "jaws": jaws, **more}


def beam(**more):
    return {"name": "b", "number": 1, "mu": 100.0, "isocentre_mm": [0, 0, 0], "control_points": [point()], **more}


def session(folder, *beams, **more):
    plan = {"name": "p", "machine": "generic-6mv", "position": "HFS", "prescription_gy": None, "fractions": 1,
            "normalisation": None, "beams": list(beams), "uid": None, **more}
    path = Path(folder) / "s.json"
    path.write_text(json.dumps({"version": 1, "case": "demo:water", "plans": [plan], "structures": [], "view": None}))
    return path


def toml(folder, keys, head="", gantry=0):
    """plan.toml of one beam of 100 MU; `keys` has its jaws."""
    path = Path(folder) / "plan.toml"
    path.write_text(f'name = "t"\nmachine = "generic-6mv"\nisocentre_mm = [0, 0, 0]\n{head}[[beam]]\nname = "b"\n'
                    f"gantry_deg = {gantry}\nmu = 100\n{keys}")
    return path


def maximum_gy(said):
    found = re.findall(r"maximum ([0-9.]+) Gy", said)
    assert found, said
    return float(found[0])


HOW = ["--grid", "10", "--quality", "fast", "--device", "cpu"]


def of_session(path):
    return run("dose", path, *HOW)


def of_toml(path):
    return run("dose", "demo:water", "--plan", path, *HOW)


def refused(answer, *words):
    code, said = answer
    assert code != 0, f"computed: {said}"
    assert "panicked" not in said, said
    for word in words:
        assert word in said, f"'{word}' is not said: {said}"
