"""Machines: fitted to what a machine of known numbers computes, they have its numbers."""

import re

import numpy as np

import beamsight
from conftest import CPU

FAST = dict(quality="fast", **CPU)
DEPTHS_MM = np.arange(5, 205, 10)
PLACES_MM = np.arange(-80, 81, 4)
# All parameters but focal-x and electron-share.
HELD = [
    *("spectrum-slope", "spectrum-filter", "off-axis-50", "off-axis-100", "off-axis-150", "off-axis-200", "softening"),
    *("focal-y", "extra-focal-share", "extra-focal-sigma", "electron-falloff", "electron-sigma"),
]


def write(path, head, places, percent):
    rows = [f"{place:.1f},{dose:.4f}" for place, dose in zip(places, percent)]
    path.write_text("\n".join([*head, *rows]) + "\n")


def tank(folder, computed=None):
    """Files of a depth dose and a profile; their doses are those of a report, else anything."""
    pdd, profile = folder / "pdd.csv", folder / "profile.csv"
    of = [[point["computed_percent"] for point in curve["points"]] for curve in computed] if computed else [[50] * 20, [100] * 41]
    write(pdd, ["# curve: pdd", "# field_mm: 100 x 100", "# ssd_mm: 900"], DEPTHS_MM, of[0])
    head = ["# curve: profile", "# axis: x", "# field_mm: 100 x 100", "# ssd_mm: 900", "# depth_mm: 100"]
    write(profile, head, PLACES_MM, of[1])
    return dict(pdd=pdd, profiles=profile)


def test_a_fit_has_the_numbers_of_the_machine_that_computed_its_data(tmp_path):
    report = beamsight.machine_check("generic-6mv", **tank(tmp_path), **FAST)
    assert [len(curve["points"]) for curve in report["curves"]] == [20, 41]
    files = tank(tmp_path, report["curves"])
    # A machine of a wide focal spot and many electrons is told both by the data.
    wrong = beamsight.machine_text("generic-6mv").replace("sigma_mm = [0.8, 0.8]", "sigma_mm = [2.4, 0.8]")
    wrong = re.sub(r"surface_share = [\d.]+", "surface_share = 0.15", wrong)
    (tmp_path / "wrong.toml").write_text(wrong)
    off = beamsight.machine_check(tmp_path / "wrong.toml", **files, **FAST)
    greatest = lambda report: max(abs(curve["greatest_percent"]) for curve in report["curves"])
    assert greatest(beamsight.machine_check("generic-6mv", **files, **FAST)) < 0.02, "it agrees with its own dose"
    assert greatest(off) > 3
    free = {"focal-x": 0.8, "electron-share": 0.06}
    fitted = beamsight.machine_fit(tmp_path / "own.toml", **files, start=tmp_path / "wrong.toml", fix=HELD, **FAST)
    assert fitted["within_tolerance"], fitted["outside"]
    for word, want in free.items():
        [line] = [line for line in fitted["parameters"] if line.split()[0] == word]
        value, uncertainty = re.match(rf" *{word} ([\d.]+) \+- ([\d.]+)", line).groups()
        # As sure as it says it is, and surer than to a third of the number.
        assert abs(float(value) - want) < 2 * float(uncertainty) < 0.67 * want, line
    assert greatest(fitted) < 0.4 * greatest(off)
    # The file that was written is that machine.
    check = beamsight.machine_check(tmp_path / "own.toml", **files, **FAST)
    assert check["curves"] == fitted["curves"]
