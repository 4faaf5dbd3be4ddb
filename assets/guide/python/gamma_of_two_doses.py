"""Gamma of two doses of the demo chest, in beamsight's words and in those of pymedphys."""

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
