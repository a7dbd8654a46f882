"""The page about the command prints what the command prints."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from geomstats_ldp.cli import main
from geomstats_ldp.datasets import load_nhanes_body_measures

PAGE = Path(__file__).parents[2] / "docs" / "from_a_file.md"
COMMANDS = re.findall(r"```bash\n(.*?)\n```\n\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.S)


@pytest.mark.slow
def test_the_page_prints_what_the_commands_print(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    measures = load_nhanes_body_measures().data
    np.savetxt("people.csv", measures, "%.1f", ",", header="height,weight,waist", comments="")
    assert len(COMMANDS) == 3
    for command, printed in COMMANDS:
        program, *arguments = shlex.split(command)
        assert program == "geomstats-ldp" and main(arguments) == 0
        assert capsys.readouterr().out == printed
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "size.json", "size.png"}
