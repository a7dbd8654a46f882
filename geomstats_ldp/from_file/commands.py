"""The command ``geomstats-ldp fit``."""

from __future__ import annotations

import argparse
from pathlib import Path

_HELP = {
    "pca": "leading principal direction of the rows",
    "direction": "mean direction of the rows, each scaled to length one",
    "mean": "mean of each column",
    "covariance": "second moments of the columns, about zero or about --subtract",
    "regression": "intercept and coefficients of a column by others",
}

_DESCRIPTION = """Estimate from a CSV file, one person a row: each row answers one question with one
private message, as that person's own device would, and the estimate with its confidence region is
made of these messages only. The bounds are yours to choose, from public knowledge and not from the
file; rows beyond a bound are clipped to it."""

_SCOUT = "; scout lets the first rows find it, privately"


def add_command(commands):
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "fit", help="estimate and region from a CSV file", description=_DESCRIPTION
    )
    models = parser.add_subparsers(required=True, metavar="MODEL", dest="model")
    for name, text in _HELP.items():
        _add_model(models.add_parser(name, help=text, description=f"Estimate: {text}."), name)


def _add_model(parser, name):
    parser.set_defaults(run=_run)
    parser.add_argument("--csv", type=Path, required=True, metavar="FILE", help="one row a person")
    parser.add_argument(
        "--columns", required=True, metavar="A,B,C", help="names of the first line, with commas"
    )
    parser.add_argument(
        "--epsilon", type=float, required=True, help="privacy of each person's message, or inf"
    )
    parser.add_argument(
        "--delta", type=float, default=0.0, help="for the mechanism gaussian only (default: 0)"
    )
    parser.add_argument("--mechanism", default="privunit", help="default: privunit")
    if name == "regression":
        _add_regression(parser)
    elif name != "direction":
        parser.add_argument(
            "--norm-bound",
            type=_number_or_scout if name == "pca" else float,
            required=True,
            metavar="B",
            help="longest row that is taken as it is, after --subtract and --divide-by"
            + (_SCOUT if name == "pca" else ""),
        )
    if name in ("pca", "direction"):
        parser.add_argument(
            "--initial-point",
            type=_numbers_or_scout,
            metavar="X,Y,Z",
            help="public first guess of the direction (default: 1,...,1)" + _SCOUT,
        )
    parser.add_argument(
        "--region-radius",
        type=float,
        metavar="R",
        help="how far from its start the answer is sought (default: that of the estimator)",
    )
    parser.add_argument(
        "--subtract", type=_numbers, metavar="M,N,O", help="public centre of each column, first"
    )
    parser.add_argument(
        "--divide-by", type=_numbers, metavar="S,T,U", help="public scale of each column, then"
    )
    plan = "rounds to ask in (default: 8)" if name == "regression" else "ask in rounds, not pairs"
    parser.add_argument("--rounds", type=int, metavar="R", help=plan)
    parser.add_argument("--level", type=float, default=0.95, help="default: 0.95")
    parser.add_argument(
        "--seed",
        type=int,
        help="for numbers that come out again; noise of a known seed protects nobody",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write estimate and region")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw them: .png, .pdf, .svg")


def _add_regression(parser):
    parser.add_argument("--target", required=True, metavar="Y", help="column to be explained")
    parser.add_argument(
        "--kind",
        choices=("linear", "huber", "logistic"),
        required=True,
        help="least squares, Huber's robust loss, or logistic for a target that is 0 or 1",
    )
    parser.add_argument(
        "--feature-bound",
        type=float,
        required=True,
        metavar="B",
        help="longest row of --columns that is taken as it is, after --subtract and --divide-by",
    )
    parser.add_argument(
        "--target-bound",
        type=float,
        metavar="C",
        help="largest absolute target that is taken as it is, for linear",
    )
    parser.add_argument(
        "--scale", type=float, metavar="D", help="residual up to which squares count, for huber"
    )


def _numbers(text):
    """Numbers of a text with commas between."""
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"numbers with commas are needed; got {text!r}") from None


def _number_or_scout(text):
    """A number, or the word."""
    return text if text == "scout" else float(text)


def _numbers_or_scout(text):
    """Numbers, or the word."""
    return text if text == "scout" else _numbers(text)


def _run(arguments):
    # Imported here, so that --help does not wait for geomstats.
    from geomstats_ldp.from_file import answer

    answer.run(arguments)
