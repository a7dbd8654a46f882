"""A private estimate and its 95% region on the sphere, in the disc and in the cone.

Usage: python docs/pictures/regions.py

Draws docs/pictures/regions.png, the first picture of the README and of the site.
"""

import matplotlib.pyplot as plt
import numpy as np
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.spd_matrices import SPDLogEuclideanMetric, SPDMatrices
from look import COLOUR, save

from geomstats_ldp import PrivateFrechetMean, PrivateVMFLocation

#: Left, bottom, width and height of the three pictures.
PLACES = ((0.01, 0.02, 0.31, 0.89), (0.35, 0.02, 0.31, 0.89), (0.69, 0.02, 0.31, 0.89))


def directions(rng, n):
    """Directions about one of them, shape [n, 3]."""
    rows = np.array([0.5, -0.6, 0.6]) + 0.2 * rng.normal(size=(n, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def tensors(rng, n):
    """Positive definite matrices with normal logarithms, shape [n, 2, 2]."""
    logs = 0.15 * rng.normal(size=(n, 2, 2)) + np.diag([0.4, -0.2])
    values, vectors = np.linalg.eigh((logs + np.swapaxes(logs, 1, 2)) / 2)
    return np.einsum("nij,nj,nkj->nik", vectors, np.exp(values), vectors)


def main():
    """Collect, and draw."""
    rng = np.random.default_rng(0)
    cone = SPDMatrices(2, equip=False)
    cone.equip_with_metric(SPDLogEuclideanMetric)
    disc = Hyperbolic(dim=2, coords_type="ball")
    collections = [
        (
            "mean direction",
            PrivateVMFLocation(initial_point=[0.7, -0.7, 0.2], epsilon=4.0, random_state=0),
            directions(rng, 1000),
        ),
        (
            "mean in the hyperbolic plane",
            PrivateFrechetMean(
                disc, data_radius=1.5, region_radius=0.8, epsilon=4.0, random_state=0
            ),
            rng.normal([0.25, 0.15], 0.12, size=(1000, 2)),
        ),
        ("mean matrix", PrivateFrechetMean(cone, epsilon=4.0, random_state=0), tensors(rng, 1000)),
    ]
    figure = plt.figure(figsize=(10, 3.5))
    for place, (title, estimator, rows) in enumerate(collections):
        region = estimator.fit(rows).confidence_region(0.95, kind="score")
        kind = None if place == 1 else "3d"
        ax = figure.add_axes(PLACES[place], projection=kind)
        region.plot(view="manifold", ax=ax, points=rows[:250], color=COLOUR, linewidth=1.6)
        for line in ax.lines:
            if line.get_marker() == ".":
                line.set_color("0.6")
        ax.set_title("")
        ax.set_axis_off()
        figure.text(PLACES[place][0] + PLACES[place][2] / 2, 0.93, title, ha="center", fontsize=12)
    figure.axes[-1].set_box_aspect((1, 1, 1), zoom=1.15)
    save(figure, "regions.png")


if __name__ == "__main__":
    main()
