"""The figures say what they show."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

from geomstats_ldp.replication.study.figures import (
    plot_coverage_curves,
    plot_error_curves,
    plot_methods,
)
from geomstats_ldp.replication.study.report import study_figures

BAND = (0.95 - 2 * math.sqrt(0.95 * 0.05 / 500), 0.95 + 2 * math.sqrt(0.95 * 0.05 / 500))
BAND_LABEL = r"$0.95 \pm 2$ s.e."
EPSILON_LABELS = ["no privacy", r"$\epsilon = 8$", r"$\epsilon = 1$"]


@pytest.fixture
def pairs(made_up_summary):
    return made_up_summary(methods=("spr",))


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def panels(figure):
    return [panel for panel in figure.axes if panel.axison]


def legend_texts(figure):
    [legend] = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def tick_texts(panel):
    return [text.get_text() for text in panel.get_xticklabels()]


def bands(panel):
    """Vertical extents of the shaded bands, rectangles or, by older matplotlib, polygons."""
    boxes = [
        patch.get_patch_transform().transform_path(patch.get_path()).get_extents()
        for patch in panel.patches
    ]
    return [(box.y0, box.y1) for box in boxes]


def data_lines(panel):
    return [line for line in panel.get_lines() if line.get_marker() != "None"]


def test_error_curves(pairs):
    figure = plot_error_curves(pairs)
    assert legend_texts(figure) == EPSILON_LABELS
    assert [panel.get_title()[:2] for panel in panels(figure)] == ["A:", "B:"]
    assert "$S^2$" in panels(figure)[0].get_title()
    for panel in panels(figure):
        assert (panel.get_xlabel(), panel.get_ylabel()) == ("participants n", "mean error")
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert tick_texts(panel) == ["8,000", "32,000"]
        assert len(panel.collections) == 3  # error bars
    curve = data_lines(panels(figure)[0])[1]
    assert np.allclose(curve.get_xdata(orig=False), [8000, 32000])
    assert np.allclose(curve.get_ydata(orig=False), 1 / np.sqrt([8000, 32000]) / 8)


def test_coverage_curves_have_the_monte_carlo_band(pairs):
    figure = plot_coverage_curves(pairs)
    assert legend_texts(figure) == [*EPSILON_LABELS, BAND_LABEL]
    for panel in panels(figure):
        assert (panel.get_xlabel(), panel.get_ylabel()) == ("participants n", "coverage")
        assert np.allclose(bands(panel), [BAND])
        assert panel.get_ylim()[0] < BAND[0] and panel.get_ylim()[1] > 1
    assert panels(figure)[0].get_ylim() == panels(figure)[1].get_ylim()
    # Points of different curves do not hide each other, though their coverages are equal.
    places = np.array([line.get_xdata(orig=False) for line in data_lines(panels(figure)[0])])
    assert len(np.unique(places[:, 0])) == 3
    assert np.allclose(places / [8000, 32000], 1, atol=0.1)


@pytest.mark.parametrize("value", ["error", "coverage"])
def test_methods(made_up_summary, value):
    summary = made_up_summary()
    figure = plot_methods(summary, value)
    names = ["symmetric pairs", "same trajectory", "half-sample probes"]
    assert legend_texts(figure) == names + [BAND_LABEL] * (value == "coverage")
    for panel in panels(figure):
        assert panel.get_xlabel() == r"privacy level $\epsilon$"
        assert tick_texts(panel) == ["none", "8", "1"]
        assert len(bands(panel)) == (value == "coverage")
    last = summary[(summary["n"] == 32000) & (summary["design"] == "B")]
    lines, by_method = data_lines(panels(figure)[1]), last.groupby("method", sort=False)
    assert len(lines) == len(by_method)
    for line, (_, rows) in zip(lines, by_method):
        assert np.allclose(line.get_ydata(orig=False), rows[value])


def test_curves_are_told_apart_without_colour(pairs):
    lines = data_lines(panels(plot_error_curves(pairs))[0])
    assert len({line.get_linestyle() for line in lines}) == len(lines)
    assert len({line.get_marker() for line in lines}) == len(lines)
    greys = [np.dot(line.get_color()[:3], [0.299, 0.587, 0.114]) for line in lines]
    assert greys == sorted(greys)


@pytest.mark.parametrize("methods", [("spr",), ("spr", "half_sample"), ("half_sample",)])
def test_figures_of_a_study(made_up_summary, methods):
    names = [name for name, _ in study_figures(made_up_summary(methods=methods))]
    expected = ["error", "coverage"] if "spr" in methods else []
    expected += ["methods_error", "methods_coverage"] if len(methods) > 1 else []
    assert names == [f"{name}_gaussian_paper" for name in expected]


def test_texts_do_not_overlap(made_up_summary):
    for name, figure in study_figures(made_up_summary()):
        figure.draw_without_rendering()
        for panel in panels(figure):
            for axis in (panel.get_xticklabels(), panel.get_yticklabels()):
                boxes = [text.get_window_extent() for text in axis if text.get_text()]
                for one, other in zip(boxes, boxes[1:]):
                    assert not one.overlaps(other), name
