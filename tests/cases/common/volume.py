"""Volumes as MetaImage."""
import numpy as np


def write_mha(path, values, spacing=(2.0, 2.0, 2.0), origin=(0.0, 0.0, 0.0)):
    """Values[z, y, x] as 32-bit floats."""
    head = [
        "ObjectType = Image", "NDims = 3", "BinaryData = True", "BinaryDataByteOrderMSB = False", "TransformMatrix = 1 0 0 0 1 0 0 0 1",
        f"Offset = {' '.join(map(str, origin))}", f"ElementSpacing = {' '.join(map(str, spacing))}",
        f"DimSize = {' '.join(map(str, reversed(values.shape)))}", "ElementType = MET_FLOAT", "ElementDataFile = LOCAL",
    ]
    with open(path, "wb") as file:
        file.write(("\n".join(head) + "\n").encode() + values.astype("<f4").tobytes())


def read_mha(path, shape):
    """Values[z, y, x] that the program wrote."""
    data = open(path, "rb").read()
    return np.frombuffer(data[data.index(b"LOCAL\n") + 6:], "<f4").reshape(shape).astype(float)


class Grid:
    """Voxels along the patient axes: the first centre, mm, sides, mm, and how many along x, y and z."""

    def __init__(self, origin, spacing, size):
        self.origin, self.spacing, self.shape = origin, spacing, tuple(reversed(size))
        at = [o + s * np.arange(n) for o, s, n in zip(origin, spacing, size)]
        self.z, self.y, self.x = np.meshgrid(*reversed(at), indexing="ij")

    def write(self, path, of):
        """Values of a function of x, y and z."""
        write_mha(path, of(self.x, self.y, self.z) + np.zeros(self.shape), self.spacing, self.origin)

    def inner(self, margin):
        """Which centres lie so far from the outermost ones, mm."""
        inside = np.ones(self.shape, bool)
        for at in (self.x, self.y, self.z):
            inside &= (at >= at.min() + margin) & (at <= at.max() - margin)
        return inside
