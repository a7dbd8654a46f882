"""Regression of scores on their query points: what a collection in rounds is estimated by."""

from geomstats_ldp.score_regression.answers import fewest_participants
from geomstats_ldp.score_regression.fit import ScoreFit, fit_scores
from geomstats_ldp.score_regression.prediction import PredictedScore, predict_round_scores
from geomstats_ldp.score_regression.second_moment import LearntMoment, learn_second_moment
from geomstats_ldp.score_regression.single_query import (
    fit_single_query,
    predict_single_query_scores,
)
from geomstats_ldp.score_regression.state import (
    RoundState,
    closed_round,
    initial_round_state,
    merge_states,
    query_points,
    with_messages,
    without_messages,
)

__all__ = [
    "LearntMoment",
    "PredictedScore",
    "RoundState",
    "ScoreFit",
    "closed_round",
    "fewest_participants",
    "fit_scores",
    "fit_single_query",
    "initial_round_state",
    "learn_second_moment",
    "merge_states",
    "predict_round_scores",
    "predict_single_query_scores",
    "query_points",
    "with_messages",
    "without_messages",
]
