"""The independent check of a night's plans: python check_plans.py [FOLDER]

Each folder of FOLDER holds the files of a plan (CT, RTPLAN, RTDOSE, RTSTRUCT); without FOLDER the plan of a demo is exported and
checked.
"""

import importlib.util
import pathlib
import sys
import tempfile

import beamsight

judged = None
with tempfile.TemporaryDirectory() as made:
    if len(sys.argv) > 1:
        folders = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
    else:
        folders = [beamsight.export("demo:water", pathlib.Path(made) / "plan")]
    for folder in folders:
        try:
            checks = beamsight.check(folder)["checks"]
        except beamsight.errors.Error as why:
            print(f"{folder.name}: not judged: {why}")
            continue
        for check in checks:
            judgement = check["judgement"]
            print(f"{folder.name}: {check['plan']}: {judgement['verdict']}")
            for reason in judgement["reasons"]:
                print(f"  {reason}")
            judged = beamsight.open(folder), judgement["verdict"]

if judged is None or importlib.util.find_spec("matplotlib") is None:
    sys.exit(0)  # The picture needs matplotlib.
import matplotlib.pyplot as plt

# The last plan that was judged: the dose of its file, and an independent one by Monte Carlo.
case, verdict = judged
stated = case.doses[0]
ours = beamsight.dose(case, engine="mccs", uncertainty=2, grid=5)
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
isocentre = case.plans[0].beams[0]["isocentre_mm"]
for dose, style, label in ((stated, "-", f"of the file, {stated.status}"), (ours, ".", f"Monte Carlo on 5 mm, {ours.status}")):
    k, _, i = (round(at) for at in dose.grid.voxel(isocentre))
    axes.plot(dose.grid.axes()[1], dose.gy[k, :, i], style, label=label)
axes.set(xlabel="y through the isocentre (mm)", ylabel="dose (Gy)", ylim=(0, None), title=f"{case.plans[0].name}: {verdict}")
axes.legend()
figure.savefig("check_plans.png", dpi=80)
