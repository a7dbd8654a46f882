# %% [markdown]
# # How height, weight and waist vary together: private PCA on a health survey
#
# The National Health and Nutrition Examination Survey (NHANES) measures adults of the United
# States in two-year waves. Here the wave of 2017-2018 plays 5,175 participants who will not hand
# over their measures. Each releases **one** randomised message. From the messages we estimate
# the leading principal direction of height, weight and waist, and how sure we are of it.
#
# The wave of 2015-2016 plays what is public before anybody is asked. The package keeps a few
# summary numbers of it and no record of a person.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from geomstats_ldp import PrivatePCA, Tuning
from geomstats_ldp.datasets import NHANES_2015_2016, load_nhanes_body_measures
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.plotting import plot_loadings
from geomstats_ldp.protocol import InferenceRule

measures = load_nhanes_body_measures()
public = NHANES_2015_2016
names = ["height", "weight", "waist"]

print(pd.DataFrame(measures.data, columns=measures.feature_names).describe().round(1))

# %% [markdown]
# ## Public scaling
#
# A principal direction depends on units, so the measures are standardised. The means and standard
# deviations of *these* participants are private: computing them would need messages of its own.
# Those of the earlier wave are public, so each participant can subtract and divide on its own
# device.
#
# The same holds for the bound. A row longer than `norm_bound` is scaled back by the participant,
# and the noise is calibrated to the bound. It was chosen on the earlier wave, where it clips one
# row in ten.

# %%
print("public mean (cm, kg, cm)              ", public.mean.round(1))
print("public standard deviation (cm, kg, cm)", public.standard_deviation.round(1))

X = public.standardise(measures.data)
too_long = np.linalg.norm(X, axis=1) > public.norm_bound
print(f"rows clipped to norm {public.norm_bound}: {too_long.mean():.1%}")

# %% [markdown]
# What would we find without privacy? This notebook can look, because it holds all rows; an
# analyst of a real collection could not. The *batch* answer is the leading eigenvector of the
# second moment of the clipped rows. That is the target: clipping is part of the question.

# %%
clipped = X * np.where(too_long, public.norm_bound / np.linalg.norm(X, axis=1), 1.0)[:, None]
batch = np.linalg.eigh(clipped.T @ clipped)[1][:, -1]
batch *= np.sign(batch.sum())
first_guess = public.leading_direction()

print("batch direction, 2017-2018 ", batch.round(3))
print("public direction, 2015-2016", first_guess.round(3))
print(f"angle between them: {np.degrees(np.arccos(batch @ first_guess)):.2f} degrees")

# %% [markdown]
# All three loadings are positive: this is a *size* direction, in which weight and waist count
# more than height. The earlier wave is so close that it could be mistaken for the answer, but
# nobody knows that before asking.
#
# ## One collection
#
# The working region is the cap of one radian, 57 degrees, about the first guess. The first guess
# also fixes the sign, since a principal direction and its opposite are the same thing. The
# preconditioner makes the steps of the recursion equally good in all directions; the pseudo-inverse
# of the eigengap matrix of the earlier wave is a public choice.

# %%
gap = np.linalg.eigvalsh(public.second_moment)[-1] * np.eye(3) - public.second_moment
settings = dict(
    norm_bound=public.norm_bound,
    initial_point=first_guess,
    tuning=Tuning(preconditioner=np.linalg.pinv(gap, rcond=1e-8, hermitian=True)),
)
pca = PrivatePCA(epsilon=4.0, random_state=0, **settings).fit(X)
region = pca.confidence_region(0.95)

print("private direction", pca.components_[0].round(3))
print(f"error: {np.degrees(np.arccos(pca.estimate_ @ batch)):.2f} degrees")
print("semi-axes of the 95% region:", np.degrees(region.angular_radii).round(2), "degrees")
print("the region holds the batch direction:", bool(region.contains(batch)))

# %% [markdown]
# `functional` turns the region into statements about numbers that one can name. The identity gives
# the loadings themselves, with an interval each.

# %%
loadings = pca.functional(lambda direction: direction)
table = pd.DataFrame(loadings.interval(0.95), index=names, columns=["from", "to"])
table.insert(0, "loading", loadings.estimate)
print(table.round(3))

# %% [markdown]
# Any other smooth function does as well. Does weight load more than height? The difference of the
# two loadings has an interval of its own. (It cannot be read off the two intervals above, because
# the two errors are correlated: the loadings make a unit vector.)

# %%
difference = pca.functional(lambda direction: direction[1] - direction[0])
print("weight minus height:", difference.interval(0.95)[0].round(3))
print(f"p-value of equal loadings: {difference.pvalue(0.0):.1e}")

# %% [markdown]
# ## The price of privacy
#
# Epsilon bounds what a message can tell about its sender: whatever the message, no two data have
# likelihoods that differ by more than the factor $e^\varepsilon$. At infinity there is no noise
# and what is left is sampling error.

# %%
epsilons = [np.inf, 8.0, 4.0, 2.0, 1.0]
fits = {epsilon: PrivatePCA(epsilon=epsilon, random_state=0, **settings) for epsilon in epsilons}
rows = []
for epsilon, fit in fits.items():
    region = fit.fit(X).confidence_region(0.95)
    rows.append(
        {
            "epsilon": epsilon,
            **dict(zip(names, fit.estimate_)),
            "error (deg)": np.degrees(np.arccos(fit.estimate_ @ batch)),
            "largest semi-axis (deg)": np.degrees(region.angular_radii[0]),
            "holds batch": bool(region.contains(batch)),
        }
    )
print(pd.DataFrame(rows).round(3).to_string(index=False))

# %% [markdown]
# One run is one draw: neither error nor semi-axis has to change evenly from one epsilon to the
# next. The [page on NHANES](../docs/nhanes.md) has the means over a thousand runs. But the pattern
# is there.
# At 8 the noise hardly shows beside sampling error; at 1 the region is ten times as wide.

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), sharex=True, layout="constrained")
for ax, epsilon in zip(axes, [8.0, 2.0, 1.0]):
    plot_loadings(fits[epsilon].functional(lambda direction: direction), names=names, ax=ax)
    ax.plot(batch, range(3), "x", color="0.4", ms=8, label="batch")
    ax.set(title=f"epsilon = {epsilon:g}", xlabel="loading, with 95% interval")
axes[0].legend(frameon=False)
plt.show()

# %% [markdown]
# The loading of height has the longest interval, and moves most. The smaller the gap between two
# eigenvalues, the less is known of how their directions mix; and the earlier wave says in advance
# that the nearer of the two other directions is mostly height:

# %%
values, vectors = np.linalg.eigh(public.second_moment)
for value, vector in zip(values[::-1], vectors.T[::-1]):
    print(f"eigenvalue {value:.2f}, direction {vector.round(2)}")

# %% [markdown]
# ## A public prior of the Hessian
#
# The width of a region is $H^{-1}\Sigma H^{-1}/n$. The noise of the mechanism is known, so
# $\Sigma$ is easy. The Hessian $H$ has to be estimated from the same messages, and under strong
# privacy it is the weakest part: the package then widens the region to be safe.
#
# But the earlier wave tells what the Hessian should be: the gaps between the largest eigenvalue
# and the others. `InferenceRule(prior_hessian=H0, prior_sd=sd)` says that each entry is `H0` give
# or take `sd`. Unlike a prior on the direction itself it takes no side on the answer, only on how
# sharp it is. The data outvote it as participants come.

# %%
frame = np.array(pca.protocol_.basis)  # the two tangent directions that coordinates refer to
prior = public.eigengap_hessian(frame)
print("Hessian of the earlier wave:")
print(prior.round(3))


def semi_axes(epsilon, rule, n_draws=60):
    """Largest semi-axis in degrees, of one collection for each of many draws of the noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)  # some regions at epsilon = 1 are very wide
        regions = []
        for seed in range(n_draws):
            pca = PrivatePCA(epsilon=epsilon, random_state=seed, **settings)
            pca.set_params(tuning__inference=rule).fit(X)
            regions.append(pca.confidence_region(0.95))
    return np.degrees([region.angular_radii[0] for region in regions])


known = InferenceRule(prior_hessian=prior, prior_sd=0.25)
rows = []
for epsilon in (4.0, 2.0, 1.0):
    for name, rule in [("none", None), ("2015-2016", known)]:
        lengths = semi_axes(epsilon, rule)
        rows.append((epsilon, name, *np.quantile(lengths, [0.1, 0.5, 0.9])))
columns = ["epsilon", "prior", "short (10%)", "median", "long (90%)"]
print("largest semi-axis in degrees, over draws of the noise")
print(pd.DataFrame(rows, columns=columns).round(1).to_string(index=False))

# %% [markdown]
# The prior hardly changes how wide a region is in the middle. What it removes is luck: without it a
# Hessian that comes out too small makes a region two thirds wider than the median one at
# epsilon = 1, and one that comes out too large a region that looks sharper than it should. At 4 and
# above the messages know the Hessian well enough by themselves.
#
# ## What to take home
#
# * Everything that scales, clips or starts the search is public and fixed before asking.
# * 5,175 people with epsilon = 4 are enough to say that weight loads more than height. With
#   epsilon = 1 the same people cannot tell whether height loads at all: its interval crosses zero.
# * A prior for the Hessian is public knowledge that takes no side.
