import sys

out = sys.argv[1]
for name, spacing, size in [("nan", "1 nan 1", "2 2 2"), ("zero", "1 0 1", "2 2 2"), ("short", "1 1 1", "200 200 200"),
                            ("huge", "1 1 1", "900000 900000 900000")]:
    with open(f"{out}/{name}.mha", "wb") as f:
        f.write(f"NDims = 3\nDimSize = {size}\nElementSpacing = {spacing}\nElementType = MET_SHORT\nElementDataFile = LOCAL\n".encode()
                + bytes(16))
with open(f"{out}/s.json", "w") as f:
    f.write('{"version": 1')
