"""Symmetric pairs at a glance: a message, a pair, and what averages and differences tell.

Usage: python docs/pictures/overview.py

Draws docs/pictures/overview.png from one collection of pairs about a mean direction on the sphere.
All coordinates are those of the public frame, messages carried to the base of their pair.
"""

import warnings
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from look import COLOUR, draw_arrow, draw_messages, put_legend_below, save

from geomstats_ldp import PrivateVMFLocation, Tuning
from geomstats_ldp.exceptions import SeedWarning
from geomstats_ldp.losses import loss_of
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.plotting import plot_tangent_ellipse
from geomstats_ldp.protocol.rules import RadiusRule

N_PEOPLE, EPSILON, RADIUS = 4000, 5.0, 0.4

#: The pair that is drawn, a participant of it, and how many messages that one might have sent.
PAIR, N_OTHERS = 160, 300


class Pair(NamedTuple):
    """What the server knows of a pair: iterate, offset X, half-sum U and half-difference D."""

    iterate: np.ndarray
    offset: np.ndarray
    average: np.ndarray
    difference: np.ndarray


def people():
    """Directions about one of them, shape [N_PEOPLE, 3]."""
    rows = np.array([0.6, 0.64, 0.48]) + 0.25 * np.random.default_rng(0).normal(size=(N_PEOPLE, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def collect(estimator, rows):
    """Ask pair by pair; a list of `Pair`."""
    geometry, pairs = estimator.protocol_.geometry, []
    for first, second in zip(rows[::2], rows[1::2]):
        base, queries = estimator.server_.state.iterate.copy(), estimator.queries()
        messages = [
            estimator.participant().respond(query, row)
            for query, row in zip(queries, (first, second))
        ]
        plus, minus = (
            geometry.coordinates(geometry.transport(message.tangent_vec, query.point, base), base)
            for message, query in zip(messages, queries)
        )
        offset = geometry.coordinates(geometry.inverse_retract(queries[0].point, base), base)
        pairs.append(Pair(base, offset, (plus + minus) / 2, (plus - minus) / 2))
        estimator.partial_fit(messages)
    return pairs


def draw_one(ax, estimator, query, row):
    """Score and messages of one person, in the frame at the query."""
    protocol = estimator.protocol_
    geometry, loss, mechanism = protocol.geometry, loss_of(protocol), protocol.mechanism
    score = geometry.coordinates(loss.score(geometry, query, row[None]), query)
    messages = mechanism.release(
        np.repeat(score, N_OTHERS, axis=0), mechanism.draw(N_OTHERS, make_streams(3))
    )
    draw_messages(ax, score[0], messages, "1. One person sends one\nmessage, at one question")


def draw_pair(ax, pair):
    """Two messages at opposite offsets, taken apart into what they share and what they do not."""
    for sign, name in ((1, "+"), (-1, "-")):
        start = sign * pair.offset
        middle, end = start + pair.average, start + pair.average + sign * pair.difference
        ax.plot(*start, "o", mfc="white", mec="k", ms=7, zorder=3)
        ax.annotate(
            f"$q_{name}$", start, (0, -16), textcoords="offset points", ha="center", fontsize=11
        )
        draw_arrow(ax, start, end, "k", 1.6)
        draw_arrow(ax, start, middle, COLOUR)
        draw_arrow(ax, middle, end, "0.55", 1.8)
    ax.plot(0, 0, "k+", ms=9)
    ax.annotate("$x$", (0, 0), (0, -16), textcoords="offset points", ha="center", fontsize=11)
    ax.plot([], [], color="k", lw=1.6, label="messages $z_+$, $z_-$")
    ax.plot([], [], color=COLOUR, lw=2.5, label="half their sum, $U$")
    ax.plot([], [], color="0.55", lw=1.8, label="half their difference, $\\pm D$")
    ax.set(xticks=[], yticks=[])
    ax.margins(0.2)
    ax.set_aspect("equal", adjustable="datalim")
    put_legend_below(ax)
    ax.set_title("2. Two people answer about\nopposite points $q_\\pm=x\\pm X$")


def draw_path(ax, estimator, pairs):
    """Iterates, their average and its region, in the frame at the average."""
    geometry, center = estimator.protocol_.geometry, estimator.server_.estimate()
    path = geometry.coordinates(
        geometry.log(np.array([pair.iterate for pair in pairs]), center), center
    )
    ax.plot(*path.T, color="0.6", lw=0.7, label="iterates $x$")
    ax.plot(*path[0], "o", mfc="white", mec="k", ms=6, label="start")
    outline = estimator.confidence_region(0.95)
    plot_tangent_ellipse(outline, ax=ax, color=COLOUR, linewidth=2)
    ax.plot([], [], color=COLOUR, lw=2, label="average, 95% region")
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")
    put_legend_below(ax)
    ax.set_title("3. Sums move the iterate;\nits average is the estimate")


def draw_regression(ax, pairs):
    """Half-differences against offsets along the first direction of the frame."""
    x, y = np.array([(pair.offset[0], pair.difference[0]) for pair in pairs]).T
    along = np.abs(x) > RADIUS / 2
    x, y = x[along], y[along]
    jitter = 0.06 * np.random.default_rng(1).uniform(-1, 1, size=len(x))
    ax.plot(x + jitter, y, ".", color="0.7", ms=3, label="$D$ of single pairs")
    slope = np.sum(x * y) / np.sum(x**2)
    ends = np.array([-0.6, 0.6])
    ax.plot(ends, slope * ends, color=COLOUR, lw=2.5, label="slope: the Hessian")
    for sign in (-1, 1):
        side = sign * x > 0
        ax.errorbar(
            x[side].mean(),
            y[side].mean(),
            2 * y[side].std() / np.sqrt(side.sum()),
            fmt="ok",
            ms=5,
            capsize=4,
        )
    ax.plot([], [], "ok", ms=5, label="means, 2 standard errors")
    ax.set(xticks=[-RADIUS, 0, RADIUS], xticklabels=["$-h$", "0", "$h$"], yticks=[0])
    ax.set(xlim=(-0.65, 0.65), ylim=(-3, 3))
    ax.grid(color="0.85")
    put_legend_below(ax)
    ax.set_title("4. Differences grow with $X$\nas the Hessian says")


def main():
    """Collect, and draw."""
    estimator = PrivateVMFLocation(
        initial_point=[0.95, 0.75, 0.2],
        epsilon=EPSILON,
        n_participants=N_PEOPLE,
        tuning=Tuning(radius=RadiusRule.fixed(RADIUS)),
        random_state=0,
    ).start(3)
    rows = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeedWarning)
        pairs = collect(estimator, rows)
    figure, axes = plt.subplots(1, 4, figsize=(13, 4.1))
    figure.subplots_adjust(0.01, 0.24, 0.985, 0.86, wspace=0.16)
    draw_one(axes[0], estimator, pairs[PAIR].iterate, rows[2 * PAIR])
    draw_pair(axes[1], pairs[PAIR])
    draw_path(axes[2], estimator, pairs)
    draw_regression(axes[3], pairs)
    save(figure, "overview.png")


if __name__ == "__main__":
    main()
