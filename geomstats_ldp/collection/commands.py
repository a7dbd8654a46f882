"""Commands of ``geomstats-ldp collect``."""

from __future__ import annotations

import os
from pathlib import Path

from geomstats_ldp.exceptions import CollectionError

#: Environment variable that names the database.
DATABASE = "GEOMSTATS_LDP_DATABASE"


def add_command(commands):
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "collect",
        help="collect among real people: a service, invitations, the result",
        description="Run a collection in rounds as a service. docs/running_it.md shows how.",
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    _add_operator_commands(actions)
    answer = actions.add_parser("answer", help="answer an invitation, as a participant's device")
    answer.add_argument("url", help="the invitation, or the address of the service")
    answer.add_argument("--token", help="of the invitation, unless the link holds it")
    answer.add_argument("--fingerprint", help="of the published protocol, likewise")
    answer.add_argument(
        "--group", help="that you choose, where people may choose between several epsilons"
    )
    answer.add_argument(
        "--datum", type=Path, required=True, help="CSV file of one line, or of a matrix"
    )
    answer.add_argument(
        "--keep", type=Path, default=Path(), metavar="DIR", help="folder that keeps the report"
    )
    answer.add_argument("--patience", type=float, default=600.0, metavar="SECONDS")
    answer.set_defaults(run=_run("answer"))
    check = actions.add_parser(
        "check-scouts",
        help="compute the study from what scouts have answered, as `export` wrote it",
    )
    check.add_argument("file", type=Path)
    check.add_argument("--fingerprint", required=True, help="that was published")
    check.set_defaults(run=_run("check_scouts"))


def _add_operator_commands(actions):
    new = actions.add_parser("new", help="make the database and the protocol of a study file")
    new.add_argument("study", type=Path, help="TOML file")
    serve = actions.add_parser("serve", help="run the service")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    serve.add_argument("--workers", type=int, default=1)
    serve.add_argument(
        "--client-rate", type=float, default=100.0, help="requests a second of one address"
    )
    invite = actions.add_parser("invite", help="make one-time invitations")
    invite.add_argument("--count", type=int, required=True)
    invite.add_argument(
        "--url", default="http://127.0.0.1:8000", help="address of the service, for the links"
    )
    status = actions.add_parser("status", help="rounds, answers and the estimate so far")
    status.add_argument("--watch", action="store_true", help="a live line")
    close = actions.add_parser("close-round", help="close the open round now")
    result = actions.add_parser("result", help="estimate and region, as JSON and a picture")
    export = actions.add_parser("export", help="a transcript that anybody can replay")
    for parser, name in ((result, "result"), (export, "transcript.npz")):
        parser.add_argument("--output", type=Path, default=Path(name), help=f"default: {name}")
    parsers = {
        "new": new,
        "serve": serve,
        "invite": invite,
        "status": status,
        "close_round": close,
        "result": result,
        "export": export,
    }
    for name, parser in parsers.items():
        parser.add_argument(
            "--database",
            default=os.environ.get(DATABASE, "sqlite:///collection.db"),
            help=f"URL (default: the variable {DATABASE}, or the file collection.db)",
        )
        parser.set_defaults(run=_run(name))


def _run(name):
    """Function that runs an action, which is imported only then."""

    def run(arguments):
        try:
            from geomstats_ldp.collection import actions
        except ImportError as error:
            raise CollectionError(
                f"this needs pip install 'geomstats-ldp[collection]'; there is no {error.name}"
            ) from error
        with actions.plain_errors():
            getattr(actions, name)(arguments)

    return run
