"""One program for window and console: its subsystem, exit codes, streams, and the small program for consoles beside it."""

import shutil
import struct
import subprocess

WINDOWS, CONSOLE = 2, 3


def run(run, checks):
    checks.check("the program is one of windows, that beside it one of consoles", subsystems, run)
    checks.check("icon and version in the properties", properties, run)
    checks.check("exit codes", exits, run)
    checks.check("streams: files, pipes, letters of UTF-8", streams, run)
    checks.check("a pipe that is closed", closed_pipe, run)
    checks.check("the program for consoles passes words, streams and exit codes on", launched, run)


def subsystem(path):
    data = path.read_bytes()[:1024]
    header = struct.unpack_from("<I", data, 0x3C)[0]
    return struct.unpack_from("<H", data, header + 24 + 68)[0]


def subsystems(run):
    found = [subsystem(run.windows), subsystem(run.launcher)]
    assert found == [WINDOWS, CONSOLE], found


def properties(run):
    data = run.windows.read_bytes()
    for words in ("ProductVersion", "FileDescription", "not for clinical use"):
        assert words.encode("utf-16-le") in data, f"{words} is not in the resources"
    assert (run.windows.read_bytes().count(b"\x89PNG\r\n\x1a\n")) >= 6, "no icon"


def exits(run):
    for words, code in [(["info", "demo:water"], 0), (["info", "no-such-folder"], 1), (["dose"], 2), (["infos", "x"], 2), (["--version"], 0)]:
        done = run.wine.run(run.program, *words, environment={"BEAMSIGHT_STATE": ""})
        assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}: {done.stderr.decode()}"


def streams(run):
    folder = run.folder / "streams"
    folder.mkdir()
    done = run.wine.run(run.program, "info", "Jürgens Fälle", cwd=folder)
    said = done.stderr.decode("utf-8")
    assert "Jürgens Fälle" in said and not done.stdout, said
    by_shell = f"{run.wine.windows_path(run.program)} info demo:thorax > thorax.txt 2> errors.txt"
    run.wine.call("wine", "cmd", "/c", by_shell, cwd=folder)
    text = (folder / "thorax.txt").read_text("utf-8")
    assert "CT" in text, text


def closed_pipe(run):
    process = run.wine.start(run.program, "dose", "--help", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    said = process.stderr.read().decode()
    process.wait(60)
    assert "panicked" not in said, said


def launched(run):
    folder = run.program.parent
    com = folder / "beamsight.com"
    shutil.copy(run.launcher, com)
    done = run.wine.run(com, "info", "demo:water")
    direct = run.wine.run(run.program, "info", "demo:water")
    assert (done.returncode, done.stdout) == (0, direct.stdout) and done.stdout, done.stderr.decode()
    done = run.wine.run(com, "info", 'a "b" \\ ü雪')
    assert done.returncode == 1 and 'a "b" \\ ü雪' in done.stderr.decode(), (done.returncode, done.stderr.decode())
    assert run.wine.run(com, "dose").returncode == 2
