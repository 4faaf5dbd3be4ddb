"""From structures and goals to leaves that are reported, exported and checked: what it takes of a person's time."""

from day import Day, hold
from window import COMPUTES_S

# Template, fields and prescription by what the case has.
GTV = ("Lung, RTOG 0617", 5, "60")
C_SHAPE = ("TG-119, C-shape (easier)", 9, "50")

# A person's time, as the model of `window` counts it.
MOST_PERSON_S = 180.0


class Delivery(Day):
    case = None

    def steps_of_the_day(self):
        self.begin()
        self.plan()
        self.make_deliverable()
        self.report_and_export()
        self.check_what_left()
        person_s = self.window.person_s
        print(f"  {person_s:7.1f} s of a person's time", flush=True)
        hold(person_s <= MOST_PERSON_S, f"a person takes {person_s:.0f} s")

    def begin(self):
        w = self.open(str(self.case))
        w.wait("the case", lambda: self.rows("GTV") or self.rows("OuterTarget"), COMPUTES_S)
        w.settle()
        has_gtv = bool(self.rows("GTV"))
        self.template, self.fields, self.prescribed_gy = GTV if has_gtv else C_SHAPE
        if has_gtv:
            self.with_ptv()
        self.step("structures")

    def plan(self):
        w = self.window
        w.click("New plan")
        w.settle()
        w.fill("Prescription", self.prescribed_gy, role="SpinButton")
        w.choose("Templates", self.template)
        w.settle()
        # Nobody waits for the doses of all open fields: the first tells whether a couch is in the way.
        w.choose("Add beams", f"{self.fields} equispaced beams")
        w.wait("the first dose", lambda: w.has("Count it as scanned") or self.is_at_rest(), COMPUTES_S)
        if w.has("Count it as scanned"):
            w.click("Count it as scanned")
            w.wait("the couch", lambda: not w.has("Count it as scanned"))
        self.step("beams")

    def make_deliverable(self):
        w = self.window
        w.click("Make deliverable")
        w.wait("leaves", lambda: self.is_at_rest() and w.has("Side by side"), COMPUTES_S)
        w.settle()
        self.step("leaves")

    def report_and_export(self):
        self.plan_report("P1")
        self.step("report")
        hold(self.exported()["plans"], "the export has no plan")
        self.step("exported")

    def check_what_left(self):
        """Opens the exported files as another would, and holds the plan's dose against their own."""
        w = self.window
        w.click("Open")
        w.fill("Path to open", str(self.folder / "exported"))
        w.click("Open without saving")
        w.wait("the exported case", lambda: w.has("RD.dcm", part=True), COMPUTES_S)
        w.settle()
        self.second_check()
        self.step("checked")
