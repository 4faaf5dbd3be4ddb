import sys

import numpy as np
from program import Checks, run

made, checks = sys.argv[1], Checks()


def dose(name):
    out = f"{made}/{name.replace('/', '-')}.mha"
    exit_status, text = run("dose", f"{made}/{name}", "--device", "cpu", "--grid", "5", "--quality", "fast", "--body", "none", "--out", out)
    checks(f"{name} is computed", exit_status == 0, text if exit_status else "")
    data = open(out, "rb").read()
    return np.frombuffer(data[data.index(b"LOCAL") + 6:], "<f4")


for name in ("jaw", "leaves"):
    moving, split = dose(f"{name}/moving"), dose(f"{name}/split")
    off = float(abs(moving - split).max() / split.max())
    checks(f"{name}: moving and split agree", off < 0.01, f"{100 * off:.2f} % of the maximum")
checks.end()
