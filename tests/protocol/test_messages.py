"""Queries, messages and transcripts travel without losing a bit, and without pickle."""

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest

from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.protocol import Message, Query, Transcript

#: Doubles that decimal text gets wrong when it is too short, and the extremes of the type.
AWKWARD = np.array(
    [
        0.1,
        1 / 3,
        -0.0,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        np.nextafter(1.0, 2.0),
        -math.pi,
        1e22,
        123456789.123456789,
    ]
)


def same_bits(one, other):
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_query_reads_back_exactly():
    query = Query("abc", 7, 3, "minus", AWKWARD)
    rebuilt = Query.from_json(query.to_json())
    assert (rebuilt.fingerprint, rebuilt.round, rebuilt.index, rebuilt.side) == (
        "abc",
        7,
        3,
        "minus",
    )
    assert same_bits(rebuilt.point, AWKWARD)


@pytest.mark.parametrize("candidate", [0, 1, 2**53 + 1, 2**64 - 1, (3,), (0, -(2**53), 2**53)])
def test_message_reads_back_exactly(candidate):
    message = Message("abc", 10**6, 1, AWKWARD, candidate)
    rebuilt = Message.from_json(message.to_json())
    assert rebuilt == message and rebuilt.candidate == candidate
    assert rebuilt.tangent_vec is None
    assert json.loads(message.to_json())["index"] == 1


@pytest.mark.parametrize("candidate", [2**64 - 1, (5, -7)])
def test_a_sent_message_holds_no_float(candidate):
    """Whatever the vector, the text is the same, and short."""
    text = Message("abc", 0, 3, AWKWARD, candidate).to_json()
    assert text == Message("abc", 0, 3, candidate=candidate).to_json()
    assert not any(isinstance(value, float) for value in json.loads(text).values())
    assert set(json.loads(text)) == {"fingerprint", "round", "index", "candidate"}


def test_a_simulated_message_does_not_travel():
    with pytest.raises(MessageError, match="candidate to be sent; this one was simulated"):
        Message("abc", 0, 0, AWKWARD).to_json()


def test_random_doubles_of_a_query_read_back_exactly():
    bits = np.random.default_rng(0).integers(0, 2**64, size=3000, dtype=np.uint64)
    values = bits.view(np.float64)
    values = values[np.isfinite(values)]
    assert same_bits(Query.from_json(Query("a", 0, 0, "base", values).to_json()).point, values)


def test_queries_and_messages_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Query("abc", 0, 0, "plus", AWKWARD).round = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        Message("abc", 0, 0, AWKWARD).index = 1


@pytest.mark.parametrize("kind", [Query, Message])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        "3",
        "null",
        "{}",
        '{"point": [1.0], "candidate": [1.0]}',
        '{"fingerprint": "a", "round": 0, "index": 0}',
        '{"fingerprint": "a", "round": 0, "index": 0, "side": "plus", "point": ["x"],'
        ' "candidate": ["x"]}',
        '{"fingerprint": "a", "round": 0, "index": 0, "side": "plus", "point": [[1], [1, 2]],'
        ' "candidate": [[1], [1, 2]]}',
        '{"fingerprint": "a", "round": 0, "index": 0, "side": "plus", "point": [1.0],'
        ' "candidate": [1.0], "more": 1}',
    ],
)
def test_other_texts_are_refused(kind, text):
    with pytest.raises(MessageError, match=r"text is not a (Query|Message)"):
        kind.from_json(text)


def test_fields_that_do_not_fit_are_named():
    query = Query("abc", 7, 3, "minus", AWKWARD).to_json()
    expected = r"not a Message: the fields \['candidate'\] are missing, .*'point', 'side'"
    with pytest.raises(MessageError, match=expected):
        Message.from_json(query)
    with pytest.raises(MessageError, match="not a Query: expected a JSON object; got list"):
        Query.from_json(f"[{query}]")


# ------------------------------------------------------------------------ transcripts


@pytest.fixture
def transcript(pca_protocol):
    messages = np.random.default_rng(0).normal(size=(57, 3)) * 1e-3
    return Transcript(pca_protocol(epsilon=math.inf), messages)


def test_transcript_reads_back_exactly(transcript, tmp_path):
    path = tmp_path / "run.npz"
    transcript.save(path)
    rebuilt = Transcript.load(path)
    assert rebuilt.protocol == transcript.protocol
    assert same_bits(rebuilt.messages, transcript.messages)
    assert len(rebuilt) == len(transcript) == 57
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.npz"]  # nothing temporary stays


def test_transcript_file_holds_no_pickle(transcript, tmp_path):
    transcript.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fiU" for name in file.files)


def test_transcript_with_pickled_arrays_is_refused(transcript, tmp_path):
    path = tmp_path / "run.npz"
    np.savez(
        path,
        protocol=np.array(transcript.protocol.to_json()),
        messages=np.array([{"not": "numbers"}], dtype=object),
    )
    with pytest.raises(MessageError, match="not a transcript: it holds Python objects"):
        Transcript.load(path)


def truncated(good):
    return good[: len(good) // 2]


def damaged(good):
    middle = len(good) // 2
    return (
        good[:middle]
        + bytes(byte ^ 0xFF for byte in good[middle : middle + 40])
        + good[middle + 40 :]
    )


CORRUPTIONS = {
    "empty": lambda good: b"",
    "text": lambda good: b"this is not a transcript at all",
    "pickle": lambda good: pickle.dumps({"not": "numbers"}),
    "truncated": truncated,
    "damaged": damaged,
}


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_corrupted_transcripts_are_refused(transcript, tmp_path, corruption):
    path = tmp_path / "run.npz"
    transcript.save(path)
    path.write_bytes(CORRUPTIONS[corruption](path.read_bytes()))
    with pytest.raises(MessageError, match="not a transcript") as caught:
        Transcript.load(path)
    assert "pickle" not in str(caught.value).replace(str(path), "")


def test_other_array_files_are_refused(transcript, tmp_path):
    np.savez(tmp_path / "other.npz", numbers=np.ones(3))
    with pytest.raises(MessageError, match="not a transcript"):
        Transcript.load(tmp_path / "other.npz")
    np.save(tmp_path / "plain.npy", np.ones(3))
    with pytest.raises(MessageError, match="not a transcript"):
        Transcript.load(tmp_path / "plain.npy")


def test_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        Transcript.load(tmp_path / "nowhere.npz")


def test_a_failed_save_leaves_the_old_file(transcript, tmp_path):
    path = tmp_path / "run.npz"
    transcript.save(path)
    before = path.read_bytes()

    class Unwritable:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("no array here")

    with pytest.raises(RuntimeError, match="no array"):
        Transcript(transcript.protocol, Unwritable()).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.npz"]
