"""A table of DVH metrics of a folder of patients: python dvh_table.py [FOLDER] >table.csv

Each folder of FOLDER is a patient with CT, RTSTRUCT and RTDOSE; without FOLDER two demo cases stand for them, whose plans are
computed.
"""

import csv
import pathlib
import sys

import beamsight

METRICS = ["D98%", "D95%", "D2%", "Dmean"]


def patients():
    if len(sys.argv) > 1:
        yield from sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
    else:
        yield from ["demo:water", "demo:tg119"]


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
            values = [f"{dvh.metric(metric):.3f}" for metric in METRICS]
            remarks = "; ".join(dvh.remarks)
            table.writerow([case.source, dose.label, dose.status_text, name, f"{dvh.volume_cm3:.2f}", *values, remarks])
