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


def sample_size(text):
    """Even integer of at least 200."""
    value = _integer("n", text)
    if value < 200 or value % 2:
        raise argparse.ArgumentTypeError(f"n must be even and at least 200; got {text}")
    return value


def seed(text):
    """Non-negative integer."""
    value = _integer("seed", text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"seed must not be negative; got {text}")
    return value


def jobs(text):
    """Number of processes, or -1 for all cores."""
    value = _integer("jobs", text)
    if value < 1 and value != -1:
        raise argparse.ArgumentTypeError(f"jobs must be positive, or -1 for all cores; got {text}")
    return value


def _integer(name, text):
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{name} must be an integer; got {text!r}") from None


def number(value):
    """Text of a privacy level."""
    return "inf" if math.isinf(value) else f"{value:g}"
