"""What rotations and subspaces share: matrices with angles between them, and a cut locus.

The logarithms of geomstats are matrix logarithms. Next to the cut locus they are complex matrices,
wrong branches or an error of its own, depending on the size; `log` raises CutLocusError there.
"""

from __future__ import annotations

import numpy as np

from geomstats_ldp.exceptions import CutLocusError
from geomstats_ldp.geometry.geometry import Geometry

#: Angle to the cut locus under which geomstats may fail (rotations of the plane: from 1e-6 on).
_CUT_MARGIN = 1e-5


class AngularGeometry(Geometry):
    """Logarithm and transport that stop at the cut locus."""

    #: Angle at which a rotation or a principal angle reaches the cut locus.
    cut_angle: float

    def angles(self, point_a, point_b):
        """Rotation or principal angles between two points, ascending, shape [..., n_angles]."""
        raise NotImplementedError

    def log(self, point, base_point):
        """Riemannian logarithm.

        Raises
        ------
        CutLocusError
            If a point is in the cut locus of its base point, or within 1e-5 of it.
        """
        self._check_cut(point, base_point)
        return self.to_tangent(self._log_inside(point, base_point), base_point)

    def _check_cut(self, point, base_point):
        if np.any(self.at_cut_locus(point, base_point)):
            angle = self.angles(base_point, point)[..., -1]
            raise CutLocusError(
                f"the logarithm on {self.name} is undefined at an angle of {self.cut_angle}; "
                f"got an angle of {float(np.max(angle))}"
            )

    def _log_inside(self, point, base_point):
        """Logarithm of a point that is known to be inside the cut locus."""
        return np.real(self.space.metric.log(point, base_point))

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""
        direction = self.log(end_point, base_point)
        moved = self.space.metric.parallel_transport(tangent_vec, base_point, direction=direction)
        return self.to_tangent(moved, end_point)

    def at_cut_locus(self, point, base_point):
        """Whether an angle is at the cut locus, or within 1e-5 of it."""
        return self.angles(base_point, point)[..., -1] > self.cut_angle - _CUT_MARGIN

    def inverse_retract(self, point, base_point):
        """Logarithm, or NaN where it is undefined."""
        cut = np.asarray(self.at_cut_locus(point, base_point))[..., None, None]
        # Any point will do in place of one whose logarithm is masked out.
        return np.where(cut, np.nan, self.log(np.where(cut, base_point, point), base_point))
