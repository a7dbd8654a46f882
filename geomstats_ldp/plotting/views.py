"""Which picture shows a region."""

from __future__ import annotations

from geomstats_ldp.exceptions import PlotError
from geomstats_ldp.plotting.circle import plot_on_circle
from geomstats_ldp.plotting.cone import plot_on_spd_cone
from geomstats_ldp.plotting.disc import plot_on_poincare_disc
from geomstats_ldp.plotting.drawing import space_of
from geomstats_ldp.plotting.sphere import plot_on_sphere
from geomstats_ldp.plotting.tangent import plot_tangent_ellipse

#: Pictures of whole manifolds, by the space.
_ON_MANIFOLDS = {
    "Hypersphere(1)": plot_on_circle,
    "Hypersphere(2)": plot_on_sphere,
    "Hyperbolic(2)": plot_on_poincare_disc,
    "SPDMatrices(2)": plot_on_spd_cone,
}


def plot_region(region, view, ax=None, **kwargs):
    """Draw a region in the view of the given name; see `WaldRegion.plot`."""
    if view == "tangent":
        return plot_tangent_ellipse(region, ax=ax, **kwargs)
    if view != "manifold":
        raise PlotError(f"view must be 'tangent' or 'manifold'; got {view!r}")
    space = space_of(region)
    if space not in _ON_MANIFOLDS:
        raise PlotError(
            f"view='manifold' draws regions on {', '.join(_ON_MANIFOLDS)}; got one on {space}. "
            "view='tangent' draws any region"
        )
    return _ON_MANIFOLDS[space](region, ax=ax, **kwargs)
