"""A target in 60 Gy, and the same dose with a voxel of -60 Gy, as RTDOSE and as MetaImage."""
import os
import sys

import numpy as np
from study import box, ct, dose, fresh, structures
from volume import write_mha

out = sys.argv[1]
for folder in ("case", "rd"):
    os.makedirs(f"{out}/{folder}")
ids = fresh()
ct(ids, f"{out}/case")
structures(ids, f"{out}/case", [("PTV", "PTV", [box(20, 3.0 * k) for k in range(-5, 6)])])
spacing, origin = (4.0, 4.0, 3.0), (-62.0, -62.0, -15.0)
whole = np.full((11, 32, 32), 60.0)
spoilt = whole.copy()
spoilt[5, 16, 16] = -60.0
write_mha(f"{out}/whole.mha", whole, spacing, origin)
write_mha(f"{out}/rd.mha", spoilt, spacing, origin)


def signed(dataset):
    """Stored values of one byte pair, signed, in steps of 1 mGy."""
    stored = np.round(spoilt * 1000 / 2).astype("<i2")
    dataset.PixelRepresentation, dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit = 1, 16, 16, 15
    dataset.DoseGridScaling = 0.002
    dataset.PixelData = stored.tobytes()


dose(ids, f"{out}/rd", whole, origin, spacing, signed)
