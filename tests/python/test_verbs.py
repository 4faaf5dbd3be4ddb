"""The same numbers as the verbs, to the bit."""

import numpy as np
import pytest

import beamsight
from conftest import CPU


GOALS = ["--goals", "icru-target"]


def equal(path, array):
    return np.array_equal(beamsight.read_dose(path).gy, array)


def test_dose_is_that_of_the_verb(water, verb, tmp_path):
    said = verb("dose", "demo:water", "--grid", 8, "--quality", "fast", "--out", tmp_path / "dose.mha")
    dose = beamsight.dose(water, grid=8, quality="fast", **CPU)
    assert equal(tmp_path / "dose.mha", dose.gy)
    assert (dose.status, dose.caveats) == (said["status"], said["caveats"]) == ("coarse", [])
    assert dose.receipts[0]["work"] == said["beams"][0]["receipt"]["work"]
    assert dose.figures["figures"]["max_gy"] == said["figures"]["max_gy"]
    assert dose.grid.shape == tuple(said["grid"]["size"][::-1])
    assert "coarse" in repr(dose) and "cpu" in repr(dose)


def test_monte_carlo_is_that_of_the_verb(water, verb, tmp_path):
    out, sigma = tmp_path / "dose.mha", tmp_path / "sigma.mha"
    words = ["--engine", "mccs", "--histories", "2e5", "--seed", 7, "--grid", 10]
    said = verb("dose", "demo:water", *words, "--out", out, "--sigma", sigma)
    dose = beamsight.dose(water, engine="mccs", histories=2e5, seed=7, grid=10, **CPU)
    assert equal(out, dose.gy)
    assert dose.figures["monte_carlo"]["histories"] == said["monte_carlo"]["histories"]
    assert dose.sigma_gy.shape == dose.gy.shape and (dose.sigma_gy >= 0).all()
    assert dose.status == said["status"] == "coarse", "so few histories are no final dose"


def test_dvh_is_that_of_the_verb(water, verb, tmp_path):
    dose = beamsight.dose(water, grid=8, quality="fast", **CPU)
    dose.save(tmp_path / "dose.mha")
    said = verb("dvh", "demo:water", "--dose", tmp_path / "dose.mha", "--metrics", "D95%,Dmean,V95%,HI")
    for row in said["structures"]:
        dvh = beamsight.dvh(water, dose, row["name"])
        assert dvh.volume_cm3 == row["volume_cm3"]
        for word, value in row["metrics"].items():
            assert dvh.metric(word) == value, (row["name"], word)
    assert equal(tmp_path / "dose.mha", dose.gy) and beamsight.read_dose(tmp_path / "dose.mha").status == "coarse"


def test_gamma_is_that_of_the_verb(water, verb, tmp_path):
    a = beamsight.dose(water, grid=8, quality="fast", **CPU)
    b = beamsight.dose(water, grid=10, quality="fast", **CPU)
    for name, dose in [("a", a), ("b", b)]:
        dose.save(tmp_path / f"{name}.mha")
    out = tmp_path / "gamma.csv"
    said = verb("gamma", tmp_path / "a.mha", tmp_path / "b.mha", "--dose", 2, "--dta", 3, "--out", out)
    answer = beamsight.gamma(tmp_path / "a.mha", tmp_path / "b.mha", 2, 3, **CPU)
    assert answer.pass_rate_percent == said["pass_rate_percent"] and answer.points == said["points"]
    assert answer.receipt["digest"] == said["receipt"]["digest"]
    assert answer.report["criteria"][1]["criterion"] == said["stricter"]["criterion"]
    points = np.loadtxt(out, delimiter=",", skiprows=1)
    i, j, k = points[:, :3].astype(int).T
    assert np.allclose(points[:, 7], answer.gamma[k, j, i], atol=1e-6)
    # The doses themselves and their files are the same.
    assert np.array_equal(beamsight.gamma(a, b, 2, 3, **CPU).gamma, answer.gamma, equal_nan=True)
    assert "coarse" in repr(answer), "no verdict of doses that are not final"


def test_path_is_that_of_the_verb(thorax, verb):
    said = verb("path", "demo:thorax", "--gantry", 30, "--isocentre", "0,0,0")
    depth = beamsight.path(thorax, gantry=30, isocentre=(0, 0, 0), **CPU)
    assert depth.receipt["digest"] == said["receipt"]["digest"]
    assert float(depth.depth_mm.max()) == pytest.approx(said["greatest_depth_mm"], rel=1e-7)
    assert list(depth.source_mm) == said["source_mm"]


def test_drr_is_that_of_the_verb(thorax, verb):
    said = verb("drr", "demo:thorax", "--gantry", 30, "--size", "90x70", "--pixel", 4, "--pose", "1,2,3,0,1,0")
    drr = beamsight.drr(thorax, gantry=30, size=(90, 70), pixel=4, pose=(1, 2, 3, 0, 1, 0), **CPU)
    assert drr.values.shape == (70, 90)
    assert drr.receipt["digest"] == said["receipt"]["digest"]
    assert float(drr.values.max()) == pytest.approx(said["greatest"], rel=1e-7)
    assert drr.projection["source_mm"] == said["source_mm"]


def test_set_up_errors_are_those_of_the_verb(water, verb, tmp_path):
    out = tmp_path / "least.mha"
    how = ["--grid", 10, "--quality", "fast"]
    said = verb("robust", "demo:water", "--goals", GOALS[1], "--shift-mm", 6, *how, "--least", out)
    told, least, greatest = beamsight.robust(water, shift_mm=6, goals=GOALS[1], grid=10, quality="fast", **CPU)
    assert {key: said[key] for key in told} == told
    assert equal(out, least.gy)
    assert (least.gy <= greatest.gy).all() and (least.gy < greatest.gy).any()
    assert least.status == "partial" and "extreme of each voxel over 7 scenarios" in least.caveats[0]
    for wrong in ({"shift_mm": 11}, {"scenarios": 9}, {"shift_mm": float("nan")}):
        with pytest.raises(beamsight.errors.ArgumentError):
            beamsight.robust(water, **wrong, **CPU)


def test_fractions_are_those_of_the_verb(water, verb, tmp_path):
    table, out = tmp_path / "poses.csv", tmp_path / "sum.mha"
    table.write_text("date,tx,ty,tz,rx,ry,rz\nMonday,5,0,-2,0,0,1.5\n")
    said = verb("fractions", "demo:water", "--poses", table, "--grid", 10, "--quality", "fast", "--out", out)
    told, course = beamsight.fractions(water, table, grid=10, quality="fast", **CPU)
    assert {key: said[key] for key in told} == told
    assert [day["name"] for day in told["delivered"]] == ["Monday"]
    assert equal(out, course.gy)
    poses = np.array([[5, 0, -2, 0, 0, 1.5]])
    assert np.array_equal(beamsight.fractions(water, poses, grid=10, quality="fast", **CPU)[1].gy, course.gy)
    with pytest.raises(beamsight.errors.ComputationError, match="beyond 50 mm"):
        beamsight.fractions(water, [(100, 0, 0, 0, 0, 0)], **CPU)
    with pytest.raises(TypeError, match="a pose is"):
        beamsight.fractions(water, [(1, 2, 3)], **CPU)


PROTOCOL = """
name = "Ball"
site = "phantom"
source = "own"
fractions = 4
technique = "maps"
set_up_error_mm = 5
[[level]]
target = "PTV"
gy = 2.0
[beams]
fields_deg = [0.0, 90.0]
[[goal]]
structure = "PTV"
goal = "D50% >= 2 Gy"
source = "own"
"""


def test_a_plan_by_protocol_is_that_of_the_verb(water, verb, tmp_path):
    protocol = tmp_path / "ball.toml"
    protocol.write_text(PROTOCOL)
    how = ["--grid", 10, "--quality", "fast"]
    said = verb("plan", "demo:water", "--protocol", protocol, *how, "--out", tmp_path / "planned")
    plan, dose, figures = beamsight.plan(water, protocol, grid=10, quality="fast", **CPU)
    assert equal(tmp_path / "planned" / "dose.mha", dose.gy)
    assert beamsight.Plan.read(tmp_path / "planned" / "plan.toml", water).to_dict() == plan.to_dict()
    for key in ("targets", "objective", "robust", "made_structures", "technique"):
        assert figures[key] == said[key], key
    assert [goal["value"] for goal in figures["goals"]] == [goal["value"] for goal in said["goals"]["goals"]]
    with pytest.raises(beamsight.errors.ArgumentError):
        beamsight.plan(water, "no-such-protocol", **CPU)


def test_optimised_maps_are_those_of_the_verb(verb, tmp_path):
    case = beamsight.open("demo:tg119")
    plan = case.plans[0].to_dict()
    plan["beams"] = plan["beams"][:2]
    few = beamsight.Plan.from_dict(plan)
    few.save(tmp_path / "plan.toml")
    words = ["--plan", tmp_path / "plan.toml", "--goals", "tg119-c-shape", "--beamlets", 10, "--grid", 6, "--quality", "fast"]
    said = verb("optimise", "demo:tg119", *words, "--out", tmp_path / "out.toml", "--matrix", tmp_path / "matrix.npz")
    found = beamsight.optimise(
        case, tmp_path / "plan.toml", goals="tg119-c-shape", beamlets=10, grid=6, quality="fast", **CPU
    )
    assert (found.objective, found.evaluations) == (said["objective"], said["evaluations"])
    work = ["evaluations", "solutions", "true_doses", "leaf_doses"]
    assert [found.receipt[count] for count in work] == [said["receipt"][count] for count in work]
    assert found.receipt["device"] == said["receipt"]["device"] and said["receipt"]["true_doses_ms"] > 0
    assert found.influence.shape == (said["beamlets"], said["rows"])
    doses = found.influence.T @ found.fluences + found.offset_gy
    assert np.allclose(doses, found.doses_gy, atol=1e-3)
    dose = beamsight.dose(case, found.plan, grid=6, quality="fast", **CPU)
    assert dose.status == said["status"] and dose.caveats == said["caveats"]


ARC = """
name = "Arc"
machine = "generic-6mv"
isocentre_mm = [0.0, -50.0, 0.0]
prescription_gy = 2.0
[[beam]]
name = "A"
gantry_deg = -20.0
mu = 100.0
jaws_mm = { x = [-50.0, 50.0], y = [-50.0, 50.0] }
[[beam.control_point]]
meterset_weight = 0.0
gantry_deg = -20.0
[[beam.control_point]]
meterset_weight = 1.0
gantry_deg = 20.0
"""


@pytest.mark.parametrize("technique", ["imrt", "step", "few", "vmat"])
def test_leaves_are_those_of_the_verb(verb, tmp_path, technique):
    # An arc is optimised beam by beam of its sectors: a short one, on coarse voxels.
    mm, plan = 10, []
    if technique == "vmat":
        mm, plan = 20, [tmp_path / "arc.toml"]
        plan[0].write_text(ARC)
    words = ["--technique", technique, *GOALS, "--beamlets", mm, "--rows", mm, "--grid", mm, "--quality", "fast"]
    given = ["--plan", *plan] if plan else []
    said = verb("optimise", "demo:water", *given, *words, "--out", tmp_path / "verb.toml")
    how = dict(beamlets=mm, rows=mm, grid=mm, quality="fast")
    found = beamsight.optimise("demo:water", *plan, goals=GOALS[1], technique=technique, **how, **CPU)
    assert (found.objective, found.evaluations) == (said["objective"], said["evaluations"])
    leaves = said["leaves"]
    assert found.leaves_objective == (leaves["objective_before_refinement"], leaves["objective_after_refinement"])
    found.leaves.save(tmp_path / "own.toml")
    assert (tmp_path / "own.toml").read_text() == (tmp_path / "verb.toml").read_text()
    dose = beamsight.dose("demo:water", found.leaves, grid=mm, quality="fast", **CPU)
    assert (dose.status, dose.caveats) == (leaves["status"], leaves["caveats"])
    assert dose.figures["figures"]["max_gy"] == leaves["figures"]["max_gy"]
    assert "refined" in repr(found)


def test_techniques_that_are_none_are_refused(water):
    for wrong, says in [(dict(technique="tomo"), "maps, imrt, step, few, vmat"), (dict(technique="vmat", arcs=0), "1 to 4")]:
        with pytest.raises(beamsight.errors.ArgumentError, match=says):
            beamsight.optimise(water, goals="tg119-c-shape", **wrong, **CPU)
    with pytest.raises(beamsight.errors.ComputationError, match="leaves"):
        beamsight.optimise(water, goals=GOALS[1], machine="point-6mv", technique="imrt", **CPU)


def test_x_rays_leave_as_by_the_verb(water, verb, tmp_path):
    pydicom = pytest.importorskip("pydicom", reason="pydicom is not installed")
    image = tmp_path / "ap.dcm"
    drr = beamsight.drr(water, size=(40, 30), pixel=8, **CPU)
    drr.save(image, water)
    verb("drr", "demo:water", "--size", "40x30", "--pixel", 8, "--out", tmp_path / "verb.dcm")
    own, theirs = pydicom.dcmread(image), pydicom.dcmread(tmp_path / "verb.dcm")
    assert own.PixelData == theirs.PixelData and own.PatientID == theirs.PatientID
    with pytest.raises(beamsight.errors.FileError, match="there already"):
        drr.save(image, water)
    parts = ["registration", "drr", "xray"]
    out = tmp_path / "verb"
    verb("export", "demo:water", "--xray", image, "--pose", "1,2,-3,0,0,90", "--only", ",".join(parts), "--out", out)
    folder = beamsight.export(water, tmp_path / "own", only=parts, xrays=image, pose=(1, 2, -3, 0, 0, 90), **CPU)
    assert sorted(file.name for file in folder.iterdir()) == sorted(file.name for file in out.iterdir())
    assert (folder / "RI-xray-1.dcm").read_bytes() == image.read_bytes(), "the X-ray leaves as it is"
    drrs = [pydicom.dcmread(at / "RI-drr-1.dcm") for at in (folder, out)]
    assert drrs[0].PixelData == drrs[1].PixelData and drrs[0].GantryAngle == drrs[1].GantryAngle
    matrices = [
        pydicom.dcmread(at / "REG.dcm").RegistrationSequence[1].MatrixRegistrationSequence[0].MatrixSequence[0]
        .FrameOfReferenceTransformationMatrix for at in (folder, out)
    ]
    assert matrices[0] == matrices[1]
    with pytest.raises(beamsight.errors.ArgumentError, match="xrays"):
        beamsight.export(water, tmp_path / "no", pose=(0,) * 6, **CPU)
    with pytest.raises(beamsight.errors.Error, match="no drr"):
        beamsight.export(water, tmp_path / "no", only=["drr"], **CPU)
    with pytest.raises(beamsight.errors.FileError, match="none.dcm"):
        beamsight.export(water, tmp_path / "no", xrays=[tmp_path / "none.dcm"], **CPU)


def test_a_check_is_that_of_the_verb(water, exported_water):
    """An exported plan agrees with its own dose: its monitor units, its machine."""
    assert sorted(file.name for file in exported_water.iterdir())[-1].startswith("RS")
    checked = beamsight.check(exported_water, machine="generic-6mv", **CPU)
    [check] = checked["checks"]
    assert check["judgement"]["verdict"] == "within", check["judgement"]
    with pytest.raises(beamsight.errors.Error, match="not empty|already|overwrite"):
        beamsight.export(water, exported_water, **CPU)
