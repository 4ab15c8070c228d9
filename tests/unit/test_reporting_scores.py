"""The page of scored people: what it shows, and of how many people it shows nothing."""

import numpy as np
import pytest

from dpgrs.reporting.scores import FEWEST_PEOPLE, ScoreData, write_score_page

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
