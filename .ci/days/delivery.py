"""From structures and goals to leaves that are reported and exported: what it takes of a person's time."""

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
        person_s = self.window.person_s
        print(f"  {person_s:7.1f} s of a person's time", flush=True)
        hold(person_s <= MOST_PERSON_S, f"a person takes {person_s:.0f} s")

    def begin(self):
        w = self.open(str(self.case))
        w.wait("the case", lambda: self.rows("GTV") or self.rows("OuterTarget"), COMPUTES_S)
        w.settle()
        gtvs = self.rows("GTV")
        self.template, self.fields, self.prescribed_gy = GTV if gtvs else C_SHAPE
        if gtvs:
            w.click(gtvs[0], role="Button")
            target = gtvs[0].replace("GTV", "PTV")
            w.click(f"Create {target}")
            w.wait("the PTV", lambda: w.has(target, role="Button"), COMPUTES_S)
            w.settle()
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
        w = self.window
        name = next(row for row in self.rows("P1") if row == "P1")
        self.plan_report(name)
        self.step("report")
        out = self.folder / "exported"
        w.save_as(out, "Export…")
        w.wait("the export", lambda: out.is_dir(), COMPUTES_S)
        w.settle()
        info, code = self.verb("info", out)
        hold(code == 0 and info["plans"], f"the export does not read back: {info}")
        self.step("exported")

    # Shared.

    def rows(self, kind):
        rows = self.window.tree()["widgets"]
        return [row["name"] for row in rows if row["role"] == "Button" and row["name"].startswith(kind)]

    def is_at_rest(self):
        w = self.window
        return w.tree()["settled"] and not w.has("Stop optimising") and not w.has("Stop cutting leaves")
