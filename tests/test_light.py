"""A device imports what it needs for one answer, compiles nothing, and has the public names."""

import subprocess
import sys
from pathlib import Path

import pytest

import geomstats_ldp

ROOT = Path(geomstats_ldp.__file__).parents[1]


def run(program, *arguments):
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


DEVICE = """
import sys
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Protocol, Query
from numba.core import event

class Compilations(event.Listener):
    n = 0
    def on_start(self, event): Compilations.n += 1
    def on_end(self, event): pass

event.register("numba:compile", Compilations())
protocol = Protocol.from_json(open(sys.argv[1]).read())
query = Query.from_json(open(sys.argv[2]).read())
message = Participant(protocol, max_epsilon=8.0).respond(query, [1.0] * 3)
print(message.candidate, Compilations.n, *{name.partition(".")[0] for name in sys.modules})
print(*[name for name in sys.modules if name.startswith("geomstats_ldp.")])
"""


@pytest.mark.parametrize("mechanism", ["privunit", pytest.param("l2_ball", marks=pytest.mark.slow)])
def test_one_answer_imports_little_and_compiles_nothing(pca_protocol, tmp_path, mechanism):
    from geomstats_ldp import Server

    protocol = pca_protocol(epsilon=8.0, mechanism=mechanism)
    (tmp_path / "protocol").write_text(protocol.to_json())
    (tmp_path / "query").write_text(Server(protocol).queries()[0].to_json())
    output = run(DEVICE, tmp_path / "protocol", tmp_path / "query").splitlines()
    candidate, n_compiled, *modules = output[0].split()
    assert 0 <= int(candidate) < 2**64
    assert n_compiled == "0"
    # An answer takes little more than what everything rests on: it imports nothing beside that.
    base = run("import geomstats, numba, sys; print(*sys.modules)").split()
    standard = getattr(sys, "stdlib_module_names", {"fcntl"})  # Python 3.9 does not list them
    assert set(modules) - {*base, *standard} == {"geomstats_ldp"}
    for package in ("estimators", "server", "inference", "emulation", "plotting", "datasets"):
        assert f"geomstats_ldp.{package}" not in output[1].split()


def test_importing_the_package_imports_nothing():
    loaded = run("import geomstats_ldp, sys; print(*sys.modules)").split()
    assert not {"numpy", "numba", "geomstats"} & set(loaded)


@pytest.mark.parametrize("name", geomstats_ldp.__all__)
def test_public_names_are_there_when_asked_for(name):
    assert getattr(geomstats_ldp, name).__name__ == name
    assert name in dir(geomstats_ldp)


def test_names_for_readers_of_types_are_the_public_ones():
    """What static analysis sees is what `__getattr__` gives."""
    text = Path(geomstats_ldp.__file__).read_text()
    block = text[text.index("if TYPE_CHECKING:") : text.index("__version__")]
    assert all(f" {name}" in block for name in geomstats_ldp.__all__)


def test_other_names_are_missing_as_anywhere():
    with pytest.raises(AttributeError, match="no attribute 'PrivateAverage'"):
        geomstats_ldp.PrivateAverage  # noqa: B018
    with pytest.raises(ImportError):
        from geomstats_ldp import PrivateAverage  # noqa: F401
