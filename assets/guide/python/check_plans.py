"""The independent check of a night's plans: python check_plans.py [FOLDER]

Each folder of FOLDER holds the files of a plan (CT, RTPLAN, RTDOSE, RTSTRUCT); without FOLDER the plan of a demo is exported and
checked.
"""

import pathlib
import sys
import tempfile

import beamsight

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
