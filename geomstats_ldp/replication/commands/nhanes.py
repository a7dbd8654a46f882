"""The NHANES application: ``python -m geomstats_ldp nhanes``."""

from __future__ import annotations

import json
from pathlib import Path

from tqdm.auto import tqdm

from geomstats_ldp.files import write_figure, write_text
from geomstats_ldp.replication.commands.arguments import MECHANISMS, epsilon, number, repetitions
from geomstats_ldp.serialization import encode


def add_command(commands):
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "nhanes",
        help="leading body-size direction of 5,175 NHANES participants",
        description=(
            "Emulate 5,175 NHANES participants who each release one private message, and print "
            "the leading body-size direction with its 95% Wald region at several epsilon."
        ),
    )
    parser.set_defaults(run=_run)
    parser.add_argument("--mechanism", choices=MECHANISMS, default="privunit")
    parser.add_argument(
        "--epsilon",
        type=epsilon,
        nargs="+",
        default=None,
        metavar="EPS",
        help="privacy of each message, positive numbers or inf (default: inf 8 4 2 1)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the emulated noise (default: 0)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("nhanes-results"),
        metavar="DIR",
        help="folder for nhanes.json and nhanes.png (default: nhanes-results)",
    )
    parser.add_argument(
        "--repetitions",
        type=repetitions,
        default=None,
        metavar="R",
        help="instead repeat R times with resampled participants; print medians and coverage",
    )


def _run(arguments):
    # Imported here, so that --help does not wait for geomstats.
    from geomstats_ldp.replication import nhanes

    data = nhanes.standardised_measures()
    epsilons = arguments.epsilon or nhanes.EPSILONS
    if arguments.repetitions is not None:
        _repeat_nhanes(nhanes, data, epsilons, arguments)
        return
    batch = nhanes.batch_direction(data)
    with tqdm(epsilons, desc="collections", leave=False) as progress:
        records = [
            nhanes.run_nhanes(data, arguments.mechanism, epsilon, arguments.seed, batch)[0]
            for epsilon in progress
        ]
    _print_nhanes(records, batch, nhanes.clipped_fraction(data))
    _write_nhanes(records, batch, arguments.output)


def _print_nhanes(records, batch, clipped):
    first = records[0]
    print("Leading body-size direction, NHANES 2017-2018, one private message per participant")
    print(
        f"mechanism {first.mechanism}, n = {first.n_participants}, {first.n_pairs} pairs, "
        f"{first.n_regression_pairs} in the regression, Gram condition number "
        f"{first.gram_condition_number:.9f}, {100 * clipped:.1f}% of rows clipped"
    )
    print()
    titles = "".join(f"{title:>9}" for title in ("height", "weight", "waist", "error"))
    print(f"{'epsilon':>8}{titles}  95% semi-axis")
    for record in records:
        loadings = " ".join(f"{value:8.3f}" for value in record.loadings)
        note = "" if record.informative else "  uninformative: reaches the working region's edge"
        print(
            f"{number(record.epsilon):>8} {loadings} {record.angle_error_deg:7.2f}° "
            f"{record.semi_axis_deg:13.2f}°{note}"
        )
    print(f"{'batch':>8} " + " ".join(f"{value:8.3f}" for value in batch))


def _write_nhanes(records, batch, folder):
    from geomstats_ldp.replication.nhanes_figure import plot_nhanes

    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(encode([record.to_dict() for record in records]), indent=2, allow_nan=False)
    write_text(folder / "nhanes.json", text + "\n")
    write_figure(folder / "nhanes.png", plot_nhanes(records, batch))
    print(f"\nwrote {folder / 'nhanes.json'} and {folder / 'nhanes.png'}")


def _repeat_nhanes(nhanes, data, epsilons, arguments):
    print(
        f"mechanism {arguments.mechanism}, {arguments.repetitions} repetitions, participants "
        "resampled with replacement; standard errors in brackets"
    )
    print(" epsilon           error  semi-axis   oracle  ratio        coverage")
    with tqdm(epsilons, desc="privacy levels", leave=False) as progress:
        for epsilon in progress:
            summary = nhanes.repeat_nhanes(
                data, arguments.mechanism, epsilon, arguments.repetitions, arguments.seed
            )
            progress.write(_summary_line(summary))


def _summary_line(summary):
    ratio = summary.median_semi_axis_deg / summary.oracle_semi_axis_deg
    return (
        f"{number(summary.epsilon):>8} {summary.mean_angle_error_deg:6.2f}° "
        f"({summary.standard_error_deg:.2f}) {summary.median_semi_axis_deg:9.2f}° "
        f"{summary.oracle_semi_axis_deg:7.2f}° {ratio:6.2f} {summary.coverage:7.3f} "
        f"({summary.coverage_standard_error:.3f})"
    )
