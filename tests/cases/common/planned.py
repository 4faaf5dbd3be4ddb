"""An exported plan whose planned dose is falsified, for second checks."""
import numpy as np
import pydicom
import study
from program import run

TWO_BEAMS = """name = "two"
machine = "generic-6mv"
isocentre_mm = [0.0, 0.0, 0.0]
prescription_gy = 10.0
fractions = 5
""" + "".join(f"""[[beam]]
name = "{name}"
gantry_deg = {gantry}.0
mu = 100.0
jaws_mm = {{ x = [-30.0, 30.0], y = [-30.0, 30.0] }}
""" for name, gantry in (("AP", 0), ("LAT", 90)))
ONE_BEAM = TWO_BEAMS.split('[[beam]]\nname = "LAT"')[0]


def cube(x, y, z):
    """HU of a cube of water, 120 mm a side, in air."""
    return np.where((abs(x) < 60) & (abs(y) < 60) & (abs(z) < 60), 0, -1000)


def cube_images(folder):
    """Images of the cube with its body and a target."""
    ids, images = study.fresh(), f"{folder}-images"
    study.ct(ids, images, cube, slices=40, size=(40, 40), spacing=(4.0, 4.0, 4.0))
    study.structures(ids, images, [("BODY", "EXTERNAL", [study.box(60, 4.0 * k) for k in range(-14, 15)]),
                                   ("PTV", "PTV", [study.box(15, 4.0 * k) for k in range(-4, 5)])])
    return images


def exported(folder, plan=ONE_BEAM, options=("--dose", "plan")):
    """A plan of five fractions on a cube of water, with the dose of the plan alone unless options of `export` say otherwise."""
    images, path = cube_images(folder), f"{folder}.toml"
    with open(path, "w") as f:
        f.write(plan)
    status, said = run("export", images, "--plan", path, "--out", folder, *options, "--device", "cpu")
    assert status == 0, said
    return folder


def with_beam_doses(folder):
    """Two beams and five fractions, with the doses of the plan and of each beam."""
    return exported(folder, TWO_BEAMS, ("--dose", "both"))


def falsify(folder, how):
    """Gives the planned dose the values that `how(gy, x, y, z)` makes of gy[z, y, x] and the positions in mm, which broadcast with it. A
    tuple of slices in place of values crops it."""
    path = f"{folder}/RD.dcm"
    d = pydicom.dcmread(path)
    gy = d.pixel_array * float(d.DoseGridScaling)
    (x0, y0, z0), (dy, dx) = map(float, d.ImagePositionPatient), map(float, d.PixelSpacing)
    offsets = np.array([float(v) for v in d.GridFrameOffsetVector])
    z, y, x = z0 + offsets, y0 + dy * np.arange(gy.shape[1]), x0 + dx * np.arange(gy.shape[2])
    made = how(gy.copy(), x[None, None, :], y[None, :, None], z[:, None, None])
    if isinstance(made, tuple):
        z, y, x, made = z[made[0]], y[made[1]], x[made[2]], gy[made]
    scaling = f"{made.max() / 4e9:.9e}"
    d.ImagePositionPatient = [x[0], y[0], z[0]]
    d.NumberOfFrames, d.Rows, d.Columns = made.shape
    d.GridFrameOffsetVector = [f"{v:g}" for v in z - z[0]]
    d.DoseGridScaling = scaling
    d.PixelData = np.round(made / float(scaling)).astype("<u4").tobytes()
    d.save_as(path, enforce_file_format=True)


def box_of(gy, share):
    """The slices of the voxels with this share of the greatest dose or more."""
    return tuple(slice(n.min(), n.max() + 1) for n in np.nonzero(gy >= share * gy.max()))
