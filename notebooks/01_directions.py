# %% [markdown]
# # Mean directions: handwriting slant and body shape
#
# Some data are directions: all that matters of a vector is where it points. Their mean is not the
# mean of angles (the mean of 1 and 359 degrees is not 180) but the direction of the mean vector,
# $E[Y]/\lvert E[Y]\rvert$: the location parameter of the von Mises-Fisher law, and a target that
# makes sense for any other law. `PrivateVMFLocation` estimates it from one private message per
# participant, with a confidence region and tests.
#
# Two examples, one on the circle and one on the sphere.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from geomstats_ldp import PrivateVMFLocation
from geomstats_ldp.datasets import NHANES_2015_2016, load_nhanes_body_measures
from geomstats_ldp.plotting import plot_on_circle, plot_on_sphere

# %% [markdown]
# ## On the circle: how do people slant their digits?
#
# The slant of a hand is a biometric: it helps to recognise a writer. Say that each of 1,797 people
# wrote one digit, and the image stays on their tablet. (The images are scikit-learn's, from the
# UCI repository. In truth 13 people wrote them, so that they are not independent; here each image
# stands for a participant.)
#
# The axis of the ink is where its second moment is largest. An axis is an angle modulo 180 degrees,
# up and down being the same axis. **Doubling** the angle makes it a direction: with $\varphi$
# the lean to the right from upright, the second moments of the ink give
#
# $$(\mu_{yy}-\mu_{xx},\ 2\mu_{xy})\ \propto\ (\cos2\varphi,\ \sin2\varphi),$$
#
# and no arctangent is needed: the participant's code scales rows to unit length by itself.

# %%
digits = load_digits()
images, labels = digits.images, digits.target
x, y = np.meshgrid(np.arange(8.0), -np.arange(8.0))  # rows of an image go down
ink = images / images.sum(axis=(1, 2), keepdims=True)


def moment(u, v):
    """Central second moment of the ink of each image."""
    mean_u, mean_v = (np.sum(ink * w, axis=(1, 2), keepdims=True) for w in (u, v))
    return np.sum(ink * (u - mean_u) * (v - mean_v), axis=(1, 2))


doubled = np.column_stack([moment(y, y) - moment(x, x), 2 * moment(x, y)])
lean = np.degrees(np.arctan2(doubled[:, 1], doubled[:, 0])) / 2

figure, axes = plt.subplots(1, 6, figsize=(10, 2.1), layout="constrained")
for ax, i in zip(axes, [1, 27, 6, 34, 7, 47]):
    ax.imshow(images[i], cmap="Greys", alpha=0.6)
    column, row = np.sum(ink[i] * x), -np.sum(ink[i] * y)  # centre of the ink
    step = 4 * np.array([np.sin(np.radians(lean[i])), -np.cos(np.radians(lean[i]))])
    ax.plot([column - step[0], column + step[0]], [row - step[1], row + step[1]], "k-", lw=2)
    ax.set(xticks=[], yticks=[], xlim=(-0.5, 7.5), ylim=(7.5, -0.5))
    ax.set_title(f"a {labels[i]}: lean {lean[i]:+.0f}°", fontsize="medium")
plt.show()

# %% [markdown]
# The public part is one guess: digits are upright, which is the direction (1, 0). The search goes
# as far as `region_radius` = 1 radian of doubled angle, a lean of 29 degrees to either side. No
# other bound is needed, because directions have length one whatever people write.

# %%
epsilons = [np.inf, 8.0, 4.0, 2.0, 1.0]


def in_degrees(direction):
    """Lean of a doubled direction."""
    return np.degrees(np.arctan2(direction[1], direction[0])) / 2


def collect_slant(rows, epsilon):
    """One private collection."""
    location = PrivateVMFLocation(epsilon=epsilon, initial_point=[1.0, 0.0], random_state=0)
    return location.fit(rows)


resultant = (doubled / np.linalg.norm(doubled, axis=1, keepdims=True)).mean(axis=0)
print(f"raw mean lean: {in_degrees(resultant):.2f} degrees")
print(f"resultant length: {np.linalg.norm(resultant):.3f} (1: all equal, 0: evenly spread)")

slants = {epsilon: collect_slant(doubled, epsilon) for epsilon in epsilons}
table = pd.DataFrame(
    [
        {
            "epsilon": epsilon,
            "lean": slant.functional(in_degrees).estimate[0],
            "from": slant.functional(in_degrees).interval(0.95)[0, 0],
            "to": slant.functional(in_degrees).interval(0.95)[0, 1],
            "p-value of upright": slant.test([1.0, 0.0]),
        }
        for epsilon, slant in slants.items()
    ]
)
print(table.to_string(index=False, float_format="{:.3g}".format))

# %% [markdown]
# On average the axis leans to the left by about three degrees. `functional` gave the lean and its
# interval, by the delta method; `test(point)` the p-value of the Wald test that the mean direction
# is that very point. Between infinity and 8 little changes, because sampling error dominates; from
# 4 down each halving of epsilon doubles the interval. That the axis is not upright shows at every
# epsilon of the table.
#
# On the circle of doubled angles the region is an arc about the estimate, the cross. The ticks
# are 400 of the images.

# %%
figure, axes = plt.subplots(
    1, 3, figsize=(10.5, 3.9), layout="constrained", sharex=True, sharey=True
)
shown = doubled[:400] / np.linalg.norm(doubled[:400], axis=1, keepdims=True)
for ax, epsilon in zip(axes, [8.0, 2.0, 1.0]):
    plot_on_circle(slants[epsilon].confidence_region(0.95), ax=ax, points=shown)
    ax.set_title(f"twice the lean, epsilon = {epsilon:g}")
plt.show()

# %% [markdown]
# ### What does the axis measure?
#
# An axis of ink is not slant alone: a 7 leans by its shape. If people say which digit they wrote,
# and keep only the image to themselves, ten smaller collections tell more than one. Each has about
# 180 participants, so epsilon is 4.

# %%
rows = []
for digit in range(10):
    mine = doubled[labels == digit]
    slant = collect_slant(mine, 4.0)
    low, high = slant.functional(in_degrees).interval(0.95)[0]
    raw = in_degrees((mine / np.linalg.norm(mine, axis=1, keepdims=True)).mean(axis=0))
    rows.append((digit, len(mine), slant.functional(in_degrees).estimate[0], low, high, raw))
by_digit = pd.DataFrame(rows, columns=["digit", "n", "lean", "from", "to", "raw"])
print(by_digit.round(1).to_string(index=False))

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.errorbar(
    by_digit.digit,
    by_digit.lean,
    [by_digit.lean - by_digit["from"], by_digit.to - by_digit.lean],
    fmt="ko",
    capsize=4,
    label="private, with 95% interval",
)
ax.plot(by_digit.digit + 0.2, by_digit.raw, "x", color="0.4", label="raw mean of these images")
ax.axhline(0, color="0.7", lw=1, zorder=0)
ax.set(xlabel="digit", ylabel="mean lean to the right (degrees)", xticks=range(10))
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# The 6 leans left and the 7 right, by ten degrees and more; the 8, whose shape is symmetric, stands
# upright. So the three degrees of the first collection are a mixture of shapes as much as of
# hands. Privacy does not change what a mean means.
#
# ## On the sphere: body shape
#
# Take height, weight and waist of 5,175 adults (NHANES 2017-2018, see the
# [notebook on principal directions](02_pca_nhanes.py)), each in units of a public reference person
# of 170 cm, 80 kg and 100 cm. The length of that vector is size, and its **direction is shape**:
# a stout person points more towards waist and weight, a lanky one towards height. A ratio such as
# waist to height is a function of the direction alone.

# %%
units = np.array([170.0, 80.0, 100.0])  # cm, kg, cm; public
measures = load_nhanes_body_measures().data / units
shapes = measures / np.linalg.norm(measures, axis=1, keepdims=True)
mean_shape = shapes.mean(axis=0) / np.linalg.norm(shapes.mean(axis=0))

print("raw mean direction:", mean_shape.round(3), " equal thirds:", np.round(3**-0.5, 3))
print(f"resultant length: {np.linalg.norm(shapes.mean(axis=0)):.4f}")
apart = np.degrees(np.arccos(shapes @ mean_shape))
print(f"half of the adults are within {np.median(apart):.1f} degrees of it")

# %% [markdown]
# Bodies are all alike in the end: the directions crowd into a few degrees. The noise does not
# know that. It is calibrated to the score bound, and a score may have any length up to one. So on
# this problem noise dominates sampling error from the start.


# %%
def waist_to_height(direction):
    """Waist in units of height: both in cm."""
    return direction[2] * units[2] / (direction[0] * units[0])


reference_person = np.ones(3) / np.sqrt(3)
bodies, rows = {}, []
for epsilon in epsilons:
    body = PrivateVMFLocation(
        epsilon=epsilon, initial_point=[1.0, 1.0, 1.0], region_radius=0.5, random_state=0
    ).fit(measures)
    region, ratio = body.confidence_region(0.95), body.functional(waist_to_height)
    bodies[epsilon] = region
    low, high = ratio.interval(0.95)[0]
    rows.append(
        {
            "epsilon": epsilon,
            "semi-axis (deg)": np.degrees(region.angular_radii[0]),
            "holds raw mean": bool(region.contains(mean_shape)),
            "waist/height": ratio.estimate[0],
            "from": low,
            "to": high,
            "p of 0.5": ratio.pvalue(0.5),
            "p of reference person": body.test(reference_person),
        }
    )
print(pd.DataFrame(rows).to_string(index=False, float_format="{:.3g}".format))
print(f"raw: {waist_to_height(mean_shape):.3f}; mean of the ratios: ", end="")
print(f"{waist_to_height(measures.T).mean():.3f}")
print(f"reference person: {np.degrees(np.arccos(reference_person @ mean_shape)):.2f} degrees away")

# %% [markdown]
# Health agencies advise to keep the waist under half of the height. The test that the typical ratio
# is 0.5 rejects at every epsilon, and the estimates say which way. (This is the ratio *of* the mean
# direction. The mean of the ratios is another number, though a close one.)
#
# The reference person, on the other hand, is a third of a degree away from the mean direction and
# is rejected only while epsilon is large. From 4 down the regions are too wide to tell. A large
# p-value means *not known*, and not *equal*.
#
# One more point to test is tempting: the average of the earlier wave, which is public.

# %%
earlier = NHANES_2015_2016.mean / units
earlier /= np.linalg.norm(earlier)
for epsilon in (8.0, 2.0):
    print(f"epsilon {epsilon:g}: p-value {bodies[epsilon].pvalue(earlier):.3f}")

direction_of_mean = measures.mean(axis=0) / np.linalg.norm(measures.mean(axis=0))
print("angles to the raw mean direction of 2017-2018, in degrees:")
for name, point in [("earlier means", earlier), ("means of 2017-2018", direction_of_mean)]:
    print(f"{name:>20}: {np.degrees(np.arccos(point @ mean_shape)):.2f}")

# %% [markdown]
# At epsilon = 8 it is rejected. Did adults change shape in two years? That does not follow. The
# public numbers are means of centimetres and kilograms, and their direction is not the mean
# direction, in which everybody counts the same whatever their size. Within 2017-2018 alone the two
# are 0.8 degrees apart. A sharp test finds any difference, also one between two definitions.
#
# The picture has the sphere on the left, with the axes x1, x2 and x3 of height, weight and waist,
# and on the right a map of the neighbourhood of the mean. The regions are almost round although the
# data are not: the noise is the same in all directions.

# %%
figure = plt.figure(figsize=(10.5, 5), layout="constrained")
globe = plot_on_sphere(
    bodies[1.0], ax=figure.add_subplot(1, 2, 1, projection="3d"), points=shapes[::10]
)
globe.set_title("one adult in ten; 95% region, epsilon = 1")

ax = figure.add_subplot(1, 2, 2)
chart = bodies[np.inf].coordinates
ax.plot(*np.degrees(chart(shapes[::10])).T, ".", ms=2, color="0.75", label="one adult in ten")
for epsilon, style in zip([1.0, 2.0, 4.0, 8.0], [":", "-.", "--", "-"]):
    boundary = np.degrees(chart(bodies[epsilon].boundary(200)))
    ax.plot(*np.vstack([boundary, boundary[:1]]).T, "k", ls=style, label=f"epsilon = {epsilon:g}")
ax.plot(*np.degrees(chart(mean_shape)), "k*", ms=10, label="raw mean direction")
ax.plot(*np.degrees(chart(reference_person)), "kx", ms=8, label="reference person")
ax.set(xlabel="first frame coordinate (degrees)", ylabel="second frame coordinate (degrees)")
ax.set(xlim=(-8, 13), ylim=(-9, 12), aspect="equal")
ax.legend(fontsize="small", loc="upper right")
plt.show()
