import os
import sys

from optimising import COARSE, circle, phantom, plan
from program import Checks, run

folder, check = sys.argv[1], Checks()
case = phantom(f"{folder}/case", 10.0, (22, 18), 11, lambda planes: [
    ("PTV", "PTV", [circle(20, z) for z in planes if abs(z) < 21])])
made = plan(f"{folder}/p.toml", gantries=(0,))
HEADER = "fraction,tx,ty,tz,rx,ry,rz\n"
LIES = [
    ("no number", HEADER + "1,a,0,0,0,0,0\n", "line 2: tx: 'a' is no number"),
    ("NaN", HEADER + "1,NaN,0,0,0,0,0\n", "is no number"),
    ("infinite", HEADER + "1,inf,0,0,0,0,0\n", "is no number"),
    ("100 mm", HEADER + "1,100,0,0,0,0,0\n", "beyond 50 mm"),
    ("11 degrees", HEADER + "1,0,0,0,0,11,0\n", "10 degrees"),
    ("a missing column", "tx,ty,tz,rx,ry\n0,0,0,0,0\n", "no column 'rz'"),
    ("a short row", HEADER + "1,0,0\n", "3 cells"),
    ("another patient", "patient,tx,ty,tz,rx,ry,rz\nsomebody else,0,0,0,0,0,0\n", "of patient 'somebody else'"),
    ("more poses than fractions", HEADER + "1,0,0,0,0,0,0\n" * 200, "more poses (200) than fractions"),
    ("a header alone", HEADER, "no row"),
    ("nothing", "", "no header"),
]
for what, text, words in LIES:
    path = f"{folder}/{what.replace(' ', '-')}.csv"
    open(path, "w").write(text)
    out = f"{folder}/sum.mha"
    code, said = run("fractions", case, "--plan", made, "--poses", path, *COARSE, "--grid", "10", "--out", out)
    check(f"{what} is refused", code in (1, 2) and words in said and "panicked" not in said, said[-300:])
    check(f"{what}: nothing is written", not os.path.exists(out))
code, said = run("fractions", case, "--plan", made, "--poses", f"{folder}/absent.csv", *COARSE)
check("a file that is not there", code in (1, 2) and "absent.csv" in said and "panicked" not in said, said[-300:])
open(f"{folder}/good.csv", "w").write(HEADER + "1,1,0,0,0,0,0\n")
code, said = run("fractions", case, "--plan", made, "--poses", f"{folder}/good.csv", *COARSE, "--out", f"{folder}/good.csv")
check("the table of poses is not written over", code != 0 and open(f"{folder}/good.csv").read().startswith("fraction"), said[-300:])
check.end()
