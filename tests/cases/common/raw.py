"""DICOM files byte by byte, because a writer of sound files cannot write these."""
import struct
import zlib

EXPLICIT, IMPLICIT, DEFLATED = "1.2.840.10008.1.2.1", "1.2.840.10008.1.2", "1.2.840.10008.1.2.1.99"
RLE, JPEG_LOSSLESS, JPEG_2000 = "1.2.840.10008.1.2.5", "1.2.840.10008.1.2.4.70", "1.2.840.10008.1.2.4.90"
UNDEFINED = 0xFFFFFFFF
ITEM, END_OF_ITEM, END_OF_SEQUENCE = 0xFFFEE000, 0xFFFEE00D, 0xFFFEE0DD


def bare(tag, length):
    """A tag, then a length of 32 bits: an element of implicit VR, an item, a delimiter."""
    return struct.pack("<HHI", tag >> 16, tag & 0xFFFF, length)


def long(tag, vr, length):
    """The header of an element of explicit VR with a length of 32 bits."""
    return bare(tag, 0)[:4] + vr + b"\0\0" + struct.pack("<I", length)


def element(tag, vr, value):
    """An element of explicit VR; texts get an even length."""
    if isinstance(value, str):
        value = value.encode()
        value += b" " * (len(value) % 2)
    short = bare(tag, 0)[:4] + vr + struct.pack("<H", len(value) & 0xFFFF)
    return (long(tag, vr, len(value)) if vr in (b"OB", b"OW", b"UN", b"SQ", b"UT") else short) + value


def ct_header(columns=3, rows=2, more=()):
    """The elements of a CT before its pixels; `more` replaces some, by tag."""
    number = lambda tag, value: element(tag, b"US", struct.pack("<H", value))
    every = [
        element(0x00080016, b"UI", "1.2.840.10008.5.1.4.1.1.2\0"), element(0x00080018, b"UI", "1.2.3.4\0"),
        element(0x00080060, b"CS", "CT"), element(0x00100010, b"PN", "Test^One"), element(0x00100020, b"LO", "T1"),
        element(0x00185100, b"CS", "HFS"), element(0x0020000D, b"UI", "1.2.3.1\0"), element(0x0020000E, b"UI", "1.2.3.2\0"),
        element(0x00200013, b"IS", "1"), element(0x00200032, b"DS", "-10\\-20\\5"), element(0x00200037, b"DS", "1\\0\\0\\0\\1\\0"),
        element(0x00200052, b"UI", "1.2.3.3\0"), number(0x00280002, 1), element(0x00280004, b"CS", "MONOCHROME2"),
        number(0x00280010, rows), number(0x00280011, columns), element(0x00280030, b"DS", "2.5\\1.5"), number(0x00280100, 16),
        number(0x00280101, 16), number(0x00280102, 15), number(0x00280103, 0), element(0x00281052, b"DS", "-1000"),
        element(0x00281053, b"DS", "1"),
    ]
    by_tag = {e[:4]: e for e in [*every, *more]}
    return b"".join(by_tag[tag] for tag in sorted(by_tag, key=lambda t: struct.unpack("<HH", t)))


def pixels(words):
    """Uncompressed pixels."""
    return element(0x7FE00010, b"OW", struct.pack(f"<{len(words)}H", *words))


def ct(*more):
    """A CT of 3 x 2 pixels of 0 to 5 HU."""
    return ct_header(more=more) + pixels(range(1000, 1006))


def fragments(*every):
    """Compressed pixels: an empty table of offsets, then the fragments."""
    items = b"".join(bare(ITEM, len(f)) + f for f in every)
    return long(0x7FE00010, b"OB", UNDEFINED) + bare(ITEM, 0) + items + bare(END_OF_SEQUENCE, 0)


def write(path, data_set, syntax=EXPLICIT, more=b""):
    """Preamble and meta group, with `more` of its elements, then a data set."""
    uid = syntax.encode() + b"\0" * (len(syntax) % 2)
    group = element(0x00020002, b"UI", b"1.2.840.10008.5.1.4.1.1.2\0") + element(0x00020010, b"UI", uid) + more
    data = bytes(128) + b"DICM" + element(0x00020000, b"UL", struct.pack("<I", len(group))) + group + data_set
    with open(path, "wb") as f:
        f.write(data)
    return data


def deflated_zeros(megabytes):
    """This many megabytes of zeros, deflated: one repeated block, so that making it is quick."""
    one = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = one.compress(bytes(1 << 20)) + one.flush(zlib.Z_FULL_FLUSH)
    return block * megabytes + b"\x03\x00"
