"""Runs the program for a `check.py`: the one that BEAMSIGHT names, with no state of the user's."""
import os
import re
import subprocess
import sys


def run(*words):
    """Exit status, and standard output and error together."""
    environment = dict(os.environ, BEAMSIGHT_STATE="")
    done = subprocess.run([os.environ["BEAMSIGHT"], *map(str, words)], capture_output=True, text=True, env=environment, timeout=600)
    return done.returncode, done.stdout + done.stderr


def number(text, after):
    """The first number behind the words, or None."""
    found = re.search(re.escape(after) + r"[^0-9+-]*([+-]?[0-9.]*[0-9](?:e[+-]?[0-9]+)?)", text)
    return float(found[1]) if found else None


class Checks:
    """Says each check, and ends the script: 1 where one was wrong."""

    def __init__(self):
        self.wrong = 0

    def __call__(self, name, right, told=""):
        self.wrong += not right
        print(f"{'ok   ' if right else 'WRONG'} {name}{': ' + str(told) if told != '' else ''}")

    def refused(self, path, *words, verb=("info",)):
        """The program refuses a file with its name and these words."""
        status, said = run(*verb, path)
        missing = [word for word in (os.path.basename(path), *words) if word not in said]
        self(f"{path} is refused", status == 1 and "panicked" not in said and not missing, f"{status}, without {missing}: {said}" if missing else status)

    def opens(self, path, *words):
        """The program opens a case, and says these words of it."""
        status, said = run("info", path)
        missing = [word for word in words if word not in said]
        self(f"{path} opens", status == 0 and "panicked" not in said and not missing, f"{status}, without {missing}: {said}" if status or missing else "")

    def end(self):
        sys.exit(self.wrong > 0)
