from dataclasses import replace

import numpy as np
import pytest

from dpgrs.io.files import write_table
from dpgrs.reporting.attacks import attack_rows, attacks_figure
from dpgrs.reporting.data import read_metrics
from dpgrs.reporting.pages import write_overview
from dpgrs.reporting.styles import look_of
from dpgrs.reporting.svg import INK
from report_data import make_attacks, make_report_data
from svg_drawings import centre, numbers, paths, texts


@pytest.fixture(scope="module")
def attacks():
    return make_attacks()


def test_attack_rows__means_over_replicates_of_people(attacks):
    rows = attack_rows(attacks)

    assert len(rows) == 2 * 9
    ols = next(row for row in rows if row["seen"] == "Weights of OLS (not private)")
    chosen = attacks.query("method == 'ols' and n_variants == 24 and target == 'person'")
    assert len(chosen) == 2
    assert ols["advantage"] == pytest.approx(chosen["advantage"].mean())
    assert np.isnan(ols["advantage_bound"])


def test_attack_rows__largest_design_first_then_what_is_seen(attacks):
    rows = attack_rows(attacks.sample(frac=1, random_state=3))

    assert [row["n_variants"] for row in rows] == [24] * 9 + [12] * 9
    assert [row["seen"] for row in rows[:9]] == [
        "X′X (not private)",
        "X′X (full, exact accounting)",
        "X′X (full, exact accounting)",
        "X′X and X′Y (not private)",
        "X′X and X′Y (full, exact accounting)",
        "X′X and X′Y (full, exact accounting)",
        "Weights of OLS (not private)",
        "Weights of ReuseCovGauss (full, exact accounting)",
        "Weights of ReuseCovGauss (full, exact accounting)",
    ]
    assert [row["fit"].epsilon for row in rows[:3]] == [None, 1.0, 5.0]


@pytest.mark.parametrize("nothing", [None, make_attacks().head(0)])
def test_attack_rows__of_no_attack_are_none(nothing):
    assert attack_rows(nothing) == []


def test_attacks_figure__points_intervals_and_bounds_of_the_largest_design(attacks):
    rows = attack_rows(attacks)

    svg = attacks_figure(rows).svg()

    words = texts(svg)
    start, per_unit = words["0.0"][0], words["1.0"][0] - words["0.0"][0]
    shown = rows[:9]
    marked = {"advantage": {"stroke": "#fff"}, "advantage_bound": {"stroke": INK, "stroke_width": "1.6"}}
    for name, style in marked.items():
        values = [(centre(mark)[0] - start) / per_unit for mark in paths(svg, **style)]
        finite = [row[name] for row in shown if np.isfinite(row[name])]
        np.testing.assert_allclose(values, finite, atol=0.002)
    intervals = np.array([numbers(bar, 3)[0] for bar in paths(svg, stroke_width="1.1")])
    ends = (intervals[:, [0, 2]] - start) / per_unit
    wanted = [(row["advantage_low"], row["advantage_high"]) for row in shown]
    np.testing.assert_allclose(ends, wanted, atol=0.002)
    assert len(paths(svg, fill=look_of("reusecov-gauss")[0])) == 2


def test_write_overview__shows_attacks_where_there_are_any(attacks, tmp_path):
    data = make_report_data(n_outcomes=4, replicates=2)
    tables = {"with": attacks, "without": None, "empty": attacks.head(0)}
    pages = {}
    for name, table in tables.items():
        write_overview(replace(data, attacks=table), tmp_path / name)
        pages[name] = (tmp_path / name / "index.html").read_text()

    assert pages["without"] == pages["empty"]
    assert "attacker" not in pages["without"]
    assert 'href="#attacks"' in pages["with"]
    assert "What an attacker learns" in pages["with"]
    assert "benchmark: not private" in pages["with"]
    ols = attack_rows(attacks)[6]
    assert f'data-value="{ols["advantage"]:.9g}"' in pages["with"]


def test_read_metrics__attacks_without_a_bound_are_nan(attacks, tmp_path):
    write_table(tmp_path / "attacks.tsv", attacks)

    read = read_metrics(tmp_path / "attacks.tsv")

    assert attack_rows(read)[6]["seen"] == "Weights of OLS (not private)"
    np.testing.assert_allclose(read["advantage_bound"], attacks["advantage_bound"])
    assert read["method"].tolist() == attacks["method"].tolist()
