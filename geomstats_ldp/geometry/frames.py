"""Public orthonormal frames."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.exceptions import ProtocolError

#: Projections shorter than this (relative) are already spanned by the vectors before them.
_INDEPENDENT = 1e-6


def orthonormal_basis(space, reference):
    """Orthonormal basis of the tangent space at a public reference point.

    The coordinate vectors of the ambient space are projected onto the tangent space and put
    through Gram-Schmidt in the metric, in their order, so that the basis is a deterministic
    function of the reference point.

    Parameters
    ----------
    space : geomstats manifold
    reference : array, shape [*point_shape]

    Returns
    -------
    basis : array, shape [dim, *point_shape]
    """
    metric = space.metric
    size = int(np.prod(space.shape))
    candidates = np.eye(size).reshape(size, *space.shape)
    basis = []
    for candidate in candidates:
        vector = space.to_tangent(candidate, reference)
        before = float(metric.norm(vector, reference))
        # Twice is enough: the second pass restores orthogonality to rounding.
        for _ in range(2):
            for other in basis:
                vector = vector - metric.inner_product(vector, other, reference) * other
        after = float(metric.norm(vector, reference))
        if after > _INDEPENDENT * max(before, 1e-300):
            basis.append(vector / after)
        if len(basis) == space.dim:
            return np.stack(basis)
    raise ProtocolError(
        f"found {len(basis)} independent tangent directions on {type(space).__name__}, "
        f"which has dimension {space.dim}"
    )
