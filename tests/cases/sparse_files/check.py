import os
import sys

from program import Checks, run
from raw import ct_header, long, write

out, checks = sys.argv[1], Checks()


def sparse(name, beginning, length):
    """A file of which only the beginning was written."""
    path = f"{out}/{name}"
    with open(path, "wb") as f:
        f.write(beginning)
        f.truncate(length)
    assert os.stat(path).st_blocks * 512 < 1 << 20, "the file system has no sparse files"
    return path


head = b"NDims = 3\nDimSize = 1300 1300 1300\nElementSpacing = 1 1 1\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"
checks.refused(sparse("sparse.mha", head, len(head) + 1300**3), "of memory")
checks.refused(sparse("sparse.json", b'{ "version": 1, ', 10 << 30), "10.7 GB", "are the most")
path = f"{out}/header.dcm"
length = 3 << 30
write(path, ct_header() + long(0x7FE00010, b"OW", length))
with open(path, "rb") as f:
    beginning = f.read()
os.remove(path)
status, said = run("info", sparse("sparse.dcm", beginning, len(beginning) + length))
checks("sparse.dcm has an answer", status in (0, 1) and "panicked" not in said, said)
checks.end()
