# %% [markdown]
# # A principal direction from one private message each
#
# 8,000 people each hold a vector of three numbers. Every one of them releases a single randomised
# message; we estimate the direction along which the vectors vary most, and how sure we are.

# %%
import matplotlib.pyplot as plt
import numpy as np

from geomstats_ldp import PrivatePCA

rng = np.random.default_rng(0)
direction = np.array([0.4, 0.7, 0.6]) / np.linalg.norm([0.4, 0.7, 0.6])
X = rng.normal(size=(8000, 3)) * 0.3 + rng.normal(size=(8000, 1)) * 0.9 * direction

# %% [markdown]
# The bound on the length of a row is public: longer rows are scaled back by the participant. The
# working region is a cap of one radian about the initial point, which also fixes the sign.

# %%
estimators = {
    epsilon: PrivatePCA(norm_bound=2.0, epsilon=epsilon, random_state=0).fit(X)
    for epsilon in (8.0, 4.0, 2.0)
}
for epsilon, pca in estimators.items():
    print(epsilon, pca.components_.round(3), pca.confidence_region())

# %% [markdown]
# The same regions in the tangent plane at each estimate: they shrink as epsilon grows.

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharex=True, sharey=True, layout="constrained")
for ax, (epsilon, pca) in zip(axes, estimators.items()):
    region = pca.confidence_region()
    region.plot(ax=ax)
    truth = region.coordinates(direction)
    ax.plot(*truth, "k*", label="true direction")
    ax.set_title(f"epsilon = {epsilon:g}")
axes[0].legend(frameon=False)
plt.show()
