"""Volumes as MetaImage."""


def write_mha(path, gy, spacing=(2.0, 2.0, 2.0), origin=(0.0, 0.0, 0.0)):
    """Doses gy[z, y, x] as 32-bit floats."""
    head = [
        "ObjectType = Image", "NDims = 3", "BinaryData = True", "BinaryDataByteOrderMSB = False", "TransformMatrix = 1 0 0 0 1 0 0 0 1",
        f"Offset = {' '.join(map(str, origin))}", f"ElementSpacing = {' '.join(map(str, spacing))}",
        f"DimSize = {' '.join(map(str, reversed(gy.shape)))}", "ElementType = MET_FLOAT", "ElementDataFile = LOCAL",
    ]
    with open(path, "wb") as file:
        file.write(("\n".join(head) + "\n").encode() + gy.astype("<f4").tobytes())
