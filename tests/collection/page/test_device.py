"""What the page refuses before it looks at a datum, and by what law it always answers after."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc

from geomstats_ldp import (
    Message,
    Participant,
    PrivateFrechetMean,
    PrivatePCA,
    PrivateVMFLocation,
    Protocol,
)
from geomstats_ldp.exceptions import LDPError
from geomstats_ldp.mechanisms import make_mechanism

# The browser takes long.
pytestmark = pytest.mark.slow


def start(epsilon=4.0, **options):
    mean = PrivateFrechetMean(epsilon=epsilon, n_rounds=5, n_participants=2000, **options)
    return mean.start(n_features=2)


@pytest.fixture
def mean():
    """A collection in rounds, which asks everybody at one point."""
    return start()


@pytest.fixture
def pairs():
    """A collection in pairs, whose queries may lie anywhere in a ball."""
    return PrivateFrechetMean(epsilon=4.0).start(n_features=2)


# ---------------------------------------------------------------- refusals

READ = """async (texts) => {
    const { Protocol } = await import("/page/protocol.js");
    return texts.map((text) => {
        try {
            new Protocol(text);
            return null;
        } catch (error) {
            return [error.constructor.name, error.message];
        }
    });
}"""


def changed(record, *path, value):
    """Text of a protocol with another value at a path."""
    record = json.loads(json.dumps(record))
    place = record
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return json.dumps(record)


def damaged(text):
    """Texts that neither language may take for a protocol."""
    record = json.loads(text)
    without = {name: record[name] for name in record if name != "basis"}
    yield from ("", "no JSON", "[]", "null", "3", json.dumps(without))
    yield json.dumps({**record, "more": 1})
    yield text.replace('"format":2', '"format":3')
    yield text.replace('"format":2', '"format":2,"format":2')
    yield text.replace('"epsilon":4.0', '"epsilon":1.0,"epsilon":4.0')
    yield changed(record, "mechanism", "epsilon", value=16.5)
    yield changed(record, "mechanism", "epsilon", value="inf")
    yield changed(record, "mechanism", "delta", value=0.5)
    yield changed(record, "mechanism", "name", value="unheard")
    yield changed(record, "mechanism", "name", value="constructor")
    yield changed(record, "mechanism", "dim", value=3)
    yield changed(record, "mechanism", "bound", value=1e101)
    yield changed(record, "mechanism", "bound", value=-1.0)
    yield changed(record, "space", "dim", value=10**9)
    yield changed(record, "space", "dim", value=-2)
    yield changed(record, "space", "name", value="Unheard")
    yield changed(record, "loss", "name", value="unheard")
    yield changed(record, "loss", "data_radius", value=0)
    yield changed(record, "retraction", value="projection")
    yield changed(record, "reference", value=[0.0])
    yield changed(record, "reference", value=["0", "0"])
    yield changed(record, "basis", value=[[1.0, 0.0], [1.0, 0.0]])
    yield changed(record, "basis", value=[[2.0, 0.0], [0.0, 2.0]])
    yield changed(record, "directions", value=[])
    yield changed(record, "directions", value=record["directions"][:3])
    yield changed(record, "working_region", "radius", value=-1.0)
    yield changed(record, "working_region", "holds_queries", value="no")
    yield changed(record, "working_region", "name", value="unheard")
    yield changed(record, "radius", "maximum", value=0.0)
    yield changed(record, "radius", value=None)
    yield changed(record, "gain", value=None)
    yield changed(record, "coordinates", value="poincare_ball")
    yield changed(record, "coordinates", value=[])
    yield changed(record, "initial_point", value=[0.0, None])
    yield changed(record, "initial_point", value=[[[[[[[[[[[[[0.0]]]]]]]]]]]]])


def damaged_with_one_query(text):
    """The same of a protocol that asks everybody at one point."""
    record = json.loads(text)
    for query in (None, [0.0], "point", [[0.0, 0.0]], [0.0, None]):
        yield changed(record, "rounds", "query", value=query)
    yield changed(record, "rounds", value=None)
    yield changed(record, "radius", value={"maximum": 0.1, "scale": 0.1, "exponent": 0.0})


def test_subspaces_need_the_device_in_python(javascript):
    plane = PrivatePCA(n_components=2, initial_point=np.eye(2, 4), n_rounds=2, n_participants=400)
    (found,) = javascript(READ, [plane.start().protocol_.to_json()])
    assert found[0] == "ProtocolError" and "This page cannot compute" in found[1]


@pytest.mark.parametrize("plan", ["pairs", "one query"])
def test_damaged_protocols_are_refused_as_in_python(plan, mean, pairs, javascript):
    estimator, make = {"pairs": (pairs, damaged), "one query": (mean, damaged_with_one_query)}[plan]
    text = estimator.protocol_.to_json()
    texts = list(make(text))
    for other in texts:
        with pytest.raises(LDPError):
            Participant(Protocol.from_json(other), max_epsilon=16.0)
    found = javascript(READ, [text, *texts])
    assert found[0] is None
    assert [outcome and outcome[0] for outcome in found[1:]] == ["ProtocolError"] * len(texts)


ASK = """async ([text, fingerprint, queries]) => {
    const { Protocol } = await import("/page/protocol.js");
    const protocol = new Protocol(text);
    return queries.map((query) => {
        try {
            protocol.checkQuery(query);
            return null;
        } catch (error) {
            return error.constructor.name;
        }
    });
}"""


def test_odd_queries_are_refused(pairs, javascript):
    protocol = pairs.protocol_
    good = json.loads(pairs.queries()[0].to_json())
    edge = protocol.query_region.radius
    center = protocol.query_region.center
    on_edge = {**good, "point": (center + [edge, 0.0]).tolist()}
    odd = [
        *({**good, "point": point} for point in ([1.0], [[0.0, 0.0]], [None, 0.0], "point", None)),
        {**good, "point": (center + [edge * (1 + 1e-5), 0.0]).tolist()},
        *({**good, "fingerprint": other} for other in ("", "0" * 64, None)),
        *({**good, "round": number} for number in (-1, 0.5, "0", None, 2**60)),
        {**good, "side": "left"},
        {**good, "more": 1},
        {name: good[name] for name in good if name != "index"},
        *(None, [], "query", 3),
    ]
    arguments = [protocol.to_json(), protocol.fingerprint, [good, on_edge, *odd]]
    assert javascript(ASK, arguments) == [None, None] + ["ProtocolError"] * len(odd)


def test_another_point_than_the_one_query_is_refused(mean, javascript):
    good = json.loads(mean.queries()[0].to_json())
    others = [{**good, "point": [x, 0.0]} for x in (1e-12, 0.1)]
    arguments = [mean.protocol_.to_json(), mean.protocol_.fingerprint, [good, *others]]
    assert javascript(ASK, arguments) == [None, "ProtocolError", "ProtocolError"]


def test_a_device_wants_to_know_what_it_may_spend(mean, javascript):
    protocol = mean.protocol_
    allowed = [
        *({"fingerprint": protocol.fingerprint}, {"maxEpsilon": 4}, {"maxEpsilon": 16}),
        *({}, {"fingerprint": "0" * 64}, {"maxEpsilon": 3.9}, {"maxEpsilon": None}),
    ]
    found = javascript(
        """async ([text, allowed]) => {
            const { Protocol } = await import("/page/protocol.js");
            const { Participant } = await import("/page/participant.js");
            const protocol = new Protocol(text);
            return allowed.map((options) => {
                try {
                    new Participant(protocol, options);
                    return true;
                } catch (error) {
                    return error.constructor.name;
                }
            });
        }""",
        [protocol.to_json(), allowed],
    )
    assert found == [True] * 3 + ["ProtocolError"] * 4


# ---------------------------------------------------------------- answers

ANSWERS = """async ([text, fingerprint, query, data, n]) => {
    const { Protocol } = await import("/page/protocol.js");
    const { Participant } = await import("/page/participant.js");
    const protocol = new Protocol(text);
    const once = (datum) => new Participant(protocol, { fingerprint }).respond(query, datum);
    const named = { nan: NaN, inf: Infinity, nothing: undefined };
    const leaf = (entry) => (entry in named ? named[entry] : entry);
    const read = (entry) => (Array.isArray(entry) ? entry.map(read) : leaf(entry));
    return data.map((datum) => Array.from({ length: n }, () => once(read(datum))));
}"""

BAD_DATA = ["nothing", [], [1.0], [[1.0, 2.0]], ["nan", 0.0], ["inf", 1.0], ["one", "two"], {}, 3]


def test_bad_data_are_answered_all_the_same(mean, javascript):
    protocol, query = mean.protocol_, mean.queries()[0]
    record = json.loads(query.to_json())
    arguments = [protocol.to_json(), protocol.fingerprint, record, BAD_DATA, 400]
    for texts in javascript(ANSWERS, arguments):
        messages = [Message.from_json(text) for text in texts]
        coords = np.array([protocol.mechanism.candidate_vector(m.candidate) for m in messages])
        # The score counts as zero, which is the mean of the message.
        error = np.abs(coords.mean(axis=0)) / (coords.std(axis=0) / math.sqrt(len(coords)))
        assert np.all(error < 5)


def test_a_device_answers_once(mean, javascript):
    protocol, query = mean.protocol_, mean.queries()[0]
    second = javascript(
        """async ([text, fingerprint, query]) => {
            const { Protocol } = await import("/page/protocol.js");
            const { Participant } = await import("/page/participant.js");
            const participant = new Participant(new Protocol(text), { fingerprint });
            participant.respond(query, [0.1, 0.2]);
            try {
                participant.respond(query, [0.1, 0.2]);
            } catch (error) {
                return error.message;
            }
        }""",
        [protocol.to_json(), protocol.fingerprint, json.loads(query.to_json())],
    )
    assert second == "This device has answered."


@pytest.mark.parametrize(
    "estimator, n_features, datum",
    [
        (PrivateVMFLocation(epsilon=2.0, n_rounds=5, n_participants=2000), 3, [0.2, -0.9, 0.1]),
        (
            PrivatePCA(norm_bound=2.0, epsilon=4.0, n_rounds=5, n_participants=2000),
            4,
            [1, 1, -2, 3],
        ),
        (
            PrivateFrechetMean(epsilon=2.0, mechanism="l2_ball", n_rounds=5, n_participants=2000),
            3,
            [0.1, 0.5, -0.3],
        ),
    ],
)
def test_messages_have_the_score_for_their_mean(estimator, n_features, datum, javascript):
    """A fresh estimator's server takes them all, and their law is that of the mechanism."""
    estimator.start(n_features)
    protocol, query = estimator.protocol_, estimator.queries()[0]
    record = json.loads(query.to_json())
    arguments = [protocol.to_json(), protocol.fingerprint, record, [datum], 6000]
    (texts,) = javascript(ANSWERS, arguments)
    estimator.partial_fit([Message.from_json(text) for text in texts[:50]])
    assert estimator.n_participants_ == 50
    candidates = [Message.from_json(text).candidate for text in texts]
    mechanism = protocol.mechanism
    coords = mechanism.point_vector(
        mechanism.candidate_points(np.array(candidates, dtype=np.uint64))
    )
    (score,) = javascript(
        """async ([text, fingerprint, query, datum]) => {
            const { Protocol } = await import("/page/protocol.js");
            const { Participant } = await import("/page/participant.js");
            const protocol = new Protocol(text);
            const participant = new Participant(protocol, { fingerprint });
            return [participant.score(datum, protocol.checkQuery(query))];
        }""",
        [protocol.to_json(), protocol.fingerprint, record, datum],
    )
    deviation = (coords.mean(axis=0) - score) / (coords.std(axis=0) / math.sqrt(len(coords)))
    assert stats.chi2.sf(np.sum(deviation**2), df=len(score)) > 1e-4
    # The same law as the direct sampler of Python, coordinate by coordinate.
    expected = mechanism.randomise(np.tile(score, (6000, 1)), random_state=0)
    for found, known in zip(coords.T, expected.T):
        assert stats.ks_2samp(found, known).pvalue > 1e-4


def test_how_many_are_weighed_does_not_depend_on_the_score(javascript):
    """Blocks double; how many were refused is geometric, with the mean that the theory states."""
    mechanism = make_mechanism("privunit", epsilon=6.0, dim=3, bound=1.0)
    scores = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, -0.2, 1e-160], [50.0, 50.0, 50.0]]
    n_draws = 3000
    blocks = javascript(
        """async ([spec, scores, n]) => {
            const { mechanismFromSpec } = await import("/page/mechanisms.js");
            const { drawCandidate, systemWords } = await import("/page/candidates.js");
            const mechanism = mechanismFromSpec(spec);
            return scores.map((score) => Array.from({ length: n }, () => {
                let count = 0;
                drawCandidate(mechanism, score, (words) => {
                    count += 1;
                    return systemWords(words);
                });
                return count;
            }));
        }""",
        [mechanism.to_spec(), scores, n_draws],
    )
    # A block of 64 holds an accepted candidate unless all are refused.
    cap = 0.5 * betainc(mechanism.dim / 2, 0.5, 1 - mechanism.threshold**2)
    accepted = cap + mechanism.least_weight * (1 - cap)
    first = 1 - (1 - accepted) ** 64
    for counts in blocks:
        hits = sum(count == 1 for count in counts)
        assert stats.binomtest(hits, n_draws, first).pvalue > 1e-4
    table = [[counts.count(1), n_draws - counts.count(1)] for counts in blocks]
    assert stats.chi2_contingency(table).pvalue > 1e-4
