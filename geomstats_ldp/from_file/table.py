"""Columns of numbers of a CSV file, with errors that say where to look."""

from __future__ import annotations

import csv
import math
import os
from collections import Counter
from collections.abc import Sequence

import numpy as np

from geomstats_ldp.exceptions import TableError


def split_names(text: str) -> list[str]:
    """Names of columns in a text, with commas between them and quotes where a name has commas.

    Raises
    ------
    TableError
        If a name is empty or comes twice.
    """
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or "" in names or len(set(names)) < len(names):
        raise TableError(f"columns must be different names with commas between; got {text!r}")
    return names


def read_columns(path: str | os.PathLike, names: Sequence[str]) -> np.ndarray:
    """Read columns of a CSV file in UTF-8, whose first line has their names.

    Raises
    ------
    TableError
        If a column is not there or there twice, or naming the row and the column of the first cell
        that is not a finite number. The cell itself is left out: it is somebody's datum.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            places = _places(path, header, names)
            rows = [
                _numbers(path, reader.line_num, cells, len(header), places, names)
                for cells in reader
                if any(cell.strip() for cell in cells)
            ]
    except (UnicodeDecodeError, csv.Error) as error:
        # The text of the first would quote bytes of the file.
        raise TableError(f"{path} must be a CSV file in UTF-8: {type(error).__name__}") from None
    if not rows:
        raise TableError(f"{path} must have rows under its first line; got none")
    return np.array(rows)


def _places(path, header, names):
    """Place of each wanted column among the cells of a row."""
    counts = Counter(header)
    for name in names:
        if counts[name] != 1:
            found = "it is there twice" if counts[name] else "there is no such column"
            raise TableError(
                f"column {name!r} must be one of the first line of {path}: {found}. "
                + _names_in(header)
            )
    return [header.index(name) for name in names]


def _names_in(header):
    """What the first line holds, for errors; a line with numbers may be somebody's data."""
    if not any(header):
        return "That line is empty"
    if any(math.isfinite(_number(cell)) for cell in header):
        return "That line has numbers in it, where the names of the columns are needed"
    return f"The columns are {', '.join(map(repr, header))}"


def _numbers(path, line, cells, width, places, names):
    """Numbers of one row in the wanted columns."""
    if len(cells) != width:
        raise TableError(
            f"line {line} of {path} must have {width} cells, as the first line; got {len(cells)}"
        )
    row = [_number(cells[place]) for place in places]
    for name, value, place in zip(names, row, places):
        if not math.isfinite(value):
            found = "it is something else" if cells[place].strip() else "it is empty"
            raise TableError(
                f"line {line} of {path}, column {name!r}, must be a finite number; {found}"
            )
    return row


def _number(cell):
    """Number in a cell, NaN if there is none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan
