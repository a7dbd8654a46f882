"""Shifts of targets: closed forms, the expansion for small noise, and fits to surrogates."""

import math

import numpy as np
import pytest

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.mechanisms import Gaussian
from geomstats_ldp.replication.target_shift.cases import surrogates
from geomstats_ldp.replication.target_shift.shift import expansion, fit_surrogates, shift

CASES = {f"{case.design}, {case.channel}": case for case in surrogates()}

#: Where the score is affine in what is released, or noise and its effect have no direction.
STAYS = [
    "A, equal noise on the vector, then scaled",
    "B, equal noise on the vector",
    "C, noise on the logarithm",
    "D, noise on the logarithm at the target",
    "F, noise on the squares",
]
MOVES = sorted(set(CASES) - set(STAYS))


def mean_score(case, law):
    scores = case.loss.score(case.geometry, case.target, law.support)
    return law.probabilities @ case.geometry.coordinates(scores, case.target)


@pytest.mark.parametrize("name", CASES)
def test_without_noise_the_target_solves_the_first_order_equation(name):
    case = CASES[name]
    law = case.moved_law(np.zeros(len(case.spreads)))
    np.testing.assert_allclose(mean_score(case, law), 0, atol=1e-12)
    if case.design in "ACDE":  # a law that is symmetric about the target would hide a shift
        logs = case.geometry.log(law.support, case.target)
        third = law.probabilities @ case.geometry.coordinates(logs, case.target) ** 3
        assert np.max(np.abs(third)) > 1e-3


@pytest.mark.parametrize("name", STAYS)
def test_where_it_has_to_the_target_stays(name):
    np.testing.assert_allclose(expansion(CASES[name]), 0, atol=1e-6)
    np.testing.assert_allclose(shift(CASES[name], 0.1), 0, atol=1e-6)


@pytest.mark.parametrize("name", MOVES)
def test_elsewhere_it_moves_as_the_expansion_says(name):
    """What is left is of the order of the fourth power of the scale."""
    case, coefficient = CASES[name], expansion(CASES[name])
    assert np.linalg.norm(coefficient) > 0.05
    rest = [np.linalg.norm(shift(case, scale) / scale**2 - coefficient) for scale in (0.06, 0.03)]
    assert rest[1] < 0.02 * np.linalg.norm(coefficient)
    assert rest[1] == pytest.approx(rest[0] / 4, rel=0.1, abs=1e-4)


@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_shifts_of_second_moments_have_closed_forms(scale):
    case = CASES["F, noise on the vector"]
    np.testing.assert_allclose(shift(case, scale), scale**2 * np.array([1, 0, 1]), atol=1e-6)
    case = CASES["B, unequal noise on the vector"]
    moment = np.einsum("n,ni,nj->ij", case.law.probabilities, case.law.support, case.law.support)
    leading = np.linalg.eigh(moment + scale**2 * np.diag(case.spreads**2))[1][:, -1]
    leading *= np.sign(leading @ case.target)
    expected = case.geometry.coordinates(case.geometry.log(leading, case.target), case.target)
    np.testing.assert_allclose(shift(case, scale), expected, atol=1e-6)


def test_the_noise_is_that_of_the_gaussian_mechanism_of_what_is_released():
    case = CASES["A, unequal noise on the vector, then scaled"]
    assert np.max(np.linalg.norm(case.law.support / case.spreads, axis=1)) == case.bound
    sigma = Gaussian(epsilon=4.0, delta=1e-6, dim=3, bound=case.bound).sigma
    assert case.noise_scale(4.0) == sigma


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.WeakCurvatureWarning")
@pytest.mark.slow
@pytest.mark.parametrize("design", ["D", "E"])
def test_fits_to_surrogates_are_about_the_shifted_target_and_tangent_scores_about_the_target(
    design,
):
    """Each mean of 20 estimates within 4 standard errors; the two are 5 of them apart."""
    case = CASES[f"{design}, noise on the logarithm at another point"]
    robust = {"loss": "pseudo_huber", "scale": 0.45} if design == "E" else {}
    estimator = PrivateFrechetMean(
        case.geometry.space,
        data_radius=case.bound,
        epsilon=8.0,
        delta=1e-6,
        mechanism="gaussian",
        initial_point=case.center,
        region_radius=0.8,
        n_rounds=8,
        **robust,
    )
    n, scale, found = 16_000, case.noise_scale(8.0), {"data": [], "scores": []}
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        fit = fit_surrogates(case, case.draw(rng, n, scale))
        estimator.set_params(random_state=rng).fit(case.law.draw(rng, n))
        for name, point in (("data", fit.center), ("scores", estimator.estimate_)):
            log = case.geometry.log(point, case.target)
            found[name].append(case.geometry.coordinates(log, case.target))
        covered.append(
            (fit.contains(case.target), estimator.confidence_region().contains(case.target))
        )
    expected = {"data": shift(case, scale), "scores": np.zeros(2)}
    for name, errors in found.items():
        off = np.mean(errors, axis=0) - expected[name]
        assert np.all(np.abs(off) < 4 * np.std(errors, axis=0) / math.sqrt(20))
    apart = np.linalg.norm(expected["data"])
    assert apart > 5 * np.std(found["scores"], axis=0).max() / math.sqrt(20)
    share = np.mean(covered, axis=0)
    assert share[0] < 0.1 and share[1] > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 20)
