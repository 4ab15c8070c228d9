import re
import xml.etree.ElementTree as ET
from base64 import b64decode

import numpy as np
import pandas as pd
import pytest

from dpgrs.methods.registry import METHODS
from dpgrs.reporting.accuracy import Accuracy
from dpgrs.reporting.charts import FEW_BARS, MARKS, Picture, mark
from dpgrs.reporting.fits import Fit
from dpgrs.reporting.outcome_figures import (
    MAX_BARS,
    PopulationsFigure,
    ReplicatesFigure,
    WeightsFigure,
    genome_axis,
    shared_places,
    thin_bars,
)
from dpgrs.reporting.overview import spread_figure
from dpgrs.reporting.pages import outcome_writer, write_overview
from dpgrs.reporting.styles import fit_colors, limits, series_looks
from dpgrs.reporting.svg import FAINT, inline_svg, save_svg
from html_pages import contents
from report_data import ONE_DESIGN, make_report_data
from svg_drawings import centre, numbers, paths, texts


@pytest.fixture(scope="module")
def data():
    return make_report_data(n_outcomes=3)


def texts_of_page(page):
    return {text for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL) for text in texts(svg)}


def test_figures__are_kept_as_files_in_categories(tmp_path, data):
    figures = [tmp_path / name for name in ("a", "b")]
    for folder in figures:
        write_overview(data, tmp_path / "report", figures=folder)
        outcome_writer(data, figures=folder)(2, 3, tmp_path / "report")

    assert {path.as_posix() for path in contents(figures[0])} == {
        "Accuracy/by_epsilon.svg",
        "Accuracy/by_outcomes.svg",
        "Accuracy/spread.svg",
        *(
            f"Outcomes/outcome_000{i}_{name}.svg"
            for i in (2, 3)
            for name in ("populations", "replicates", "weights")
        ),
    }
    assert contents(figures[0]) == contents(figures[1])
    # Each carries the stamp once, which the next outcome's would repeat otherwise.
    for svg in contents(figures[0]).values():
        assert svg.count(b">benchmark: not private</text>") == 1
        assert not re.search(rb"<metadata>\s*\S*date|20\d\d-\d\d|Matplotlib v", svg)


def test_figures__of_the_page_and_of_the_file_are_the_same(tmp_path, data):
    write_overview(data, tmp_path / "report", figures=tmp_path / "figures")

    svg = (tmp_path / "figures" / "Accuracy" / "by_outcomes.svg").read_text()
    page = texts_of_page((tmp_path / "report" / "index.html").read_text())
    assert set(texts(svg)) - page == {"benchmark: not private"}
    assert {
        "24 variants, ε\u00a0=\u00a04",
        "12 variants, ε\u00a0=\u00a01",
        "ReuseCovGauss (full, paper’s accounting)",
    } <= set(texts(svg))


def test_spread_figure__quartiles_of_the_outcomes(data):
    accuracy = Accuracy.of(data.metrics, outcomes=data.outcomes, replicates=2)

    svg = spread_figure(accuracy).svg()

    medians, words = np.median(accuracy.r2.mean(axis=2), axis=1), texts(svg)
    start, per_unit = words["0.0"][0], (words["0.4"][0] - words["0.0"][0]) / 0.4
    dots = [(centre(dot)[0] - start) / per_unit for dot in paths(svg, stroke="#fff")]
    np.testing.assert_allclose(dots, [median for median in medians if median >= -0.25], atol=0.002)


def test_spread_figure__fits_without_a_value_have_no_row(data):
    metrics = data.metrics.copy()
    metrics.loc[metrics["method"] == "ols", "r2"] = np.nan
    accuracy = Accuracy.of(metrics, outcomes=data.outcomes, replicates=2)

    figures = spread_figure(accuracy), ReplicatesFigure(accuracy).draw(0)
    rows = [list(texts(figure.svg())) for figure in figures]

    labels = [fit.brief for fit in accuracy.fits if fit.method != "ols"]
    assert rows[0][: len(labels)] == rows[1][: len(labels)] == labels
    assert not any("OLS" in text for row in rows for text in row)


def test_limits__reach_no_further_below_zero_than_half_the_top():
    bottom, top = limits(np.array([-100.0, 0.4, np.nan]))
    assert -0.3 < bottom < -0.2
    assert 0.4 < top < 0.5
    assert limits(np.array([-100.0, 0.4]), lowest=-0.1, reach=0)[0] == -0.1
    assert limits(np.array([0.1, 0.4]))[0] == 0
    assert np.isfinite(limits(np.full(3, np.nan))).all()


def test_series_looks__tell_all_series_apart():
    fits = [Fit(name, "none", "", None) for name in ("ols", "ridge")]
    names = [name for name, method in METHODS.items() if not method.is_non_private]
    protections = ("full", "feature", "label")
    fits += [Fit(name, p, a, 1.0) for name in names for p in protections for a in ("gdp", "paper")]

    looks = series_looks(fits)

    assert len(set(looks.values())) == len(fits)
    private = [looks[fit.series] for fit in fits if fit.is_private]
    assert len({look.color for look in private}) == len(names)
    assert {look.marker for look in private if isinstance(look.marker, str)} <= {"o", *MARKS}
    assert len({mark(look.marker, 0, 0, 5) for look in private}) == len(names)
    assert len({look.marker for look in private}) == len(names)
    assert len({look.dash for look in private}) == len(protections)


def test_fit_colors__one_method_under_several_protections():
    fits = [Fit("blup", name, "gdp", 1.0) for name in ("full", "feature", "label")]

    assert len(set(fit_colors(fits))) == 3


def test_fit_colors__grow_with_epsilon_to_the_full_colour():
    fits = [Fit("reusecov-gauss", "full", "gdp", epsilon) for epsilon in (1.0, 2.0, 4.0)]

    colors = fit_colors(fits)

    assert colors[-1] == series_looks(fits)[fits[0].series].color
    reds = [int(color[1:3], 16) for color in colors]
    assert reds == sorted(reds, reverse=True)


def test_genome_axis__chromosomes_side_by_side_in_proportion():
    x, chromosomes = genome_axis(["1", "1", "1", "2", "2"], [100, 200, 300, 5, 405])

    assert list(chromosomes) == ["1", "2"]
    (start1, end1), (start2, end2) = chromosomes.values()
    assert start1 == 0
    assert end1 < start2
    assert end2 == pytest.approx(1)
    assert (end2 - start2) / (end1 - start1) == pytest.approx(2)
    assert x.tolist() == pytest.approx([start1, (start1 + end1) / 2, end1, start2, end2])


def test_genome_axis__single_variants_are_in_the_middle_of_their_chromosome():
    x, chromosomes = genome_axis(["1", "2", "2"], [7, 1, 10**8])

    assert x[0] == pytest.approx(sum(chromosomes["1"]) / 2)
    assert chromosomes["1"][1] > chromosomes["1"][0]


def test_thin_bars__keeps_the_tallest_of_every_stretch():
    x = np.linspace(0, 1, 5 * MAX_BARS)
    heights = np.sin(np.arange(len(x)))

    kept_x, kept, places = thin_bars(x, heights, is_all=True)

    assert places == "stretches"
    assert len(kept) == MAX_BARS
    assert (np.diff(kept_x) > 0).all()
    stretch = np.minimum((x * MAX_BARS).astype(int), MAX_BARS - 1)
    tallest = pd.Series(np.abs(heights)).groupby(stretch).max()
    np.testing.assert_array_equal(np.abs(kept), tallest)
    # Stretches are as wide as bars, in the middle of which they stand.
    assert np.abs(kept_x - (stretch[::5] + 0.5) / MAX_BARS).max() < 1e-12


def test_thin_bars__a_stretch_without_bars_is_flat():
    x = np.repeat([0.25, 0.75], MAX_BARS)

    kept_x, kept, _ = thin_bars(x, np.linspace(-3, 2, 2 * MAX_BARS), is_all=False)

    assert kept[kept != 0].tolist() == [-3, 2]
    np.testing.assert_allclose(kept_x[kept != 0], [0.25, 0.75], atol=0.6 / MAX_BARS)


@pytest.mark.parametrize(("is_all", "places"), [(True, "variants"), (False, None)])
def test_thin_bars__few_bars_stay(is_all, places):
    x, heights = np.array([0.1, 0.9]), np.array([1.0, -2.0])

    assert thin_bars(x, heights, is_all=is_all) == (x, heights, places)


def test_shared_places__of_as_many_variants_as_figures_show_one_by_one(data):
    counts = (FEW_BARS - 1, FEW_BARS, MAX_BARS, MAX_BARS + 1)
    many = pd.DataFrame({"contig": "1", "position": np.arange(1, MAX_BARS + 2)})

    found = [shared_places(many[:count]) for count in counts]

    assert [one is not None for one in found] == [False, True, True, False]
    assert np.diff(np.frombuffer(b64decode(found[1]), "<u2").astype(int)).min() > 300


def test_pages__many_bars_are_packed_beside_the_places_of_variants(tmp_path):
    data = make_report_data(n_variants=FEW_BARS + 20, **ONE_DESIGN)
    write_overview(data, tmp_path / "report")
    outcome_writer(data, figures=tmp_path / "figures")(1, 1, tmp_path / "report/outcomes/01")

    page = (tmp_path / "report/outcomes/01/outcome_0001.html").read_text()
    # Of the fits; few variants have a true effect.
    assert page.count("data-bars=") == page.count('data-places="variants"') == 2
    assert page.index("../../assets/variants.js") < page.index("../../assets/report.js")
    assert page.count("<noscript>") == 1
    places = (tmp_path / "report/assets/variants.js").read_text()
    assert places == f'window.variantPlaces = "{shared_places(data.variants)}";\n'
    figure = (tmp_path / "figures/Outcomes/outcome_0001_weights.svg").read_text()
    assert "data-bars" not in figure
    assert max(d.count("M") for d in paths(figure)) > FEW_BARS
    assert "data-bars" not in (tmp_path / "report/index.html").read_text()


def test_weights_figure__bars_as_tall_as_weights_on_the_scale_of_their_strip(data):
    drawing = WeightsFigure(data.variants, labels=["true", "fit"], colors=["#000000", "#0072b2"])
    weights = [np.zeros(24), np.linspace(-2.0, 0.35, 24)]
    drawing.draw([10 * data.effects[0], np.ones(24)], ["a", "b"])

    svg = drawing.draw(weights, ["c", "d"]).svg()

    words = texts(svg)
    assert {"c", "d", "true", "fit", "1", "2", "chromosome"} <= set(words)
    assert not {"a", "b"} & set(words)
    assert paths(svg, stroke="#000000") == []
    (bars,) = paths(svg, stroke="#0072b2")
    x, zero, end = numbers(bars, 3).T
    assert (np.diff(x) > 0).all()
    assert len(set(zero)) == 1
    # Ticks of both strips are at 0; the last is that of the fit.
    per_unit = (words["−2"][1] - words["0"][1]) / 2
    np.testing.assert_allclose((zero - end) / per_unit, weights[1], atol=0.02)


def test_replicates_figure__points_at_their_values_and_arrows_at_the_edge():
    r2 = np.array([[[0.5, 0.25, np.nan], [0.0, -0.1, -9.0]]])
    fits = [Fit("ridge", "none", "", None), Fit("blup", "full", "gdp", 1.0)]
    accuracy = Accuracy(fits, np.moveaxis(r2, 0, 1), None, None)

    svg = ReplicatesFigure(accuracy).draw(0).svg()

    words = texts(svg)
    start, per_unit = words["0.0"][0], (words["0.4"][0] - words["0.0"][0]) / 0.4
    colors = [look.color for look in series_looks(fits).values()]
    exact, (*private, arrow) = [paths(svg, fill=color) for color in colors]
    dots = [(centre(dot)[0] - start) / per_unit for dot in (*exact, *private)]
    np.testing.assert_allclose(dots, [0.5, 0.25, 0, -0.1], atol=0.005)
    # A mean further down has no bar.
    assert [len(paths(svg, stroke=color)) for color in colors] == [1, 0]
    (rules,) = paths(svg, stroke=FAINT)
    assert "a" not in arrow
    assert centre(arrow)[0] == numbers(rules, 3)[0, 0]


def test_populations_figure__names_are_text_however_odd():
    names = ["a$b$", "<i>", "x" * 200]

    figure = PopulationsFigure(fits=["Ridge"], colors=["#000000"], populations=names)
    svg = figure.draw(np.array([[0.1, np.nan, -9.0]])).svg()
    svg = inline_svg(svg, prefix="p", label='"quoted" & <so>')

    assert {"Ridge", "a$b$", "<i>", "x" * 29 + "…"} <= set(texts(svg))
    assert ET.fromstring(svg).get("aria-label") == '"quoted" & <so>'
    # That of the legend, a dot and an arrow.
    assert len(paths(svg, fill="#000000")) == 3


def test_populations_figure__one_fit_stands_on_its_line_and_others_beside_it():
    def heights(n_fits):
        names, colors = [f"fit {place}" for place in range(n_fits)], ["#000000"] * n_fits
        svg = PopulationsFigure(fits=names, colors=colors, populations=["a", "b"]).draw(
            np.full((n_fits, 2), 0.1)
        )
        (rules,) = paths(svg.svg(), stroke=FAINT)
        dots = [centre(dot)[1] for dot in paths(svg.svg(), stroke="#fff")]
        return numbers(rules, 3)[:, 1], np.reshape(dots, (n_fits, 2))

    rules, dots = heights(1)
    np.testing.assert_array_equal(dots, [rules])
    rules, dots = heights(3)
    apart = (rules[1] - rules[0]) / 4
    np.testing.assert_allclose(dots, [rules - apart, rules, rules + apart], atol=0.1)


def test_inline_svg__ids_of_two_figures_do_not_meet():
    drawing = '<svg ><clipPath id="a"/><path clip-path="url(#a)"/><use href="#a"/></svg>'

    first, second = (inline_svg(drawing, prefix=prefix, label="") for prefix in "pq")

    assert re.findall(r'(?:id="|#)(\w-a)', first) == ["p-a"] * 3
    assert re.findall(r'(?:id="|#)(\w-a)', second) == ["q-a"] * 3


def test_save_svg__words_in_the_corner_once(tmp_path):
    stamped = Picture(200, 100)
    stamped.text(197, 94, "not & private", text_anchor="end")

    for svg in (Picture(200, 100).svg(), stamped.svg()):
        save_svg(svg, tmp_path / "a.svg", words="not & private")
        (place,) = (place for words, place in texts((tmp_path / "a.svg").read_text()).items() if "&" in words)
        assert place == pytest.approx((199, 99), abs=4)
        save_svg(svg, tmp_path / "b.svg")
        assert (tmp_path / "b.svg").read_text() == svg + "\n"
