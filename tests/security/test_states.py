"""Checkpoints and transcripts that were damaged or made up are refused, whatever is wrong."""

import io
import zipfile

import numpy as np
import pytest

from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.protocol import Transcript
from geomstats_ldp.server import Server


def load(content):
    return Server.load(io.BytesIO(content))


def put(place, value):
    """Change of one entry of an array."""

    def change(array):
        array[place] = value
        return array

    return change


def times(factor):
    return lambda array: array * factor


def test_an_unchanged_file_is_read(saved, changed, same_state, answers):
    server, again = load(saved), load(changed(saved))
    assert same_state(server.state, again.state)
    assert sorted(server.pending) == sorted(again.pending) == [0, 1]
    assert server.n_participants == 126
    server.receive(answers(server, 4))
    assert server.n_pairs == 66


#: What each change is caught by; slot 0 is the open cycle, slot 1 the complete ones.
CRAFTED = {
    "dx of another shape": ({"sums_dx": np.zeros((1, 1, 1))}, "sums_dx must be float64 of shape"),
    "one count": ({"counts": np.array([8])}, "counts must be int64 of shape"),
    "counts as floats": ({"counts": lambda a: a.astype(float)}, "counts must be int64"),
    "single precision": ({"sums_d": lambda a: a.astype("f4")}, "sums_d must be float64"),
    "complex sums": ({"sums_d": lambda a: a.astype(complex)}, "sums_d must be float64"),
    "columns first": ({"sums_d": np.asfortranarray}, "no header of a plain array"),
    "NaN": ({"average": put(0, np.nan)}, "average must be finite"),
    "infinite sums": ({"sums_dd": put((1, 0, 0), np.inf)}, "sums_dd must be finite"),
    "an iterate off the sphere": ({"iterate": times(1.01)}, "iterate must lie on"),
    "an average off the sphere": ({"average": times(0.5)}, "average must lie on"),
    "an iterate out of the region": ({"iterate": times(-1.0)}, "iterate must lie in the working"),
    "an average out of the region": ({"average": times(-1.0)}, "average must lie in the working"),
    "negative counts": ({"counts": put(1, -4)}, "counts must be in"),
    "huge counts": ({"counts": put(0, 2**60)}, "counts must be in"),
    "a lost participant": ({"counts": put(0, 125)}, "two participants a pair"),
    "more than planned": ({"counts": put(slice(2), [1002, 501])}, "plan of 1000"),
    "a round that is not full": ({"counts": put(slice(2), [124, 62])}, "whole rounds"),
    "more caps than updates": ({"counts": put(slice(2, 5), [90, 0, 126])}, "safeguards"),
    "a safeguard that never acted": ({"counts": put(slice(2, 5), [0, 0, 9])}, "safeguards"),
    "pairs without sums": ({"sums_n_pairs": put(1, 10)}, "sums_n_pairs must add up"),
    "pairs in an unused slot": ({"sums_n_pairs": put(-1, 4)}, "sums_n_pairs must add up"),
    "other radii": ({"sums_squared_radius": times(2.0)}, "sums of the squared radii"),
    "other radii in all": ({"sums_squared_radius": put(1, 9.0)}, "sums of the squared radii"),
    "a sum of squares below zero": ({"sums_dd": times(-1.0)}, "sums"),
    "squares that are no symmetric matrix": (
        {"sums_dd": lambda a: a + np.array([[0.0, 1.0], [-1.0, 0.0]])},
        "symmetric",
    ),
    "slopes that squares cannot hold": ({"sums_dx": times(1e6)}, "sums"),
    "means that squares cannot hold": ({"sums_d": put(1, 1e9)}, "sums"),
    "an early cycle that was not": ({"sums_dd": put(3, np.eye(2) * 1e5)}, "sums"),
    "sums of no pairs": ({"sums_d": put(-1, 0.5)}, "sums of no pairs"),
    "sums near overflow": ({"sums_d": put(1, 1e300)}, "sums"),
    "a pending vector of 1e6": ({"pending_vectors": times(1e6)}, "in the support"),
    "a pending vector of 1e200": ({"pending_vectors": times(1e200)}, "pending_vectors must be in"),
    "a pending vector that is not tangent": (
        {"pending_vectors": lambda a: a + 1.0},
        "tangent at its query",
    ),
    "a pending vector too many": ({"pending_vectors": np.zeros((3, 3))}, "one index for each"),
    "one query answered twice": ({"pending_index": np.array([1, 1])}, "ascending"),
    "a query that is not open": ({"pending_index": np.array([1, 6])}, "pending_index must be in"),
    "pending vectors of another shape": ({"pending_vectors": np.zeros((2, 4))}, "of shape"),
    "no iterate": ({"iterate": None}, "iterate is missing"),
    "more than it should": ({"surprise": np.zeros(3)}, "more than it should: 'surprise.npy'"),
    "another engine": ({"engine": np.array("steam")}, "engine must be one of"),
    "a long engine": ({"engine": np.array("x" * 10**6)}, "text of at most"),
    "an engine of numbers": ({"engine": np.zeros(3)}, "text of at most"),
    "another protocol": ({"protocol": np.array("{}")}, "not a protocol"),
    "a negative version": ({"version": np.array([-1, 0])}, "version must be in"),
}


@pytest.mark.parametrize("what", CRAFTED)
def test_crafted_states_are_refused(saved, changed, what):
    changes, match = CRAFTED[what]
    with pytest.raises(MessageError, match=match):
        load(changed(saved, **changes))


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return out.getvalue()


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def claimed(shape):
    """Header of an array of zeros that is not there."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return out.getvalue()


def test_one_name_twice_in_a_file_is_refused(saved):
    members = members_of(saved)
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = zipped([*members, members[0]])
    with pytest.raises(MessageError, match="two arrays of one name"):
        load(content)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("messages.npy", claimed((10**12, 3)), "another size than it declares"),
        ("messages.npy", claimed((5, 3)) + bytes(119), "another size than it declares"),
        ("messages.npy", claimed((5, 3)) + bytes(121), "another size than it declares"),
        ("messages.npy", b"\x93NUMPY\x02\x00" + claimed((1, 3))[8:] + bytes(24), "no header"),
        ("messages.npy", b"\x93NUMPY\x01\x00\xff\xff{", "no header"),
        ("messages.npy", b"", "no header"),
        ("messages.npy", claimed((1, 3)).replace(b"<f8", b"|O8") + bytes(24), "Python objects"),
        ("messages.txt", b"", "messages is missing"),
    ],
)
def test_headers_say_what_is_there(pca_protocol, name, content, match):
    text = np.array(pca_protocol().to_json())
    out = io.BytesIO()
    np.save(out, text)
    with pytest.raises(MessageError, match=match):
        Transcript.load(io.BytesIO(zipped([("protocol.npy", out.getvalue()), (name, content)])))


def test_a_small_file_does_not_inflate_to_gigabytes(pca_protocol, tmp_path, monkeypatch):
    """300 MB of zeros in two: nothing of that size is ever made."""
    out, n = io.BytesIO(), 300 * 2**20 // 24
    np.save(out, np.array(pca_protocol().to_json()))
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("protocol.npy", out.getvalue())
        with file.open("messages.npy", "w") as stream:
            stream.write(claimed((n, 3)))
            for _ in range(n // 2**16):
                stream.write(bytes(2**16 * 24))
            stream.write(bytes((n % 2**16) * 24))
    assert path.stat().st_size < 2**21
    monkeypatch.setattr(np, "frombuffer", lambda *args: pytest.fail("read before it was checked"))
    with pytest.raises(MessageError, match="messages would take 314572800 bytes"):
        Transcript.load(path)


def test_other_compressions_are_refused(saved):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as file:
        for name, content in members_of(saved):
            file.writestr(name, content)
    with pytest.raises(MessageError, match="numpy does not use"):
        load(out.getvalue())


def test_a_transcript_longer_than_its_plan_is_refused(pca_protocol, tmp_path):
    Transcript(pca_protocol(n_participants=4), np.zeros((5, 3))).save(tmp_path / "run.npz")
    with pytest.raises(MessageError, match="4 participants are planned; got 5 messages"):
        Transcript.load(tmp_path / "run.npz")


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e130])
def test_a_transcript_holds_numbers_that_can_be_squared(pca_protocol, tmp_path, value):
    Transcript(pca_protocol(), np.full((5, 3), value)).save(tmp_path / "run.npz")
    with pytest.raises(MessageError, match="messages must be"):
        Transcript.load(tmp_path / "run.npz")
