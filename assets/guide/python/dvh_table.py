"""A table of DVH metrics of a folder of patients: python dvh_table.py [FOLDER] >table.csv

Each folder of FOLDER is a patient with CT, RTSTRUCT and RTDOSE; without FOLDER two demo cases stand for them, whose plans are
computed.
"""

import csv
import importlib.util
import pathlib
import sys

import beamsight

METRICS = ["D98%", "D95%", "D2%", "Dmean"]


def patients():
    if len(sys.argv) > 1:
        yield from sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
    else:
        yield from ["demo:water", "demo:tg119"]


curves = []
table = csv.writer(sys.stdout)
table.writerow(["patient", "dose", "status", "structure", "cm3", *(f"{metric} (Gy)" for metric in METRICS), "remarks"])
for patient in patients():
    case = beamsight.open(patient)
    doses = case.doses or [beamsight.dose(case, grid=5, quality="fast")]
    for dose in doses:
        for name, dvh in beamsight.dvh(case, dose).items():
            # A structure without a DVH says why in its place.
            if isinstance(dvh, str):
                table.writerow([case.source, dose.label, dose.status_text, name, "", *[""] * len(METRICS), dvh])
                continue
            curves.append((f"{case.source}: {name}", *dvh.cumulative()))
            values = [f"{dvh.metric(metric):.3f}" for metric in METRICS]
            remarks = "; ".join(dvh.remarks)
            table.writerow([case.source, dose.label, dose.status_text, name, f"{dvh.volume_cm3:.2f}", *values, remarks])

if importlib.util.find_spec("matplotlib") is None:
    sys.exit(0)  # The picture needs matplotlib.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for label, gy, percent in curves:
    axes.plot(gy, percent, label=label)
axes.set(xlabel="dose (Gy)", ylabel="volume (%)", xlim=(0, None), ylim=(0, 102))
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
figure.savefig("dvh_table.png", dpi=80)
