"""What a loss states about its Hessian at the target."""

from __future__ import annotations

from typing import NamedTuple


class TargetHessian(NamedTuple):
    """What is publicly known of the population Hessian at the target, whatever the data.

    Attributes
    ----------
    low, high : float
        Bounds on its eigenvalues.
    is_isotropic : bool
        Whether it is a multiple of the identity.
    nearby_sd : float
        Standard deviation of an entry between the target and the iterates about it, for a loss
        whose Hessian varies quickly. If positive, inference estimates the Hessian at the iterates,
        with the one at the target as its prior.
    blocks : tuple of (size, low, high), optional
        Sizes of diagonal blocks, in frame coordinates, outside of which the Hessian is zero at any
        query and not only at the target, and bounds on the eigenvalues of each. Where low = high
        the block is this multiple of the identity, at any query.
    """

    low: float
    high: float
    is_isotropic: bool = False
    nearby_sd: float = 0.0
    blocks: tuple[tuple[int, float, float], ...] | None = None
