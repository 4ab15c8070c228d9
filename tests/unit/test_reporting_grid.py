import numpy as np
import pandas as pd
import pytest

from dpgrs.reporting.grid_figures import LOWEST, r2_figure
from dpgrs.reporting.grid_layout import (
    BY_EPSILON,
    BY_OUTCOMES,
    MAX_LINES,
    Panel,
    curves,
    lay_out,
    left_out_words,
    views,
)
from dpgrs.reporting.styles import look_of, series_styles
from dpgrs.reporting.svg import styled
from report_data import GRID, PRIVATE, make_report_data

COUNTS = (1, 2, 3, 4)


@pytest.fixture(scope="module")
def demo():
    return make_report_data(n_outcomes=3, epsilons=(1.0, 4.0)).metrics


@pytest.fixture(scope="module")
def grid():
    return make_report_data(outcome_counts=COUNTS, epsilons=(1.0, 5.0), private=GRID).metrics


def draw(metrics, view):
    with styled():
        return r2_figure(*curves(metrics), view)


def panels(figure):
    return {axis.get_title(loc="left"): axis for axis in figure.axes if axis.get_visible()}


def drawn(axis, **style):
    """Return the (x, y) of the only line of a panel with these properties."""
    lines = [
        line for line in axis.get_lines() if all(getattr(line, f"get_{k}")() == v for k, v in style.items())
    ]
    (line,) = (line for line in lines if len(line.get_xdata()) > 1 and line.get_marker() == "None")
    return line.get_xdata().tolist(), line.get_ydata()


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_r2_figure__against_outcomes_draws_means_and_the_range_of_replicates(demo):
    axis = panels(draw(demo, BY_OUTCOMES))["24 variants, ε\u00a0=\u00a04"]

    rows = demo.query("n_variants == 24 and epsilon == 4 and accounting == 'gdp'")
    replicates = rows.groupby(["n_outcomes", "replicate"])["r2"].mean().groupby("n_outcomes")
    x, y = drawn(axis, color=look_of("reusecov-gauss")[0], linewidth=1.5)
    assert x == [1, 3]
    np.testing.assert_allclose(y, replicates.mean())
    bands = [collection.get_paths()[0].vertices[:, 1] for collection in axis.collections]
    assert any(
        np.isclose([band.min(), band.max()], [replicates.min().min(), replicates.max().max()]).all()
        for band in bands
    )


def test_r2_figure__against_epsilon_references_are_level_lines(demo):
    axis = panels(draw(demo, BY_EPSILON))["12 variants, 3 outcomes"]

    gblup = demo.query("n_variants == 12 and n_outcomes == 3 and method == 'gblup'")["r2"].mean()
    x, y = drawn(axis, color=series_styles(curves(demo)[0])["GBLUP (not private)"]["color"], linestyle="-")
    assert x == list(axis.get_xlim())
    np.testing.assert_allclose(y, gblup)
    gdp = demo.query("n_variants == 12 and n_outcomes == 3 and accounting == 'gdp'")
    x, y = drawn(axis, color=look_of("reusecov-gauss")[0], linewidth=1.5)
    np.testing.assert_allclose(y, gdp.groupby("epsilon")["r2"].mean())


def test_views__only_what_varies():
    one_outcome = make_report_data(n_outcomes=1, epsilons=(1.0, 2.0)).metrics
    one_epsilon = make_report_data(n_outcomes=3, epsilons=(1.0,)).metrics

    assert views(one_outcome) == views(one_outcome.query("epsilon != 2")) == [BY_EPSILON]
    assert views(one_epsilon) == views(one_epsilon.query("protection == 'none'")) == [BY_OUTCOMES]
    assert views(make_report_data(n_outcomes=3).metrics) == [BY_OUTCOMES, BY_EPSILON]


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        ("method == 'reusecov-gauss' and accounting == 'gdp'", ["ReuseCovGauss (full, exact accounting)"]),
        ("protection == 'none'", ["OLS (not private)", "GBLUP (not private)"]),
    ],
)
def test_r2_figure__one_design_is_one_panel_with_points_inside(demo, query, labels):
    few = demo.query(
        f"({query}) and n_variants == 24 and n_outcomes == 3 and not epsilon == 4 and replicate == 1"
    )

    figure = draw(few.assign(r2=0.3), BY_EPSILON)

    ((title, axis),) = panels(figure).items()
    assert title == "24 variants, 3 outcomes"
    assert legend(figure) == labels
    (low, high), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    points = np.concatenate([line.get_xydata() for line in axis.get_lines() if len(line.get_xdata())])
    assert ((low <= points[:, 0]) & (points[:, 0] <= high)).all()
    assert ((bottom <= points[:, 1]) & (points[:, 1] <= top)).all()


def test_r2_figure__with_one_epsilon_series_stand_side_by_side(demo):
    few = demo.query("n_variants == 24 and n_outcomes == 3 and epsilon == 1")

    (axis,) = panels(draw(few.assign(r2=0.3), BY_EPSILON)).values()

    places = [
        line.get_xdata()[0] for line in axis.get_lines() if line.get_marker() == "o" and len(line.get_xdata())
    ]
    assert len(set(places)) == 2
    assert all(axis.get_xlim()[0] < place < axis.get_xlim()[1] for place in places)


def test_r2_figure__a_line_that_falls_ends_in_a_triangle_and_a_note(demo):
    metrics = demo.assign(r2=np.where(demo["protection"] == "none", 0.5, 0.4))
    falls = metrics["accounting"].eq("gdp") & metrics["n_outcomes"].eq(3) & metrics["epsilon"].eq(1)
    metrics.loc[falls, "r2"] = -5000.0

    shown = panels(draw(metrics, BY_OUTCOMES))

    for title, axis in shown.items():
        marks = [line for line in axis.get_lines() if line.get_marker() == "v"]
        texts = [text.get_text() for text in axis.texts]
        if title.endswith("ε\u00a0=\u00a04"):
            assert (marks, texts) == ([], [])
            continue
        (mark,), (text,) = marks, texts
        assert text == "ReuseCovGauss (exact) down to −5,000"
        assert 1 < mark.get_xdata()[0] < 1.1
        assert LOWEST - 0.1 < mark.get_ydata()[0] < LOWEST
        assert axis.get_ylim()[0] > -0.5


def test_r2_figure__lines_below_all_along_are_marked_and_notes_do_not_meet(grid):
    metrics = grid.assign(r2=np.where(grid["protection"] == "none", 0.5, -7.0))

    figure = draw(metrics, BY_OUTCOMES)

    figure.draw_without_rendering()
    full = figure.axes[0]
    assert len([line for line in full.get_lines() if line.get_marker() == "v"]) == 6
    assert (
        sorted(text.get_text() for text in full.texts if "down" in text.get_text())[0] == "AdaSSP down to −7"
    )
    boxes = [text.get_window_extent() for text in full.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_lay_out__a_grid_of_many_lines_has_a_column_per_protection(grid):
    fits, table = curves(grid)

    layout = lay_out(fits, table, BY_OUTCOMES)

    assert layout.columns == "protection"
    assert layout.panels[0] == [Panel(12, 1.0, None, name) for name in ("full", "feature", "label")]
    assert [row[0][:2] for row in layout.panels] == [(12, 1.0), (12, 5.0), (24, 1.0), (24, 5.0)]
    assert left_out_words(layout, BY_OUTCOMES) == ""
    figure = draw(grid, BY_OUTCOMES)
    assert len(legend(figure)) == 2 + 7
    lines = [len([line for line in axis.get_lines() if len(line.get_xdata()) == 4]) for axis in figure.axes]
    assert max(lines) <= 2 * MAX_LINES
    assert {line.get_linestyle() for line in figure.axes[1].get_lines()} >= {"--"}


def test_lay_out__values_without_room_are_named(grid):
    layout = lay_out(*curves(grid), BY_EPSILON)

    assert layout.left_out == {"n_outcomes": [2]}
    assert left_out_words(layout, BY_EPSILON) == "2 outcomes"


def test_lay_out__two_accountings_of_many_methods_are_told_apart_by_panels(grid):
    full = grid[grid["protection"].isin(["none", "full"])]
    paper = full[full["protection"] == "full"].assign(accounting="paper")

    layout = lay_out(*curves(pd.concat([full, paper])), BY_OUTCOMES)

    assert layout.columns == "facet"
    assert [(row[0].n_variants, row[0].accounting) for row in layout.panels] == [
        (size, name) for size in (12, 24) for name in ("gdp", "paper")
    ]


def test_r2_figure__a_panel_without_private_fits_is_not_drawn(grid):
    metrics = grid[~(grid["protection"].eq("label") & grid["n_outcomes"].eq(4))]

    figure = draw(metrics, BY_EPSILON)

    hidden = [axis for axis in figure.axes if not axis.get_visible()]
    assert len(hidden) == 2
    # The values of epsilon stand under the panel above instead.
    above = figure.axes[figure.axes.index(hidden[1]) - 3]
    assert above.get_xlabel() == BY_EPSILON.label


def test_r2_figure__few_series_of_several_accountings_share_panels():
    metrics = make_report_data(n_outcomes=3, private=PRIVATE + GRID[6:9]).metrics

    assert "ReuseCovProj (feature, exact accounting)" in legend(draw(metrics, BY_OUTCOMES))
