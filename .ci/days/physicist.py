"""A physicist's day: a plan from elsewhere is imported, checked, compared by gamma and reported, a CT is registered with two X-rays,
and a machine is fitted to curves measured in water."""

import array
import re

from day import Day, hold
from window import COMPUTES_S, middle

# Of the machine that the water tank is of; the window starts from generic-6mv, whose focal spot is smaller.
FOCAL_SIGMA_MM = 1.8
# Parameters that the made-up curves are to tell.
FITTED = ["focal-x"]


class Physicist(Day):
    def steps_of_the_day(self):
        self.from_elsewhere()
        self.imported()
        self.check()
        self.gamma()
        self.report()
        self.commission()
        self.register()

    def from_elsewhere(self):
        """Files as other systems would send them: a plan with its doses, a CT and X-rays, curves of a water tank."""
        self.verb("export", "demo:water", "--dose", "both", "--out", self.folder / "plan-from-elsewhere")
        self.verb("export", "demo:thorax", "--only", "ct,structures", "--out", self.folder / "chest")
        self.verb("demo", "thorax", "--xray", self.folder / "xrays")
        # The tests of the machine fit read the shipped file too.
        text = (self.root / "assets/machines/generic-6mv.toml").read_text()
        other, count = re.subn(r"(\[focal_source\]\s*sigma_mm = ).*", rf"\1[{FOCAL_SIGMA_MM}, {FOCAL_SIGMA_MM}]", text)
        hold(count == 1, "assets/machines/generic-6mv.toml has no focal source")
        machine = self.folder / "tank.toml"
        machine.write_text(other)
        dose = self.folder / "tank.mha"
        self.verb("dose", "demo:water", "--machine", machine, "--grid", 2.5, "--out", dose)
        self.tank = write_curves(dose, self.folder)

    def imported(self):
        w = self.open()
        w.click("Open")
        w.fill("Path to open", str(self.folder / "plan-from-elsewhere"))
        w.wait("the case", lambda: w.has("PTV", role="Button"))
        w.settle()
        self.session("imported.json")
        self.step("import")

    def check(self):
        w = self.window
        self.second_check()
        self.step("second-check")
        said, code = self.verb("check", self.folder / "plan-from-elsewhere")
        hold(code == 0, f"the verb says otherwise than the window: {said}")
        w.click("Close window")

    def gamma(self):
        """The dose that came with the plan, and the one computed here."""
        w = self.window
        w.click("Compare", role="Button")
        for side, ending in (("Dose A", "(imported)"), ("Dose B", "(final)")):
            w.click(side)
            w.wait("doses", lambda: w.has(ending, part=True), COMPUTES_S)
            w.click(ending, part=True)
        w.settle()
        first = self.comparison_report("gamma.json")["gamma"]["criteria"][0]
        hold(first["pass_rate_percent"] > 95.0, f"gamma passes at {first['pass_rate_percent']} %")
        self.step("gamma")

    def register(self):
        w = self.window
        w.click("Open")
        w.fill("Path to open", str(self.folder / "chest"))
        w.wait("the chest or a question", lambda: w.has("Lung_L", role="Button") or w.has("Open without saving"))
        if w.has("Open without saving"):
            w.click("Open without saving")
        w.wait("the chest", lambda: w.has("Lung_L", role="Button"))
        w.settle()
        w.click("Register", role="Button")
        for name in ("gantry-0.png", "gantry-90.png"):
            w.click("Open X-ray…")
            w.answer_browser(self.folder / "xrays" / name)
            w.settle()
        w.click("Find pose")
        w.wait("a match", lambda: w.has("Accept"), COMPUTES_S)
        self.step("register")
        hold(w.has("Match ", part=True), "the search says that it found no match")
        w.click("Accept")
        out = self.folder / "registration.dcm"
        w.fill("Path of the registration", str(out), enter=False)
        w.click("Save registration")
        self.wait_for_file(out)
        hold(out.read_bytes()[128:132] == b"DICM", "the registration is no DICOM file")

    def commission(self):
        w = self.window
        w.click("Open")
        w.click("Machine…")
        for button, path in zip(("Add depth doses", "Add profiles"), self.tank):
            w.click(button)
            w.answer_browser(path)
            w.wait(f"the file {path.name}", lambda: w.has(f"Leave out {path.name}"))
        w.choose("Quality of the comparison", "fast")
        w.click("Fitted: all that the data determine")
        boxes = [box["name"] for box in w.tree()["widgets"] if box["role"] == "CheckBox"]
        x, y = middle(w.only("Fit the machine"))
        for parameter in boxes:
            # Words such as focal-x; the boxes of the tree have other names.
            if re.fullmatch("[a-z]+(-[a-z0-9]+)*", parameter) and parameter not in FITTED:
                w.click(parameter, role="CheckBox", scroll_at=(x, y - 150))
        w.click("Fit the machine")
        w.wait("a fit", lambda: w.has("Save machine…"), COMPUTES_S)
        self.step("machine")
        w.click("Save machine…")
        machine = self.folder / "my.toml"
        w.answer_browser(machine)
        self.wait_for_file(machine)
        sigma = float(re.search(r"\[focal_source\]\s*sigma_mm = \[([0-9.]+)", machine.read_text()).group(1))
        hold(abs(sigma - FOCAL_SIGMA_MM) < 0.5, f"a focal spot of {sigma} mm was fitted, the tank has {FOCAL_SIGMA_MM} mm")
        w.click("Close window")

    def report(self):
        self.plan_report(self.read("imported.json")["plans"][0]["name"])
        self.step("report")


def write_curves(dose, folder):
    """Depth dose and crossline profile of a dose in the cube of water: 100 mm x 100 mm from the front, 900 mm from the source."""
    head, _, data = dose.read_bytes().partition(b"ElementDataFile = LOCAL\n")
    facts = dict(line.split(" = ", 1) for line in head.decode().splitlines() if " = " in line)
    size, first, step = ([float(n) for n in facts[key].split()] for key in ("DimSize", "Offset", "ElementSpacing"))
    nx, ny, nz = map(int, size)
    values = array.array("f", data)
    # The axis lies between the four voxels in the middle.
    mid = [(n // 2 - 1, n // 2) for n in (nx, nz)]

    def gy(xs, j):
        places = [values[i + nx * (j + ny * k)] for i in xs for k in mid[1]]
        return sum(places) / len(places)

    surface = -150.0
    depths = [(first[1] + j * step[1] - surface, gy(mid[0], j)) for j in range(1, ny - 4)]
    at = min(range(ny), key=lambda j: abs(first[1] + j * step[1] - surface - 100.0))
    across = [(first[0] + i * step[0], gy((i,), at)) for i in range(nx // 2 - 36, nx // 2 + 36)]
    tank = "# field_mm: 100 x 100\n# ssd_mm: 900\n"
    depth = first[1] + at * step[1] - surface
    texts = {"pdd.csv": "# curve: pdd\n" + tank, "profile.csv": f"# curve: profile\n# axis: x\n# depth_mm: {depth}\n" + tank}
    paths = []
    for (name, text), rows in zip(texts.items(), (depths, across)):
        path = folder / name
        path.write_text(text + "".join(f"{place},{dose}\n" for place, dose in rows))
        paths.append(path)
    return paths
