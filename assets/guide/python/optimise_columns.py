"""Fluence optimised on true collapsed-cone columns by projected gradient steps of numpy: TG-119's C-shape."""

import importlib.util
import sys

import numpy as np

import beamsight

TARGET_GY, CORE_GY = 50.0, 25.0

case = beamsight.open("demo:tg119")
found = beamsight.influence(case, goals="tg119-c-shape", beamlets=10, grid=5, quality="fast")
print(found)
matrix = found.influence
target, target_cm3 = found.structures["PTV"]
core, core_cm3 = found.structures["Core"]


def objective(fluences):
    """Mean square deviation in the target and overdose in the core, Gy2, with its gradient by fluence."""
    doses = fluences @ matrix
    by_dose = np.zeros_like(doses)
    value = 0.0
    for rows, cm3, excess in (
        (target, target_cm3, doses[target] - TARGET_GY),
        (core, core_cm3, np.maximum(doses[core] - CORE_GY, 0)),
    ):
        share = cm3 / cm3.sum()
        value += float(np.sum(share * excess**2))
        by_dose[rows] += 2 * share * excess
    return value, matrix @ by_dose


# Fluences are 0 or more: steps of Nesterov's method, projected.
fluences = before = found.fluences.astype(np.float32)
step = 1 / (2 * np.max(np.einsum("br,br->b", matrix[:, target], matrix[:, target] * (target_cm3 / target_cm3.sum()))) * len(matrix))
values = []
for turn in range(1, 401):
    ahead = fluences + (turn - 1) / (turn + 2) * (fluences - before)
    value, gradient = objective(ahead)
    values.append(value)
    before, fluences = fluences, np.maximum(ahead - step * gradient, 0)
    if turn in (1, 100, 400):
        print(f"turn {turn}: {value:.3f} Gy2")

doses = fluences @ matrix
for name, rows in (("target", target), ("core", core)):
    d95, d10 = np.percentile(doses[rows], [5, 90])
    print(f"{name}: D95 {d95:.1f} Gy, D10 {d10:.1f} Gy by the columns (fluence, not deliverable)")

if importlib.util.find_spec("matplotlib") is None:
    sys.exit(0)  # The picture needs matplotlib.
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for name, rows, cm3 in (("PTV", target, target_cm3), ("Core", core, core_cm3)):
    order = np.argsort(doses[rows])
    left.plot(doses[rows][order], 100 * (1 - np.cumsum(cm3[order]) / cm3.sum()), label=name)
left.set(xlabel="dose (Gy)", ylabel="volume (%)", xlim=(0, None), title="by the columns, not deliverable")
left.legend()
right.loglog(range(1, 401), values)
right.set(xlabel="turn", ylabel="objective (Gy2)")
figure.savefig("optimise_columns.png", dpi=80)
