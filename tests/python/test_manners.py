"""Manners: signals, progress, memory, the GIL, what a call costs."""

import os
import pathlib
import resource
import signal
import threading
import time

import numpy as np
import pytest

import beamsight
from conftest import CPU, grid, linear

LONG = dict(engine="mccs", histories=1e11, grid=5, device="cpu")


def test_ctrl_c_cancels_and_the_next_call_answers(water):
    # A shell has its jobs in the background ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            beamsight.dose(water, **LONG)
    finally:
        signal.signal(signal.SIGINT, before)
    assert beamsight.dose(water, grid=12, quality="fast", **CPU).status == "coarse"


def test_an_exception_of_the_callback_cancels(water):
    class Enough(Exception):
        pass

    def stop(fraction, step):
        raise Enough

    with pytest.raises(Enough):
        beamsight.dose(water, progress=stop, **LONG)


def test_progress_is_told_with_its_steps(water):
    told = []
    beamsight.dose(water, grid=12, quality="fast", progress=lambda *at: told.append(at), **CPU)
    assert told[-1] == (1.0, "beam 1 of 1: AP") and all(0 <= fraction <= 1 for fraction, _ in told)


def test_a_bar_shows_the_step(water, capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    beamsight.dose(water, grid=12, quality="fast", progress=True, **CPU)
    assert "beam 1 of 1" in capsys.readouterr().err


def test_other_threads_run_meanwhile(water):
    ended, turns = threading.Event(), 0

    def work():
        beamsight.dose(water, engine="mccs", histories=3e6, grid=5, **CPU)
        ended.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not ended.wait(0.001):
        turns += 1
    worker.join()
    assert turns > 20, "this thread had the interpreter while the other computed"


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_a_hundred_calls_leave_no_memory():
    own = grid((60, 70, 80))
    values = linear(own)

    def call():
        dose = beamsight.Dose(values, own)
        beamsight.gamma(dose, dose, **CPU).gamma.sum()

    for _ in range(20):
        call()
    before = resident_bytes()
    for _ in range(100):
        call()
    grown = resident_bytes() - before
    # A call has three volumes of 1.3 MB: a hundred that stay have 400 MB.
    assert grown < 30e6, f"{grown / 1e6:.1f} MB more"


def test_what_a_call_adds_does_not_grow_with_its_arrays():
    """Beside the engine's own work a call has a thread and a few objects, and arrays of answers are views. The least of many
    turns, as others compute on this machine too; printed by -s for the table of benches/RESULTS.md."""
    small = beamsight.Grid((1, 2, 2), (2, 2, 2))
    dose = beamsight.Dose(np.full((1, 2, 2), 2.0, np.float32), small)
    beside = []
    for _ in range(50):
        start = time.perf_counter()
        answer = beamsight.gamma(dose, dose, **CPU)
        beside.append(1e3 * (time.perf_counter() - start) - sum(ms for _, ms in answer.receipt["phases_ms"]))
    large = beamsight.Grid((200, 200, 250), (2, 2, 2))
    values = np.full((200, 200, 250), 2.0, np.float32)
    copied = least_ms(5, lambda: beamsight.Dose(values, large))
    values.flags.writeable = False
    lent = least_ms(50, lambda: beamsight.Dose(values, large))
    dose = beamsight.Dose(values, large)
    views = []
    for _ in range(50):
        start = time.perf_counter()
        array = dose.gy
        views.append(1e3 * (time.perf_counter() - start))
    print(f"\na call {min(beside):.2f} ms; 10 million voxels: to a dose {lent:.4f} ms, writeable {copied:.1f} ms, its array {min(views):.4f} ms")
    assert array.shape == large.shape and array.base is not None
    # A dose is read once, since each of its values has to be one; the array of a dose is a view.
    assert lent < copied and min(views) < 1, "a dose of a read-only array is not copied, nor is its array"


def least_ms(turns, work):
    ms = []
    for _ in range(turns):
        start = time.perf_counter()
        work()
        ms.append(1e3 * (time.perf_counter() - start))
    return min(ms)


def panic_exception():
    """The exception that a panic of Rust would be. One that passes through Python into Rust is resumed there, as a panic."""
    with pytest.raises(beamsight.errors.ArgumentError):
        beamsight.Dose(None, grid())
    return next(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException")


@pytest.mark.parametrize(
    "enter",
    [
        lambda panic: beamsight.dose("demo:water", grid=12, quality="fast", progress=panic, **CPU),
        lambda panic: beamsight.path(beamsight.open("demo:water"), isocentre=(0, 0, 0), progress=panic, **CPU),
        lambda panic: beamsight.open("demo:thorax", progress=panic),
        lambda panic: beamsight.Dose(Raises(panic), grid()),
        lambda panic: beamsight.radiograph(Raises(panic)),
        lambda panic: beamsight.Plan.from_dict({"beams": Raises(panic)}),
    ],
)
def test_a_panic_below_is_an_exception_of_beamsight(enter):
    kind = panic_exception()

    def panic(*_):
        raise kind("broken below")

    with pytest.raises(beamsight.errors.InternalError, match="a bug, please report it: broken below"):
        enter(panic)


class Raises(dict):
    def __init__(self, panic):
        self.panic = panic
        super().__init__(key=1)

    def __array__(self, *_, **__):
        self.panic()

    def items(self):
        self.panic()


def test_every_entry_point_is_guarded():
    """In the sources: a function that is offered runs as a job, which guards it, or is guarded by itself."""
    sources = pathlib.Path(__file__).parents[2] / "src" / "python"
    functions = [
        part.split("\n}\n")[0] for file in sources.glob("*.rs") for part in file.read_text().split("#[pyfunction")[1:]
    ]
    bare = [body.split("pub fn ")[1].split("(")[0] for body in functions if "run(py" not in body and "guarded(" not in body]
    # Lists of names, and what only puts members together.
    none = {"machines", "note_fork", "facts", *(body for body in bare if body.startswith(("restored_", "structure")))}
    assert len(functions) > 12 and set(bare) <= none, bare
