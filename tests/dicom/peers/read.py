"""Reads an export with pydicom, SimpleITK and plastimatch, and prints what they find as JSON.

Arguments: the folder, and an empty folder for the masks of plastimatch.
"""

import glob
import json
import os
import subprocess
import sys

import numpy as np
import pydicom
import SimpleITK as sitk


def beams(plan):
    metersets = {
        int(item.ReferencedBeamNumber): float(item.BeamMeterset)
        for item in plan.FractionGroupSequence[0].ReferencedBeamSequence
        if "BeamMeterset" in item
    }
    found = []
    for beam in plan.BeamSequence:
        first = beam.ControlPointSequence[0]
        devices = {
            item.RTBeamLimitingDeviceType: [float(mm) for mm in item.LeafJawPositions]
            for item in first.BeamLimitingDevicePositionSequence
        }
        found.append({
            "number": int(beam.BeamNumber),
            "mu": metersets.get(int(beam.BeamNumber)),
            "gantry_deg": [float(p.GantryAngle) for p in beam.ControlPointSequence if "GantryAngle" in p],
            "isocentre_mm": [float(mm) for mm in first.IsocenterPosition],
            "devices": devices,
        })
    return found


def structures(path):
    found = {}
    data = pydicom.dcmread(path)
    names = {int(roi.ROINumber): str(roi.ROIName) for roi in data.StructureSetROISequence}
    for roi in data.ROIContourSequence:
        contours = roi.get("ContourSequence", [])
        points = [mm for contour in contours for mm in contour.ContourData]
        found[names[int(roi.ReferencedROINumber)]] = {
            "contours": len(contours),
            "sum_mm": float(sum(float(mm) for mm in points)),
        }
    return found


def dose(path):
    data = pydicom.dcmread(path)
    gy = data.pixel_array.astype(np.float64) * float(data.DoseGridScaling)
    image = sitk.ReadImage(path)
    own = sitk.GetArrayFromImage(image).astype(np.float64)
    return {
        "shape": list(gy.shape),
        "max_gy": float(gy.max()),
        "sum_gy": float(gy.sum()),
        "origin_mm": [float(mm) for mm in data.ImagePositionPatient],
        "sitk_max": float(own.max()) * (float(data.DoseGridScaling) if own.max() > 1e4 else 1.0),
        "sitk_origin_mm": list(image.GetOrigin()),
        "sitk_spacing_mm": list(image.GetSpacing()),
    }


def ct(folder):
    reader = sitk.ImageSeriesReader()
    series = [
        names
        for names in (reader.GetGDCMSeriesFileNames(folder, uid) for uid in reader.GetGDCMSeriesIDs(folder))
        if pydicom.dcmread(names[0], stop_before_pixels=True).Modality == "CT"
    ]
    assert len(series) == 1, "one CT series"
    reader.SetFileNames(series[0])
    image = reader.Execute()
    hu = sitk.GetArrayFromImage(image).astype(np.float64)
    return {
        "size": list(image.GetSize()),
        "origin_mm": list(image.GetOrigin()),
        "spacing_mm": list(image.GetSpacing()),
        "mean_hu": float(hu.mean()),
        "max_hu": float(hu.max()),
    }


def volumes(folder, masks):
    subprocess.run(
        ["plastimatch", "convert", "--input", folder, "--output-prefix", masks, "--prefix-format", "mha"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    found = {}
    for path in glob.glob(os.path.join(masks, "*.mha")):
        image = sitk.ReadImage(path)
        voxels = int(np.count_nonzero(sitk.GetArrayFromImage(image)))
        name = os.path.splitext(os.path.basename(path))[0]
        found[name] = voxels * float(np.prod(image.GetSpacing())) / 1000.0
    return found


def registration(path):
    data = pydicom.dcmread(path)
    frames = {
        str(item.FrameOfReferenceUID): [
            float(v)
            for v in item.MatrixRegistrationSequence[0].MatrixSequence[0].FrameOfReferenceTransformationMatrix
        ]
        for item in data.RegistrationSequence
    }
    registered = str(data.FrameOfReferenceUID)
    (source,) = [uid for uid in frames if uid != registered]
    return {"source": source, "registered": registered, "matrix": frames[source], "identity": frames[registered]}


def picture(path):
    data = pydicom.dcmread(path)
    values = data.pixel_array.astype(np.float64) * float(data.RescaleSlope) + float(data.RescaleIntercept)
    return {
        "frame": str(data.FrameOfReferenceUID),
        "shape": list(values.shape),
        "sum": float(values.sum()),
        "gantry_deg": float(data.GantryAngle),
        "sad_mm": float(data.RadiationMachineSAD),
        "sid_mm": float(data.RTImageSID),
        "position_mm": [float(mm) for mm in data.RTImagePosition],
        "spacing_mm": [float(mm) for mm in data.ImagePlanePixelSpacing],
        "isocentre_mm": [float(mm) for mm in data.IsocenterPosition],
        "patient_position": str(data.PatientPosition),
    }


def main(folder, masks):
    found = {"ct": ct(folder), "structures": structures(os.path.join(folder, "RS.dcm")), "volumes": volumes(folder, masks)}
    plan = os.path.join(folder, "RP.dcm")
    if os.path.exists(plan):
        found["beams"] = beams(pydicom.dcmread(plan))
    path = os.path.join(folder, "RD.dcm")
    if os.path.exists(path):
        found["dose"] = dose(path)
    path = os.path.join(folder, "REG.dcm")
    if os.path.exists(path):
        found["registration"] = registration(path)
    path = os.path.join(folder, "RI-drr-1.dcm")
    if os.path.exists(path):
        found["drr"] = picture(path)
    print(json.dumps(found))


main(sys.argv[1], sys.argv[2])
