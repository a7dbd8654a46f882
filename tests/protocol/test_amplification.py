"""Shuffled reports: the closed form against its definition, exact divergences, and its limits."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from geomstats_ldp import PrivateFrechetMean, PrivateVMFLocation
from geomstats_ldp.exceptions import ArgumentTypeError, NotReadyError, ProtocolError
from geomstats_ldp.protocol import amplified_epsilon, amplified_guarantee

DELTA = 1e-6


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("n", [10**5, 10**8])
@pytest.mark.parametrize("delta", [1e-5, 1e-12])
def test_the_closed_form_is_that_of_the_theorem(epsilon, n, delta):
    with mpmath.workdps(40):
        e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
        inner = 8 * mpmath.sqrt(mpmath.exp(e) * mpmath.log(4 / d) / n) + 8 * mpmath.exp(e) / n
        bound = mpmath.log(1 + (mpmath.exp(e) - 1) / (mpmath.exp(e) + 1) * inner)
        is_covered = n >= 16 * mpmath.exp(e) * mpmath.log(4 / d)
        wanted = float(min(e, bound)) if is_covered else epsilon
    np.testing.assert_allclose(amplified_epsilon(epsilon, n, delta), wanted, rtol=1e-12)


def test_more_reports_help_and_more_certainty_costs():
    n = np.geomspace(1, 1e9, 60).astype(int)
    for epsilon in (0.5, 2.0, 8.0):
        by_n = [amplified_epsilon(epsilon, int(m), DELTA) for m in n]
        assert (np.diff(by_n) <= 0).all() and by_n[0] == epsilon and by_n[-1] < 0.2 * epsilon
        by_delta = [amplified_epsilon(epsilon, 10**7, d) for d in (1e-3, 1e-6, 1e-9)]
        assert (np.diff(by_delta) >= 0).all()
    assert amplified_epsilon(2.0, 16 * 100, DELTA) == 2.0, "too few reports for the theorem"
    small = [amplified_epsilon(e, 10**6, DELTA) / e for e in (1e-2, 1e-4)]
    np.testing.assert_allclose(small, 4e-3 * math.sqrt(math.log(4 / DELTA)), rtol=0.02)


def divergence(more, less, epsilon):
    """Hockey-stick divergence of two laws on the same finite set."""
    return float(np.sum(np.maximum(more - math.exp(epsilon) * less, 0.0)))


def counts_of_ones(share, other_share, n):
    """Law of the number of ones among n reports, of which one is one with another probability."""
    rest = stats.binom.pmf(np.arange(n), n - 1, share)
    return np.append(rest, 0.0) * (1 - other_share) + np.insert(rest, 0, 0.0) * other_share


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
@pytest.mark.parametrize("n", [10_000, 50_000])
def test_shuffled_randomised_response_keeps_the_bound(epsilon, delta, n):
    """Exactly: the number of ones is all that shuffled binary reports tell."""
    true, bound = 1 / (1 + math.exp(-epsilon)), amplified_epsilon(epsilon, n, delta)
    for share in (true, 1 - true):
        zero, one = (counts_of_ones(share, p, n) for p in (1 - true, true))
        assert divergence(one, zero, bound) <= delta
        assert divergence(zero, one, bound) <= delta
    assert bound < epsilon


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_the_clones_keep_the_bound(epsilon):
    """Any randomiser is a post-processing of this pair of laws (Theorem III.2 of the paper)."""
    n, delta = 2000, 1e-4
    clones = stats.binom.pmf(np.arange(n), n - 1, math.exp(-epsilon))
    more = np.zeros((n + 1, n + 1))
    for number, probability in enumerate(clones):
        if probability < 1e-30:
            continue
        ones = probability * stats.binom.pmf(np.arange(number + 1), number, 0.5)
        own = 1 / (1 + math.exp(-epsilon))
        more[number, 1 : number + 2] += own * ones
        more[number, : number + 1] += (1 - own) * ones
    less = np.zeros_like(more)
    for number in range(n):
        less[number, : number + 2] = more[number, : number + 2][::-1]
    bound = amplified_epsilon(epsilon, n, delta)
    assert divergence(more, less, bound) <= delta < divergence(more, less, bound / 8)


def location(**parameters):
    options = {"epsilon": 2.0, "initial_point": [1, 1, 1], "n_rounds": 5, **parameters}
    return PrivateVMFLocation(**options)


def test_the_smallest_batch_of_a_collection_decides():
    guarantee = location(n_participants=400_000).amplified_guarantee(DELTA)
    sizes = location(n_participants=400_000).start().protocol_.rounds.sizes
    np.testing.assert_array_equal(guarantee.batch_sizes, [size // 4 for size in sizes])
    wanted = [amplified_epsilon(2.0, size // 4, DELTA) for size in sizes]
    np.testing.assert_array_equal(guarantee.by_round, wanted)
    assert guarantee.epsilon == max(wanted) < guarantee.local_epsilon == 2.0
    assert guarantee.delta == DELTA
    text = str(guarantee)
    assert "shuffler" in text and "Late ones" in text and f"{guarantee.epsilon:.3g}" in text


def test_answers_count_rather_than_the_plan():
    protocol = location(n_participants=4000).start().protocol_
    counts = np.array([[50_000, 0, 40_000, 60_000], [0, 0, 0, 0]])
    guarantee = amplified_guarantee(protocol, DELTA, counts)
    assert guarantee.epsilon == amplified_epsilon(2.0, 40_000, DELTA)
    assert np.isnan(guarantee.by_round[1]) and guarantee.batch_sizes.tolist() == [40_000, 0]
    with pytest.raises(NotReadyError, match="nobody has answered"):
        amplified_guarantee(protocol, DELTA, np.zeros((1, 4), dtype=int))


def test_groups_have_guarantees_of_their_own():
    model = location(epsilon={"strict": 0.5, "open": 2.0}, n_participants=400_000).start()
    with pytest.raises(NotReadyError, match="no numbers are planned by group"):
        model.amplified_guarantee(DELTA)
    counts = np.array([[90_000] * 3 + [80_000] + [40_000] * 4, [70_000] * 4 + [0, 0, 50_000, 0]])
    guarantee = amplified_guarantee(model.protocol_, DELTA, counts)
    np.testing.assert_array_equal(guarantee.batch_sizes, [[80_000, 40_000], [70_000, 50_000]])
    wanted = [
        [amplified_epsilon(e, n, DELTA) for e, n in zip((0.5, 2.0), row)]
        for row in guarantee.batch_sizes.tolist()
    ]
    np.testing.assert_array_equal(guarantee.by_round, wanted)
    assert guarantee.by_group == {"strict": wanted[1][0], "open": wanted[0][1]}
    assert guarantee.epsilon == wanted[0][1] and guarantee.local_epsilon == 2.0
    assert "2-locally private at least" in str(guarantee) and "'strict'" in str(guarantee)
    counts[:, 4:] = 0
    with pytest.raises(NotReadyError, match="nobody"):
        amplified_guarantee(model.protocol_, DELTA, counts)


def test_everybody_is_one_batch_where_one_question_is_asked():
    mean = PrivateFrechetMean(epsilon=1.0, n_rounds=1, n_participants=50_000, initial_point=[0, 0])
    assert mean.amplified_guarantee(1e-6).batch_sizes.tolist() == [50_000]


def test_fitted_counts_are_used():
    rows = np.random.default_rng(0).normal([1.0, 0.5, 0.0], 0.4, size=(3000, 3))
    model = location(random_state=0).fit(rows)
    sizes = model.server_.state.counts.min(axis=1)
    np.testing.assert_array_equal(model.amplified_guarantee(DELTA).batch_sizes, sizes)
    assert model.amplified_guarantee(DELTA).epsilon == 2.0


def test_where_there_is_no_claim():
    cases = {
        "n_rounds": location(n_rounds=None, n_participants=1000),
        "n_participants must be given": location(),
        "mechanism must have delta = 0": location(
            mechanism="gaussian", delta=1e-6, n_participants=1000
        ),
        "finite epsilon": location(epsilon=math.inf, n_participants=1000),
    }
    for message, model in cases.items():
        with pytest.raises(ProtocolError, match=message):
            model.amplified_guarantee(DELTA)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, math.nan, "small"])
def test_deltas_are_checked(delta):
    with pytest.raises((ProtocolError, ArgumentTypeError), match="delta must be"):
        amplified_epsilon(1.0, 1000, delta)
    with pytest.raises((ProtocolError, ArgumentTypeError), match="delta must be"):
        location(n_participants=1000).amplified_guarantee(delta)
