"""A planner's morning: from a CT with a GTV and no plan to a plan that is saved, lost, recovered, compared and reported."""

from day import Day, hold
from window import COMPUTES_S, middle

GOALS = {
    "PTV: D95% >= 60 Gy": "PTV",
    "SpinalCord: Dmax <= 50 Gy": "SpinalCord",
    "Heart: V25Gy <= 10 %": "Heart",
    "Lung_L: Dmean <= 10 Gy": "Lung_L",
}


class Planner(Day):
    def steps_of_the_day(self):
        self.begin()
        self.grow_a_ptv()
        self.correct_it()
        self.plan_five_fields()
        self.set_goals()
        self.save_and_be_killed()
        self.recover()
        self.compare()
        self.report_and_export()

    def begin(self):
        """A CT with contours, as it comes from another system; its PTV is not wanted."""
        self.verb("export", "demo:thorax", "--only", "ct,structures", "--out", self.folder / "chest")
        w = self.open(str(self.folder / "chest"))
        w.wait("the case", lambda: w.has("PTV", role="Button"))
        w.settle()
        w.click("PTV", role="Button")
        w.click("Delete structure")
        w.wait("the end of the PTV", lambda: not w.has("PTV", role="Button"))
        self.step("ct-and-contours")

    def grow_a_ptv(self):
        w = self.window
        w.click("GTV", role="Button")
        w.click("Create PTV")
        w.wait("the PTV", lambda: w.has("PTV", role="Button"))
        w.settle()
        w.click("PTV", role="Button")
        w.click("Show")
        self.session("grown.json")
        ptv = structure(self.read("grown.json"), "PTV")
        hold(ptv["kind"].lower() == "ptv", f"the PTV is of type {ptv['kind']}")
        self.ptv_points = corners(ptv)
        self.step("ptv")

    def correct_it(self):
        """A stroke from the middle of the PTV to beyond its rim, in the axial plane through its middle."""
        w = self.window
        w.click("Brush")
        place = self.place_of(w, "Axial")
        x_mm, y_mm = (sum(axis) / len(axis) for axis in list(zip(*self.ptv_points))[:2])
        rim = max(p[0] for p in self.ptv_points)
        w.drag([place(x_mm + share * (rim + 5.0 - x_mm), y_mm) for share in (0.0, 0.3, 0.6, 0.8, 1.0)])
        w.key("Escape")
        w.settle()
        self.session("brushed.json")
        right = max(p[0] for p in corners(structure(self.read("brushed.json"), "PTV")))
        hold(right > rim + 3.0, f"the stroke ends at {rim + 5.0:.1f} mm, the PTV at {right:.1f} mm")
        self.step("brush")

    def plan_five_fields(self):
        w = self.window
        w.click("New plan")
        w.choose("Add beams", "5 equispaced beams")
        w.settle()
        w.wait("a whole dose", lambda: w.has("Dose status final"))
        self.step("fields")
        self.session("planned.json")
        plan = self.read("planned.json")["plans"][0]
        hold(len(plan["beams"]) == 5, f"{len(plan['beams'])} beams")
        hold(all(b["mlc"] for b in plan["beams"]), "a beam without leaves")
        d95 = self.metrics("planned.json", "PTV")["D95%"]
        # The verb computes along fewer directions than the window: quicker, and right to a percent.
        hold(abs(d95 - 60.0) < 0.6, f"D95% of the PTV is {d95} Gy, the plan is normalised to 60 Gy")

    def set_goals(self):
        w = self.window
        for goal in GOALS:
            w.fill("New goal", goal)
        w.settle()
        self.session("morning.json")
        goals = self.read("morning.json")["goals"]
        hold(len(goals) >= len(GOALS), f"{len(goals)} goals are kept")
        self.step("goals")

    def save_and_be_killed(self):
        """Work goes on after the session is saved; the power goes a little later."""
        w = self.window
        w.click(first_beam(self.read("morning.json"))["name"], role="Button")
        for _ in range(10):
            w.key("Right")
        w.settle()
        unsaved = self.folder / "state" / "beamsight" / "unsaved"
        w.wait("kept work", lambda: unsaved.is_dir() and any(unsaved.iterdir()))
        w.kill()

    def recover(self):
        w = self.open()
        w.wait("the offer", lambda: w.has("Recover ", part=True))
        self.step("recover")
        w.click("Recover ", part=True)
        w.wait("the case", lambda: w.has("PTV", role="Button"))
        w.settle()
        w.wait("a whole dose", lambda: w.has("Dose status final"))
        self.session("recovered.json")
        gantry = first_beam(self.read("recovered.json"))["control_points"][0]["gantry_deg"]
        hold(gantry == 10.0, f"the gantry was at 10 degrees when the window was killed, and is at {gantry}")
        self.step("recovered")

    def compare(self):
        w = self.window
        first = self.read("recovered.json")["plans"][0]["name"]
        w.click("Copy plan")
        # A beam is called after its angles.
        w.click(first_beam(self.read("recovered.json"))["name"], role="Button")
        w.key("shift+Right", "shift+Right")
        w.settle()
        w.choose("Compare with", f"Compare with {first}")
        w.settle()
        self.step("compare")
        said = self.comparison_report("compare.json")
        w.settle()
        hold(said["gamma"]["criteria"][0]["points"] > 0, "gamma judged no point")

    def report_and_export(self):
        self.plan_report(self.read("recovered.json")["plans"][0]["name"])
        info = self.exported()
        hold(len(info["plans"]) == 2, f"the export does not read back as two plans: {info}")
        self.step("exported")

    # Shared.

    def metrics(self, session, name):
        words = ["--structure", name, "--metrics", "D95%,Dmean", "--quality", "fast", "--grid", 3]
        said, _ = self.verb("dvh", session, "--dose", "plan", *words)
        return said["structures"][0]["metrics"]

    def pointer_mm(self):
        """What the status line says of the pointer: x, y and z."""
        self.window.wait("the pointer in a view", lambda: "Pointer" in self.window.texts())
        texts = self.window.texts()
        at = texts.index("Pointer")
        return [float(text.split()[1]) for text in texts[at + 1 : at + 4]]

    def place_of(self, w, view):
        """Where on the screen a position of an axial view is, by what the status line says at two places of it."""
        x, y = middle(w.only(view, role="Image"))
        w.move((x + 100, y))
        there = self.pointer_mm()
        w.move((x, y))
        here = self.pointer_mm()
        scale = 100.0 / (there[0] - here[0])
        return lambda x_mm, y_mm: (x + (x_mm - here[0]) * scale, y + (y_mm - here[1]) * scale)


def structure(session, name):
    found = [s for s in session["structures"] if s["name"] == name]
    hold(found, f"the session has no {name}")
    return found[0]


def corners(of):
    return [p for contour in of["contours"] for p in contour["points_mm"]]


def first_beam(session):
    return session["plans"][0]["beams"][0]
