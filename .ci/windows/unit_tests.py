"""Tests of the rooms that meet the system, built for Windows and run by Wine."""

import os
import re

import build

ROOMS = ["platform", "input", "files"]


def run(run, checks):
    checks.check(f"tests of {', '.join(ROOMS)}", rooms, run)


def rooms(run):
    packages = [word for room in ROOMS for word in ("-p", f"beamsight-{room}")]
    libraries = run.folder / "library"
    libraries.mkdir()
    run.stand_in(libraries)
    environment = run.wine.environment | {
        "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER": run.wine.tool("wine"),
        "WINEPATH": run.wine.windows_path(libraries),
        "CARGO_INCREMENTAL": os.environ.get("CARGO_INCREMENTAL", "0"),
    }
    done = build.subprocess.run(
        ["cargo", "test", "--locked", "--release", "--target", build.TARGET, *packages],
        cwd=build.ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    passed = sum(int(n) for n in re.findall(r"test result: ok\. (\d+) passed", done.stdout))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return f"{passed} tests"
