"""A CT with a structure set in each character set. Usage: make.py FOLDER."""
import glob
import os
import sys

import pydicom

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from names import CASES
from study import box, ct, fresh, structures

for case, (charset, name, roi) in CASES.items():
    ids = fresh()
    folder = f"{sys.argv[1]}/{case}"
    os.makedirs(folder, exist_ok=True)
    ct(ids, folder)
    structures(ids, folder, [("roi", "PTV", [box(20, 3.0 * k) for k in range(-5, 6)])])
    for path in glob.glob(f"{folder}/*.dcm"):
        d = pydicom.dcmread(path)
        d.SpecificCharacterSet, d.PatientName = charset, name
        for item in d.get("StructureSetROISequence", []):
            item.ROIName = roi
        d.save_as(path)
