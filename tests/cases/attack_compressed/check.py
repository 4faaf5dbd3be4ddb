import struct
import sys

from program import Checks
from raw import JPEG_2000, JPEG_LOSSLESS, RLE, UNDEFINED, ct_header, element, fragments, write

out, checks = sys.argv[1], Checks()


def refused(name, stream, syntax, *words, size=(512, 512), more=()):
    write(f"{out}/{name}", ct_header(*size, more) + fragments(*stream), syntax)
    checks.refused(f"{out}/{name}", *words)


# Two segments of one literal run each: high and low bytes.
values = (1000, 1001, 1002, 1003, 1004, 1300)
high, low = (bytes([5, *(v >> shift & 255 for v in values)]) for shift in (8, 0))
stream = struct.pack("<16I", 2, 64, 64 + len(high), *[0] * 13) + high + low
pieces = [stream[n:n + 2] for n in range(0, len(stream), 2)]
write(f"{out}/pieces.dcm", ct_header() + fragments(*pieces), RLE)
checks.opens(f"{out}/pieces.dcm", "HU 0 to 300")
refused("none.dcm", [stream[:3]], RLE, "RLE", size=(3, 2))
refused("many.dcm", [struct.pack("<I", UNDEFINED) + stream[4:]], RLE, "RLE", size=(3, 2))
refused("else.dcm", [stream[:4] + struct.pack("<I", 0xFFFFFFF0) + stream[8:]], RLE, "RLE", size=(3, 2))
refused("short.dcm", [stream[:-2]], RLE, "RLE", size=(3, 2))
# Several frames without a table of their offsets.
refused("frames.dcm", pieces, RLE, size=(3, 2), more=[element(0x00280008, b"IS", "3")])


def jpeg(marker, bits, columns, rows):
    """A frame header of one component, a table of one code, an empty scan."""
    frame = struct.pack(">BBBBHBHHBBBB", 255, 216, 255, marker, 11, bits, rows, columns, 1, 1, 17, 0)
    scan = bytes([255, 196, 0, 20, 0, 1, *[0] * 16]) + bytes([255, 218, 0, 8, 1, 1, 0, 1, 0, 0])
    return (frame + scan).ljust(185000, b"\0") + b"\xff\xd9"


large = jpeg(0xC3, 16, 65500, 65500)
refused("larger.dcm", [large], JPEG_LOSSLESS, "65500 x 65500", "512 x 512")
refused("both.dcm", [large], JPEG_LOSSLESS, "of memory", size=(65500, 65500))
refused("bits.dcm", [jpeg(0xC3, 8, 512, 512)], JPEG_LOSSLESS, "8 bits")
refused("progressive.dcm", [jpeg(0xC2, 16, 512, 512)], JPEG_LOSSLESS, "SOF2")
refused("empty.dcm", [b"\xff\xd8"], JPEG_LOSSLESS, "cut short")


def jpeg_2000(side, tile, layers=1, precincts=b""):
    """SIZ, COD, QCD, SOT, SOD of one component."""
    siz = struct.pack(">H8IH3B", 0, side, side, 0, 0, *tile, 0, 0, 1, 15, 1, 1)
    cod = struct.pack(">BBHB5B", bool(precincts), 0, layers, 0, 5, 4, 4, 0, 1) + precincts
    segments = [(0x51, siz), (0x52, cod), (0x5C, b"\x40" + b"\x80" * 16), (0x90, bytes([0, 0, 0, 0, 0, 0, 0, 1]))]
    return b"\xff\x4f" + b"".join(struct.pack(">BBH", 255, m, len(c) + 2) + c for m, c in segments) + b"\xff\x93\x80\xff\xd9"


refused("size.dcm", [jpeg_2000(60000, (60000, 60000))], JPEG_2000, "60000 x 60000")
refused("tiles.dcm", [jpeg_2000(512, (2, 3))], JPEG_2000, "tiles")
refused("layers.dcm", [jpeg_2000(512, (512, 512), 65535)], JPEG_2000, "65535 layers")
refused("precincts.dcm", [jpeg_2000(512, (512, 512), 1, b"\x11" * 6)], JPEG_2000, "precincts")
for syntax, name in (("53", "spectral selection"), ("55", "full progression"), ("80", "JPEG-LS"), ("104", "a kind that is not known")):
    syntax = f"1.2.840.10008.1.2.4.{syntax}"
    refused(f"of{syntax[-3:]}.dcm", [b"\xff\xd8\xff\xd9"], syntax, name, syntax, "not read", "export it uncompressed", size=(3, 2))
checks.end()
