"""The file of known answers, read by both languages."""

import json
import runpy
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from geomstats_ldp import Message
from geomstats_ldp.mechanisms.subset_selection import SubsetSelection
from geomstats_ldp.scouting import NormHistogram
from geomstats_ldp.scouting.device import bins_of

HERE = Path(__file__).parent
FILE = HERE.parents[2] / "docs" / "known_answers.json"


@pytest.fixture(scope="module")
def published():
    return json.loads(FILE.read_text())


def test_the_file_holds_what_python_computes(published):
    module = runpy.run_path(str(HERE / "known_answers.py"))
    assert_alike(json.loads(json.dumps(module["known_answers"]())), published)


def assert_alike(found, expected):
    """Equal texts and integers, and equal floats up to rounding on other platforms."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            if key != "fingerprint":
                assert_alike(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected):
            assert_alike(*pair)
    elif isinstance(expected, str) and expected.startswith("{"):  # a record within
        assert_alike(json.loads(found), json.loads(expected))
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    else:
        assert found == expected


def test_digests(published, javascript):
    texts = [text for text, _ in published["sha256"]] + ["a" * 1000000, "ε ≤ 1 \U0001f512"]
    found = javascript(
        """async (texts) => {
            const { sha256 } = await import("/page/sha256.js");
            return texts.map(sha256);
        }""",
        texts,
    )
    long = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    assert found[:-1] == [digest for _, digest in published["sha256"]] + [long]
    assert found[-1] == javascript(
        """async (text) => {
            const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
            const pairs = [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0"));
            return pairs.join("");
        }""",
        texts[-1],
    )


def test_words_of_the_generator(published, javascript):
    words = [
        [[int(w, 16) for w in part.split()] for part in row] for row in published["philox4x32_10"]
    ]
    found = javascript(
        """async (rows) => {
            const { philox4x32 } = await import("/page/philox.js");
            return rows.map(([counter, key]) => philox4x32(counter, key));
        }""",
        words,
    )
    assert found == [row[2] for row in words]


def test_points(published, javascript):
    points = published["points"]
    numbers = list(map(int, points["candidates"]))
    for width, expected in points["by_width"].items():
        found = javascript(
            """async ([words, width]) => {
                const { spherePoint } = await import("/page/philox.js");
                return words.map(([high, low]) => spherePoint(high, low, width));
            }""",
            [[[number >> 32, number & 0xFFFFFFFF] for number in numbers], int(width)],
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=4e-16)


def test_mechanisms(published, javascript):
    for case in published["mechanisms"]:
        words = np.frombuffer(bytes.fromhex(case["random_bytes"]), dtype="<u4")
        found = javascript(
            """async ([spec, score, random]) => {
                const { mechanismFromSpec } = await import("/page/mechanisms.js");
                const { drawCandidate } = await import("/page/candidates.js");
                const mechanism = mechanismFromSpec(spec);
                const candidate = drawCandidate(mechanism, score, (words) => {
                    words.set(random.slice(0, words.length));
                    return words;
                });
                return [String(candidate), mechanism.threshold ?? null, mechanism.leastWeight];
            }""",
            [case["mechanism"], case["score"], words.tolist()],
        )
        assert found[0] == case["candidate"]
        if case["threshold"] is not None:
            assert found[1] == pytest.approx(case["threshold"], rel=1e-14)
        assert found[2] == pytest.approx(case["least_weight"], rel=1e-15)


def test_scores(published, javascript):
    for case in published["scores"]:
        found = javascript(
            """async ({ protocol: text, fingerprint, query, data }) => {
                const { Protocol } = await import("/page/protocol.js");
                const { Participant } = await import("/page/participant.js");
                const protocol = new Protocol(text);
                const participant = new Participant(protocol, { fingerprint });
                return data.map((datum) => participant.score(datum, protocol.checkQuery(query)));
            }""",
            case,
        )
        np.testing.assert_allclose(found, case["scores"], rtol=0, atol=1e-12, err_msg=case["name"])
        assert not np.any(found[-1])


def test_lengths_of_scouts(published, javascript):
    for case in published["lengths"]:
        numbers = list(map(int, case["candidates"]))
        words = [[number >> 32, number & 0xFFFFFFFF] for number in numbers]
        random = np.frombuffer(bytes.fromhex(case["random_bytes"]), dtype="<u4").tolist()
        found = javascript(
            """async ([{ question, data }, words, random]) => {
                const { NormHistogram, NormParticipant } = await import("/page/subsets.js");
                const norms = new NormHistogram(question);
                const { fingerprint } = norms;
                const named = (set) => set.flatMap((isIn, place) => (isIn ? [place] : []));
                const query = { fingerprint, round: 0, index: 0, side: "round", point: [[0]] };
                const message = new NormParticipant(norms).respond(query, data[0], (block) => {
                    block.set(random.slice(0, block.length));
                    return block;
                });
                const sets = words.map(([high, low]) => named(norms.mechanism.point(high, low)));
                const bins = [...data, null, [NaN]].map((datum) => norms.binOf(datum));
                return [fingerprint, sets, bins, message];
            }""",
            [case, words, random],
        )
        assert found[:2] == [case["fingerprint"], case["sets"]]
        assert found[2] == [*case["bins"], 0, 0]
        assert Message.from_json(found[3]).candidate == int(case["candidate"])


def test_studies_that_follow_from_scouts(published, javascript):
    """The page takes the protocol that follows, and none that differs in anything but rounding."""
    changes = [
        ("mechanism", "epsilon", 4.5),
        ("mechanism", "bound", 1e-3),
        ("loss", "name", "frechet"),
        ("rounds", "n_rounds", 6),
        ("initial_point", 0, 0.481),
        ("working_region", "radius", 1.01),
        (
            "rounds",
            "known_covariance",
            np.diag([0.125, 0.25, 0.126, 0.0625, 0.0625, 0.125]).tolist(),
        ),
    ]
    for case in published["studies"]:
        texts = [case["found"]]
        for field, name, value in changes:
            found = json.loads(case["found"])
            protocol = json.loads(found["protocol"])
            protocol[field][name] = value
            texts.append(json.dumps({**found, "protocol": json.dumps(protocol)}))
        told = javascript(
            """async ([{ study: text }, texts]) => {
                const { published } = await import("/page/scouted.js");
                const study = published(text);
                return [study.fingerprint, texts.map((found) => {
                    try {
                        return study.studyAfter(found).fingerprint;
                    } catch (error) {
                        return String(error);
                    }
                })];
            }""",
            [case, texts],
        )
        protocol = json.loads(case["found"])["protocol"]
        assert told[0] == case["fingerprint"]
        assert told[1][0] == sha256(protocol.encode()).hexdigest()
        assert all("Error" in text for text in told[1][1:]), told


def test_scores_of_scouts_who_tell_the_start(published, javascript):
    cases = [case for case in published["studies"] if "query" in case]
    for case in cases:
        found = javascript(
            """async ({ study: text, query, data }) => {
                const { published } = await import("/page/scouted.js");
                const { participant } = await published(text).turn(query, null);
                const point = participant.checkQuery(query);
                return data.map((datum) => participant.score(datum, point));
            }""",
            case,
        )
        scale = np.abs(case["scores"]).max()
        np.testing.assert_allclose(found, case["scores"], rtol=0, atol=1e-12 * scale)
        assert scale > 0 and not np.any(found[-1])
    assert len(cases) == 3


def test_sets_of_scouts_have_the_same_size(javascript):
    cases = [(e, k) for e in np.geomspace(1e-3, 16, 60).tolist() for k in (2, 3, 8, 80, 1000)]
    found = javascript(
        """async (cases) => {
            const { SubsetSelection } = await import("/page/subsets.js");
            return cases.map(([epsilon, k]) => new SubsetSelection(epsilon, k).size);
        }""",
        cases,
    )
    assert found == [SubsetSelection(*case).subset_size for case in cases]


def test_lengths_fall_into_the_same_bins(javascript):
    norms = NormHistogram(2.0)
    lengths = np.random.default_rng(0).uniform(-16, 16, size=2000)
    data = [[10.0**x, 10.0 ** (x - 1)] for x in lengths.tolist()]
    found = javascript(
        """async ([text, data]) => {
            const { NormHistogram } = await import("/page/subsets.js");
            const norms = new NormHistogram(text);
            return data.map((datum) => norms.binOf(datum));
        }""",
        [norms.to_json(), data],
    )
    assert found == bins_of(norms, np.linalg.norm(data, axis=1)).tolist()
