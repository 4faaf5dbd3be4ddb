"""A fraction group that delivers more than the beams of the file; a prescription, a structure set and a machine that are others."""
import json
import sys

import study
from program import Checks, run

made, check = sys.argv[1], Checks()
FAST = ["--grid", "5", "--quality", "fast", "--device", "cpu"]
GOALS = f"{made}/goals.toml"
open(GOALS, "w").write('name = "g"\nsource = "s"\n[[goal]]\nstructure = "PTV"\ngoal = "Dmax <= 1.2 Gy"\n')


def case(name, change):
    folder, ids = f"{made}/{name}", study.fresh()
    study.ct(ids, folder)
    study.structures(ids, folder, [("PTV", "PTV", [study.box(20, 3.0 * k) for k in range(-5, 6)])])
    study.plan(ids, folder, [study.beam(1, "STATIC", [(0, study.jaws(-30, 30)), (1, None)])], 100, change)
    return folder


def ghost(d):
    group = d.FractionGroupSequence[0]
    group.NumberOfBeams = 2
    group.ReferencedBeamSequence.append(study.item(ReferencedBeamNumber=7, BeamMeterset=150))


def silent(d):
    d.FractionGroupSequence[0].ReferencedBeamSequence.append(study.item(ReferencedBeamNumber=7, BeamMeterset=0))


def sources(d):
    d.FractionGroupSequence[0].NumberOfBrachyApplicationSetups = 1


for name, change, words in [("ghost", ghost, "1 of 2 beams (1 not in the file of the plan)"), ("sources", sources, "brachytherapy not counted")]:
    folder = case(name, change)
    _, said = run("dose", folder, *FAST)
    check(f"{name}: dose", f"partial: {words}" in said, said)
    _, said = run("dvh", folder, "--dose", "plan", *FAST, "--goals", GOALS)
    check(f"{name}: goal", "1 undecided" in said, said)
    status, said = run("export", folder, "--out", f"{folder}-out", "--device", "cpu")
    check(f"{name}: no RTDOSE", status == 1 and words in said, said)

_, said = run("dose", case("silent", silent), *FAST)
check("a beam of 0 MU is none that is missing", "partial" not in said, said)


def two_targets(d):
    d.DoseReferenceSequence = [study.item(DoseReferenceNumber=n, DoseReferenceStructureType="SITE", DoseReferenceType="TARGET",
                                          TargetPrescriptionDose=gy) for n, gy in enumerate((50.0, 60.0), 1)]


def other_set(d):
    d.ReferencedStructureSetSequence = [study.item(ReferencedSOPClassUID=study.STRUCTURES, ReferencedSOPInstanceUID="1.2.3.4")]


for name, change, words in [
    ("two-targets", two_targets, "60 Gy to a target and 50 Gy to others"),
    ("other-set", other_set, "made with another structure set"),
    ("machine", lambda d: None, "the treatment machine 'M1' of the plan is computed with the generic generic-6mv"),
]:
    folder = case(name, change)
    _, said = run("dose", folder, *FAST, "--json")
    answer = json.JSONDecoder().raw_decode(said[said.index("{"):])[0]
    check(f"{name}: dose", words in str(answer["remarks"]) and answer["status"] != "partial", answer["remarks"])
    _, said = run("export", folder, "--out", f"{folder}-out", "--device", "cpu")
    check(f"{name}: export", words in said, said)
check.end()
