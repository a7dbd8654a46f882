"""How large a protocol may be, settled before anything of that size is allocated.

A protocol reaches a device as a text from elsewhere. It names dimensions, and arrays of those sizes
are made when it is used: one line could ask for more memory than there is.
"""

from __future__ import annotations

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.protocol.groups import check_group_records
from geomstats_ldp.validation import check_integer

#: Dimension of the manifold; 465 is that of 30 x 30 covariance matrices.
LARGEST_DIM = 512
#: Entries of one point.
LARGEST_POINT = 4096
#: Spaces in a product, those of nested products included.
LARGEST_FACTORS = 64
#: Query directions of one cycle, a few times the coordinate cycle of the largest dimension.
LARGEST_CYCLE = 8 * LARGEST_DIM
#: Numbers in the queries of one round, half a gigabyte.
LARGEST_ROUND = 2**26


def check_limits(record):
    """Raise ProtocolError if the record of a protocol asks for more than a device should give.

    Nothing is allocated, and no size of the record is trusted.
    """
    dim, size, _ = _space_sizes(record["space"], LARGEST_FACTORS)
    _check_at_most("dimension of the space", dim, LARGEST_DIM)
    _check_at_most("number of entries of a point", size, LARGEST_POINT)
    groups = record.get("groups") or ()
    check_group_records(groups)
    for spec in (record["mechanism"], *(group["mechanism"] for group in groups)):
        _check_at_most("dim of the mechanism", check_integer("dim", spec["dim"], 0), LARGEST_DIM)
    _check_at_most("number of basis vectors", len(record["basis"]), LARGEST_DIM)
    _check_at_most("number of directions", len(record["directions"]), LARGEST_CYCLE)
    asked = 2 * check_integer("pairs_per_round", record["pairs_per_round"], 0) * size
    _check_at_most("number of entries of the queries of a round", asked, LARGEST_ROUND)


def _space_sizes(record, n_left):
    """Bounds on the dimension and on the entries of a point, and how many factors are left.

    Records state the dimension of vectors ("dim"), the side of matrices ("n"), or a shape.
    """
    if "factors" in record:
        dim = size = 0
        for factor in record["factors"]:
            _check_at_most("number of factors", LARGEST_FACTORS - n_left + 1, LARGEST_FACTORS)
            factor_dim, factor_size, n_left = _space_sizes(factor, n_left - 1)
            dim, size = dim + factor_dim, size + factor_size
        return dim, size, n_left
    if "shape" in record:
        size = 1
        for entry in record["shape"]:
            size *= check_integer("shape", entry, 0)
        return 1, size, n_left  # the dimension of a registered space is its own
    if "n" in record:
        size = check_integer("n", record["n"], 0) ** 2
        return 1, size, n_left
    dim = check_integer("dim", record.get("dim", 1), 0)
    return dim, dim + 1, n_left


def _check_at_most(what, value, limit):
    if value > limit:
        raise ProtocolError(f"{what} must be at most {limit}; got {value}")
