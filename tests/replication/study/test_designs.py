"""The designs are the problems of section S.3, checked by sums over their finite laws."""

import itertools
import math

import numpy as np
import pytest

from geomstats_ldp.geometry import region_of_queries
from geomstats_ldp.losses import loss_from_spec
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.planning.oracle import (
    oracle_semi_axes,
    population_covariance,
    population_hessian,
)
from geomstats_ldp.replication.study.designs import DESIGNS, FiniteLaw, load_design

SUPPORT_SIZE = {"A": 5, "B": 16, "C": 7, "D": 4, "E": 4, "F": 9}


@pytest.fixture(scope="module")
def designs():
    return {name: load_design(name) for name in DESIGNS}


def scores(design, point):
    return design.loss.score(design.geometry, point, design.law.support)


def points_at(design, coords):
    """Points with the given frame coordinates about the target."""
    geometry, target = design.geometry, design.target
    return np.stack([geometry.exp(geometry.lift(c, target), target) for c in coords])


def query_coords(design, rng, n):
    """Frame coordinates of points of the query region, many of them on its edge."""
    dim = design.geometry.dim
    region = region_of_queries(design.geometry, design.region, design.paper.radius.maximum)
    if hasattr(region, "half_widths"):
        inner = rng.uniform(-1, 1, size=(n, dim))
        return np.concatenate([inner, np.sign(inner)]) * region.half_widths
    directions = rng.normal(size=(n, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = np.concatenate([rng.uniform(size=n), np.ones(n)])[:, None]
    return region.radius * lengths * np.concatenate([directions, directions])


@pytest.mark.parametrize("name", DESIGNS)
def test_the_target_is_where_the_mean_score_is_zero(designs, name):
    design = designs[name]
    mean = np.tensordot(design.law.probabilities, scores(design, design.target), axes=1)
    assert np.abs(mean).max() < 1e-12


@pytest.mark.parametrize("name", DESIGNS)
def test_the_target_minimises_the_mean_loss_over_the_query_region(designs, name):
    design = designs[name]

    def mean_loss(point):
        values = design.loss.value(design.geometry, point, design.law.support)
        return float(design.law.probabilities @ values)

    lowest = mean_loss(design.target)
    for coords in query_coords(design, np.random.default_rng(1), 40):
        # Strong convexity with at least a tenth of the smallest curvature of all designs.
        [point] = points_at(design, [coords])
        assert mean_loss(point) > lowest + 0.025 * np.sum(coords**2)


def closed_form_hessian(name):
    if name == "A":  # kappa (mu' E Y) I
        return 5 * (0.4 + 0.6 * 0.95) * np.eye(2)
    if name == "B":  # differences of the variances to the largest
        return np.diag([3 - 1.5, 3 - 0.8, 3 - 0.3])
    if name == "C":
        return np.eye(3)
    if name == "F":
        return np.eye(3) / 2
    if name == "D":  # radial 1, across d coth d
        across = [d / math.tanh(d) for d in (0.6, 0.35)]
        return np.diag([(1 + across[1]) / 2, (across[0] + 1) / 2])
    # Pseudo-Huber f: radial f'', across f' coth d.
    slope = {d: d / math.sqrt(1 + (d / 0.45) ** 2) for d in (0.3, 1.0)}
    bend = {d: (1 + (d / 0.45) ** 2) ** -1.5 for d in (0.3, 1.0)}
    return np.diag(
        [
            0.7 * bend[0.3] + 0.3 * slope[1.0] / math.tanh(1.0),
            0.7 * slope[0.3] / math.tanh(0.3) + 0.3 * bend[1.0],
        ]
    )


@pytest.mark.parametrize("name", DESIGNS)
def test_population_hessian(designs, name):
    found = population_hessian(designs[name])
    assert np.allclose(found, closed_form_hessian(name), rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_hessian_bounds_exceed_the_population_hessian(designs, name):
    assert np.linalg.eigvalsh(closed_form_hessian(name))[-1] < designs[name].paper.hessian_bound


@pytest.mark.parametrize("name", DESIGNS)
def test_the_score_bound_holds_over_the_query_region(designs, name):
    design = designs[name]
    coords = query_coords(design, np.random.default_rng(2), 60)
    for point in points_at(design, coords):
        norms = design.geometry.norm(scores(design, point), point)
        assert norms.max() <= design.score_bound * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "coords"),
    [
        ("C", [0.5, 0.5, 0.5]),  # a corner and the far end of the longest axis
        ("D", [0.8, 0.0]),
        ("F", 2 * np.array([-1, 2 * math.sqrt(2), -1]) / math.sqrt(10)),
    ],
)
def test_the_score_bound_is_attained(designs, name, coords):
    design = designs[name]
    [point] = points_at(design, [coords])
    norms = design.geometry.norm(scores(design, point), point)
    assert math.isclose(norms.max(), design.score_bound, rel_tol=1e-9)


def test_the_score_bounds_of_a_b_and_e_are_attained_beyond_the_region_only(designs):
    design = designs["A"]
    [point] = points_at(design, [[math.pi / 2, 0.0]])
    assert math.isclose(design.geometry.norm(scores(design, point), point).max(), 5.0)
    design = designs["B"]
    datum = design.law.support[0]
    across = np.array([datum[1], -datum[0], 0, 0]) / math.hypot(*datum[:2])
    point = (datum / np.linalg.norm(datum) + across) / math.sqrt(2)
    norms = design.geometry.norm(scores(design, point), point)
    assert math.isclose(norms.max(), 2.8)
    design = designs["E"]  # the derivative tends to 0.45; the largest distance is 1.25 + 1
    [point] = points_at(design, [[0.0, 1.25]])
    norms = design.geometry.norm(scores(design, point), point)
    assert math.isclose(norms.max(), 2.25 / math.sqrt(1 + (2.25 / 0.45) ** 2))


@pytest.mark.parametrize("name", DESIGNS)
def test_the_law_is_finite_and_no_datum_is_clipped(designs, name):
    design = designs[name]
    assert len(design.law.support) == SUPPORT_SIZE[name]
    assert math.isclose(design.law.probabilities.sum(), 1.0)
    kept = design.loss.clip(design.geometry, design.law.support)
    assert np.allclose(kept, design.law.support, rtol=0, atol=1e-12)


def test_moments_of_the_laws(designs):
    def moment(name, values):
        return np.tensordot(designs[name].law.probabilities, values, axes=1)

    support = {name: design.law.support for name, design in designs.items()}
    assert np.allclose(moment("A", support["A"]), [0.97, 0, 0])
    assert np.allclose(np.linalg.norm(support["A"], axis=1), 1)
    products = support["B"][:, :, None] * support["B"][:, None, :]
    assert np.allclose(moment("B", products), np.diag([3, 1.5, 0.8, 0.3]))
    assert np.allclose(np.sum(support["B"] ** 2, axis=1), 5.6)
    logs = [v @ np.diag(np.log(w)) @ v.T for w, v in (np.linalg.eigh(m) for m in support["C"])]
    coords = np.array([[m[0, 0], math.sqrt(2) * m[0, 1], m[1, 1]] for m in logs])
    center = np.array([0.2, 0.1, -0.3])
    assert np.allclose(moment("C", coords), center)
    spread = (coords - center)[:, :, None] * (coords - center)[:, None, :]
    assert np.allclose(moment("C", spread), 0.2 * np.diag([0.31**2, 0.38**2, 0.29**2]))
    assert math.isclose(designs["C"].law.probabilities[0], 0.4)
    assert np.allclose(moment("F", support["F"]), 0)
    squares = support["F"][:, :, None] * support["F"][:, None, :]
    assert np.allclose(moment("F", squares), np.diag([1, 2, 1]))


@pytest.mark.parametrize(
    ("name", "first", "second", "share"), [("D", 0.6, 0.35, 0.5), ("E", 0.3, 1.0, 0.7)]
)
def test_hyperbolic_laws(designs, name, first, second, share):
    law = designs[name].law
    expected = [[first, 0], [-first, 0], [0, second], [0, -second]]
    length = np.arccosh(law.support[:, 0])
    coords = law.support[:, 1:] * (length / np.sinh(length))[:, None]
    assert np.allclose(coords, expected)
    assert np.allclose(law.probabilities, [share / 2] * 2 + [(1 - share) / 2] * 2)


def test_the_affine_score_is_that_of_the_paper(designs):
    design, w = designs["F"], np.array([0.3, -1.1, 0.7])
    law = dict.fromkeys([0.0, math.sqrt(2), -math.sqrt(2)], 0.25) | {0.0: 0.5}
    expected = [
        ((w + [1 - a**2, -math.sqrt(2) * a * b, 1 - b**2]) / 2, law[a] * law[b])
        for a, b in itertools.product(law, law)
    ]
    found = list(zip(scores(design, w), design.law.probabilities))
    for score, probability in expected:
        same = [p for g, p in found if np.allclose(g, score)]
        # Pairs of opposite signs give the same score.
        twins = [p for g, p in expected if np.allclose(g, score)]
        assert math.isclose(sum(same), sum(twins)) and len(same) == len(twins)
        assert any(math.isclose(p, probability) for p in same)


def test_initial_points_and_regions(designs):
    def normalised(vector):
        return np.array(vector) / np.linalg.norm(vector)

    assert np.allclose(designs["A"].initial_point, normalised([0.96, 0.23, -0.16]))
    assert np.allclose(designs["B"].initial_point, normalised([0.95, 0.18, -0.12, 0.20]))
    values, vectors = np.linalg.eigh(designs["C"].initial_point)
    log = vectors @ np.diag(np.log(values)) @ vectors.T
    assert np.allclose(log, np.diag([0.32, -0.22]))
    for name, coords in [("D", (0.18, -0.14)), ("E", (0.18, -0.12)), ("F", (0.20, -0.10, 0.15))]:
        design = designs[name]
        assert math.isclose(design.error(design.initial_point), math.hypot(*coords))
        log = design.geometry.log(design.initial_point, design.target)
        direction = log[1:] if name != "F" else log
        assert np.allclose(direction, coords)
    for name in "AB":
        assert math.isclose(designs[name].region.radius, math.acos(0.75))
        assert not designs[name].region.holds_queries
        # The paper's queries stay in a cap of radius 1.
        assert math.acos(0.75) + math.atan(0.24) < 1.0
    for name, radius in [("D", 0.8), ("E", 1.25), ("F", 2.0)]:
        assert designs[name].region.radius == radius and designs[name].region.holds_queries
    assert designs["C"].region.half_widths.tolist() == [0.5] * 3


@pytest.mark.parametrize("name", DESIGNS)
def test_the_region_is_about_the_target_and_holds_the_initial_point(designs, name):
    design = designs[name]
    assert np.allclose(design.region.center, design.target, rtol=0, atol=1e-12)
    assert design.region.contains(design.geometry, design.initial_point)
    assert design.error(design.target) < 1e-9


def test_errors_are_in_the_metric_of_the_paper(designs):
    assert math.isclose(designs["A"].error([math.cos(0.3), math.sin(0.3), 0]), 0.3)
    assert math.isclose(designs["B"].error([math.cos(0.2), 0, 0, math.sin(0.2)]), 0.2)
    assert math.isclose(designs["D"].error([math.cosh(0.4), 0, math.sinh(0.4)]), 0.4)
    [point] = points_at(designs["C"], [[0.1, -0.2, 0.2]])
    assert math.isclose(designs["C"].error(point), 0.3)
    assert math.isclose(designs["F"].error([1.0, 2.0, 2.0]), 3.0)


def test_draws_follow_the_law():
    law = FiniteLaw([[1.0], [2.0], [3.0]], [0.2, 0.5, 0.3])
    draws = law.draw(np.random.default_rng(0), 20000)[:, 0]
    shares = np.array([(draws == value).mean() for value in (1.0, 2.0, 3.0)])
    error = np.sqrt(law.probabilities * (1 - law.probabilities) / 20000)
    assert np.all(np.abs(shares - law.probabilities) < 4 * error)
    shorter = law.draw(np.random.default_rng(0), 500)[:, 0]
    assert np.array_equal(shorter, draws[:500])


def test_oracle_against_closed_forms(designs):
    """Design A by hand: Sigma = 25 s^2 0.3 I + sigma^2 I and H = 4.85 I."""
    randomiser = make_mechanism("gaussian", epsilon=4.0, delta=1e-6, dim=2, bound=5.0)
    variance = 25 * (1 - 0.95**2) * 0.3 + randomiser.noise_variance
    covariance = population_covariance(designs["A"], randomiser)
    assert np.allclose(covariance, variance * np.eye(2))
    # Minus two times the log of 0.05 is the quantile of chi^2 with two degrees of freedom.
    expected = math.sqrt(-2 * math.log(0.05) * variance / 1000) / 4.85
    assert np.allclose(oracle_semi_axes(designs["A"], randomiser, 1000), expected)
    none = make_mechanism("gaussian", epsilon=math.inf, delta=0.0, dim=3, bound=2.8)
    found = oracle_semi_axes(designs["B"], none, 100, level=0.9)
    sizes = np.sqrt(3 * np.array([1.5, 0.8, 0.3])) / [1.5, 2.2, 2.7]
    assert np.allclose(found, np.sqrt(6.251388631 / 100) * sizes)


def test_the_axial_loss_states_what_the_box_allows(designs):
    design = designs["C"]
    bound = design.loss.score_bound(design.geometry, design.region)
    assert math.isclose(bound, design.score_bound)
    assert bound < math.sqrt(3) * 0.5 + 0.38  # the triangle inequality
    assert loss_from_spec(design.loss.to_spec()).to_spec() == design.loss.to_spec()
    moved = design.region._replace(center=points_at(design, [[0.0, 0.1, 0.0]])[0])
    assert math.isclose(design.loss.score_bound(design.geometry, moved), bound + 0.1)


def test_a_score_beyond_the_bound_is_shortened_before_release(designs):
    """Data off the axes may have a longer score; the guarantee does not rest on them."""
    mechanism = make_mechanism("gaussian", epsilon=2.0, delta=1e-6, dim=3, bound=1.1)
    noise = np.zeros((1, mechanism.n_variates))
    long = np.array([[3.0, 0.0, 4.0]])
    assert np.allclose(mechanism.release(long, noise), 1.1 * long / 5)


def test_unknown_design():
    with pytest.raises(ValueError, match=r"design must be one of .* got 'G'"):
        load_design("G")
