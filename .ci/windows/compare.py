"""What two programs wrote, side by side: volumes, pictures, texts."""

import array
import json
import math
import re
import struct
import zlib

# The mathematics of mingw-w64 and glibc (exp, sin, cos, pow and their like) round the last bit of some results differently; RESULTS
# has which, and how often.
DOSE_PART = 5e-8
# A history that such a bit sends another way changes a few voxels by more.
SAMPLED_PART = 1e-4
# What follows from such numbers, printed with more digits than they hold.
NUMBER_PART = 1e-6

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def volume(path):
    """Values of a .mha of floats."""
    data = path.read_bytes()
    head, rest = data.split(b"ElementDataFile = LOCAL\n", 1)
    facts = dict(line.split(" = ", 1) for line in head.decode().splitlines() if " = " in line)
    if facts.get("CompressedData") == "True":
        rest = zlib.decompress(rest)
    kind = {"MET_FLOAT": "f", "MET_SHORT": "h", "MET_DOUBLE": "d"}[facts["ElementType"]]
    return array.array(kind, rest), facts


def volumes(a, b, part=DOSE_PART):
    """The greatest difference of two volumes, of the greatest value, and the part of the voxels that differ."""
    (of_a, facts_a), (of_b, facts_b) = volume(a), volume(b)
    assert facts_a == facts_b, f"heads differ: {facts_a} and {facts_b}"
    greatest = max(abs(value) for value in of_a if math.isfinite(value))
    unlike = [(x, y) for x, y in zip(of_a, of_b) if x != y and not (math.isnan(x) and math.isnan(y))]
    if not unlike:
        return "equal to the bit"
    worst = max(abs(x - y) for x, y in unlike) / greatest
    words = f"{worst:.1e} of the maximum in {100 * len(unlike) / len(of_a):.3f} % of the voxels"
    assert worst <= part, f"they differ by {words}"
    return words


def picture(path):
    """Size and grey or colour values of a PNG of 8 or 16 bits."""
    data = path.read_bytes()
    at, body = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        chunk = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", chunk[:10])
        if kind == b"IDAT":
            body += chunk
        at += 12 + length
    pixel = {0: 1, 2: 3, 4: 2, 6: 4}[colours] * depth // 8
    return width, height, depth, rows(zlib.decompress(body), width * pixel, height, pixel)


def rows(body, length, height, pixel):
    """The bytes of a PNG without its filters."""
    values, before = bytearray(), bytes(length)
    for y in range(height):
        kind, row = body[y * (length + 1)], bytearray(body[y * (length + 1) + 1 : (y + 1) * (length + 1)])
        for x in range(length):
            left = row[x - pixel] if x >= pixel else 0
            corner = before[x - pixel] if x >= pixel else 0
            up = before[x]
            if kind == 1:
                row[x] = (row[x] + left) & 255
            elif kind == 2:
                row[x] = (row[x] + up) & 255
            elif kind == 3:
                row[x] = (row[x] + (left + up) // 2) & 255
            elif kind == 4:
                near = left + up - corner
                near = min((abs(near - left), 0, left), (abs(near - up), 1, up), (abs(near - corner), 2, corner))[2]
                row[x] = (row[x] + near) & 255
        values += row
        before = bytes(row)
    return bytes(values)


def pictures(a, b, most=1.0):
    """The mean difference of two pictures, in steps of 8 bits."""
    (*size_a, of_a), (*size_b, of_b) = picture(a), picture(b)
    assert size_a == size_b, f"{size_a} and {size_b}"
    if size_a[2] == 16:
        of_a, of_b = of_a[::2], of_b[::2]
    if of_a == of_b:
        return "equal"
    differences = [abs(x - y) for x, y in zip(of_a, of_b)]
    mean = sum(differences) / len(differences)
    words = f"mean difference {mean:.4f} of 255, greatest {max(differences)}"
    assert mean <= most, words
    return words


def texts(a, b, part=NUMBER_PART):
    """Whether two texts have the same words, and numbers that differ by rounding alone."""
    if a == b:
        return "equal"
    lines_a, lines_b = a.splitlines(), b.splitlines()
    assert len(lines_a) == len(lines_b), f"{len(lines_a)} and {len(lines_b)} lines:\n{a}\n---\n{b}"
    worst = 0.0
    for line_a, line_b in zip(lines_a, lines_b):
        assert NUMBER.sub("#", line_a) == NUMBER.sub("#", line_b), f"'{line_a}' and '{line_b}'"
        for x, y in zip(NUMBER.findall(line_a), NUMBER.findall(line_b)):
            worst = max(worst, unlike(float(x), float(y), last_digit(x, y)))
            assert worst <= part, f"'{line_a}' and '{line_b}'"
    return f"numbers within {worst:.1e}" if worst else "equal but for the last digit"


def last_digit(x, y):
    """One unit of the last digit that both have."""
    decimals = min(len(word.partition(".")[2]) for word in (x, y)) if "e" not in (x + y).lower() else 0
    return 1.001 * 10.0**-decimals if decimals else 0.0


def unlike(x, y, slack=0.0):
    """The difference of two numbers, of the greater one."""
    return 0.0 if abs(x - y) <= slack else abs(x - y) / max(abs(x), abs(y))


# Keys of answers that hold times, threads and places.
OF_THE_RUN = {
    *("computed", "seconds", "receipt", "receipts", "phases_ms", "device", "ms", "work", "time"),
    *("out", "report", "path", "files", "folder", "written", "log"),
}


def answers(a, b, part=NUMBER_PART):
    """Whether two answers in JSON say the same."""
    worst = [0.0]
    walk(json.loads(a), json.loads(b), "", worst, part)
    return f"numbers within {worst[0]:.1e}" if worst[0] else "equal"


def walk(a, b, place, worst, part):
    assert type(a) is type(b) or {type(a), type(b)} == {int, float}, f"{place}: {a} and {b}"
    if isinstance(a, dict):
        assert a.keys() == b.keys(), f"{place}: {sorted(a)} and {sorted(b)}"
        for key in a:
            if key not in OF_THE_RUN and not key.endswith(("_ms", "_s", "_path")):
                walk(a[key], b[key], f"{place}/{key}", worst, part)
    elif isinstance(a, list):
        assert len(a) == len(b), f"{place}: {len(a)} and {len(b)} entries"
        for n, (x, y) in enumerate(zip(a, b)):
            walk(x, y, f"{place}/{n}", worst, part)
    elif isinstance(a, (int, float)) and not isinstance(a, bool):
        worst[0] = max(worst[0], unlike(a, b, 1e-9))
        assert worst[0] <= part, f"{place}: {a} and {b}"
    else:
        assert a == b, f"{place}: {a} and {b}"
