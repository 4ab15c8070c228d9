"""Pages of a release whose variants were chosen in private."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.files import write_table
from dpgrs.reporting.release_data import STATISTICS
from dpgrs.steps import render_release_report as report_step
from dpgrs.steps.render_release_report import render_release_report
from forged_releases import STATEMENT
from html_pages import text_of
from refused import refused
from release_choices import CHOSEN, allow_laplace, make_chosen_release, make_laplace
from release_data import SITES

OUTCOME = "outcomes/01/outcome_000{}.html"
HEADINGS = ["Chromosome", "Position", "Id", "Effect allele", "Other allele", "Public frequency", "Weight"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The arguments of a rendered release with a number with Laplace noise."""
    arguments = make_chosen_release(
        tmp_path_factory.mktemp("chosen") / "study", more=[(make_laplace(), None)]
    )
    with pytest.MonkeyPatch.context() as patch:
        allow_laplace(patch, "carriers")
        render_release_report(**arguments, processes=1)
    return arguments


def rows_of(page, table):
    """Return the cells of a table, row by row, with what they are sorted by."""
    body = page.read_text().partition(table)[2].partition("<tbody>")[2].partition("</tbody>")[0]
    pattern = r'<(?:td|th)[^>]*?(?: data-value="([^"]*)")?>([^<]*)</(?:td|th)>'
    return [re.findall(pattern, row) for row in body.split("<tr>")[1:]]


def test_overview__says_how_many_were_chosen(study):
    text = text_of(study["output"] / "index.html")
    assert "Risk scores of 3 outcomes from 3 variants each, chosen in private out of 8 public sites," in text
    assert re.search(r"Public sites ?8 ?Chosen for an outcome ?3 ", text)
    assert "at every chosen variant" in text


def test_overview__choices_stand_among_the_mechanisms_with_their_epsilon(study):
    page = study["output"] / "index.html"
    rows = [[cell for _, cell in row] for row in rows_of(page, 'aria-label="Noisy statistics"')]
    assert rows[1] == [
        STATISTICS["Kendall's correlations"],
        "height",
        "3 of 8",
        "2",
        "ε 0.25",
        "23.1 % of ε",
    ]
    assert [row[4] for row in rows[10:]] == ["ε 0.334"]
    assert not any("ε" in cell for row in (rows[0], *rows[4:10]) for cell in row)
    text = text_of(page)
    assert re.search(r"Noise \(sd\) or ε ?Share of μ² or pure ε", text)
    assert "(Euclidean length, of Laplace noise the sum of the differences)" in text
    assert "and a pure ε of 1.09" in text
    assert "(ε(μ, δ) + pure ε, δ)-differentially private" in text
    assert "Percentages are of μ² and of pure ε" in text


@pytest.mark.parametrize("number", [1, 2, 3])
def test_outcome_page__lists_chosen_variants_by_position(study, number):
    page = study["output"] / OUTCOME.format(number)
    rows = rows_of(page, 'id="weights-table"')
    sites = SITES.iloc[CHOSEN[number - 1]]
    assert {(row[0][1], row[1][0], row[3][1], row[4][1]) for row in rows} == {
        (site.contig.removeprefix("chr"), str(site.position), site.alt, site.ref)
        for site in sites.itertuples()
    }
    places = [(23 if row[0][1] == "X" else int(row[0][1]), int(row[1][0])) for row in rows]
    assert places == sorted(places)
    text = text_of(page)
    assert "3 variants, chosen in private out of 8 public sites, by position" in text
    assert "largest" not in text
    assert "One bar per chosen variant" in text
    assert [heading for heading in HEADINGS if heading not in text] == []
    # No method gives any of chosen variants.
    assert "Standard error" not in text
    assert {len(row) for row in rows} == {7}


def test_outcome_page__weights_are_those_of_the_file(study):
    rows = rows_of(study["output"] / OUTCOME.format(2), 'id="weights-table"')
    table = pd.read_csv(study["bundle"] / "scores" / "LDL_HDL_ratio.txt.gz", sep="\t", comment="#")
    np.testing.assert_allclose([float(row[6][0]) for row in rows], table["effect_weight"], rtol=1e-8)


def test_overview__largest_weight_is_at_its_site(study):
    rows = rows_of(study["output"] / "index.html", 'id="outcome-table"')
    score = pd.read_csv(study["bundle"] / "scores" / "height.txt.gz", sep="\t", comment="#")
    largest = score.loc[score["effect_weight"].abs().idxmax()]
    cells = [cell for _, cell in rows[0]]
    assert cells[-1] == f"{largest['chr_name']}:{largest['chr_position']:,}"
    assert cells[-3] == "3"


def test_render__raise_on_chosen_variants_that_are_no_public_sites(tmp_path, monkeypatch):
    arguments = make_chosen_release(tmp_path / "study")
    sites = pd.read_csv(arguments["sites"], sep="\t")
    write_table(arguments["sites"], sites.assign(position=sites["position"] + 1))
    stated = json.loads((arguments["bundle"] / STATEMENT).read_text())["data_domain"]["site_digest"]
    monkeypatch.setattr(report_step, "site_digest", lambda sites: stated)
    with refused("variants-of-another-release"):
        render_release_report(**arguments, processes=1)
