"""Command line: ``python -m geomstats_ldp``."""

from __future__ import annotations

import argparse
import sys

from geomstats_ldp.exceptions import LDPError
from geomstats_ldp.options import in_options


def main(argv=None):
    """Run the command line; return the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = _parser().parse_args(argv, argparse.Namespace(argv=argv))
    try:
        arguments.run(arguments)
    except (LDPError, ValueError, OSError) as error:
        text = in_options(str(error), arguments)
        print(f"geomstats-ldp: error: {text}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("geomstats-ldp: stopped", file=sys.stderr)
        return 130
    return 0


def _parser():
    # The one place outside the replication that imports it, and only when a command is run.
    from geomstats_ldp.collection import commands as collect
    from geomstats_ldp.from_file import commands as fit
    from geomstats_ldp.planning import commands as plan
    from geomstats_ldp.replication.commands import nhanes, study

    parser = argparse.ArgumentParser(
        prog="geomstats-ldp",
        description="Estimates on manifolds, with confidence regions, from locally private data.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    collect.add_command(commands)
    fit.add_command(commands)
    plan.add_command(commands)
    nhanes.add_command(commands)
    study.add_command(commands)
    return parser
