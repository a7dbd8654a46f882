# %% [markdown]
# # Mean diffusion tensors from a real scan
#
# Diffusion MRI measures how water spreads in tissue. In each voxel the spread is summed up by a
# *diffusion tensor*, a symmetric positive definite 3 x 3 matrix. Its eigenvalues are diffusivities;
# along a bundle of nerve fibres water spreads faster than across, and the *fractional anisotropy*
# (FA), from 0 for a sphere to 1 for a needle, says by how much. Low FA is a mark of damaged
# white matter, and a brain scan is about as private as data get.
#
# The question: what is the mean tensor of one place in the brain over many people, and its FA, if
# each person releases one randomised message about their tensor?
#
# This notebook needs [DIPY](https://dipy.org), whose package holds a small real scan. Nothing is
# downloaded.

# %%
try:
    import dipy  # noqa: F401
except ImportError as error:
    raise ImportError(
        "this notebook fits tensors with DIPY: pip install '.[notebooks]', or pip install dipy"
    ) from error

import matplotlib.pyplot as plt
import nibabel
import numpy as np
import pandas as pd
from dipy.core.gradients import gradient_table
from dipy.data import get_fnames
from dipy.io.gradients import read_bvals_bvecs
from dipy.reconst.dti import TensorModel
from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDLogEuclideanMetric, SPDMatrices

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.plotting import plot_on_spd_cone

# %% [markdown]
# ## From a scan to tensors
#
# The scan has 10 x 10 x 10 voxels, each measured with 64 gradient directions at b = 1000 s/mm².
# DIPY fits the tensors in mm²/s; we go over to µm²/ms, in which diffusivities in the brain are
# around one. That is a public change of units.

# %%
scan, bvals, bvecs = (str(path) for path in get_fnames(name="small_64D"))
bvals, bvecs = read_bvals_bvecs(bvals, bvecs)
fit = TensorModel(gradient_table(bvals, bvecs=bvecs)).fit(nibabel.load(scan).get_fdata())
tensors = 1000 * fit.quadratic_form.reshape(-1, 3, 3)  # µm²/ms


def anisotropy(tensor):
    """Fractional anisotropy of tensors, shape [...]."""
    values = np.linalg.eigvalsh(tensor)
    spread = values - values.mean(axis=-1, keepdims=True)
    return np.sqrt(1.5 * np.sum(spread**2, axis=-1) / np.sum(values**2, axis=-1))


def diffusivity(tensor):
    """Mean diffusivity of tensors, in µm²/ms."""
    return np.trace(tensor, axis1=-2, axis2=-1) / 3


values, vectors = np.linalg.eigh(tensors)
print("eigenvalues (µm²/ms), quantiles over 1,000 voxels")
quantiles = pd.DataFrame(
    np.quantile(values, [0.05, 0.5, 0.95], axis=0),
    index=["5%", "50%", "95%"],
    columns=["smallest", "middle", "largest"],
)
print(quantiles.round(2))

# %% [markdown]
# The voxels hold grey and white matter and fluid. We want one bundle: voxels with FA above 0.3, no
# failed fit (eigenvalues from 0.05 up to 3, that of free water), and a main direction within 35
# degrees of the most common one.

# %%
is_white = (anisotropy(tensors) > 0.3) & (values[:, 0] > 0.05) & (values[:, 2] < 3.0)
main = vectors[:, :, 2]  # direction of the largest eigenvalue
common = np.linalg.eigh(main[is_white].T @ main[is_white])[1][:, -1]
bundle = tensors[is_white & (np.abs(main @ common) > np.cos(np.radians(35)))]
print(
    f"{is_white.sum()} voxels of white matter, {len(bundle)} in the bundle, along {common.round(2)}"
)

# %% [markdown]
# These voxels come from **one** person. To stand for many, each of 20,000 participants gets one of
# them at random, as if the place were the same and the people differed as the voxels do. So the
# numbers below are about these voxels, and show the method, not a population.

# %%
n = 20_000
rng = np.random.default_rng(4)
people = bundle[rng.integers(len(bundle), size=n)]

# %% [markdown]
# ## Which mean?
#
# Symmetric positive definite matrices can be averaged entry by entry. The result is too fat: the
# volume of the mean tensor is larger than that of the tensors it is the mean of, as if averaging
# added diffusion. Two metrics avoid that:
#
# * **log-Euclidean**: average the matrix logarithms. The space is flat, and the mean is explicit.
# * **affine-invariant**: curved; the mean does not depend on the linear coordinates of the tensor,
#   a stretched scanner axis for instance.
#
# Under both the determinant of the mean is the geometric mean of the determinants.

# %%


def matrix_function(function, matrices):
    """Apply a function to the eigenvalues of symmetric matrices."""
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * function(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


euclidean = people.mean(axis=0)
log_euclidean = matrix_function(np.log, people).mean(axis=0)
log_euclidean = matrix_function(np.exp, log_euclidean)
geometric = np.exp(np.log(np.linalg.det(people)).mean())
print(f"geometric mean of the determinants: {geometric:.3f}")
for name, mean in [("entry by entry", euclidean), ("log-Euclidean", log_euclidean)]:
    print(
        f"{name:>15}: determinant {np.linalg.det(mean):.3f}, FA {anisotropy(mean):.3f}, "
        f"mean diffusivity {diffusivity(mean):.3f} µm²/ms"
    )

# %% [markdown]
# ## Private means
#
# What is public: diffusivities in white matter are about 0.7 µm²/ms on average over directions. The
# isotropic tensor of that size is where the search starts, so no direction is favoured. Both
# metrics measure *relative* differences, by the logarithms of eigenvalues: a textbook bundle with
# eigenvalues 1.7, 0.4 and 0.3 is at a distance of 1.3. So `data_radius` is 2. Tensors beyond it are
# moved to the edge; most of them have a smallest eigenvalue near zero, where the fit is doubtful.

# %%
start = 0.7 * np.eye(3)
metrics = {"log-Euclidean": SPDLogEuclideanMetric, "affine-invariant": SPDAffineMetric}


def collect(matrices, metric, epsilon, **parameters):
    """One private collection under a metric."""
    space = SPDMatrices(matrices.shape[-1], equip=False)
    space.equip_with_metric(metrics[metric])
    return PrivateFrechetMean(
        space, data_radius=2.0, region_radius=1.2, epsilon=epsilon, random_state=0, **parameters
    ).fit(matrices)


from_start = np.linalg.norm(matrix_function(np.log, people / 0.7), axis=(1, 2))
is_far = from_start > 2.0
print(
    f"moved to the edge: {is_far.mean():.1%}; mean FA {anisotropy(people[is_far]).mean():.2f}",
    end="",
)
print(f", of the others {anisotropy(people[~is_far]).mean():.2f}")

means, rows = {}, []
for metric in metrics:
    for epsilon in (np.inf, 16.0, 8.0, 4.0):
        mean = collect(people, metric, epsilon, initial_point=start)
        means[metric, epsilon] = mean
        fa, md = mean.functional(anisotropy), mean.functional(diffusivity)
        rows.append(
            {
                "metric": metric,
                "epsilon": epsilon,
                "FA": fa.estimate[0],
                "FA from": fa.interval(0.95)[0, 0],
                "FA to": fa.interval(0.95)[0, 1],
                "MD (µm²/ms)": md.estimate[0],
                "MD from": md.interval(0.95)[0, 0],
                "MD to": md.interval(0.95)[0, 1],
                "largest semi-axis": mean.confidence_region(0.95).angular_radii[0],
            }
        )
table = pd.DataFrame(rows)
print(table.round(3).to_string(index=False))

# %% [markdown]
# The intervals of FA and of mean diffusivity (MD) come from `functional`, the delta method: any
# smooth function of the tensor has one, without asking anybody again.
#
# Three differences between numbers are to be told apart:
#
# * **Privacy** widens the intervals, by a third at epsilon = 16, threefold at 8, sixfold at 4.
# * **Clipping** moves the target. The log-Euclidean FA of the raw tensors is 0.476; with the bound
#   but without noise it is 0.464, because the tensors that are moved are the sharpest.
# * **The metric** is a definition. The affine-invariant FA is lower still. With 20,000 people the
#   two intervals are apart at epsilon = 16 and touch at 8. Neither mean is wrong; a paper has to
#   say which one it is.

# %%
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for shift, (metric, marker, style) in zip(
    [-0.1, 0.1], [("log-Euclidean", "o", "-"), ("affine-invariant", "s", "--")]
):
    mine = table[table.metric == metric]
    bars = ax.errorbar(
        np.arange(len(mine)) + shift,
        mine["FA"],
        [mine["FA"] - mine["FA from"], mine["FA to"] - mine["FA"]],
        fmt=marker,
        color="k",
        mfc="k" if marker == "o" else "w",
        capsize=4,
        label=metric,
    )
    bars[-1][0].set_linestyle(style)
ax.axhline(
    anisotropy(log_euclidean), color="0.6", ls=":", label="raw log-Euclidean mean, unclipped"
)
ax.set_xticks(range(4), ["∞", "16", "8", "4"])
ax.set(xlabel="epsilon per participant", ylabel="FA of the mean tensor, 95% interval")
ax.legend(frameon=False, fontsize="small", loc="lower left")
plt.show()

# %% [markdown]
# ## A picture in the cone
#
# A symmetric 2 x 2 matrix has three entries, so the positive definite ones can be seen: they fill a
# cone, with the singular matrices as its surface. Take the part of the tensor in the plane of
# the scan, its upper left block, for 3,000 participants. The region is an ellipsoid in the tangent
# space at the estimate, and the exponential map of the metric bends it into the cone, where it
# stays away from the surface whatever its size.
#
# (The picture leaves out a few tensors of fluid, which are far away.)

# %%
blocks = people[:3000, :2, :2]
flat = collect(blocks, "log-Euclidean", 2.0, initial_point=0.7 * np.eye(2))
region = flat.confidence_region(0.95)
block_mean = matrix_function(np.exp, matrix_function(np.log, blocks).mean(axis=0))

print(flat.estimate_.round(3))
print("semi-axes:", region.angular_radii.round(3))
print("raw mean in the region:", bool(region.contains(block_mean)), block_mean.round(3).tolist())

shown = blocks[np.trace(blocks, axis1=1, axis2=2) < 2.0][:200]
figure = plt.figure(figsize=(6.5, 6), layout="constrained")
ax = plot_on_spd_cone(region, ax=figure.add_subplot(projection="3d"), points=shown)
ax.set_title("in-plane diffusion (µm²/ms): 200 participants, region at epsilon = 2")
plt.show()
