"""Small DICOM studies: a CT of water, structures, a plan, a dose. Positions in mm of the patient (LPS), angles in degrees, dose in Gy."""
import os

import numpy as np
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

CT, DOSE, STRUCTURES, PLAN = (f"1.2.840.10008.5.1.4.1.1.{n}" for n in ("2", "481.2", "481.3", "481.5"))


def item(**values):
    """An item of a sequence, its attributes by keyword."""
    d = Dataset()
    for keyword, value in values.items():
        setattr(d, keyword, value)
    return d


def fresh(**more):
    """The identity that the files of a study share; `name`, `id` and `charset` may be given."""
    return dict(study=generate_uid(), frame=generate_uid(), **more)


def head(ids, sop, modality, series):
    """An object with what every one of a study has."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = sop, generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    d = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
    for keyword, value in dict(
        SpecificCharacterSet=ids.get("charset", "ISO_IR 100"), SOPClassUID=sop,
        SOPInstanceUID=meta.MediaStorageSOPInstanceUID, Modality=modality, StudyDate="20260101", StudyTime="120000",
        AccessionNumber="", Manufacturer="", ReferringPhysicianName="", PatientName=ids.get("name", "Phantom"),
        PatientID=ids.get("id", "P1"), PatientBirthDate="", PatientSex="O", StudyInstanceUID=ids["study"], StudyID="1",
        SeriesInstanceUID=series, SeriesNumber=1, FrameOfReferenceUID=ids["frame"], PositionReferenceIndicator="",
        OperatorsName="",
    ).items():
        setattr(d, keyword, value)
    return d


def water(x, y, z):
    """HU of 200 x 160 x 57 mm of water in air, which ends before the CT of `ct` does."""
    return np.where((abs(x) < 100) & (abs(y) < 80) & (abs(z) < 29), 0, -1000)


def ct(ids, out, values=None, slices=22, size=(64, 64), spacing=(4.0, 4.0, 3.0)):
    """`size` x `slices` voxels about the origin (x fastest), of `values(x, y, z)` in HU; water in air where there is none."""
    os.makedirs(out, exist_ok=True)
    series, (dx, dy, dz), (nx, ny) = generate_uid(), spacing, size
    ids["images"], ids["series"] = [], series
    x0, y0 = -(nx - 1) / 2 * dx, -(ny - 1) / 2 * dy
    y, x = np.meshgrid(y0 + dy * np.arange(ny), x0 + dx * np.arange(nx), indexing="ij")
    for i in range(slices):
        z = dz * (i - slices // 2)
        hu = np.asarray((values or water)(x, y, z))
        d = head(ids, CT, "CT", series)
        for keyword, value in dict(
            ImageType=["ORIGINAL", "PRIMARY", "AXIAL"], InstanceNumber=i + 1, PatientPosition="HFS", KVP=120,
            ImagePositionPatient=[x0, y0, z], ImageOrientationPatient=[1, 0, 0, 0, 1, 0], SliceThickness=dz,
            PixelSpacing=[dy, dx], Rows=ny, Columns=nx, SamplesPerPixel=1, PhotometricInterpretation="MONOCHROME2",
            BitsAllocated=16, BitsStored=16, HighBit=15, PixelRepresentation=1, RescaleIntercept=0, RescaleSlope=1,
            PixelData=hu.astype("<i2").tobytes(),
        ).items():
            setattr(d, keyword, value)
        d.save_as(f"{out}/ct{i:03}.dcm", enforce_file_format=True)
        ids["images"].append((z, d.SOPInstanceUID))


def box(half, z, x=0.0):
    """A square contour of twice `half` at a plane, as a flat list."""
    return [v for a, b in ((-half, -half), (half, -half), (half, half), (-half, half)) for v in (a + x, b, z)]


def structures(ids, out, rois, change=None):
    """Structures of (name, type, contours as flat lists of numbers); `change` may falsify the object."""
    d = head(ids, STRUCTURES, "RTSTRUCT", generate_uid())
    d.StructureSetLabel, d.StructureSetDate, d.StructureSetTime = "SS", "", ""
    images = [item(ReferencedSOPClassUID=CT, ReferencedSOPInstanceUID=uid) for _, uid in ids["images"]]
    series = item(SeriesInstanceUID=ids["series"], ContourImageSequence=images)
    study = item(ReferencedSOPClassUID="1.2.840.10008.3.1.2.3.1", ReferencedSOPInstanceUID=ids["study"],
                 RTReferencedSeriesSequence=[series])
    d.ReferencedFrameOfReferenceSequence = [item(FrameOfReferenceUID=ids["frame"], RTReferencedStudySequence=[study])]
    d.StructureSetROISequence, d.ROIContourSequence, d.RTROIObservationsSequence = [], [], []
    for number, (name, kind, contours) in enumerate(rois, 1):
        d.StructureSetROISequence.append(item(ROINumber=number, ReferencedFrameOfReferenceUID=ids["frame"], ROIName=name,
                                              ROIGenerationAlgorithm=""))
        drawn = [item(ContourGeometricType="CLOSED_PLANAR", NumberOfContourPoints=len(c) // 3,
                      ContourData=[f"{v:g}" for v in c]) for c in contours]
        d.ROIContourSequence.append(item(ReferencedROINumber=number, ROIDisplayColor=[255, 0, 0], ContourSequence=drawn))
        d.RTROIObservationsSequence.append(item(ObservationNumber=number, ReferencedROINumber=number,
                                                RTROIInterpretedType=kind, ROIInterpreter=""))
    if change:
        change(d)
    d.save_as(f"{out}/rs.dcm", enforce_file_format=True)


def jaws(x1, x2, y1=-30.0, y2=50.0):
    """Positions of four jaws at the isocentre's plane."""
    return [item(RTBeamLimitingDeviceType="ASYMX", LeafJawPositions=[float(x1), float(x2)]),
            item(RTBeamLimitingDeviceType="ASYMY", LeafJawPositions=[float(y1), float(y2)])]


def beam(number, kind, points, devices=("ASYMX", "ASYMY"), **first):
    """A photon beam of 6 MV at gantry 0 of (cumulative weight, positions or None) by control point; `first` goes into the first one."""
    control_points = []
    for k, (weight, positions) in enumerate(points):
        point = item(ControlPointIndex=k, CumulativeMetersetWeight=weight)
        if k == 0:
            for keyword, value in (dict(
                NominalBeamEnergy=6, DoseRateSet=600, GantryAngle=0, GantryRotationDirection="NONE", BeamLimitingDeviceAngle=0,
                BeamLimitingDeviceRotationDirection="NONE", PatientSupportAngle=0, PatientSupportRotationDirection="NONE",
                IsocenterPosition=[0.0, 0.0, 0.0],
            ) | first).items():
                setattr(point, keyword, value)
        if positions:
            point.BeamLimitingDevicePositionSequence = positions
        control_points.append(point)
    return item(BeamNumber=number, BeamName=f"B{number}", BeamType=kind, RadiationType="PHOTON", TreatmentMachineName="M1",
                PrimaryDosimeterUnit="MU", SourceAxisDistance=1000, TreatmentDeliveryType="TREATMENT", NumberOfWedges=0,
                NumberOfCompensators=0, NumberOfBoli=0, NumberOfBlocks=0, FinalCumulativeMetersetWeight=points[-1][0],
                NumberOfControlPoints=len(control_points), ReferencedPatientSetupNumber=1, ControlPointSequence=control_points,
                BeamLimitingDeviceSequence=[item(RTBeamLimitingDeviceType=t, NumberOfLeafJawPairs=1) for t in devices])


def plan(ids, out, beams, mu, change=None):
    """A plan of one fraction, `mu` monitor units a beam; its UID is kept as `ids["plan"]`."""
    d = head(ids, PLAN, "RTPLAN", generate_uid())
    d.RTPlanLabel, d.RTPlanDate, d.RTPlanTime, d.RTPlanGeometry = "Plan", "", "", "TREATMENT_DEVICE"
    d.PatientSetupSequence = [item(PatientSetupNumber=1, PatientPosition="HFS")]
    referenced = [item(ReferencedBeamNumber=b.BeamNumber, BeamMeterset=mu) for b in beams]
    d.FractionGroupSequence = [item(FractionGroupNumber=1, NumberOfFractionsPlanned=1, NumberOfBeams=len(beams),
                                    NumberOfBrachyApplicationSetups=0, ReferencedBeamSequence=referenced)]
    d.BeamSequence = beams
    if change:
        change(d)
    d.save_as(f"{out}/rp.dcm", enforce_file_format=True)
    ids["plan"] = d.SOPInstanceUID


def dose(ids, out, values_gy, origin, spacing, change=None):
    """The plan's dose of `values_gy[z, y, x]` on a grid of its own."""
    d = head(ids, DOSE, "RTDOSE", generate_uid())
    (dx, dy, dz), (nz, ny, nx) = spacing, values_gy.shape
    scaling = float(values_gy.max()) / 4e9 or 1.0
    for keyword, value in dict(
        InstanceNumber=1, ImagePositionPatient=list(origin), ImageOrientationPatient=[1, 0, 0, 0, 1, 0], PixelSpacing=[dy, dx],
        SliceThickness=dz, NumberOfFrames=nz, FrameIncrementPointer=0x3004000C, GridFrameOffsetVector=[dz * i for i in range(nz)],
        Rows=ny, Columns=nx, SamplesPerPixel=1, PhotometricInterpretation="MONOCHROME2", BitsAllocated=32, BitsStored=32,
        HighBit=31, PixelRepresentation=0, DoseUnits="GY", DoseType="PHYSICAL", DoseSummationType="PLAN",
        DoseGridScaling=f"{scaling:.9e}", PixelData=np.round(values_gy / float(f"{scaling:.9e}")).astype("<u4").tobytes(),
    ).items():
        setattr(d, keyword, value)
    if "plan" in ids:
        d.ReferencedRTPlanSequence = [item(ReferencedSOPClassUID=PLAN, ReferencedSOPInstanceUID=ids["plan"])]
    if change:
        change(d)
    d.save_as(f"{out}/rd.dcm", enforce_file_format=True)
