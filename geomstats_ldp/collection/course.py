"""How a collection goes on from scouts to its study: the analyst's side, which knows estimators.

Every step is a function of what was published and of the answers, so that whoever has them can
compute the protocol of the study: `check_scouts`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geomstats_ldp.collection.codes import coords_of
from geomstats_ldp.collection.norms import NormQuestion, NormServer
from geomstats_ldp.collection.scouts import ScoutedStudy, agree_to_rounding
from geomstats_ldp.collection.stages import Stage, study_alone
from geomstats_ldp.collection.study import study_protocol_with
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.server import RoundServer


def stage_after(study, outcomes):
    """Open `Stage` of a collection, after those of which scouts have found `outcomes`."""
    if study.protocol is not None:
        return study_alone(study, outcomes)
    published = ScoutedStudy.from_json(study.published)
    return stages_of(published, outcomes)[-1]


def stages_of(published, outcomes):
    """Stages so far of a `ScoutedStudy`, the last one open.

    `outcomes` is what scouts have found, one record for each stage that has ended.
    """
    stages, first = [], 0
    for place, name in enumerate(published.names[: len(outcomes) + 1]):
        stages.append(_stage_of_scouts(published, name, first, outcomes[:place]))
        first = stages[-1].stop
    if len(outcomes) == len(published.names):
        protocol = Protocol.from_json(outcomes[-1]["protocol"])
        stages.append(Stage("study", protocol, first))
    return stages


def _stage_of_scouts(published, name, first, before):
    """Stage of a question, after those of which this was found."""
    plan, is_last = _plan_of(published, name), name == published.names[-1]
    if name == "norms":
        protocol, server = NormQuestion(plan.norms, published.norm_rounds), NormServer
    else:
        protocol, server = plan.start, RoundServer

    def outcome(answers):
        try:
            is_last_round = answers.round + 1 == protocol.rounds.n_rounds
            found = _found(plan, answers, is_last_round)
            if found is not None and is_last:
                known = {key: value for record in (*before, found) for key, value in record.items()}
                found["protocol"] = study_protocol_with(published.study, known).to_json()
        except ProtocolError as error:
            return {"failure": str(error)}
        return found

    return Stage(name, protocol, first, server, outcome)


def _plan_of(published, name):
    """Plan that asks one of the questions alone."""
    return replace(published.plan, **{other: None for other in ("norms", "start") if other != name})


def _found(plan, server, is_last_round):
    """What the answers to one question say, or None if another round of it is needed."""
    if plan.norms is not None:
        return plan.parameters(server.sets)
    if not (is_last_round or plan.is_sharp(server)):
        return None
    found = plan.parameters(server=server)
    found["initial_point"] = found["initial_point"].tolist()
    if "known_moment" in found:
        found["known_moment"] = [part.tolist() for part in found["known_moment"]]
    return found


def check_study(published, found):
    """Protocol of the study, if it is the published one with the parameters that were found.

    `found` is what the service says that scouts have found. A study that differs in anything else
    raises ProtocolError.
    """
    protocol = Protocol.from_json(found["protocol"])
    expected = study_protocol_with(published.study, found)
    if not agree_to_rounding(expected.to_spec(), protocol.to_spec()):
        raise ProtocolError(
            "the study must be the one that was published, with the parameters that scouts have "
            "found; it is another"
        )
    return protocol


def check_scouts(published, answers, found):
    """Compute what the answers of scouts say, and hold it against what the service has said.

    Parameters
    ----------
    published : ScoutedStudy
    answers : dict of str to list
        What counted messages held, by question.
    found : dict
        What the service says that scouts have found.

    Returns
    -------
    protocol : Protocol
        Of the study; ProtocolError if it does not follow from the answers.
    """
    outcomes = []
    for name in published.names:
        stage = stages_of(published, outcomes)[-1]
        server = stage.make_server(stage.protocol)
        coords = coords_of(stage.protocol.mechanism, answers[name])
        nothing = np.zeros(len(coords), dtype=np.int64)
        server.add_coords(nothing, nothing, coords)
        outcomes.append(_found(_plan_of(published, name), server, is_last_round=True))
        for key, value in outcomes[-1].items():
            if not agree_to_rounding(value, found[key]):
                raise ProtocolError(f"{key} must be what the answers of scouts say; it is not")
    return check_study(published, found)
