import struct
import sys
import zlib

from program import Checks, run
from raw import DEFLATED, UNDEFINED, ct_header, deflated_zeros, long, write

out, checks = sys.argv[1], Checks()
zeros = deflated_zeros(3900)
checks("the bomb is small", len(zeros) < 4_500_000, len(zeros))


def stored(data, last=0):
    """A block of deflate that is not packed."""
    return struct.pack("<BHH", last, len(data), len(data) ^ 0xFFFF) + data


def bomb(name, header):
    """The header, then zeros."""
    write(f"{out}/{name}", stored(header) + zeros, DEFLATED)
    return f"{out}/{name}"


length = 3900 << 20
checks.refused(bomb("before.dcm", ct_header() + long(0x00420011, b"OB", length)), "of memory")
checks.refused(bomb("fragments.dcm", ct_header() + long(0x7FE00010, b"OB", UNDEFINED)))
status, said = run("info", bomb("pixels.dcm", ct_header() + long(0x7FE00010, b"OW", length)))
checks("pixels.dcm has an answer", status in (0, 1) and "panicked" not in said, said)

# 900 million zeros: their zlib checksum is 1 and their number, modulo 65521.
SIDE = 30_000
count = SIDE * (SIDE + 1)
rest = count % (1 << 20)
data = b"\x78\x9c" + deflated_zeros(count >> 20)[:-2]
while rest:
    now = min(rest, 65535)
    rest -= now
    data += stored(bytes(now), rest == 0)
data += struct.pack(">I", count % 65521 * 65536 + 1)
chunk = lambda kind, content: struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", SIDE, SIDE, 8, 0, 0, 0, 0)) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
entries = [(256, 4, SIDE), (257, 4, SIDE), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8), (278, 4, SIDE), (279, 4, SIDE * SIDE)]
tiff = b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", t, k, 1, v) for t, k, v in entries) + bytes(4)
register = ["register", "demo:water", "--device", "cpu", "--gantry", 0, "--isocentre", "0,0,0", "--sad", 1000, "--sid", 1500, "--pixel", 0.1,
            "--image"]
for name, picture in (("large.png", png), ("large.tif", tiff)):
    with open(f"{out}/{name}", "wb") as f:
        f.write(picture)
    checks.refused(f"{out}/{name}", "of memory", verb=register)

with open(f"{out}/large.mha", "wb") as f:
    f.write(b"NDims = 3\nDimSize = 1000 1000 1000\nElementSpacing = 1 1 1\nElementType = MET_UCHAR\nCompressedData = True\n"
            b"ElementDataFile = LOCAL\n\x78\x9c" + deflated_zeros(954))
checks.refused(f"{out}/large.mha", "of memory")
checks.end()
