"""A dose, and the gamma of it against its first form; the plan then gets twice its monitor units. The file names the reader first."""
import json
import os
import re
import shutil
import subprocess
import sys

program, folder = os.environ["BEAMSIGHT"], sys.argv[1]


def run(*words):
    done = subprocess.run([program, *words, "--device", "cpu", "--json"], capture_output=True, text=True, cwd=folder)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else done.stderr


def job(name, *words):
    return json.dumps({"name": name, "run": list(words)}) + "\n"


run("demo", "water", "--out", f"{folder}/water")
shutil.move(f"{folder}/water/plan.toml", f"{folder}/plan.toml")
dose = ["dose", "demo:water", "--plan", "plan.toml", "--grid", "10", "--out"]
assert run(*dose, f"{folder}/reference.mha")[0] == 0
gamma = job("compared", "gamma", "reference.mha", "night/computed/dose.mha")
open(f"{folder}/jobs.jsonl", "w").write(gamma + job("computed", *dose, "dose.mha"))


def batch():
    code, answer = run("batch", f"{folder}/jobs.jsonl", "--out", f"{folder}/night")
    states = {row["name"]: row["state"] for row in answer["jobs"]} if "jobs" in answer else answer
    passed = json.load(open(f"{folder}/night/compared/answer.json")) if code in (0, 1) and "jobs" in answer else None
    return states, passed


def differs(answer):
    """All that the answer of gamma says, without paths."""
    return json.dumps(answer, sort_keys=True)


states, same = batch()
assert states == {"compared": "done", "computed": "done"}, states
assert batch()[0] == {"compared": "done before", "computed": "done before"}
text = open(f"{folder}/plan.toml").read()
doubled, count = re.subn(r"^(\s*mu\s*=\s*)([0-9.]+)", lambda m: f"{m[1]}{2 * float(m[2])}", text, flags=re.M)
assert count > 0, text
open(f"{folder}/plan.toml", "w").write(doubled)
states, twice = batch()
assert states == {"compared": "done", "computed": "done"}, states
assert differs(twice) != differs(same), "gamma is that of the dose before"

# Jobs that wait for each other are refused by name, and nothing is run.
circle = job("a", "gamma", "round/b/g.mha", "reference.mha", "--out", "g.mha")
circle += job("b", "gamma", "round/a/g.mha", "reference.mha", "--out", "g.mha")
open(f"{folder}/circle.jsonl", "w").write(circle)
code, answer = run("batch", f"{folder}/circle.jsonl", "--out", f"{folder}/round")
assert code == 2 and "'a'" in str(answer) and "'b'" in str(answer) and "circle" in str(answer), answer
assert not os.path.exists(f"{folder}/round")
