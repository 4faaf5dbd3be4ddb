"""Cases, structures, DVHs of closed forms, radiographs and registration."""

import numpy as np
import pytest

import beamsight
from beamsight.errors import ArgumentError, ComputationError, Error, FileError, NoMatchError
from conftest import CPU, positions


def test_a_case_shows_what_it_holds(water):
    assert water.ct.hu.shape == water.ct.grid.shape == (140, 140, 140)
    assert water.ct.position == "HFS" and water.structures.names() == ["BODY", "PTV"]
    assert "ptv" in water.structures and water.structures["ptv"].kind == "ptv"
    assert water.structures[-1].name == "PTV" and len(list(water.structures)) == 2
    with pytest.raises(KeyError, match="BODY, PTV"):
        water.structures["heart"]
    with pytest.raises(IndexError):
        water.structures[2]


def test_masks_fill_the_contours(water):
    body = water.structures["BODY"]
    coverage, mask = body.coverage(), body.mask()
    dx, dy, dz = water.ct.grid.spacing_mm
    assert coverage.sum() * dx * dy * dz / 1000 == pytest.approx(body.volume_cm3(), rel=1e-6)
    assert np.array_equal(mask, coverage >= 0.5)
    # The cube of 30 cm, its edges rounded.
    assert body.volume_cm3() == pytest.approx(27000, rel=2e-3)
    points = np.concatenate(body.contours)
    assert points.shape[1] == 3 and np.abs(points).max() == pytest.approx(150, abs=1)
    coarse = beamsight.Grid((35, 35, 35), (10, 10, 10), (-170, -170, -170))
    assert body.coverage(coarse).sum() == pytest.approx(27000, rel=5e-3)
    with pytest.raises(ComputationError, match="outside"):
        body.mask(beamsight.Grid((4, 4, 4), (1, 1, 1), (900, 900, 900)))


def test_dvhs_of_linear_and_uniform_doses_are_those_on_paper(water):
    """In the cube of water |z| < 150 mm: a dose 10 + z/100 Gy is spread evenly over 8.5 to 11.5 Gy."""
    grid = water.ct.grid
    _, _, z = positions(grid)
    dose = beamsight.Dose(np.broadcast_to(10 + z / 100, grid.shape), grid)
    dvh = beamsight.dvh(water, dose, "BODY", prescription_gy=10)
    assert dvh.mean_gy == pytest.approx(10, abs=2e-3) and dvh.metric("D50%") == pytest.approx(10, abs=0.01)
    for percent in (2, 25, 75, 98):
        assert dvh.metric(f"D{percent}%") == pytest.approx(11.5 - 0.03 * percent, abs=0.02)
    assert dvh.metric("V11Gy") == pytest.approx(100 / 6, abs=0.3)
    assert dvh.metric("V100%") == pytest.approx(50, abs=0.5)
    gy, percent = dvh.cumulative()
    assert percent[0] == 100 and (np.diff(gy) >= 0).all() and (np.diff(percent) <= 0).all()
    flat = beamsight.dvh(water, beamsight.Dose(np.full(grid.shape, 3.0), grid), "PTV")
    assert flat.min_gy == flat.mean_gy == flat.max_gy == 3.0


def test_structures_and_metrics_without_a_value_say_why(water):
    far = beamsight.Grid((4, 4, 4), (2, 2, 2), (900, 900, 900))
    nowhere = beamsight.Dose(np.ones((4, 4, 4)), far)
    answers = beamsight.dvh(water, nowhere)
    assert set(answers) == {"BODY", "PTV"} and all("outside the dose grid" in why for why in answers.values())
    with pytest.raises(ComputationError, match="PTV.*outside the dose grid"):
        beamsight.dvh(water, nowhere, "PTV")
    # An array with a value that is no dose makes none: nothing is judged on the rest of it.
    gy = np.ones(water.ct.grid.shape)
    gy[70, 70, 70] = np.nan
    with pytest.raises(ArgumentError, match="nan|NaN"):
        beamsight.Dose(gy, water.ct.grid)
    dvh = beamsight.dvh(water, beamsight.Dose(np.ones(gy.shape), water.ct.grid), "PTV")
    for word, says in [("D95", "D95"), ("nonsense", "nonsense"), ("CI", "CI")]:
        try:
            assert np.isfinite(dvh.metric(word))
        except ArgumentError as why:
            assert says in str(why)
    with pytest.raises(ArgumentError, match="no structure 'heart'"):
        beamsight.dvh(water, nowhere, "heart")


def test_plans_are_changed_as_dictionaries_and_judged(water, tmp_path):
    plan = water.plans[0]
    again = beamsight.Plan.from_dict(plan.to_dict())
    assert again.to_dict() == plan.to_dict() and again.prescription_gy == 2.0
    twice = plan.to_dict()
    twice["beams"][0]["mu"] *= 2
    twice["normalisation"] = None
    one = {**plan.to_dict(), "normalisation": None}
    doses = [beamsight.dose(water, of, grid=12, quality="fast", **CPU).gy for of in (one, twice)]
    assert np.allclose(doses[1], 2 * doses[0], rtol=1e-6)
    for wrong, says in [({"fractions": 0}, "fraction"), ({"nonsense": 1}, "nonsense"), ({"fractions": "two"}, "no plan")]:
        with pytest.raises(ArgumentError, match=says):
            beamsight.Plan.from_dict({**plan.to_dict(), **wrong})
    plan.save(tmp_path / "plan.toml")
    with pytest.raises(FileError, match="there already"):
        plan.save(tmp_path / "plan.toml")
    with pytest.raises(FileError, match="no.such"):
        beamsight.Plan.read("no-such.toml")


def test_what_cannot_be_opened_or_computed_says_so(water, tmp_path):
    with pytest.raises(FileError, match="/nowhere/at/all"):
        beamsight.open("/nowhere/at/all")
    with pytest.raises(FileError, match="demo"):
        beamsight.open("demo:nothing")
    with pytest.raises(ArgumentError, match="counts from 1"):
        beamsight.open("demo:water", series=0)
    (tmp_path / "text.mha").write_text("no image")
    with pytest.raises(FileError, match="text.mha"):
        beamsight.read_dose(tmp_path / "text.mha")
    for wrong, says in [
        (dict(grid=0.1), "grid is 0.1"),
        (dict(quality="best"), "full"),
        (dict(engine="pencil"), "cccs"),
        (dict(histories=5), "mccs"),
        (dict(engine="mccs", histories=1.5), "whole number"),
        (dict(engine="mccs", directions=0), "1 to 24"),
        (dict(body="heart"), "heart"),
        (dict(hu_table="nothing"), "nothing"),
    ]:
        with pytest.raises(ArgumentError, match=says):
            beamsight.dose(water, **{**CPU, **wrong})
    with pytest.raises(Error, match="nothing"):
        beamsight.dose(water, machine="nothing", **CPU)
    with pytest.raises(ArgumentError, match="int is no case"):
        beamsight.dose(7)


def test_the_gradient_of_a_drr_is_that_of_its_own_differences(thorax):
    """Pixel by pixel, of the image as it is."""
    words = dict(gantry=35, size=(64, 56), pixel=6, gradient=True, side=2, **CPU)
    pose, by = np.array([2.0, -3.0, 1.0, 1.5, -2.0, 0.7]), 0.02
    drr = beamsight.drr(thorax, pose=pose, **words)
    for axis in range(6):
        step = np.zeros(6)
        step[axis] = by
        ahead, behind = (beamsight.drr(thorax, pose=pose + sign * step, **words).values.astype(float) for sign in (1, -1))
        want = (ahead - behind) / (2 * by)
        error = np.sqrt(((drr.gradient[axis] - want) ** 2).mean() / (want**2).mean())
        assert error < 0.01, (axis, error)
    with pytest.raises(ArgumentError, match="takes no steps"):
        beamsight.drr(thorax, step=1, **words)
    with pytest.raises(ArgumentError, match="integrator"):
        beamsight.drr(thorax, integrator="texture", **words)


def test_the_sampled_gradient_of_a_drr_is_that_of_differences(thorax):
    """Of a smooth sum of pixels, as losses are: single rays have kinks where they cross from voxel to voxel."""
    words = dict(gantry=35, size=(64, 56), pixel=6, gradient=True, integrator="trilinear", side=2)
    pose, by = np.array([2.0, -3.0, 1.0, 1.5, -2.0, 0.7]), 0.1
    drr = beamsight.drr(thorax, pose=pose, **words)
    assert drr.gradient.shape == (6, 56, 64)
    rows, columns = np.ogrid[:56, :64]
    weight = np.exp(-((rows - 20) ** 2 + (columns - 25) ** 2) / 200)
    for axis in range(6):
        step = np.zeros(6)
        step[axis] = by
        ahead, behind = (beamsight.drr(thorax, pose=pose + sign * step, **words).values for sign in (1, -1))
        want = (ahead.astype(float) - behind) / (2 * by)
        error = (weight * (drr.gradient[axis] - want)).sum() / np.sqrt((weight**2).sum() * (want**2).sum())
        assert abs(error) < 0.01, (axis, error)
    plain = beamsight.drr(thorax, gantry=35, size=(64, 56), pixel=6, pose=pose, integrator="exact", **CPU)
    assert np.corrcoef(plain.values.ravel(), drr.values.ravel())[0, 1] > 0.999


def test_a_hidden_pose_is_found_and_no_match_is_an_exception(thorax):
    hidden = (4.0, -3.0, 2.0, 1.0, 0.0, -1.5)
    words = dict(size=(250, 250), pixel=1.2, **CPU)
    images = [beamsight.drr(thorax, gantry=gantry, pose=hidden, **words) for gantry in (0, 90)]
    isocentre = thorax.plans[0].beams[0]["isocentre_mm"]
    as_arrays = [
        beamsight.radiograph(image.values, gantry=gantry, isocentre=isocentre, pixel=1.2)
        for image, gantry in zip(images, (0, 90))
    ]
    found = beamsight.register(thorax, as_arrays, **CPU)
    assert np.abs(np.subtract(found.pose, hidden)).max() < 0.3, found
    assert found.matrix.shape == (4, 4) and "match" in repr(found)
    noise = np.random.default_rng(1).normal(size=(250, 250)).astype(np.float32)
    with pytest.raises(NoMatchError, match="no match"):
        beamsight.register(thorax, beamsight.radiograph(noise, isocentre=isocentre, pixel=1.2), **CPU)
    with pytest.raises(ComputationError, match="misses the patient"):
        beamsight.drr(thorax, shift=(4000, 0), size=(20, 20), **CPU)


def test_objects_of_pydicom_and_simpleitk(exported_water):
    pydicom = pytest.importorskip("pydicom", reason="pydicom is not installed")
    sitk = pytest.importorskip("SimpleITK", reason="SimpleITK is not installed")
    case = beamsight.open(exported_water)
    datasets = [pydicom.dcmread(path) for path in sorted(exported_water.iterdir()) if path.suffix == ".dcm"]
    again = beamsight.dose(datasets, grid=12, quality="fast", **CPU)
    assert np.array_equal(again.gy, beamsight.dose(case, grid=12, quality="fast", **CPU).gy)
    rtdose = next(dataset for dataset in datasets if dataset.Modality == "RTDOSE")
    values = rtdose.pixel_array * float(rtdose.DoseGridScaling)
    answer = beamsight.gamma(rtdose, rtdose, **CPU)
    assert answer.gamma.shape == values.shape and answer.pass_rate_percent == 100
    image = beamsight.to_sitk(case.ct, case.ct.grid)
    assert image.GetSize() == case.ct.grid.shape[::-1]
    voxel = (10, 20, 30)
    assert np.allclose(image.TransformIndexToPhysicalPoint(voxel), case.ct.grid.position_mm(voxel[::-1]))
    dose = case.doses[0]
    from_sitk = beamsight.gamma(dose, beamsight.to_sitk(dose.gy, dose.grid), **CPU)
    assert from_sitk.pass_rate_percent == 100 and np.nanmax(from_sitk.gamma) == 0


def test_machines_are_named_read_and_held_against_data(tmp_path):
    assert "generic-6mv" in beamsight.machines()
    (tmp_path / "own.toml").write_text(beamsight.machine_text("generic-6mv"))
    assert 'name = "generic-6mv"' in beamsight.machine_text(str(tmp_path / "own.toml"))
    with pytest.raises(FileError, match="nothing"):
        beamsight.machine_text("nothing")
    with pytest.raises(ArgumentError, match="no measured data"):
        beamsight.machine_check("generic-6mv")
    with pytest.raises(ArgumentError, match="fix is 'mass'"):
        beamsight.machine_fit(tmp_path / "fit.toml", pdd="pdd.csv", fix=["mass"])
    with pytest.raises(ComputationError, match="no-such.csv"):
        beamsight.machine_check("generic-6mv", pdd=tmp_path / "no-such.csv", **CPU)


def test_doses_of_other_patients_and_frames_are_no_pair(water, thorax, tmp_path):
    for name, case in (("water", water), ("thorax", thorax)):
        beamsight.dose(case, grid=20, quality="fast", **CPU).save(tmp_path / f"{name}.mha")
    files = [beamsight.read_dose(tmp_path / f"{name}.mha") for name in ("water", "thorax")]
    with pytest.raises(ArgumentError, match="patient|frame of reference"):
        beamsight.gamma(*files, **CPU)
    with pytest.raises(ArgumentError, match="patient|frame of reference"):
        beamsight.dvh(thorax, files[0])
    with pytest.raises(FileError, match="there already"):
        files[0].save(tmp_path / "thorax.mha")
