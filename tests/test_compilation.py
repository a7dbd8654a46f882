"""The digest that names compiled entry points follows the files they are made of, and no others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import geomstats_ldp
from geomstats_ldp.compilation import _compiled_sources, _digest

ROOT = Path(geomstats_ldp.__file__).parent

FILES = {
    "__init__.py": "from toy.face import fit\n",
    "kernels.py": "from numba import njit\nfrom toy.limits import LIMIT\nimport toy.tools\n",
    "limits.py": "from .deep import constants\nLIMIT = constants.ONE\n",
    "tools.py": "def tool():\n    from toy.late import LATE\n    return LATE\n",
    "late.py": "LATE = 2\n",
    "face.py": "from toy.kernels import kernel\n",
    "deep/__init__.py": "",
    "deep/constants.py": "from .. import roots\nONE = roots.ZERO + 1\n",
    "deep/registered.py": "compile_for_twin(operation, Twin, kernel)\n",
    "roots.py": "ZERO = 0\n",
}
APART = {"__init__.py", "face.py"}


@pytest.fixture
def toy(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "toy"


def test_kernels_and_all_they_import_are_followed(toy):
    assert set(_compiled_sources(toy)) == set(FILES) - APART


@pytest.mark.parametrize("name", FILES)
def test_an_edit_changes_the_digest_where_compiled_code_depends_on_it(toy, name):
    before = _digest(_compiled_sources(toy))
    (toy / name).write_text(FILES[name] + "# edited\n")
    after = _digest(_compiled_sources(toy))
    assert (after == before) == (name in APART)
    (toy / name).write_text(FILES[name])
    assert _digest(_compiled_sources(toy)) == before


def test_a_new_kernel_changes_the_digest(toy):
    before = _digest(_compiled_sources(toy))
    (toy / "more.py").write_text("from numba.extending import register_jitable\n")
    assert _digest(_compiled_sources(toy)) != before


def test_of_the_package_itself():
    followed = set(_compiled_sources(ROOT))
    kernels = {"emulation.py", "participant.py", "schedules.py", "twins.py"}
    kernels |= {"server/recursion.py", "server/regression.py", "geometry/dispatch.py"}
    kernels |= {"geometry/spaces/hyperbolic.py", "geometry/spaces/sphere.py", "losses/radial.py"}
    kernels |= {"mechanisms/privunit.py", "losses/pca.py"}
    assert kernels <= followed
    apart = ("estimators", "inference", "replication", "datasets", "cli", "plotting")
    found = {name for name in followed if name.startswith(apart)}
    # The alternatives to pairs and one loss are compiled; the rest of the replication is apart.
    kernels = ("baselines/emulation", "baselines/recursion", "study/affine_score")
    assert found == {f"replication/{name}.py" for name in kernels}


@pytest.mark.slow  # compiles twice
def test_processes_that_start_cold_at_once_share_the_cache(tmp_path):
    program = (
        "import numpy as np\n"
        "from geomstats_ldp import PrivateVMFLocation\n"
        "rows = np.random.default_rng(0).normal([1.0, 0.0, 2.0], 1.0, size=(400, 3))\n"
        "location = PrivateVMFLocation(epsilon=8.0, initial_point=[0, 0, 1], random_state=0)\n"
        "print(location.fit(rows).estimate_.tolist())\n"
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
