"""Compiled code: its cache follows the sources, and never stops a program."""

import compileall
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import geomstats_ldp
from geomstats_ldp.compilation import KERNEL_FOLDERS, digest_of

ROOT = Path(geomstats_ldp.__file__).parent

#: A program with one small kernel of its own, in a module `toy` beside it.
TOY = """
import numpy as np
from geomstats_ldp.compilation import cached_njit

def double(values):
    for i in range(values.shape[0]):
        values[i] *= 2.0

double_compiled = cached_njit(double, allocates=False)
"""
RUN_TOY = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from toy import double_compiled
    values = np.array([1.0, 2.5])
    double_compiled(values)
print(values.tolist(), [str(w.message) for w in caught if "compiled code" in str(w.message)])
"""
#: The interactive path, through geomstats, and a compiled release.
RUN_PACKAGE = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import geomstats_ldp
    from geomstats_ldp import PrivateVMFLocation, Tuning
    rows = np.random.default_rng(0).normal([1.0, 0.0, 2.0], 1.0, size=(8, 3))
    tuning = Tuning(engine=ENGINE)
    location = PrivateVMFLocation(initial_point=[0, 0, 1], random_state=0, tuning=tuning)
    location.fit(rows)
print(geomstats_ldp.__file__)
print(sum("compiled code" in str(w.message) for w in caught), location.estimate_.tolist())
"""


def run(program, *path, options=(), **environment):
    """Lines printed by a program run in a process of its own, which finds modules on a path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))} | environment
    command = [sys.executable, *options, "-c", program]
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=os.path.abspath(os.sep),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def estimate(*path, engine="geomstats", **keywords):
    """Where the package was found, warnings of the cache, and the estimate."""
    found, result = run(RUN_PACKAGE.replace("ENGINE", repr(engine)), *path, **keywords)[-2:]
    n_warnings, result = result.split(" ", 1)
    return found, int(n_warnings), result


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "toy.py").write_text(TOY)
    return tmp_path


# ------------------------------------------------------------------------ the digest


def test_every_file_with_kernels_is_followed():
    kernel = re.compile(r"\b(jitable|jitable_inline|cached_njit|compile_for_twin)\b")
    for path in ROOT.rglob("*.py"):
        if kernel.search(path.read_text()):
            assert path.relative_to(ROOT).parent.as_posix() in (*KERNEL_FOLDERS, "testing"), path


def test_an_edit_a_new_file_or_a_new_name_changes_the_digest(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "kernels.py").write_text("ONE = 1\n")
    (tmp_path / "apart.py").write_text("")
    seen = {digest_of(tmp_path, ["deep"])}
    (tmp_path / "apart.py").write_text("TWO = 2\n")
    assert digest_of(tmp_path, ["deep"]) in seen
    (tmp_path / "deep" / "kernels.py").write_text("ONE = 2\n")
    seen.add(digest_of(tmp_path, ["deep"]))
    (tmp_path / "deep" / "more.py").write_text("")
    seen.add(digest_of(tmp_path, ["deep"]))
    (tmp_path / "deep" / "more.py").rename(tmp_path / "deep" / "other.py")
    seen.add(digest_of(tmp_path, ["deep"]))
    assert len(seen) == 4


# ------------------------------------------------------------------------ the cache


@pytest.mark.slow  # a process for each kind of damage
def test_a_damaged_cache_is_made_again(toy):
    """At any length a file may be cut off at, and for both kinds of file."""
    cache = toy / "cache"
    expected = ["[2.0, 5.0] []"]
    path = (toy, ROOT.parent)
    assert run(RUN_TOY, *path, NUMBA_CACHE_DIR=str(cache)) == expected
    whole = {file: file.read_bytes() for file in cache.rglob("*.nb*")}
    assert len(whole) == 2
    for file, content in whole.items():
        for length in (0, len(content) // 2):
            file.write_bytes(content[:length])
            assert run(RUN_TOY, *path, NUMBA_CACHE_DIR=str(cache)) == expected
            mended = {file: file.read_bytes() for file in cache.rglob("*.nb*")}
            assert len(mended) == 2 and len(mended[file]) > length


@pytest.mark.slow  # processes that compile
@pytest.mark.parametrize("left", ["", "nothing = 0\n"])
def test_a_cache_that_names_a_class_which_is_gone_is_made_again(toy, left):
    """As of a loss of one's own in a module or a notebook that another program does not have."""
    (toy / "own.py").write_text(
        "from typing import NamedTuple\nclass Own(NamedTuple):\n    scale: float\n"
    )
    (toy / "scaled.py").write_text(
        "from geomstats_ldp.compilation import cached_njit\n"
        "def scale(source, values):\n    values[0] *= source[0]\n"
        "scale_compiled = cached_njit(scale, allocates=False)\n"
    )
    use = "import numpy as np\nfrom scaled import scale_compiled\nvalues = np.array([1.5])\n"
    end = "\nprint(values.tolist())"
    with_own = f"{use}from own import Own\nscale_compiled(Own(2.0), values){end}"
    without = f"{use}scale_compiled((4.0, 1.0), values){end}"
    environment = {"NUMBA_CACHE_DIR": str(toy / "cache")}
    assert run(with_own, toy, ROOT.parent, **environment) == ["[3.0]"]
    (toy / "own.py").unlink()
    if left:
        (toy / "own.py").write_text(left)
    assert run(without, toy, ROOT.parent, **environment) == ["[6.0]"]


@pytest.mark.slow  # a process that compiles
def test_an_unwritable_cache_is_one_warning(toy):
    """No folder can be made under a file, whoever one is."""
    (toy / "blocked").write_text("")
    package = toy / "copy"
    shutil.copytree(
        ROOT, package / "geomstats_ldp", ignore=shutil.ignore_patterns("__pycache__", "*.nb*")
    )
    for folder in [package / "geomstats_ldp", *(package / "geomstats_ldp").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("")
    environment = {"HOME": str(toy / "blocked"), "XDG_CACHE_HOME": str(toy / "blocked")}
    found, n_warnings, _ = estimate(package, NUMBA_CACHE_DIR="", **environment)
    assert found.startswith(str(package))
    assert n_warnings == 1


@pytest.mark.slow  # a process
def test_a_disk_that_fills_up_is_one_warning(toy):
    program = (
        "import numba.core.caching as caching, contextlib\n"
        "def full(self, path):\n"
        "    raise OSError(28, 'No space left on device')\n"
        "caching.IndexDataCacheFile._open_for_write = full\n"
    )
    (line,) = run(program + RUN_TOY, toy, ROOT.parent, NUMBA_CACHE_DIR=str(toy / "cache"))
    assert line.startswith("[2.0, 5.0] ['compiled code cannot be cached")
    assert line.count("compiled code") == 1


# ------------------------------------------------------------------------ unusual imports


@pytest.fixture(scope="module")
def expected():
    return estimate(ROOT.parent)[2]


@pytest.mark.slow  # a process that compiles
def test_from_a_zip_archive(tmp_path, expected):
    archive = tmp_path / "library.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in ROOT.rglob("*"):
            if path.suffix in (".py", ".csv", ".json") or path.name == "py.typed":
                file.write(path, path.relative_to(ROOT.parent))
    found, n_warnings, result = estimate(archive, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert found.startswith(str(archive))
    # numba hashes the archive for some of its caches only
    assert n_warnings <= 1
    assert result == expected


@pytest.mark.slow  # a process that compiles
def test_from_byte_code_alone(tmp_path, expected):
    shutil.copytree(
        ROOT, tmp_path / "geomstats_ldp", ignore=shutil.ignore_patterns("__pycache__", "*.nb*")
    )
    compileall.compile_dir(tmp_path, quiet=1, legacy=True)
    for path in tmp_path.rglob("*.py"):
        path.unlink()
    found, n_warnings, result = estimate(tmp_path)
    assert found == str(tmp_path / "geomstats_ldp" / "__init__.pyc")
    assert n_warnings == 1  # numba caches beside sources
    assert result == expected


@pytest.mark.slow
def test_without_docstrings_and_assertions(expected):
    assert estimate(ROOT.parent, options=("-OO",))[2] == expected


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "compiled"])
def test_without_compilation_kernels_run_as_python(engine, expected):
    _, n_warnings, result = estimate(ROOT.parent, engine=engine, NUMBA_DISABLE_JIT="1")
    assert n_warnings == 0
    ours, theirs = (eval(text) for text in (result, expected))
    assert ours == pytest.approx(theirs, abs=1e-12)


# ------------------------------------------------------------------------ the log


@pytest.mark.slow
def test_the_root_logger_stays_as_it_was():
    program = (
        "import logging\n"
        "logging.basicConfig(level=logging.ERROR)\n"
        "root = logging.getLogger()\n"
        "before = root.level, list(root.handlers)\n"
        "from geomstats_ldp import Participant, PrivatePCA\n"
        "import geomstats_ldp.testing\n"
        "assert (root.level, root.handlers) == before, (root.level, root.handlers)\n"
    )
    run(program, ROOT.parent)


@pytest.mark.slow  # two processes
def test_the_first_compilation_is_announced_once(toy):
    program = (
        "import logging, sys\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout)\n"
        "import numpy as np\n"
        "from toy import double_compiled\n"
        "double_compiled(np.ones(3)), double_compiled(np.ones(3, dtype=np.float32))\n"
    )
    environment = {"NUMBA_CACHE_DIR": str(toy / "cache")}
    (line,) = run(program, toy, ROOT.parent, **environment)
    assert "geomstats_ldp" in line and "compiling" in line
    assert run(program, toy, ROOT.parent, **environment) == []


@pytest.mark.slow  # compiles twice
def test_processes_that_start_cold_at_once_share_the_cache(tmp_path):
    program = (
        "import numpy as np\n"
        "from geomstats_ldp import PrivateFrechetMean\n"
        "rows = np.random.default_rng(0).normal(0.1, 0.3, size=(400, 2))\n"
        "mean = PrivateFrechetMean(epsilon=8.0, n_rounds=2, random_state=0)\n"
        "print(mean.fit(rows).estimate_.tolist())\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT.parent)}

    def start():
        command = [sys.executable, "-c", program]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    def output(process):
        printed, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        return printed

    first, second = start(), start()
    printed = output(first)
    assert output(second) == printed
    compiled = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")}
    assert compiled
    assert output(start()) == printed
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")} == compiled
