"""Inverse planning on a CT with a GTV: goals from a template, fluence, handles, a turned gantry, a kill, leaves."""

from day import Day, hold
from window import COMPUTES_S, Failure, middle

TEMPLATE = "Lung, RTOG 0617"

class Inverse(Day):
    case = None

    def steps_of_the_day(self):
        self.begin()
        self.forward_plan()
        self.set_goals()
        self.optimise()
        self.drag_handles()
        self.turn_a_beam()
        self.lock_and_undo()
        self.save_and_be_killed()
        self.recover()
        self.compare()
        self.make_deliverable()

    def begin(self):
        w = self.open(str(self.case))
        w.wait("the case", lambda: self.rows("GTV"), COMPUTES_S)
        w.settle()
        self.target = self.with_ptv()
        self.step("ptv")

    def forward_plan(self):
        w = self.window
        w.click("New plan")
        w.settle()
        w.fill("Dose grid", "6", role="SpinButton")
        w.choose("Add beams", "5 equispaced beams")
        w.settle()
        if w.has("Count it as scanned"):
            w.click("Count it as scanned")
            w.settle()
        self.step("forward")
        self.session("forward.json")
        plan = self.read("forward.json")["plans"][0]
        hold(len(plan["beams"]) == 5, f"{len(plan['beams'])} beams")
        self.forward, self.beam = plan["name"], plan["beams"][0]["name"]
        w.click("Copy plan")
        w.settle()

    def set_goals(self):
        w = self.window
        w.choose("Templates", TEMPLATE)
        w.settle()
        self.session("goals.json")
        self.goals = self.read("goals.json")["goals"]
        hold(self.goals, "the template left no goals")
        self.step("goals")

    def optimise(self):
        w = self.window
        w.click("Optimise")
        w.wait("the optimiser's dose", lambda: w.has("objective", part=True), COMPUTES_S)
        self.step("optimiser")
        self.rest()
        self.step("fluence")
        self.session("fluence.json")
        plan = self.last_plan("fluence.json")
        hold(all(beam.get("fluence") for beam in plan["beams"]), "a beam has no map")

    def drag_handles(self):
        w = self.window
        names = [h["name"] for h in w.tree()["widgets"] if h["role"] == "Slider" and h["name"].startswith("Handle ")]
        hold(len(names) >= 3, f"three handles are to be dragged, there are {names}")
        for n, name in enumerate(names[:3]):
            handle = w.only(name)
            x, y = middle(handle)
            w.drag([(x, y), (x - 4, y), (x - 8, y), (x - 10, y)])
            self.rest()
            self.step(f"handle-{n + 1}")

    def turn_a_beam(self):
        w = self.window
        w.click(self.beam, role="Button")
        for _ in range(5):
            w.key("Right")
        self.rest()
        self.session("turned.json")
        plan = self.last_plan("turned.json")
        gantry = plan["beams"][0]["control_points"][0]["gantry_deg"]
        hold(gantry == 5.0, f"the gantry was turned to 5 degrees and is at {gantry}")
        hold(plan["beams"][0].get("fluence"), "the turned beam has no map")
        self.step("turned")

    def lock_and_undo(self):
        w = self.window
        lock = next(b["name"] for b in w.tree()["widgets"] if b["name"].startswith("Lock ") and not b.get("disabled") and b["role"] == "Button")
        w.click(lock)
        self.rest()
        self.step("locked")
        self.session("locked.json")
        hold(self.read("locked.json")["goals"] != self.read("turned.json")["goals"], "the lock is in no goal")
        w.key("ctrl+z")
        self.rest()
        self.session("undone.json")
        hold(self.read("undone.json")["goals"] == self.read("turned.json")["goals"], "undo leaves the lock")
        self.step("undone")

    def save_and_be_killed(self):
        w = self.window
        w.click(self.last_plan("turned.json")["beams"][0]["name"], role="Button")
        w.key("Right")
        self.rest()
        unsaved = self.folder / "state" / "beamsight" / "unsaved"
        w.wait("kept work", lambda: unsaved.is_dir() and any(unsaved.iterdir()), 180.0)
        w.kill()

    def recover(self):
        w = self.open()
        w.wait("the offer", lambda: w.has("Recover ", part=True))
        w.click("Recover ", part=True)
        w.wait("the case", lambda: w.has(self.target, role="Button"), COMPUTES_S)
        w.settle()
        self.session("recovered.json")
        gantry = self.last_plan("recovered.json")["beams"][0]["control_points"][0]["gantry_deg"]
        hold(gantry == 6.0, f"the gantry was at 6 degrees when the window was killed, and is at {gantry}")
        self.step("recovered")

    def compare(self):
        w = self.window
        w.choose("Compare with", f"Compare with {self.forward}")
        w.settle()
        report = self.folder / "compare.json"
        w.fill("Path of the report", str(report), enter=False)
        w.click("Write report")
        self.wait_for_file(report)
        self.step("compare")
        w.click("Plan", role="Button")

    def make_deliverable(self):
        w = self.window
        w.click("Make deliverable")
        w.wait("leaves", self.is_at_rest, COMPUTES_S)
        w.settle()
        self.session("leaves.json")
        plan = self.last_plan("leaves.json")
        hold(all(len(beam["control_points"]) > 1 for beam in plan["beams"]), "a beam has no control points")
        self.step("leaves")
        out = self.folder / "exported"
        w.save_as(out, "Export…")
        # The grid of this day is coarse: such a dose does not leave.
        w.wait("the refusal", lambda: w.has("only final ones leave", part=True), COMPUTES_S)
        hold(not out.exists(), "a coarse dose was exported")

    # Shared.

    def rest(self):
        """Until the maps are found and their dose is computed."""
        w = self.window
        w.settle()
        w.wait("rest", self.is_at_rest, COMPUTES_S)
        w.settle()
        if w.has("Not computed", part=True):
            raise Failure("the dose was not computed")

    def last_plan(self, session):
        return self.read(session)["plans"][-1]
