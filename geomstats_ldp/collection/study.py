"""From a study file to a protocol, and from what was collected to an estimate with its region.

This is the analyst's side: it knows estimators, which the service itself does not.
"""

from __future__ import annotations

import sys
import warnings
from copy import copy
from dataclasses import replace

import numpy as np

from geomstats_ldp import estimators
from geomstats_ldp.collection.scouts import ScoutedStudy, with_start_rounds
from geomstats_ldp.estimators.collecting import SCOUT
from geomstats_ldp.estimators.record import answer_record, texts_of
from geomstats_ldp.exceptions import LDPError, LDPWarning, NotReadyError, ProtocolError
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import loss_from_spec
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.serialization import BAD_CONTENT, decode
from geomstats_ldp.validation import check_choice, check_integer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Tables of a study file, with their fields.
_TABLES = {
    "rounds": {"quota", "minimum_batch"},
    "service": {"lease_seconds", "deadline_seconds", "time_precision_seconds"},
    "form": {"title", "introduction", "labels", "coordinates"},
    "scouts": {"n_participants", "n_rounds"},
}

#: Answers of scouts to one round of a question where a file does not say, which may be more for
#: norms (`NormHistogram.n_enough`), and rounds of that for the initial point at most.
_SCOUTS, _SCOUTING_ROUNDS = 400, 5

#: Coordinates with which the form of the page for browsers may begin.
_COORDINATES = ("components", "angle", "angles", "poincare_ball", "half_space", "hyperboloid")

#: Longest text of the form, in characters.
_LONGEST_TEXT = 2000

#: Fields of a study file on which the protocol depends.
_OF_PROTOCOL = ("estimator", "n_features", "parameters", "rounds", "service")

_ESTIMATORS = sorted(name for name in estimators.__all__ if name.startswith("Private"))

#: Ten years, so that times stay integers of 64 bits.
_LONGEST = 10 * 366 * 86400


def read_study_file(text):
    """Check the text of a study file, and return a plain record with every field.

    ProtocolError names what is wrong.
    """
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProtocolError(f"study file must be TOML: {error}") from error
    _check_fields("study file", record, {"estimator", "n_features", "parameters", *_TABLES})
    for table, fields in _TABLES.items():
        _check_fields(f"[{table}]", record.setdefault(table, {}), fields)
    check_choice("estimator", record.get("estimator"), _ESTIMATORS)
    _check_fields("[parameters]", record.setdefault("parameters", {}), None)
    refused = {"random_state", "tuning", "verbose"} & record["parameters"].keys()
    if refused:
        raise ProtocolError(f"[parameters] must leave out {sorted(refused)}: devices draw noise")
    return {
        "estimator": record["estimator"],
        "n_features": record.get("n_features"),
        "parameters": record["parameters"],
        "rounds": {name: record["rounds"].get(name) for name in sorted(_TABLES["rounds"])},
        "service": _check_service(record["service"]),
        "form": _check_form(record["form"]),
        "scouts": _check_scouts(record["scouts"], record["parameters"]),
    }


def _check_fields(what, record, allowed):
    if not isinstance(record, dict):
        raise ProtocolError(f"{what} must be a table; got {type(record).__name__}")
    unknown = record.keys() - (record.keys() if allowed is None else allowed)
    if unknown:
        raise ProtocolError(f"{what} must have fields of {sorted(allowed)}; got {sorted(unknown)}")


def _check_form(record):
    """What the page for browsers shows beside the protocol, none of which the protocol binds."""
    labels = record.get("labels", [])
    texts = [record.get("title", ""), record.get("introduction", "")]
    texts += labels if isinstance(labels, list) else [labels, None]
    if not all(isinstance(text, str) and len(text) <= _LONGEST_TEXT for text in texts):
        raise ProtocolError(
            "[form] must have texts for title and introduction and a list of texts for labels, "
            f"each of at most {_LONGEST_TEXT} characters"
        )
    check_choice("coordinates", record.get("coordinates"), (None, *_COORDINATES))
    return record


def _check_scouts(record, parameters):
    """Numbers of scouts, or None where no parameter is left to them."""
    if SCOUT not in parameters.values():
        if record:
            raise ProtocolError('[scouts] must be left out: no parameter is "scout"')
        return None
    n_participants = record.get("n_participants")
    if n_participants is not None:
        check_integer("n_participants of [scouts]", n_participants, 2)
    return {
        "n_participants": n_participants,
        "n_rounds": check_integer(
            "n_rounds of [scouts]", record.get("n_rounds", _SCOUTING_ROUNDS), 1, 100
        ),
    }


def _check_service(record):
    deadline = record.get("deadline_seconds")
    if deadline is not None:
        check_integer("deadline_seconds", deadline, 1, _LONGEST)
    return {
        "lease_seconds": check_integer("lease_seconds", record.get("lease_seconds", 900), 1, 86400),
        "deadline_seconds": deadline,
        "time_precision_seconds": check_integer(
            "time_precision_seconds", record.get("time_precision_seconds", 60), 1, 86400
        ),
    }


def make_estimator(description):
    """Estimator of a study, not yet started, from the record that `read_study_file` makes.

    ProtocolError if the parameters are none of the estimator.
    """
    parameters = decode(dict(description["parameters"]))
    try:
        if "space" in parameters:
            parameters["space"] = space_from_spec(parameters["space"])
        if "loss" in parameters and not isinstance(parameters["loss"], str):
            parameters["loss"] = loss_from_spec(parameters["loss"])
        return getattr(estimators, description["estimator"])(**parameters)
    except LDPError:
        raise
    except BAD_CONTENT as error:
        raise ProtocolError(
            f"[parameters] must be those of {description['estimator']}: {error}"
        ) from error


def make_published(description):
    """What a study publishes, by which invitations know it.

    It is a `Protocol`, or a `ScoutedStudy` where scouts are asked first. ProtocolError as of
    `make_study_protocol`, for a study that may follow.
    """
    if description.get("scouts") is None:
        return make_study_protocol(description)
    estimator, width = make_estimator(description), description["n_features"]
    if not hasattr(estimator, "scout_plan"):
        raise ProtocolError(f"{description['estimator']} has no parameter that scouts can find")
    if width is None:
        raise ProtocolError("n_features must be given where scouts are asked first")
    plan, scouts = estimator.scout_plan(width), description["scouts"]
    enough = _SCOUTS if plan.norms is None else plan.norms.n_enough
    n_scouts = scouts["n_participants"] or enough
    plan = with_start_rounds(plan, n_scouts, scouts["n_rounds"])
    for question in (plan.norms, plan.start):
        if question is not None:
            question.mechanism.check_releasable()
    study = {name: description[name] for name in _OF_PROTOCOL}
    start = np.eye(width)[: plan.n_components]
    start = (start[0] if len(start) == 1 else start).tolist()
    example = study_protocol_with(study, {"norm_bound": 1.0, "initial_point": start})
    return ScoutedStudy(plan, n_scouts, study, example)


def study_protocol_with(study, found):
    """Protocol of a study with the parameters that scouts have found.

    Parameters
    ----------
    study : dict
        Description with parameters that are "scout".
    found : dict
        Their values by name, with the moment that scouts have told if they have. ProtocolError if
        no study can have such.
    """
    parameters = study["parameters"]
    sought = {name: found[name] for name, value in parameters.items() if value == SCOUT}
    if "known_moment" in found:
        sought["known_moment"] = found["known_moment"]
    return make_study_protocol({**study, "parameters": {**parameters, **sought}})


def make_study_protocol(description):
    """Protocol of a study.

    ProtocolError if the parameters do not fit together, no rounds are planned, or no device could
    answer.
    """
    protocol = make_estimator(description).start(description["n_features"]).protocol_
    if protocol.rounds is None:
        raise ProtocolError("n_rounds must be among the [parameters]: a service asks in rounds")
    for mechanism in protocol.mechanisms.values():
        mechanism.check_releasable()
    protocol = Protocol.from_json(_with_plan(protocol, **description["rounds"]).to_json())
    if protocol.rounds.sizes is None and description["service"]["deadline_seconds"] is None:
        raise ProtocolError(
            "n_participants, a quota or deadline_seconds must be given: nothing would close a round"
        )
    return protocol


def _with_plan(protocol, quota, minimum_batch):
    """Protocol with sizes of rounds and a smallest batch, where they are given."""
    rounds, n_participants = protocol.rounds, protocol.n_participants
    if quota is not None:
        rounds = replace(rounds, sizes=quota, minimum=min(rounds.minimum, *quota))
        n_participants = n_participants or rounds.n_participants
    if minimum_batch is not None:
        rounds = replace(rounds, minimum=minimum_batch)
    return replace(protocol, rounds=rounds, n_participants=n_participants)


def fitted_estimator(description, server):
    """Estimator of a study in the state of a server."""
    return make_estimator(description)._continue(copy(server))


def summarise(description, server):
    """Estimate and region so far, in the coordinates of the user, as a plain record.

    NotReadyError if too few have answered for a region.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator = fitted_estimator(description, server)
        if estimator.n_participants_ == 0:
            raise NotReadyError("nobody has answered yet")
        record = answer_record(estimator, estimator.confidence_region())
        return record | {"warnings": texts_of(caught)}


def picture(description, server):
    """Figure of the region so far, in tangent coordinates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        region = fitted_estimator(description, server).confidence_region()
        return region.plot().figure
