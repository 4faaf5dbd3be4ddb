"""A radiograph registered by the gradient of a DRR: by torch where it is there, else by Gauss-Newton steps of numpy."""

import importlib.util
import sys

import numpy as np

import beamsight

case = beamsight.open("demo:thorax")
VIEWS = [dict(gantry=gantry, size=(100, 100), pixel=4, side=4) for gantry in (0, 90)]
HIDDEN = np.array([4.0, -3.0, 2.0, 1.0, 0.5, -1.5])
xrays = [beamsight.drr(case, pose=HIDDEN, gradient=True, **view).values for view in VIEWS]


def residual(pose):
    """Differences of all pixels from the X-rays, and their derivatives by the pose (mm and degrees)."""
    drrs = [beamsight.drr(case, pose=pose, gradient=True, **view) for view in VIEWS]
    differences = np.concatenate([(drr.values - xray).ravel() for drr, xray in zip(drrs, xrays)])
    return differences, np.concatenate([drr.gradient.reshape(6, -1) for drr in drrs], axis=1)


def by_numpy():
    pose = np.zeros(6)
    for _ in range(12):
        differences, by_pose = residual(pose)
        pose -= np.linalg.solve(by_pose @ by_pose.T, by_pose @ differences)
    return pose


def by_torch(torch):
    class Mismatch(torch.autograd.Function):
        """Mean square of the differences: any loss of pixels can stand here, or be written in torch on top of them."""

        @staticmethod
        def forward(context, pose):
            differences, by_pose = residual(pose.detach().numpy())
            gradient = 2 * by_pose.astype(float) @ differences / differences.size
            context.save_for_backward(torch.from_numpy(gradient))
            return torch.tensor(float(np.mean(differences.astype(float) ** 2)), dtype=torch.float64)

        @staticmethod
        def backward(context, of_loss):
            (gradient,) = context.saved_tensors
            return of_loss * gradient

    pose = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([pose], max_iter=60, line_search_fn="strong_wolfe", tolerance_change=1e-12)

    def loss():
        search.zero_grad()
        value = Mismatch.apply(pose)
        value.backward()
        return value

    search.step(loss)
    return pose.detach().numpy()


try:
    import torch

    way, pose = "torch", by_torch(torch)
except ImportError:
    way, pose = "numpy", by_numpy()

print("hidden      ", HIDDEN)
print(f"by {way:9}", np.round(pose, 3))
assert np.abs(pose - HIDDEN).max() < 0.1, "the pose is found to a tenth of a mm and of a degree"

# The search of the program, with how sure it is.
images = [beamsight.drr(case, pose=HIDDEN, gantry=gantry, size=(375, 375), pixel=0.8) for gantry in (0, 90)]
print(beamsight.register(case, images))

if importlib.util.find_spec("matplotlib") is None:
    sys.exit(0)  # The picture needs matplotlib.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
start, end = (beamsight.drr(case, pose=at, gradient=True, **VIEWS[0]).values - xrays[0] for at in (np.zeros(6), pose))
most = np.abs(start).max()
axes[0].imshow(xrays[0], cmap="gray")
axes[1].imshow(start, cmap="coolwarm", vmin=-most, vmax=most)
axes[2].imshow(end, cmap="coolwarm", vmin=-most, vmax=most)
for place, title in zip(axes, ("radiograph", "DRR less radiograph, at the start", f"at the pose found, by {way}")):
    place.set(title=title, xticks=[], yticks=[])
figure.savefig("register_by_gradient.png", dpi=60)
