import sys

import numpy as np
from volume import write_mha

gy = np.full((20, 20, 20), 2.0)
write_mha(f"{sys.argv[1]}/a.mha", gy)
write_mha(f"{sys.argv[1]}/b.mha", 1.02 * gy)
gy[10, 10, 10] = 6.4
write_mha(f"{sys.argv[1]}/hot.mha", gy)
