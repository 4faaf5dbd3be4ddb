"""Targets of which parts lie beyond the CT: above its last plane, and beside its images. The dose grid holds all of both."""
import sys

import numpy as np
from study import box, ct, dose, fresh, structures

out = sys.argv[1]
ids = fresh()
# Planes at -33 to 30 mm, pixels up to 128 mm from the middle.
ct(ids, out)
above = [box(20, 3.0 * k) for k in range(6, 16)]
beside = [box(20, 3.0 * k, x=128.0) for k in range(-5, 6)]
rim = [box(20, 3.0 * k, x=109.0) for k in range(-5, 6)]
structures(ids, out, [("ABOVE", "PTV", above), ("BESIDE", "PTV", beside), ("RIM", "ORGAN", rim)])
dose(ids, out, np.full((31, 32, 64), 60.0), (-94.0, -62.0, -45.0), (4.0, 4.0, 3.0))
