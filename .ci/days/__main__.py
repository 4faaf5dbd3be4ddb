"""Days of a planner and a physicist in the real window, by mouse and keys: python3 .ci/days [DAY...] [--program FILE] [--out DIR]

The window runs on a display of its own (Xvfb), with folders of its own, and is driven by xdotool. Each step leaves a picture; what
the window wrote is read back by the program's verbs. Nothing is installed: what is missing is named, and the days are skipped.
"""

import argparse
import pathlib
import signal
import sys

sys.dont_write_bytecode = True
import screen  # noqa: E402
from delivery import Delivery  # noqa: E402
from inverse import Inverse  # noqa: E402
from physicist import Physicist  # noqa: E402
from planner import Planner  # noqa: E402

DAYS = {"planner": Planner, "physicist": Physicist, "inverse": Inverse, "delivery": Delivery}


def main():
    parser = argparse.ArgumentParser(prog="python3 .ci/days", description=__doc__.splitlines()[0])
    parser.add_argument("days", nargs="*", metavar="DAY", help=f"{', '.join(DAYS)}; left out: all")
    parser.add_argument("--program", type=pathlib.Path, default=Planner.root / "target/release/beamsight")
    parser.add_argument("--out", type=pathlib.Path, default=Planner.root / "target/days", help="folder for all that is written")
    parser.add_argument("--case", type=pathlib.Path, help="folder with a CT and a GTV; without it the days of inverse planning and delivery are left out")
    words = parser.parse_args()
    unknown = [day for day in words.days if day not in DAYS]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(DAYS)}")
    missing = screen.missing()
    if missing:
        print(f"SKIPPED: the days need a display and a hand on it: apt-get install {' '.join(missing)}")
        return 0
    if not words.program.is_file():
        print(f"{words.program} is not there: cargo build --release, or --program FILE")
        return 2
    # Ended from outside, the window and its display end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    Inverse.case = Delivery.case = words.case and words.case.resolve()
    failed = 0
    for name in words.days or DAYS:
        if name in ("inverse", "delivery") and not words.case:
            print(f"SKIPPED: {name}: it needs --case FOLDER with a CT and a GTV")
            continue
        out = words.out.resolve() / name
        out.parent.mkdir(parents=True, exist_ok=True)
        buffers = words.out.resolve() / "screen"
        buffers.mkdir(exist_ok=True)
        display = screen.Screen(buffers)
        try:
            failed += not DAYS[name](display, words.program.resolve(), out).run()
        finally:
            display.close()
    return 1 if failed else 0


sys.exit(main())
