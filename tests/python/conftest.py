"""What the tests of the wheel share: demo cases, doses of closed forms, and the command beside the interpreter."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import beamsight

# All tests that compare to the bit compute here: cards round otherwise.
CPU = {"device": "cpu"}


@pytest.fixture(scope="session")
def water():
    return beamsight.open("demo:water")


@pytest.fixture(scope="session")
def thorax():
    return beamsight.open("demo:thorax")


@pytest.fixture(scope="session")
def exported_water(water, tmp_path_factory):
    """The folder of demo:water exported with its final dose. Tests only read it."""
    return beamsight.export(water, tmp_path_factory.mktemp("exported") / "water", **CPU)


@pytest.fixture(scope="session")
def verb(tmp_path_factory):
    """Runs a verb of the program beside the interpreter and gives its JSON."""
    program = pathlib.Path(sys.executable).parent / "beamsight"
    if not program.exists():
        pytest.skip("the program is not beside the interpreter: this is no installed wheel")

    def run(*words):
        words = [str(program), *map(str, words), "--json", "--device", "cpu"]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def grid(shape=(20, 24, 28), spacing=(2.0, 2.5, 3.0), origin=(-10.0, 4.0, 7.0)):
    return beamsight.Grid(shape, spacing, origin)


def linear(at, gy=(10.0, 0.02, 0.03, 0.05)):
    """A dose that is linear in space: c + g . p."""
    x, y, z = positions(at)
    return (gy[0] + gy[1] * x + gy[2] * y + gy[3] * z).astype(np.float32)


def positions(at):
    z, y, x = at.axes()
    return x[None, None, :], y[None, :, None], z[:, None, None]
