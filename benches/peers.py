"""Other programs and Beamsight by turns on the same generated cases: times, their ratio, and how far apart the answers are.

    python3 -m venv target/others && target/others/bin/pip install numpy scipy pymedphys interpolation itk itk-rtk
    apt-get install plastimatch
    target/others/bin/pip install pyRadPlan 'pydantic<2.13' 'numpydantic<2'
    target/others/bin/python benches/peers.py target/release/beamsight [--turns 3] [--json] [gamma] [drr] [inverse]

A peer that is not installed is named and left out. Times are CPU seconds of all threads, so that other load of the machine counts
little: of the whole program for Beamsight and plastimatch, of the call alone for libraries (their data are in memory).

gamma  Doses linear in space, whose gamma is known on paper, and a ball moved by 2 mm. pymedphys samples the evaluated dose at a tenth of
       the distance to agreement, plastimatch at its voxels, with --interp-search along the lines between them. Agreement: the greatest
       difference from the exact, and from ours.
drr    400 x 225 pixels in the middle of 750 x 750 of 0.4 mm through a trunk of 512 x 512 x 72 voxels (0.521, 0.521, 1.25 mm), gantry
       30, on one thread. Agreement: root mean square of the difference from ours, of the greatest line integral.
inverse  The C-shape of TG-119 as pyRadPlan brings it, nine fields, beamlets and dose grid of 5 mm, to the optimum: the phantom's objectives
       of target and core, and of the body beside them what each program has (dose above 30 Gy, a fall-off). Agreement: the phantom's
       own objective, body included, of our dose of either's maps on 2.5 mm; pyRadPlan's are scaled so that theirs is least.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

os.environ["TQDM_DISABLE"] = "1"
os.environ["OMP_NUM_THREADS"] = os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = "1"
import numpy as np

DOSE_PERCENT, DTA_MM, THRESHOLD_PERCENT, MOST, NORMAL_GY = 3.0, 3.0, 10.0, 5.0, 60.0
SIZE, SPACING_MM = (512, 512, 72), (0.521, 0.521, 1.25)
COLUMNS, ROWS, WHOLE, PIXEL_MM, SAD_MM, SID_MM, GANTRY_DEG = 400, 225, 750, 0.4, 1000.0, 1500.0, 30.0


def write_mha(path, values, origin_mm, spacing_mm):
    """`[z][y][x]`, along the patient axes."""
    of = lambda numbers: " ".join(f"{v:.9g}" for v in numbers)
    head = (
        "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n"
        f"TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = {of(origin_mm)}\nCenterOfRotation = 0 0 0\nElementSpacing = {of(spacing_mm)}\n"
        f"DimSize = {of(values.shape[::-1])}\nElementType = MET_FLOAT\nElementDataFile = LOCAL\n"
    )
    path.write_bytes(head.encode() + values.astype(np.float32).tobytes())


def read_mha(path):
    head, _, data = path.read_bytes().partition(b"ElementDataFile = LOCAL\n")
    size = [int(n) for n in head.split(b"DimSize = ")[1].split(b"\n")[0].split()]
    return np.frombuffer(data, np.float32).reshape(size[::-1])


def program(words, threads=None):
    """CPU seconds of a program."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    before = used()
    environment = {**os.environ, **({"RAYON_NUM_THREADS": str(threads)} if threads else {})}
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return used() - before


def call(function):
    """The answer of a call, and its CPU seconds."""
    before = time.process_time()
    answer = function()
    return answer, time.process_time() - before


# --- gamma


class Dose:
    """Gy on an even grid along the patient axes, `[z][y][x]`."""

    def __init__(self, gy, origin_mm, spacing_mm, size):
        self.origin, self.spacing = origin_mm, spacing_mm
        self.axes = [float(o) + s * np.arange(n) for o, s, n in zip(origin_mm, spacing_mm, size)]
        z, y, x = np.meshgrid(*self.axes[::-1], indexing="ij")
        self.gy = np.maximum(gy(x, y, z), 0.0).astype(np.float32)


def pairs():
    """Name, reference, evaluated, and gamma where it is known everywhere but near the rim."""
    grid = dict(origin_mm=(-24, -24, -24), spacing_mm=(2, 2, 2.5), size=(25, 25, 20))
    fine = dict(origin_mm=(-24.7, -25.1, -25.3), spacing_mm=(1.7, 1.9, 2.2), size=(30, 27, 24))
    unit = 0.01 * DOSE_PERCENT * NORMAL_GY
    along = np.array([2.0, 1.0, 2.0]) / 3.0
    linear = lambda gy_mm, off: lambda x, y, z: 30 + off + gy_mm * (along[0] * x + along[1] * y + along[2] * z)
    for name, gy_mm, off, on in [
        ("uniform, 2 % higher", 0.0, 1.2, grid),
        ("slope 1 %/mm, 2 % higher", 0.3, 1.2, grid),
        ("the same, offset grid", 0.3, 1.2, fine),
        ("slope 1 %/mm, 6 % higher, offset", 0.3, 3.6, fine),
    ]:
        exact = off / unit / np.sqrt(1 + (gy_mm * DTA_MM / unit) ** 2)
        yield name, Dose(linear(gy_mm, 0.0), **grid), Dose(linear(gy_mm, off), **on), exact
    ball = lambda cx, w: lambda x, y, z: NORMAL_GY * np.exp(-((((x - cx) ** 2 + y**2 + z**2) ** 0.5 / w) ** 4)) * (
        1 + 0.05 * np.sin(x / 7) * np.cos(z / 9))
    yield "ball moved 2 mm, offset grid", Dose(ball(0, 17), **grid), Dose(ball(2, 17.3), **fine), None


def gamma_beamsight(ours, doses, paths, folder):
    out = folder / "gamma.mha"
    words = [ours, "gamma", *paths, "--dose", DOSE_PERCENT, "--dta", DTA_MM, "--threshold", THRESHOLD_PERCENT, "--norm", NORMAL_GY]
    seconds = program([*words, "--max-gamma", MOST, "--device", "cpu", "--out", out, "--overwrite"])
    return read_mha(out), seconds


def gamma_pymedphys(ours, doses, paths, folder):
    import logging

    from pymedphys import gamma

    logging.disable(logging.INFO)
    (a, b) = doses
    return call(lambda: gamma(
        tuple(a.axes[::-1]), a.gy, tuple(b.axes[::-1]), b.gy, DOSE_PERCENT, DTA_MM, lower_percent_dose_cutoff=THRESHOLD_PERCENT,
        interp_fraction=10, max_gamma=MOST, global_normalisation=NORMAL_GY, ram_available=int(2**31)))


def gamma_plastimatch(*options):
    def run(ours, doses, paths, folder):
        out = folder / "plastimatch.mha"
        words = ["plastimatch", "gamma", "--reference-dose", NORMAL_GY, "--dose-tolerance", DOSE_PERCENT / 100, "--dta-tolerance", DTA_MM]
        words += ["--gamma-max", MOST, "--analysis-threshold", THRESHOLD_PERCENT / 100, "--output", out, *options, *paths]
        seconds = program(words)
        return read_mha(out), seconds

    return run


def gamma(ours, peers, turns, folder):
    paths = [folder / "a.mha", folder / "b.mha"]
    for name, a, b, exact in pairs():
        for dose, path in zip((a, b), paths):
            write_mha(path, dose.gy, dose.origin, dose.spacing)
        # Far enough from the rim that the nearest point lies within both grids.
        inner = np.zeros(a.gy.shape, bool)
        inner[4:-4, 4:-4, 4:-4] = True
        answers = by_turns([("Beamsight", gamma_beamsight), *peers], turns, (ours, (a, b), paths, folder))
        own = answers["Beamsight"][0]
        for who, (values, seconds) in answers.items():
            points = (a.gy >= 0.01 * THRESHOLD_PERCENT * NORMAL_GY) & np.isfinite(values) & np.isfinite(own) & inner
            apart = f"{np.abs(values[points] - own[points]).max():.4f} from ours"
            error = "" if exact is None else f"{np.abs(values[points] - exact).max():.4f} from the exact, "
            yield {"job": "gamma", "case": name, "who": who, "seconds": seconds, "agreement": error + apart}


# --- drr


def trunk():
    """Ellipses of muscle, lungs and a spine in air, 1/mm, `[z][y][x]`."""
    random = np.random.default_rng(1)
    x, y = np.meshgrid(*((np.arange(n) - 0.5 * (n - 1)) * mm for n, mm in zip(SIZE[:2], SPACING_MM)))
    within = lambda cx, cy, rx, ry: ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 < 1
    mu = np.where(within(0, 0, 125, 90), 0.0202, 0.0)
    mu[within(-55, -5, 42, 58) | within(55, -5, 42, 58)] = 0.005
    mu[within(0, 58, 17, 17)] = 0.034
    noise = 1 + 0.1 * (random.random((SIZE[2],) + mu.shape) - 0.5)
    return (mu * noise).astype(np.float32)


def drr_beamsight(ours, mu, path, folder):
    out = folder / "drr.mha"
    region = f"{(WHOLE - COLUMNS) // 2},{(WHOLE - ROWS) // 2},{COLUMNS},{ROWS}"
    words = [ours, "drr", path, "--values", "attenuation", "--gantry", GANTRY_DEG, "--isocentre", "0,0,0", "--integrator", "exact"]
    words += ["--size", f"{WHOLE}x{WHOLE}", "--pixel", PIXEL_MM, "--region", region, "--device", "cpu", "--out", out, "--overwrite"]
    seconds = program(words, threads=1)
    return read_mha(out).squeeze(), seconds


def drr_plastimatch(ours, mu, path, folder):
    # By the normal of the image: its angle is taken as radians. The window has columns first.
    first = [(WHOLE - COLUMNS) // 2, (WHOLE - ROWS) // 2]
    window = f"{first[0]} {first[0] + COLUMNS - 1} {first[1]} {first[1] + ROWS - 1}"
    angle = np.radians(GANTRY_DEG)
    normal = f"{np.sin(angle):.9f} {-np.cos(angle):.9f} 0"
    words = ["plastimatch", "drr", "-A", "cpu", "-i", "exact", "-P", "none", "-n", normal, "--sad", SAD_MM, "--sid", SID_MM]
    words += ["-o", "0 0 0", "-r", f"{WHOLE} {WHOLE}", "-z", f"{WHOLE * PIXEL_MM} {WHOLE * PIXEL_MM}", "-w", window, "-t", "pfm"]
    seconds = program([*words, "-O", folder / "p", path])
    head, _, data = next(folder.glob("p*.pfm")).read_bytes().partition(b"\n-1\n")
    columns, rows = (int(n) for n in head.split()[1:3])
    return np.frombuffer(data, "<f4").reshape(rows, columns), seconds


def drr_rtk(ours, mu, path, folder):
    """RTK turns about y, from z on: the patient's z lies along the one, its front towards the other."""
    import itk
    from itk import RTK as rtk

    kind = itk.Image[itk.F, 3]
    volume = itk.image_from_array(np.ascontiguousarray(mu[:, ::-1].transpose(1, 0, 2)))
    size, spacing = ([of[0], of[2], of[1]] for of in (SIZE, SPACING_MM))
    volume.SetSpacing(spacing)
    volume.SetOrigin([-0.5 * (n - 1) * mm for n, mm in zip(size, spacing)])
    geometry = rtk.ThreeDCircularProjectionGeometry.New()
    geometry.AddProjection(SAD_MM, SID_MM, GANTRY_DEG)
    image = itk.image_from_array(np.zeros((1, ROWS, COLUMNS), np.float32))
    image.SetSpacing((PIXEL_MM, PIXEL_MM, 1.0))
    image.SetOrigin((-0.5 * (COLUMNS - 1) * PIXEL_MM, -0.5 * (ROWS - 1) * PIXEL_MM, 0.0))
    joseph = rtk.JosephForwardProjectionImageFilter[kind, kind].New()
    joseph.SetInput(0, image)
    joseph.SetInput(1, volume)
    joseph.SetGeometry(geometry)
    joseph.SetInPlace(False)
    joseph.SetNumberOfWorkUnits(1)
    _, seconds = call(joseph.Update)
    return itk.array_from_image(joseph.GetOutput())[0], seconds


def drr_itk(ours, mu, path, folder):
    """The ray caster of ITK, by resampling onto the plane of the image."""
    import itk

    kind = itk.Image[itk.F, 3]
    volume = itk.image_from_array(mu)
    volume.SetSpacing(SPACING_MM)
    volume.SetOrigin([-0.5 * (n - 1) * mm for n, mm in zip(SIZE, SPACING_MM)])
    sin, cos = np.sin(np.radians(GANTRY_DEG)), np.cos(np.radians(GANTRY_DEG))
    source, across, up = SAD_MM * np.array([sin, -cos, 0]), np.array([cos, sin, 0]), np.array([0, 0, 1.0])
    corner = -(SID_MM - SAD_MM) / SAD_MM * source - 0.5 * PIXEL_MM * ((COLUMNS - 1) * across + (ROWS - 1) * up)
    caster = itk.RayCastInterpolateImageFunction[kind, itk.D].New()
    caster.SetFocalPoint(source.tolist())
    transform = itk.TranslationTransform[itk.D, 3].New()
    caster.SetTransform(itk.IdentityTransform[itk.D, 3].New())
    caster.SetThreshold(0.0)
    resample = itk.ResampleImageFilter[kind, kind].New()
    resample.SetInput(volume)
    resample.SetInterpolator(caster)
    resample.SetTransform(transform)
    resample.SetSize([COLUMNS, ROWS, 1])
    resample.SetOutputSpacing([PIXEL_MM, PIXEL_MM, 1.0])
    resample.SetOutputOrigin(corner.tolist())
    axes = np.stack([across, up, np.cross(across, up)], axis=1)
    resample.SetOutputDirection(itk.matrix_from_array(axes))
    resample.SetNumberOfWorkUnits(1)
    _, seconds = call(resample.Update)
    return itk.array_from_image(resample.GetOutput())[0], seconds


def drr(ours, peers, turns, folder):
    mu, path = trunk(), folder / "trunk.mha"
    write_mha(path, mu, [-0.5 * (n - 1) * mm for n, mm in zip(SIZE, SPACING_MM)], SPACING_MM)
    answers = by_turns([("Beamsight", drr_beamsight), *peers], turns, (ours, mu, path, folder))
    own = answers["Beamsight"][0]
    for who, (values, seconds) in answers.items():
        # Which way up a picture is, and the unit of its integrals, are each program's own.
        turned = [values[::up, ::across] for up in (1, -1) for across in (1, -1)]
        scaled = [v * np.vdot(v, own) / max(np.vdot(v, v), 1e-30) for v in turned]
        apart, best = min((float(np.sqrt(np.mean((v - own) ** 2)) / own.max()), n) for n, v in enumerate(scaled))
        scale = float(np.mean(own) / np.mean(turned[best]))
        unit = "" if abs(scale - 1) < 0.02 else f", its unit {scale:.4g} of ours"
        agreement = f"{100 * apart:.5f} % rms from ours{unit}"
        yield {"job": "drr", "case": "trunk, gantry 30", "who": who, "seconds": seconds, "agreement": agreement}


# --- inverse

BEAMLET_MM, INVERSE_GRID_MM, TARGET_GY, CORE_GY, BODY_GY = 5.0, 5.0, 50.0, 25.0, 30.0
# Objectives of the phantom: deviation in the target, overdose in the core and in the body beside both.
TARGET_WEIGHT, CORE_WEIGHT, BODY_WEIGHT = 1000.0, 300.0, 100.0
GANTRY_STEP_DEG, FIELDS = 40.0, 9


class Phantom:
    """CT and structures of pyRadPlan, the same as DICOM, and their voxels."""

    def __init__(self, folder):
        import SimpleITK as sitk
        from pyRadPlan.io import DicomHandler, load_tg119

        self.ct, self.cst = load_tg119()
        self.case = folder / "tg119"
        self.case.mkdir()
        DicomHandler(self.case).save(ct=self.ct, cst=self.cst)
        masks = {v.name: sitk.GetArrayFromImage(v.mask) > 0 for v in self.cst.vois}
        image = self.cst.vois[0].mask
        origin, spacing = image.GetOrigin(), image.GetSpacing()
        self.parts = {}
        beside = masks["BODY"] & ~masks["OuterTarget"] & ~masks["Core"]
        for name, mask in [("target", masks["OuterTarget"]), ("core", masks["Core"]), ("body", beside)]:
            k, j, i = np.nonzero(mask)
            self.parts[name] = np.stack([origin[a] + spacing[a] * n for a, n in zip((2, 1, 0), (k, j, i))])

    def doses(self, path):
        """Gy of the voxels of each part, of a dose along the axes."""
        from scipy.ndimage import map_coordinates

        head = path.read_bytes().partition(b"ElementDataFile = LOCAL\n")[0]
        of = lambda key: [float(v) for v in head.split(key + b" = ")[1].split(b"\n")[0].split()][::-1]
        origin, spacing = (np.array(of(key))[:, None] for key in (b"Offset", b"ElementSpacing"))
        gy = read_mha(path)
        return [map_coordinates(gy, (at - origin) / spacing, order=1) for at in self.parts.values()]


def objective(doses, factor=1.0):
    target, core, body = (factor * gy for gy in doses)
    over = lambda gy, limit: np.mean(np.maximum(gy - limit, 0.0) ** 2)
    return TARGET_WEIGHT * np.mean((target - TARGET_GY) ** 2) + CORE_WEIGHT * over(core, CORE_GY) + BODY_WEIGHT * over(body, BODY_GY)


def plan_toml(fields):
    """A plan of fields, each its gantry angle, jaws and the rest of its table."""
    text = 'name = "nine fields"\nmachine = "generic-6mv"\nisocentre_mm = [0.0, 0.0, 0.0]\nprescription_gy = 50.0\n'
    for gantry, (x, y), rest in fields:
        text += f'[[beam]]\nname = "G{gantry:.0f}"\ngantry_deg = {gantry}\nmu = 100.0\njaws_mm = {{ x = {x}, y = {y} }}\n{rest}'
    return text


def inverse_beamsight(ours, phantom, folder):
    goals, plan, out = (folder / name for name in ("goals.toml", "open.toml", "ours.toml"))
    # A maximum weighs four times a minimum.
    asked = [("OuterTarget", f"Dmin >= {TARGET_GY} Gy"), ("OuterTarget", f"Dmax <= {TARGET_GY} Gy (weight 0.25)"),
             ("Core", f"Dmax <= {CORE_GY} Gy (weight {0.25 * CORE_WEIGHT / TARGET_WEIGHT})")]
    text = "".join(f'[[goal]]\nstructure = "{structure}"\ngoal = "{goal}"\n' for structure, goal in asked)
    goals.write_text(f'name = "TG-119"\nsource = "pyRadPlan"\n{text}')
    plan.write_text(plan_toml([(GANTRY_STEP_DEG * n, ([-50.0, 50.0], [-50.0, 50.0]), "") for n in range(FIELDS)]))
    words = [ours, "optimise", phantom.case, "--plan", plan, "--goals", goals, "--beamlets", BEAMLET_MM, "--grid", INVERSE_GRID_MM]
    seconds = program([*words, "--quality", "standard", "--device", "cpu", "--out", out, "--overwrite"])
    return (out, ""), seconds


def inverse_pyradplan(ours, phantom, folder):
    import logging
    import warnings

    from pyRadPlan import PhotonPlan, calc_dose_influence, fluence_optimization, generate_stf

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    plan = PhotonPlan(machine="Generic")
    angles = [GANTRY_STEP_DEG * n for n in range(FIELDS)]
    plan.prop_stf = {"gantry_angles": angles, "couch_angles": [0.0] * FIELDS, "bixel_width": BEAMLET_MM, "iso_center": [0.0] * 3}
    plan.prop_dose_calc = {"dose_grid": {"resolution": [INVERSE_GRID_MM] * 3}}
    plan.prop_opt = {"solver": "scipy"}
    told = {}

    def optimum():
        beams = generate_stf(phantom.ct, phantom.cst, plan)
        matrix = calc_dose_influence(phantom.ct, phantom.cst, beams, plan)
        return beams, fluence_optimization(phantom.ct, phantom.cst, beams, matrix, plan, opt_info=told)

    (beams, fluence), seconds = call(optimum)
    # Its beamlets lie on the isocentre plane about whole multiples of their width: x across, z along the patient.
    fields, first = [], 0
    for gantry, beam in zip(angles, beams.beams):
        at = np.array([ray.ray_pos_bev for ray in beam.rays])[:, [2, 0]]
        cell = np.round(at / BEAMLET_MM).astype(int)
        low = cell.min(axis=0)
        values = np.zeros(cell.max(axis=0) - low + 1)
        values[tuple((cell - low).T)] = fluence[first:first + len(cell)]
        first += len(cell)
        edges = [[BEAMLET_MM * (low[a] + n - 0.5) for n in range(values.shape[a] + 1)] for a in (0, 1)]
        fields.append((gantry, edges, values))
    most = max(values.max() for *_, values in fields)

    def plan_of(scale):
        def field(gantry, edges, values):
            rows, columns = ([float(mm) for mm in of] for of in edges)
            rest = f'[beam.fluence]\naxis = "x"\nrows_mm = {rows}\nfirst_mm = {columns[0]}\nstep_mm = {BEAMLET_MM}\n'
            rest += f"columns = {values.shape[1]}\nvalues = {[float(v) for v in (scale * values).ravel()]}\n"
            return gantry, ([columns[0], columns[-1]], [rows[0], rows[-1]]), rest

        return plan_toml([field(*of) for of in fields])

    out = folder / "peer.toml"
    out.write_text(plan_of(1.0 / most))
    doses = dose_of(ours, phantom, out, folder)
    from scipy.optimize import minimize_scalar

    # About the factor that brings the target's mean to its dose.
    middle = TARGET_GY / doses[0].mean()
    factor = minimize_scalar(lambda k: objective(doses, k), bounds=(0.5 * middle, 2.0 * middle), method="bounded").x
    out.write_text(plan_of(factor / most))
    return (out, f"{told['obj_history'][-1]:.0f} by its own dose, "), seconds


def dose_of(ours, phantom, plan, folder):
    out = folder / "dose.mha"
    program([ours, "dose", phantom.case, "--plan", plan, "--grid", 2.5, "--quality", "standard", "--device", "cpu", "--out", out, "--overwrite"])
    return phantom.doses(out)


def inverse(ours, peers, turns, folder):
    # The phantom is the peer's.
    if not peers:
        return
    phantom = Phantom(folder)
    answers = by_turns([("Beamsight", inverse_beamsight), *peers], turns, (ours, phantom, folder))
    for who, ((plan, own), seconds) in answers.items():
        doses = dose_of(ours, phantom, plan, folder)
        target, core = doses[:2]
        points = f"D95 {np.percentile(target, 5):.1f}, D10 {np.percentile(target, 90):.1f}, core D10 {np.percentile(core, 90):.1f} Gy"
        agreement = f"objective {own}{objective(doses):.0f} by our dose; {points}"
        yield {"job": "inverse", "case": "TG-119, nine fields", "who": who, "seconds": seconds, "agreement": agreement}


# --- the table


def by_turns(runs, turns, arguments):
    """Of each its answer and its median time."""
    answers, times = {}, {}
    for _ in range(turns):
        for who, run in runs:
            answers[who], seconds = run(*arguments)
            times.setdefault(who, []).append(seconds)
    return {who: (answers[who], statistics.median(times[who])) for who in answers}


JOBS = {
    "gamma": (gamma, [
        ("pymedphys", gamma_pymedphys),
        ("plastimatch", gamma_plastimatch()),
        ("plastimatch interp-search", gamma_plastimatch("--interp-search")),
    ]),
    "drr": (drr, [("plastimatch", drr_plastimatch), ("RTK", drr_rtk), ("ITK", drr_itk)]),
    "inverse": (inverse, [("pyRadPlan", inverse_pyradplan)]),
}
PACKAGES = {"pyRadPlan": "pyRadPlan", "pymedphys": "pymedphys", "RTK": "itk-rtk", "ITK": "itk"}


def version(who, ours):
    """The version of a program; none where it is not installed."""
    name = who.split()[0]
    if name in PACKAGES:
        try:
            return importlib.metadata.version(PACKAGES[name])
        except importlib.metadata.PackageNotFoundError:
            return None
    command = ours if name == "Beamsight" else shutil.which(name)
    if command is None:
        return None
    done = subprocess.run([command, "--version"], capture_output=True, text=True)
    return (done.stdout or done.stderr).split()[-1]


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("program")
    words.add_argument("jobs", nargs="*", metavar="JOB", help="gamma, drr, inverse; left out: all")
    words.add_argument("--turns", type=int, default=3)
    words.add_argument("--json", action="store_true")
    asked = words.parse_intermixed_args()
    if unknown := set(asked.jobs) - set(JOBS):
        words.error(f"there is no job {', '.join(unknown)}: they are {', '.join(JOBS)}")
    ours = str(pathlib.Path(asked.program).resolve())
    rows, missing = [], set()
    if not asked.json:
        print(f"{'job':<6} {'case':<33} {'program':<34} {'CPU s':>8} {'ratio':>8}  agreement")
    for job in asked.jobs or JOBS:
        run, peers = JOBS[job]
        there = [(who, peer) for who, peer in peers if version(who, ours)]
        missing |= {who.split()[0] for who, _ in peers} - {who.split()[0] for who, _ in there}
        with tempfile.TemporaryDirectory() as folder:
            own = None
            for row in run(ours, there, asked.turns, pathlib.Path(folder)):
                own = row["seconds"] if row["who"] == "Beamsight" else own
                row |= {"version": version(row["who"], ours), "ratio": row["seconds"] / own}
                rows.append(row)
                if not asked.json:
                    who = f"{row['who']} {row['version']}"
                    print(f"{job:<6} {row['case']:<33} {who:<34} {row['seconds']:>8.3f} {row['ratio']:>8.1f}  {row['agreement']}", flush=True)
    if asked.json:
        print(json.dumps({"rows": rows, "not_installed": sorted(missing)}))
    elif missing:
        print(f"not installed: {', '.join(sorted(missing))}")


main()
