"""Times as they are kept: whole steps of the precision of the study."""

from __future__ import annotations


def cut_down(seconds, precision):
    """Last step at or before a time."""
    return int(seconds // precision) * precision


def cut_up(seconds, precision):
    """First step at or after a time."""
    return -int(-seconds // precision) * precision
