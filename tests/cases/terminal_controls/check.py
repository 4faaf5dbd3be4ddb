import os
import sys
import unicodedata

from program import Checks, run
from raw import ct, element, write

out, checks = sys.argv[1], Checks()
RED = "\x1b[31mRED\x1b]0;title\a\b"
case = f"{out}/case\x1b[2J"
os.makedirs(case)
write(f"{case}/ct\x1b[5m.dcm", ct(element(0x00100010, b"PN", RED), element(0x0008103E, b"LO", RED)))
write(f"{case}/broken\x1b[5m.dcm", b"\x08\0\x16\0UI\xff\xff")
with open(f"{out}/plan.toml", "w") as f:
    f.write('name = "\\u001b[31m\\u009b2J"\nmachine = "no\\u001bsuch"\n[[beam]]\nname = "\\u001bc"\n')
for words in (["info", case], ["info", case, "--json"], ["info", f"{case}/nowhere"], ["dose", "demo:water", "--plan", f"{out}/plan.toml"]):
    said = run(*words)[1]
    bad = [c for c in said if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    checks(f"{words!r}", said and not bad, bad)
checks.opens(case, "[31mRED]0;title")
checks.end()
