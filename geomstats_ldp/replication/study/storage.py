"""Results of a study on disk: one file a cell, whole or not there, and checked when read.

``joblib.Memory`` is not used: it keeps pickles, of which it returns one with a changed digit
without a word, and it writes where the worker runs, which on a cluster may be another disk. A
folder of its results could neither be refused for its settings nor list the cells of earlier
commands, which the tables need.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from pathlib import Path

import pandas as pd

from geomstats_ldp.exceptions import StudyFileError
from geomstats_ldp.files import write_atomically, write_text
from geomstats_ldp.replication.study.methods import Cell

_MARK = "# sha256 "


def read_table(source):
    """Read a CSV file to the last bit."""
    with warnings.catch_warnings():
        # Newer pandas do so by default and warn of the option, older ones do not.
        warnings.simplefilter("ignore", DeprecationWarning)
        return pd.read_csv(source, float_precision="round_trip")


class StudyFolder:
    """Folder of a study: its settings and the finished cells.

    Parameters
    ----------
    path : path-like
        Made if it is not there.
    settings : dict
        What the rows depend on beside their cell; plain JSON values. With "checkpoints" and
        "repetitions", which say how many rows a cell has.

    Raises
    ------
    StudyFileError
        If the folder holds a study with other settings.
    """

    def __init__(self, path, settings):
        self.path = Path(path)
        self.cells = self.path / "cells"
        self.settings = settings
        self.n_rows = settings["repetitions"] * len(settings["checkpoints"])
        self.cells.mkdir(parents=True, exist_ok=True)
        self._check_settings(settings)

    def _check_settings(self, settings):
        file = self.path / "study.json"
        text = json.dumps(settings, indent=2, sort_keys=True) + "\n"
        if not file.exists():
            write_text(file, text)
        found = file.read_text()
        if found != text:
            raise StudyFileError(
                f"{file} is of a study with other settings; continue that one or choose another "
                f"output folder.\nIt has {_one_line(found)}\nthis one {_one_line(text)}"
            )

    def file(self, cell):
        """Where the rows of a cell are."""
        return self.cells / f"{cell.key}.csv"

    def has(self, cell):
        """Whether a cell is finished."""
        return self.file(cell).exists()

    def write(self, cell, rows):
        """Write the rows of a finished cell, all at once."""
        body = pd.DataFrame(rows).to_csv(index=False).encode()
        head = f"{_MARK}{hashlib.sha256(body).hexdigest()}\n".encode()
        write_atomically(self.file(cell), lambda target: target.write(head + body))

    def read(self, cell):
        """Rows of a finished cell.

        Parameters
        ----------
        cell : Cell

        Returns
        -------
        rows : DataFrame

        Raises
        ------
        StudyFileError
            If the file is not what was written.
        """
        file = self.file(cell)
        head, _, body = file.read_bytes().partition(b"\n")
        whole = head.decode(errors="replace") == _MARK + hashlib.sha256(body).hexdigest()
        rows = read_table(io.BytesIO(body)) if whole else ()
        if len(rows) != self.n_rows:
            raise StudyFileError(
                f"{file} is damaged: its content does not match its checksum or has not "
                f"{self.n_rows} rows. Delete it to run that cell again"
            )
        return rows

    def finished(self):
        """All finished cells, whatever command ran them, in the order of a table.

        Raises
        ------
        StudyFileError
            If a file has the name of no cell.
        """
        cells = []
        for file in self.cells.glob("*.csv"):
            try:
                cells.append(Cell.from_key(file.stem))
            except ValueError as error:
                raise StudyFileError(f"{file} has the name of no cell; remove it") from error
        return sorted(cells, key=lambda cell: cell.place)

    def runs(self):
        """Records of the runs that filled the folder, oldest first.

        Raises
        ------
        StudyFileError
            If the file is damaged.
        """
        file = self.path / "runs.json"
        try:
            return json.loads(file.read_text()) if file.exists() else []
        except ValueError as error:
            raise StudyFileError(f"{file} is damaged: {error}. Delete it to continue") from error

    def write_runs(self, records):
        """Write the records of all runs."""
        text = json.dumps(records, indent=2) + "\n"
        write_text(self.path / "runs.json", text)


def _one_line(text):
    return " ".join(text.split())
