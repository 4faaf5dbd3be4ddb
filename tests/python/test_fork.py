"""A forked process: it computes on threads of its own, or says at once why it cannot."""

import multiprocessing
import os
import threading
import traceback

import numpy as np
import pytest

import beamsight
from conftest import CPU, grid, linear

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
SOON_S = 120


def in_child(work, *arguments):
    """What a forked process answers, or why it has no answer."""
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)

    def answer():
        try:
            there.send((work(*arguments), None))
        except BaseException as error:
            there.send((None, f"{type(error).__name__}: {error}\n{traceback.format_exc()}"))

    child = multiprocessing.get_context("fork").Process(target=answer)
    child.start()
    try:
        assert here.poll(SOON_S), "the forked process waits for ever"
        return here.recv()
    finally:
        child.kill()
        child.join()


def greatest(case):
    return float(beamsight.dose(case, grid=12, quality="fast", **CPU).max_gy)


def test_a_forked_process_computes_what_its_parent_does(water):
    here = greatest(water)
    assert in_child(greatest, water) == (here, None)


def test_a_fork_of_a_fork_computes_too(water):
    here = greatest(water)

    def both(case):
        return greatest(case), in_child(greatest, case)

    assert in_child(both, water) == ((here, (here, None)), None)


def test_everything_that_takes_threads_does_so_behind_a_fork(water, thorax, tmp_path):
    """Each of these waited for threads of the parent."""
    dose = beamsight.dose(water, grid=12, quality="fast", **CPU)
    dose.save(tmp_path / "dose.mha")
    own = grid((40, 60, 70))
    small = dict(goals="tg119-c-shape", beamlets=20, rows=20, grid=20, quality="fast")

    def all_of_them():
        read = beamsight.read_dose(tmp_path / "dose.mha")
        made = beamsight.Dose(linear(own), own)
        return [
            read.max_gy,
            repr(read),
            (made + made).max_gy,
            beamsight.dvh(water, read, "PTV").metric("CI"),
            beamsight.gamma(made, made, **CPU).pass_rate_percent,
            float(beamsight.path(thorax, isocentre=(0, 0, 0), **CPU).depth_mm.max()),
            beamsight.drr(thorax, size=(20, 20), curve="tissue", **CPU).remarks,
            beamsight.open("demo:slab").structures[0].volume_cm3(),
            float(beamsight.influence("demo:tg119", **small, **CPU).influence.sum()),
        ]

    here = all_of_them()
    there, why = in_child(all_of_them)
    assert why is None, why
    assert there == here


def test_a_pool_of_forked_processes_maps(water):
    here = greatest(water)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(greatest, [water] * 3).get(SOON_S) == [here] * 3


def test_a_card_is_refused_behind_a_fork(water):
    _, why = in_child(lambda: beamsight.dose(water, grid=12, quality="fast", device="cuda").status)
    assert "ArgumentError" in why and "spawn" in why, why


def test_a_process_forked_while_another_thread_computes_says_so(water):
    begun, enough = threading.Event(), threading.Event()

    class Enough(Exception):
        pass

    def progress(*_):
        begun.set()
        if enough.is_set():
            raise Enough

    def compute():
        with pytest.raises(Enough):
            beamsight.dose(water, engine="mccs", histories=1e11, grid=5, progress=progress, **CPU)

    worker = threading.Thread(target=compute)
    worker.start()
    try:
        assert begun.wait(SOON_S)
        answer, why = in_child(greatest, water)
    finally:
        enough.set()
        worker.join()
    assert answer is None and "ComputationError" in why and "forked while another thread computed" in why, why
    assert greatest(water) > 0, "the parent goes on"


def test_arrays_of_the_parent_are_there(water):
    dose = beamsight.dose(water, grid=12, quality="fast", **CPU)
    assert in_child(lambda: float(np.max(dose.gy))) == (float(dose.gy.max()), None)
