"""The cases of `tests/cases` by the Windows program: as `tests/cases/main.rs` runs them, without the limits of memory."""

import os
import re
import shlex
import subprocess
import tomllib

import build

CASES = build.ROOT / "tests/cases"
# Left out, each with its reason.
LEFT_OUT = {
    "attack_pipes": "named pipes and devices in folders are of Unix",
    "killed_export": "it reads the Unix mode of a folder under way; part verbs kills an export",
    "terminal_controls": "it has names with control letters, and Windows keeps none",
}


def run(run, checks):
    subprocess.run(["bash", ".ci/peers"], cwd=build.ROOT, check=False, capture_output=True)
    python = build.ROOT / "target/peers/bin/python"
    if not python.is_file():
        checks.skipped("cases", "no python with pydicom (bash .ci/peers)")
        return
    program = run.folder / "beamsight"
    words = [run.wine.tool("wine"), str(run.program)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    program.chmod(0o755)
    wanted = os.environ.get("BEAMSIGHT_CASE", "")
    for folder in sorted(path.parent for path in CASES.glob("*/case.toml")):
        if folder.name in LEFT_OUT:
            checks.skipped(folder.name, LEFT_OUT[folder.name])
        elif wanted in folder.name:
            checks.check(folder.name, one, run, folder, python, program)


def one(run, folder, python, program):
    case = tomllib.loads((folder / "case.toml").read_text())
    made = run.folder / "cases" / folder.name
    made.mkdir(parents=True)
    environment = run.wine.environment | {
        "BEAMSIGHT": str(program),
        "BEAMSIGHT_STATE": "",
        "PYTHONPATH": str(CASES / "common"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for script in (case.get("make"), case.get("check")):
        if script:
            code, text = output([python, folder / script, made], environment)
            assert code == 0, f"{script}: exit {code}\n{text[-3000:]}"
    for command in case.get("run", []):
        words = [word.replace("{made}", str(made)).replace("{case}", str(folder)) for word in command["args"]]
        code, text = output([program, *words], environment)
        wrong = list(faults(command, code, text))
        assert not wrong, f"{' '.join(words)}: {'; '.join(wrong)}\n{text[-3000:]}"


def output(words, environment):
    done = subprocess.run(list(map(str, words)), env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=1200)
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def faults(command, code, text):
    if code != command.get("exit", 0):
        yield f"exit {code}, not {command.get('exit', 0)}"
    # Paths of a folder's files have backslashes.
    slashes = text.replace("\\", "/")
    yield from (f"does not say '{words}'" for words in command.get("says", []) if words not in text and words not in slashes)
    yield from (f"says '{words}'" for words in [*command.get("never", []), "panicked"] if words in text)
    for wanted in command.get("number", []):
        found = number(text, wanted["after"])
        if found is None or abs(found - wanted["is"]) > wanted["within"]:
            yield f"{found} behind '{wanted['after']}', not {wanted['is']} within {wanted['within']}"


def number(text, after):
    """The first number behind the first `after`."""
    behind = text.partition(after)[2]
    found = re.search(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", behind)
    return float(found.group()) if found else None
