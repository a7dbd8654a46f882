"""The script behind the table of further spaces: its target is the mean, and it counts."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[3] / "docs" / "study" / "spaces.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("spaces_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["S2", "S9", "H2", "H5", "SPD3", "SO3"])
def test_the_target_is_the_mean_of_the_law(script, name):
    protocol = script.make_mean(name, script.SETTINGS[0]).start().protocol_
    geometry = protocol.geometry
    target, law = script.make_law(geometry)
    logs = geometry.coordinates(geometry.log(law.support, target), target)
    np.testing.assert_allclose(law.probabilities @ logs, 0.0, atol=1e-9)
    assert geometry.dist(target, geometry.reference) == pytest.approx(0.3, rel=1e-9)
    assert np.max(geometry.dist(law.support, geometry.reference)) < 1.0  # none is clipped


@pytest.mark.slow
def test_a_repetition_and_its_oracle(script):
    setting = script.SETTINGS[0]
    axis = script.oracle_semi_axis("S2", setting, 2000)
    runs = [script.run_once("S2", setting, 2000, np.random.SeedSequence(i)) for i in range(20)]
    assert sum(covered for covered, _ in runs) >= 15  # fewer with probability 3e-4
    assert all(0.8 * axis < length < 1.5 * axis for _, length in runs)
