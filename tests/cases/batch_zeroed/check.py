"""A disk that fails leaves zeros where values were."""
import json
import os
import subprocess
import sys

program, folder = os.environ["BEAMSIGHT"], sys.argv[1]
words = ["dose", "demo:water", "--grid", "10", "--out", "dose.mha"]
open(f"{folder}/jobs.jsonl", "w").write(json.dumps({"name": "water", "run": words}) + "\n")


def state():
    batch = [program, "batch", f"{folder}/jobs.jsonl", "--out", f"{folder}/night", "--device", "cpu", "--json"]
    return json.loads(subprocess.run(batch, capture_output=True, text=True).stdout)["jobs"][0]["state"]


assert state() == "done"
path = f"{folder}/night/water/dose.mha"
whole, times = open(path, "rb").read(), os.stat(path)
assert state() == "done before"
middle = len(whole) // 2
with open(path, "r+b") as file:
    file.seek(middle)
    file.write(bytes(4096))
os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
assert open(path, "rb").read() != whole, "there were zeros before"
assert state() == "done", "the damaged dose is kept"
assert open(path, "rb").read() == whole
