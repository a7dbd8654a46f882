"""The picture of a functional shows its numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from geomstats_ldp.exceptions import PlotError
from geomstats_ldp.inference import SmoothFunctional
from geomstats_ldp.plotting import plot_loadings


def functional(length):
    rng = np.random.default_rng(length)
    jacobian = rng.normal(size=(length, 2))
    return SmoothFunctional(rng.normal(size=length), 0.01 * jacobian @ jacobian.T, jacobian)


def bars(ax):
    """Ends of the error bars and the estimates, from the top down."""
    [container] = ax.containers
    marks, _, [lines] = container.lines
    ends = np.array(lines.get_segments())
    np.testing.assert_array_equal(ends[:, :, 1], np.tile(marks.get_ydata(), (2, 1)).T)
    return ends[:, :, 0], marks.get_xdata()


def tick_texts(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


@pytest.mark.parametrize("length", [1, 3, 40])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_bars_are_the_intervals(length, level):
    shown = functional(length)
    ax = plot_loadings(shown, level=level)
    ends, estimates = bars(ax)
    np.testing.assert_allclose(ends, shown.interval(level), rtol=1e-12)
    np.testing.assert_array_equal(estimates, shown.estimate)
    assert tick_texts(ax) == [str(i + 1) for i in range(length)]
    assert f"{100 * level:g}%" in ax.get_xlabel()
    bottom, top = ax.get_ylim()
    assert bottom > length - 1 and top < 0  # the first is on top


def test_names_and_axes():
    ax = plt.figure().add_subplot()
    assert plot_loadings(functional(3), names=("height", "weight", "waist"), ax=ax) is ax
    assert tick_texts(ax) == ["height", "weight", "waist"]


def test_zero_is_always_in_sight():
    far = SmoothFunctional(np.array([5.0]), np.array([[0.01]]), np.ones((1, 1)))
    low, high = plot_loadings(far).get_xlim()
    assert low <= 0 <= high


def test_what_is_refused():
    with pytest.raises(PlotError, match="names must hold 3 names"):
        plot_loadings(functional(3), names=["height"])
    with pytest.raises(PlotError, match="plot_loadings needs Axes of two dimensions"):
        plot_loadings(functional(3), ax=plt.figure().add_subplot(projection="3d"))
    plt.close("all")
    with pytest.raises(ValueError, match="level"):
        plot_loadings(functional(3), level=95)
    assert not plt.get_fignums()
