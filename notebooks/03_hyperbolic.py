# %% [markdown]
# # Averaging bell curves: means and robust centres on the hyperbolic plane
#
# 5,000 people wear a glucose sensor for a night. Each device sums its night up by two numbers, the
# mean $m$ and the standard deviation $s$ of the readings in mmol/L: one normal curve a person.
# What is a typical curve? People will not hand over their two numbers, but each releases one
# randomised message. (The data are simulated, so that we know what should come out.)
#
# ## The geometry of normal curves
#
# A difference in $m$ of 1 mmol/L is enormous between two people with $s=0.1$ and hardly visible
# between two with $s=5$; and $s$ itself is a scale, for which ratios count. The Fisher
# information metric says both:
#
# $$\mathrm{d}\ell^2=\frac{\mathrm{d}m^2+2\,\mathrm{d}s^2}{s^2}.$$
#
# In the coordinates $(m/\sqrt2,\ s)$ this is twice the metric of the hyperbolic half-plane. So a
# participant's datum is a point of the half-plane, and a typical curve is an intrinsic mean there.
# All distances below are half-plane distances; in units of the Fisher metric they are $\sqrt2$
# times as long.
#
# The public guess is a textbook curve, $(m_0,s_0)=(5.0,1.0)$. Measuring curves from it,
# $\bigl((m-m_0)/(\sqrt2\,s_0),\ s/s_0\bigr)$, is an isometry of the half-plane, so that it changes
# no distance; it puts the guess at (0, 1), which is the origin of the space and where the search
# starts by default.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from geomstats.geometry.hyperbolic import Hyperbolic

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.plotting import plot_on_poincare_disc

half_plane = Hyperbolic(dim=2, coords_type="half-space")
guess = np.array([5.0, 1.0])
units = guess[1] * np.array([np.sqrt(2), 1.0])


def to_half_plane(curves):
    """From (mean, SD) to a point of the half-plane."""
    return (np.asarray(curves, dtype=float) - [guess[0], 0.0]) / units


def to_curve(points):
    """From a point of the half-plane to (mean, SD)."""
    return np.asarray(points) * units + [guess[0], 0.0]


for a, b in [((5.0, 0.2), (5.5, 0.2)), ((5.0, 2.0), (5.5, 2.0)), ((5.0, 0.5), (5.0, 1.0))]:
    apart = half_plane.metric.dist(to_half_plane(a), to_half_plane(b))
    print(f"(mean, SD) = {a} and {b}: distance {float(np.squeeze(apart)):.2f}")

# %% [markdown]
# ## The participants
#
# The typical curve is (5.6, 0.8). People scatter about it evenly in all directions of the
# half-plane, so that by symmetry the intrinsic mean of the population is that very curve. One
# sensor in ten has come loose: it reads high and jumps.

# %%
n = 5000
rng = np.random.default_rng(3)
truth = np.array([5.6, 0.8])


def draw(n, curve, spread):
    """Curves that scatter about one: isotropic normal steps along geodesics."""
    center = to_half_plane(curve)
    steps = center[1] * spread * rng.normal(size=(n, 2))  # length is counted in units of s
    return to_curve(half_plane.metric.exp(steps, center))


is_loose = rng.random(n) < 0.10
good = draw(n, truth, 0.35)
curves = np.where(is_loose[:, None], draw(n, [8.0, 3.0], 0.2), good)
print(pd.DataFrame(curves, columns=["mean (mmol/L)", "SD (mmol/L)"]).describe().round(2))

# %% [markdown]
# ## Two centres
#
# The public guess is the centre of the search, which goes as far as `region_radius`, and of the
# ball of data: a datum farther from it than `data_radius` is moved to the edge of the ball on
# the participant's device. The bound on the score follows from these radii, and the noise from the
# bound.
#
# The **intrinsic mean** minimises the mean squared distance. Its score is as long as the
# distance to the datum, so far data pull hard, and the noise must cover the farthest.
# The **pseudo-Huber centre** minimises a loss that is a square near the datum and grows like the
# distance from `scale` on. Its score is never longer than `scale`: far data pull no more than
# others, and the noise is smaller as well.
#
# Points go in and come out in half-plane coordinates.

# %%
common = dict(space=half_plane, region_radius=0.8, data_radius=2.0, random_state=0)
kinds = {
    "intrinsic mean": dict(loss="squared"),
    "pseudo-Huber centre": dict(loss="pseudo_huber", scale=0.3),
}
groups = {"all sensors": curves, "good sensors": good}


def distance(curve):
    """Half-plane distance of a curve to the truth."""
    return float(np.squeeze(half_plane.metric.dist(to_half_plane(curve), to_half_plane(truth))))


fits, rows = {}, []
for group, data in groups.items():
    for kind, choice in kinds.items():
        fit = PrivateFrechetMean(epsilon=2.0, **common, **choice).fit(to_half_plane(data))
        fits[group, kind] = fit
        region = fit.confidence_region(0.95)
        rows.append(
            {
                "data": group,
                "centre": kind,
                "score bound": fit.protocol_.mechanism.bound,
                "mean": to_curve(fit.estimate_)[0],
                "SD": to_curve(fit.estimate_)[1],
                "distance to truth": distance(to_curve(fit.estimate_)),
                "semi-axis": region.angular_radii[0],
                "p-value of truth": fit.test(to_half_plane(truth)),
            }
        )
print(pd.DataFrame(rows).round(3).to_string(index=False))

# %% [markdown]
# With good sensors both centres agree with the truth, and so do their regions. The loose sensors
# drag the mean away, mostly in the standard deviation. The robust centre goes less than half as
# far. It is not immune: no centre is when one answer in ten comes from elsewhere, and a region
# this narrow notices. What it states is correct all the same, for a region is about the centre of
# the people who were asked, loose sensors included.
#
# The noise tells the other half. The robust score is a tenth as long, and the noise with it. The
# region of the robust centre is a quarter as wide at the same epsilon.
#
# ## In the plane of means and standard deviations, and in the disc
#
# The left picture has the numbers people know. The right one shows the same regions in the Poincaré
# disc, which is the half-plane bent into a circle, with the public guess at the centre. The loose
# sensors make the small cloud near the top; the solid region leans towards it.

# %%
figure, (ax, disc) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
ax.plot(*curves[:1000].T, ".", ms=2, color="0.75", label="1,000 participants")
styles = {"intrinsic mean": "-", "pseudo-Huber centre": "--"}
for kind, style in styles.items():
    fit = fits["all sensors", kind]
    boundary = to_curve(fit.confidence_region(0.95).boundary(200))
    closed = np.vstack([boundary, boundary[:1]])
    ax.plot(*closed.T, "k", ls=style, lw=1.8, label=f"{kind}, all sensors: 95% region")
ax.plot(*truth, "k*", ms=9, label="typical good curve")
ax.plot(*guess, "kx", ms=8, label="public guess")
ax.set(xlabel="mean of the night (mmol/L)", ylabel="standard deviation of the night (mmol/L)")
ax.set(xlim=(4.5, 7), ylim=(0.3, 1.8))
ax.legend(fontsize="small", loc="upper right")

for kind, style in styles.items():
    region = fits["all sensors", kind].confidence_region(0.95)
    disc = plot_on_poincare_disc(
        region,
        ax=disc,
        points=to_half_plane(curves[:1000]) if kind == "intrinsic mean" else None,
        ls=style,
    )
disc.set_title("Poincaré disc")
plt.show()

# %% [markdown]
# ## How far is far?
#
# Now let the loose sensors read at a chosen distance from the typical curve, near to far, and keep
# their share at one in ten. There is no noise here (`epsilon=inf`), to see the pull alone.
#
# Near data pull both centres alike. The pull on the mean then grows with the distance, until it
# meets the bound on the data, `data_radius`. The pull on the robust centre stops growing soon after
# its `scale` of 0.3.

# %%
toward = half_plane.metric.log(to_half_plane([8.0, 3.0]), to_half_plane(truth))
toward /= np.linalg.norm(toward) / truth[1]  # a tangent vector of length 1
reaches = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
pulls = {kind: [] for kind in kinds}
for reach in reaches:
    far = half_plane.metric.exp(reach * toward, to_half_plane(truth))
    data = np.where(is_loose[:, None], draw(n, to_curve(far), 0.2), good)
    for kind, choice in kinds.items():
        fit = PrivateFrechetMean(epsilon=np.inf, **common, **choice).fit(to_half_plane(data))
        pulls[kind].append(distance(to_curve(fit.estimate_)))

figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for (kind, style), marker in zip(styles.items(), "os"):
    ax.plot(reaches, pulls[kind], "k", ls=style, marker=marker, label=kind)
ax.set(
    xlabel="distance of the loose sensors from the typical curve",
    ylabel="distance of the estimate from it",
    ylim=(0, None),
)
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## What `data_radius` does
#
# A smaller ball of data needs less noise. But data outside are moved to its edge, and the answer is
# about the data so moved. The ball is around the *public guess*, so clipping pulls the target
# there.

# %%
from_guess = half_plane.metric.dist(to_half_plane(curves), to_half_plane(guess))
print(f"distance from the public guess to the typical curve: {distance(guess):.2f}")

rows = []
for data_radius in (0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0):
    choice = {**common, "data_radius": data_radius}
    fit = PrivateFrechetMean(epsilon=2.0, **choice).fit(to_half_plane(curves))
    row = {
        "data_radius": data_radius,
        "clipped": np.mean(from_guess > data_radius),
        "score bound": fit.protocol_.mechanism.bound,
        "semi-axis": fit.confidence_region(0.95).angular_radii[0],
    }
    for group, data in groups.items():
        target = PrivateFrechetMean(epsilon=np.inf, **choice).fit(to_half_plane(data)).estimate_
        row[f"target off truth: {group}"] = distance(to_curve(target))
    rows.append(row)
clipping = pd.DataFrame(rows)
print(clipping.round(3).to_string(index=False))

# %% [markdown]
# The last two columns come from fits without noise: they show where the target is.
#
# * With `data_radius` = 0.3 nine data in ten are moved. The region is the narrowest of all, and it
#   is a region for a target 0.3 away from the truth, over five times its semi-axis. No interval can
#   tell: it is right about what was asked.
# * From 1.5 on, good sensors are hardly touched and the target is where it should be. A larger
#   ball buys nothing more and costs noise: at 3.0 the region is more than twice as wide as at 1.0.
# * With loose sensors in the sample a ball of 0.75 or 1 gives the best mean: clipping is robust in
#   its way. But it needs a good guess at the centre, and the pseudo-Huber loss does not.
#
# A public bound is a choice between bias and noise, made before seeing data. Past studies, or a
# first small collection of its own, are what to make it from.
