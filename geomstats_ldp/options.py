"""Options that commands share, and errors in the words of the one who typed them."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from geomstats_ldp.files import write_figure, write_text
from geomstats_ldp.serialization import encode

#: Endings of pictures.
_PICTURES = (".png", ".pdf", ".svg")

#: A name that no sentence has for a word.
_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def add_level(parser):
    """Add the option for a confidence level."""
    parser.add_argument("--level", type=float, default=0.95, help="default: 0.95")


def add_files(parser, written, drawn):
    """Add the options for a JSON file and a picture, with what goes into them for the help.

    Both are refused before the work if they could not be written after it.
    """
    parser.add_argument("--json", type=_new_file, metavar="FILE", help=f"write {written}")
    parser.add_argument(
        "--picture", type=_new_picture, metavar="FILE", help=f"draw {drawn}: .png, .pdf, .svg"
    )


def write_json(path: Path, record: Any) -> None:
    """Write a record as JSON, numbers to the last digit, and say so."""
    text = json.dumps(encode(record), indent=2, allow_nan=False)
    write_text(path, text + "\n")
    print(f"wrote {path}")


def write_picture(path: Path, figure: Any) -> None:
    """Write a matplotlib figure, and say so."""
    write_figure(path, figure)
    print(f"wrote {path}")


def _new_file(text):
    """Path in a folder that is there."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path


def _new_picture(text):
    """Path whose ending is that of a picture."""
    path = _new_file(text)
    if path.suffix.lower() not in _PICTURES:
        raise argparse.ArgumentTypeError(f"it must end with {', '.join(_PICTURES)}; got {text!r}")
    return path


def in_options(text: str, arguments: argparse.Namespace) -> str:
    """A text of the package with options in place of the parameters that they set.

    Names such as ``norm_bound`` are replaced wherever they stand; others, such as ``epsilon``, as
    the first word of an error about an option that was given.

    Parameters
    ----------
    text : str
    arguments : argparse.Namespace
        With the options by parameter, ``parameters``, where the command has any.

    Returns
    -------
    text : str
    """
    options = {
        parameter: option
        for parameter, option in getattr(arguments, "parameters", {}).items()
        if hasattr(arguments, option)
    }

    def option(found):
        name = options.get(found[0])
        return found[0] if name is None else f"--{name.replace('_', '-')}"

    first, _, rest = text.partition(" ")
    if first in options and getattr(arguments, options[first]) is not None:
        text = f"--{options[first].replace('_', '-')} {rest}"
    return _NAME.sub(option, text)
