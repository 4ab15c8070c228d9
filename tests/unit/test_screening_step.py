"""Screening as steps of a benchmark: which choices and fits there are, what they are called and hang on."""

import json
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.files import write_table
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.labels import NO_PRIVACY
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.selection.registry import SELECTORS
from dpgrs.steps import evaluate_replicate as evaluate_step
from dpgrs.steps import fit_weights as fit_step
from dpgrs.steps.choose_exactly import choose_exactly
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study import training_data
from dpgrs_papers.methods import row_mechanisms
from draws import draw_all, sections_of
from screening_cohorts import CAUSAL, NAMES, cohort, frequencies
from step_settings import settings_for
from variant_sets import variants_in_memory

SCREENED = methods_that("is_screened")

SIZES = (5, 8)
KENDALL = [name for name in SCREENED if name.startswith("k-")]
DRAWN = [name for name, row in SELECTORS.items() if row.is_private]
VOTES = ("two-stage", "sublasso")
FAMILIES = {"kendall": "choice", "sis": "subset"}
PRIVATE = [name for name in SCREENED if not METHODS[name].is_non_private]
GRID = {"protections": ["full"], "accountings": ["gdp"], "epsilons": [1e4], "delta": 1e-6}
GRID |= {"sizes": SIZES, "counts": [1, 3], "neighbours": "add-remove", "unit": "person", "outcome_bound": 5.0}
SCREENING = {"size": 2, "share": 0.5}
FIT = {"rows_per_coefficient": 4.0}


class Files:
    """A variant set of eight variants, its outcomes, and what the steps make of them."""

    def __init__(self, folder, monkeypatch, *, rows):
        data = cohort(rows)
        ranks = np.array([7, 0, 1, 5, 2, 6, 3, 4])
        variant_set = variants_in_memory(
            data.genotypes,
            of_size=lambda size: np.flatnonzero(ranks < size),
            n_haplotypes=data.n_haplotypes,
            sample_id=np.array([f"P{number}" for number in range(data.n_haplotypes // 2)]),
            frequency=frequencies(),
        )
        for module in (training_data, fit_step, evaluate_step):
            monkeypatch.setattr(module, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
        rng = np.random.default_rng(5)
        # The values of test people are known, and told apart by the split alone.
        Y = np.where(data.is_training, data.Y, rng.standard_normal(data.Y.shape))
        self.folder, self.size_of = folder, {size: variant_set.of_size(size) for size in SIZES}
        Outcomes(NAMES, dict.fromkeys(SIZES, Y), {}, data.is_training, rows).save(folder / "outcomes.zarr")

    def screen(self, *, methods=SCREENED, screening=None, **changes):
        """Choose, exactly and by what is drawn; return the labelled choices and the events."""
        screening, outcomes, exact = SCREENING | (screening or {}), self.folder / "outcomes.zarr", []
        terms = GRID | changes | {"screening": screening}
        self.drawn = draw_all(self.folder, methods, regression=FIT, **terms)
        terms.pop("replicate", None)
        settings = settings_for("choose-exactly", methods=methods, **sections_of(**terms))
        choose_exactly(settings, "variant_set", outcomes, output=self.folder / "exact.npz")
        private = self.drawn.pop("choices", None)
        exact = load_labelled(self.folder / "exact.npz")
        if private is None:
            return exact, []
        return [*exact, *load_labelled(private)], json.loads(private.with_suffix(".json").read_text())

    def fit(self, *, methods=SCREENED):
        """Fit what was chosen; return (label, LinearFit) pairs."""
        files = {"outcomes": self.folder / "outcomes.zarr", "weights": self.folder / "weights.npz"}
        fit_weights(
            settings_for("fit-weights", methods=methods),
            self.drawn.values(),
            choices=self.folder / "exact.npz",
            variant_set="variant_set",
            outcomes=files["outcomes"],
            output=files["weights"],
            seconds=self.folder / "seconds.tsv",
        )
        return [(label, LinearFit.of(arrays)) for label, arrays in load_labelled(files["weights"])]

    def evaluate(self, counts, *, compared="k-ols"):
        """Measure what was fitted, with a fit in the place of ridge; return the metrics."""
        names = ("weights.npz", "seconds.tsv", "metrics.tsv", "populations.tsv", "outcomes.zarr")
        weights, seconds, metrics, populations, outcomes = (self.folder / name for name in names)
        fits = load_labelled(weights)
        # Metrics compare with ridge.
        stand_in = [item for item in fits if item[0]["method"] == compared]
        ridge = [(label | {"method": "ridge"}, arrays) for label, arrays in stand_in]
        save_labelled(weights, [*ridge, *fits])
        write_table(seconds, pd.DataFrame({"seconds": [0.5] * (len(ridge) + len(fits))}))
        paths = {"metrics": metrics, "population_metrics": populations}
        paths |= {"measures": self.folder / "measures.tsv"}
        settings = settings_for("evaluate-replicate", outcomes={"count": counts})
        evaluate_step.evaluate_replicate(
            settings, "variant_set", outcomes, weights, seconds, replicate=1, **paths
        )
        return pd.read_csv(metrics, sep="\t")


@pytest.fixture
def files(tmp_path, monkeypatch):
    return Files(tmp_path, monkeypatch, rows="people")


@pytest.mark.parametrize("rows", ["people", "haplotypes"])
@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
def test_steps__every_combination_is_chosen_and_fitted(tmp_path, monkeypatch, rows, bounds):
    files = Files(tmp_path, monkeypatch, rows=rows)
    choices, records = files.screen(bounds=bounds, genotype_clip=3.0)
    keys = list(product(SELECTORS, SIZES))
    exact, private = choices[: len(keys)], choices[len(keys) :]
    assert [(label["selector"], label["n_variants"]) for label, _ in exact] == keys
    best = {key: arrays["chosen"] for key, (_, arrays) in zip(keys, exact, strict=True)}
    # Whatever a study chooses by, Kendall's scores are there once.
    assert [arrays["scores"].shape for _, arrays in exact if "scores" in arrays] == [(3, 5), (3, 8)]
    asked = [(5, 1), (5, 3), (8, 1), (8, 3)]
    found = [(label["selector"], label["request"]["n_variants"], label["n_outcomes"]) for label, _ in private]
    assert found == [(selector, *pair) for selector in DRAWN for pair in asked]
    for (label, arrays), record in zip(private, records, strict=True):
        selector, size, count = label["selector"], label["request"]["n_variants"], label["n_outcomes"]
        assert record["events"] == label["events"]
        spent = sum(event["epsilon"] for event in record["events"])
        if selector in VOTES:
            # Equal votes are told apart by chance, and haplotypes make other groups than people.
            assert [len(set(own)) for own in arrays["chosen"].tolist()] == [2] * count
            assert {event["family"] for event in label["events"]} == {"laplace", "choice"}
            assert spent == pytest.approx(5e3 + 500)
            continue
        chosen = best[selector, size][:count]
        # What is chosen at once is in ascending order.
        chosen = np.sort(chosen, axis=1) if selector == "sis" else chosen
        np.testing.assert_array_equal(arrays["chosen"], chosen)
        assert {event["family"] for event in label["events"]} == {FAMILIES[selector]}
        assert spent == pytest.approx(5e3)
    fits = files.fit()
    found = {(label["method"], label["n_variants"], label["n_outcomes"]): fit for label, fit in fits}
    assert set(found) == {
        *((method, size, 3) for method in ("lasso", "k-ols", "l-ols", "s-ols") for size in SIZES),
        *((method, *pair) for method in PRIVATE for pair in asked),
    }
    for (method, size, count), fit in found.items():
        selector = METHODS[method].selector
        if selector in VOTES and method != "l-ols":
            assert (fit.weights != 0).sum(axis=1).tolist() == [2] * count
            continue
        chosen = best[selector, size][:count]
        np.testing.assert_array_equal(fit.chosen, np.sort(chosen, axis=1))
        expected = found["lasso" if method == "lasso" else f"{method[0]}-ols", size, 3].weights[:count]
        np.testing.assert_allclose(fit.weights, expected, atol=0.3)
    for label, _ in fits:
        assert "statuses" not in label


def test_steps__repeat_and_draw_anew_for_every_replicate_and_request(files):
    terms = {"sizes": [8], "counts": [3], "epsilons": [0.01, 0.02], "accountings": ["gdp", "paper"]}
    terms["methods"] = KENDALL
    runs = [files.screen(**terms, **key)[0][2:] for key in ({}, {}, {"replicate": 2}, {"seed": 2})]
    first, again, replicate, seed = ([arrays["chosen"].tolist() for _, arrays in run] for run in runs)
    assert first == again
    assert len({json.dumps(chosen) for chosen in (*first, *replicate, *seed)}) == 12
    methods = ["k-blup", "k-bas"]
    fits = []
    for seed in (1, 1, 2):
        files.screen(sizes=[8], counts=[3], epsilons=[50.0], seed=seed)
        fits.append(files.fit(methods=methods))
    for (_, fit), (_, same), (_, different) in zip(*fits, strict=True):
        np.testing.assert_array_equal(fit.weights, same.weights)
        assert (fit.weights[fit.weights != 0] != different.weights[fit.weights != 0]).all()


def test_steps__outcomes_with_separate_budgets_do_not_hang_on_their_number(files):
    files.screen(sizes=[8], outcome_budget="separate", epsilons=[30.0])
    fits = files.fit()
    found = {(label["method"], label["n_outcomes"]): fit for label, fit in fits}
    for method in PRIVATE:
        alone, together = found[method, 1], found[method, 3]
        np.testing.assert_array_equal(alone.weights[0], together.weights[0])


def test_draw__selectors_share_no_choice(files):
    """Each has its own draws, and a private method of one leaves the other without private choices."""
    terms = {"sizes": [8], "counts": [3], "epsilons": [0.01], "n_choices": 4}
    choices, _ = files.screen(**terms)
    found = [np.sort(arrays["chosen"], axis=1) for label, arrays in choices if "request" in label]
    by_sis = found[DRAWN.index("sis")]
    assert all((one != other).any() for one, other in combinations(found, 2))
    choices, _ = files.screen(**terms, methods=["k-ols", "s-blup"])
    private = [(label["selector"], arrays) for label, arrays in choices if "request" in label]
    ((selector, arrays),) = private
    assert selector == "sis"
    np.testing.assert_array_equal(arrays["chosen"], by_sis)
    assert {label["method"] for label, _ in files.fit()} == {"k-ols", "s-ols", "s-blup"}
    assert {label["method"] for label, _ in files.fit(methods=["s-blup"])} == {"s-blup"}


def test_steps__paper_scaling_promises_nothing_and_says_so(files):
    methods = ["s-ols", "s-blup", "k-blup"]
    terms = {"sizes": [8], "epsilons": [2.0, 1e4], "screening": {"scaling": "paper"}}
    choices, records = files.screen(methods=methods, **terms)
    noted = [(label, arrays) for label, arrays in choices if "note" in label]
    assert {label["selector"] for label, _ in noted} == {"sis"}
    assert not any(label["events"] for label, _ in noted)
    # No record of draws knows of it; that of DPKendall is as ever.
    assert {event["family"] for record in records for event in record["events"]} == {"choice"}
    # With hardly any noise it finds what each outcome hangs on most.
    for label, arrays in noted:
        if label["request"]["epsilon"] == 1e4:
            assert arrays["chosen"].tolist() == [sorted(pair) for pair in CAUSAL[: label["n_outcomes"]]]
    fits = [label for label, _ in files.fit(methods=methods) if label["method"].startswith("s-blup")]
    assert [(label["method"], label["n_outcomes"]) for label in fits] == [
        (f"s-blup, paper scaling, gdp noise of epsilon {epsilon}", count)
        for epsilon, count in product(["2", "10000"], [1, 3])
    ]
    for label in fits:
        assert label | {"protection": "none", **NO_PRIVACY, "is_of_count": True} == label
    metrics = files.evaluate([1, 3], compared="s-ols")
    told = metrics[metrics["method"].str.startswith("s-blup")]
    assert (told["protection"] == "none").all()
    assert told[["accounting", "epsilon", "delta", "neighbours", "unit"]].isna().all(axis=None)
    # One for each outcome of every number of outcomes, as of private fits.
    assert told.groupby(["method", "n_outcomes"]).size().tolist() == [1, 3, 1, 3]
    assert metrics[metrics["method"] == "s-ols"].groupby("n_outcomes").size().tolist() == [2 * 1, 2 * 3]


def test_draw__asks_nothing_where_there_is_nothing_to_ask(files):
    label_alone = {"protections": ["label"], "neighbours": "replace-one", "methods": KENDALL}
    for changes in ({"methods": ["k-ols"]}, label_alone):
        choices, records = files.screen(**changes)
        assert not any("request" in label for label, _ in choices)
        assert records == []
    assert {label["method"] for label, _ in files.fit()} == {"k-ols"}
    (label, _), *_ = files.fit()
    assert label == {
        "method": "k-ols",
        "protection": "none",
        **NO_PRIVACY,
        "reported": True,
        "n_variants": 5,
        "n_outcomes": 3,
    }


@pytest.mark.parametrize(("method", "rest"), [("k-tukey", 0.8), ("l-tukey", 0.7)])
def test_draw__the_count_of_tukey_gets_its_share_of_all_of_epsilon(files, monkeypatch, method, rest):
    noted = {}

    def fit_nothing(method, data, chosen, *, request, **options):
        noted.update(options, epsilon=request.epsilon)
        return LinearFit(np.zeros((3, 8)), np.zeros(8), np.zeros(3)), []

    monkeypatch.setattr(row_mechanisms, "fit_chosen_rows", fit_nothing)
    terms = {"share": 0.2, "count_share": 0.1}
    files.screen(sizes=[8], counts=[3], epsilons=[2.0], screening=terms, methods=[method])
    assert noted["epsilon"] == pytest.approx(rest * 2.0)
    assert noted["count_share"] * noted["epsilon"] == pytest.approx(0.1 * 2.0)
    assert noted["n_fits"] == 3


def test_evaluate_replicate__a_failed_check_is_a_status_of_its_outcome(files):
    files.screen(sizes=[8], counts=[3], epsilons=[1.0], neighbours="replace-one")
    files.fit()
    table = files.evaluate([3])
    table = table[table["n_variants"] == 8].set_index("method")
    assert table.loc["k-tukey", "status"].tolist() == ["check failed"] * 3
    assert table.loc["k-tukey", "mse"].notna().all()
    for method in ("ridge", "k-ols", "k-blup", "k-bas"):
        assert table.loc[method, "status"].tolist() == ["ok"] * 3
