import sys

from program import Checks, run

out, checks = sys.argv[1], Checks()
deep = "[" * 1_000_000
plan, table = ["dose", "demo:water", "--plan"], ["path", "demo:water", "--hu-table"]
for name, text, words, verb in [
    ("deep.json", '{"version": 1, "view": ' + deep, ["not a session"], ["info"]),
    ("view.json", '{"version": 1, "case": "demo:water", "plans": [], "view": [' + "[]," * (8 << 20) + "0]}", ["view"], ["info"]),
    ("deep.toml", f"a = {deep}", [], plan),
    ("long.toml", "a = 1\n" * (4 << 20), ["16.8 MB"], plan),
    ("long.toml", "a = 1\n" * (4 << 20), ["1.0 MB"], table),
]:
    with open(f"{out}/{name}", "w") as f:
        f.write(text)
    checks.refused(f"{out}/{name}", *words, verb=verb)
said = run(*plan, f"{out}/deep.toml")[1]
checks("few words are said of it", len(said) < 4000, len(said))
checks.end()
