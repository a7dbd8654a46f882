"""The Rayleigh loss of subspaces: bound, Hessian, and what it has in common with directions."""

import math

import numpy as np
import pytest

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import PCALoss, SubspaceLoss


def planes(n=4, p=2):
    spec = {"name": "Grassmannian", "n": n, "p": p}
    return Geometry(space_from_spec(spec), np.diag([1.0] * p + [0.0] * (n - p)))


def test_the_bound_of_the_score_is_attained_and_no_more():
    geometry, loss = planes(), SubspaceLoss(norm_bound=1.5)
    bound = loss.score_bound(geometry, None)
    rng = np.random.default_rng(0)
    rows = loss.clip(geometry, 3 * rng.normal(size=(2000, 4)))
    norms = np.linalg.norm(loss.score(geometry, geometry.reference, rows), axis=(1, 2))
    assert norms.max() <= bound * (1 + 1e-14)
    # Halfway between a direction in the plane and one across it.
    worst = 1.5 * np.array([0.6, 0.8, -0.28, 0.96]) / math.sqrt(2)
    score = loss.score(geometry, geometry.reference, worst)
    assert np.linalg.norm(score) == pytest.approx(bound, rel=1e-14)
    assert bound == pytest.approx(1.5**2 / 2 / math.sqrt(2))


def test_the_hessian_has_half_the_gaps_across_the_edge():
    """Second derivatives of the mean loss along geodesics, eigenvalues 3, 1.5 | 0.8, 0.3."""
    geometry, values, step = planes(), np.array([3.0, 1.5, 0.8, 0.3]), 1e-3
    rows = 2.0 * np.diag(np.sqrt(values))  # second moment diag(values), exactly
    loss = SubspaceLoss(norm_bound=4.0)
    gaps = []
    for i in (0, 1):
        for j in (2, 3):
            joins = np.zeros((4, 4))
            joins[i, j] = joins[j, i] = math.sqrt(0.5)
            ends = [geometry.exp(sign * step * joins, geometry.reference) for sign in (-1, 0, 1)]
            low, middle, high = (loss.value(geometry, end, rows).mean() for end in ends)
            gaps.append((low - 2 * middle + high) / step**2)
    # The remainder is step^2 / 12 times a fourth derivative of size 10.
    np.testing.assert_allclose(gaps, [1.1, 1.35, 0.35, 0.6], atol=1e-5)
    assert max(gaps) <= loss.hessian_bound(geometry, None)


def test_a_line_has_the_loss_of_its_direction():
    """Values agree, and so do derivatives along the same motion: dP = u v^T + v u^T."""
    geometry, rng = planes(3, 1), np.random.default_rng(1)
    lines, directions = SubspaceLoss(norm_bound=2.0), PCALoss(norm_bound=2.0)
    u, v = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    rows, point = rng.normal(size=(20, 3)), np.outer(u, u)
    np.testing.assert_allclose(
        lines.value(geometry, point, rows), directions.value(None, u, rows), atol=1e-14
    )
    moved = np.outer(u, v) + np.outer(v, u)
    slopes = np.einsum("nab,ab->n", lines.score(geometry, point, rows), moved)
    np.testing.assert_allclose(slopes, directions.score(None, u, rows) @ v, atol=1e-14)


def test_other_spaces_are_refused():
    sphere = Geometry(space_from_spec({"name": "Hypersphere", "dim": 2}), np.eye(3)[0])
    with pytest.raises(ProtocolError, match="needs a Grassmannian; got Hypersphere"):
        SubspaceLoss(norm_bound=1.0).check_space(sphere)
