"""The six designs of the paper's simulation study (section S.3), as readable records.

What a design *is* (space, loss, law of the data, public bounds, working region, initial point,
target) is kept apart from how the paper *tunes* it (`PaperTuning`), so that the defaults of the
package can be run on the same problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDLogEuclideanMetric, SPDMatrices

from geomstats_ldp.geometry import Geometry, geodesic_ball, log_box, spherical_cap, unit_vector
from geomstats_ldp.geometry.spaces.hyperbolic import on_sheet
from geomstats_ldp.losses import FrechetLoss, Loss, PCALoss, PseudoHuberLoss, VonMisesFisherLoss
from geomstats_ldp.protocol import RadiusRule
from geomstats_ldp.replication.study.affine_score import AffineScoreLoss
from geomstats_ldp.replication.study.axial_frechet import AxialFrechetLoss

#: Privacy levels of the paper, and delta of its Gaussian mechanism.
EPSILONS = (math.inf, 8.0, 4.0, 2.0, 1.0)
GAUSSIAN_DELTA = 1e-6


# ---------------------------------------------------------------- laws of the data


class FiniteLaw:
    """Data that take finitely many values, so that every expectation is a sum.

    Parameters
    ----------
    support : array, shape [n_values, *data_shape]
    probabilities : array-like, shape [n_values]
    """

    def __init__(self, support, probabilities):
        self.support = np.asarray(support)
        self.probabilities = np.asarray(probabilities, dtype=float)
        self._edges = np.cumsum(self.probabilities)[:-1]

    def draw(self, rng, n):
        """Draw n values, shape [n, *data_shape], with a numpy Generator."""
        return self.support[np.searchsorted(self._edges, rng.random(n), side="right")]


def _independent(values, probabilities):
    """Law of vectors whose coordinate j takes values[:, j], independently of the others."""
    n_values, dim = np.shape(values)
    choices = np.stack(np.meshgrid(*[range(n_values)] * dim, indexing="ij"), axis=-1)
    choices = choices.reshape(-1, dim)
    support = np.take_along_axis(np.asarray(values), choices, axis=0)
    return FiniteLaw(support, np.prod(np.asarray(probabilities)[choices], axis=-1))


# ---------------------------------------------------------------- records


@dataclass(frozen=True)
class PaperTuning:
    """Constants that the paper chose for one design on a calibration of its own.

    Attributes
    ----------
    radius : RadiusRule
    gain_constant : float
        C of the pair gain.
    step_caps : dict
        Step cap for each epsilon.
    hessian_bound : float
        L_H.
    guard, guard_nonprivate : float
        Multiplier a_g of the guard with and without privacy.
    guard_cap : float
    retraction : str
    """

    radius: RadiusRule
    gain_constant: float
    step_caps: dict
    hessian_bound: float
    guard: float = 0.0
    guard_nonprivate: float = 0.0
    guard_cap: float = 0.35
    retraction: str = "exponential"


@dataclass(frozen=True, eq=False)
class Design:
    """One estimation problem with a known answer.

    Attributes
    ----------
    name : str
        A to F.
    title : str
    space : geomstats manifold
    loss : Loss
    region : GeodesicBall or LogBox
        Working region, about the target.
    reference, initial_point, target : array, shape [*point_shape]
    score_bound : float
        G.
    law : FiniteLaw
        Law of the data.
    paper : PaperTuning
    """

    name: str
    title: str
    space: Any
    loss: Loss
    region: Any
    reference: np.ndarray
    initial_point: np.ndarray
    target: np.ndarray
    score_bound: float
    law: FiniteLaw
    paper: PaperTuning

    @cached_property
    def geometry(self):
        """Geometry with the exponential map, in which errors are measured."""
        return Geometry(self.space, self.reference)

    def error(self, estimate):
        """Geodesic distance to the target; coordinate distance in C and F, which are flat.

        In B it is the sign-aligned angle, because estimates stay in a cap about the target.
        """
        return float(self.geometry.dist(estimate, self.target))


# ---------------------------------------------------------------- the designs


def _shrinking(s, r):
    """h_k = s min{0.40, r (2 c(k))^-0.27}."""
    return RadiusRule(maximum=0.4 * s, scale=s * r * 2**-0.27, exponent=0.27)


def _caps(*values):
    return dict(zip(EPSILONS, values if len(values) > 1 else values * len(EPSILONS)))


def _design_a():
    c, e1 = 0.95, np.array([1.0, 0.0, 0.0])
    s = math.sqrt(1 - c**2)
    support = [e1, [c, s, 0], [c, -s, 0], [c, 0, s], [c, 0, -s]]
    return Design(
        name="A",
        title="directional location, sphere S^2",
        space=Hypersphere(dim=2),
        loss=VonMisesFisherLoss(kappa=5.0),
        region=spherical_cap(e1, 0.75),
        reference=e1,
        initial_point=unit_vector([0.96, 0.23, -0.16], 3),
        target=e1,
        score_bound=5.0,
        law=FiniteLaw(support, [0.4, 0.15, 0.15, 0.15, 0.15]),
        paper=PaperTuning(_shrinking(0.6, 3.5), 0.8, _caps(0.85), 6.25, retraction="projection"),
    )


def _design_b():
    variances, e1 = np.array([3.0, 1.5, 0.8, 0.3]), np.eye(4)[0]
    return Design(
        name="B",
        title="streaming PCA, sphere S^3",
        space=Hypersphere(dim=3),
        loss=PCALoss(norm_bound=math.sqrt(variances.sum())),
        region=spherical_cap(e1, 0.75),
        reference=e1,
        initial_point=unit_vector([0.95, 0.18, -0.12, 0.20], 4),
        target=e1,
        score_bound=2.8,
        law=_independent(np.stack([np.sqrt(variances), -np.sqrt(variances)]), [0.5, 0.5]),
        paper=PaperTuning(
            _shrinking(0.6, 3.5),
            1.0,
            _caps(1.35, 1.60, 1.35, 1.35, 1.35),
            5.6,
            retraction="projection",
        ),
    )


def _symmetric(coords):
    """Symmetric 2 x 2 matrices with the given coordinates in the basis E_1, E_2, E_3."""
    coords = np.asarray(coords, dtype=float)
    off = coords[..., 1] / math.sqrt(2)
    rows = [[coords[..., 0], off], [off, coords[..., 2]]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def _exp_symmetric(coords):
    values, vectors = np.linalg.eigh(_symmetric(coords))
    return (vectors * np.exp(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _design_c():
    space = SPDMatrices(2, equip=False)
    space.equip_with_metric(SPDLogEuclideanMetric)
    center = np.array([0.2, 0.1, -0.3])
    steps = np.diag([0.31, 0.38, 0.29])
    support = np.concatenate([[center], center + steps, center - steps])
    target = _exp_symmetric(center)
    return Design(
        name="C",
        title="log-Euclidean mean, SPD(2)",
        space=space,
        loss=AxialFrechetLoss(center=target, half_axes=[0.31, 0.38, 0.29]),
        region=log_box(target, [0.5] * 3, holds_queries=True),
        reference=np.eye(2),
        initial_point=_exp_symmetric([0.32, 0.0, -0.22]),
        target=target,
        # Section S.3 states no number but says that the bound is evaluated over the query region.
        score_bound=math.sqrt(2 * 0.5**2 + (0.5 + 0.38) ** 2),
        law=FiniteLaw(_exp_symmetric(support), [0.4] + [0.1] * 6),
        paper=PaperTuning(RadiusRule.fixed(0.14), 0.8, _caps(0.75), 1.25, 0.2, 0.2),
    )


def _hyperbolic(coords):
    """Exponential of tangent vectors at the origin of the hyperboloid, shape [..., 3]."""
    coords = np.asarray(coords, dtype=float)
    length = np.linalg.norm(coords, axis=-1, keepdims=True)
    return on_sheet(np.sinh(length) / np.where(length > 0, length, 1.0) * coords)


def _design_d():
    origin = _hyperbolic([0.0, 0.0])
    support = _hyperbolic([[0.6, 0.0], [-0.6, 0.0], [0.0, 0.35], [0.0, -0.35]])
    return Design(
        name="D",
        title="Fréchet mean, hyperbolic plane H^2",
        space=Hyperboloid(dim=2),
        loss=FrechetLoss(center=origin, data_radius=0.6),
        region=geodesic_ball(origin, 0.8, holds_queries=True),
        reference=origin,
        initial_point=_hyperbolic([0.18, -0.14]),
        target=origin,
        score_bound=1.4,
        law=FiniteLaw(support, [0.25] * 4),
        paper=PaperTuning(_shrinking(0.45, 3.5), 0.8, _caps(0.85), 1.4 / math.tanh(1.4), guard=0.5),
    )


def _design_e():
    origin = _hyperbolic([0.0, 0.0])
    support = _hyperbolic([[0.3, 0.0], [-0.3, 0.0], [0.0, 1.0], [0.0, -1.0]])
    return Design(
        name="E",
        title="pseudo-Huber centre, hyperbolic plane H^2",
        space=Hyperboloid(dim=2),
        loss=PseudoHuberLoss(center=origin, data_radius=1.0, scale=0.45),
        region=geodesic_ball(origin, 1.25, holds_queries=True),
        reference=origin,
        initial_point=_hyperbolic([0.18, -0.12]),
        target=origin,
        score_bound=0.45,
        law=FiniteLaw(support, [0.35, 0.35, 0.15, 0.15]),
        paper=PaperTuning(
            _shrinking(0.6, 4.5), 0.8, _caps(1.0, 1.0, 2.0, 1.5, 2.0), 1.0, 1.5, 2.5, 0.5
        ),
    )


def _affine_datum(xi):
    first, second = xi[..., 0], xi[..., 1]
    return np.stack([first**2 - 1, math.sqrt(2) * first * second, second**2 - 1], axis=-1)


def _design_f():
    values = np.array([0.0, math.sqrt(2), -math.sqrt(2)])
    xi = _independent(np.stack([values, values], axis=-1), [0.5, 0.25, 0.25])
    origin = np.zeros(3)
    return Design(
        name="F",
        title="affine score, local SPD(2) coordinates",
        space=Euclidean(dim=3),
        loss=AffineScoreLoss(center=origin, data_radius=math.sqrt(10)),
        region=geodesic_ball(origin, 2.0, holds_queries=True),
        reference=origin,
        initial_point=np.array([0.20, -0.10, 0.15]),
        target=origin,
        score_bound=1 + math.sqrt(2.5),
        law=FiniteLaw(_affine_datum(xi.support), xi.probabilities),
        paper=PaperTuning(
            RadiusRule.fixed(0.3), 1.0, _caps(0.85, 0.85, 0.1, 0.2, 0.4), 0.6, 0.4, 0.4
        ),
    )


#: Builders of the designs by name.
_BUILDERS = {
    "A": _design_a,
    "B": _design_b,
    "C": _design_c,
    "D": _design_d,
    "E": _design_e,
    "F": _design_f,
}

DESIGNS = tuple(_BUILDERS)


def load_design(name):
    """Design of the paper by its letter.

    Raises
    ------
    ValueError
        If there is no such design.
    """
    if name not in _BUILDERS:
        raise ValueError(f"design must be one of {DESIGNS}; got {name!r}")
    return _BUILDERS[name]()
