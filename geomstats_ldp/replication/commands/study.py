"""The simulation study of the paper: ``python -m geomstats_ldp study``."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

from geomstats_ldp.replication.commands.arguments import (
    MECHANISMS,
    epsilon,
    jobs,
    number,
    repetitions,
    sample_size,
    seed,
)

_DESIGNS = ("A", "B", "C", "D", "E", "F")
_METHODS = ("spr", "rounds", "trajectory", "half_sample")
_TUNINGS = ("paper", "default")
_FULL = {
    "designs": _DESIGNS,
    "epsilon": (math.inf, 8.0, 4.0, 2.0, 1.0),
    "mechanism": ("gaussian",),
    "method": ("spr", "trajectory", "half_sample"),
    "tuning": None,
    "n": (4000, 8000, 16000, 32000),
    "repetitions": 500,
}
_QUICK = _FULL | {
    "designs": ("A", "F"),
    "epsilon": (8.0, 2.0),
    "n": (1000, 2000),
    "repetitions": 20,
}


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
    parser.add_argument(
        "--designs", nargs="+", choices=_DESIGNS, metavar="A..F", help="default: all six"
    )
    parser.add_argument(
        "--epsilon",
        type=epsilon,
        nargs="+",
        metavar="EPS",
        help="privacy of each message (default: inf 8 4 2 1, the only ones with paper tuning)",
    )
    parser.add_argument(
        "--mechanism",
        nargs="+",
        choices=MECHANISMS,
        help="gaussian has delta = 1e-6, the others zero (default: gaussian)",
    )
    parser.add_argument(
        "--method",
        nargs="+",
        choices=_METHODS,
        help="symmetric pairs (spr), eight rounds, and the paper's alternatives to pairs "
        "(default: spr trajectory half_sample)",
    )
    parser.add_argument(
        "--tuning",
        nargs="+",
        choices=_TUNINGS,
        help="the paper's constants for each design, or the defaults for all "
        "(default: paper; rounds have the defaults only)",
    )
    parser.add_argument(
        "--n",
        type=sample_size,
        nargs="+",
        help="sample sizes at which one stream is read (default: 4000 8000 16000 32000)",
    )
    parser.add_argument("--repetitions", type=repetitions, metavar="R", help="default: 500")
    parser.add_argument("--jobs", type=jobs, default=-1, help="processes (default: all cores)")
    parser.add_argument("--seed", type=seed, default=0, help="default: 0")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("study-results"),
        metavar="DIR",
        help="folder of the finished cells, tables and figures (default: study-results)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a check of two minutes: "
        f"designs {' '.join(_QUICK['designs'])}, epsilon {' '.join(map(number, _QUICK['epsilon']))}"
        f", n {' '.join(map(str, _QUICK['n']))}, {_QUICK['repetitions']} repetitions",
    )


def _run(arguments):
    # Imported here, so that --help does not wait for geomstats.
    from joblib import parallel_config

    from geomstats_ldp.replication.study.report import write_report
    from geomstats_ldp.replication.study.runner import open_study, run_study, study_cells
    from geomstats_ldp.replication.study.summary import summarise

    chosen = {
        name: value if getattr(arguments, name) is None else getattr(arguments, name)
        for name, value in (_QUICK if arguments.quick else _FULL).items()
    }
    cells = study_cells(
        chosen["designs"],
        chosen["epsilon"],
        chosen["mechanism"],
        chosen["method"],
        chosen["tuning"],
    )
    store = open_study(
        arguments.output, sorted(set(chosen["n"])), chosen["repetitions"], arguments.seed
    )
    command = shlex.join(["python", "-m", "geomstats_ldp", *arguments.argv])
    with parallel_config(n_jobs=arguments.jobs):
        rows = run_study(cells, store, command=command)
    _print(summarise(rows))
    files = write_report(store)
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
