"""The window and its pictures, by Vulkan, which Wine passes on to Mesa's lavapipe; pictures stay in target/windows."""

import os
import subprocess
import sys
import time

import build
import compare

sys.path.insert(0, str(build.ROOT / ".ci/days"))
import screen  # noqa: E402

NO_STATE = {"BEAMSIGHT_CACHE": "", "BEAMSIGHT_STATE": ""}
# Letters and lines that two rasterisers place a little differently, over the whole picture.
PICTURE_STEPS = 2.0


def run(run, checks):
    buffers = run.folder / "screen"
    buffers.mkdir()
    display = screen.Screen(buffers)
    # Wine's Vulkan wants a display, which pictures without a window do not use.
    environment = NO_STATE | {"DISPLAY": display.display}
    try:
        checks.check("the window, on a display", shown, run, display, environment)
        checks.check("WGPU_BACKEND is honoured, and failures have remedies of Windows", chosen, run, environment)
        for name, words in WORKSPACES.items():
            checks.check(f"picture of {name}, beside that of Linux", rendered, run, environment, name, words)
    finally:
        display.close()


WORKSPACES = {
    "plan": ["demo:thorax", "--workspace", "plan"],
    "room": ["demo:thorax", "--view", "room"],
    "register": ["demo:thorax", "--workspace", "register"],
}


def rendered(run, environment, name, words):
    words = ["render", *words, "--grid", "5", "--size", "1200x800", "--device", "cpu"]
    pictures = [run.out / f"{name}-{system}.png" for system in ("linux", "windows")]
    for picture in pictures:
        picture.unlink(missing_ok=True)
    bare = {key: value for key, value in os.environ.items() if key != "DISPLAY"} | NO_STATE
    subprocess.run([run.linux, *words, "--out", pictures[0]], env=bare, check=True, capture_output=True)
    done = run.wine.run(run.program, *words, "--out", run.wine.windows_path(pictures[1]), environment=environment, timeout=1800)
    assert done.returncode == 0, done.stderr.decode()
    return compare.pictures(*pictures, PICTURE_STEPS)


def chosen(run, environment):
    words = ["render", "demo:water", "--grid", "10", "--device", "cpu", "--out", "metal.png"]
    done = run.wine.run(run.program, *words, cwd=run.folder, environment=environment | {"WGPU_BACKEND": "metal"})
    said = done.stderr.decode()
    assert done.returncode == 1 and "metal:" in said and "vulkan:" not in said, said
    assert "WGPU_BACKEND=dx12" in said and "apt-get" not in said, said


def shown(run, display, environment):
    process = run.wine.start(run.program, "demo:thorax", environment=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    picture = run.out / "window.png"
    begin, colours = time.monotonic(), 0
    try:
        while time.monotonic() - begin < 600 and process.poll() is None:
            time.sleep(2)
            display.picture(picture)
            colours = colours_of(picture)
            if colours > 4000:
                break
        taken = time.monotonic() - begin
        # The dose follows within this time on two cores.
        time.sleep(30)
        display.picture(picture)
    finally:
        process.kill()
        said = process.communicate()[1].decode()
    assert colours > 4000, f"{colours} colours on the screen, exit {process.returncode}: {said[-3000:]}"
    return f"{colours} colours after {taken:.0f} s; {picture.name} is to be looked at"


def colours_of(path):
    width, height, _, values = compare.picture(path)
    return len({values[at : at + 3] for at in range(0, len(values), 3 * 7)})
