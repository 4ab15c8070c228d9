from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpgrs.reporting.chance_level import COLUMNS, at_chance_level, chance_r2, remedy
from dpgrs.reporting.data import read_metrics
from dpgrs.reporting.pages import write_overview
from html_pages import Page
from report_data import make_report_data


def make_metrics(cells, *, gblup=0.4, total=1.0):
    """Make metrics of two replicates of two outcomes; `cells` maps a fit and its design to its mean R^2."""
    rows = [
        dict(
            zip(
                ("method", "protection", "accounting", "epsilon", "n_variants", "n_outcomes"),
                cell,
                strict=True,
            )
        )
        | {"replicate": replicate, "outcome": name, "r2": r2 + shift, "mse": (1 - r2 - shift) * total}
        | {"mse_nonprivate": (1 - gblup) * total, "n_rows": 1536}
        for cell, r2 in cells.items()
        for replicate, name, shift in ((1, "a", -0.004), (2, "a", 0.002), (1, "b", 0.001), (2, "b", 0.001))
    ]
    reference = {"method": "gblup", "protection": "none", "accounting": "", "epsilon": np.nan}
    reference |= {"n_variants": 100, "n_outcomes": 1, "n_rows": 1536}
    reference |= {"r2": gblup, "mse": 0.6, "mse_nonprivate": 0.6}
    return pd.DataFrame([*rows, reference])


def cell(method, *, protection="full", epsilon=0.1, n_variants=100, n_outcomes=1):
    return method, protection, "gdp", epsilon, n_variants, n_outcomes


def test_at_chance_level__where_the_best_private_method_stays_below_a_hundredth():
    cells = {
        cell("blup"): 0.0099,
        cell("reusecov-gauss"): -3.0,
        cell("blup", n_outcomes=10): 0.0099,
        cell("reusecov-gauss", n_outcomes=10): 0.0101,
        cell("blup", n_variants=400): -1e300,
        cell("blup", epsilon=5.0): 0.3,
        cell("blup", protection="label"): 0.002,
        cell("blup", protection="label", n_outcomes=10): -0.5,
    }

    found, n_cells = at_chance_level(make_metrics(cells), least_r2=0.01)

    assert n_cells == 6
    assert [one[:4] for one in found] == [
        ("full", "gdp", 0.1, "100 variants with 1 outcome; 400 variants with 1 outcome"),
        ("label", "gdp", 0.1, "every design"),
    ]
    assert [one.n_designs for one in found] == [2, 2]


@pytest.mark.parametrize("total", [1e-3, 1.0, 50.0])
def test_at_chance_level__not_where_there_is_nothing_to_predict(total):
    cells = {cell("blup"): 0.002}

    assert at_chance_level(make_metrics(cells, gblup=0.009, total=total), least_r2=0.01) == ([], 1)
    assert len(at_chance_level(make_metrics(cells, gblup=0.011, total=total), least_r2=0.01)[0]) == 1


def test_chance_r2__is_what_a_score_without_knowledge_stays_below():
    rng = np.random.Generator(np.random.PCG64(0))
    metrics = pd.DataFrame({"n_rows": [800, 800]})
    least = chance_r2(metrics, test_share=0.2)
    y, prediction = rng.normal(size=(2, 4000, 200))
    # The best that scaling could make of each, on 200 test rows.
    squared = [np.corrcoef(*pair)[0, 1] ** 2 for pair in zip(y, prediction, strict=True)]
    assert np.mean(np.array(squared) < least) == pytest.approx(0.95, abs=0.02)
    assert chance_r2(metrics, test_share=0.8) == pytest.approx(least / 16)
    assert chance_r2(metrics, test_share=0) == np.inf


def test_at_chance_level__not_where_no_r2_is_known():
    metrics = make_metrics({cell("blup"): 0.002}).assign(r2=np.nan)

    assert at_chance_level(metrics, least_r2=0.01) == ([], 1)
    assert at_chance_level(metrics[metrics["protection"] == "none"], least_r2=0.01) == ([], 0)


def test_remedy__names_tight_bounds_unless_they_are_there():
    assert remedy("worst-case") == "Raise ε, ask for fewer variants or outcomes, or use tight bounds."
    assert remedy("tight", epsilon="epsilon") == "Raise epsilon or ask for fewer variants or outcomes."


def test_write_overview__says_where_all_is_noise(tmp_path):
    data = make_report_data(n_outcomes=3, epsilons=(0.05, 16.0))

    write_overview(data, tmp_path)

    least = chance_r2(data.metrics, test_share=data.study.test_share)
    text = " ".join(Page(tmp_path / "index.html").text.split())
    assert "All noise at 8 of 16 combinations of privacy terms, variants and outcomes. At those below" in text
    assert f"none has a mean R² of {least:.2g} or more" in text
    assert "Full protection, exact accounting, ε = 0.05: every design" in text
    assert "ε = 16:" not in text
    write_overview(make_report_data(n_outcomes=3, epsilons=(16.0,)), tmp_path / "other")
    assert "All noise" not in Page(tmp_path / "other" / "index.html").text


def test_write_overview__says_that_nothing_stands_beside_private_fits(tmp_path):
    """As in a study of whole genomes, whose X'X nobody sums."""
    data = make_report_data(n_outcomes=3, epsilons=(0.05, 16.0))
    texts = []
    for number, metrics in enumerate((data.metrics, data.metrics.assign(mse_nonprivate=np.nan))):
        write_overview(replace(data, metrics=metrics), tmp_path / str(number))
        texts.append(" ".join(Page(tmp_path / str(number) / "index.html").text.split()))
    assert ["GBLUP, the reference without privacy, does" in text for text in texts] == [True, False]
    assert ["this study has no fit without privacy" in text for text in texts] == [False, True]


def test_read_metrics__the_columns_asked_for(tmp_path):
    make_metrics({cell("blup"): 0.002}).to_csv(tmp_path / "metrics.tsv", sep="\t", index=False)

    read = read_metrics(tmp_path / "metrics.tsv", columns=COLUMNS)

    assert set(read) == set(COLUMNS)
    assert len(at_chance_level(read, least_r2=0.01)[0]) == 1
