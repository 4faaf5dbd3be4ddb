import os
import sys

from program import Checks
from raw import ct, element, write

out, checks = sys.argv[1], Checks()
pipe = f"{out}/pipe"
os.mkfifo(pipe)
for ending in ("mha", "json", "toml"):
    os.symlink(pipe, f"{out}/link.{ending}")
checks.refused(pipe, "named pipe")
checks.refused("/dev/zero", "/dev/zero", "a device")
for name, verb in [("link.mha", ["info"]), ("link.json", ["info"]), ("link.toml", ["dose", "demo:water", "--plan"]),
                   ("link.toml", ["path", "demo:water", "--hu-table"]), ("pipe", ["gamma", pipe])]:
    checks.refused(f"{out}/{name}", "named pipe", verb=verb)

case, outside = f"{out}/case", f"{out}/outside"
for folder, n in ((case, 0), (outside, 2)):
    os.makedirs(folder)
    write(f"{folder}/{n}.dcm", ct(element(0x00200032, b"DS", f"0\\0\\{n}")))
os.mkfifo(f"{case}/fifo")
for target, name in [(case, "itself"), (f"{case}/0.dcm", "again.dcm"), ("nowhere", "nowhere.dcm"), (outside, "out"),
                     (f"{outside}/2.dcm", "out.dcm")]:
    os.symlink(target, f"{case}/{name}")
checks.opens(case, "1 images", "2 link(s) lead out", "out.dcm", "pipes, sockets or devices were passed over [fifo]")
# A link that is named itself is followed.
checks.opens(f"{case}/out")
os.remove(f"{case}/0.dcm")
os.remove(f"{case}/again.dcm")
checks.refused(case, "no files", "2 link(s)")
checks.end()
