"""Checks, counted: each passes or says why it does not."""

import time
import traceback


class Tally:
    def __init__(self):
        self.passed, self.failed, self.begin = 0, 0, time.monotonic()

    def part(self, name):
        print(f"\n== {name}", flush=True)

    def check(self, name, work, *words, **options):
        """Runs a check, which returns a remark or nothing and raises where it fails; whether it passed."""
        begin = time.monotonic()
        try:
            remark = work(*words, **options)
        except Exception as why:
            self.failed += 1
            text = str(why) if isinstance(why, AssertionError) and str(why) else traceback.format_exc()
            print(f"FAILED  {name}: {text}", flush=True)
            return False
        self.passed += 1
        remark = f": {remark}" if remark else ""
        print(f"ok      {name}{remark} ({time.monotonic() - begin:.1f} s)", flush=True)
        return True

    def skipped(self, name, why):
        print(f"SKIPPED {name}: {why}", flush=True)

    def end(self):
        print(f"\nin all {time.monotonic() - self.begin:.0f} s")
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0
