"""A target of which the upper 45 % lie beyond the dose grid."""
import sys

import numpy as np
from study import box, ct, dose, fresh, structures

out = sys.argv[1]
ids = fresh()
ct(ids, out)
structures(ids, out, [("PTV", "PTV", [box(20, 3.0 * k) for k in range(-5, 6)])])
dose(ids, out, np.full((11, 32, 32), 60.0), (-62.0, -62.0, -30.0), (4.0, 4.0, 3.0))
