"""The window on such a display, as a user has it: what its widgets say, and a hand that clicks, drags and types.

Where a widget is, and what it says, comes from the accessibility tree that the program writes of each frame
(`beamsight --access-tree FILE`), by the names that a screen reader reads.
"""

import json
import os
import signal
import subprocess
import time

# Software that draws a frame is slow, and so are two cores that compute a dose meanwhile.
PATIENCE_S = 180.0
# Doses of a plan on two cores that others use too.
COMPUTES_S = 1500.0

# What a person takes for an act, of a mind made up, a place pointed at and a button; and for a key
# (keystroke-level model: Card, Moran and Newell, Commun. ACM 23 (1980) 396).
ACT_S, KEY_S = 1.35 + 1.1 + 0.2, 0.28


class Failure(Exception):
    """A step that did not come to its end, with what the window says."""


class Window:
    def __init__(self, screen, program, folder, case=None, name="window"):
        self.screen, self.program, self.folder = screen, program, folder
        self.person_s = 0.0
        self.tree_file = folder / "tree.json"
        self.tree_file.unlink(missing_ok=True)
        self.environment = own_environment(folder, screen)
        words = [str(program), *([case] if case else []), "--access-tree", str(self.tree_file)]
        self.log = folder / f"{name}.log"
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                words, env=self.environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.wait("a first frame", lambda: self.tree()["frame"] > 0)
        # Without a window manager nobody else gives the window the keyboard.
        found = screen.xdotool("search", "--sync", "--onlyvisible", "--pid", self.process.pid).split()
        screen.xdotool("windowfocus", "--sync", found[-1])

    # What the window says.

    def tree(self):
        try:
            return json.loads(self.tree_file.read_text())
        except FileNotFoundError:
            return {"frame": 0, "events": 0, "stands": False, "settled": False, "widgets": []}

    def all(self, name, role=None, part=False):
        """Widgets of that accessible name, or whose name has it as a part."""
        fits = (lambda said: name in said) if part else (lambda said: name == said)
        widgets = self.tree()["widgets"]
        return [w for w in widgets if fits(w["name"]) and role in (None, w["role"])]

    def has(self, name, **how):
        return bool(self.all(name, **how))

    def value(self, name, **how):
        return self.only(name, **how).get("value")

    def only(self, name, nth=0, **how):
        found = self.all(name, **how)
        if not found:
            raise Failure(f"'{name}' is not there")
        return found[nth]

    def texts(self):
        return [w["name"] for w in self.tree()["widgets"] if w["role"] == "Label" and "rect" in w]

    # Waiting.

    def wait(self, what, until, limit_s=PATIENCE_S):
        """Until that holds; the window that ends meanwhile, or takes longer, is a failure."""
        begin = time.monotonic()
        while not until():
            if self.process.poll() is not None:
                raise Failure(f"the window ended with {self.process.returncode} before {what}: {self.log.read_text()}")
            if time.monotonic() - begin > limit_s:
                raise Failure(f"still no {what} after {limit_s:.0f} s")
            time.sleep(0.05)

    def settle(self, limit_s=COMPUTES_S):
        """Until no job waits or runs. What was asked for before this call is under way by now."""

        def rests():
            tree = self.tree()
            return tree["settled"] and tree["stands"]

        self.wait("rest", rests, limit_s)

    def events(self):
        return self.tree()["events"]

    def stand(self, limit_s=5.0):
        begin = time.monotonic()
        while not self.tree()["stands"] and time.monotonic() - begin < limit_s:
            time.sleep(0.02)

    def drawn(self, events, limit_s=10.0):
        """Until the window has had so many events of mouse and keys, and has drawn what they change."""
        begin = time.monotonic()
        while time.monotonic() - begin < limit_s:
            tree = self.tree()
            if tree["events"] >= events and tree["stands"]:
                return
            time.sleep(0.02)

    # The hand.

    def move(self, place):
        place = tuple(round(at) for at in place)
        events = self.events()
        if self.screen.pointer() != place:
            self.screen.xdotool("mousemove", *place)
            self.drawn(events + 1)

    def press(self, place, button=1, times=1):
        self.person_s += ACT_S
        self.move(place)
        events = self.events()
        self.screen.xdotool("click", "--repeat", times, "--delay", 60, button)
        self.drawn(events + 2 * times)

    def click(self, name, nth=0, times=1, scroll_at=None, **how):
        """A click on the widget of that name, which is scrolled to first."""
        widget = self.in_sight(name, nth, scroll_at, **how)
        if widget.get("disabled"):
            raise Failure(f"'{name}' is disabled")
        self.press(middle(widget), times=times)

    def in_sight(self, name, nth=0, scroll_at=None, **how):
        self.wait(f"'{name}'", lambda: self.has(name, **how), 20.0)
        for _ in range(60):
            # Boxes and menus find their place in a frame or two.
            self.stand()
            widget = self.only(name, nth, **how)
            if "rect" in widget:
                return widget
            left, top, right, bottom = widget["beyond"]
            at = scroll_at or ((left + right) / 2, 0.45 * self.screen.size[1])
            self.move(at)
            self.wheel(-1 if top > at[1] else 1)
        raise Failure(f"'{name}' cannot be scrolled to")

    def choose(self, opener, entry, **how):
        """An entry of a list or menu: the last widget of that name is in the one that is open."""
        before = len(self.all(entry))
        self.click(opener, **how)
        self.wait(f"'{entry}' in '{opener}'", lambda: len(self.all(entry)) > before, 20.0)
        self.click(entry, nth=-1)

    def wheel(self, notches):
        events = self.events()
        self.screen.xdotool("click", "--repeat", abs(notches), "--delay", 30, 4 if notches > 0 else 5)
        self.drawn(events + abs(notches))
        # The panels slide to their place.
        time.sleep(0.2)

    def key(self, *keys):
        self.person_s += KEY_S * len(keys)
        events = self.events()
        self.screen.xdotool("key", *keys)
        self.drawn(events + 2 * len(keys))

    def type(self, text):
        self.person_s += KEY_S * len(text)
        events = self.events()
        self.screen.xdotool("type", "--delay", 25, text)
        self.drawn(events + 2 * len(text))

    def fill(self, field, text, enter=True, **how):
        """Replaces what a field says."""
        self.click(field, **how)
        self.key("ctrl+a")
        self.type(text)
        if enter:
            self.key("Return")

    def drag(self, places, button=1, release=True):
        self.move(places[0])
        self.screen.xdotool("mousedown", button)
        for place in places[1:]:
            self.move(place)
        if release:
            self.drop(button)

    def drop(self, button=1):
        events = self.events()
        self.screen.xdotool("mouseup", button)
        self.drawn(events + 1)

    def answer_browser(self, path):
        """The window's own file browser, which is there where the desktop has none: a typed path."""
        self.wait("the file browser", lambda: self.has("Path", role="TextInput"), 20.0)
        self.fill("Path", str(path), role="TextInput")
        self.wait("the end of the browser", lambda: not self.has("Path", role="TextInput"), 20.0)

    def save_as(self, path, button):
        """The menu `Save` with a typed path."""
        self.click("Save")
        self.wait("the menu", lambda: self.has("File to save"), 20.0)
        self.fill("File to save", str(path), enter=False)
        self.click(button)

    # The end.

    def kill(self):
        """As a power cut does it."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def middle(widget):
    left, top, right, bottom = widget["rect"]
    return ((left + right) / 2, (top + bottom) / 2)


def own_environment(folder, screen):
    """Folders of its own, and neither a session bus nor a desktop: no dialog but the window's own."""
    environment = dict(os.environ, DISPLAY=screen.display, HOME=str(folder / "home"))
    for name in ("DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"):
        environment.pop(name, None)
    places = {"XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data"}
    places |= {"XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "runtime"}
    for name, place in places.items():
        environment[name] = str(folder / place)
    for place in ["home", *places.values()]:
        (folder / place).mkdir(mode=0o700, exist_ok=True)
    return environment
