"""The Windows program, built and run on Debian: python3 .ci/windows [--program FILE] [--linux FILE] [--out DIR] [--pack FILE...]

Cross-built by mingw-w64, it runs under Wine in a prefix of its own: the tests of its files, its verbs beside those of the Linux
program, its window under Xvfb, its packages installed and removed. What is missing is installed (apt-get, rustup; for root). The last
line is `N passed, N failed`. Wine shows neither DirectX 12, nor a maker's graphics driver, nor the file dialog of Windows.
"""

import argparse
import pathlib
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
import build  # noqa: E402
import cases  # noqa: E402
import console  # noqa: E402
import package  # noqa: E402
import tally  # noqa: E402
import unit_tests  # noqa: E402
import verbs  # noqa: E402
import window  # noqa: E402
import wine  # noqa: E402

PARTS = {
    "tests": unit_tests.run,
    "console": console.run,
    "verbs": verbs.run,
    "window": window.run,
    "package": package.run,
    "cases": cases.run,
}


def main():
    parser = argparse.ArgumentParser(prog="python3 .ci/windows", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; left out: all")
    parser.add_argument("--program", type=pathlib.Path, help="beamsight.exe; left out: it is built")
    parser.add_argument("--linux", type=pathlib.Path, help="the Linux program; left out: it is built")
    parser.add_argument("--out", type=pathlib.Path, default=build.ROOT / "target/windows", help="folder for pictures and packages")
    words = parser.parse_args()
    unknown = [part for part in words.parts if part not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(PARTS)}")
    # Ended from outside, Wine and the display end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    checks = tally.Tally()
    missing = build.install_missing()
    if missing:
        print(f"SKIPPED: not there, and not installed for want of root or apt-get: {' '.join(missing)}")
        return 0
    out = words.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="beamsight-windows-") as folder:
        run = build.Run(pathlib.Path(folder), out, words.program, words.linux)
        run.wine = wine.Wine(run.folder)
        try:
            for part in words.parts or PARTS:
                checks.part(part)
                PARTS[part](run, checks)
        finally:
            run.wine.close()
    return checks.end()


sys.exit(main())
