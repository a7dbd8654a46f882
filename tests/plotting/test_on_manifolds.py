"""What is drawn lies on the manifold, and the boundary has the Wald statistic of the threshold."""

import numpy as np
import pytest
from geomstats.geometry.hyperbolic import Hyperbolic
from matplotlib.collections import LineCollection
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.proj3d import proj_transform

from geomstats_ldp.geometry.spaces.hyperbolic import on_sheet
from geomstats_ldp.plotting import (
    plot_on_circle,
    plot_on_poincare_disc,
    plot_on_spd_cone,
    plot_on_sphere,
)

RETRACTIONS = ["exponential", "projection"]
METRICS = ["affine", "log_euclidean"]
HYPERBOLIC = ["extrinsic", "ball", "half-space"]


def centers(ax):
    """Places of the marks that show an estimate."""
    lines = [line for line in ax.get_lines() if line.get_marker() == "+"]
    data = [line.get_data_3d() if ax.name == "3d" else line.get_data() for line in lines]
    return [np.ravel(place) for place in data]


def dots(ax):
    """Places of the data, of each line of them."""
    lines = [line for line in ax.get_lines() if line.get_marker() == "."]
    data = [line.get_data_3d() if ax.name == "3d" else line.get_data() for line in lines]
    return [np.stack(places, axis=-1) for places in data]


def in_colour(ax, colour):
    """Vertices of all lines of a colour, in one array."""
    lines = [line.get_data_3d() for line in ax.get_lines() if line.get_color() == colour]
    vertices = np.concatenate([np.stack(places, axis=-1) for places in lines])
    return vertices[np.isfinite(vertices).all(axis=1)]


# ------------------------------------------------------------------------ circle


@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_the_arc_ends_where_the_region_ends(make_region, curves, retraction):
    region = make_region("circle", retraction=retraction)
    ax = plot_on_circle(region, label="region", color="C3")
    [arc] = curves(ax)
    _, *ends = [line.get_data() for line in ax.get_lines() if line.get_color() == "C3"]
    np.testing.assert_allclose(np.mean(ends, axis=2), arc[[0, -1]], rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(arc, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(region.statistic(arc[[0, -1]]), region.threshold, rtol=1e-9)
    assert np.all(region.statistic(arc[1:-1]) < region.threshold)
    np.testing.assert_allclose(arc[len(arc) // 2], region.center, atol=1e-12)
    np.testing.assert_allclose(centers(ax), [region.center])
    assert ax.get_aspect() == 1


def test_a_region_of_all_directions_is_the_whole_circle_without_ends(make_region, curves):
    ax = plot_on_circle(make_region("circle", scale=10.0), label="region", color="C3")
    [arc] = curves(ax)
    assert len([line for line in ax.get_lines() if line.get_color() == "C3"]) == 1
    np.testing.assert_allclose(arc[[0, -1]], -np.tile([0.6, 0.8], (2, 1)), atol=1e-12)
    steps = np.linalg.norm(np.diff(arc, axis=0), axis=1)
    assert steps.sum() == pytest.approx(2 * np.pi, rel=1e-3)  # chords of 200 steps


def test_the_rug_stands_outside_at_the_data(make_region, make_points):
    region = make_region("circle")
    points = make_points(region)
    [rug] = [c for c in plot_on_circle(region, points=points).collections]
    assert isinstance(rug, LineCollection)
    ticks = np.array(rug.get_segments())
    lengths = np.linalg.norm(ticks, axis=-1, keepdims=True)
    assert np.all(lengths > 1)
    np.testing.assert_allclose(ticks / lengths, np.stack([points, points], axis=1), atol=1e-12)


# ------------------------------------------------------------------------ sphere


@pytest.mark.parametrize("scale", [0.02, 0.5])
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_the_curve_on_the_sphere_is_the_boundary(make_region, retraction, scale):
    region = make_region("sphere", scale, retraction)
    ax = plot_on_sphere(region, color="C3")
    curve = in_colour(ax, "C3")
    assert len(curve) > 400
    np.testing.assert_allclose(np.linalg.norm(curve, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(region.statistic(curve), region.threshold, rtol=1e-8)
    np.testing.assert_allclose(centers(ax), [region.center])


def test_nothing_is_drawn_past_the_antipode(make_region):
    region = make_region("sphere", scale=2.0)
    assert region.semi_axis_lengths[0] > np.pi > region.semi_axis_lengths[1]
    curve = in_colour(plot_on_sphere(region, color="C3"), "C3")
    assert 50 < len(curve) < 400
    np.testing.assert_allclose(region.statistic(curve), region.threshold, rtol=1e-6)


@pytest.mark.parametrize("center", [None, [0.0, 0.0, 1 + 4e-16], [0.0, -1.0, 0.0]])
def test_the_centre_faces_the_viewer(make_region, center):
    region = make_region("sphere", center=center)
    ax = plot_on_sphere(region)
    *place, depth = proj_transform(*region.center, ax.get_proj())
    *middle, middle_depth = proj_transform(0, 0, 0, ax.get_proj())
    np.testing.assert_allclose(place, middle, atol=1e-9)
    assert depth < middle_depth


def test_points_behind_are_paler(make_region, make_points):
    region = make_region("sphere")
    points = make_points(region, n=80, spread=1.5)
    behind, front = dots(plot_on_sphere(region, points=points))
    in_front = points @ region.center > 0
    assert 10 < in_front.sum() < 70
    np.testing.assert_allclose(front[in_front], points[in_front])
    np.testing.assert_allclose(behind[~in_front], points[~in_front])
    assert np.isnan(front[~in_front]).all() and np.isnan(behind[in_front]).all()
    back, fore = [
        float(line.get_color())
        for line in plot_on_sphere(region, points=points).get_lines()
        if line.get_marker() == "."
    ]
    assert back > fore


# ------------------------------------------------------------------------ hyperbolic plane


def hyperboloid_of(disc):
    """Points of the sheet that points of the disc stand for."""
    return on_sheet(2 * disc / (1 - np.sum(disc**2, axis=-1, keepdims=True)))


def test_the_curve_in_the_disc_is_the_boundary(make_region, curves):
    region = make_region("ball")
    ax = plot_on_poincare_disc(region, label="region")
    [curve] = curves(ax)
    assert np.all(np.linalg.norm(curve, axis=1) < 1)
    np.testing.assert_allclose(region.statistic(curve), region.threshold, rtol=1e-8)
    np.testing.assert_allclose(centers(ax), [[0.3, -0.4]], rtol=1e-12)
    assert ax.get_aspect() == 1


def test_the_disc_is_the_same_in_all_coordinates(make_region, make_points, curves):
    pictures = []
    for coords_type in HYPERBOLIC:
        region = make_region("ball", space=Hyperbolic(2, coords_type=coords_type))
        points = make_points(region)
        ax = plot_on_poincare_disc(region, points=points, label="region")
        pictures.append([*curves(ax), *centers(ax), *dots(ax)])
        np.testing.assert_allclose(
            hyperboloid_of(dots(ax)[0]), region.to_internal(points), rtol=1e-9, atol=1e-12
        )
    for picture in pictures[1:]:
        for artist, first in zip(picture, pictures[0]):
            np.testing.assert_allclose(artist, first, atol=1e-12)


def test_circles_of_the_disc_are_at_their_distances(make_region):
    region = make_region("ball")
    ax = plot_on_poincare_disc(region)
    origin, distances = np.array([1.0, 0.0, 0.0]), []
    for line in ax.get_lines():
        disc = np.stack(line.get_data(), axis=-1)
        lengths = np.linalg.norm(disc, axis=1)
        if len(disc) > 100 and np.ptp(lengths) < 1e-9 and lengths[0] < 1 - 1e-9:
            distances.append(region.geometry.dist(hyperboloid_of(disc), origin))
    np.testing.assert_allclose([d[0] for d in distances], [1, 2, 3], rtol=1e-9)


# ------------------------------------------------------------------------ positive definite cone


def matrices_of(entries):
    first, second, off = np.moveaxis(entries, -1, 0)
    return np.stack([np.stack([first, off], -1), np.stack([off, second], -1)], axis=-2)


@pytest.mark.parametrize("metric", METRICS)
def test_the_surface_in_the_cone_is_the_boundary(make_region, monkeypatch, metric):
    region, surfaces = make_region(metric), []
    draw = Axes3D.plot_surface

    def record(ax, *entries, **kwargs):
        surfaces.append(np.stack(entries, axis=-1))
        return draw(ax, *entries, **kwargs)

    monkeypatch.setattr(Axes3D, "plot_surface", record)
    ax = plot_on_spd_cone(region, color="C3")
    surface = surfaces[-1]  # the first is the cone
    ellipses = [line for line in ax.get_lines() if line.get_color() == "C3"]
    assert len(ellipses) == 3
    for entries in [surface, *(np.stack(line.get_data_3d(), axis=-1) for line in ellipses)]:
        matrices = matrices_of(entries)
        assert np.all(np.linalg.eigvalsh(matrices) > 0)
        np.testing.assert_allclose(region.statistic(matrices), region.threshold, rtol=1e-8)
    np.testing.assert_allclose(centers(ax), [[2.0, 1.0, 0.7]])


def test_the_cone_is_that_of_singular_matrices_and_holds_all(make_region, make_points):
    region = make_region("affine")
    points = make_points(region)
    ax = plot_on_spd_cone(region, points=points)
    [drawn] = dots(ax)
    np.testing.assert_allclose(matrices_of(drawn), points)
    traces = []
    for line in ax.get_lines():
        if line.get_gid() is not None:
            matrices = matrices_of(np.stack(line.get_data_3d(), axis=-1))
            np.testing.assert_allclose(np.linalg.det(matrices), 0, atol=1e-9)
            traces.append(np.trace(matrices, axis1=1, axis2=2))
            assert np.all(traces[-1] >= 0)
    assert np.max(np.concatenate(traces)) > np.trace(points, axis1=1, axis2=2).max()


def test_the_entries_name_the_axes(make_region):
    ax = plot_on_spd_cone(make_region("affine"))
    labels = [ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()]
    assert labels == ["$X_{11}$", "$X_{22}$", "$X_{12}$"]
