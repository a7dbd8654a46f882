"""Public orthonormal frames."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.exceptions import ProtocolError

#: Projections shorter than this (relative) are already spanned by the vectors before them.
_INDEPENDENT = 1e-6


def orthonormal_basis(guard, reference):
    """Orthonormal basis of the tangent space at a public reference point.

    The coordinate vectors of the ambient space are projected onto the tangent space and put
    through Gram-Schmidt in the metric, in their order, so that the basis is a deterministic
    function of the reference point.

    Parameters
    ----------
    guard : GuardedSpace
    reference : array, shape [*point_shape]

    Returns
    -------
    basis : array, shape [dim, *point_shape]
    """
    size = int(np.prod(guard.shape))
    candidates = np.eye(size).reshape(size, *guard.shape)
    basis = []
    for candidate in candidates:
        vector = guard.to_tangent(candidate, reference)
        before = float(guard.norm(vector, reference))
        # Twice is enough: the second pass restores orthogonality to rounding.
        for _ in range(2):
            for other in basis:
                vector = vector - guard.inner(vector, other, reference) * other
        after = float(guard.norm(vector, reference))
        if after > _INDEPENDENT * max(before, 1e-300):
            basis.append(vector / after)
        if len(basis) == guard.dim:
            return np.stack(basis)
    raise ProtocolError(
        f"found {len(basis)} independent tangent directions on {guard.name}, "
        f"which has dimension {guard.dim}; an ill-conditioned reference point leaves no digits "
        "for the others"
    )
