"""The benchmark script runs and prints its tables."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "docs" / "benchmarks" / "run.py"


def test_the_script_prints_its_tables(capsys):
    spec = importlib.util.spec_from_file_location("benchmark_script", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main(["--quick"])
    printed = capsys.readouterr().out
    for line in ("S2, von Mises-Fisher | privunit", "IncrementalPCA, batches of 1 ", "| 1000 |"):
        assert line in printed
