import re
import sys

import numpy as np
from planned import exported, falsify
from program import Checks, run

check = Checks()
folder = exported(f"{sys.argv[1]}/water")
falsify(folder, lambda gy, x, y, z: gy * np.where(x > 8, 1.09, 1.0))
status, plain = run("check", folder)
check("half of the field 9 % too high", status == 1 and "gamma 3 %/2 mm" in plain, plain)


def hot(gy, x, y, z):
    gy[np.unravel_index(gy.argmax(), gy.shape)] = 3.2 * gy.max()
    return gy


falsify(folder, hot)
status, said = run("check", folder)
check("with a hot voxel as well", status == 1, said)
check("the voxel is told", "times the greatest recomputed one" in said)
rates = [re.search(r"passes at ([0-9.]+) % of the points of the planned dose", text) for text in (plain, said)]
check("gamma is what it was", all(rates) and abs(float(rates[0][1]) - float(rates[1][1])) < 0.2, [r and r[1] for r in rates])
check.end()
