import pathlib
import sys

made = pathlib.Path(sys.argv[1])
field = "# field_mm: 100 x 100\n# ssd_mm: 900\n"
depths = "".join(f"{100 + 0.5 * n},{67.3 - 0.14 * n:.2f}\n" for n in range(5))
(made / "pdd.csv").write_text("# curve: pdd\n" + field + depths)
across = "".join(f"{x},100\n" for x in range(-4, 5))
(made / "profile.csv").write_text("# curve: profile\n# axis: x\n# depth_mm: 100\n" + field + across)
(made / "of.csv").write_text("# ssd_mm: 900\n# depth_mm: 100\n# reference_mm: 100\n100,100,1.0\n")
