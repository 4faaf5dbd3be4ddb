"""Usage: check.py FOLDER."""
import os
import subprocess
import sys

out = sys.argv[1]


def run(*words):
    done = subprocess.run([os.environ["BEAMSIGHT"], *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


depth, dose, gamma = (f"{out}/{name}.mha" for name in ("depth", "dose", "gamma"))
for words in (
    ("path", "demo:water", "--out", depth),
    ("dose", "demo:water", "--grid", "10", "--quality", "fast", "--out", dose),
    ("gamma", dose, dose, "--out", gamma),
):
    assert run(*words)[0] == 0, words
for words, quantity in (
    (("dvh", "demo:water", "--dose", depth), "radiological depth"),
    (("gamma", dose, depth), "radiological depth"),
    (("dvh", "demo:water", "--dose", gamma), "gamma index"),
    (("info", dose), "absorbed dose"),
):
    status, said = run(*words)
    assert status == 1 and quantity in said and "panicked" not in said, (words, status, said)
status, said = run("dvh", "demo:water", "--dose", dose)
assert status == 0 and "says nothing" not in said, said
