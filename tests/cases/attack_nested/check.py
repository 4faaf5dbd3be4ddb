import os
import sys

from program import Checks
from raw import (END_OF_ITEM, END_OF_SEQUENCE, EXPLICIT, IMPLICIT, ITEM, UNDEFINED, bare, ct, ct_header, element, long, pixels,
                 write)

out, checks = sys.argv[1], Checks()
SEQUENCE, PRIVATE = 0x00081140, 0x4453100C

begin = long(SEQUENCE, b"SQ", UNDEFINED) + bare(ITEM, UNDEFINED)
implicit = bare(SEQUENCE, UNDEFINED) + bare(ITEM, UNDEFINED)
for name, syntax, one in (("explicit.dcm", EXPLICIT, begin), ("implicit.dcm", IMPLICIT, implicit)):
    write(f"{out}/{name}", one * 10000, syntax)
    checks.refused(f"{out}/{name}", "nested", "32")
end = bare(END_OF_ITEM, 0) + bare(END_OF_SEQUENCE, 0)
write(f"{out}/thirty.dcm", ct(begin * 30 + end * 30))
checks.opens(f"{out}/thirty.dcm")

# Read as explicit, values of a sequence of unknown VR become lengths of gigabytes.
value = bare(ITEM, UNDEFINED) + bare(0x44531010, 8) + b"\xf0" * 8 + bare(END_OF_ITEM, 0)
for name, tag in (("private.dcm", PRIVATE), ("known.dcm", SEQUENCE)):
    write(f"{out}/{name}", ct(long(tag, b"UN", UNDEFINED) + value + bare(END_OF_SEQUENCE, 0)))
    checks.opens(f"{out}/{name}")
write(f"{out}/long.dcm", ct_header() + long(PRIVATE, b"UN", UNDEFINED) + bare(ITEM, UNDEFINED) + bare(0x44531010, 0xF0F0F0F0))
checks.refused(f"{out}/long.dcm", "claims")

items = (bare(ITEM, 8) + bare(0x00081150, 0)) * (1 << 20)
write(f"{out}/items.dcm", bare(SEQUENCE, len(items)) + items, IMPLICIT)
checks.refused(f"{out}/items.dcm", "of memory")
# The first image is sound; each of the others claims 2 MB.
os.makedirs(f"{out}/series")
for n in range(1500):
    header = ct_header(1024, 1024, [element(0x00200032, b"DS", f"0\\0\\{n}"), element(0x00200013, b"IS", str(n))])
    write(f"{out}/series/{n}.dcm", header + (pixels([1000] * (1 << 20)) if n == 0 else b""))
checks.refused(f"{out}/series", "0.dcm", "of memory")
checks.end()
