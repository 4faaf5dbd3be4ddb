import pathlib
import sys

from program import Checks, number, run

made, checks = sys.argv[1], Checks()
PLAN = 'name = "t"\nmachine = "{machine}"\nisocentre_mm = [0, 0, 0]\n[[beam]]\nname = "AP"\ngantry_deg = 0\nmu = 100\njaws_mm = {{ x = [-50, 50], y = [-50, 50] }}\n'
MLC = 'mlc = {{ axis = "x", boundaries_mm = {sides} }}\nleaves_mm = {tips}\n'


def sides(width, pairs):
    return [round((n - pairs / 2) * width, 9) for n in range(pairs + 1)]


def dose(text, name):
    path = f"{made}/{name}.toml"
    with open(path, "w") as file:
        file.write(text)
    return run("dose", "demo:water", "--plan", path, "--device", "cpu", "--grid", "5", "--quality", "fast")


def plan(width=None, pairs=0, machine="generic-6mv"):
    text = PLAN.format(machine=machine)
    return text + MLC.format(sides=sides(width, pairs), tips=[[-100, 100]] * pairs) if width else text


_, text = dose(plan(), "open")
most = number(text, "maximum")
for width, pairs in ((2.5, 48), (5, 24)):
    exit_status, text = dose(plan(width, pairs), f"leaves-{width}")
    got = number(text, "maximum")
    checks(f"open leaves of {width} mm", exit_status == 0 and abs(got / most - 1) < 0.02, f"{got} Gy, without leaves {most} Gy")
for width, pairs in ((1, 100), (0.5, 200), (0.1, 400), (0.005, 40)):
    exit_status, text = dose(plan(width, pairs), f"leaves-{width}")
    checks(f"leaves of {width} mm are refused", exit_status != 0 and f"leaf pair 1 is {width:.3f} mm wide" in text, text.strip())

machine = '[mlc]\nname = "own"\ndescription = ""\ndistance_mm = 500.0\nthickness_mm = 60.0\nend_radius_mm = 80.0\ntransmission = 0.01\n' \
          'interleaf_transmission = 0.02\ntongue_mm = {tongue}\nboundaries_mm = {sides}\n'
shipped = (pathlib.Path(__file__).parents[3] / "assets/machines/generic-6mv.toml").read_text(encoding="utf-8")
for name, tongue, width, word in (("metres", 0.4, 0.005, "mlc.boundaries_mm"), ("tongues", 1.9, 3.0, "mlc.tongue_mm")):
    with open(f"{made}/{name}-machine.toml", "w") as file:
        file.write(shipped.replace('mlc = "millennium120"\n', "") + "\n" + machine.format(tongue=tongue, sides=sides(width, 40)))
    exit_status, text = dose(plan(machine=f"{name}-machine.toml"), name)
    checks(f"a machine with leaves of {width} mm and tongues of {tongue} mm", exit_status != 0 and word in text, text.strip())

exit_status, text = run("dose", f"{made}/mm", "--device", "cpu", "--grid", "5", "--quality", "fast")
checks("RTPLAN in mm", exit_status == 0, text.strip() if exit_status else "")
exit_status, text = run("dose", f"{made}/metres", "--device", "cpu", "--grid", "5", "--quality", "fast")
checks("RTPLAN in metres", exit_status != 0 and "leaf pair 1 is 0.005 mm wide" in text, text.strip())
checks.end()
