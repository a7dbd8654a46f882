"""Losses of the paper's designs, laws that are not symmetric, and channels for their data."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices

from geomstats_ldp.geometry import Geometry, unit_vector
from geomstats_ldp.losses import FrechetLoss, PCALoss, PseudoHuberLoss, VonMisesFisherLoss
from geomstats_ldp.replication.study.affine_score import AffineScoreLoss
from geomstats_ldp.replication.study.designs import FiniteLaw, load_design
from geomstats_ldp.replication.target_shift.shift import Surrogate

#: Public bound of the losses: no surrogate is as far away as this.
_FAR = 1e3


def _moved(geometry, point, coords):
    """Exponentials of tangent vectors with given coordinates at a point."""
    return geometry.exp(geometry.lift(np.asarray(coords, dtype=float), point), point)


def _add(data, noise):
    return data + noise


def _add_in_chart(geometry, center, data, noise):
    """Noise on the coordinates of the logarithm at a public centre."""
    coords = geometry.coordinates(geometry.log(data, center), center)
    return _moved(geometry, center, coords + noise)


def _bound(values, spreads):
    """Longest of the vectors, each coordinate in units of its spread."""
    return float(np.max(np.linalg.norm(values / spreads, axis=-1)))


# ---------------------------------------------------------------- vectors


def _direction(spreads, channel):
    """Design A about (1, 1, 1): directions on one side are rarer and farther."""
    target = unit_vector([1.0, 1.0, 1.0], 3)
    geometry = Geometry(Hypersphere(dim=2), target)
    angles = np.array([[1.0, 0.0], [-0.4, 0.0], [0.0, 0.5], [0.0, -0.5]])
    share = math.sin(0.4) / (math.sin(1.0) + math.sin(0.4))
    law = FiniteLaw(_moved(geometry, target, angles), [share / 2, (1 - share) / 2, 0.25, 0.25])
    return Surrogate(
        design="A",
        channel=channel,
        geometry=geometry,
        loss=VonMisesFisherLoss(kappa=1.0),
        law=law,
        target=target,
        center=target,
        transform=_add,
        spreads=spreads,
        bound=_bound(law.support, spreads),
        n_nodes=64,  # scaling is not smooth where a vector vanishes
    )


def _principal_axis(spreads, channel):
    """Design B in three dimensions, its axes turned away from the coordinates of the data."""
    axes = np.linalg.qr(np.array([[2.0, 1.0, 0.0], [1.0, -2.0, 1.0], [1.0, 0.0, -2.0]]))[0].T
    signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    support = (signs * np.sqrt([3.0, 1.5, 0.8])) @ axes
    target = axes[0]
    return Surrogate(
        design="B",
        channel=channel,
        geometry=Geometry(Hypersphere(dim=2), target),
        loss=PCALoss(norm_bound=_FAR),
        law=FiniteLaw(support, np.full(8, 1 / 8)),
        target=target,
        center=target,
        transform=_add,
        spreads=spreads,
        bound=_bound(support, spreads),
    )


def _vectors_of_f(data, noise):
    """Design F's datum of a vector with noise: its outer product less the identity."""
    first, second = (data + noise).T
    return np.stack([first**2 - 1, math.sqrt(2) * first * second, second**2 - 1], axis=-1)


def _covariance(channel):
    """Design F: the score is affine in the squares of a vector, not in the vector."""
    design = load_design("F")
    support, transform, n_noise = design.law.support, _add, 3
    if channel == "noise on the vector":
        values = np.array([0.0, math.sqrt(2), -math.sqrt(2)])
        support = np.stack(np.meshgrid(values, values, indexing="ij"), axis=-1).reshape(-1, 2)
        transform, n_noise = _vectors_of_f, 2
    spreads = np.ones(n_noise)
    return Surrogate(
        design="F",
        channel=channel,
        geometry=design.geometry,
        loss=AffineScoreLoss(center=design.target, data_radius=_FAR),
        law=FiniteLaw(support, design.law.probabilities),
        target=design.target,
        center=design.target,
        transform=transform,
        spreads=spreads,
        bound=_bound(support, spreads),
    )


# ---------------------------------------------------------------- points of a manifold


def _radial(name, make_loss, coords, probabilities, channel, center=None, chart=None):
    """A loss of the distance, and noise in the chart of a geometry at a public centre."""
    design = load_design(name)
    center = design.initial_point if center is None else center
    chart = chart or design.geometry
    support = _moved(design.geometry, design.target, coords)
    released = chart.coordinates(chart.log(support, center), center)
    spreads = np.ones(released.shape[-1])
    return Surrogate(
        design=name,
        channel=channel,
        geometry=design.geometry,
        loss=make_loss(center=design.target, data_radius=_FAR),
        law=FiniteLaw(support, probabilities),
        target=design.target,
        center=center,
        transform=partial(_add_in_chart, chart, center),
        spreads=spreads,
        bound=_bound(released, spreads),
        n_nodes=64 if design.geometry.dim == 2 else 8,
    )


def _log_euclidean(channel, chart=None):
    """Design C: one of the directions has a far end."""
    coords = np.array(
        [[0.6, 0, 0], [-0.2, 0, 0], [0, 0.4, 0], [0, -0.4, 0], [0, 0, 0.3], [0, 0, -0.3]]
    )
    probabilities = [0.1, 0.3, 0.15, 0.15, 0.15, 0.15]
    return _radial("C", FrechetLoss, coords, probabilities, channel, chart=chart)


def _affine_invariant():
    space = SPDMatrices(2, equip=False)
    space.equip_with_metric(SPDAffineMetric)
    return Geometry(space, load_design("C").initial_point)


def _hyperbolic_mean(channel, center=None):
    """Design D: one of the directions has a far end."""
    coords = np.array([[0.6, 0.0], [-0.2, 0.0], [0.0, 0.35], [0.0, -0.35]])
    return _radial("D", FrechetLoss, coords, [0.125, 0.375, 0.25, 0.25], channel, center)


def _hyperbolic_centre(channel):
    """Design E: the same for a score that bends."""
    scale = 0.45
    near, far = (d / math.sqrt(1 + (d / scale) ** 2) for d in (0.3, 1.0))
    share = 0.5 * near / (near + far)
    coords = np.array([[1.0, 0.0], [-0.3, 0.0], [0.0, 0.3], [0.0, -0.3]])
    probabilities = [share, 0.5 - share, 0.25, 0.25]
    return _radial("E", partial(PseudoHuberLoss, scale=scale), coords, probabilities, channel)


def surrogates() -> list[Surrogate]:
    """Losses of the paper's designs with channels for their data.

    For each design but E there is one that leaves the target where it is and one that does not.

    Returns
    -------
    surrogates : list of Surrogate
    """
    unequal = np.array([0.5, 1.0, 2.0])
    return [
        _direction(np.ones(3), "equal noise on the vector, then scaled"),
        _direction(unequal, "unequal noise on the vector, then scaled"),
        _principal_axis(np.ones(3), "equal noise on the vector"),
        _principal_axis(unequal, "unequal noise on the vector"),
        _log_euclidean("noise on the logarithm"),
        _log_euclidean("noise on the affine-invariant logarithm", _affine_invariant()),
        _hyperbolic_mean("noise on the logarithm at the target", load_design("D").target),
        _hyperbolic_mean("noise on the logarithm at another point"),
        _hyperbolic_centre("noise on the logarithm at another point"),
        _covariance("noise on the squares"),
        _covariance("noise on the vector"),
    ]
