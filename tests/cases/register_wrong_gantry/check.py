import json
import os
import pathlib
import subprocess
import sys

program, folder = os.environ["BEAMSIGHT"], pathlib.Path(sys.argv[1])
xrays, out = folder / "xrays", folder / "reg.dcm"
subprocess.run([program, "demo", "thorax", "--xray", xrays, "--seed", "5"], check=True, capture_output=True)
images = [word for gantry in (0, 90) for word in ("--image", xrays / f"gantry-{gantry}.png")]


def register():
    words = [program, "register", "demo:thorax", *images, "--out", out, "--device", "cpu", "--json"]
    run = subprocess.run(words, capture_output=True, text=True)
    return run.returncode, json.loads(run.stdout), run.stderr


code, said, error = register()
assert code == 0 and said["match"] and said["state"] == "found" and out.exists(), (code, error)
hidden = [float(v) for v in (xrays / "hidden-pose.txt").read_text().split(",")]
found = [said["pose"][key] for key in ("tx_mm", "ty_mm", "tz_mm", "rx_deg", "ry_deg", "rz_deg")]
assert all(abs(a - b) < 0.5 for a, b in zip(found, hidden)), (found, hidden)
out.unlink()
for wrong in (105.0, 75.0):
    beside = xrays / "gantry-90.toml"
    text = beside.read_text()
    beside.write_text(text.replace("gantry_deg = 90.0", f"gantry_deg = {wrong}"))
    code, said, error = register()
    beside.write_text(text)
    assert code == 4 and not said["match"] and not out.exists(), (code, said)
    assert any("alone finds the patient" in why for why in said["no_match"]), said["no_match"]
