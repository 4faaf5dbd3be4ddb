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

    def end(self):
        sys.exit(self.wrong > 0)
