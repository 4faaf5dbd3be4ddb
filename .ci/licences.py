"""The licences of everything that is linked into the program, for a package: python3 .ci/licences.py FILE [TARGET]

Crates by `cargo metadata`, texts from their sources in the registry. Where a crate ships no text the one of its licence is taken
from another crate that does; of MIT the standard one with the crate's authors.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

NAMES = re.compile(r"^(licen[cs]e|copying|unlicense|notice|copyright|ofl|ufl)", re.IGNORECASE)
# Which licence a text is, by words that no other has.
KNOWN = {
    "Apache-2.0": "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION",
    "MPL-2.0": "Mozilla Public License Version 2.0",
    "BSL-1.0": "Boost Software License - Version 1.0",
}
CC0 = "Its authors have given it to the public domain: https://creativecommons.org/publicdomain/zero/1.0/"
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify,
merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished
to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def linked(target):
    """The crates of others in the program for a system: those that it reaches by dependencies that are no build's or test's."""
    words = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    metadata = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    seen, waiting = {root}, [root]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return [p for p in metadata["packages"] if p["id"] in seen and p["source"]]


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [f for f in sorted(folder.rglob("*")) if f.is_file() and NAMES.match(f.name) and len(f.relative_to(folder).parts) < 4]
    found = [f.read_text(errors="replace").strip() for f in files if f.suffix.lower() in ("", ".txt", ".md", ".mit", ".apache")]
    return list(dict.fromkeys(text for text in found if len(text) > 200))


def main():
    packages = sorted(linked(sys.argv[2] if len(sys.argv) > 2 else "x86_64-unknown-linux-gnu"), key=lambda p: (p["name"], p["version"]))
    standard, of_text, bare = {}, collections.defaultdict(list), []
    for package in packages:
        name = f"{package['name']} {package['version']} ({package['license'] or 'its own licence'})"
        own = texts(package)
        for text in own:
            of_text[text].append(name)
            for licence, words in KNOWN.items():
                if words in text:
                    standard.setdefault(licence, text)
        if not own:
            bare.append((package, name))
    for package, name in bare:
        licence = package["license"] or ""
        if "MIT" in licence:
            of_text[f"Copyright (c) {', '.join(package['authors']) or 'the authors of ' + package['name']}\n\n{MIT}"].append(name)
            continue
        if licence == "CC0-1.0":
            of_text[CC0].append(name)
            continue
        fitting = [standard[known] for known in KNOWN if known in licence and known in standard]
        if not fitting:
            sys.exit(f"{name} has no text of its licence, and no other crate has it")
        of_text[fitting[0]].append(name)
    rule = "\n\n" + "-" * 100 + "\n\n"
    parts = [", ".join(names) + "\n\n" + text for text, names in of_text.items()]
    head = f"Beamsight is under MIT or Apache-2.0. Linked into it are {len(packages)} crates, with these licences.\n"
    pathlib.Path(sys.argv[1]).write_text(head + rule + rule.join(parts) + "\n")
    print(f"{len(packages)} crates, {len(parts)} texts, {len(bare)} of them by the name of the licence")


main()
