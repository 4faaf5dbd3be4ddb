"""Objects as others know them: pickled and copied, added, in tables and notebooks, made of arrays and masks."""

import copy
import multiprocessing
import pickle
import warnings

import numpy as np
import pytest

import beamsight
from beamsight.errors import ArgumentError, StatusWarning
from conftest import CPU, grid, linear, positions


@pytest.fixture(scope="module")
def coarse(water):
    return beamsight.dose(water, grid=12, quality="fast", **CPU)


def again(value):
    return pickle.loads(pickle.dumps(value))


# Pickles and copies.


def test_a_dose_is_the_same_in_another_process(water, coarse):
    own = again(coarse)
    assert np.array_equal(own.gy, coarse.gy) and own.grid == coarse.grid and hash(own.grid) == hash(coarse.grid)
    for name in ("status", "caveats", "label", "frame_of_reference_uid", "remarks", "receipts", "figures", "devices"):
        assert getattr(own, name) == getattr(coarse, name), name
    assert repr(own) == repr(coarse)
    assert beamsight.dvh(water, own, "PTV").metric("D95%") == beamsight.dvh(water, coarse, "PTV").metric("D95%")


def test_a_monte_carlo_dose_keeps_its_deviation(water):
    dose = beamsight.dose(water, engine="mccs", histories=2e5, grid=12, **CPU)
    assert np.array_equal(again(dose).sigma_gy, dose.sigma_gy)


def test_a_dose_of_a_file_stays_that_of_its_patient(water, thorax, coarse, tmp_path):
    coarse.save(tmp_path / "water.mha")
    own = again(beamsight.read_dose(tmp_path / "water.mha"))
    assert own.status == "coarse"
    with pytest.raises(ArgumentError, match="patient|frame of reference"):
        beamsight.dvh(thorax, own)
    with pytest.raises(ArgumentError, match="patient|frame of reference"):
        beamsight.dvh(thorax, again(coarse))


@pytest.mark.parametrize("word", ["demo:thorax", "demo:tg119"])
def test_a_case_is_the_same_in_another_process(word):
    case = beamsight.open(word)
    own = again(case)
    assert np.array_equal(own.ct.hu, case.ct.hu) and own.ct.grid == case.ct.grid
    assert repr(own) == repr(case) and own.patient == case.patient and own.remarks == case.remarks
    for mine, theirs in zip(own.structures, case.structures):
        assert all(np.array_equal(a, b) for a, b in zip(mine.contours, theirs.contours)), mine
    assert [plan.to_dict() for plan in own.plans] == [plan.to_dict() for plan in case.plans]
    how = dict(grid=20, quality="fast", **CPU)
    there, here = beamsight.dose(own, **how), beamsight.dose(case, **how)
    assert np.array_equal(there.gy, here.gy) and there.status == here.status and there.caveats == here.caveats


def test_parts_of_a_case_are_pickled(water):
    assert repr(again(water.structures)) == repr(water.structures)
    assert np.array_equal(again(water.structures["PTV"]).mask(), water.structures["PTV"].mask())
    assert again(water.ct).frame_of_reference_uid == water.ct.frame_of_reference_uid
    assert again(water.plans[0]).to_dict() == water.plans[0].to_dict()


def test_a_dvh_is_the_same_in_another_process(water, coarse):
    dvh = beamsight.dvh(water, coarse, "PTV", prescription_gy=2)
    own = again(dvh)
    for word in ("D95%", "V95%", "Dmean", "HI", "CI"):
        assert own.metric(word) == dvh.metric(word), word
    assert own.status_text == dvh.status_text and np.array_equal(own.cumulative(), dvh.cumulative())


def test_a_gamma_is_the_same_in_another_process(coarse):
    gamma = beamsight.gamma(coarse, 1.02 * coarse, criteria=[(3, 2), (1, 1)], **CPU)
    own = again(gamma)
    for index in (0, 1):
        assert np.array_equal(own.of_criterion(index), gamma.of_criterion(index), equal_nan=True)
    assert np.array_equal(own.signed, gamma.signed, equal_nan=True) and own.grid == gamma.grid
    for name in ("pass_rate_percent", "points", "not_judged", "normalisation_gy", "report", "receipt", "remarks"):
        assert getattr(own, name) == getattr(gamma, name), name
    assert repr(own) == repr(gamma)


def test_a_turned_grid_with_uneven_planes_is_pickled():
    turned = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]
    own = beamsight.Grid((3, 4, 5), (1.0, 2.0, 1.0), (1.0, 2.0, 3.0), turned, [0.0, 1.0, 4.0])
    assert np.allclose(again(own).position_mm((2, 3, 4)), own.position_mm((2, 3, 4)), atol=1e-12)
    assert not again(own).is_even and again(own).shape == own.shape


def test_copies_are_the_object_itself(water, coarse):
    dvh = beamsight.dvh(water, coarse, "PTV")
    for value in (coarse, coarse.grid, water, water.ct, water.structures, water.structures[0], water.plans[0], dvh):
        assert copy.deepcopy(value) is value and copy.copy(value) is value


def test_spawned_processes_take_cases_and_give_doses(water):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        dose = pool.apply_async(fast_dose, (water,)).get(120)
    assert dose.status == "coarse" and np.array_equal(dose.gy, fast_dose(water).gy)


def fast_dose(case):
    return beamsight.dose(case, grid=12, quality="fast", **CPU)


# Sums and multiples.


def test_sums_have_the_worse_status_and_all_caveats(coarse):
    plain = beamsight.Dose(np.ones(coarse.shape), coarse.grid)
    total = coarse + plain
    assert np.allclose(total.gy, coarse.gy + 1) and total.status == "coarse" and total.shape == coarse.shape
    assert total.caveats == coarse.caveats and total.remarks == coarse.remarks
    assert sum([plain, plain, plain]).max_gy == 3 and (plain + plain).status == "imported"
    assert (2 * coarse).status == (coarse / 2).status == "coarse"
    assert np.allclose((np.float64(0.5) * coarse).gy, coarse.gy / 2) and isinstance(np.float64(0.5) * coarse, beamsight.Dose)


def test_doses_of_other_grids_frames_and_patients_are_not_added(water, thorax, coarse):
    own = grid()
    a = beamsight.Dose(linear(own), own, frame_of_reference_uid="1.2.3")
    moved = beamsight.Grid(own.shape, own.spacing_mm, np.add(own.origin_mm, (0, 0, 1)))
    with pytest.raises(ArgumentError, match="two grids"):
        a + beamsight.Dose(linear(own), moved)
    with pytest.raises(ArgumentError, match="two frames"):
        a + beamsight.Dose(linear(own), own, frame_of_reference_uid="1.2.4")
    assert (a + beamsight.Dose(linear(own), own)).frame_of_reference_uid == "1.2.3"
    with pytest.raises(ArgumentError, match="patient"):
        coarse + beamsight.dose(thorax, grid=20, quality="fast", **CPU)


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda dose: dose + 1, "not int"),
        (lambda dose: dose + dose.gy, "not ndarray"),
        (lambda dose: dose.gy + dose, "not ndarray"),
        (lambda dose: dose * dose, "not by Dose"),
        (lambda dose: dose.gy * dose, "not by ndarray"),
        (lambda dose: dose * "2", "not by str"),
        (lambda dose: dose / None, "not by NoneType"),
        (lambda dose: dose - dose, "difference"),
    ],
)
def test_what_is_no_dose_is_a_worded_type_error(wrong, says):
    own = grid()
    with pytest.raises(TypeError, match=says):
        wrong(beamsight.Dose(linear(own), own))


@pytest.mark.parametrize("factor", [-1, float("nan"), float("inf"), 1e39])
def test_factors_that_make_no_dose_are_refused(factor):
    own = grid()
    with pytest.raises(ArgumentError):
        factor * beamsight.Dose(linear(own), own)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda case, dose: beamsight.dose(case, grid="fine"), "grid is a number, not str 'fine'"),
        (lambda case, dose: beamsight.dose(case, quality=2), "quality is a text, not int 2"),
        (lambda case, dose: beamsight.dose(case, engine="mccs", seed=1.5), "seed is a whole number, not float 1.5"),
        (lambda case, dose: beamsight.dose(case, 7), "plan is a Plan, its dictionary or a plan file, not int"),
        (lambda case, dose: beamsight.dose(case, progress=5), "progress is True, or a function"),
        (lambda case, dose: beamsight.dvh(case, dose, 5), "structures is a name, several names, or None for all, not int"),
        (lambda case, dose: beamsight.dvh(case, dose, [1]), "structures is a name"),
        (lambda case, dose: beamsight.gamma(dose, dose, "3"), "dose and dta are numbers"),
        (lambda case, dose: beamsight.gamma(dose, dose, criteria=[3, 2]), "criteria is a list of pairs"),
        (lambda case, dose: beamsight.drr(case, isocentre=(1, 2)), "isocentre is three numbers in mm"),
        (lambda case, dose: beamsight.drr(case, pose=(1, 2)), "pose is six numbers"),
        (lambda case, dose: beamsight.drr(case, gantry="left"), "gantry is a number"),
        (lambda case, dose: beamsight.optimise(case, technique=1), "technique is a text, not int 1"),
    ],
)
def test_arguments_of_another_kind_are_worded_type_errors(water, coarse, call, says):
    with pytest.raises(TypeError) as error:
        call(water, coarse)
    assert says in str(error.value), error.value


# The status of what leaves as an array.


def test_the_status_comes_back_with_the_values(coarse):
    with pytest.warns(StatusWarning, match="coarse"):
        array = np.asarray(coarse)
    with pytest.warns(StatusWarning, match="coarse"):
        np.from_dlpack(coarse)
    for values in (array, coarse.gy, np.array(coarse.gy), coarse.gy.astype(np.float64)):
        assert beamsight.Dose(values, coarse.grid).status == "coarse"
    changed = np.minimum(coarse.gy, 1)
    assert beamsight.Dose(changed, coarse.grid, made_of=coarse).status == "coarse"


def test_a_dose_to_rely_on_leaves_without_a_word():
    own = grid()
    dose = beamsight.Dose(linear(own), own)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert beamsight.Dose(np.asarray(dose), own).status == "imported"


def test_an_image_of_simpleitk_carries_status_patient_and_frame(water, thorax, coarse, tmp_path):
    sitk = pytest.importorskip("SimpleITK", reason="SimpleITK is not installed")
    # An array has a status where it was handed out by a dose, and no patient.
    for image, has_patient in [(beamsight.to_sitk(coarse), True), (beamsight.to_sitk(coarse.gy, coarse.grid), False)]:
        sitk.WriteImage(image, str(tmp_path / "image.mha"))
        for own in (image, sitk.ReadImage(str(tmp_path / "image.mha")), tmp_path / "image.mha"):
            dose = beamsight.gamma(coarse, own, **CPU)
            assert "coarse" in repr(dose) and dose.pass_rate_percent == 100
            if has_patient:
                with pytest.raises(ArgumentError, match="patient|frame of reference"):
                    beamsight.dvh(thorax, own)
            assert beamsight.dvh(water, own, "PTV").status_text == "coarse"
    coarse.save(tmp_path / "saved.mha")
    assert beamsight.dvh(water, sitk.ReadImage(str(tmp_path / "saved.mha")), "PTV").status_text == "coarse"
    deviation = beamsight.to_sitk(coarse)
    deviation.SetMetaData("Quantity", "gamma index")
    with pytest.raises(ArgumentError, match="gamma index"):
        beamsight.dvh(water, deviation)


# Tables.


def test_answers_show_themselves_in_notebooks(water, coarse):
    dvh = beamsight.dvh(water, coarse, "PTV")
    gamma = beamsight.gamma(coarse, coarse, **CPU)
    for value, says in [
        (coarse, "coarse"),
        (water, "PTV"),
        (water.structures, "external"),
        (water.plans[0], "AP"),
        (dvh, "coarse"),
        (beamsight.dvh(water, coarse), "BODY"),
        (gamma, "coarse"),
    ]:
        html = value._repr_html_()
        assert html.startswith("<table>") and says in html, html
    own = grid()
    assert "&lt;b&gt;" in beamsight.Dose(linear(own), own, "<b>")._repr_html_()


def test_tables_of_pandas(water, coarse):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    dvhs = beamsight.dvh(water, coarse)
    table = dvhs.to_pandas(["D95%", "V95%"])
    assert list(table.index) == ["BODY", "PTV"] and (table["status"] == "coarse").all()
    assert table.loc["PTV", "D95%"] == dvhs["PTV"].metric("D95%")
    curve = dvhs["PTV"].to_pandas()
    assert np.array_equal(curve["dose_gy"], dvhs["PTV"].cumulative()[0]) and curve.attrs["status"] == "coarse"
    criteria = beamsight.gamma(coarse, coarse, **CPU).to_pandas()
    assert isinstance(criteria, pandas.DataFrame) and len(criteria) == 2
    structures = water.structures.to_pandas()
    assert list(structures["name"]) == ["BODY", "PTV"] and list(structures["kind"]) == ["external", "ptv"]


def test_the_influence_is_sparse(water):
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    found = beamsight.influence("demo:tg119", goals="tg119-c-shape", beamlets=20, rows=20, grid=20, quality="fast", **CPU)
    matrix = found.sparse()
    assert sparse.issparse(matrix) and matrix.shape == found.influence.shape and matrix.dtype == np.float32
    assert np.array_equal(matrix.toarray(), found.influence) and matrix.nnz == np.count_nonzero(found.influence)


# A case of arrays.


def cube(half_mm, shape=(30, 40, 50), spacing=(2.0, 2.5, 3.0)):
    origin = [-0.5 * mm * (n - 1) for mm, n in zip(spacing, shape[::-1])]
    own = beamsight.Grid(shape, spacing, origin)
    x, y, z = positions(own)
    return own, (np.abs(x) < half_mm) & (np.abs(y) < half_mm) & (np.abs(z) < half_mm)


def test_a_case_of_arrays_gives_its_masks_back_and_computes(water):
    own, body = cube(40)
    _, target = cube(12)
    rng = np.random.default_rng(1)
    speckled = body & (rng.random(own.shape) < 0.5)
    hu = np.where(body, 0.0, -1000.0)
    masks = {"BODY": body, "PTV 60": target, "speckled": speckled}
    case = beamsight.case_of_arrays(hu, own, masks, kinds={"speckled": "other"}, patient_id="P 7", plans=water.plans)
    assert np.array_equal(case.ct.hu, hu) and case.patient["id"] == "P 7" and not case.remarks
    assert [structure.kind for structure in case.structures] == ["external", "ptv", "other"]
    for name, mask in masks.items():
        assert np.array_equal(case.structures[name].mask(), mask), name
    dose = beamsight.dose(case, grid=5, quality="fast", **CPU)
    assert dose.max_gy > 0 and dose.status in ("coarse", "partial")
    dvh = beamsight.dvh(case, dose, "PTV 60")
    assert dvh.volume_cm3 == pytest.approx(target.sum() * 2 * 2.5 * 3 / 1000, rel=1e-6)


@pytest.mark.parametrize(
    "words, says",
    [
        (dict(hu=np.nan), "voxel"),
        (dict(masks={"A": np.ones((30, 40, 50))}), "truth values"),
        (dict(masks={"A": np.ones((3, 4, 5), bool)}), "shape"),
        (dict(masks={"A": np.zeros((30, 40, 50), bool)}), "empty"),
        (dict(masks={"A": np.ones((30, 40, 50), bool), "a ": np.ones((30, 40, 50), bool)}), "a "),
        (dict(kinds={"B": "ptv"}), "no such structure"),
        (dict(masks={"A": np.ones((30, 40, 50), bool)}, kinds={"A": "tumour"}), "external, ptv"),
        (dict(position="upside down"), "position"),
    ],
)
def test_arrays_that_make_no_case_are_refused(words, says):
    own, _ = cube(10)
    hu = np.full(own.shape, words.pop("hu", -1000.0))
    with pytest.raises(ArgumentError, match=says):
        beamsight.case_of_arrays(hu, own, **words)
