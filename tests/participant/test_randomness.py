"""From what randomness a participant answers, and that a person answers once."""

import contextlib
import copy
import os
import pickle
import sys
import threading

import numpy as np
import pytest

from geomstats_ldp.exceptions import (
    AlreadyAnsweredError,
    ForeignMessageError,
)
from geomstats_ldp.participant import Participant
from geomstats_ldp.server import Server

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")

DATUM = np.array([0.7, -1.1, 0.4])


def noise_of(participant, query):
    return participant.respond(query, DATUM).tangent_vec


def test_a_seed_repeats_and_answers_differ(pca_protocol, first_query):
    protocol = pca_protocol()
    query = first_query(protocol)
    one, other = Participant(protocol, random_state=3), Participant(protocol, random_state=3)
    first = [noise_of(one, query) for _ in range(4)]
    second = [noise_of(other, query) for _ in range(4)]
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(first, axis=0)) == 4
    assert not np.array_equal(first[0], noise_of(Participant(protocol, random_state=4), query))


def test_without_a_seed_nothing_repeats(pca_protocol, first_query, device):
    protocol = pca_protocol()
    query = first_query(protocol)
    answers = [device(protocol).respond(query, DATUM) for _ in range(10)]
    assert len({message.candidate for message in answers}) == 10
    assert len(np.unique([message.tangent_vec for message in answers], axis=0)) == 10


@pytest.mark.parametrize(
    "duplicate",
    [lambda p: pickle.loads(pickle.dumps(p)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copy_knows_that_the_person_has_answered(pca_protocol, duplicate, first_query, device):
    participant = device(pca_protocol())
    query = first_query(participant.protocol)
    assert not duplicate(participant).has_answered
    participant.respond(query, DATUM)
    with pytest.raises(AlreadyAnsweredError):
        duplicate(participant).respond(query, DATUM)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_in_one_process_answer_once_altogether(pca_protocol, duplicate, first_query, device):
    participant = device(pca_protocol())
    query = first_query(participant.protocol)
    twin = duplicate(participant)
    twin.respond(query, DATUM)
    assert participant.has_answered
    for one in (participant, twin, duplicate(twin)):
        with pytest.raises(AlreadyAnsweredError):
            one.respond(query, DATUM)


def test_a_pickle_never_shares_noise(pca_protocol, first_query, device):
    participant = device(pca_protocol())
    query = first_query(participant.protocol)
    copies = [participant, *(pickle.loads(pickle.dumps(participant)) for _ in range(2))]
    assert len({p.respond(query, DATUM).candidate for p in copies}) == 3


def test_threads_get_one_answer(pca_protocol, first_query, device):
    """The switch between looking at the latch and closing it is forced, not waited for."""
    protocol = pca_protocol()
    query, n = first_query(protocol), 8
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            participant, barrier, answers = device(protocol), threading.Barrier(n), []

            def answer(participant=participant, barrier=barrier, answers=answers):
                barrier.wait()
                with contextlib.suppress(AlreadyAnsweredError):
                    answers.append(participant.respond(query, DATUM).candidate)

            threads = [threading.Thread(target=answer) for _ in range(n)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(answers) == 1
    finally:
        sys.setswitchinterval(interval)


def test_nothing_of_the_datum_stays_in_a_participant(pca_protocol, first_query, device):
    """A device keeps its participant in a pickle, and that is not the place for a score."""
    protocol = pca_protocol()
    query, blank = first_query(protocol), device(protocol)
    contents = set()
    for datum in (DATUM, -2 * DATUM[::-1], [np.nan, 1.0, 2.0], "271828"):
        participant = device(protocol)
        participant.respond(query, datum)
        participant.protocol = blank.protocol  # caches in it are public
        contents.add(pickle.dumps(participant))
    assert len(contents) == 1


def test_a_seeded_copy_repeats_as_asked(pca_protocol, first_query):
    participant = Participant(pca_protocol(), random_state=8)
    query = first_query(participant.protocol)
    twin = pickle.loads(pickle.dumps(participant))
    np.testing.assert_array_equal(noise_of(participant, query), noise_of(twin, query))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_never_shares_noise(pca_protocol, first_query, device):
    """Worker pools fork: parent and child must not release two data under one noise."""
    participant = device(pca_protocol())
    query = first_query(participant.protocol)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # no test machinery may run twice: answer and vanish
        try:
            os.write(write, participant.respond(query, DATUM).candidate.to_bytes(8, "little"))
        finally:
            os._exit(0)
    os.close(write)
    theirs = os.read(read, 1000)
    os.close(read)
    os.waitpid(child, 0)
    assert len(theirs) == 8
    assert int.from_bytes(theirs, "little") != participant.respond(query, DATUM).candidate


# ------------------------------------------------------------------------ one answer


def test_a_person_answers_once(pca_protocol, device, changed):
    protocol = pca_protocol()
    queries = Server(protocol).queries()
    participant = device(protocol)
    assert not participant.has_answered and "has not answered" in repr(participant)
    with pytest.raises(ForeignMessageError):  # a refused query spends nothing
        participant.respond(changed(queries[0], fingerprint="0"), DATUM)
    participant.respond(queries[0], DATUM)
    assert participant.has_answered and "has answered" in repr(participant)
    for query in queries:
        with pytest.raises(AlreadyAnsweredError, match="another person needs a Participant"):
            participant.respond(query, DATUM)


def test_a_simulation_answers_for_many_and_says_so(pca_protocol, first_query):
    participant = Participant(pca_protocol(), random_state=0)
    query = first_query(participant.protocol)
    assert not np.array_equal(noise_of(participant, query), noise_of(participant, query))
    assert "SIMULATION with random_state=0" in repr(participant)
