"""X-rays as grey PNG of 16 bits with their geometry beside them."""
import struct
import zlib
from pathlib import Path

import numpy as np
from program import run
from volume import read_mha


def png(path, values):
    """Writes values[row, column], scaled to all grey values."""
    values = np.asarray(values, float)
    grey = np.round((values - values.min()) / (values.max() - values.min()) * 65535).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">2I5B", grey.shape[1], grey.shape[0], 16, 0, 0, 0, 0)
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def drr(folder, gantry, isocentre, pose, case="demo:thorax", size=400, pixel=0.8):
    """The values[row, column] of a DRR of the case in a pose."""
    out = Path(folder) / f"drr-{gantry}.mha"
    status, said = run("drr", case, "--gantry", gantry, "--isocentre", isocentre, "--pose", pose, "--size", f"{size}x{size}", "--pixel",
                       pixel, "--out", out, "--overwrite", "--device", "cpu")
    assert status == 0, said
    return read_mha(out, (1, size, size))[0]


def xray(path, values, gantry, isocentre, pixel=0.8, **more):
    """A picture with bone bright, and the file with its geometry."""
    png(path, values)
    keys = dict(gantry_deg=float(gantry), isocentre_mm=isocentre, sad_mm=1000.0, sid_mm=1500.0, pixel_mm=[pixel, pixel], bone_is_bright=True, **more)
    text = {True: "true", False: "false"}
    lines = [f"{key} = {text[value] if isinstance(value, bool) else repr(value).replace(chr(39), chr(34))}" for key, value in keys.items()]
    Path(path).with_suffix(".toml").write_text("\n".join(lines) + "\n")
