"""Fréchet mean of data on the axes of a box, the loss of design C of the paper."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.geometry import LogBox
from geomstats_ldp.losses import FrechetLoss, register_loss


@register_loss
class AxialFrechetLoss(FrechetLoss):
    r"""Squared distance to data on the axes through a centre, with the smaller bound that allows.

    Data at :math:`\pm t e_j`, :math:`0 \le t \le a_j`, in frame coordinates at the centre are not
    as far from the corners of a box as the triangle inequality fears. The distance is convex in
    both points, so over a box of half-widths w about the same centre it is largest at a corner
    and an end of an axis:

    .. math:: \max_j \{|w|^2 - w_j^2 + (w_j + a_j)^2\}^{1/2}.

    Parameters
    ----------
    center : array-like, shape [*point_shape]
        Public centre of the data.
    half_axes : array-like, shape [dim]
        Public bounds a_j.

    Notes
    -----
    Data off the axes are clipped to a ball only and may have a longer score. The participant
    shortens it to the bound before it is released, so the guarantee does not rest on the data
    being where they should; only the target then is another.
    """

    name = "axial_frechet"

    def __init__(self, *, center, half_axes):
        self.half_axes = np.array(half_axes, dtype=float)
        self.half_axes.setflags(write=False)
        super().__init__(center=center, data_radius=self.half_axes.max())

    def score_bound(self, geometry, query_region):
        """Largest distance of a box from the axes; on other regions that from the ball."""
        if not isinstance(query_region, LogBox):
            return super().score_bound(geometry, query_region)
        widths = np.asarray(query_region.half_widths)
        squares = np.sum(widths**2) - widths**2 + (widths + self.half_axes) ** 2
        return float(np.sqrt(squares.max()) + geometry.dist(query_region.center, self.center))
