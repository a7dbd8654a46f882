"""The command ``geomstats-ldp fit``."""

from __future__ import annotations

import argparse
from pathlib import Path

from geomstats_ldp.options import add_files, add_level

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

#: Options by the parameters of estimators that they set, and what else errors speak of.
ESTIMATOR_PARAMETERS = {
    **{name: name for name in ("norm_bound", "feature_bound", "target_bound", "scale")},
    **{name: name for name in ("initial_point", "region_radius", "epsilon", "delta", "mechanism")},
    **{"n_rounds": "rounds", "random_state": "seed"},
}
_PARAMETERS = {**ESTIMATOR_PARAMETERS, "level": "level", "y": "target"}

#: Those of a model that have another name there; data are sought about zero, after --subtract.
_RENAMED = {"mean": {"data_radius": "norm_bound", "initial_point": "subtract"}}

#: How many rounds a model asks in, and how far it seeks, unless an option says.
_ROUNDS = {"mean": "rounds to ask in (default: 1)", "regression": "rounds to ask in (default: 8)"}
_REACH = {"mean": "--norm-bound"}

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
    parser.set_defaults(run=_run, parameters=_PARAMETERS | _RENAMED.get(name, {}))
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
            type=_number_or_scout if name == "pca" else _number,
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
        help="how far from its start the answer is sought (default: "
        f"{_REACH.get(name, 'that of the estimator')})",
    )
    parser.add_argument(
        "--subtract", type=_numbers, metavar="M,N,O", help="public centre of each column, first"
    )
    parser.add_argument(
        "--divide-by", type=_numbers, metavar="S,T,U", help="public scale of each column, then"
    )
    plan = _ROUNDS.get(name, "ask in rounds, not pairs")
    parser.add_argument("--rounds", type=int, metavar="R", help=plan)
    add_level(parser)
    parser.add_argument(
        "--seed",
        type=int,
        help="for numbers that come out again; noise of a known seed protects nobody",
    )
    add_files(parser, "estimate and region", "them")


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


def _number(text):
    """A number, of a model that scouts find no bound for."""
    try:
        return float(text)
    except ValueError:
        hint = "; scouts find that of fit pca only" if text == "scout" else ""
        raise argparse.ArgumentTypeError(f"a number is needed; got {text!r}{hint}") from None


def _number_or_scout(text):
    """A number, or the word."""
    try:
        return text if text == "scout" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a number or scout is needed; got {text!r}") from None


def _numbers_or_scout(text):
    """Numbers, or the word."""
    return text if text == "scout" else _numbers(text)


def _run(arguments):
    # Imported here, so that --help does not wait for geomstats.
    from geomstats_ldp.from_file import answer

    answer.run(arguments)
