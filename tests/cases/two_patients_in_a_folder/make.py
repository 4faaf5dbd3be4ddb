import sys

import study

for name in ("ONE", "ANOTHER"):
    study.ct(study.fresh(id=name, name=name), f"{sys.argv[1]}/{name}", slices=2, size=(8, 8))
