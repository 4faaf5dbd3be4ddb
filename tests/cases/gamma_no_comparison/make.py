import os
import sys

import numpy as np
import study
from volume import write_mha

out = sys.argv[1]
even = np.full((8, 8, 8), 40.0)
write_mha(f"{out}/a.mha", even)
write_mha(f"{out}/far.mha", even, origin=(500.0, 500.0, 500.0))
write_mha(f"{out}/none.mha", 0 * even)
write_mha(f"{out}/plane.mha", even[:1], origin=(0.0, 0.0, 300.0))
for name, value in (("negative", -1.0), ("nan", np.nan)):
    spoilt = even.copy()
    spoilt[:, :, 7] = value
    write_mha(f"{out}/{name}.mha", spoilt)

ids = study.fresh()
study.ct(ids, f"{out}/ct", slices=1, size=(8, 8))
for name, changes in [("plain", {}), ("frame", {"FrameOfReferenceUID": "1.2.3.999"}), ("relative", {"DoseUnits": "RELATIVE"}),
                      ("patient", {"PatientID": "SOMEBODY"}), ("uneven", {"GridFrameOffsetVector": [0, 2, 4, 6, 8, 10, 12, 15]})]:
    os.makedirs(f"{out}/{name}")
    study.dose(ids, f"{out}/{name}", even, (0.0, 0.0, 0.0), (2.0, 2.0, 2.0),
               lambda d: [setattr(d, keyword, value) for keyword, value in changes.items()])
