"""What it takes: Debian's packages, Rust's target, the two programs, a library that Wine 8 lacks."""

import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = "x86_64-pc-windows-gnu"
# The command of each package that shows whether it is there.
PACKAGES = {
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "x86_64-w64-mingw32-windres": "binutils-mingw-w64-x86-64",
    "wine": "wine",
    "wine64": "wine64",
    "makensis": "nsis",
    "zip": "zip",
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json": "mesa-vulkan-drivers",
    "/usr/lib/x86_64-linux-gnu/libvulkan.so.1": "libvulkan1",
}

# Rust's library takes random numbers from `ProcessPrng` of bcryptprimitives.dll, which Windows has since version 7 and Wine 8 has
# not: this stands in for it over the call that both have, beside the program under test and in no package.
STAND_IN = """
#include <stddef.h>
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, size_t length)
{
    while (length > 0) {
        unsigned long part = length > 65536 ? 65536 : (unsigned long)length;
        if (!SystemFunction036(buffer, part)) return 0;
        buffer += part;
        length -= part;
    }
    return 1;
}
"""


def is_there(name):
    if name == "wine64":
        return pathlib.Path("/usr/lib/wine/wine64").exists() or shutil.which(name)
    return pathlib.Path(name).exists() if name.startswith("/") else shutil.which(name)


def install_missing():
    """Installs packages and the target of Rust; the packages that are still missing."""
    missing = [package for name, package in PACKAGES.items() if not is_there(name)]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        subprocess.run(["apt-get", "update", "-q"], env=environment, check=True, stdout=subprocess.DEVNULL)
        words = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing]
        subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
        missing = [package for name, package in PACKAGES.items() if not is_there(name)]
    targets = subprocess.run(["rustup", "target", "list", "--installed"], capture_output=True, text=True).stdout
    if TARGET not in targets.split():
        subprocess.run(["rustup", "target", "add", TARGET], check=True)
    return missing


def target_folder():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


class Run:
    """A run of the checks: its folder, which goes, its programs, each built at the first use, and its Wine."""

    def __init__(self, folder, out, program, linux):
        self.folder, self.out, self.wine = folder, out, None
        self._windows, self._linux, self._prepared = program, linux, None

    def cargo(self, *words, **options):
        begin = time.monotonic()
        subprocess.run(["cargo", *words], cwd=ROOT, check=True, **options)
        print(f"cargo {' '.join(words)}: {time.monotonic() - begin:.0f} s", flush=True)

    @property
    def windows(self):
        """The Windows program as it is packed."""
        if self._windows is None:
            self.cargo("build", "--release", "--locked", "--target", TARGET)
            self._windows = target_folder() / TARGET / "release/beamsight.exe"
        return self._windows.resolve()

    @property
    def launcher(self):
        """The small program for consoles, which packages have beside it."""
        words = ["--features", "console-program", "--bin", "beamsight-console"]
        self.cargo("build", "--release", "--locked", "--target", TARGET, "-p", "beamsight-platform", *words)
        return target_folder() / TARGET / "release/beamsight-console.exe"

    @property
    def linux(self):
        if self._linux is None:
            self.cargo("build", "--release", "--locked")
            self._linux = target_folder() / "release/beamsight"
        return self._linux.resolve()

    @property
    def program(self):
        """The Windows program with the library that Wine lacks beside it."""
        if self._prepared is None:
            folder = self.folder / "program"
            folder.mkdir()
            shutil.copy(self.windows, folder / "beamsight.exe")
            self.stand_in(folder)
            self._prepared = folder / "beamsight.exe"
        return self._prepared

    def stand_in(self, folder):
        source = self.folder / "stand_in.c"
        source.write_text(STAND_IN)
        library = folder / "bcryptprimitives.dll"
        words = ["-O2", "-s", "-shared", "-o", library, source, "-ladvapi32"]
        subprocess.run(["x86_64-w64-mingw32-gcc", *words], check=True)
