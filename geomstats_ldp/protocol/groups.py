"""Groups of participants with a mechanism, and so a guarantee, of their own."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms import Mechanism, mechanism_from_spec
from geomstats_ldp.validation import check_shape

#: Most groups of a protocol, and characters of a name.
LARGEST_GROUPS = 64
_LONGEST_NAME = 64


def check_group_names(name, names):
    """Raise ProtocolError, naming an argument, unless there are names of one group at least."""
    names = list(names)
    if not 1 <= len(names) <= LARGEST_GROUPS:
        raise ProtocolError(f"{name} must name 1 to {LARGEST_GROUPS} groups; got {len(names)}")
    for group in names:
        if not isinstance(group, str) or not 1 <= len(group) <= _LONGEST_NAME:
            raise ProtocolError(
                f"{name} must name groups by texts of 1 to {_LONGEST_NAME} characters; "
                f"got {repr(group)[:_LONGEST_NAME]}"
            )


def rows_by_group(protocol, indices):
    """Mechanism and rows, shape [n_rows], of each group that has some.

    The indices, shape [n], are numbers of the queries that messages answer.
    """
    for group, mechanism in protocol.mechanisms.items():
        asked = protocol.queries_of(group)
        rows = np.flatnonzero((indices >= asked.start) & (indices < asked.stop))
        if len(rows) > 0:
            yield mechanism, rows


def group_specs(mechanisms):
    """Plain records of groups, a tuple; None for one mechanism, which all participants use."""
    if isinstance(mechanisms, Mechanism):
        return None
    if not isinstance(mechanisms, dict):
        raise ProtocolError(
            f"mechanism must be a Mechanism or a dict of them by group; got {mechanisms!r}"
        )
    check_group_names("mechanism", mechanisms)
    for mechanism in mechanisms.values():
        if not isinstance(mechanism, Mechanism):
            raise ProtocolError(f"mechanism of a group must be a Mechanism; got {mechanism!r}")
    return tuple(
        {"name": name, "mechanism": mechanism.to_spec()} for name, mechanism in mechanisms.items()
    )


def widest_mechanism(mechanisms):
    """The mechanism of the largest epsilon, then delta: what everybody is promised at least.

    There may be one alone, or a dict of them.
    """
    if isinstance(mechanisms, Mechanism):
        return mechanisms
    return max(mechanisms.values(), key=lambda mechanism: (mechanism.epsilon, mechanism.delta))


def mechanisms_of(specs):
    """Mechanisms by group, from what `group_specs` wrote; a text may hold anything.

    ProtocolError if a record is none of a group, or two have one name.
    """
    check_group_records(specs)
    names = [record["name"] for record in specs]
    check_group_names("groups", names)
    if len(set(names)) < len(names):
        raise ProtocolError(f"groups must have different names; got {names}")
    return {record["name"]: mechanism_from_spec(record["mechanism"]) for record in specs}


def check_group_records(specs):
    """Raise ProtocolError unless the groups are a few records with the fields of one."""
    if not isinstance(specs, (list, tuple)) or len(specs) > LARGEST_GROUPS:
        came = len(specs) if isinstance(specs, (list, tuple)) else type(specs).__name__
        raise ProtocolError(
            f"groups must be a list of at most {LARGEST_GROUPS} records; got {came}"
        )
    for number, record in enumerate(specs):
        if not isinstance(record, dict) or record.keys() != {"name", "mechanism"}:
            raise ProtocolError(
                "groups must be records with the fields 'name' and 'mechanism'; "
                f"record {number} is not"
            )


def group_numbers(protocol, groups, n_rows):
    """Number of the group of each row, or None without groups."""
    if protocol.groups is None:
        if groups is not None:
            raise ProtocolError(
                f"groups must be None unless epsilon has groups; got {type(groups).__name__}"
            )
        return None
    names = list(protocol.mechanisms)
    if groups is None:
        raise ProtocolError(f"groups must name the group of each row, one of {names}; got None")
    check_shape("groups", groups, (n_rows,))
    given = np.asarray(groups)
    numbers = np.full(n_rows, -1)
    for number, name in enumerate(names):
        numbers[given == name] = number
    if np.any(numbers < 0):
        row = int(np.argmax(numbers < 0))
        raise ProtocolError(f"groups must name one of {names} for each row; row {row} does not")
    return numbers
