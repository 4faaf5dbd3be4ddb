import os
import sys

from program import Checks, run

out, checks = sys.argv[1], Checks()
# A 6 MV beam: D20/D10 of 0.585, its build-up assumed.
PDD = ("# curve: pdd\n# field_mm: 100 x 100\n# ssd_mm: 900\ndepth_mm,dose\n1,55\n4,80\n8,95\n15,100\n30,95.5\n50,86.7\n80,74.6\n100,67.3\n"
       "120,60.6\n150,51.6\n180,43.9\n200,39.4\n")
data = f"{out}/data"
os.makedirs(data)
pdd, word, made = f"{data}/pdd.csv", f"{data}/word.csv", f"{out}/my.toml"
for path, text in ((pdd, PDD), (word, PDD.replace("8,95", "8,ninety"))):
    with open(path, "w") as f:
        f.write(text)
for words, to, says in [
    (["--pdd", word], made, ["word.csv, line 7", "'ninety' is no number"]),
    (["--profiles", pdd], made, ["pdd.csv is given for its profiles", "it has no profile"]),
    (["--output-factors", pdd], made, ["pdd.csv, line"]),
    (["--pdd", data], made, ["a folder"]),
    (["--pdd", pdd, "--start", "point-6mv"], made, ["point-6mv", "no calibration"]),
    (["--pdd", pdd, "--start", "generic-7mv"], made, ["generic-7mv"]),
    (["--pdd", pdd], f"{out}/no/my.toml", ["there is no folder"]),
]:
    status, said = run("machine", "fit", *words, "--out", to)
    missing = [word for word in says if word not in said]
    checks(" ".join(words), status == 1 and not missing and "panicked" not in said, f"{status}, without {missing}: {said}")
checks("nothing is written", os.listdir(out) == ["data"] and len(os.listdir(data)) == 2)
checks.end()
