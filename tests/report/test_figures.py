"""The Matplotlib figures: axes in, axes out, and what is drawn is what was found."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fitted import model, with_outliers
from ieql.errors import IeqlError
from ieql.prior import Prior
from ieql.units import Unit


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    figure.canvas.draw()  # what cannot be drawn fails here
    plt.close(figure)


CALLS = {
    "plot_pareto": {},
    "plot_parity": {},
    "plot_residuals": {},
    "plot_slices": {"over": "x"},
    "plot_network": {},
    "plot_units": {},
}


@pytest.mark.parametrize("name", CALLS)
def test_axes_in_axes_out(ax, name):
    assert getattr(model(), name)(**CALLS[name], ax=ax) is ax


@pytest.mark.parametrize("name", CALLS)
def test_without_axes_a_figure_is_made(name):
    made = getattr(model(outside=True), name)(**CALLS[name])
    made.figure.canvas.draw()
    plt.close(made.figure)


@pytest.mark.parametrize("name", CALLS)
def test_given_axes_leave_pyplot_alone(name):
    from matplotlib.figure import Figure

    before = plt.get_fignums()
    getattr(model(), name)(**CALLS[name], ax=Figure().subplots())
    assert plt.get_fignums() == before


def test_pareto_shows_every_equation_and_rings_the_selected_one(ax):
    m = model(outside=True)
    m.plot_pareto(ax=ax)
    validation, extrapolation, ring = (c.get_offsets() for c in ax.collections)
    assert validation[:, 0].tolist() == [c.complexity for c in m.fronts_[0]]
    assert len(extrapolation) == 2  # the selected one is exact there
    np.testing.assert_allclose(ring, validation[2:])
    assert ax.get_xlabel() == "complexity"


def test_parity_shows_the_sample_and_the_points_outside(ax):
    model(outside=True).plot_parity(ax=ax)
    inside, outside = (c.get_offsets() for c in ax.collections)
    assert (len(inside), len(outside)) == (300, 20)
    assert "RMSE 0.09" in ax.get_title()


def test_outliers_have_a_mark_of_their_own_and_do_not_flatten_the_rest(ax):
    m = with_outliers(model(), [3, 4, 5])
    m.plot_residuals(over="x", ax=ax)
    rows, outliers = ax.collections
    assert len(rows.get_offsets()) == 300
    assert len(outliers.get_offsets()) == 3
    low, high = ax.get_ylim()
    assert high < 1
    np.testing.assert_allclose(np.asarray(outliers.get_offsets())[:, 1], low)  # at the border
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["outliers beyond the axes (3 of 3)"]


def test_rows_far_off_do_not_flatten_the_rest_either(ax):
    m = model()
    y = m.evidence_.y.copy()
    y[[5, 9]] += 1e6
    m.evidence_ = replace(m.evidence_, y=y)
    m.plot_residuals(over="x", ax=ax)
    assert max(map(abs, ax.get_ylim())) < 1
    assert [len(c.get_offsets()) for c in ax.collections] == [298, 2]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "far rows beyond the axes (2 of 2)"
    ]


def test_outliers_among_the_other_rows(ax):
    m = with_outliers(model(), [3, 4, 5], by=0.01)
    m.plot_parity(ax=ax)
    assert [len(c.get_offsets()) for c in ax.collections] == [300, 3]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["outliers (3)"]
    with_outliers(model(), [3]).plot_residuals(ax=ax)


def test_parity_of_another_equation_and_other_data(ax):
    X = pd.DataFrame({"x": [1.0, 2.0], "z": [0.0, 0.0]})
    model(with_evidence=False).plot_parity(X.to_numpy(), [5.0, 6.0], index=1, ax=ax)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [[5, 4], [6, 7]])


def test_rows_where_the_equation_is_undefined_are_counted(ax):
    m = model(("log(x)",), with_evidence=False)
    m.plot_parity([[1.0, 1.0], [-1.0, 1.0]], [0.0, 0.0], ax=ax)
    assert "undefined in 1 rows" in ax.get_title()


def test_residuals_over_an_input(ax):
    model().plot_residuals(over="z", ax=ax)
    assert ax.get_xlabel() == "z"
    assert np.abs(np.asarray(ax.collections[0].get_offsets())[:, 1]).max() < 1


def test_slices_show_the_range_of_the_data_and_the_domain(ax):
    model(domain={"x": (0.0, 3.0)}).plot_slices(over="x", ax=ax)
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [0.0, 3.0]
    (shade,) = ax.patches
    assert shade.get_x() == pytest.approx(1.0, abs=0.02)
    assert shade.get_width() == pytest.approx(1.0, abs=0.02)
    curve = ax.lines[-1]
    assert (curve.get_xdata()[0], curve.get_xdata()[-1]) == (0.0, 3.0)


def test_one_slice_per_input():
    axes = model().plot_slices()
    assert [one.get_xlabel() for one in axes] == ["x", "z"]
    again = model().plot_slices(ax=axes)
    assert list(again) == list(axes)
    plt.close(axes[0].figure)


def test_units_say_what_they_cost(ax):
    model().plot_units(ax=ax)
    labels = [t.get_text() for t in ax.get_xticklabels()]
    assert labels[0] == "cos\n(10)"
    heights = {label: bar.get_height() for label, bar in zip(labels, ax.patches, strict=True)}
    assert heights["square\n(2)"] == 75.0
    assert ax.get_title() == "over all candidates"


def test_network_of_several_outputs(ax):
    m = model(("1", "x*z"), ("1", "2*x*z + x"))
    m.plot_network(ax=ax)
    texts = [t.get_text() for t in ax.texts]
    assert texts.count("×") == 1
    assert {"x", "z", "y", "w"} <= set(texts)


def test_names_with_dollars_and_units_of_ones_own(ax):
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    m = model(("a",), names=("a", "$b_"), targets=("$^",), prior=Prior(custom=(tanh,)))
    m.plot_parity(ax=ax)
    for name in ("plot_network", "plot_units"):
        made = getattr(m, name)()
        made.figure.canvas.draw()
        plt.close(made.figure)
    assert ax.get_xlabel() == r"\$^, measured"


def test_a_constant_equation_and_a_constant_target(ax):
    m = model(("3",), noise=0.0)
    for name, options in CALLS.items():
        getattr(m, name)(**options, ax=ax)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("plot_parity", {}, "give X and y"),
        ("plot_residuals", {}, "give X and y"),
        ("plot_slices", {}, "give X to plot"),
        ("plot_units", {}, "without the evidence"),
        ("plot_parity", {"X": [[1, 2]]}, "X and y together"),
        ("plot_parity", {"X": [[1.0, 2.0]], "y": [1.0, 2.0]}, "1 row and 1 column"),
        ("plot_parity", {"output": 1}, "outputs are 0 to 0"),
        ("plot_pareto", {"output": -1}, "outputs are 0 to 0"),
        ("plot_parity", {"index": 7}, "rows 0 to 2"),
        ("plot_slices", {"over": "zz", "X": [[1.0, 2.0]]}, "no input 'zz'"),
        ("plot_slices", {"ax": [1], "X": [[1.0, 2.0]]}, "2 axes are needed"),
    ],
)
def test_what_cannot_be_drawn_is_said(name, arguments, message):
    with pytest.raises(IeqlError, match=message):
        getattr(model(with_evidence=False), name)(**arguments)


def test_slices_of_a_loaded_model_take_their_range_from_x(ax):
    m = model(with_evidence=False)
    m.plot_slices([[1.0, 1.0], [1.5, 2.0]], over="x", ax=ax)
    assert ax.patches[0].get_width() == pytest.approx(0.5)
