"""Files appear whole or not at all, keep their permissions, and never go back in time."""

import io
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import geomstats_ldp
from geomstats_ldp.exceptions import NewerStateError
from geomstats_ldp.files import write_atomically
from geomstats_ldp.server import Server

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")


def put(content):
    return lambda file: file.write(content)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
def test_an_existing_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, put(b"new"))
    assert (path.read_bytes(), mode_of(path)) == (b"new", mode)


def test_a_private_file_is_never_open_to_others_while_it_is_written(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    seen = []

    def write(file):
        seen.extend(mode_of(part) for part in tmp_path.glob("*.part"))

    write_atomically(path, write)
    assert seen == [0o600]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(tmp_path / "a", put(b"new"))
    assert mode_of(tmp_path / "a") == mode_of(tmp_path / "plain")


def test_symbolic_links_are_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    target, link, chain = tmp_path / "disk" / "a", tmp_path / "link", tmp_path / "chain"
    target.write_bytes(b"old")
    link.symlink_to(target)
    chain.symlink_to("link")
    write_atomically(chain, put(b"new"))
    assert chain.is_symlink()
    assert link.is_symlink()
    assert (target.read_bytes(), target.is_symlink()) == (b"new", False)
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["a", "chain", "disk", "link"]


def test_file_and_folder_are_synced_in_this_order(tmp_path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace

    def note_sync(handle):
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def note_replace(*paths):
        calls.append("replace")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_atomically(tmp_path / "a", put(b"new"))
    assert calls == ["file", "replace", "folder"]


def test_orphans_of_dead_writers_are_removed_and_others_are_left(tmp_path):
    path = tmp_path / "a.npz"
    orphan = tmp_path / f"a.npz.{'0' * 16}.part"
    others = [
        tmp_path / name for name in (f"b.npz.{'0' * 16}.part", "a.npz.mine.part", "a.npz.part")
    ]
    for file in (orphan, *others):
        file.write_bytes(b"")

    def write(file):
        assert not orphan.exists()
        # A writer that lives keeps its temporary file, whoever else comes by.
        write_atomically(path, put(b"inner"))
        file.write(b"outer")

    write_atomically(path, write)
    assert path.read_bytes() == b"outer"
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_a_refused_or_failed_write_leaves_everything_as_it_was(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*_):
        raise RuntimeError("no")

    for arguments in ((fail,), (put(b"new"), fail)):
        with pytest.raises(RuntimeError, match="no"):
            write_atomically(path, *arguments)
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_atomically(tmp_path / "nowhere" / "a", put(b""))


# ------------------------------------------------------------------------ two writers


@pytest.fixture
def path(pca_protocol, tmp_path):
    path = tmp_path / "state.npz"
    Server(pca_protocol()).save(path)
    return path


def test_the_second_of_two_writers_is_told(path, answers, same_state):
    first, second = Server.load(path), Server.load(path)
    first.receive(answers(first, 2))
    first.save(path)
    for seed in range(3):  # more messages do not make it newer
        second.receive(answers(second, 2, seed))
    kept = path.read_bytes()
    for _ in range(3):
        with pytest.raises(NewerStateError, match=r"saved 2 times; .* saved 1 times"):
            second.save(path)
    assert path.read_bytes() == kept
    assert same_state(Server.load(path).state, first.state)
    first.receive(answers(first, 2, 7))
    first.save(path)
    elsewhere = path.with_name("other.npz")
    second.save(elsewhere)
    assert same_state(Server.load(elsewhere).state, second.state)


def test_writers_that_saved_equally_often_are_told_apart(path, answers):
    first = Server.load(path)
    second = Server.load(path)
    second.save(path.with_name("other.npz"))
    first.save(path)
    with pytest.raises(NewerStateError, match="saved 2 times"):
        second.save(path)


def test_a_new_collection_does_not_replace_an_old_one(path, pca_protocol):
    with pytest.raises(NewerStateError, match="saved 0 times"):
        Server(pca_protocol()).save(path)


def test_an_old_file_put_back_and_a_damaged_one_are_replaced(path, answers, same_state):
    old, server = path.read_bytes(), Server.load(path)
    for _ in range(3):
        server.save(path)
    for content in (old, old[:100], b""):
        path.write_bytes(content)
        server.receive(answers(server, 2))
        server.save(path)
        assert same_state(Server.load(path).state, server.state)


def test_of_many_writers_at_once_one_wins(path, answers):
    servers = [Server.load(path) for _ in range(8)]
    for server in servers:
        server.receive(answers(server, 2))
    barrier, refused = threading.Barrier(8), []

    def save(server):
        barrier.wait()
        try:
            server.save(path)
        except NewerStateError:
            refused.append(server)

    threads = [threading.Thread(target=save, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 7
    assert Server.load(path).n_participants == 2
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


SAVING = """
import sys
import numpy as np
from geomstats_ldp.protocol import Message
from geomstats_ldp.server import Server

server = Server.load(sys.argv[1])
server.queries()
print("ready", flush=True)
while True:
    for query in server.queries():
        server.receive(Message(query.fingerprint, query.round, query.index, np.zeros(3)))
        server.save(sys.argv[1])
        print(server.n_received, flush=True)
"""


@pytest.mark.slow  # fresh interpreters import geomstats and numba
def test_killed_writers_leave_whole_files_and_no_orphans(pca_protocol, tmp_path):
    reported, path = 0, tmp_path / "state.npz"
    Server(pca_protocol(), engine="geomstats").save(path)
    for attempt in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVING, path],
            cwd=Path(geomstats_ldp.__file__).parents[1],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3 + 0.037 * attempt)
        process.kill()
        lines = process.communicate(timeout=100)[0].split("\n")
        # What was reported as saved is there, and at most one message more.
        reported = max([reported, *(int(line) for line in lines[:-1])])
        assert reported <= Server.load(path).n_received <= reported + 1
    assert reported > 4
    Server.load(path).save(path)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_open_already_is_read(path):
    assert Server.load(io.BytesIO(path.read_bytes())).n_participants == 0
