"""The definition of pure local privacy, on exact densities, and samplers against densities.

For every output the log densities under all inputs may differ by at most epsilon.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from geomstats_ldp.mechanisms import MECHANISMS, make_mechanism, make_streams

PURE = ["privunit", "l2_ball"]
DIMS = [1, 2, 3, 6]
BOUND = 1.7


def build(name, epsilon, dim):
    """The mechanism at this epsilon, or at the largest that doubles realise."""
    epsilon = min(epsilon, MECHANISMS[name].largest_epsilon(dim))
    return make_mechanism(name, epsilon=epsilon, dim=dim, bound=BOUND)


def unit_rows(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def adversarial_inputs(dim, rng):
    """Antipodal boundary points, near-boundary, interior, tiny, zero and outside points."""
    axes = np.eye(dim)
    others = unit_rows(rng.normal(size=(4, dim)))
    directions = np.concatenate([axes, -axes, others, -others])
    radii = [0.0, 1e-12, 0.3, 0.9, 1 - 1e-6, 1 - 1e-12, 1.0, 5.0]
    return BOUND * np.concatenate([r * directions for r in radii])


def sphere_points_at(centres, cosine, rng, repeats):
    """Points of a sphere at a given cosine from each of the centres (unit rows)."""
    centres = np.repeat(centres, repeats, axis=0)
    across = rng.normal(size=centres.shape)
    across -= np.sum(across * centres, axis=-1, keepdims=True) * centres
    return cosine * centres + np.sqrt(1 - cosine**2) * unit_rows(across)


def lift(points):
    height = np.sqrt(np.maximum(1 - np.sum(points**2, axis=-1, keepdims=True), 0.0))
    return np.concatenate([points, height], axis=-1)


def adversarial_outputs(mechanism, inputs, rng):
    """Random points of the support, its rim, and both sides of every discontinuity."""
    dim = mechanism.dim
    norms = np.linalg.norm(inputs, axis=-1, keepdims=True)
    points = inputs / np.maximum(norms, BOUND)
    if mechanism.name == "l2_ball":
        nonzero = unit_rows(points[norms[:, 0] > 0])
        rows = [unit_rows(rng.normal(size=(500, dim))), nonzero]
        rows += [sphere_points_at(nonzero, c, rng, 3) for c in (1e-7, -1e-7) if dim > 1]
        return mechanism.radius * np.concatenate(rows)
    centres = lift(points)
    rows = [unit_rows(rng.normal(size=(1000, dim + 1))), centres, -centres]
    for gap in (1e-3, 1e-6, 1e-9):
        for depth in (mechanism.depth * (1 + gap), mechanism.depth * (1 - gap)):
            rows.append(sphere_points_at(centres, 1 - depth, rng, 3))
    flat = np.concatenate(rows)[:, :dim]
    directions = unit_rows(flat[np.linalg.norm(flat, axis=-1) > 0])
    rim = [np.sqrt(1 - height**2) * directions for height in (1e-2, 1e-4, 1e-7)]
    outputs = np.concatenate([flat, *rim])
    inside = np.linalg.norm(outputs, axis=-1) < 1 - 1e-15
    return mechanism.support_radius * outputs[inside]


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", PURE)
def test_worst_density_ratio_is_epsilon_and_attained_by_antipodes(name, dim, epsilon):
    mechanism = build(name, epsilon, dim)
    epsilon = mechanism.epsilon
    rng = np.random.default_rng(dim)
    inputs = adversarial_inputs(dim, rng)
    outputs = adversarial_outputs(mechanism, inputs, rng)
    table = mechanism.log_density(outputs[:, None, :], inputs)  # shape [outputs, inputs]
    assert np.isfinite(table).all()  # the support does not depend on the input
    assert np.ptp(table, axis=1).max() <= epsilon + 1e-9
    for i in range(dim):
        pair = BOUND * np.eye(dim)[i] * np.array([[1.0], [-1.0]])
        ratios = np.diff(mechanism.log_density(outputs[:, None, :], pair), axis=1)
        assert ratios.max() >= epsilon - 1e-9
        assert ratios.min() <= -epsilon + 1e-9


@pytest.mark.parametrize("epsilon", [100.0, 700.0])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", PURE)
def test_worst_density_ratio_at_extreme_epsilon(name, dim, epsilon):
    mechanism = build(name, epsilon, dim)
    rng = np.random.default_rng(dim)
    inputs = adversarial_inputs(dim, rng)
    table = mechanism.log_density(adversarial_outputs(mechanism, inputs, rng)[:, None, :], inputs)
    assert np.isfinite(table).all()
    assert np.ptp(table, axis=1).max() <= epsilon + 1e-9


def test_a_threshold_for_the_wrong_epsilon_is_noticed():
    """The ratio test can fail: the law of epsilon = 1 is not 0.9-private."""
    mechanism = build("privunit", 1.0, 2)
    rng = np.random.default_rng(0)
    inputs = adversarial_inputs(2, rng)
    outputs = adversarial_outputs(mechanism, inputs, rng)
    assert np.ptp(mechanism.log_density(outputs[:, None, :], inputs), axis=1).max() > 0.9


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("dim", DIMS)
def test_density_is_minus_infinity_off_the_support(name, dim):
    mechanism = build(name, 1.0, dim)
    outside = np.zeros(dim)
    outside[0] = mechanism.support_radius * (1 + 1e-6)
    assert mechanism.log_density(outside, np.zeros(dim)) == -np.inf
    if name == "l2_ball":
        assert mechanism.log_density(0.5 * outside, np.zeros(dim)) == -np.inf


@pytest.mark.parametrize("radius", [0.0, 0.4, 0.95, 1.0])
@pytest.mark.parametrize("epsilon", [0.1, 2.0, 10.0])
def test_privunit_density_integrates_to_one_on_the_line(epsilon, radius):
    mechanism = build("privunit", epsilon, 1)
    support = mechanism.support_radius

    def integrand(angle):  # z = support sin(angle) removes the singularities at the ends
        log_density = mechanism.log_density([support * np.sin(angle)], [BOUND * radius])
        return np.exp(log_density) * support * np.cos(angle)

    centre, half_width = np.arcsin(radius), np.arccos(mechanism.threshold)
    edges = np.array([centre - half_width, centre + half_width])
    kinks = np.sort(np.clip(np.concatenate([edges, np.pi - edges]), -np.pi / 2, np.pi / 2))
    kinks = np.unique(np.concatenate([[-np.pi / 2], kinks, [np.pi / 2]]))
    total = sum(quad(integrand, a, b)[0] for a, b in zip(kinks[:-1], kinks[1:]))
    assert abs(total - 1) < 1e-7


@pytest.mark.parametrize("radius", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_privunit_density_integrates_to_one_in_the_plane(epsilon, radius):
    mechanism = build("privunit", epsilon, 2)
    cells = 800
    angle = (np.arange(cells) + 0.5) * 2 * np.pi / cells
    height = (np.arange(cells) + 0.5) / cells  # equal areas: |x| = sqrt(1 - height^2)
    rho = np.sqrt(1 - height**2)[:, None]
    outputs = np.stack([rho * np.cos(angle), rho * np.sin(angle)], axis=-1)
    log_density = mechanism.log_density(mechanism.support_radius * outputs, [BOUND * radius, 0.0])
    log_jacobian = np.log(height)[:, None] + 2 * np.log(mechanism.support_radius)
    total = np.exp(log_density + log_jacobian).mean() * 2 * np.pi
    # The edge of the cap crosses at most 8 * cells of the cells^2 cells, and jumps by at most
    # e^eps - 1 of a density that is between e^-eps and e^eps.
    assert abs(total - 1) < np.expm1(epsilon) * 8 / cells / 10


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 700.0])
@pytest.mark.parametrize("radius", [0.0, 0.4, 1.0])
def test_l2_ball_density_integrates_to_one(epsilon, radius):
    for dim in (1, 2):
        mechanism = build("l2_ball", epsilon, dim)
        vector = BOUND * radius * np.eye(dim)[0]
        angle = (np.arange(1000) + 0.5) * 2 * np.pi / 1000
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        points = circle if dim == 2 else np.array([[1.0], [-1.0]])
        density = np.exp(mechanism.log_density(mechanism.radius * points, vector))
        assert abs(density.mean() - 1) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", PURE)
def test_samples_follow_the_density_by_reweighting(name, dim):
    """E p_v(Z)/p_w(Z) = 1 for Z drawn as R(w), for all v, if and only if R(w) has law p_w."""
    mechanism = build(name, 2.0, dim)
    n, rng = 50_000, np.random.default_rng(dim)
    inputs = BOUND * unit_rows(rng.normal(size=(6, dim)))
    inputs *= np.array([0.0, 0.2, 0.5, 0.8, 0.99, 1.0])[:, None]
    streams = make_streams(dim)
    for drawn in inputs:
        released = mechanism.release(drawn, mechanism.draw(n, streams))
        own = mechanism.log_density(released, drawn)
        for other in inputs:
            ratio = np.exp(mechanism.log_density(released, other) - own)
            error = ratio.std() / np.sqrt(n)
            # 288 comparisons in the whole test; P(|normal| > 5) = 6e-7
            assert abs(ratio.mean() - 1) <= 5 * error + 1e-12


@pytest.mark.parametrize("radius", [0.0, 0.7, 1.0])
def test_privunit_samples_follow_the_density_by_counts(radius):
    """Chi-square of messages in the plane over cells of equal area of the hemisphere."""
    mechanism = build("privunit", 2.0, 2)
    vector = np.array([BOUND * radius, 0.0])
    n, bins, fine = 200_000, 12, 60
    released = mechanism.release(vector, mechanism.draw(n, make_streams(5)))
    x = released / mechanism.support_radius
    height = np.sqrt(1 - np.sum(x**2, axis=-1))
    angle = np.mod(np.arctan2(x[:, 1], x[:, 0]), 2 * np.pi) / (2 * np.pi)
    counts, _, _ = np.histogram2d(height, angle, bins=bins, range=[[0, 1], [0, 1]])
    grid = (np.arange(bins * fine) + 0.5) / (bins * fine)
    rho = np.sqrt(1 - grid**2)[:, None]
    turn = 2 * np.pi * grid
    points = mechanism.support_radius * np.stack([rho * np.cos(turn), rho * np.sin(turn)], axis=-1)
    density = np.exp(mechanism.log_density(points, vector)) * grid[:, None]
    expected = density.reshape(bins, fine, bins, fine).mean(axis=(1, 3))
    expected *= n / expected.sum()
    # Quadrature errors are below 1e-3 of a cell, whose Monte Carlo error is 3e-2.
    statistic = np.sum((counts - expected) ** 2 / expected)
    assert stats.chi2.sf(statistic, bins**2 - 1) > 1e-4
