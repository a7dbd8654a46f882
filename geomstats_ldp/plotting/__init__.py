"""Pictures: from numbers to Axes.

Nothing is computed here that an estimate, a region or a functional does not hold, apart from what a
picture needs, such as a curve through the boundary.
"""

from geomstats_ldp.plotting.circle import plot_on_circle
from geomstats_ldp.plotting.cone import plot_on_spd_cone
from geomstats_ldp.plotting.disc import plot_on_poincare_disc
from geomstats_ldp.plotting.loadings import plot_loadings
from geomstats_ldp.plotting.plans import plot_plan
from geomstats_ldp.plotting.sphere import plot_on_sphere
from geomstats_ldp.plotting.tangent import plot_tangent_ellipse

__all__ = [
    "plot_loadings",
    "plot_on_circle",
    "plot_on_poincare_disc",
    "plot_on_spd_cone",
    "plot_on_sphere",
    "plot_plan",
    "plot_tangent_ellipse",
]
