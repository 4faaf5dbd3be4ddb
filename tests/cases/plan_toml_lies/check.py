import sys
from pathlib import Path

from program import Checks, run

out, checks = Path(sys.argv[1]), Checks()
PLAN = """name = "AP"
machine = "point-6mv"
isocentre_mm = [0.0, -50.0, 0.0]
normalisation = { structure = "PTV", volume_percent = 95.0, dose_gy = 10.0 }
[[beam]]
name = "AP"
gantry_deg = 0.0
mu = 100.0
jaws_mm = { x = [-50.0, 50.0], y = [-50.0, 50.0] }
"""
point = (Path(__file__).parents[3] / "assets/machines/point-6mv.toml").read_text()
hard = out / "hard.toml"
assert "5.875" in point
hard.write_text(point.replace("5.875", "25.0"))
monte_carlo = ["--engine", "mccs", "--histories", "1e4"]
for old, new, words, more in [
    ("mu = 100.0", "mu = ", ["plan.toml", "line 8"], []),
    ("mu = 100.0", "meterset = 1", ["plan.toml", "unknown field", "README.md"], []),
    ("mu = 100.0", "mu = -5", ["plan.toml", "mu = -5"], []),
    ('machine = "p', 'position = "FFS"\nmachine = "p', ["FFS", "HFS", "contradict"], []),
    ("-50.0, 0.0]", "-50.0, 500.0]", ["0.0,-50.0,500.0", "outside the CT", "AP"], []),
    ("point-6mv", "linac-7", ["linac-7", "generic-6mv"], []),
    ('"PTV"', '"GTV"', ["GTV", "BODY, PTV"], []),
    ("mu = 100.0", "mu = 0.0", ["AP", "no beam has monitor units"], monte_carlo),
    ("point-6mv", str(hard), ["25 MeV", "0.05 to 20 MeV"], monte_carlo),
]:
    assert old in PLAN
    path, dose = out / "plan.toml", out / "dose.mha"
    path.write_text(PLAN.replace(old, new))
    status, said = run("dose", "demo:water", "--plan", path, "--grid", 20, "--quality", "fast", "--device", "cpu", "--out", dose, *more)
    missing = [word for word in words if word not in said]
    checks(f"{new!r}", status == 1 and not missing and "panicked" not in said and not dose.exists(), f"{status}, without {missing}: {said}")
checks.refused("nosuch.toml", verb=["dose", "demo:water", "--plan"])
checks.end()
