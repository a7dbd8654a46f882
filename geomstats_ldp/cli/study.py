"""The simulation study of the paper: ``python -m geomstats_ldp study``."""

from __future__ import annotations

import argparse
from pathlib import Path

from geomstats_ldp.cli.arguments import MECHANISMS, epsilon, number, repetitions

_DESIGNS = ("A", "B", "C", "D", "E", "F")
_METHODS = ("spr", "trajectory", "half_sample")
_TUNINGS = ("paper", "default")
_FULL = {
    "designs": _DESIGNS,
    "mechanism": ("gaussian",),
    "method": _METHODS,
    "tuning": ("paper",),
    "n": (4000, 8000, 16000, 32000),
    "repetitions": 500,
}
_QUICK = _FULL | {"designs": ("A", "D", "F"), "n": (1000, 2000), "repetitions": 20}


def add_command(commands):
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "study",
        help="the paper's simulation study: six designs, tables and figures",
        description=(
            "Repeat private collections on the six designs of the paper and print mean error and "
            "coverage of 95% regions. Finished cells are kept in the output folder: the same "
            "command continues a run that was stopped. Without options it is the paper's study."
        ),
    )
    parser.set_defaults(run=_run)
    parser.add_argument("--designs", nargs="+", choices=_DESIGNS, metavar="A..F")
    parser.add_argument("--epsilon", type=epsilon, nargs="+", metavar="EPS")
    parser.add_argument("--mechanism", nargs="+", choices=MECHANISMS)
    parser.add_argument(
        "--method", nargs="+", choices=_METHODS, help="symmetric pairs (spr) and its alternatives"
    )
    parser.add_argument(
        "--tuning",
        nargs="+",
        choices=_TUNINGS,
        help="the paper's constants for each design, or the defaults for all",
    )
    parser.add_argument("--n", type=_sample_size, nargs="+", help="sample sizes of one stream")
    parser.add_argument("--repetitions", type=repetitions, metavar="R")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("study-results"), metavar="DIR")
    parser.add_argument(
        "--quick", action="store_true", help="three designs, small samples, 20 repetitions"
    )


def _sample_size(text):
    value = int(text)
    if value < 200 or value % 2:
        raise argparse.ArgumentTypeError(f"n must be even and at least 200; got {text}")
    return value


def _run(arguments):
    # Imported here, so that --help does not wait for geomstats.
    from joblib import parallel_config

    from geomstats_ldp.studies.designs import EPSILONS
    from geomstats_ldp.studies.report import write_report
    from geomstats_ldp.studies.runner import run_study, study_cells

    chosen = {
        name: value if getattr(arguments, name) is None else getattr(arguments, name)
        for name, value in (_QUICK if arguments.quick else _FULL).items()
    }
    cells = study_cells(
        chosen["designs"],
        arguments.epsilon or EPSILONS,
        chosen["mechanism"],
        chosen["method"],
        chosen["tuning"],
    )
    with parallel_config(n_jobs=arguments.jobs):
        rows = run_study(
            cells, sorted(set(chosen["n"])), chosen["repetitions"], arguments.seed, arguments.output
        )
    summary, files = write_report(rows, arguments.output)
    _print(summary)
    print("\nwrote " + ", ".join(str(file) for file in files))


def _print(summary):
    last = summary[summary["n"] == summary["n"].max()]
    print(
        f"n = {last['n'].iloc[0]:,}, {last['repetitions'].min()} repetitions; "
        "standard errors in brackets"
    )
    print("design mechanism tuning  method       epsilon  error            coverage       ratio")
    for row in last.itertuples():
        print(
            f"{row.design:<6} {row.mechanism:<9} {row.tuning:<7} {row.method:<11} "
            f"{number(row.epsilon):>8}  {row.error:.4f} ({row.error_se:.4f})  "
            f"{row.coverage:.3f} ({row.coverage_se:.3f})  {row.ratio:6.2f}"
        )
