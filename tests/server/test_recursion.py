"""The recursion against section 2.3 of the paper, written out a second time in plain numpy."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from geomstats_ldp.protocol import GainRule, RadiusRule
from geomstats_ldp.server import Server
from geomstats_ldp.server.recursion import LAST_SAFEGUARD, N_CAPPED, N_PAIRS, N_PROJECTED

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")

RADIUS, GAIN = RadiusRule(0.3, 0.5, 0.27), GainRule(0.4, 5.0, 0.6, 0.35)


def rotation(start, end):
    """Matrix of the rotation in the plane of two unit vectors that takes one to the other."""
    wedge = np.outer(end, start) - np.outer(start, end)
    return np.eye(len(start)) + wedge + wedge @ wedge / (1 + start @ end)


def geodesic(start, end, fraction):
    """Point at a fraction of the way, by spherical interpolation."""
    angle = math.atan2(np.linalg.norm(end - (start @ end) * start), start @ end)
    if angle == 0:
        return start
    return (math.sin((1 - fraction) * angle) * start + math.sin(fraction * angle) * end) / (
        math.sin(angle)
    )


class Outcome(NamedTuple):
    iterates: list
    average: np.ndarray
    halves: np.ndarray
    offsets: np.ndarray
    n_capped: int
    n_projected: int
    last_safeguard: int


def brute_force(protocol, messages):
    """Section 2.3 step by step, with the rounds and the odd participant of this package."""
    reference, basis = np.array(protocol.reference), np.array(protocol.basis)
    spec = protocol.working_region_spec
    center, radius = np.array(spec["center"]), spec["radius"]
    directions, preconditioner = np.array(protocol.directions), np.array(protocol.preconditioner)
    x = average = np.array(protocol.initial_point)
    iterates, halves, offsets = [], [], []
    k = n = n_capped = n_projected = last = 0

    def retract(point, vector):
        if protocol.retraction == "projection":
            return (point + vector) / np.linalg.norm(point + vector)
        length = np.linalg.norm(vector)
        return math.cos(length) * point + np.sinc(length / np.pi) * vector

    while n < len(messages):
        frame = rotation(reference, x) @ basis.T  # columns: B_x
        n_pairs = min(protocol.pairs_per_round, (len(messages) - n) // 2)
        answers = []
        if n_pairs == 0:  # an odd last participant
            answers.append(frame.T @ messages[n])
        for j in range(n_pairs):
            cycle = k // len(directions) + 1
            h = min(RADIUS.maximum, RADIUS.scale / cycle**RADIUS.exponent)
            offset = h * directions[k % len(directions)]
            z = []
            for sign, message in zip((1, -1), messages[n + 2 * j : n + 2 * j + 2]):
                query = retract(x, sign * frame @ offset)
                tangent = message - (message @ query) * query
                z.append(frame.T @ rotation(query, x) @ tangent)
            answers.append((z[0] + z[1]) / 2)
            halves.append((z[0] - z[1]) / 2)
            offsets.append(offset)
            k += 1
        n_answers = max(1, 2 * n_pairs)
        n += n_answers
        gain = n_answers * GAIN.constant * (n + GAIN.offset) ** -GAIN.exponent
        u = preconditioner @ np.mean(answers, axis=0)
        capped = np.linalg.norm(u) > GAIN.step_cap / gain
        if capped:
            u = u * (GAIN.step_cap / gain) / np.linalg.norm(u)
        y = retract(x, -gain * frame @ u)
        projected = math.acos(np.clip(y @ center, -1, 1)) > radius
        if projected:
            normal = y - (y @ center) * center
            y = math.cos(radius) * center + math.sin(radius) * normal / np.linalg.norm(normal)
        x = y / np.linalg.norm(y)
        average = geodesic(average, x, n_answers / n)
        n_capped, n_projected = n_capped + capped, n_projected + projected
        last = n if capped or projected else last
        iterates.append(x)
    halves, offsets = np.array(halves), np.array(offsets)
    return Outcome(iterates, average, halves, offsets, n_capped, n_projected, last)


def raw_messages(protocol, n, seed):
    """Random ambient vectors with a drift to one side, large enough for both safeguards."""
    rng = np.random.default_rng(seed)
    drift = np.array(protocol.basis)[0]
    return 2 * rng.normal(size=(n, protocol.dim + 1)) + drift * rng.uniform(0, 5, size=(n, 1))


TRIANGLE = [[math.cos(t), math.sin(t)] for t in (0.3, 0.3 + 2 * np.pi / 3, 0.3 + 4 * np.pi / 3)]
CASES = [
    (2, {}, 400),
    (3, {}, 400),
    (1, {}, 200),
    (2, {"retraction": "projection"}, 400),
    (3, {"retraction": "projection", "pairs_per_round": 3}, 402),
    (2, {"preconditioner": [[1.4, 0.5], [0.5, 0.6]]}, 400),
    (2, {"directions": TRIANGLE, "pairs_per_round": 2}, 300),
    (2, {"reference": [0.0, 0.6, 0.8], "initial_point": [1.0, 0.2, 0.1]}, 300),
    # an odd last participant, with and without pairs of a short last round before it
    (2, {"n_participants": 101}, 101),
    (2, {"n_participants": 41, "pairs_per_round": 3, "retraction": "projection"}, 41),
    (3, {"n_participants": 37, "pairs_per_round": 3}, 37),
    (2, {"n_participants": 40, "pairs_per_round": 3}, 40),
    (2, {"n_participants": 1}, 1),
]


#: Every dimension is a type of its own to the compiler, which takes seconds.
RUNS = [
    pytest.param(engine, *case, marks=[pytest.mark.slow] * (engine == "compiled" and case[0] != 2))
    for engine in ("compiled", "geomstats")
    for case in CASES
]


@pytest.mark.parametrize(("engine", "dim", "options", "n"), RUNS)
def test_recursion_is_that_of_the_paper(pca_protocol, dim, options, n, engine):
    if "initial_point" in options:
        start = np.array(options["initial_point"])
        options = options | {"initial_point": start / np.linalg.norm(start)}
    # a region so small, and a cap so short, that both act in every longer run
    protocol = pca_protocol(dim, region_radius=0.75, radius=RADIUS, gain=GAIN, **options)
    messages = raw_messages(protocol, n, seed=dim)
    expected = brute_force(protocol, messages)
    server = Server(protocol, engine)
    server.replay(messages)
    state, sums = server.state, server.state.sums

    # rounding of 1e-16 a step over at most 400 steps, amplified by the conditioning of the
    # transport from query to frame, under 10
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(state.iterate, expected.iterates[-1], **close)
    np.testing.assert_allclose(state.average, expected.average, **close)
    halves, offsets = expected.halves, expected.offsets
    assert state.clock[N_PAIRS] == len(halves)
    assert server.n_participants == n
    assert state.safeguards[N_CAPPED] == expected.n_capped
    assert state.safeguards[N_PROJECTED] == expected.n_projected
    assert state.safeguards[LAST_SAFEGUARD] == expected.last_safeguard
    if n > 100:
        assert 0 < expected.n_capped < len(expected.iterates)
        assert 0 < expected.n_projected < len(expected.iterates)
    if not len(halves):
        return
    # slots 0 and 1, the cycle in progress and the complete ones, hold every pair once
    assert sums.n_pairs[:2].sum() == len(halves)
    for actual, wanted in [
        (sums.squared_radius, np.sum(offsets**2)),
        (sums.d, halves.sum(axis=0)),
        (sums.dx, halves.T @ offsets),
        (sums.dd, halves.T @ halves),
    ]:
        np.testing.assert_allclose(actual[:2].sum(axis=0), wanted, rtol=0, atol=1e-10)


def test_queries_are_those_of_the_paper(pca_protocol):
    for retraction in ("exponential", "projection"):
        protocol = pca_protocol(retraction=retraction, radius=RADIUS, gain=GAIN)
        server = Server(protocol)
        messages = raw_messages(protocol, 14, seed=5)
        server.replay(messages)
        # seven pairs are in: the next is number 8, in the second cycle, along -e_2
        h = RADIUS.scale / 2**RADIUS.exponent
        frame = (
            rotation(np.array(protocol.reference), server.state.iterate)
            @ np.array(protocol.basis).T
        )
        angle = math.atan(min(h, 0.3)) if retraction == "projection" else min(h, 0.3)
        for query, sign in zip(server.queries(), (1, -1)):
            expected = math.cos(angle) * server.state.iterate
            expected = expected - sign * math.sin(angle) * frame[:, 1]
            np.testing.assert_allclose(query.point, expected, rtol=0, atol=1e-14)
