"""Stacks whose middle plane is changed."""
import os
import sys

import numpy as np
import pydicom
import study
from program import Checks

pydicom.config.settings.writing_validation_mode = pydicom.config.IGNORE
pydicom.config.settings.reading_validation_mode = pydicom.config.IGNORE
pydicom.config.replace_un_with_known_vr = False
out, checks, count = sys.argv[1], Checks(), 0
MIDDLE, DENSE = "ct001.dcm", np.full(64, 999, "<i2").tobytes()


def stack(slices=3, **changes):
    """A folder with a stack; an attribute of None is removed from its middle plane."""
    global count
    count += 1
    folder = f"{out}/{count}"
    study.ct(study.fresh(), folder, slices=slices, size=(8, 8))
    changed(f"{folder}/ct{slices // 2:03}.dcm", **changes)
    return folder


def changed(path, to=None, **changes):
    """Changes attributes of a file; text goes into it as it is."""
    d = pydicom.dcmread(path)
    for keyword, value in changes.items():
        if value is None:
            del d[keyword]
        elif isinstance(value, str) and d[keyword].VR == "DS":
            # Through UN no number is made of the text.
            value = value.encode()
            d[keyword] = pydicom.dataelem.DataElement(d[keyword].tag, "UN", value + b" " * (len(value) % 2))
        else:
            setattr(d, keyword, value)
    d.save_as(to or path, enforce_file_format=False)


def refused(*words, **changes):
    checks.refused(stack(**changes), MIDDLE, *words)


def opens(*words, **changes):
    checks.opens(stack(**changes), MIDDLE, *words)


refused("mm aside", ImagePositionPatient=[-18, -14, 0])
for keyword, value in [("ImagePositionPatient", None), ("ImageOrientationPatient", None), ("PixelSpacing", None), ("PixelData", None),
                       ("BitsAllocated", None), ("PixelSpacing", ""), ("PixelSpacing", "0\\0"), ("PixelSpacing", "-1\\1"), ("PixelSpacing", "nan\\1"),
                       ("PixelSpacing", "one\\1"), ("ImageOrientationPatient", "1\\0\\0\\1\\0\\0"), ("ImageOrientationPatient", "0\\0\\0\\0\\0\\0"),
                       ("ImagePositionPatient", "0\\inf\\0"), ("RescaleSlope", "0")]:
    # In a stack such a plane is one of another series.
    checks.refused(stack(1, **{keyword: value}), "ct000.dcm", keyword if value in (None, "") else "")
for keyword, value, words in [("RescaleSlope", "1e300", "RescaleSlope of 1"), ("RescaleSlope", "3e36", "RescaleSlope of 3"),
                              ("RescaleSlope", "1,5", "'1,5', which has a decimal comma"), ("RescaleSlope", "inf", "its RescaleSlope is 'inf'"),
                              ("RescaleIntercept", "-1000,0", "decimal comma"), ("RescaleIntercept", "-1e39", "RescaleIntercept of -1")]:
    refused(words, PixelData=DENSE, **{keyword: value})
refused("62 pixels where 64 belong", PixelData=bytes(124))
refused("FFP", PatientPosition="FFP")
checks.refused(stack(1, NumberOfFrames=40), "ct000.dcm", "several frames")

folder = stack()
with open(f"{folder}/{MIDDLE}", "rb+") as f:
    f.truncate(os.path.getsize(f"{folder}/{MIDDLE}") - 4)
checks.refused(folder, MIDDLE, "truncated")
# The couch moved along z while the gantry was tilted.
folder, (s, c) = stack(4), (np.sin(np.radians(20)), np.cos(np.radians(20)))
for n in range(4):
    changed(f"{folder}/ct{n:03}.dcm", ImageOrientationPatient=[1, 0, 0, 0, c, s])
checks.refused(folder, "ct003.dcm", "sheared by 20.00 degrees")

opens("more than 16 bits hold", "39960", RescaleSlope=40, PixelData=DENSE)
opens("GantryDetectorTilt is -15.5 degrees", GantryDetectorTilt=-15.5)
for kind, words in [(["ORIGINAL", "PRIMARY", "LOCALIZER"], "localizers"), (["DERIVED", "SECONDARY", "AXIAL", "CSA MIP"], "projections"),
                    (["DERIVED", "SECONDARY", "PROJECTION IMAGE"], "projections")]:
    opens("8x8x2 voxels", words, ImageType=kind)
for kind in (["ORIGINAL", "PRIMARY", "AXIAL"], ["DERIVED", "SECONDARY", "MPR"], ["DERIVED", "SECONDARY", "AXIAL", "AVERAGE"]):
    checks.opens(stack(ImageType=kind), "8x8x3 voxels")

# A plane is missing, one is there twice, one has a rival.
folder = stack(7)
os.remove(f"{folder}/ct003.dcm")
changed(f"{folder}/{MIDDLE}", f"{folder}/copy.dcm", SOPInstanceUID="1.2.3.50", InstanceNumber=50)
changed(f"{folder}/ct004.dcm", f"{folder}/rival.dcm", SOPInstanceUID="1.2.3.60", InstanceNumber=60, PixelData=np.full(64, 99, "<i2").tobytes())
checks.opens(folder, "8x8x6 voxels", "1 plane(s) seem to be missing: 6.00 mm", "ct002.dcm", "copies", "copy.dcm", "differ from it", "rival.dcm")

folder = stack(1, PatientPosition=None, FrameOfReferenceUID=None, RescaleSlope=None)
checks.opens(folder, "no PatientPosition", "no frame of reference", "lack RescaleSlope", "a single plane")
# A series of localizers is not taken for the patient.
folder = stack(2, ImageType=["ORIGINAL", "PRIMARY", "LOCALIZER"], SeriesInstanceUID="1.2.3.201")
os.rename(f"{folder}/ct000.dcm", f"{out}/one.dcm")
checks.refused(folder, "localizers")
os.rename(f"{out}/one.dcm", f"{folder}/one.dcm")
checks.opens(folder, "1 images")
# An unreadable file among good ones is left out by name.
folder = stack()
study.plan(study.fresh(), folder, [study.beam(1, "STATIC", [(0, study.jaws(-50, 50)), (1, None)])], 100)
with open(f"{folder}/rp.dcm", "rb+") as f:
    f.truncate(os.path.getsize(f"{folder}/rp.dcm") - 3)
checks.opens(folder, "3 images", "could not be read", "rp.dcm")
checks.end()
