import sys
from pathlib import Path

from planned import exported
from program import Checks, run

check, out = Checks(), Path(sys.argv[1])
shipped = (Path(__file__).parents[3] / "assets/machines/generic-6mv.toml").read_text()
why = "focal-x stopped at 0.2000, the end of its range (0.2 to 3)"
files = {
    "fitted": shipped,
    "key": shipped.replace("sad_mm = 1000.0", f'sad_mm = 1000.0\nnot_fitted = ["{why}"]', 1),
    "comment": f"# Verdict: NOT fitted: 1 numbers stopped at the end of their range.\n#   NOT FITTED: {why}\n{shipped}",
}
plan = exported(f"{out}/plan-of")
data = out / "pdd.csv"
data.write_text("# curve: pdd\n# field_mm: 100 x 100\n# ssd_mm: 900\ndepth_mm,dose\n1,55\n4,80\n8,95\n15,100\n30,95.5\n50,86.7\n80,74.6\n"
                "100,67.3\n120,60.6\n150,51.6\n180,43.9\n200,39.4\n")
for name, text in files.items():
    machine, unfitted = out / f"{name}.toml", name != "fitted"
    machine.write_text(text)
    status, said = run("dose", "demo:water", "--machine", machine, "--grid", 5, "--quality", "fast", "--device", "cpu")
    check(f"{name}: dose", status == 0 and ("NOT fitted" in said and why in said) == unfitted, said)
    check(f"{name}: status", ("partial" in said) == unfitted, said)
    status, said = run("check", plan, "--machine", machine, "--device", "cpu")
    check(f"{name}: check", (status == 3 and "calls itself NOT fitted" in said) == unfitted, said)
    status, said = run("machine", "check", machine, "--pdd", data, "--quality", "fast", "--device", "cpu")
    check(f"{name}: machine check", ("NOT fitted" in said) == unfitted, said)
check.end()
