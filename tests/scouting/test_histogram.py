"""The histogram of norms: its record, its bins, the answers of devices, and the deconvolution."""

import math
import warnings

import numpy as np
import pytest

from geomstats_ldp import PrivatePCA
from geomstats_ldp.exceptions import AlreadyAnsweredError, ArgumentTypeError, ProtocolError
from geomstats_ldp.scouting import NormHistogram, NormParticipant, best_norm_bound
from geomstats_ldp.scouting.device import bins_of, simulate_norms
from geomstats_ldp.scouting.lognormal import lognormal_frequencies

NORMS = NormHistogram(epsilon=2.0, lowest=0.1, highest=1000.0, n_bins=8)


def test_a_record_comes_back_and_has_a_fingerprint():
    again = NormHistogram.from_json(NORMS.to_json())
    assert again == NORMS and again.fingerprint == NORMS.fingerprint
    assert again.fingerprint != NormHistogram(epsilon=2.1, lowest=0.1, highest=1000.0).fingerprint
    np.testing.assert_allclose(NORMS.lengths[1:] / NORMS.lengths[:-1], 10**0.5)


@pytest.mark.parametrize("text", ["", "{}", '{"epsilon": 0}', '{"epsilon": 1, "bins": 3}', "[1]"])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(ProtocolError, match="text must be a record of a NormHistogram"):
        NormHistogram.from_json(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", "2"),
        ("lowest", 0.0),
        ("highest", 0.05),
        ("n_bins", 1),
        ("n_bins", 2.0),
    ],
)
def test_arguments_are_checked(name, value):
    arguments = {**NORMS.to_spec(), name: value}
    with pytest.raises((ProtocolError, ArgumentTypeError), match=name):
        NormHistogram(**arguments)


def test_every_norm_has_a_bin():
    norms = [0.0, 0.01, 0.1, 0.3, 0.4, 900.0, 1000.0, 1e300, np.inf, np.nan]
    assert bins_of(NORMS, norms).tolist() == [0, 0, 0, 0, 1, 7, 7, 7, 7, 0]


@pytest.mark.parametrize(
    "datum", [[3.0, 4.0], [np.nan, 1.0], [np.inf], [1e200, 1e200], "secret", None, [[1.0], [2.0]]]
)
def test_a_device_answers_whatever_the_datum_is_and_once(datum, recwarn):
    participant = NormParticipant(NORMS, max_epsilon=2.0)
    candidate = participant.respond(datum)
    assert NORMS.sets([candidate]).sum() == NORMS.mechanism.subset_size
    assert participant.has_answered and not recwarn.list
    with pytest.raises(AlreadyAnsweredError):
        participant.respond(datum)


def test_a_device_sends_the_bin_of_its_datum_most_often():
    names = [NormParticipant(NORMS, max_epsilon=2.0).respond([3.0, 4.0]) for _ in range(300)]
    shares = NORMS.mechanism.frequencies(NORMS.sets(names))
    assert shares[3] > 0.7 and bins_of(NORMS, 5.0) == 3


def test_a_device_asks_for_what_protects_its_owner():
    with pytest.raises(ProtocolError, match="fingerprint or max_epsilon must be given"):
        NormParticipant(NORMS)
    with pytest.raises(ProtocolError, match="epsilon must be at most max_epsilon=1"):
        NormParticipant(NORMS, max_epsilon=1.0)
    with pytest.raises(ProtocolError, match="histogram must be the one with fingerprint 0123"):
        NormParticipant(NORMS, fingerprint="0123")
    with pytest.raises(ProtocolError, match="epsilon must be at most 16"):
        NormParticipant(NormHistogram(epsilon=20.0), fingerprint=NormHistogram(20.0).fingerprint)
    with pytest.raises(ProtocolError, match="histogram must be a NormHistogram"):
        NormParticipant("norms", max_epsilon=2.0)
    assert not NormParticipant(NORMS, fingerprint=NORMS.fingerprint).has_answered


def test_the_frequencies_of_a_lognormal_law_are_less_than_a_bin_off():
    rng = np.random.default_rng(0)
    norms = NormHistogram(epsilon=4.0)
    lengths = np.exp(rng.normal(np.log(50.0), 0.8, size=10_000))
    found = norms.frequencies(simulate_norms(norms, lengths[:, None], rng))
    assert found.min() >= 0 and found.sum() == pytest.approx(1.0)
    below = np.mean(lengths[:, None] < norms.edges, axis=0)  # at all edges
    sums = np.cumsum(found)[1:-1]
    noise = 3 * np.sqrt(0.25 / len(lengths)) + 0.01
    assert (below[1:-2] - noise < sums).all() and (sums < below[3:] + noise).all()


@pytest.mark.parametrize(
    "sets",
    [
        np.ones((3, 7)),
        np.empty((0, 8)),
        [[np.nan] * 8],
        np.full((3, 8), 0.5),
        np.ones((3, 8)),  # one bin is named
        np.zeros((3, 8)),
    ],
)
def test_what_are_no_sets_is_refused(sets):
    with pytest.raises(ProtocolError, match="sets must"):
        NORMS.frequencies(sets)


def test_the_law_is_moved_by_as_many_bins_as_the_unit():
    """A bound that follows from it has the unit of the data, whatever bins noise fell into."""
    rng = np.random.default_rng(0)
    norms = NormHistogram(epsilon=2.0)
    sets = simulate_norms(norms, np.exp(rng.normal(size=(400, 1))), rng)
    found = norms.frequencies(sets)
    for shift in (-20, 7, 20):
        moved = norms.frequencies(np.roll(sets, shift, axis=1))
        assert np.argmax(moved) - np.argmax(found) == shift
        np.testing.assert_allclose(np.roll(moved, -shift)[21:-20], found[21:-20], atol=0.05)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_zeros_have_a_bin_of_their_own(share):
    rng = np.random.default_rng(1)
    norms = NormHistogram(epsilon=2.0)
    lengths = np.where(rng.random(4000) < share, 0.0, np.exp(rng.normal(3.0, 0.3, size=4000)))
    found = norms.frequencies(simulate_norms(norms, lengths[:, None], rng))
    error = np.sqrt(norms.mechanism.frequency_variance / 4000)
    assert found[0] == pytest.approx(share, abs=4 * error)
    middle = norms.lengths[np.searchsorted(np.cumsum(found[1:]), found[1:].sum() / 2) + 1]
    assert middle == pytest.approx(np.exp(3.0), rel=0.3)


def test_nobody_has_answered_yet():
    assert NORMS.sets([]).shape == (0, 8)


def test_more_answers_are_enough_under_less_epsilon():
    enough = [NormHistogram(epsilon=epsilon).n_enough for epsilon in (4.0, 2.0, 1.0, 0.5)]
    assert enough[0] == enough[1] == 400 and 1900 < enough[2] < 2100 and enough[3] > 4 * enough[2]


@pytest.mark.parametrize(("law", "epsilon"), [("normal", 2.0), ("t3", 2.0), ("lognormal", 4.0)])
def test_the_bound_has_the_unit_of_the_data(law, epsilon):
    """Within two bins of the best by its own criterion, for units within a factor of 1,000."""
    rng = np.random.default_rng(2)
    norms, noise, width = NormHistogram(epsilon=epsilon), 5.0 / epsilon, 4
    scales = {"normal": 1.0, "t3": np.sqrt(3 / rng.chisquare(3, size=20_000))}
    scales["lognormal"] = np.exp(0.7 * rng.normal(size=20_000))
    lengths = scales[law] * np.linalg.norm(rng.normal(size=(20_000, width)), axis=1)
    fine = np.geomspace(1e-3, 1e3, 801)
    edges = np.append(fine[:-1] * np.sqrt(fine[1:] / fine[:-1]), np.inf)
    shares = np.histogram(lengths, np.append(0.0, edges))[0] / len(lengths)
    best, bin_width = best_norm_bound(fine, shares, noise, width), norms.edges[1] / norms.edges[0]
    off = []
    for unit in 1000.0 ** rng.uniform(size=20):
        rows = unit * rng.choice(lengths, size=(400, 1))
        found = norms.frequencies(simulate_norms(norms, rows, rng))
        bound = best_norm_bound(norms.lengths, found, noise, width)
        off.append(np.log(bound / unit / best) / np.log(bin_width))
    assert np.abs(np.median(off)) < 0.5 and np.abs(off).max() < 2.5


@pytest.mark.parametrize("candidate", [-1, 2**64, 1.5, True, "3"])
def test_what_is_no_message_is_refused_by_name(candidate):
    with pytest.raises((ProtocolError, ArgumentTypeError), match=r"candidate must be an integer"):
        NORMS.sets([candidate])


@pytest.mark.parametrize("datum", [[np.inf], [1.0, -np.inf], [np.nan, 1e300]])
def test_a_device_takes_what_is_not_finite_for_zero(datum):
    histogram = NormHistogram(epsilon=14.0, lowest=0.1, highest=1000.0, n_bins=8)
    for _ in range(3):
        candidate = NormParticipant(histogram, max_epsilon=14.0).respond(datum)
        assert histogram.sets([candidate])[0, 0] == 1


def test_without_privacy_the_law_is_that_of_the_bins():
    """The limit of a selection that nearly always names the bin of the datum alone."""
    counts = np.random.default_rng(0).multinomial(400, [0.05, 0, 0.15, 0.4, 0.3, 0.1, 0, 0])
    certain = lognormal_frequencies(counts, 400, 1.0, 0.0)
    nearly = lognormal_frequencies(counts, 400, 1 - 1e-9, 1e-9)
    np.testing.assert_allclose(certain, nearly, atol=0.02)
    np.testing.assert_allclose(certain, counts / 400, atol=0.1)


def test_scouts_without_privacy_find_a_bound_among_the_norms():
    rows = np.random.default_rng(0).normal(size=(4000, 3)) * [250, 80, 80]
    pca = PrivatePCA("scout", epsilon=math.inf, initial_point=[1, 0, 0], n_rounds=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        pca.fit(rows)
    shortest, longest = np.quantile(np.linalg.norm(rows, axis=1), [0.1, 1.0])
    assert shortest < pca.protocol_.loss_spec["norm_bound"] < longest
