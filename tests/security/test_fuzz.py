"""Damaged texts and files, a quarter of a million: only errors of the package, nothing changes."""

import io
import json
import random
import re
import warnings
import zipfile
import zlib
from functools import partial

import numpy as np
import pytest

from geomstats_ldp.exceptions import LDPError, LDPWarning
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message, Protocol, Query, Transcript
from geomstats_ldp.protocol import transcript as transcript_module
from geomstats_ldp.server import Server, checkpoint

#: Mutations of each kind of text and file that are drawn, always the same ones. Many are alike, and
#: each different one is tried once.
N_MUTATIONS = 50_000

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
EXTREMES = [
    *("0", "-1", "1", "2", "3", "0.5", "-0.0", "1e-320", "1e308", "-1e308", "1e999", "NaN"),
    *("Infinity", '"inf"', '"-inf"', "true", "null", "[]", "{}", '""', "9" * 19, "9" * 5000),
    *("18446744073709551615", "18446744073709551616", "1e16", "100000", "[[[[1]]]]", '"x"'),
    *("[" * 30 + "]" * 30, "[" * 5000, '{"a":' * 20, "0x10", "1.0", "[1.0,2.0]"),
]


def spoil_text(text, rng):
    """One or two changes of a JSON text, small or as a parser of it would see them."""
    for _ in range(rng.choice((1, 1, 2))):
        kind = rng.randrange(6)
        if kind == 0:  # one character
            place = rng.randrange(len(text) + 1)
            text = (
                text[:place]
                + chr(rng.choice((rng.randrange(128), rng.randrange(0x11000))))
                + (text[place + rng.randrange(2) :])
            )
        elif kind == 1:  # a piece left out or given twice
            start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
            text = text[:start] + text[start:end] * rng.choice((0, 2)) + text[end:]
        elif kind == 2:  # a number
            found = rng.choice(list(NUMBERS.finditer(text)) or [re.match("", text)])
            text = text[: found.start()] + rng.choice(EXTREMES) + text[found.end() :]
        else:
            text = spoil_record(text, rng, kind)
    return text


def spoil_record(text, rng, kind):
    """Drop a field, give it twice, or give it another value, at any depth."""
    try:
        record = json.loads(text)
        while True:
            name = rng.choice(sorted(record))
            if not isinstance(record[name], dict) or rng.random() < 0.3:
                break
            inner = record[name]
            if not inner:
                break
            key = rng.choice(sorted(inner))
            inner[key] = json.loads(rng.choice(('"x"', "1", "-1", "[]", "1e300", "null", "{}")))
            return json.dumps(record)
    except (ValueError, TypeError, IndexError, RecursionError, AttributeError):
        return text
    if kind == 3:
        del record[name]
        return json.dumps(record)
    if kind == 4:
        return text[:-1] + f",{json.dumps(name)}:{json.dumps(record[name])}}}"
    other = record[rng.choice(sorted(record))]
    return json.dumps(record | {name: other})


@pytest.fixture
def server(pca_protocol, answers):
    """A collection with one answer waiting."""
    server = Server(pca_protocol(pairs_per_round=2, n_participants=400))
    for seed in range(20):
        server.receive(answers(server, 4, seed))
    server.receive(answers(server, 1))
    return server


def check_most_are_refused(spoil, attempt):
    """Try all the different ones of many mutations: most raise an LDPError, and none another."""
    tried, n_taken = set(), 0
    for number in range(N_MUTATIONS):
        spoilt = spoil(random.Random(number))
        if hash(spoilt) in tried:
            continue
        tried.add(hash(spoilt))
        try:
            attempt(spoilt)
            n_taken += 1
        except LDPError:
            pass
    assert 0 < n_taken < len(tried) // 2


def test_messages(server):
    query = server.queries()[0]
    text = Participant(server.protocol, fingerprint=server.protocol.fingerprint).respond(
        query, [0.3, 0.2, 0.1]
    )
    text, state, pending = text.to_json(), server.state, dict(server.pending)
    assert Message.from_json(text).candidate is not None

    def attempt(spoilt):
        message = Message.from_json(spoilt)
        try:
            server.receive(message)
        finally:
            assert server.state is state
            accepted = server.pending.keys() - pending.keys()
            assert all(np.isfinite(server.pending[index]).all() for index in accepted)
            server.pending = dict(pending)

    check_most_are_refused(partial(spoil_text, text), attempt)


def test_queries(server):
    text = server.queries()[0].to_json()

    def attempt(spoilt):
        query = Query.from_json(spoilt)
        assert np.isfinite(query.point).all()
        assert query.to_json()

    check_most_are_refused(partial(spoil_text, text), attempt)


def test_protocols(pca_protocol):
    text = pca_protocol(n_participants=400).to_json()

    def attempt(spoilt):
        protocol = Protocol.from_json(spoilt)
        assert Protocol.from_json(protocol.to_json()) == protocol

    check_most_are_refused(partial(spoil_text, text), attempt)


# ------------------------------------------------------------------------ files


class Archive:
    """Bytes of a ``.npz`` file whose arrays are changed in place, checksums included."""

    def __init__(self, arrays):
        out = io.BytesIO()
        np.savez(out, **arrays)
        self.content = out.getvalue()
        self.spans = {}
        with zipfile.ZipFile(io.BytesIO(self.content)) as file:
            for member in file.infolist():
                header = self.content[member.header_offset :][26:30]
                names = int.from_bytes(header[:2], "little") + int.from_bytes(header[2:], "little")
                start = member.header_offset + 30 + names
                crc = member.CRC.to_bytes(4, "little")
                self.spans[member.filename] = (start, start + member.file_size, crc)

    def changed(self, name, change):
        """Bytes of the file with other bytes of one array, of the same length."""
        start, end, old = self.spans[name]
        data = change(self.content[start:end])
        content = self.content[:start] + data + self.content[end:]
        return content.replace(old, zlib.crc32(data).to_bytes(4, "little"))


FLOATS = [0.0, -1.0, 1.0, 1e-320, 1e60, -1e300, 1.7e308, np.inf, -np.inf, np.nan, 0.5, 1e6]
INTEGERS = [0, 1, -1, 2, 3, 4, 7, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63)]
HEADERS = [
    (b"<f8", b"<i8"),
    (b"<i8", b"<f8"),
    (b"<f8", b">f8"),
    (b"<f8", b"|O8"),
    (b"<f8", b"<U2"),
    (b"False", b"True "),
    (b"(", b"[("),
    (b"3", b"9"),
    (b"2", b"1"),
    (b"1", b"0"),
    (b", ", b",,"),
    (b"'shape'", b"'shqpe'"),
]


def spoil_array(data, rng):
    """Another header, or other numbers, of one stored array."""
    start = 10 + int.from_bytes(data[8:10], "little")
    if rng.random() < 0.15 or len(data) < start + 8:
        old, new = rng.choice(HEADERS)
        return data.replace(old, new, 1)[: len(data)].ljust(len(data))
    place = start + 8 * rng.randrange((len(data) - start) // 8)
    if b"<f8" in data[:start] and rng.random() < 0.3:  # by a factor
        with np.errstate(all="ignore"):
            values = np.frombuffer(data[place : place + 8]) * rng.choice((2.0, -1.0, 1e-3, 1e9))
    elif b"<f8" in data[:start]:
        values = np.array([rng.choice(FLOATS)])
    else:
        values = np.array([rng.choice(INTEGERS)])
    return data[:place] + values.tobytes() + data[place + 8 :]


def spoil_file(archive, rng):
    """One change of a file: in an array with a checksum that fits, or anywhere."""
    if rng.random() < 0.75:
        name = rng.choice([name for name in archive.spans if name != "protocol.npy"])
        return archive.changed(name, lambda data: spoil_array(data, rng))
    content, kind = bytearray(archive.content), rng.randrange(3)
    place = rng.randrange(len(content))
    if kind == 0:
        content[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del content[place : place + rng.choice((1, 8, 1000))]
    else:
        # The directory at the end says what is where and how large.
        place = len(content) - 1 - rng.randrange(min(1000, len(content)))
        content[place] = rng.randrange(256)
    return bytes(content)


@pytest.fixture
def one_protocol(monkeypatch):
    """Read the text of the protocol once: it is the arrays that are tried here."""
    read, known = Protocol.from_json, {}

    class Reader:
        @staticmethod
        def from_json(text):
            if text not in known:
                known[text] = read(text)
            return known[text]

    for module in (checkpoint, transcript_module):
        monkeypatch.setattr(module, "Protocol", Reader)


def test_states(server, one_protocol, tmp_path):
    server.save(tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as file:
        archive = Archive(dict(file))
    assert Server.load(io.BytesIO(archive.content)).n_received == 81

    def attempt(spoilt):
        again = Server.load(io.BytesIO(spoilt))
        for _ in range(2):
            again.receive(
                [
                    Message(query.fingerprint, query.round, query.index, np.zeros(3))
                    for query in again.queries()
                ]
            )
            again.protocol.geometry.check_point(again.state.average)
            again.protocol.geometry.check_point(again.state.iterate)

    check_most_are_refused(partial(spoil_file, archive), attempt)


def test_transcripts(server, answers, one_protocol):
    fresh = Server(server.protocol, keep_messages=True)
    for seed in range(5):
        fresh.receive(answers(fresh, 4, seed))
    archive = Archive({"protocol": np.array(server.protocol.to_json()), "messages": fresh.messages})
    empty = Server(server.protocol)
    state = empty.state

    def attempt(spoilt):
        read = Transcript.load(io.BytesIO(spoilt))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LDPWarning)
                empty.replay(read.messages, strict=True)
            assert np.isfinite(empty.state.sums.dd).all()
        except LDPError:
            assert empty.state is state
            assert not empty.pending
            raise
        finally:
            empty.adopt(state)

    check_most_are_refused(partial(spoil_file, archive), attempt)
