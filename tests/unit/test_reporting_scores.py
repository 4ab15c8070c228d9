"""The page of scored people: what it shows, and of how many people it shows nothing."""

import numpy as np
import pytest

from dpgrs.reporting.scores import BEYOND, FEWEST_PEOPLE, MISSING, WIDE, ScoreData, write_score_page
from html_pages import Page

STATUS = {"matched": 1200, "not in the target": 34}
VARIANTS = [{"scores": "a, b", "variants": 1234, "used": 1200, "ambiguous_used": 77, "status": STATUS}]


def page_of(folder, n_people, *, populations=None, notes=(), names=("a", "b")):
    values = np.random.default_rng(1).standard_normal((len(names), n_people))
    units = ["raw sum"] * len(names)
    data = ScoreData(VARIANTS, list(names), units, values, populations, list(notes))
    write_score_page(folder, data)
    return (folder / "index.html").read_text(), values


def test_write_score_page__shows_variants_distributions_and_deciles(tmp_path):
    populations = np.repeat(["AFR", "EUR", "rare <3>"], [FEWEST_PEOPLE, 80, FEWEST_PEOPLE - 1])
    text, values = page_of(tmp_path, len(populations), populations=populations, notes=["careful & slow"])
    assert "private data" in text
    assert "careful &amp; slow" in text
    assert text.count("<svg") == 2
    assert "AFR (50)" in text
    assert "EUR (80)" in text
    assert "rare" not in text
    assert "leaves out 49 people" in text
    assert "1,200" in text
    assert "1,234" in text
    assert "A/T or C/G, used" in text
    assert ">77<" in text
    for one in np.quantile(values, [0.1, 0.9], axis=1).ravel():
        assert f'data-value="{one:.9g}"' in text
    assert (tmp_path / "assets" / "report.css").is_file()


@pytest.mark.parametrize(("n_people", "n_figures"), [(FEWEST_PEOPLE - 1, 0), (FEWEST_PEOPLE, 2)])
def test_write_score_page__shows_nothing_of_few_people(tmp_path, n_people, n_figures):
    text, values = page_of(tmp_path, n_people)
    assert text.count("<svg") == n_figures
    assert ("Deciles" in text) == (n_figures > 0)
    assert ("No distribution or decile of fewer than 50 people." in text) == (n_figures == 0)
    assert (f"{values[0].mean():.9g}" in text) == (n_figures > 0)


def test_write_score_page__of_small_populations_is_of_all_people(tmp_path):
    populations = np.repeat(["A", "B"], 30)
    text, _ = page_of(tmp_path, 60, populations=populations)
    assert "all people (60)" in text
    assert "A (30)" not in text


def test_write_score_page__draws_the_first_scores(tmp_path):
    text, _ = page_of(tmp_path, 60, names=[f"s{number}" for number in range(14)])
    assert text.count("<svg") == 10
    assert "4 more scores are in the tables alone" in text
    assert "s13" in text


def test_write_score_page__numbers_beyond_what_is_possible_and_missing_ones_say_why(tmp_path):
    noise, infinite = np.random.default_rng(1).standard_normal(200), np.inf
    values = np.array([0.1 + 1e9 * noise, 0.1 + 0.001 * noise, 170 + 1000 * noise, noise, np.nan * noise])
    names = ["far", "near", "height", "z", "flat"]
    limits = np.array([[0, 1]] * 2 + [[-infinite, infinite]] * 3)
    spreads, units = np.array([0.3, 0.3, 9, np.nan, np.nan]), ["outcome's own unit"] * 3 + ["Z_norm1"] * 2
    data = ScoreData(VARIANTS, names, units, values, limits=limits, spreads=spreads)
    assert data.remarks.tolist() == [BEYOND, "", WIDE, "", MISSING]
    write_score_page(tmp_path, data)
    page = Page(tmp_path / "index.html")
    shown = [float(one) for one in page.values("data-value") if one][5:]  # after those of variants
    assert min(shown[:11]) == 0
    assert max(shown[:11]) == 1
    assert shown[22:24] == pytest.approx([values[2].mean(), values[2].std()])
    assert len(shown) == 44
    text = " ".join(page.text.split())
    assert "far * outcome" in text
    assert "near outcome" in text
    assert "flat * Z_norm1 none none" in text
    assert "nan" not in text
    for name, remark in (("far", BEYOND), ("height", WIDE), ("flat", MISSING)):
        assert f"* {name}: {remark}" in text
    assert "Of flat nothing is drawn" in text


def test_write_score_page__names_ten_scores_with_one_remark(tmp_path):
    values = np.full((12, 60), np.nan)
    names = [f"s{number}" for number in range(12)]
    write_score_page(tmp_path, ScoreData(VARIANTS, names, ["Z_norm1"] * 12, values))
    assert f"s8, s9 and 2 more: {MISSING}" in (tmp_path / "index.html").read_text()
