"""Checks of rows by scikit-learn, without its texts that quote them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def unquoted(name: str, check: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a check of scikit-learn, and replace an error text that quotes what it looked at.

    Numpy and scikit-learn quote a text that is no number, a complex array and an array of one
    dimension. These are somebody's data, and error texts end up in logs. `name` is the argument
    that is checked, for the text in their place.
    """
    try:
        return check(*args, **kwargs)
    except ValueError as error:
        rule = _rule_of(str(error))
        if rule is None:
            raise
    # Outside of the block, so that the error does not bring along the one that quotes.
    raise ValueError(f"{name} must be {rule}")


def _rule_of(text):
    if "could not convert" in text:
        return "an array of real numbers; it contains something else"
    if "Complex data not supported" in text:
        return "an array of real numbers; got complex ones (Complex data not supported)"
    if "Expected 2D array" in text:
        got = "a scalar" if "scalar array" in text else "one dimension"
        return (
            f"an array with one row for each participant; got {got}. Reshape your data: "
            "reshape(-1, 1) if there is one feature, reshape(1, -1) if there is one row"
        )
    return None
