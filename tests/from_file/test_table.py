"""Columns of a CSV file, and errors that say where to look but not what is there."""

import numpy as np
import pytest

from geomstats_ldp.exceptions import TableError
from geomstats_ldp.from_file.table import read_columns, split_names


@pytest.fixture
def write(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "people.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_columns_come_in_the_order_they_are_asked_for(write):
    path = write('name,"a, b", c \nx,1,2.5\n"y\nz",-3e1,4\n\n')
    np.testing.assert_array_equal(read_columns(path, ["c", "a, b"]), [[2.5, 1], [4, -30]])


def test_files_of_spreadsheets_are_read(write):
    path = write("a,b\r\n1,2\r\n", encoding="utf-8-sig")
    np.testing.assert_array_equal(read_columns(path, ["a", "b"]), [[1, 2]])


def test_names_with_commas_are_quoted():
    assert split_names('a, "b, c",d') == ["a", "b, c", "d"]
    for text in ("", "a,,b", "a,b,a"):
        with pytest.raises(TableError, match="columns must be different names"):
            split_names(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a,c\n1,2\n", "column 'b' must be .* no such column. The columns are 'a', 'c'"),
        ("secret,71\n1,2\n", "column 'a' must be .* no such column. That line has numbers"),
        ("a,b,b\n1,2,3\n", "column 'b' must be .* there twice"),
        ("a,b\n1,2\n3,secret\n", "line 3 of .*people.csv, column 'b', .* something else"),
        ("a,b\n1,2\n3, \n", "line 3 of .*, column 'b', must be a finite number; it is empty"),
        ("a,b\n1,inf\n", "line 2 of .*, column 'b', must be a finite number"),
        ("a,b\n1,2\n3\n", "line 3 of .* must have 2 cells, as the first line; got 1"),
        ("a,b\n", "must have rows under its first line"),
        ("", "column 'a' must be .* no such column"),
    ],
)
def test_errors_name_the_row_and_the_column(write, text, error):
    with pytest.raises(TableError, match=error) as raised:
        read_columns(write(text), ["a", "b"])
    assert "secret" not in str(raised.value) and "71" not in str(raised.value)


def test_lines_are_those_of_the_file(write):
    with pytest.raises(TableError, match="line 5 of"):
        read_columns(write('a,b\n"1",2\n\n1,2\n5,"x"\n'), ["a", "b"])


def test_another_encoding_is_refused_without_its_bytes(write):
    with pytest.raises(TableError, match=r"CSV file in UTF-8: UnicodeDecodeError$"):
        read_columns(write("a,b\n1,é\n", encoding="latin-1"), ["a", "b"])
