"""Exports over a clinic's folder, over an export, and over an export that another system has written into."""
import os
import subprocess
import sys

program, folder = os.environ["BEAMSIGHT"], sys.argv[1]


def export(name, *more):
    words = [program, "export", "demo:water", "--only", "plan", "--out", f"{folder}/{name}", *more]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def content(name):
    files = sorted(os.listdir(f"{folder}/{name}"))
    return {file: open(f"{folder}/{name}/{file}", "rb").read() for file in files}


os.makedirs(f"{folder}/clinic")
for file in ["CT.1.2.3.4.dcm", "RS.1.2.3.5.dcm", "RP.1.2.3.6.dcm", "RD.1.2.3.7.dcm", "RP.dcm"]:
    open(f"{folder}/clinic/{file}", "w").write(f"{file} of another system")
before = content("clinic")
code, said = export("clinic", "--overwrite")
assert code != 0 and content("clinic") == before, said
assert "CT.1.2.3.4.dcm" in said, f"the file is not named: {said}"

code, said = export("own")
assert code == 0, said
first = content("own")
assert export("own")[0] != 0 and content("own") == first, "replaced unasked"
code, said = export("own", "--overwrite")
assert code == 0, said
second = content("own")
assert second.keys() == first.keys() and second["RP.dcm"] != first["RP.dcm"], "not replaced"

open(f"{folder}/own/RP.dcm", "ab").write(b"\0\0")
changed = content("own")
code, said = export("own", "--overwrite")
assert code != 0 and "RP.dcm" in said and content("own") == changed, said
