"""Usage: check.py FOLDER."""
import os
import subprocess
import sys

out = sys.argv[1]


def run(*words):
    done = subprocess.run([os.environ["BEAMSIGHT"], *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


own, other, silent = (f"{out}/{name}.mha" for name in ("own", "other", "silent"))
status, said = run("dose", "demo:water", "--grid", "10", "--quality", "fast", "--out", own)
assert status == 0, said
with open(own, "rb") as file:
    content = file.read()
# The same frame of reference, another patient; and a volume as other programs write it.
with open(other, "wb") as file:
    file.write(content.replace(b"PatientID = DEMO-WATER", b"PatientID = DEMO-OTHER", 1))
end = content.index(b"ElementDataFile = LOCAL\n")
keys = (b"Comment", b"Quantity", b"Unit", b"PatientID", b"PatientName", b"FrameOfReferenceUID")
header = b"".join(line + b"\n" for line in content[:end].splitlines() if not line.startswith(keys))
with open(silent, "wb") as file:
    file.write(header + content[end:])

for words in (("dvh", "demo:water", "--dose", other), ("gamma", own, other), ("gamma", own, own, "--case", "demo:thorax")):
    status, said = run(*words)
    assert status == 1 and "panicked" not in said, (words, said)
status, said = run("dvh", "demo:water", "--dose", other)
assert "DEMO-OTHER" in said and "DEMO-WATER" in said and "other.mha" in said, said
status, said = run("dvh", "demo:thorax", "--dose", own)
assert status == 1 and "frame of reference" in said, said
status, said = run("dvh", "demo:water", "--dose", other, "--any-patient")
assert status == 0 and "dose of another patient" in said, said
status, said = run("dvh", "demo:water", "--dose", silent)
assert status == 0 and "says nothing of its quantity, patient, frame of reference" in said, said
