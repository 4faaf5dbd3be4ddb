"""A cube of water of 12 cm with a cube of 16 mm in it: of metal (8000 HU) and of the densest that the default table has."""
import sys

import numpy as np

out = sys.argv[1]
x = (np.arange(60) - 29.5) * 4
far = np.maximum.reduce(np.meshgrid(abs(x), abs(x), abs(x), indexing="ij"))
for name, hu in (("ct", 8000), ("bone", 3000)):
    values = np.where(far < 8, hu, np.where(far < 60, 0, -1000)).astype("<i2")
    head = ["ObjectType = Image", "NDims = 3", "BinaryData = True", "BinaryDataByteOrderMSB = False", "CompressedData = False",
            "Offset = -118 -118 -118", "ElementSpacing = 4 4 4", "DimSize = 60 60 60", "ElementType = MET_SHORT",
            "ElementDataFile = LOCAL"]
    with open(f"{out}/{name}.mha", "wb") as f:
        f.write(("\n".join(head) + "\n").encode() + values.tobytes())
with open(f"{out}/plan.toml", "w") as f:
    f.write('name = "AP"\nmachine = "generic-6mv"\nisocentre_mm = [0, 0, 0]\n'
            '[[beam]]\nname = "Front"\ngantry_deg = 0\nmu = 100\njaws_mm = { x = [-40, 40], y = [-40, 40] }\n')
