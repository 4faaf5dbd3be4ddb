"""A day: steps with a picture each, and verbs of the program that read back what the window wrote."""

import json
import pathlib
import shutil
import subprocess
import time
import traceback

from window import COMPUTES_S, Failure, Window, own_environment


class Day:
    """What all days share: the screen, the program, a folder for all that is written, and the window of the moment."""

    root = pathlib.Path(__file__).resolve().parents[2]

    def __init__(self, screen, program, folder):
        self.screen, self.program, self.folder = screen, program, folder
        self.window = None
        self.steps = []
        self.begun = time.monotonic()

    def open(self, case=None):
        """Starts the program, as a user does, with the folders of this day."""
        self.window = Window(self.screen, self.program, self.folder, case)
        return self.window

    def step(self, name):
        """Ends a step: its picture, and what it took."""
        now = time.monotonic()
        # The tree of a frame is written before the frame is on the screen.
        self.window.stand()
        time.sleep(1.0)
        self.screen.picture(self.folder / f"{len(self.steps) + 1:02}-{name}.png")
        self.steps.append(name)
        print(f"  {now - self.begun:7.1f} s  {name}", flush=True)
        self.begun = time.monotonic()

    def verb(self, *words):
        """What a verb of the command line says in JSON, and its exit code."""
        words = [str(self.program), *map(str, words), "--json"]
        environment = own_environment(self.folder, self.screen)
        done = subprocess.run(words, env=environment, cwd=self.folder, capture_output=True, text=True)
        try:
            return json.loads(done.stdout), done.returncode
        except json.JSONDecodeError:
            raise Failure(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}") from None

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    def session(self, name):
        """Saves the session by the menu, and waits until it is written."""
        self.window.save_as(self.folder / name, "Save session")
        self.wait_for_file(self.folder / name)
        self.window.settle()

    def wait_for_file(self, path):
        self.window.wait(f"the file {path.name}", lambda: path.exists() and path.stat().st_size > 0, COMPUTES_S)
        return path

    def saved_pdf(self, name):
        """Answers the browser of a report with a path, and holds that a PDF comes there."""
        report = self.folder / name
        self.window.answer_browser(report)
        self.wait_for_file(report)
        hold(report.read_bytes()[:5] == b"%PDF-", f"{name} is no PDF")

    def plan_report(self, plan):
        """Writes the report of a plan from its own panel."""
        w = self.window
        w.click("Plan", role="Button")
        w.click(plan, role="Button")
        w.settle()
        w.click("Report…")
        self.saved_pdf("plan.pdf")

    def comparison_report(self, name):
        """Writes the report of the comparison on show in JSON, and reads it."""
        self.window.fill("Path of the report", str(self.folder / name), enter=False)
        self.window.click("Write report")
        self.wait_for_file(self.folder / name)
        return self.read(name)

    def second_check(self):
        """Checks the plan on show by the menu, and writes the report."""
        w = self.window
        w.click("Open")
        w.click("Second check…")
        w.wait("machines", lambda: w.has("Run the check") and not w.only("Run the check").get("disabled"))
        w.click("Run the check")
        w.wait("a verdict", lambda: w.has("Within tolerance"), COMPUTES_S)
        w.click("Save report as PDF…")
        self.saved_pdf("check.pdf")

    def exported(self):
        """Exports the case by the menu, and what a verb reads there."""
        out = self.folder / "exported"
        self.window.save_as(out, "Export…")
        self.window.wait("the export", out.is_dir, COMPUTES_S)
        self.window.settle()
        info, code = self.verb("info", out)
        hold(code == 0, f"the export does not read back: {info}")
        return info

    def rows(self, kind):
        """Names of the buttons that begin so."""
        rows = self.window.tree()["widgets"]
        return [row["name"] for row in rows if row["role"] == "Button" and row["name"].startswith(kind)]

    def is_at_rest(self):
        w = self.window
        return w.tree()["settled"] and not w.has("Stop optimising") and not w.has("Stop cutting leaves")

    def with_ptv(self):
        """Grows the first GTV into a target, and gives its name."""
        w = self.window
        gtv = self.rows("GTV")[0]
        w.click(gtv, role="Button")
        target = gtv.replace("GTV", "PTV")
        w.click(f"Create {target}")
        w.wait("the PTV", lambda: w.has(target, role="Button"), COMPUTES_S)
        w.settle()
        return target

    def run(self):
        """All of it; `True` where it came to its end."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        print(f"{type(self).__name__.lower()}: {self.folder}", flush=True)
        try:
            self.steps_of_the_day()
            return True
        except Exception as error:
            if not isinstance(error, Failure):
                traceback.print_exc()
            self.screen.picture(self.folder / "failed.png")
            print(f"  FAILED after '{self.steps[-1] if self.steps else 'the start'}': {error}")
            if self.window and self.window.process.poll() is None:
                print("  the window says: " + " | ".join(self.window.texts()[-60:]))
            return False
        finally:
            if self.window:
                self.window.close()


def hold(claim, words):
    """A claim about what was written."""
    if not claim:
        raise Failure(words)
