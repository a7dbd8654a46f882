"""Hessians of products: what is known of their blocks, and what regressions make of it."""

from dataclasses import replace

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.product_manifold import ProductManifold
from scipy import stats

from geomstats_ldp import PrivateFrechetMean, Tuning
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.inference import (
    estimate_sandwich,
    predict_from_differences,
    weak_curvature,
)
from geomstats_ldp.losses import FrechetLoss, loss_of
from geomstats_ldp.protocol import InferenceRule
from geomstats_ldp.score_regression.blocks import basis_within, blocks_of, possible_hessians
from geomstats_ldp.score_regression.moments import symmetric_basis
from geomstats_ldp.score_regression.prediction import bounded_by_growth, ratio_along
from geomstats_ldp.score_regression.shrinkage import charged_share, shrink
from geomstats_ldp.testing import LossCase
from geomstats_ldp.testing.hessians import check_target_hessian

PRODUCTS = {
    "S2xR2": (ProductManifold([Hypersphere(2), Euclidean(2)]), [0.0, 0.0, 1.0, 0.0, 0.0]),
    "H2xS2": (ProductManifold([Hyperboloid(2), Hypersphere(2)]), [[1.0, 0, 0], [0, 0, 1.0]]),
    "(S2xR)xS1": (
        ProductManifold([ProductManifold([Hypersphere(2), Euclidean(1)]), Hypersphere(1)]),
        [0.0, 0.0, 1.0, 0.0, 0.0, 1.0],
    ),
}

#: Sizes of the blocks, and which of them are the identity.
BLOCKS = {"S2xR2": [(2, False), (2, True)], "H2xS2": [(2, False)] * 2}
BLOCKS["(S2xR)xS1"] = [(2, False), (1, True), (1, True)]


def rows_of(geometry, n, reach, seed):
    coords = np.random.default_rng(seed).normal(size=(n, geometry.dim))
    coords *= reach / np.linalg.norm(coords, axis=1, keepdims=True)
    return geometry.exp(geometry.lift(coords, geometry.reference), geometry.reference)


@pytest.mark.parametrize("name", list(PRODUCTS))
def test_the_squared_distance_has_a_block_for_each_factor(name):
    """By derivatives of scores at queries all about, with data that the joint ball moves."""
    space, center = PRODUCTS[name]
    geometry, loss = Geometry(space, center), FrechetLoss(center=center, data_radius=0.8)
    region = geodesic_ball(geometry.reference, 0.6)
    known = loss.target_hessian(geometry, region)
    assert [(size, low == high == 1.0) for size, low, high in known.blocks] == BLOCKS[name]
    assert min(low for _, low, _ in known.blocks) == known.low
    assert max(high for _, _, high in known.blocks) == known.high
    check_target_hessian(
        LossCase(loss, space, geometry.reference, 0.6, rows_of(geometry, 12, 1.1, seed=0))
    )


def test_spaces_that_are_no_product_or_flat_have_no_blocks():
    flat = ProductManifold([Euclidean(1), Euclidean(2)])
    for space, center in ((flat, np.zeros(3)), (Hypersphere(2), [0.0, 0.0, 1.0])):
        geometry, loss = Geometry(space, center), FrechetLoss(center=center, data_radius=0.5)
        region = geodesic_ball(geometry.reference, 0.5)
        assert loss.target_hessian(geometry, region).blocks is None


def mean_on(space, center, **options):
    return PrivateFrechetMean(
        space,
        data_radius=0.8,
        region_radius=0.7,
        initial_point=center,
        tuning=Tuning(engine="geomstats"),
        **options,
    )


def fitted(name, epsilon, n=900):
    space, center = PRODUCTS[name]
    model = mean_on(space, center, epsilon=epsilon, n_rounds=3, random_state=0)
    geometry = Geometry(space, center)
    rows = rows_of(geometry, 40, 0.6, seed=1)
    return model.fit(np.concatenate([rows] * (n // 40))), rows


def test_a_regression_finds_the_blocks_and_leaves_the_rest():
    """Without privacy: the Hessian at the estimate, by derivatives of the mean score there."""
    model, rows = fitted("S2xR2", np.inf)
    fit, geometry, loss = model.server_.fit(), model.protocol_.geometry, loss_of(model.protocol_)
    step, columns = 1e-5, []
    for axis in geometry.lift(np.eye(4), fit.point):
        ends = []
        for sign in (1, -1):
            end = geometry.exp(sign * step * axis, fit.point)
            score = loss.score(geometry, end, loss.clip(geometry, rows)).mean(axis=0)
            ends.append(geometry.coordinates(geometry.transport(score, end, fit.point), fit.point))
        columns.append((ends[0] - ends[1]) / (2 * step))
    true = np.stack(columns, axis=1)
    np.testing.assert_array_equal(fit.raw_hessian[:2, 2:], 0.0)
    np.testing.assert_array_equal(fit.raw_hessian[2:, 2:], np.eye(2))
    np.testing.assert_array_equal(fit.hessian[2:, 2:], np.eye(2))
    np.testing.assert_allclose(fit.raw_hessian, true, atol=0.1)
    np.testing.assert_array_equal(fit.errors[1], 0.0)


def test_flat_directions_are_closed_however_little_is_known_of_the_others():
    model, _ = fitted("S2xR2", 1.0)
    prediction = model.server_.predict_scores()
    np.testing.assert_array_equal(prediction.growth[2:], 0.0)
    with pytest.warns():
        region = model.confidence_region(kind="score")
    assert region.is_open and len(region.open_directions) <= 2
    error, direction = weak_curvature(
        prediction, model.server_.fit().hessian, model.protocol_.inference
    )
    assert error > 0.1 and np.linalg.norm(direction[:2]) == pytest.approx(1.0)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 1, 2)])
def test_the_growth_of_blocks_bounds_what_their_errors_do(sizes):
    """Statistics of targets at any distance, with errors of two blocks and none of the last."""
    dim, rng = sum(sizes), np.random.default_rng(0)
    ranges = [(0.0, 9.0)] * (len(sizes) - 1) + [(1.0, 1.0)]
    rule = InferenceRule(
        hessian="shrunk", hessian_blocks=tuple((n, *own) for n, own in zip(sizes, ranges))
    )
    geometry = Geometry(Euclidean(dim), np.zeros(dim))
    basis, known = possible_hessians(geometry, None, rule)
    assert len(basis) == sum(n * (n + 1) // 2 for n in sizes[:-1])
    np.testing.assert_array_equal(np.diag(known), [0.0] * (dim - sizes[-1]) + [1.0] * sizes[-1])
    covariance = np.diag([0.01] * dim + [0.04] * len(basis))
    protocol = type("P", (), {"dim": dim, "inference": rule})
    factors = rng.normal(size=(20_000, len(covariance))) * np.sqrt(np.diag(covariance))
    for length in (0.1, 1.0, 10.0):
        target = length * rng.normal(size=dim) / np.sqrt(dim)
        prediction = bounded_by_growth(
            np.zeros(len(covariance)),
            covariance,
            basis,
            known,
            np.diag([0.01] * dim + [0.0] * len(basis)),
            ratio_along(protocol, basis),
        )
        errors = factors[:, :dim] + np.einsum("nk,kij,j->ni", factors[:, dim:], basis, target)
        away = target @ prediction.growth @ target
        sizes_of = np.sum(errors * np.linalg.solve(prediction.covariance, errors.T).T, axis=1)
        covered = np.mean(sizes_of / (1 + away) <= stats.chi2.ppf(0.95, dim))
        assert covered > 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(factors))
    # Along the direction of one coordinate the variance is just what the growth says.
    unit = np.eye(dim)[0]
    along = np.var(np.einsum("nk,kij,j,i->n", factors[:, dim:], basis, unit, unit)) / 0.01
    assert prediction.growth[0, 0] == pytest.approx(along, rel=0.05)


def test_blocks_share_out_the_basis_and_keep_their_bounds():
    rule = InferenceRule(hessian_blocks=((2, 0.2, 1.0), (1, 1.0, 1.0), (3, 1.0, 4.0)))
    blocks = blocks_of(rule, 6)
    assert [block.place for block in blocks] == [slice(0, 2), slice(2, 3), slice(3, 6)]
    assert [block.is_known for block in blocks] == [False, True, False]
    assert [block.rule.hessian_range for block in blocks] == [(0.2, 1.0), (1.0, 1.0), (1.0, 4.0)]
    basis, _ = possible_hessians(Geometry(Euclidean(6), np.zeros(6)), None, rule)
    own = [basis_within(basis, block) for block in blocks]
    assert sorted(np.concatenate(own).tolist()) == list(range(9))
    assert [len(one) for one in own] == [3, 0, 6]


def test_shrinking_to_a_known_multiple_errs_about_as_charged():
    """Positive-part James-Stein of three coordinates of unit noise about the identity."""
    rng, n, basis = np.random.default_rng(3), 4000, symmetric_basis(2, False)
    for size in (0.0, 1.0, 3.0, 10.0):
        true, squares, charged = np.diag([1.0 + size, 1.0]), [], []
        for noise in rng.normal(size=(n, 3)):
            raw = true + np.tensordot(noise, basis, axes=1)
            found, kept = shrink(raw, 3.0, 1.0)
            squares.append(np.sum((found - true) ** 2))
            charged.append(3 * charged_share(kept, 3))
        assert np.mean(squares) < 1.4 * np.mean(charged)
        assert np.mean(squares) < (1.5 if size <= 1 else 3.3)  # 3 without


def in_pairs(name, epsilon, seed=0, n=600):
    space, center = PRODUCTS[name]
    geometry = Geometry(space, center)
    model = mean_on(space, center, epsilon=epsilon, random_state=seed)
    return model.fit(rows_of(geometry, n, 0.6, seed=seed))


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_pairs_know_the_blocks_too():
    model = in_pairs("S2xR2", 4.0)
    protocol, state = model.protocol_, model.server_.state
    known = estimate_sandwich(state, protocol)
    free = replace(protocol.inference, hessian_blocks=None)
    np.testing.assert_array_equal(known.hessian[:2, 2:], 0.0)
    np.testing.assert_array_equal(known.hessian[2:, 2:], np.eye(2))
    prediction = predict_from_differences(state, protocol)
    whole = predict_from_differences(state, replace(protocol, inference=free))
    np.testing.assert_array_equal(prediction.slope[2:], [[0, 0, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(prediction.growth[2:], 0.0)
    np.testing.assert_array_equal(prediction.slope[:2, :2], whole.slope[:2, :2])
    np.testing.assert_array_equal(prediction.growth[:2, :2], whole.growth[:2, :2])
    # No guard where the Hessian is known: the plane's part is that of its score, and the gains.
    bare = replace(protocol, inference=replace(protocol.inference, guard=0.0))
    plain = estimate_sandwich(state, bare).covariance
    np.testing.assert_allclose(known.covariance[2:, 2:], plain[2:, 2:], rtol=1e-12)
    np.testing.assert_allclose(known.covariance[:2, :2], known.guard * plain[:2, :2], rtol=1e-12)
    assert known.guard > 1.01
