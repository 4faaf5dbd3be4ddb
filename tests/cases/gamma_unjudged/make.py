import sys

import numpy as np
from volume import write_mha

gy = np.full((41, 41, 41), 2.0)
write_mha(f"{sys.argv[1]}/all.mha", gy)
write_mha(f"{sys.argv[1]}/plane.mha", gy[:1], origin=(0.0, 0.0, 40.0))
gy[20, 20, 20] = 6.0
write_mha(f"{sys.argv[1]}/one-wrong.mha", gy)
