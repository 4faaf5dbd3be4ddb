"""The verbs of README's table on demo cases, by both programs in folders of their own: what they write and answer is compared."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time

import compare

GRID = ["--grid", "8", "--quality", "fast", "--device", "cpu"]
JOBS = """[[job]]
name = "water"
run = ["dose", "demo:water", "--grid", "10", "--quality", "fast", "--out", "dose.mha"]

[[job]]
name = "gamma"
run = ["gamma", '..{slash}{side}{slash}dose.mha', '..{slash}{side}{slash}dose.mha', "--out", "gamma.mha"]
"""
PLAN = "\ufeff# as an editor of Windows leaves it\r\n"


class Side:
    """A program in a folder of its own."""

    def __init__(self, folder, call):
        self.folder, self.call = folder, call
        folder.mkdir()

    def run(self, *words, exit=0):
        done = self.call(words, self.folder)
        said, error = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == exit, f"{' '.join(map(str, words))}: exit {done.returncode}, not {exit}: {error[-2000:]}{said[-500:]}"
        return said


class Pair:
    def __init__(self, run):
        folder = run.folder / "verbs"
        folder.mkdir()
        environment = dict(os.environ, BEAMSIGHT_CACHE="", BEAMSIGHT_STATE="")
        environment.pop("DISPLAY", None)
        self.environment = {"BEAMSIGHT_CACHE": "", "BEAMSIGHT_STATE": ""}
        linux, windows = run.linux, run.program

        def by_linux(words, cwd):
            return subprocess.run([linux, *map(str, words)], cwd=cwd, env=environment, capture_output=True, timeout=1200)

        def by_wine(words, cwd):
            return run.wine.run(windows, *words, cwd=cwd, environment=self.environment, timeout=1800)

        self.linux, self.windows = Side(folder / "linux", by_linux), Side(folder / "windows", by_wine)

    def both(self, *words, exit=0):
        return [side.run(*words, exit=exit) for side in (self.linux, self.windows)]

    def files(self, name):
        return [side.folder / name for side in (self.linux, self.windows)]

    def text(self, *words):
        return compare.texts(*self.both(*words))

    def answer(self, *words, **options):
        return compare.answers(*(said.strip().splitlines()[-1] for said in self.both(*words, "--json", **options)))

    def volume(self, *words, out="out.mha"):
        self.both(*words, "--out", out)
        return compare.volumes(*self.files(out))

    def picture(self, *words, out):
        self.both(*words)
        return compare.pictures(*self.files(out))

    def table(self, *words, out):
        self.both(*words, "--out", out)
        return compare.texts(*(path.read_text() for path in self.files(out)))


def run(run, checks):
    pair, check = Pair(run), checks.check
    check("info", pair.text, "info", "demo:thorax")
    check("demo: X-rays", xrays, pair)
    check("path", pair.volume, "path", "demo:water", "--gantry", "30", "--isocentre", "0,0,0", "--device", "cpu")
    check("dose: collapsed cone, heterogeneous", dose, pair, "cccs.mha", compare.DOSE_PART, *GRID)
    check("dose: Monte Carlo convolution", dose, pair, "mccs.mha", compare.SAMPLED_PART, "--engine", "mccs", "--histories", "1e5", *GRID)
    check("dose: Monte Carlo with electrons", dose, pair, "mc.mha", compare.SAMPLED_PART, "--engine", "mc", "--histories", "1e5", *GRID)
    check("dvh", pair.table, "dvh", "demo:thorax", "--dose", "cccs.mha", "--metrics", "D95%,V20Gy,CI", out="dvh.csv")
    check("gamma", gamma, pair)
    check("drr", pair.picture, "drr", "demo:thorax", "--gantry", "30", "--isocentre=-72,14,25", "--device", "cpu", "--out", "drr.png", out="drr.png")
    check("register", register, pair)
    check("export, read by either program", export, pair)
    check("check, of the export", second_check, pair)
    check("batch, with backslashes, CR LF and the mark of byte order", batch, pair)
    check("machine, from a table with CR LF and the mark of byte order", machine, pair)
    check("receive and send, from Windows to Windows and from Linux", network, pair, run)
    check("find, of nobody", nobody, pair)
    check("completions, manual", words, pair)
    check("selftest", selftest, pair)
    check("names that Windows forbids", forbidden, pair)
    check("a folder of umlauts, and a path of more than 260 letters", places, pair)
    check("a kill leaves no file behind that stays", killed, pair, run)
    check("the folders of the program lie in the user's own", folders, pair, run)


def xrays(pair):
    pair.both("demo", "thorax", "--xray", "xrays")
    names = sorted(path.name for path in (pair.linux.folder / "xrays").glob("*.png"))
    assert names, "no X-ray was written"
    return "; ".join(f"{name} {compare.pictures(*pair.files('xrays/' + name))}" for name in names)


def dose(pair, name, part, *options):
    """A dose, its answer and its file."""
    said = pair.both("dose", "demo:thorax", *options, "--out", name, "--json")
    words = compare.volumes(*pair.files(name), part)
    answer = compare.answers(*(text.strip().splitlines()[-1] for text in said), max(part, compare.NUMBER_PART))
    return f"{words}; answer {answer}"


def gamma(pair):
    words = ["cccs.mha", "mccs.mha", "--dose", "3", "--dta", "3", "--device", "cpu", "--out", "gamma.mha"]
    said = pair.both("gamma", *words, "--json")
    answer = compare.answers(*(text.strip().splitlines()[-1] for text in said), compare.SAMPLED_PART)
    return f"{compare.volumes(*pair.files('gamma.mha'), compare.SAMPLED_PART)}; answer {answer}"


def register(pair):
    """The pose, whose search turns rounding into steps of its own."""
    images = ["--image", "xrays/gantry-0.png", "--image", "xrays/gantry-90.png", "--share", "0.2"]
    said = pair.both("register", "demo:thorax", *images, "--device", "cpu", "--out", "reg.dcm", "--json")
    poses = [json.loads(text.strip().splitlines()[-1])["pose"] for text in said]
    values = [list(pose.values()) if isinstance(pose, dict) else pose for pose in poses]
    apart = max(abs(x - y) for x, y in zip(*values))
    assert apart < 0.05, f"{poses[0]} and {poses[1]}"
    return f"within {apart:.1e} mm and degrees"


def export(pair):
    pair.both("export", "demo:water", "--device", "cpu", "--out", "chest")
    names = [sorted(path.name for path in folder.iterdir()) for folder in pair.files("chest")]
    assert len(names[0]) == len(names[1]) > 3, f"{len(names[0])} and {len(names[1])} files"
    by_windows = pair.windows.run("info", "chest")
    done = pair.linux.call(("info", "chest"), pair.windows.folder)
    assert done.returncode == 0, done.stderr.decode()
    compare.texts(done.stdout.decode(), by_windows)
    return f"{len(names[0])} files"


def second_check(pair):
    said = []
    for side in (pair.linux, pair.windows):
        done = side.call(("check", "chest", "--device", "cpu", "--json", "--report", "check.pdf"), side.folder)
        said.append((done.returncode, json.loads(done.stdout.decode().strip().splitlines()[-1])))
        assert (side.folder / "check.pdf").read_bytes().startswith(b"%PDF"), "no report"
    assert said[0][0] == said[1][0], f"exits {said[0][0]} and {said[1][0]}"
    return f"exit {said[0][0]} of both"


def batch(pair):
    for side, slash in ((pair.linux, "/"), (pair.windows, "\\")):
        jobs = PLAN + JOBS.replace("{slash}", slash).replace("{side}", side.folder.name).replace("\n", "\r\n")
        (side.folder / "jobs.toml").write_bytes(jobs.replace(f"..{slash}{side.folder.name}{slash}dose", "cccs").encode())
        side.run("batch", "jobs.toml", "--out", "night", "--device", "cpu")
        again = side.run("batch", "jobs.toml", "--out", "night", "--device", "cpu")
        assert (side.folder / "night/gamma/gamma.mha").is_file(), again
    return compare.volumes(*pair.files("night/water/dose.mha"))


def machine(pair):
    depths = [5, 15, 30, 50, 80, 100, 150, 200, 250]
    doses = [80.0, 100.0, 94.6, 86.2, 74.4, 67.0, 50.6, 38.2, 28.9]
    rows = [f"{depth}.0;{dose}" for depth, dose in zip(depths, doses)]
    head = ["# curve: pdd", "# field_mm: 100 x 100", "# ssd_mm: 1000", "depth_mm;dose"]
    table = "\ufeff" + "\r\n".join(head + rows) + "\r\n"
    exits = []
    for side in (pair.linux, pair.windows):
        (side.folder / "pdd.csv").write_bytes(table.encode())
        done = side.call(("machine", "check", "generic-6mv", "--pdd", "pdd.csv", "--device", "cpu", "--json"), side.folder)
        exits.append((done.returncode, done.stdout.decode().strip().splitlines()[-1:], done.stderr.decode()))
    assert exits[0][0] == exits[1][0], f"{exits[0]} and {exits[1]}"
    assert exits[0][1], exits[0][2]
    return f"exit {exits[0][0]} of both, answer {compare.answers(exits[0][1][0], exits[1][1][0])}"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def receiver(pair, run, inbox):
    port = free_port()
    words = ["receive", "--out", inbox, "--port", port, "--for", "120"]
    process = run.wine.start(run.program, *words, cwd=pair.windows.folder, environment=pair.environment, stdout=subprocess.PIPE)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield port
    finally:
        process.kill()
        process.wait()


def network(pair, run):
    count = len(list((pair.windows.folder / "chest").glob("*.dcm")))
    for side in (pair.windows, pair.linux):
        inbox = f"inbox-{side.folder.name}"
        with receiver(pair, run, inbox) as port:
            side.run("send", "chest", "--to", f"127.0.0.1:{port}", "--called", "BEAMSIGHT")
        arrived = list((pair.windows.folder / inbox).rglob("*.dcm"))
        assert len(arrived) == count, f"{len(arrived)} of {count} objects arrived"
    return f"{count} objects either way"


def nobody(pair):
    pair.both("find", "--from", f"127.0.0.1:{free_port()}", "--called", "PACS", exit=1)


def words(pair):
    for shell in ("bash", "zsh", "fish"):
        scripts = pair.both("completions", shell)
        assert scripts[0] == scripts[1], f"{shell}: the scripts differ"
    pair.both("manual", "--out", "man")
    pages = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in pair.files("man")]
    assert pages[0] == pages[1], "the pages differ"
    return f"{len(pages[0])} pages"


def selftest(pair):
    said = json.loads(pair.windows.run("selftest", "--device", "cpu", "--json").strip().splitlines()[-1])
    return f"{json.dumps(said)[:160]}"


def forbidden(pair):
    cases = [("nul.mha", "device"), ("dose.mha:x.mha", "colon"), ("CON.mha", "device"), ("a?b.mha", "allows none")]
    for name, why in cases:
        done = pair.windows.call(("dose", "demo:water", "--grid", "20", "--quality", "fast", "--out", name), pair.windows.folder)
        said = done.stderr.decode()
        assert done.returncode == 1 and why in said, f"{name}: exit {done.returncode}, {said}"
    twice = ("gamma", "cccs.mha", "mccs.mha", "--out", "Twice.csv", "--out", "tWICE.csv")
    done = pair.windows.call(twice, pair.windows.folder)
    assert done.returncode == 2 and "one file" in done.stderr.decode(), done.stderr.decode()
    (pair.windows.folder / "device.toml").write_text(JOBS.replace('"water"', '"con"'))
    done = pair.windows.call(("batch", "device.toml", "--out", "forbidden"), pair.windows.folder)
    assert done.returncode == 2 and "device" in done.stderr.decode(), done.stderr.decode()
    return f"{len(cases) + 2} names refused"


def places(pair):
    for name in ("Müller Jörg 雪", "/".join(["a folder of a long name"] * 14)):
        folder = pair.windows.folder / name
        folder.mkdir(parents=True)
        out = name.replace("/", "\\") + "\\dose.mha"
        pair.windows.run("dose", "demo:water", "--grid", "20", "--quality", "fast", "--device", "cpu", "--out", out)
        assert (folder / "dose.mha").is_file(), f"{out} was not written"
        pair.windows.run("gamma", out, out, "--device", "cpu")
        assert [path.name for path in folder.iterdir()] == ["dose.mha"], list(folder.iterdir())
    return f"{len(str(folder))} letters"


def killed(pair, run):
    folder = pair.windows.folder / "killed"
    folder.mkdir()
    words = ["export", "demo:thorax", "--device", "cpu", "--out", "killed/chest"]
    process = run.wine.start(run.program, *words, cwd=pair.windows.folder, environment=pair.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(600):
        if list(folder.iterdir()):
            break
        time.sleep(0.05)
    left = [path.name for path in folder.iterdir()]
    process.kill()
    process.wait()
    assert left and left[0].endswith(".tmp"), f"nothing was under way: {left}"
    # Wine's server gives the dead process's locks back a moment later.
    time.sleep(1)
    pair.windows.run("dose", "demo:water", "--grid", "20", "--quality", "fast", "--device", "cpu", "--out", "killed/dose.mha")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["dose.mha"], names


def folders(pair, run):
    run.wine.run(run.program, "dose", "demo:water", "--grid", "20", "--quality", "fast", cwd=pair.windows.folder)
    folder = run.wine.user / "AppData/Local/beamsight"
    assert folder.is_dir(), f"{folder} is not there; {[str(p) for p in run.wine.user.iterdir()]}"
    return str(folder.relative_to(run.wine.prefix))
