"""Kills an export with its files under way, then exports beside it; then exports beside one that is under way."""
import os
import subprocess
import sys
import time

program, folder = os.environ["BEAMSIGHT"], sys.argv[1]


def begin(name):
    words = [program, "export", "demo:thorax", "--only", "ct,structures,plan", "--out", f"{folder}/{name}"]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def hidden():
    return [name for name in os.listdir(folder) if name.startswith(".")]


def written():
    return sum(len(files) for name in hidden() for _, _, files in os.walk(f"{folder}/{name}"))


def until_written(process):
    while written() < 5:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.002)


def export(name):
    words = [program, "export", "demo:water", "--only", "plan", "--out", f"{folder}/{name}"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


killed = begin("killed")
until_written(killed)
killed.kill()
killed.wait()
assert hidden() and not os.path.exists(f"{folder}/killed")
assert all(os.stat(f"{folder}/{name}").st_mode & 0o077 == 0 for name in hidden())
export("next")
assert hidden() == [], hidden()

living = begin("living")
until_written(living)
export("beside")
assert living.wait() == 0, living.stderr.read()
assert os.path.isfile(f"{folder}/living/CT0001.dcm") and hidden() == []
