"""A display without a monitor: Xvfb, its pictures, and a hand on its mouse and keys (xdotool)."""

import os
import shutil
import struct
import subprocess
import zlib

NEEDED = {"Xvfb": "xvfb", "xdotool": "xdotool"}


def missing():
    """Debian's packages of the tools that are not there."""
    return [package for tool, package in NEEDED.items() if shutil.which(tool) is None]


class Screen:
    """An Xvfb of its own, whose frame buffer is a file."""

    def __init__(self, folder, size=(1600, 1000)):
        self.size = size
        reader, writer = os.pipe()
        words = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "%dx%dx24" % size]
        words += ["-fbdir", str(folder), "-nolisten", "tcp", "-noreset"]
        log = open(folder / "xvfb.log", "w")
        self.server = subprocess.Popen(words, pass_fds=[writer], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(writer)
        with os.fdopen(reader) as line:
            number = line.readline().strip()
        if not number:
            raise SystemExit(f"Xvfb did not start; it says: {(folder / 'xvfb.log').read_text()}")
        self.display = ":" + number
        self.buffer = folder / "Xvfb_screen0"

    def close(self):
        self.server.terminate()
        self.server.wait()

    def xdotool(self, *words):
        environment = dict(os.environ, DISPLAY=self.display)
        words = ["xdotool", *map(str, words)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def pointer(self):
        place = dict(line.split("=") for line in self.xdotool("getmouselocation", "--shell").split())
        return int(place["X"]), int(place["Y"])

    def picture(self, path):
        """Writes what is on the screen as PNG. The buffer is a file of xwd: a header, the colours, rows of BGRX."""
        data = self.buffer.read_bytes()
        header = struct.unpack(">25I", data[:100])
        width, height, row_bytes = header[4], header[5], header[12]
        pixels = data[header[0] + 12 * header[19] :]
        rows = []
        for y in range(height):
            row = pixels[y * row_bytes : y * row_bytes + 4 * width]
            rgb = bytearray(3 * width)
            rgb[0::3], rgb[1::3], rgb[2::3] = row[2::4], row[1::4], row[0::4]
            rows.append(b"\0" + bytes(rgb))

        def chunk(kind, body):
            check = zlib.crc32(kind + body)
            return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)

        head = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
        body = zlib.compress(b"".join(rows), 6)
        png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
        path.write_bytes(png)
