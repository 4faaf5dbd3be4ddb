import pathlib
import sys

made = pathlib.Path(sys.argv[1])
for name, gy_per_mu in [("right", 0.01), ("threefold", 0.03), ("tenfold", 0.1)]:
    head = f"# ssd_mm: 1000\n# depth_mm: 15\n# reference_mm: 100\n# gy_per_mu: {gy_per_mu}\n"
    (made / f"{name}.csv").write_text(head + "x_mm,y_mm,factor\n100,100,1.0\n")
