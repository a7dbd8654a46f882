"""Geometric medians: against geomstats and Weiszfeld's iteration, and the bias that is stated."""

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.learning.frechet_mean import FrechetMean
from geomstats.learning.geometric_median import GeometricMedian
from scipy import optimize

from geomstats_ldp import PrivateFrechetMean, Tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.losses import PseudoHuberLoss, loss_of


def weiszfeld(points):
    """Geometric median in Euclidean space."""
    median = np.median(points, axis=0)
    for _ in range(500):
        weights = 1 / np.linalg.norm(points - median, axis=1)
        median = weights @ points / weights.sum()
    return median


def skewed(rng, n):
    """Points of the plane whose mean, marginal medians and geometric median all differ."""
    return np.column_stack([rng.exponential(size=n) - 0.7, rng.normal(size=n)])


def test_smoothing_moves_the_target_as_stated():
    points = skewed(np.random.default_rng(0), 3000)
    median = weiszfeld(points)
    distances = np.linalg.norm(points - median, axis=1)
    directions = (points - median) / distances[:, None]
    hessian = np.mean(1 / distances) * np.eye(2)
    hessian -= np.einsum("n,ni,nj->ij", 1 / distances, directions, directions) / len(points)
    geometry = Geometry(Euclidean(2), np.zeros(2))
    for scale, tolerance in ((0.1, 0.02), (0.3, 0.1)):
        loss = PseudoHuberLoss(center=np.zeros(2), data_radius=10.0, scale=scale)
        found = optimize.minimize(
            lambda point, loss=loss: np.mean(loss.value(geometry, point, points)) / loss.scale,
            median,
            jac=lambda point, loss=loss: (
                np.mean(loss.score(geometry, point, points), axis=0) / loss.scale
            ),
            tol=1e-12,
        )
        lost = 1 - (1 + (scale / distances) ** 2) ** -0.5
        stated = -np.linalg.solve(hessian, lost @ directions / len(points))
        shift = found.x - median
        assert np.linalg.norm(shift - stated) < tolerance * np.linalg.norm(stated)
        assert np.linalg.norm(shift) < 0.2 * scale


def two_groups(rng, n):
    """Points of the plane of which 15% are far off on one side, within the unit disc."""
    is_far = rng.uniform(size=n) < 0.15
    centres = np.where(is_far[:, None], [0.6, 0.5], [0.0, 0.0])
    return centres + np.where(is_far[:, None], 0.03, 0.1) * rng.normal(size=(n, 2))


def on_the_sphere(rng, n):
    points = np.column_stack([two_groups(rng, n), np.ones(n)])
    return points / np.linalg.norm(points, axis=1, keepdims=True)


CASES = {
    "plane": (Euclidean(2), skewed, 10.0, 6),
    "disc": (Hyperbolic(2, coords_type="ball"), two_groups, 3.0, 6),
    "sphere": (Hypersphere(2), on_the_sphere, 1.0, None),
}


@pytest.mark.parametrize(
    "name",  # the others compile
    ["plane", *(pytest.param(name, marks=pytest.mark.slow) for name in ("disc", "sphere"))],
)
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_without_noise_it_is_the_median_of_geomstats(name):
    space, draw, data_radius, n_rounds = CASES[name]
    rows = draw(np.random.default_rng(1), 4000)
    model = PrivateFrechetMean(
        space,
        "median",
        data_radius=data_radius,
        epsilon=np.inf,
        initial_point=[0.0, 0.0, 1.0] if name == "sphere" else None,
        n_rounds=n_rounds,
        random_state=0,
    ).fit(rows)
    median = GeometricMedian(space, max_iter=500).fit(rows).estimate_
    region = model.confidence_region(0.999)
    assert model.diagnostics_["clipped_share"] == 0
    assert region.contains(median)
    assert not region.contains(FrechetMean(space).fit(rows).estimate_)


def test_the_smoothing_decreases_with_the_planned_number():
    scales = []
    for n in (None, 5000, 40_000):
        model = PrivateFrechetMean(loss="median", data_radius=2.0, n_participants=n).start(2)
        scales.append(loss_of(model.protocol_).scale)
    np.testing.assert_allclose(scales, 0.5 / 5000 ** (1 / 3) * np.array([1, 1, 0.5]))
    chosen = PrivateFrechetMean(loss="median", scale=0.3, n_participants=50).start(2)
    assert loss_of(chosen.protocol_).scale == 0.3


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_its_score_is_minus_the_mean_distance():
    rows = skewed(np.random.default_rng(2), 500)
    interpreted = Tuning(engine="geomstats")
    model = PrivateFrechetMean(
        loss="median", data_radius=4.0, random_state=0, tuning=interpreted
    ).fit(rows)
    distance = np.mean(np.linalg.norm(rows - model.estimate_, axis=1))
    assert model.score(rows) == pytest.approx(-distance, abs=loss_of(model.protocol_).scale)


def test_a_scale_belongs_to_the_robust_losses():
    with pytest.raises(ProtocolError, match="scale belongs to loss='pseudo_huber' and 'median'"):
        PrivateFrechetMean(scale=1.0).start(2)
    with pytest.raises(ProtocolError, match=r"loss must be one of .*'median'.*; got 'mode'"):
        PrivateFrechetMean(loss="mode").start(2)


@pytest.mark.slow
@pytest.mark.parametrize("n_rounds", [None, 8])
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_coverage_of_medians(n_rounds):
    population = skewed(np.random.default_rng(3), 200_000)
    population *= np.minimum(1, 4 / np.linalg.norm(population, axis=1))[:, None]
    target = weiszfeld(population)
    covered = 0
    for repetition in range(200):
        rng = np.random.default_rng([4, repetition])
        model = PrivateFrechetMean(
            loss="median", data_radius=4.0, epsilon=4.0, n_rounds=n_rounds, random_state=repetition
        )
        model.fit(population[rng.integers(len(population), size=4000)])
        covered += model.confidence_region(0.95).contains(target)
    assert 0.90 < covered / 200 < 0.99  # three standard errors about 0.95
