import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from dpgrs.reporting.grid_figures import LEFT, LOWEST, NOTE_SIZE, PANEL_HEIGHT, RIGHT, r2_figure
from dpgrs.reporting.grid_layout import (
    BY_EPSILON,
    BY_OUTCOMES,
    MAX_LINES,
    Panel,
    curves,
    lay_out,
    left_out_words,
    rows_of,
    views,
)
from dpgrs.reporting.styles import series_looks
from dpgrs.reporting.svg import WIDTH, text_width
from dpgrs.reporting.terms import protected_in_brief
from report_data import GRID, PRIVATE, make_report_data
from svg_drawings import NAME, centre, numbers, paths, texts

COUNTS = (1, 2, 3, 4)


@pytest.fixture(scope="module")
def demo():
    return make_report_data(n_outcomes=3, epsilons=(1.0, 4.0)).metrics


@pytest.fixture(scope="module")
def grid():
    return make_report_data(outcome_counts=COUNTS, epsilons=(1.0, 5.0), private=GRID).metrics


def draw(metrics, view):
    return r2_figure(*curves(metrics), view).svg()


def lines(svg, look):
    """Return the points of all lines of a look, an array (n, 2) each."""
    dash = {"stroke_dasharray": look.dash, "stroke_width": str(look.width), "fill": "none"}
    found = [d for d in paths(svg, stroke=look.color, **dash) if "L" in d]
    return [numbers(d, 2) for d in found]


def scale_up(svg):
    """Return a function of the top of a panel and points to R^2, by ticks."""
    words = [(one.text, float(one.get("y"))) for one in ET.fromstring(svg).iter(NAME + "text")]
    zero, tick = (next(y for text, y in words if text == name) for name in ("0.0", "0.2"))
    return (zero - tick) / 0.2


def test_r2_figure__against_outcomes_draws_means_and_the_range_of_replicates(demo):
    shown = demo.query("n_variants == 24 and epsilon == 4 and accounting == 'gdp' or protection == 'none'")
    shown = shown[shown["n_variants"] == 24]
    svg = draw(shown, BY_OUTCOMES)

    rows = shown.query("accounting == 'gdp'")
    replicates = rows.groupby(["n_outcomes", "replicate"])["r2"].mean().groupby("n_outcomes")
    look, per_unit = series_looks(curves(shown)[0])["ReuseCovGauss (full, exact accounting)"], scale_up(svg)
    line = max(lines(svg, look), key=lambda points: np.ptp(points[:, 0]))
    np.testing.assert_allclose(np.diff(line[:, 1]) / -per_unit, np.diff(replicates.mean()), atol=0.003)
    (band,) = (numbers(d, 2) for d in paths(svg, fill=look.color, fill_opacity="0.13"))
    spread = replicates.max().max() - replicates.min().min()
    assert np.ptp(band[:, 1]) / per_unit == pytest.approx(spread, abs=0.003)
    assert band[:, 1].min() <= line[:, 1].min() <= line[:, 1].max() <= band[:, 1].max()


def test_r2_figure__against_epsilon_references_are_level_lines(demo):
    shown = demo.query("n_variants == 12 and n_outcomes == 3")
    svg = draw(shown, BY_EPSILON)

    looks, per_unit = series_looks(curves(shown)[0]), scale_up(svg)
    gblup = max(lines(svg, looks["GBLUP (not private)"]), key=lambda points: np.ptp(points[:, 0]))
    assert gblup[0, 1] == gblup[1, 1]
    assert np.ptp(gblup[:, 0]) == pytest.approx(WIDTH - LEFT - RIGHT, abs=0.2)
    gdp = shown.query("accounting == 'gdp' and epsilon == 4")["r2"].mean()
    private = max(
        lines(svg, looks["ReuseCovGauss (full, exact accounting)"]), key=lambda points: np.ptp(points[:, 0])
    )
    reference = shown.query("method == 'gblup'")["r2"].mean()
    assert (private[-1, 1] - gblup[0, 1]) / per_unit == pytest.approx(reference - gdp, abs=0.003)


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

    svg = draw(few.assign(r2=0.3), BY_EPSILON)

    words = texts(svg)
    assert [word for word in words if "variants, " in word] == ["24 variants, 3 outcomes"]
    assert [word for word in words if word.endswith(")")] == labels
    top = words["24 variants, 3 outcomes"][1]
    for look in series_looks(curves(few)[0]).values():
        dots = [centre(dot) for dot in paths(svg, fill=look.color, stroke=look.color)[1:]]
        points = np.vstack([np.reshape(dots, (-1, 2)), *lines(svg, look)])
        assert len(points)
        assert ((points[:, 0] >= LEFT) & (points[:, 0] <= WIDTH - RIGHT)).all()
        assert ((points[:, 1] >= top) & (points[:, 1] <= top + PANEL_HEIGHT + 10)).all()


def test_r2_figure__with_one_epsilon_series_stand_side_by_side(demo):
    few = demo.query("n_variants == 24 and n_outcomes == 3 and epsilon == 1")

    svg = draw(few.assign(r2=0.3), BY_EPSILON)

    places = []
    for look in series_looks(curves(few)[0]).values():
        # The first is of the legend.
        _, dot = paths(svg, fill=look.face or look.color, stroke=look.color)
        places.append(centre(dot)[0])
    assert len(set(places)) == 2
    assert all(LEFT < place < WIDTH - RIGHT for place in places)


def test_r2_figure__a_line_that_falls_ends_in_a_triangle_and_a_note(demo):
    metrics = demo.assign(r2=np.where(demo["protection"] == "none", 0.5, 0.4))
    falls = metrics["accounting"].eq("gdp") & metrics["n_outcomes"].eq(3) & metrics["epsilon"].eq(1)
    metrics.loc[falls, "r2"] = -5000.0

    one = metrics[metrics["n_variants"].eq(24) & ~metrics["epsilon"].eq(4)]
    svg, whole = draw(one, BY_OUTCOMES), draw(metrics, BY_OUTCOMES)

    assert [word for word in texts(svg) if "down" in word] == ["ReuseCovGauss (exact) down to −5,000"]
    assert whole.count("down to −5,000") == 2
    look = series_looks(curves(one)[0])["ReuseCovGauss (full, exact accounting)"]
    (triangle,) = (d for d in paths(svg, fill=look.color) if d.count(" ") == 5)
    x, y = centre(triangle)
    assert 0 < (x - LEFT) / (WIDTH - LEFT - RIGHT) < 0.12
    line = max(lines(svg, look), key=lambda points: np.ptp(points[:, 1]))
    assert line[-1] == pytest.approx((x, y), abs=0.3)
    ticks = texts(svg)
    assert (y - ticks["0.0"][1]) / scale_up(svg) == pytest.approx(-LOWEST, abs=0.1)


def test_r2_figure__lines_below_all_along_are_marked_and_notes_do_not_meet(grid):
    metrics = grid.assign(r2=np.where(grid["protection"] == "none", 0.5, -7.0))

    svg = draw(metrics, BY_OUTCOMES)

    notes = [
        (float(one.get("x")), float(one.get("y")), one.text)
        for one in ET.fromstring(svg).iter(NAME + "text")
        if "down to" in one.text
    ]
    assert min(text for _, _, text in notes) == "AdaSSP down to −7"
    assert len([d for d in paths(svg) if d.startswith("M") and d.count(" ") == 5]) >= len(notes)
    for i, (x, y, text) in enumerate(notes):
        others = [(a, other) for a, b, other in notes[:i] if b == y]
        width = text_width([text], NOTE_SIZE)
        assert all(x + width < a or a + text_width([other], NOTE_SIZE) < x for a, other in others)


def test_lay_out__a_grid_of_many_lines_has_a_column_per_protection(grid):
    fits, table = curves(grid)

    layout = lay_out(fits, table, BY_OUTCOMES)

    assert layout.columns == "protection"
    assert layout.panels[0] == [Panel(12, 1.0, None, name) for name in ("full", "feature", "label")]
    assert [row[0][:2] for row in layout.panels] == [(12, 1.0), (12, 5.0), (24, 1.0), (24, 5.0)]
    assert left_out_words(layout, BY_OUTCOMES) == ""
    words = list(texts(draw(grid, BY_OUTCOMES)))
    assert words.index(protected_in_brief("full")) > 2 + 7 - 1
    assert (
        max(
            len(rows_of(table, panel, BY_OUTCOMES)["series"].unique())
            for row in layout.panels
            for panel in row
        )
        <= MAX_LINES
    )


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

    svg = draw(metrics, BY_EPSILON)

    titles = [one.text for one in ET.fromstring(svg).iter(NAME + "text") if "variants, " in (one.text or "")]
    assert len(titles) == sum(map(len, lay_out(*curves(metrics), BY_EPSILON).panels)) - 2
    # The values of epsilon stand under the panel above instead.
    heights = [
        float(one.get("y")) for one in ET.fromstring(svg).iter(NAME + "text") if one.text == BY_EPSILON.label
    ]
    assert len(heights) == 3
    assert heights[2] < heights[0] == heights[1]


def test_r2_figure__few_series_of_several_accountings_share_panels():
    metrics = make_report_data(n_outcomes=3, private=PRIVATE + GRID[6:9]).metrics

    assert "ReuseCovProj (feature, exact accounting)" in texts(draw(metrics, BY_OUTCOMES))
