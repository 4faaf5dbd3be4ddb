import json
import os
import pathlib
import subprocess
import sys

program, folder = os.environ["BEAMSIGHT"], pathlib.Path(sys.argv[1])
# At 90 degrees the beam runs along tx: the other numbers are seen.
SEEN = ("ty_mm", "tz_mm", "rx_deg", "ry_deg")
for seed in ("1", "5"):
    xrays = folder / seed
    subprocess.run([program, "demo", "thorax", "--xray", xrays, "--seed", seed], check=True, capture_output=True)
    beside = xrays / "gantry-90.toml"
    lines = [line for line in beside.read_text().splitlines() if not line.startswith("bone_is_bright")]
    beside.write_text("\n".join(lines) + "\n")

    def register(*more):
        words = [program, "register", "demo:thorax", "--image", xrays / "gantry-90.png", "--device", "cpu", "--json", *more]
        run = subprocess.run(words, capture_output=True, text=True)
        return run.returncode, json.loads(run.stdout)

    code, said = register()
    assert code == 4 and not said["match"], (seed, code, said)
    assert any("--bone-dark" in why for why in said["no_match"]), said["no_match"]
    code, said = register("--bone-dark")
    assert code == 0 and said["match"] and "along it the X-rays tell the position to" in said["state"], (seed, code, said)
    numbers = dict(zip(("tx_mm", "ty_mm", "tz_mm", "rx_deg", "ry_deg", "rz_deg"),
                       map(float, (xrays / "hidden-pose.txt").read_text().split(","))))
    assert all(abs(said["pose"][key] - numbers[key]) < 0.7 for key in SEEN), (said["pose"], numbers)
    assert abs(said["pose"]["tx_mm"] - numbers["tx_mm"]) <= said["evidence"]["depth_mm"], said
