from dataclasses import replace

import numpy as np
import pytest

from dpgrs.reporting.accuracy import summary
from dpgrs.reporting.fits import Fit
from dpgrs.reporting.pages import outcome_writer, write_overview
from dpgrs.reporting.screening import (
    CAUSAL_COLOR,
    PRIVATE_COLOR,
    ScoresFigure,
    ScreeningViews,
    kept_back,
    kept_back_words,
)
from dpgrs.reporting.svg import INK, MUTED
from html_pages import text_of
from report_data import make_report_data, make_screened_data
from svg_drawings import centre, numbers, paths, texts

TUKEY = [Fit("k-tukey", "full", "gdp", epsilon) for epsilon in (1.0, 4.0, 16.0)]


@pytest.fixture(scope="module")
def data():
    return make_screened_data(n_outcomes=3)


@pytest.fixture(scope="module")
def views(data):
    return ScreeningViews(data)


def pages_of(data, directory):
    """Write the overview and the first two outcome pages; return their words."""
    write_overview(data, directory)
    outcome_writer(data)(1, 2, directory / "outcomes/01")
    names = ("index.html", "outcomes/01/outcome_0001.html", "outcomes/01/outcome_0002.html")
    return [text_of(directory / name) for name in names]


def test_views__a_row_per_variant_of_any_choice_by_score(data, views):
    rows, found = views.rows(1), data.screening

    taken = set(np.concatenate([choice.chosen[1] for choice in found.choices]).tolist())
    assert {row["site"].name for row in rows} == taken
    scores = [abs(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    for row in rows:
        variant = row["site"].name
        assert row["score"] == found.scores[1, variant]
        assert row["effect"] == data.effects[1, variant]
        assert (row["closeness"] == "yes") == (row["effect"] != 0)
        if row["closeness"] != "yes":
            assert (row["closeness"] == "partner") == (row["causal_r2"] >= 0.8)


def test_views__weights_where_a_fit_chose_and_nothing_elsewhere(data, views):
    # Without a non-private fit of chosen variants, the choice stands alone.
    assert views.columns[0].label == "Chosen, not private"
    assert len(views.columns) == 1 + 2 * 3
    weights = {Fit.of(fit): fit.weights for fit in data.weights}
    for row in views.rows(1):
        for column, cell in zip(views.columns, row["cells"], strict=True):
            if row["site"].name not in column.choice.chosen[1]:
                assert cell is None
            elif column.fit is None:
                assert cell == "chosen"
            else:
                assert cell == weights[column.fit][1, row["site"].name]


def test_views__no_effect_without_a_model(views):
    cells = {
        cell
        for row in views.rows(0)
        for column, cell in zip(views.columns, row["cells"], strict=True)
        if column.fit in TUKEY
    }
    assert cells == {None, "no model"}


def test_views__a_few_of_many_epsilons_and_one_accounting():
    data = make_screened_data(n_outcomes=1, replicates=1, epsilons=(1.0, 2.0, 4.0, 8.0, 16.0))
    others = [replace(choice, accounting="paper") for choice in data.screening.choices[1:]]
    screening = replace(data.screening, choices=[*data.screening.choices, *others])

    views = ScreeningViews(replace(data, screening=screening))

    assert [column.choice.epsilon for column in views.columns] == [None, 1.0, 1.0, 4.0, 4.0, 16.0, 16.0]
    assert {column.choice.accounting for column in views.columns} == {"", "gdp"}
    assert views.has_more


def test_kept_back__by_fit_and_outcome(data):
    assert kept_back(data.metrics, replicate=2) == {
        (fit, data.outcomes[0]): ["check failed"] for fit in TUKEY
    }
    words = "no model released: the check failed"
    assert kept_back_words(data.metrics, 2) == {data.outcomes[0]: dict.fromkeys(TUKEY, words)}
    assert kept_back_words(make_report_data(n_outcomes=1).metrics, 2) == {}


def test_summary__counts_outcomes_and_replicates_without_a_model(data):
    rows = summary(data.metrics)

    # The first outcome, in 2 replicates, is in every design.
    assert {row["no_model"] for row in rows if row["fit"].method == "k-tukey"} == {2}
    assert {row["no_model"] for row in rows if row["fit"].method != "k-tukey"} == {0}


def test_kept_back_words__some_replicates_for_several_reasons(data):
    metrics = data.metrics[data.metrics["method"] == "k-tukey"].copy()
    metrics.loc[metrics["replicate"] == 2, "status"] = "too few models"
    metrics.loc[metrics["outcome"] == data.outcomes[1], "status"] = "ok"

    words = kept_back_words(metrics, 3)

    assert words[data.outcomes[0]][TUKEY[0]] == (
        "no model released in 2 of 3 replicates: the check failed or there were too few models"
    )
    assert words[data.outcomes[2]][TUKEY[2]] == (
        "no model released in 1 of 3 replicates: there were too few models"
    )
    assert data.outcomes[1] not in words


def test_scores_figure__a_lane_per_choice_and_one_of_causal_variants(data):
    chosen = [np.array([3, 5]), np.array([5, 20])]
    scores = np.linspace(-30.0, 10.0, 24)

    figure = ScoresFigure(data.variants, labels=["not private", "b"], has_causal=True)
    figure.draw(-scores, chosen[::-1], np.array([2]))
    svg = figure.draw(scores, chosen, np.array([0, 23])).svg()

    assert {"not private", "b", "causal"} <= set(texts(svg))
    bars, *lanes = [
        numbers(path, 3)
        for color in (MUTED, INK, PRIVATE_COLOR, CAUSAL_COLOR)
        for path in paths(svg, stroke=color, commands="MV")
    ]
    np.testing.assert_allclose((bars[:, 1] - bars[:, 2]) / 120 * 1.1 * 30, np.abs(scores), atol=0.03)
    for lane, own in zip(lanes, (*chosen, [0, 23]), strict=True):
        np.testing.assert_array_equal(lane[:, 0], bars[own, 0])
    assert [lane[0, 1] - lanes[0][0, 1] for lane in lanes] == pytest.approx([0, 18, 36])
    dots = [centre(path) for path in paths(svg, commands="Maz")]
    np.testing.assert_allclose(dots, bars[np.concatenate(chosen)][:, [0, 2]])


def test_pages__chosen_variants_with_their_causal_partners(data, tmp_path):
    overview, first, second = pages_of(data, tmp_path)

    for words in (
        "Kendall + BLUP, Kendall + Tukey fit 3 variants for each outcome",
        "Choosing spends 5 % of ε",
        "would share 0.38 of 3 at 24 variants, and hit 0.56 causal ones",
        "r² ≥ 0.8 over the training haplotypes",
        "no fit not private – 24 3 1.5 1.2 2.2 1.8 4.5",
        "Kendall + BLUP, Kendall + Tukey exact accounting 16 24 3 1.5",
        "No model: outcomes and replicates in which the method released none",
    ):
        assert words in overview
    assert "Kendall + Tukey (full, exact accounting), ε = 1no model released: the check failed" in first
    # Three epsilons in the table of R^2, one of them as a strip of weights.
    assert first.count("no model released") == 3 + 1
    assert "No model: a check kept it back" in first
    assert "no model" not in second.lower()
    for row in (
        "Chromosome",
        "True effect",
        "r² with closest",
        "Kendall + BLUP (full, exact accounting), ε = 16",
    ):
        assert row in second


@pytest.mark.parametrize(
    ("options", "present"),
    [
        ({"is_simulated": True}, "Every variant has an effect in this simulation"),
        ({"is_simulated": False}, "Which variants are causal is not known."),
    ],
)
def test_pages__nothing_of_causal_variants_where_there_is_nothing_to_hit(tmp_path, options, present):
    data = make_screened_data(n_outcomes=2, replicates=1, knows_causal=False, **options)

    overview, first, _ = pages_of(data, tmp_path)

    assert present in overview
    assert "Causal ones" not in overview
    assert "r² with closest" not in first
    assert ("True effect" in first) == options["is_simulated"]


def test_pages__a_study_without_choices_has_none_of_it(tmp_path):
    for text in pages_of(make_report_data(n_outcomes=2, replicates=1), tmp_path):
        assert "Chosen variants" not in text
        assert "No model" not in text


def test_pages__choices_without_privacy_alone(tmp_path):
    overview, first, _ = pages_of(make_screened_data(n_outcomes=2, replicates=1, epsilons=()), tmp_path)

    assert "no fit not private – 24 2" in overview
    assert "Chosen, not private" in first
    assert "Rings" not in first
    assert "No model" not in overview


def test_pages__say_by_what_variants_are_chosen(data, tmp_path):
    both = replace(data, screening=replace(data.screening, methods=("k-blup", "s-blup")))
    overview, page, _ = pages_of(both, tmp_path / "both")
    assert (
        "chosen by Kendall scores (DPKendall) or by the products of variant and outcome (DP-SIS)" in overview
    )
    assert "The choices are those of Kendall + BLUP; the overview has those of the other methods." in page

    choices = [replace(choice, selector="sis") for choice in data.screening.choices]
    rows = [row._replace(selector="sis") for row in data.screening.rows]
    alone = replace(data.screening, methods=("s-blup",), choices=choices, rows=rows)
    overview, page, _ = pages_of(replace(data, screening=alone), tmp_path / "alone")
    assert "DPKendall" not in overview
    assert "DP-SIS + BLUP" in overview
    assert "Variants are chosen by the products of variant and outcome (DP-SIS), all at once" in page
    assert "the overview has those of the other methods" not in page


def test_pages__noisy_choices_that_are_not_private_say_so(data, tmp_path):
    exact, *_ = data.screening.choices
    rows = [row._replace(selector="sis", accounting="", epsilon=None) for row in data.screening.rows[:2]]
    rows[1] = rows[1]._replace(note="paper scaling, gdp noise of epsilon 1")
    options = {"choices": [replace(exact, selector="sis")], "rows": rows}
    screening = replace(data.screening, methods=("k-ols", "s-ols", "s-blup"), **options)

    overview, page, _ = pages_of(replace(data, screening=screening), tmp_path)

    assert "DP-SIS + BLUP, paper scaling, gdp noise of epsilon 1 not private – 24 3" in overview
    assert "Paper scaling is not private" in overview
    assert "DP-SIS + OLS not private – 24 3" in overview
    assert "The choices are those of DP-SIS + OLS; the overview" in page
    assert "Rings" not in page
