"""Files that cases of the frontier are made of, and what the PRIMO paper does on a case."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.public_effects import match_effects
from dpgrs.io.scoring_files import open_effects
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.linalg.statistics import coded_rows
from dpgrs_papers.experiments.frontier_files import (
    at_penalty,
    first_replicate,
    last_version,
    measured,
    with_own_share,
    with_residuals_of,
    write_if_new,
    write_loadings,
    write_scores,
)
from frontier_studies import N_VARIANTS, outcomes_of, write_study

N_OUTCOMES = 6


@pytest.fixture
def study(tmp_path):
    """Make variant set and outcomes of a study; return its folder."""
    write_study(tmp_path / "study", n_outcomes=N_OUTCOMES)
    return tmp_path / "study"


def test_with_own_share__is_of_both_in_the_stated_shares(study):
    variant_set, own = first_replicate(study)
    shared = outcomes_of(variant_set, own.is_training, n_outcomes=N_OUTCOMES, n_factors=2)
    found = with_own_share(variant_set, shared, own, own_share=0.25)
    for name in ("values", "effects"):
        one, other = getattr(shared, name)[N_VARIANTS], getattr(own, name)[N_VARIANTS]
        np.testing.assert_allclose(getattr(found, name)[N_VARIANTS], np.sqrt(0.75) * one + 0.5 * other)
    assert found.names == own.names


def test_with_residuals_of__takes_all_but_the_genetic_part(study):
    variant_set, own = first_replicate(study)
    shared = outcomes_of(variant_set, own.is_training, n_outcomes=N_OUTCOMES, n_factors=2)
    found = with_residuals_of(variant_set, shared, own)
    X = coded_rows(variant_set.genotypes(), n_haplotypes=variant_set.n_haplotypes, rows=own.rows)

    def residuals(of):
        rest = of.values[N_VARIANTS] - of.effects[N_VARIANTS] @ X.T
        return rest - rest.mean(axis=1, keepdims=True)

    assert found.effects is shared.effects
    np.testing.assert_allclose(residuals(found), residuals(own), atol=1e-12)
    assert not np.allclose(residuals(found), residuals(shared))


def test_write_loadings__are_of_the_correlations(study, tmp_path):
    _, outcomes = first_replicate(study)
    path = tmp_path / "loadings.tsv"
    write_loadings(path, outcomes, n_components=N_OUTCOMES - 1)
    found = read_outcome_loadings(path)
    loadings, correlation = found.of(outcomes.names), np.corrcoef(outcomes.values[N_VARIANTS])
    least = np.linalg.eigvalsh(correlation)[0]
    # All but the last component: what is left has one eigenvalue.
    left = np.linalg.eigvalsh(correlation - loadings @ loadings.T)
    np.testing.assert_allclose(left, [*[0] * (N_OUTCOMES - 1), least], atol=1e-12)
    spread = (loadings**2).sum(axis=0)
    assert (np.diff(spread) < 0).all()


@pytest.mark.parametrize("correlation", [1.0, -1.0])
def test_write_scores__are_read_as_the_effects(study, tmp_path, correlation):
    variant_set, outcomes = first_replicate(study)
    paths = write_scores(tmp_path / "scores", variant_set, outcomes, correlation=correlation, seed=1)
    assert [Path(path).stem for path in paths] == list(outcomes.names)
    for path, effects in zip(paths, outcomes.effects[N_VARIANTS], strict=True):
        found = match_effects(open_effects(path, build="GRCh37"), variant_set.variants)
        np.testing.assert_allclose(found[0], correlation * effects, rtol=1e-12)


def test_write_scores__are_no_effects_at_a_correlation_of_0(study, tmp_path):
    variant_set, outcomes = first_replicate(study)
    paths = write_scores(tmp_path / "scores", variant_set, outcomes, correlation=0.0, seed=1)
    others = write_scores(tmp_path / "others", variant_set, outcomes, correlation=0.6, seed=1)
    true = outcomes.effects[N_VARIANTS]
    weights, both = (
        np.array([pd.read_csv(path, sep="\t", comment="#")["effect_weight"] for path in own])
        for own in (paths, others)
    )
    np.testing.assert_allclose(both, 0.6 * true + 0.8 * weights)
    # The correlation of 72 pairs has a standard deviation of 0.12.
    assert abs(np.corrcoef(weights.ravel(), true.ravel())[0, 1]) < 0.6


def test_measured__has_the_paper_along_its_path_and_ours_beside_ridge(study):
    variant_set, outcomes = first_replicate(study)
    known = {"seed": 1, "counts": [2, N_OUTCOMES], "epsilons": [5]}
    paper = measured("paper", variant_set, outcomes, methods=["reusecov-gauss"], bounds="paper", **known)
    assert set(paper["protection"]) == {"none", "full", "feature", "label"}
    lines = paper[paper["method"] == "reusecov-gauss"].groupby(["protection", "n_outcomes", "which"]).size()
    assert lines.xs("path", level="which").tolist() == [15] * 6
    ours = measured("ours", variant_set, outcomes, methods=["blup"], bounds="tight", **known)
    found = at_penalty(ours, 0.01)
    assert found["method"].tolist() == ["ridge", "ridge", "blup", "blup"]
    ridge = found.loc[found["method"] == "ridge", ["n_outcomes", "r2"]]
    exact = paper[(paper["method"] == "ridge") & np.isclose(paper["penalty"], 0.01)]
    np.testing.assert_array_equal(ridge, exact[["n_outcomes", "r2"]])


def test_last_version__clips_no_row_of_few_outcomes(study):
    variant_set, outcomes = first_replicate(study)
    many = replace(outcomes, names=tuple(f"o{j}" for j in range(12)), prevalence=None)
    for kind in ("values", "effects"):
        getattr(many, kind)[N_VARIANTS] = np.tile(getattr(outcomes, kind)[N_VARIANTS], (2, 1))
    known = {"seed": 1, "epsilons": [5]}
    found = last_version(variant_set, many, counts=[1, 12], **known)
    now, before = (
        measured("ours", variant_set, many, methods=["blup"], bounds="tight", counts=[1, 12], **known, **clip)
        for clip in ({}, {"outcome_clip": 3})
    )
    r2 = [
        one[one["method"] == "blup"].set_index("n_outcomes")["r2"].to_dict() for one in (found, now, before)
    ]
    assert r2[0] == {1: r2[2][1], 12: r2[1][12]}
    assert r2[1][1] != r2[2][1]
    assert r2[1][12] != r2[2][12]


def test_write_if_new__keeps_the_time_of_a_file_that_is_there(tmp_path):
    path = tmp_path / "lists" / "a.txt"
    write_if_new(path, "a\nb\n")
    before = path.stat().st_mtime_ns
    write_if_new(path, "a\nb\n")
    assert path.stat().st_mtime_ns == before
    write_if_new(path, "a\n")
    assert path.read_text() == "a\n"
