"""The file of known answers, read by both languages."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

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
            if key == "protocol":
                assert_alike(json.loads(found[key]), json.loads(expected[key]))
            elif key != "fingerprint":
                assert_alike(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected):
            assert_alike(*pair)
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
