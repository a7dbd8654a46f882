"""Public orthonormal frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geomstats_ldp.exceptions import ProtocolError

if TYPE_CHECKING:
    from geomstats_ldp.geometry.geometry import Geometry

#: Projections shorter than this (relative) are already spanned by the vectors before them.
_INDEPENDENT = 1e-6


def orthonormal_basis(geometry: Geometry, reference: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the tangent space at a public reference point.

    The coordinate vectors of the ambient space are projected onto the tangent space and put
    through Gram-Schmidt in the metric, in their order, so that the basis is a deterministic
    function of the reference point.

    Parameters
    ----------
    geometry : Geometry
    reference : array, shape [*point_shape]

    Returns
    -------
    basis : array, shape [dim, *point_shape]

    Raises
    ------
    ProtocolError
        If rounding leaves fewer than `dim` independent directions.
    """
    size = int(np.prod(geometry.shape))
    candidates = np.eye(size).reshape(size, *geometry.shape)
    basis: list[np.ndarray] = []
    for candidate in candidates:
        vector = geometry.to_tangent(candidate, reference)
        before = float(geometry.norm(vector, reference))
        # Twice is enough: the second pass restores orthogonality to rounding.
        for _ in range(2):
            for other in basis:
                vector = vector - geometry.inner(vector, other, reference) * other
        after = float(geometry.norm(vector, reference))
        if after > _INDEPENDENT * max(before, 1e-300):
            basis.append(vector / after)
        if len(basis) == geometry.dim:
            return np.stack(basis)
    raise ProtocolError(
        f"found {len(basis)} independent tangent directions on {geometry.name}, "
        f"which has dimension {geometry.dim}; an ill-conditioned reference point leaves no digits "
        "for the others"
    )
