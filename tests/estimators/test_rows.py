"""Error texts about rows never hold what stands in them."""

import re

import numpy as np
import pandas as pd
import pytest

from geomstats_ldp import (
    PrivateHuberRegression,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateSPDCovariance,
)

SECRET = 81.375
WORD = f"secret {SECRET}"


def rows_that_are_none():
    """Pairs of rows that scikit-learn would quote, and what the error says of them."""
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, WORD, 1.5]})
    return [
        (table, "array of real numbers"),
        (np.array([[1.0, WORD]] * 3), "array of real numbers"),
        (np.array([[1.0, SECRET]] * 3) + 1j, "array of real numbers; got complex"),
        (np.full(3, SECRET), "array with one row for each participant; got one dimension"),
        (SECRET, "array with one row for each participant; got a scalar"),
    ]


@pytest.mark.parametrize(("rows", "rule"), rows_that_are_none())
@pytest.mark.parametrize(
    "estimator",
    [
        PrivatePCA(norm_bound=1.0),
        PrivateSPDCovariance(norm_bound=1.0),
        PrivateLinearRegression(),
        PrivateLogisticRegression(),
    ],
)
def test_an_error_about_rows_does_not_quote_them(estimator, rows, rule):
    _refuses_quietly(lambda: estimator.fit(rows, [0, 1, 1]), f"X must be an {rule}")


@pytest.mark.parametrize("targets", [[WORD, "1", "2"], np.array([SECRET, 1.0, 2.0]) + 1j])
@pytest.mark.parametrize("estimator", [PrivateLinearRegression(), PrivateHuberRegression()])
def test_an_error_about_targets_does_not_quote_them(estimator, targets):
    _refuses_quietly(lambda: estimator.fit(np.ones((3, 2)), targets), "must be an array of real")


def test_one_class_is_not_named():
    model = PrivateLogisticRegression()
    _refuses_quietly(lambda: model.fit(np.ones((3, 2)), [WORD] * 3), "two classes; got one class")


def _refuses_quietly(call, match):
    with pytest.raises(ValueError, match=match) as refusal:
        call()
    error = refusal.value
    while error is not None:
        assert not re.search(r"secret|81\.37", str(error))
        error = error.__cause__ or error.__context__
