"""Fluence optimised on true collapsed-cone columns by projected gradient steps of numpy: TG-119's C-shape."""

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
for turn in range(1, 401):
    ahead = fluences + (turn - 1) / (turn + 2) * (fluences - before)
    value, gradient = objective(ahead)
    before, fluences = fluences, np.maximum(ahead - step * gradient, 0)
    if turn in (1, 100, 400):
        print(f"turn {turn}: {value:.3f} Gy2")

doses = fluences @ matrix
for name, rows in (("target", target), ("core", core)):
    d95, d10 = np.percentile(doses[rows], [5, 90])
    print(f"{name}: D95 {d95:.1f} Gy, D10 {d10:.1f} Gy by the columns (fluence, not deliverable)")
