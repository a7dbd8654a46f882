"""Which picture a region gets, on which Axes, and what is refused."""

import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from geomstats_ldp import plotting
from geomstats_ldp.exceptions import LDPError, PlotError, ProtocolError

ROOT = Path(plotting.__file__).parents[2]

PICTURES = {
    "circle": plotting.plot_on_circle,
    "sphere": plotting.plot_on_sphere,
    "ball": plotting.plot_on_poincare_disc,
    "affine": plotting.plot_on_spd_cone,
    "log_euclidean": plotting.plot_on_spd_cone,
}
IN_3D = {"sphere", "affine", "log_euclidean"}


def new_axes(name):
    return plt.figure().add_subplot(projection="3d" if name in IN_3D else None)


def data_of(ax):
    return [line.get_data_3d() if ax.name == "3d" else line.get_data() for line in ax.get_lines()]


@pytest.mark.parametrize("name", PICTURES)
def test_the_view_of_the_manifold_is_that_of_its_space(make_region, make_points, name):
    region = make_region(name)
    points = make_points(region)
    expected = data_of(PICTURES[name](region, points=points))
    found = data_of(region.plot(view="manifold", points=points))
    assert len(found) == len(expected)
    for line, other in zip(found, expected):
        np.testing.assert_array_equal(line, other)


@pytest.mark.parametrize("name", PICTURES)
def test_given_axes_are_drawn_on(make_region, name):
    ax = new_axes(name)
    assert make_region(name).plot(ax, view="manifold") is ax
    assert plt.get_fignums() == [ax.figure.number]
    assert ax.get_title() == "95% Wald region"


@pytest.mark.parametrize("name", PICTURES)
def test_a_second_region_shares_the_background(make_region, name):
    def background(ax):
        return sum(artist.get_gid() is not None for artist in ax.get_children())

    ax = make_region(name).plot(view="manifold")
    before = background(ax), len(ax.texts)
    make_region(name, level=0.5).plot(ax, view="manifold", ls="--", lw=2, c="C1", label="0.5")
    assert before == (background(ax), len(ax.texts))
    [line] = [line for line in ax.get_lines() if line.get_label() == "0.5"]
    assert (line.get_linestyle(), line.get_linewidth(), line.get_color()) == ("--", 2, "C1")


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("n_points", [0, 1, 2000])
def test_any_number_of_points(make_region, make_points, name, n_points):
    region = make_region(name)
    points = make_points(region, n=n_points)
    PICTURES[name](region, points=points).figure.draw_without_rendering()
    if n_points == 1:
        alone, listed = (data_of(PICTURES[name](region, points=p)) for p in (points[0], points))
        for line, other in zip(alone, listed):
            np.testing.assert_array_equal(line, other)


@pytest.mark.parametrize("name", PICTURES)
def test_points_off_the_space_are_named(make_region, make_points, name):
    region = make_region(name)
    points = np.array(make_points(region))
    points[1] = np.nan
    for bad in (points, points[..., :1]):
        with pytest.raises(ValueError, match="points"):
            PICTURES[name](region, points=bad)
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", ["ball", "affine", "log_euclidean"])
def test_regions_out_of_reach_are_refused(make_region, name):
    region = make_region(name, scale=1e6)
    with pytest.raises(ProtocolError, match="uninformative"):
        region.boundary()
    with pytest.raises(ProtocolError, match="uninformative"):
        region.plot(view="manifold")
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("other", ["circle", "sphere", "ball", "affine", "plane"])
def test_regions_on_another_space_are_refused(make_region, name, other):
    draw = PICTURES[name]
    if draw is not PICTURES.get(other):
        with pytest.raises(PlotError, match=rf"{draw.__name__} draws regions on .*; got one on "):
            draw(make_region(other))


def test_spaces_without_a_picture_hear_which_have_one(make_region):
    known = r"Hypersphere\(1\), Hypersphere\(2\), Hyperbolic\(2\), SPDMatrices\(2\)"
    for name, space in (("plane", r"Euclidean\(2\)"), ("rotations", "SpecialOrthogonal of dim")):
        with pytest.raises(PlotError, match=rf"{known}; got one on {space}"):
            make_region(name).plot(view="manifold")
    with pytest.raises(PlotError, match="view must be 'tangent' or 'manifold'; got 'globe'"):
        make_region("sphere").plot(view="globe")
    assert issubclass(PlotError, LDPError) and issubclass(PlotError, ValueError)


@pytest.mark.parametrize("name", PICTURES)
def test_axes_of_the_wrong_dimension_are_refused(make_region, name):
    ax = plt.figure().add_subplot(projection=None if name in IN_3D else "3d")
    needed = "Axes made with projection='3d'" if name in IN_3D else "Axes of two dimensions"
    with pytest.raises(PlotError, match=needed):
        make_region(name).plot(ax, view="manifold")
    assert not ax.get_lines()


def test_global_settings_stay_as_they_are(make_region):
    before = dict(matplotlib.rcParams)
    for name in PICTURES:
        make_region(name).plot(view="manifold")
        make_region(name).plot()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.slow  # a process
def test_matplotlib_waits_for_the_first_picture():
    code = "import sys, geomstats_ldp.plotting.views; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# ------------------------------------------------------------------------ tangent


def test_the_tangent_ellipse_has_the_statistic_of_the_threshold(make_region, curves):
    region = make_region("plane")
    [curve] = curves(region.plot(label="region"))
    statistic = np.sum(curve * np.linalg.solve(region.covariance, curve.T).T, axis=1)
    np.testing.assert_allclose(statistic, region.threshold, rtol=1e-9)


def test_in_three_dimensions_it_is_the_shadow(make_region, curves):
    region = make_region("space")
    [curve] = curves(region.plot(label="region"))
    reach = np.sqrt(region.threshold * np.diag(region.covariance)[:2])
    # 200 vertices miss the ends by the cosine of half a step at most
    np.testing.assert_allclose(np.abs(curve).max(axis=0), reach, rtol=2e-4)


def test_in_one_dimension_it_is_an_interval(make_region, curves):
    region = make_region("line", level=0.995)
    ax = region.plot(label="region")
    [interval] = curves(ax)
    np.testing.assert_allclose(interval[:, 0], region.marginal_intervals()[0])
    assert ax.get_title() == "99.5% Wald region"
