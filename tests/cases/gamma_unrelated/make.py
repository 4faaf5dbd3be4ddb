"""Three even doses: 40 Gy, the same in cGy, and 40.8 Gy."""
import sys

import numpy as np

out = sys.argv[1]
for name, gy in (("gy", 40.0), ("cgy", 4000.0), ("near", 40.8)):
    head = ["ObjectType = Image", "NDims = 3", "BinaryData = True", "BinaryDataByteOrderMSB = False", "CompressedData = False",
            "Offset = 0 0 0", "ElementSpacing = 2 2 2", "DimSize = 40 40 40", "ElementType = MET_FLOAT", "ElementDataFile = LOCAL"]
    with open(f"{out}/{name}.mha", "wb") as f:
        f.write(("\n".join(head) + "\n").encode() + np.full(64000, gy, "<f4").tobytes())
