"""Radiographs of the same volume by Beamsight, plastimatch and RTK, by turns on one machine, in CPU seconds of one thread.

    python3 -m venv target/others && target/others/bin/pip install numpy itk-rtk
    apt-get install plastimatch
    target/others/bin/python benches/drr_others.py target/release/beamsight

Not part of CI: it needs both other programs (itk-rtk from PyPI, plastimatch 1.9.4 of Debian 12). 400 x 225 pixels in the middle of
750 x 750 of 0.4 mm, 512 x 512 x 72 voxels (0.521, 0.521, 1.25 mm), gantry 30: the trunk of `beamsight bench drr`, which has
ellipses of muscle, lungs and a spine in air. Of plastimatch the whole program's time is given and what is left without that for a single pixel, which is
that of reading the volume; RTK's is of its Update() alone; ours is what the bench prints.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
import itk
import numpy as np
from itk import RTK as rtk

SIZE, SPACING_MM = (512, 512, 72), (0.521, 0.521, 1.25)
COLUMNS, ROWS, PIXEL_MM = 400, 225, 0.4
TURNS = 9


def trunk():
    """1/mm, `[z][y][x]`."""
    random = np.random.default_rng(1)
    x, y = ((np.arange(n) - 0.5 * (n - 1)) * mm for n, mm in zip(SIZE[:2], SPACING_MM))
    x, y = np.meshgrid(x, y)
    within = lambda cx, cy, rx, ry: ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 < 1
    mu = np.where(within(0, 0, 125, 90), 0.0202, 0.0)
    mu[within(-55, -5, 42, 58) | within(55, -5, 42, 58)] = 0.005
    mu[within(0, 58, 17, 17)] = 0.034
    noise = 1 + 0.1 * (random.random((SIZE[2],) + mu.shape) - 0.5)
    return (mu * noise).astype(np.float32)


def write_mha(values, path):
    origin = [-0.5 * (n - 1) * mm for n, mm in zip(SIZE, SPACING_MM)]
    of = lambda numbers: " ".join(f"{v:.9g}" for v in numbers)
    head = (
        "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n"
        f"TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = {of(origin)}\nCenterOfRotation = 0 0 0\n"
        f"ElementSpacing = {of(SPACING_MM)}\nDimSize = {of(SIZE)}\nElementType = MET_FLOAT\nElementDataFile = LOCAL\n"
    )
    path.write_bytes(head.encode() + values.tobytes())


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def plastimatch(volume, folder, algorithm):
    def seconds(window):
        words = f"plastimatch drr -A cpu -i {algorithm} -P none -y 30 --sad 1000 --sid 1500 -o"
        return cpu_seconds(
            [*words.split(), "0 0 0", "-r", "750 750", "-z", "300 300", "-w", window, "-t", "raw"]
            + ["-O", str(folder / "p"), str(volume)]
        )

    whole = seconds("262 486 175 574")
    return whole, whole - seconds("262 262 175 175")


class Joseph:
    """RTK turns about y: the patient's z lies along it."""

    def __init__(self, mu):
        itk.MultiThreaderBase.SetGlobalDefaultNumberOfThreads(1)
        itk.MultiThreaderBase.SetGlobalMaximumNumberOfThreads(1)
        kind = itk.Image[itk.F, 3]
        volume = itk.image_from_array(np.ascontiguousarray(mu.transpose(1, 0, 2)))
        spacing = (SPACING_MM[0], SPACING_MM[2], SPACING_MM[1])
        volume.SetSpacing(spacing)
        volume.SetOrigin([-0.5 * (n - 1) * mm for n, mm in zip((SIZE[0], SIZE[2], SIZE[1]), spacing)])
        geometry = rtk.ThreeDCircularProjectionGeometry.New()
        geometry.AddProjection(1000.0, 1500.0, 30.0)
        image = itk.image_from_array(np.zeros((1, ROWS, COLUMNS), np.float32))
        image.SetSpacing((PIXEL_MM, PIXEL_MM, 1.0))
        image.SetOrigin((-0.5 * (COLUMNS - 1) * PIXEL_MM, -0.5 * (ROWS - 1) * PIXEL_MM, 0.0))
        self.filter = rtk.JosephForwardProjectionImageFilter[kind, kind].New()
        self.filter.SetInput(0, image)
        self.filter.SetInput(1, volume)
        self.filter.SetGeometry(geometry)
        self.filter.SetInPlace(False)
        self.filter.SetNumberOfWorkUnits(1)

    def seconds(self):
        self.filter.Modified()
        begun = time.process_time()
        self.filter.Update()
        self.image = itk.array_from_image(self.filter.GetOutput())
        return time.process_time() - begun


def ours(program):
    """By way: exact, a voxel, half a voxel."""
    words = [program, "bench", "drr", "gantry30", "--device", "cpu", "--runs", "3", "--json"]
    rows = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["rows"]
    return {row["way"]: 1e-6 * row["us"] for row in rows}


def main():
    program = sys.argv[1]
    mu = trunk()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        volume = folder / "trunk.mha"
        write_mha(mu, volume)
        joseph = Joseph(mu)
        times = {}
        for _ in range(TURNS):
            whole, alone = plastimatch(volume, folder, "exact")
            times.setdefault("plastimatch exact, the whole program", []).append(whole)
            times.setdefault("plastimatch exact, without reading", []).append(alone)
            times.setdefault("RTK Joseph", []).append(joseph.seconds())
            for way, seconds in ours(program).items():
                times.setdefault(f"Beamsight {way}", []).append(seconds)
        middle = joseph.image[0, ROWS // 2, COLUMNS // 2]
        print(f"RTK's middle pixel: {middle:.4f}")
    for name, seconds in times.items():
        print(f"{name:36s} median {statistics.median(seconds):.3f}   " + " ".join(f"{s:.3f}" for s in seconds))


main()
