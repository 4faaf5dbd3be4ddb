"""A portable zip and an installer for one user, in target/windows; both are tried."""

import hashlib
import shutil
import subprocess
import zipfile

import build

STAMP = (2026, 1, 1, 0, 0, 0)


def run(run, checks):
    checks.check("portable zip", portable, run)
    checks.check("installer", installer, run)
    checks.check("installed, run and removed; the user's files stay", tried, run)


def version():
    lines = (build.ROOT / "Cargo.toml").read_text().splitlines()
    return next(line.split('"')[1] for line in lines if line.startswith("version = "))


def name():
    return f"beamsight-{version()}-x86_64-windows"


def staged(run):
    """The folder of the program as users have it."""
    folder = run.folder / name()
    if folder.exists():
        return folder
    folder.mkdir()
    shutil.copyfile(run.windows, folder / "beamsight.exe")
    shutil.copyfile(run.launcher, folder / "beamsight.com")
    root = build.ROOT
    shutil.copyfile(root / "assets/package/beamsight.ico", folder / "beamsight.ico")
    shutil.copytree(root / "assets/guide", folder / "guide")
    for source, target in (("README.md", "README.md"), ("CHANGELOG.md", "CHANGELOG.md"), ("LICENSE-MIT", "LICENSE-MIT.txt"), ("LICENSE-APACHE", "LICENSE-APACHE.txt")):
        shutil.copyfile(root / source, folder / target)
    words = ["python3", root / ".ci/licences.py", folder / "licences.txt", build.TARGET]
    subprocess.run(words, cwd=root, check=True, stdout=subprocess.DEVNULL)
    return folder


def portable(run):
    """The zip, of files by name and of one date: two builds of one program give one sum."""
    folder, path = staged(run), run.out / f"{name()}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in sorted(f for f in folder.rglob("*") if f.is_file()):
            entry = zipfile.ZipInfo(f"{folder.name}/{file.relative_to(folder).as_posix()}", STAMP)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, file.read_bytes(), compresslevel=6)
    unpacked = run.folder / "Unpacked Müller"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(unpacked)
    program = unpacked / folder.name
    run.stand_in(program)
    done = run.wine.run(program / "beamsight.com", "info", "demo:water")
    assert done.returncode == 0 and done.stdout, done.stderr.decode()
    return summed(path)


def summed(path):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    sums = path.with_name("SHA256SUMS")
    lines = [line for line in (sums.read_text().splitlines() if sums.exists() else []) if not line.endswith(path.name)]
    sums.write_text("\n".join([*lines, f"{digest}  {path.name}"]) + "\n")
    return f"{path.name}, {path.stat().st_size / 1e6:.1f} MB, sha256 {digest[:16]}..."


def removal(folder):
    """Lines that remove the files and folders that were installed, and no others."""
    entries = sorted(folder.rglob("*"), reverse=True)
    lines = []
    for entry in entries:
        path = "$INSTDIR\\" + str(entry.relative_to(folder)).replace("/", "\\")
        lines.append(f'{"RMDir" if entry.is_dir() else "Delete"} "{path}"')
    return "\n".join(lines) + "\n"


def installer_path(run):
    return run.out / f"{name()}-setup.exe"


def installer(run):
    folder, lines = staged(run), run.folder / "removal.nsh"
    lines.write_text(removal(folder))
    script = build.ROOT / "assets/package/beamsight.nsi"
    facts = {"VERSION": version(), "PROGRAM": folder, "REMOVAL": lines, "OUT": installer_path(run)}
    words = ["makensis", "-V2", "-INPUTCHARSET", "UTF8", *(f"-D{key}={value}" for key, value in facts.items()), script]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return summed(installer_path(run))


def tried(run):
    wine, local = run.wine, run.wine.user / "AppData/Local"
    done = wine.run(installer_path(run), "/S", timeout=900)
    assert done.returncode == 0, f"the installer ended with {done.returncode}"
    folder = local / "Programs/Beamsight"
    assert sorted(path.name for path in folder.iterdir()) == sorted([path.name for path in staged(run).iterdir()] + ["uninstall.exe"])
    menu = wine.user / "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Beamsight.lnk"
    assert menu.is_file(), "no entry in the start menu"
    command = registered(wine, r"HKCU\Software\Classes\Beamsight.case\shell\open\command")
    assert "beamsight.exe" in command and "%1" in command, command
    run.stand_in(folder)
    done = wine.run(folder / "beamsight.exe", "info", "demo:water")
    assert done.returncode == 0 and done.stdout, done.stderr.decode()
    # The user's own files: a case beside the program, and what the program keeps between runs.
    (folder / "my plan.json").write_text("{}")
    state = local / "beamsight/state"
    state.mkdir(parents=True, exist_ok=True)
    (state / "mine").write_text("kept")
    done = wine.run(folder / "uninstall.exe", "/S", f"_?={wine.windows_path(folder)}", timeout=300)
    assert done.returncode == 0, f"the removal ended with {done.returncode}"
    left = sorted(path.name for path in folder.iterdir())
    # Started with `_?=` it cannot remove itself, and the stand-in is no file of the installer.
    assert set(left) <= {"bcryptprimitives.dll", "my plan.json", "uninstall.exe"} and "my plan.json" in left, left
    assert (state / "mine").read_text() == "kept" and not menu.exists()
    assert not registered(wine, r"HKCU\Software\Classes\Beamsight.case")
    return "left: my plan.json and the state folder"


def registered(wine, key):
    done = wine.call("wine", "reg", "query", key, "/s")
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
