"""Gamma of the same pairs by Beamsight, pymedphys and plastimatch, beside the exact answer where there is one.

    python3 -m venv target/others && target/others/bin/pip install numpy pymedphys scipy interpolation
    apt-get install plastimatch
    target/others/bin/python benches/gamma_others.py target/release/beamsight

Not part of CI: it needs both other programs (pymedphys 0.41 from PyPI, plastimatch 1.9.4 of Debian 12). The doses are made here;
a dose that is linear in space is the same to every interpolation, so that its gamma is known on paper. What the others
find is too high: pymedphys samples the evaluated dose at a tenth of the DTA, plastimatch at its voxels, with
--interp-search along the lines between them.
"""

import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np

DOSE_PERCENT, DTA_MM, THRESHOLD_PERCENT, MOST = 3.0, 3.0, 10.0, 5.0


class Dose:
    """Gy on an even grid along the patient axes, `[z][y][x]`."""

    def __init__(self, gy, origin_mm, spacing_mm, size):
        self.origin, self.spacing, self.size = (np.array(v, float) for v in (origin_mm, spacing_mm, size))
        axes = [o + s * np.arange(int(n)) for o, s, n in zip(self.origin, self.spacing, self.size)]
        z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
        self.axes, self.gy = axes, np.maximum(gy(x, y, z), 0.0).astype(np.float32)

    def write(self, path):
        of = lambda values: " ".join(f"{v:.9g}" for v in values)
        head = (
            "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n"
            f"TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = {of(self.origin)}\nCenterOfRotation = 0 0 0\n"
            f"ElementSpacing = {of(self.spacing)}\nDimSize = {of(self.size)}\nElementType = MET_FLOAT\nElementDataFile = LOCAL\n"
        )
        path.write_bytes(head.encode() + self.gy.tobytes())


def read_mha(path):
    head, _, data = path.read_bytes().partition(b"ElementDataFile = LOCAL\n")
    size = [int(n) for n in head.split(b"DimSize = ")[1].split(b"\n")[0].split()]
    return np.frombuffer(data, np.float32).reshape(size[::-1])


def cpu_seconds(who=resource.RUSAGE_SELF):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def beamsight(program, paths, folder, normal_gy):
    out = folder / "beamsight.mha"
    words = [program, "gamma", *map(str, paths), "--dose", DOSE_PERCENT, "--dta", DTA_MM, "--threshold", THRESHOLD_PERCENT]
    words += ["--norm", normal_gy, "--max-gamma", MOST, "--device", "cpu", "--out", out, "--overwrite"]
    before = cpu_seconds(resource.RUSAGE_CHILDREN)
    subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    return read_mha(out), cpu_seconds(resource.RUSAGE_CHILDREN) - before


def pymedphys(doses, normal_gy):
    import logging

    from pymedphys import gamma

    logging.disable(logging.INFO)

    a, b = doses
    before = cpu_seconds()
    values = gamma(
        tuple(a.axes[::-1]), a.gy, tuple(b.axes[::-1]), b.gy, DOSE_PERCENT, DTA_MM,
        lower_percent_dose_cutoff=THRESHOLD_PERCENT, interp_fraction=10, max_gamma=MOST,
        global_normalisation=normal_gy, ram_available=int(2**31),
    )
    return values, cpu_seconds() - before


def plastimatch(paths, folder, normal_gy, search):
    out = folder / "plastimatch.mha"
    words = ["plastimatch", "gamma", "--reference-dose", normal_gy, "--dose-tolerance", DOSE_PERCENT / 100, "--dta-tolerance"]
    words += [DTA_MM, "--gamma-max", MOST, "--analysis-threshold", THRESHOLD_PERCENT / 100, "--output", out]
    words += ["--interp-search"] if search else []
    before = cpu_seconds(resource.RUSAGE_CHILDREN)
    subprocess.run([str(w) for w in [*words, *paths]], capture_output=True, text=True, check=True)
    return read_mha(out), cpu_seconds(resource.RUSAGE_CHILDREN) - before


def pairs():
    """Name, reference, evaluated, gamma where it is known everywhere but near the rim."""
    grid = dict(origin_mm=(-24, -24, -24), spacing_mm=(2, 2, 2.5), size=(25, 25, 20))
    fine = dict(origin_mm=(-24.7, -25.1, -25.3), spacing_mm=(1.7, 1.9, 2.2), size=(30, 27, 24))
    normal = 60.0
    unit = 0.01 * DOSE_PERCENT * normal
    steep = lambda gy_mm: gy_mm * DTA_MM / unit
    along = np.array([2.0, 1.0, 2.0]) / 3.0
    linear = lambda gy_mm, off: lambda x, y, z: 30 + off + gy_mm * (along[0] * x + along[1] * y + along[2] * z)
    for name, gy_mm, off, on in [
        ("uniform, 2 % higher", 0.0, 1.2, grid),
        ("slope 1 %/mm, 2 % higher", 0.3, 1.2, grid),
        ("slope 1 %/mm, 2 % higher, offset grid", 0.3, 1.2, fine),
        ("slope 1 %/mm, 6 % higher, offset grid", 0.3, 3.6, fine),
    ]:
        exact = off / unit / np.sqrt(1 + steep(gy_mm) ** 2)
        yield name, Dose(linear(gy_mm, 0.0), **grid), Dose(linear(gy_mm, off), **on), normal, exact
    # A ball with ripples against the same moved, on another grid: no answer on paper.
    ball = lambda cx, w: lambda x, y, z: normal * np.exp(-((((x - cx) ** 2 + y**2 + z**2) ** 0.5 / w) ** 4)) * (
        1 + 0.05 * np.sin(x / 7) * np.cos(z / 9))
    yield "ball, moved 2 mm, offset grid", Dose(ball(0, 17), **grid), Dose(ball(2, 17.3), **fine), normal, None


def main(program):
    print(f"{'pair':<40} {'program':<26} {'points':>7} {'pass %':>7} {'CPU s':>8} {'us/point':>9} {'error':>8} {'from ours':>10}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        paths = [folder / "a.mha", folder / "b.mha"]
        for name, a, b, normal, exact in pairs():
            a.write(paths[0])
            b.write(paths[1])
            # Far enough from the rim that the nearest point lies within both grids.
            inner = np.zeros(a.gy.shape, bool)
            inner[4:-4, 4:-4, 4:-4] = True
            ours = None
            for who, run in [
                ("beamsight", lambda: beamsight(program, paths, folder, normal)),
                ("pymedphys 0.41", lambda: pymedphys((a, b), normal)),
                ("plastimatch", lambda: plastimatch(paths, folder, normal, False)),
                ("plastimatch interp-search", lambda: plastimatch(paths, folder, normal, True)),
            ]:
                values, seconds = run()
                ours = values if ours is None else ours
                points = (a.gy >= 0.01 * THRESHOLD_PERCENT * normal) & np.isfinite(values) & np.isfinite(ours)
                some = points & inner
                error = "" if exact is None else f"{np.abs(values[some] - exact).max():8.4f}"
                apart = np.abs(values[some] - ours[some]).max()
                rate = 100 * np.mean(values[points] <= 1)
                per = 1e6 * seconds / points.sum()
                print(f"{name:<40} {who:<26} {points.sum():>7} {rate:>7.2f} {seconds:>8.2f} {per:>9.2f} {error:>8} {apart:>10.4f}", flush=True)


main(sys.argv[1])
