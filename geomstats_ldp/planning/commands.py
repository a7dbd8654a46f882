"""The command ``geomstats-ldp plan``."""

from __future__ import annotations

import argparse
from pathlib import Path

from geomstats_ldp.options import add_files, add_level, write_json, write_picture

_DESCRIPTION = """Say how wide the region of a collection will be, before anybody is asked: for
numbers of people, privacy levels and public bounds. The study file is that of "collect"; the pilot
is a CSV file of public or invented rows that are like the people to be asked. Never take private
rows: what is printed depends on them without any protection."""


#: Options by the parameters that errors speak of.
_PARAMETERS = {
    **{name: name for name in ("pilot", "n", "epsilon", "level", "width", "answers_a_day")},
    **{"bounds": "bound", "n_emulations": "emulations", "random_state": "seed"},
}


def add_command(commands):
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "plan", help="width of a region before anybody is asked", description=_DESCRIPTION
    )
    parser.set_defaults(run=_run, parameters=_PARAMETERS)
    parser.add_argument("study", type=Path, metavar="STUDY.toml")
    parser.add_argument("--pilot", type=Path, required=True, metavar="FILE", help="public CSV file")
    parser.add_argument(
        "--columns",
        required=True,
        metavar="A,B,C",
        help="names of the first line, with commas; the target of a regression is the last",
    )
    parser.add_argument(
        "--n", type=int, nargs="+", required=True, help="numbers of people, in any order"
    )
    parser.add_argument(
        "--epsilon", type=float, nargs="+", metavar="EPS", help="default: that of the study file"
    )
    parser.add_argument(
        "--bound",
        type=_bound,
        action="append",
        default=[],
        metavar="NAME=V,W",
        help="values of a parameter, such as norm_bound=1,2; may be given several times",
    )
    add_level(parser)
    parser.add_argument(
        "--width", type=float, metavar="W", help="how many people reach this semi-axis"
    )
    parser.add_argument(
        "--answers-a-day", type=float, metavar="A", help="how long each round takes"
    )
    parser.add_argument("--emulations", type=int, default=8, help="at three numbers; default: 8")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    add_files(parser, "the table", "it")


def _bound(text):
    """Name and values of a parameter."""
    name, _, values = text.partition("=")
    try:
        return name, [float(value) for value in values.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"NAME=V,W is needed; got {text!r}") from None


def _run(arguments):
    # Imported here, so that --help does not wait for geomstats.
    from geomstats_ldp.collection.study import make_estimator, read_study_file
    from geomstats_ldp.from_file.table import read_columns, split_names
    from geomstats_ldp.planning.planning import plan

    study = read_study_file(arguments.study.read_text(encoding="utf-8"))
    planned = plan(
        make_estimator(study),
        read_columns(arguments.pilot, split_names(arguments.columns)),
        n=arguments.n,
        epsilon=arguments.epsilon,
        bounds=dict(arguments.bound),
        level=arguments.level,
        n_emulations=arguments.emulations,
        random_state=arguments.seed,
    )
    print(planned)
    wanted = [] if arguments.width is None else _print_wanted(planned, arguments)
    if arguments.answers_a_day is not None and arguments.width is None:
        for size in sorted(set(arguments.n)):
            print(f"\n{planned.calendar(size, arguments.answers_a_day)}")
    if arguments.json is not None:
        rows = [{**vars(row), "remark": row.remark} for row in planned.rows]
        record = {"quantity": planned.quantity, "rows": rows, "wanted": wanted}
        write_json(arguments.json, record)
    if arguments.picture is not None:
        _draw(arguments.picture, planned)


def _print_wanted(planned, arguments):
    """Say how many people each curve takes for the wanted width, and how long they take."""
    wanted = []
    print()
    for curve in planned.curves:
        setting = curve[0].setting
        n = planned.participants_for(arguments.width, **setting)
        name = ", ".join(f"{key} {value:g}" for key, value in setting.items())
        reach = f"{n:,} people" if n != float("inf") else "more people than can be told: see above"
        if curve[-1].n < n < float("inf"):
            reach += ", far from the numbers above: plan nearer to it"
        print(f"{name}: a width of {arguments.width:g} takes {reach}")
        wanted.append({**setting, "n": n})
        if arguments.answers_a_day is not None and n != float("inf"):
            print(planned.calendar(n, arguments.answers_a_day, **setting))
    return wanted


def _draw(path, planned):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.0), layout="constrained")
    planned.plot(figure.subplots())
    write_picture(path, figure)
