"""Types of command-line arguments, with messages that say what is allowed."""

from __future__ import annotations

import argparse
import math

MECHANISMS = ("privunit", "gaussian", "l2_ball")


def epsilon(text):
    """Positive number or inf."""
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"epsilon must be positive or inf; got {text}")
    return value


def repetitions(text):
    """Integer of at least two, so that there is a standard error."""
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f"repetitions must be at least 2; got {text}")
    return value


def number(value):
    """Text of a privacy level."""
    return "inf" if math.isinf(value) else f"{value:g}"
