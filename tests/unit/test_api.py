"""The functions for notebooks: numbers are those of the steps, and misuse is one line."""

import ast
import doctest
import re
import sys

import numpy as np
import pytest

import dpgrs
from dpgrs.api.terms import settings_of
from dpgrs.errors import UsageError
from dpgrs.evaluation.rows import joined_rows
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.steps.compute_statistics import compute_statistics
from dpgrs.steps.draw import draw
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study.in_process import variants_of_haplotypes
from refused import refused
from score_targets import make_score, make_target, write_score, write_target
from step_settings import settings_for
from study_runs import REPOSITORY

N, D, SEED = 400, 4, 3
FREQUENCY = np.array([0.2, 0.3, 0.4, 0.5])
PAGES = [REPOSITORY / "docs" / "how-to" / "notebook.md", REPOSITORY / "docs" / "reference" / "api.md"]
MODULES = sorted({sys.modules[getattr(dpgrs, name).__module__] for name in dpgrs.__all__}, key=repr)


@pytest.fixture(scope="module")
def cohort():
    """Rows of haplotypes, and two outcomes with units of their own."""
    rng = np.random.default_rng(0)
    X = (rng.random((N, D)) < FREQUENCY).astype(int)
    Y = 10 + 3 * (X @ rng.standard_normal((D, 2)) + rng.standard_normal((N, 2)))
    return X, Y


def known(**changes):
    return {"frequency": FREQUENCY, "centre": 10.0, "scale": 4.0, "seed": SEED} | changes


@pytest.mark.parametrize("method", ["blup", "adassp", "k-blup"])
def test_regress__is_what_the_steps_give(cohort, tmp_path, method):
    X, Y = cohort
    own = {"settings": {"screening.size": 2}}
    found = dpgrs.regress(5.0, X, Y, method, **known(**own))
    config = settings_of(5.0, n_variants=D, n_outcomes=2, methods=[method], seed=SEED, **own)
    names, mechanism = ("outcome_1", "outcome_2"), mechanism_of(method, is_release=False)
    paths = {name: tmp_path / name for name in ("variant_set", "statistics", "drawn.npz", "weights.npz")}
    outcomes = tmp_path / "outcomes"
    standardised = ((Y - 10) / 4).T
    Outcomes(names, {D: standardised}, {}, np.ones(N, dtype=bool), "haplotypes").save(outcomes)
    with variants_of_haplotypes(X.T, FREQUENCY) as variant_set:
        paths["variant_set"] = variant_set.path
        given = settings_for("compute-statistics", config)
        compute_statistics(given, variant_set.path, outcomes, output=paths["statistics"])
        draw(
            settings_for("draw", config),
            outcomes,
            mechanism=mechanism.name,
            method=[one for one in mechanism.drawn_for([method]) if one],
            **{name: paths[name] for name in mechanism.takes if name in paths},
            replicate=1,
            output=paths["drawn.npz"],
            events=tmp_path / "events.json",
            seconds=tmp_path / "seconds.tsv",
        )
        fit_weights(
            settings_for("fit-weights", config),
            [paths["drawn.npz"]],
            draw_seconds=[tmp_path / "seconds.tsv"],
            output=paths["weights.npz"],
            seconds=tmp_path / "fits.tsv",
        )
        rows = joined_rows(variant_set, D, rows="haplotypes")
    ((_, arrays),) = load_labelled(paths["weights.npz"])
    fit = LinearFit.of(arrays)
    assert np.array_equal(found.weights, fit.weights * 4)
    assert found.predict(X) == pytest.approx(10 + 4 * fit.predict(rows).T)


def test_noisy_statistics__fit_as_regress_and_cost_what_was_asked_for(cohort):
    noisy = dpgrs.noisy_statistics(5.0, *cohort, **known())
    for method in ("blup", "reusecov-gauss"):
        alone = dpgrs.regress(5.0, *cohort, method, **known())
        assert np.array_equal(noisy.fit(method).weights, alone.weights)
    assert noisy.terms.totals.tight == pytest.approx(5.0, rel=1e-6)
    assert noisy.sensitivities["gram"].proof == "docs/proofs/clipped_gram.md"
    assert not noisy.terms.is_private
    stated = noisy.fit("blup", heritability=0.3)
    assert not np.array_equal(stated.weights, noisy.fit("blup").weights)
    own = dpgrs.regress(5.0, *cohort, "blup", **known(settings={"regression.heritability": 0.3}))
    assert np.array_equal(stated.weights, own.weights)


def test_noisy_statistics__hang_on_the_seed_alone(cohort):
    first, again, other = (dpgrs.noisy_statistics(5.0, *cohort, **known(seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.gram, again.gram)
    assert not np.array_equal(first.gram, other.gram)


@pytest.mark.parametrize("protection", ["full", "feature", "label"])
def test_regress__near_least_squares_with_next_to_no_noise(protection):
    """Of people, under every protection: weights are per copy, in the outcome's unit."""
    rng = np.random.default_rng(1)
    X = rng.binomial(2, FREQUENCY, (3000, D))
    y = 5 + X @ [1.0, 0, -1, 0.5] + 0.3 * rng.standard_normal(3000)
    wide = {"privacy.bounds": "worst-case", "regression.lambda": 0, "regression.lambda_from": "fixed"}
    terms = known(centre=y.mean(), scale=y.std(), rows="people", protection=protection)
    fit = dpgrs.regress(10_000.0, X, y, "reusecov-gauss", settings=wide, **terms)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(3000)]), y, rcond=None)[0]
    assert np.append(fit.weights[0], fit.intercept) == pytest.approx(expected, abs=0.05)


def test_regress__prevalence_stands_for_centre_and_scale(cohort):
    X, Y = cohort
    cases = (Y > 12).astype(float)
    terms = {"frequency": FREQUENCY, "seed": SEED}
    fit = dpgrs.regress(50.0, X, cases, prevalence=0.4, **terms)
    assert fit.predict(X).mean() == pytest.approx(cases.mean(), abs=0.2)


def test_terms__count_no_cost_that_events_do_not_tell(cohort):
    """DP-SGD hides which rows it takes, and no ledger takes a Tukey mechanism."""
    assert dpgrs.regress(5.0, *cohort, "adassp", **known()).terms.totals.ledger == pytest.approx(5.0)
    for method in ("dp-sgd", "tukey"):
        assert dpgrs.regress(5.0, *cohort, method, **known()).terms.totals is None


def test_results__say_that_they_are_not_private(cohort):
    noisy = dpgrs.noisy_statistics(5.0, *cohort, **known())
    said = (
        "noise of epsilon 5 and delta 1e-06 for one haplotype, add-remove, full protection. "
        "Benchmark: not private"
    )
    assert repr(noisy) == f"<statistics of 2 outcomes x 4 variants, n = {noisy.n}: {said}>"
    assert noisy.fit()._repr_html_() == f"<p>weights of 2 outcomes x 4 variants by blup: {said}.</p>"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"X": np.zeros((N, D)) + 2},
            "`X` must hold only 0 or 1 where rows are haplotypes, got other values.",
        ),
        ({"X": np.full((N, D), np.nan)}, "`X` must hold only 0 or 1"),
        ({"X": np.zeros(N)}, r"`X` must be \(n_rows, n_variants\), got an array of \(400,\)."),
        ({"X": np.zeros((N - 1, D))}, "`X` must have two rows a person"),
        ({"Y": np.zeros(N - 2)}, "`Y` must have a row for each of the 400 rows of `X`, got an array of"),
        ({"Y": np.full(N, np.nan)}, "`Y` must hold finite numbers"),
        ({"Y": ["a"] * N}, "`Y` must hold numbers, got others. Convert it."),
        ({"frequency": FREQUENCY[:2]}, "`frequency` must be one number for each of 4 variants"),
        ({"frequency": np.zeros(D)}, "`frequency` must lie between 0 and 1"),
        ({"scale": 0}, "`scale` must be finite and above 0"),
        ({"scale": [1, 2, 3]}, "`scale` must be one number, or one for each of 2 outcomes"),
        ({"prevalence": 0.5}, "`Y` must hold only 0 and 1 beside `prevalence`"),
        ({"rows": "alleles"}, "`rows` must be haplotypes or people, got alleles."),
        ({"method": "blupp"}, "`method` must be one of .*, got blupp. Did you mean `blup`?"),
        ({"method": "ols"}, "`method` must be one of .*, got ols. Take one of them."),
        ({"method": "adassp", "protection": "label"}, "`settings` must be of one draw for adassp, got 0."),
        ({"epsilon": -1}, "`privacy.epsilon`, entry 1, must be a finite number"),
        ({"settings": {"regression.heritabilty": 0.3}}, "Did you mean `regression.heritability`?"),
        ({"settings": {"privacy.epsilon": [1]}}, "Give the argument `epsilon`."),
        ({"settings": {"privacy.ledger": "x"}}, "`settings` must name keys of a benchmark's draws and fits"),
        ({"settings": {"privacy.accounting": ["gdp", "paper"]}}, "must be of one draw for blup, got 2."),
    ],
)
def test_regress__misuse_is_one_line(cohort, changes, said):
    terms = {"epsilon": 5.0, "X": cohort[0], "Y": cohort[1], **known()} | changes
    with pytest.raises(UsageError, match=said.replace("?", r"\?")) as caught:
        dpgrs.regress(**terms)
    assert "\n" not in str(caught.value)


def test_fit__refuses_what_statistics_do_not_serve(cohort):
    noisy = dpgrs.noisy_statistics(5.0, *cohort, **known())
    assert "blup" in noisy.methods
    assert not {"blup-ld", "adassp", "ols"} & set(noisy.methods)
    with refused("method-not-served", "`method`", error=UsageError):
        noisy.fit("adassp")
    with refused("setting-not-of-benchmark", "`regression.heritability`", error=UsageError):
        noisy.fit("blup", heritabilty=0.3)


def test_plan__budget_is_that_of_the_draw(cohort):
    planned = dpgrs.plan(5.0, people=N // 2, n_variants=D, n_outcomes=2)
    assert planned["problems"] == []
    (asked,) = planned["requests"]
    noisy = dpgrs.noisy_statistics(5.0, *cohort, **known())
    mus = {event.statistic: event.mu for event in noisy.terms.events}
    assert {part["statistic"]: part["mu"] for part in asked["mechanisms"]} == pytest.approx(mus)
    with pytest.raises(UsageError, match=r"privacy.epsilon"):
        dpgrs.plan(0.0, people=N, n_variants=D)


def test_names__are_all_documented_and_found():
    page = PAGES[1].read_text()
    for name in dpgrs.__all__:
        assert callable(getattr(dpgrs, name))
        assert f"dpgrs.{name}" in page
    assert set(dpgrs.__all__) <= set(dir(dpgrs))
    with pytest.raises(AttributeError, match="has no attribute `nothing`"):
        dpgrs.nothing  # noqa: B018


@pytest.fixture(scope="module")
def files_of_examples(published, tmp_path_factory):
    """A folder with the files that examples name: a bundle, genotypes and a scoring file."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "release").symlink_to(published.root / "bundle")
    rng = np.random.default_rng(1)
    records = make_target(rng, n_people=6, n_records=8)
    write_target(folder / "target.vcf", records)
    write_score(folder / "scores.txt", records, make_score(rng, records))
    return folder


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples__of_functions_run(module, files_of_examples, monkeypatch):
    monkeypatch.chdir(files_of_examples)
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", dpgrs.__all__)
def test_examples__are_there_for_each_function(name):
    assert doctest.DocTestParser().get_examples(getattr(dpgrs, name).__doc__)


def test_examples__of_pages_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGES[0].read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        ast.parse(block)
    names = {}
    for block in blocks:
        exec(block, names)
    printed = re.findall(r"```text\n(.*?)```", PAGES[0].read_text(), flags=re.DOTALL)
    assert capsys.readouterr().out == "".join(printed)
