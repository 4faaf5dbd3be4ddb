"""Gamma of two doses of the demo chest, in beamsight's words and in those of pymedphys."""

import importlib.util
import sys

import numpy as np

import beamsight

case = beamsight.open("demo:thorax")
reference = beamsight.dose(case, grid=5, quality="standard")
evaluated = beamsight.dose(case, grid=5, quality="fast")

answer = beamsight.gamma(reference, evaluated, dose=2, dta=2, case=case)
print(answer)

# The same arrays in a script that was written for pymedphys.gamma.
axes = reference.grid.axes()
gamma = beamsight.gamma(axes, reference.gy, axes, evaluated.gy, 2, 2, lower_percent_dose_cutoff=10, max_gamma=2)
judged = gamma[~np.isnan(gamma)]
print(f"of the maximum: {100 * np.mean(judged <= 1):.2f} % of {judged.size} points pass")

if importlib.util.find_spec("matplotlib") is None:
    sys.exit(0)  # The picture needs matplotlib.
import matplotlib.pyplot as plt

plane = answer.gamma.shape[0] // 2
sides = dict(origin="lower", extent=[axes[2][0], axes[2][-1], axes[1][0], axes[1][-1]])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
shown = left.imshow(reference.gy[plane], cmap="turbo", **sides)
figure.colorbar(shown, ax=left, label="Gy")
shown = right.imshow(answer.gamma[plane], cmap="coolwarm", vmin=0, vmax=1, **sides)
figure.colorbar(shown, ax=right, label="gamma 2 %/2 mm")
for axes_of, title in ((left, f"reference: {reference.status}"), (right, f"{answer.pass_rate_percent:.1f} % of {answer.points} points pass")):
    axes_of.set(title=title, xlabel="x (mm)", ylabel="y (mm)")
    axes_of.invert_yaxis()
figure.savefig("gamma_of_two_doses.png", dpi=80)
