import sys

from doors import beam, maximum_gy, of_session, point, refused, session

folder = sys.argv[1]


def dose(*beams, **more):
    return of_session(session(folder, *beams, **more))


code, alone = dose(beam())
assert code == 0, alone
where = ["plan 'p', beam 'b'", "s.json"]
refused(dose(beam(), beam(control_points=[point(gantry_deg=90.0)])), *where, "number 1")
falling = [point(meterset_weight=weight) for weight in (0.0, 1.0, 0.5, 1.0)]
refused(dose(beam(control_points=falling)), *where, "control point 3", "falls from 1 to 0.5")
refused(dose(beam(control_points=[point(leaves_mm=[[-20, 20]] * 10)])), *where, "no mlc")
refused(dose(beam(setup=True)), *where, "setup field with 100 MU")
crossed = point(jaws={"x": [50, -50], "y": [-50, 50]})
refused(dose(beam(control_points=[crossed])), *where, "x jaws", "crossed")
refused(dose(beam(), fractions=0), "plan 'p'", "fractions = 0")
refused(dose(beam(mu=1e308)), *where, "mu = ")
half = [point(meterset_weight=0.0), point(gantry_deg=180.0)]
refused(dose(beam(control_points=half)), *where, "half a circle")
# A setup field is shown and not delivered.
code, beside = dose(beam(), beam(number=2, name="kV", mu=0.0, setup=True, control_points=[point(gantry_deg=90.0)]))
assert code == 0 and maximum_gy(beside) == maximum_gy(alone), beside
refused(dose(beam(mu=0.0, setup=True)), "no beam that can be computed", "setup field")
