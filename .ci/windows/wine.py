"""Wine in a prefix of its own: programs run, and the prefix goes with the run."""

import os
import pathlib
import shutil
import subprocess

# A user whose name is not ASCII, as its folders are then.
USER = "Jörg"


class Wine:
    def __init__(self, folder):
        self.prefix = folder / "prefix"
        self.environment = dict(os.environ)
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "WGPU_BACKEND", "BEAMSIGHT_CACHE", "BEAMSIGHT_STATE", "BEAMSIGHT_LOG"):
            self.environment.pop(name, None)
        self.environment |= {
            "WINEPREFIX": str(self.prefix),
            "WINEARCH": "win64",
            "WINEDEBUG": "-all",
            # Neither Mono nor Gecko is asked for, nor menus of the desktop written.
            "WINEDLLOVERRIDES": "mscoree,mshtml=;winemenubuilder.exe=d",
            "USER": USER,
            "LOGNAME": USER,
            "LC_ALL": "C.UTF-8",
        }
        self.call("wineboot", "-i", timeout=300)

    @staticmethod
    def tool(name):
        """A command of Wine, which Debian keeps beside its library."""
        return shutil.which(name) or f"/usr/lib/wine/{name}"

    def call(self, *words, timeout=600, **options):
        environment = self.environment | options.pop("environment", {})
        return subprocess.run(
            [self.tool(words[0]), *map(str, words[1:])],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            **options,
        )

    def run(self, program, *words, **options):
        """Runs a Windows program to its end."""
        return self.call("wine", program, *words, **options)

    def start(self, program, *words, environment={}, **options):
        words = [self.tool("wine"), str(program), *map(str, words)]
        return subprocess.Popen(words, env=self.environment | environment, stdin=subprocess.DEVNULL, **options)

    def windows_path(self, path):
        """The path of a file as Windows programs have it."""
        return "Z:" + str(pathlib.Path(path).resolve()).replace("/", "\\")

    @property
    def user(self):
        """The folder of the user."""
        folders = [f for f in (self.prefix / "drive_c/users").iterdir() if f.name != "Public"]
        return folders[0]

    def close(self):
        self.call("wineserver", "-k")
        self.call("wineserver", "-w")
