"""Scores, candidates and weights of the page against those of Python, over many random cases."""

import math

import mpmath as mp
import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDLogEuclideanMetric, SPDMatrices

from geomstats_ldp import PrivateSPDCovariance
from geomstats_ldp.geometry import (
    Geometry,
    geodesic_ball,
    log_box,
    region_of_queries,
    spectral_band,
)
from geomstats_ldp.geometry.regions import slack_of
from geomstats_ldp.geometry.spaces.hyperbolic import on_sheet
from geomstats_ldp.losses import (
    FrechetLoss,
    PCALoss,
    PseudoHuberLoss,
    SPDLikelihoodLoss,
    VonMisesFisherLoss,
    loss_of,
    score_coords,
)
from geomstats_ldp.mechanisms import make_mechanism, sphere_points
from geomstats_ldp.mechanisms.candidates import (
    N_CANDIDATES,
    draw_candidate,
    largest_levels,
    philox4x32,
)
from geomstats_ldp.protocol import RadiusRule, RoundPlan, make_protocol

# The browser takes long; `test_known_answers` has an example of everything.
pytestmark = pytest.mark.slow


def _spd(n, metric=SPDAffineMetric):
    space = SPDMatrices(n, equip=False)
    space.equip_with_metric(metric)
    return space


def _unit(vector):
    vector = np.asarray(vector, dtype=float)
    return vector / np.linalg.norm(vector)


def _rotated(rng, values):
    turn = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return (turn * values) @ turn.T


def build(space, loss, region, epsilon=4.0, name="privunit", **options):
    """Protocol in rounds, with the score bound that the loss states."""
    radius = RadiusRule.fixed(0.3)
    geometry = Geometry(space, region.center)
    bound = loss.score_bound(geometry, region_of_queries(geometry, region, radius.maximum))
    mechanism = make_mechanism(name, epsilon=epsilon, dim=geometry.dim, bound=bound)
    plan = RoundPlan(n_rounds=5, bending_length=loss.bending_length)
    return make_protocol(
        geometry, loss, mechanism, region, radius=radius, gain=None, rounds=plan, **options
    )


def mean_direction(width=3, **options):
    """Directions of R^width."""
    center = _unit(np.arange(1.0, width + 1))
    loss = VonMisesFisherLoss(kappa=2.5)
    return build(Hypersphere(dim=width - 1), loss, geodesic_ball(center, 1.2), **options)


def principal_component(width=3, **options):
    """Vectors of R^width, clipped to a norm of two."""
    center = _unit(np.ones(width))
    region = geodesic_ball(center, 1.4)
    return build(Hypersphere(dim=width - 1), PCALoss(norm_bound=2.0), region, **options)


def euclidean_mean(dim=2, **options):
    """Vectors in a ball of radius 1.5, with a box of queries."""
    loss = FrechetLoss(center=np.full(dim, 0.5), data_radius=1.5)
    return build(Euclidean(dim=dim), loss, log_box(np.zeros(dim), np.full(dim, 1.0)), **options)


def hyperbolic_mean(dim=2, offset=1.0, **options):
    """Points of the hyperboloid in a ball of radius two."""
    center = on_sheet(np.sinh(offset) * _unit(np.ones(dim)))
    loss = FrechetLoss(center=center, data_radius=2.0)
    return build(Hyperboloid(dim=dim), loss, geodesic_ball(center, 1.0), **options)


def spherical_mean(width=3, **options):
    """Points of the sphere within an angle of one of the centre."""
    center = _unit(np.arange(1.0, width + 1))
    loss = FrechetLoss(center=center, data_radius=1.0)
    return build(Hypersphere(dim=width - 1), loss, geodesic_ball(center, 0.7), **options)


def pseudo_huber_centre(dim=2, **options):
    """Points of the hyperboloid, in a loss that bends at a distance of 0.4."""
    center = on_sheet(np.full(dim, 0.5))
    loss = PseudoHuberLoss(center=center, data_radius=2.0, scale=0.4)
    return build(Hyperboloid(dim=dim), loss, geodesic_ball(center, 1.0), **options)


def spd_mean(n=2, metric=SPDAffineMetric, unit=1.0, **options):
    """SPD matrices in a ball of radius two, of any unit."""
    center = unit * _rotated(np.random.default_rng(n), np.linspace(0.7, 1.8, n))
    loss = FrechetLoss(center=center, data_radius=2.0)
    return build(_spd(n, metric), loss, geodesic_ball(center, 0.8), **options)


def covariance(n=2, **options):
    """Second moment of vectors of norm up to three."""
    loss = SPDLikelihoodLoss(norm_bound=3.0)
    return build(_spd(n), loss, spectral_band(n, 0.5, 4.0), **options)


#: A protocol of every kind by name.
PROTOCOLS = {
    "direction of a circle": lambda: mean_direction(2),
    "direction of a sphere": lambda: mean_direction(3, epsilon=2.0),
    "direction in ten dimensions": lambda: mean_direction(10, epsilon=8.0),
    "principal component": lambda: principal_component(4, epsilon=1.0),
    "principal component, l2_ball": lambda: principal_component(3, name="l2_ball"),
    "Euclidean mean": lambda: euclidean_mean(2),
    "Euclidean mean in nine dimensions": lambda: euclidean_mean(9, epsilon=8.0),
    "mean of the line, l2_ball": lambda: euclidean_mean(1, name="l2_ball"),
    "hyperbolic mean": lambda: hyperbolic_mean(2),
    "hyperbolic mean far out": lambda: hyperbolic_mean(3, offset=5.0),
    "spherical mean": lambda: spherical_mean(3),
    "mean of the circle": lambda: spherical_mean(2),
    "pseudo-Huber centre": lambda: pseudo_huber_centre(2),
    "SPD(2) mean": lambda: spd_mean(2),
    "SPD(3) mean": lambda: spd_mean(3),
    "SPD(3) mean of small unit": lambda: spd_mean(3, unit=1e-9),
    "SPD(2) log-Euclidean mean": lambda: spd_mean(2, metric=SPDLogEuclideanMetric),
    "SPD(3) log-Euclidean mean": lambda: spd_mean(3, metric=SPDLogEuclideanMetric),
    "covariance of two": lambda: covariance(2),
    "covariance of three": lambda: covariance(3, name="l2_ball"),
}


def random_queries(rng, protocol, n):
    """Points up to the edge of the region of queries."""
    geometry, region = protocol.geometry, protocol.query_region
    coords = rng.normal(size=(n, geometry.dim))
    reach = region.in_radius * rng.uniform(0, 1, size=n) ** 0.5
    reach[: n // 8] = region.in_radius * 1e-9  # next to the centre
    coords *= (reach / np.linalg.norm(coords, axis=1))[:, None]
    return np.stack([geometry.exp(geometry.lift(c, region.center), region.center) for c in coords])


def random_data(rng, protocol, n):
    """Data within the bounds, far beyond them, and of extreme units."""
    geometry, loss = protocol.geometry, protocol.loss_spec
    if "center" not in loss:
        width = geometry.shape[0]
        sizes = 10.0 ** rng.choice([-200.0, -8.0, -1.0, 0.0, 0.0, 1.0, 8.0, 200.0], size=(n, 1))
        return rng.normal(size=(n, width)) * sizes
    center = np.array(loss["center"])
    coords = rng.normal(size=(n, geometry.dim))
    lengths = rng.choice([1e-9, 0.1, 1.0, 1.999, 2.5, 3.1], size=n) * rng.uniform(0.5, 1.0, size=n)
    coords *= (lengths / np.linalg.norm(coords, axis=1))[:, None]
    data = np.stack([geometry.exp(geometry.lift(c, center), center) for c in coords])
    if geometry.name == "Hypersphere":
        data[-1] = -center  # at the cut locus of the centre
    return data


# ---------------------------------------------------------------- scores

SCORES = """async ([text, fingerprint, queries, data]) => {
    const { Protocol } = await import("/page/protocol.js");
    const { Participant } = await import("/page/participant.js");
    const protocol = new Protocol(text);
    const participant = new Participant(protocol, { fingerprint });
    return queries.map((point, i) => {
        const query = { fingerprint, round: 0, index: i, side: "round", point };
        return participant.score(data[i], protocol.checkQuery(query));
    });
}"""


def python_score(protocol, point, datum):
    geometry, loss = protocol.geometry, loss_of(protocol)
    clipped = loss.clip(geometry, loss.check_data(geometry, datum))
    out = np.empty(geometry.dim)
    score_coords(
        loss, geometry, geometry.check_point(point), clipped, np.empty(geometry.shape), out
    )
    return out


@pytest.mark.parametrize("name", PROTOCOLS)
def test_scores_are_those_of_python(name, javascript):
    protocol, rng = PROTOCOLS[name](), np.random.default_rng(len(name))
    queries, data = random_queries(rng, protocol, 250), random_data(rng, protocol, 250)
    arguments = [protocol.to_json(), protocol.fingerprint, queries.tolist(), data.tolist()]
    scores = np.array(javascript(SCORES, arguments))
    expected = np.array([python_score(protocol, *pair) for pair in zip(queries, data)])
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12 * protocol.mechanism.bound)
    assert np.ptp(expected) > 0.1 * protocol.mechanism.bound


def test_a_single_query_is_the_only_one_answered(javascript):
    protocol = PrivateSPDCovariance(2.5, 4.0).start(2).protocol_
    point = np.array(protocol.rounds.query)
    queries = [point, point * (1 + 1e-9), np.eye(2)]
    answered = javascript(
        """async ([text, queries]) => {
            const { Protocol } = await import("/page/protocol.js");
            const protocol = new Protocol(text);
            return queries.map((point) => {
                const { fingerprint } = protocol;
                const query = { fingerprint, round: 0, index: 0, side: "round", point };
                try {
                    return protocol.checkQuery(query) !== null;
                } catch {
                    return false;
                }
            });
        }""",
        [protocol.to_json(), [query.tolist() for query in queries]],
    )
    contains = protocol.query_region.contains
    slack = slack_of(protocol.geometry, protocol.query_region, 1e-6)
    expected = [bool(contains(protocol.geometry, query, slack=slack)) for query in queries]
    assert answered == expected == [True, False, False]


# ---------------------------------------------------------------- candidates and weights

MECHANISMS = [
    (name, epsilon, dim)
    for name in ("privunit", "l2_ball")
    for epsilon in (0.1, 1.0, 4.0, 8.0)
    for dim in (1, 2, 9)
]


class ReplayedWords:
    """Random bytes of a seed that both languages draw from, by the public generator."""

    def __init__(self, seed):
        self.seed, self.block = seed, 0

    def __call__(self, n_bytes):
        blocks = np.arange(self.block, self.block + n_bytes // 16, dtype=np.uint64)
        self.block += len(blocks)
        zero = np.zeros_like(blocks)
        words = philox4x32((blocks, zero, zero, zero), (zero + np.uint64(self.seed), zero))
        return np.stack(words, axis=1).astype("<u4").tobytes()


DRAWS = """async ([spec, scores, seeds]) => {
    const { mechanismFromSpec } = await import("/page/mechanisms.js");
    const { drawCandidate } = await import("/page/candidates.js");
    const { philox4x32 } = await import("/page/philox.js");
    const mechanism = mechanismFromSpec(spec);
    return scores.map((score, i) => {
        let block = 0;
        const fill = (words) => {
            for (let k = 0; k < words.length; k += 4) {
                words.set(philox4x32([block, 0, 0, 0], [seeds[i], 0]), k);
                block += 1;
            }
            return words;
        };
        return String(drawCandidate(mechanism, score, fill));
    });
}"""


@pytest.mark.parametrize("name, epsilon, dim", MECHANISMS)
def test_the_same_random_bytes_release_the_same_candidate(name, epsilon, dim, javascript):
    mechanism = make_mechanism(name, epsilon=epsilon, dim=dim, bound=2.0)
    rng = np.random.default_rng(dim)
    scores = rng.normal(size=(60, dim)) * 10.0 ** rng.integers(-3, 2, size=(60, 1))
    scores[0], scores[1] = 0.0, 1e-200
    seeds = list(range(len(scores)))
    drawn = javascript(DRAWS, [mechanism.to_spec(), scores.tolist(), seeds])
    expected = [
        draw_candidate(mechanism, score, ReplayedWords(seed)) for score, seed in zip(scores, seeds)
    ]
    assert list(map(int, drawn)) == expected
    assert len(set(expected)) == len(expected)


def test_points_of_candidates_are_those_of_python(javascript):
    numbers = np.random.default_rng(0).integers(0, N_CANDIDATES, size=300, dtype=np.uint64)
    words = [[int(c) >> 32, int(c) & 0xFFFFFFFF] for c in numbers]
    for width in (1, 2, 5, 31):
        points = javascript(
            """async ([words, width]) => {
                const { spherePoint } = await import("/page/philox.js");
                return words.map(([high, low]) => spherePoint(high, low, width));
            }""",
            [words, width],
        )
        np.testing.assert_allclose(points, sphere_points(numbers, width), rtol=0, atol=4e-16)


WEIGHTS = [0.0, -1.0, 5e-324, 1e-30, 2.0**-64, 0.1, 0.25, 0.7, 1 - 2.0**-53, 1.0, 1.5, 1e300]


def test_levels_of_weights_are_those_of_python(javascript):
    rng = np.random.default_rng(1)
    weights = np.array(WEIGHTS + [math.nan, math.inf, -math.inf] + rng.uniform(size=500).tolist())
    least = 2**60 + 2**12
    # Infinities and NaN do not travel as JSON.
    texts = [str(weight) for weight in weights.tolist()]
    levels = javascript(
        """async ([texts, least]) => {
            const { acceptingLevels } = await import("/page/candidates.js");
            const named = { nan: NaN, inf: Infinity, "-inf": -Infinity };
            const weights = texts.map((text) => (text in named ? named[text] : Number(text)));
            return weights.map((weight) => String(BigInt(acceptingLevels(weight, least))));
        }""",
        [texts, least],
    )
    expected = [int(level) + 1 for level in largest_levels(weights, least)]
    assert list(map(int, levels)) == expected


def test_a_level_is_accepted_below_the_edge_only(javascript):
    edges = [2**64, 2**64 - 2**11, 2**63 + 2**11, 2**32, 2**32 - 1, 5]
    levels = [[min(max(edge + step, 0), 2**64 - 1) for step in (-1, 0, 1)] for edge in edges]
    words = [[[level >> 32, level & 0xFFFFFFFF] for level in row] for row in levels]
    accepted = javascript(
        """async ([words, edges]) => {
            const { accepts } = await import("/page/candidates.js");
            const test = (row, edge) => row.map(([high, low]) => accepts(high, low, edge));
            return words.map((row, i) => test(row, Number(edges[i])));
        }""",
        [words, [str(edge) for edge in edges]],
    )
    assert accepted == [[level < edge for level in row] for row, edge in zip(levels, edges)]


def test_least_weight_is_on_the_safe_side(javascript):
    cases = [(epsilon, dim) for epsilon in (1e-3, 0.5, 2.0, 8.0, 16.0) for dim in (1, 9, 100, 512)]
    found = javascript(
        """async (cases) => {
            const { leastLevels } = await import("/page/candidates.js");
            return cases.map(([epsilon, dim]) => String(BigInt(leastLevels(epsilon, dim))));
        }""",
        cases,
    )
    for least, (epsilon, dim) in zip(map(int, found), cases):
        mechanism = make_mechanism("privunit", epsilon=epsilon, dim=dim, bound=1.0)
        expected = math.ceil(mechanism.least_weight * N_CANDIDATES)
        assert abs(least - expected) <= math.ulp(float(expected))
        with mp.workdps(50):
            assert mp.mpf(least) / N_CANDIDATES > mp.exp(-mp.mpf(epsilon))


def test_thresholds_are_those_of_python(javascript):
    cases = [
        (epsilon, dim)
        for epsilon in (1e-3, 0.1, 1.0, 4.0, 8.0, 12.0, 16.0)
        for dim in (1, 2, 3, 9, 30, 101, 512)
    ]
    found = javascript(
        """async (cases) => {
            const { capThreshold } = await import("/page/caps.js");
            return cases.map(([epsilon, dim]) => capThreshold(epsilon, dim));
        }""",
        cases,
    )
    expected = [
        make_mechanism("privunit", epsilon=epsilon, dim=dim, bound=1.0).threshold
        for epsilon, dim in cases
    ]
    np.testing.assert_allclose(found, expected, rtol=2e-13)
