"""Releases of every mechanism by their steps: charged, replayed, bundled, and never taken for one another."""

import shutil
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.evaluation.private_metrics import grid_weights
from dpgrs.io.json_files import write_json
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.methods.chosen_requests import ScreeningTerms, screened_request
from dpgrs.methods.fits import fit_released
from dpgrs.methods.mechanisms import audited_functions, mechanism_named, mechanism_of
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.noise.sources import NoiseSource, Rehearsal
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.statement.audits import audited_function
from dpgrs.steps.draw import draw
from dpgrs.study.fit_identity import fit_settings
from dpgrs.study.released import load_released, load_weights
from dpgrs.study.released_accuracy import load_accuracy
from dpgrs.verify.claim_check import smallest_delta
from draws import draw_seeded, fit_as_released
from flips import after_flips
from refused import refused
from step_settings import settings_for
from step_studies import N_VARIANTS, NAMES

RELEASED = methods_that("may_be_released")

METHODS_OF_MECHANISMS = ["reusecov-gauss", "adassp"]


DRAWS = {
    "reusecov-gauss": [("gram", None), ("cross product", None)],
    "adassp": [("gram", None), ("cross product", None), ("smallest eigenvalue", None)],
}


@pytest.mark.parametrize("method", ["blup-steered", "k-blup"])
def test_release__cases_that_nothing_counts_are_refused_before_a_charge(study, method):
    config = study.settings(method, bounds="tight", accounting="gdp", case_share=0.1)
    before = study.ledger(config).path.read_bytes()
    with refused("case-share-not-needed", "`privacy.case_share`", error=UsageError):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before


def test_draw__raise_in_a_release_by_a_method_for_benchmarks(study):
    """No bundle could be made of it: it would be charged for nothing."""
    config = study.settings("naive")
    before = study.ledger(config).path.read_bytes()
    with refused("mechanism-not-released", "got naive-statistics", error=UsageError):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before


@pytest.mark.parametrize(
    ("mechanism", "method"),
    [("naive-statistics", "blup"), ("choices", "k-blup"), ("reusecov-statistics", "adassp")],
)
def test_draw__raise_in_a_release_by_a_method_of_another_mechanism(study, monkeypatch, mechanism, method):
    config = study.settings(method, pure_epsilon="9")
    before = study.ledger(config).path.read_bytes()
    monkeypatch.setattr("step_studies.mechanism_of", lambda _: mechanism_named(mechanism))
    by_hand = {"method": [method]}
    monkeypatch.setattr("step_studies.draw", lambda *given, **named: draw(*given, **named | by_hand))
    with refused("mechanism-not-released", mechanism, error=UsageError):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before


@pytest.mark.parametrize("method", ["k-blup", "adassp"])
def test_draw__raise_in_a_release_without_the_method_that_has_its_own_draws(study, monkeypatch, method):
    config = study.settings(method, pure_epsilon="9")
    before = study.ledger(config).path.read_bytes()
    monkeypatch.setattr("step_studies.draw", lambda *given, **named: draw(*given, **named | {"method": []}))
    with refused("method-not-given", "`--method`", method, error=UsageError):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before


def test_draw__raise_in_a_release_on_choices_that_were_drawn_before(study, monkeypatch):
    """Those of a benchmark have a public seed, and nothing would be charged for them."""
    config = study.settings("k-blup", pure_epsilon="9")
    before, path = study.ledger(config).path.read_bytes(), study.root / "choices.npz"
    benchmark = settings_for("draw", config.changed(mode="benchmark", outcomes={"count": [3]}))
    files = {"variant_set": "variant_set", "output": path, "events": study.root / "choices.json"}
    draw(benchmark, study.root / "outcomes.zarr", mechanism="choices", method=["k-blup"], **files)
    monkeypatch.setattr("step_studies.draw", partial(draw, choices=path))
    with refused("choices-in-release", "`--choices`", error=UsageError):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before


@pytest.mark.parametrize("method", ["adassp", "k-blup"])
def test_release__reads_all_files_before_it_is_charged(study, monkeypatch, method):
    config = study.settings(method, bounds="tight", accounting="gdp", pure_epsilon="9")
    before = study.ledger(config).path.read_bytes()
    monkeypatch.setattr("step_studies.draw", partial(draw, before_charge=refuse))
    with pytest.raises(DpgrsError, match="A file was replaced"):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before

    def remove_files():
        (study.root / "statistics.npz").unlink(missing_ok=True)
        shutil.rmtree(study.root / "outcomes.zarr")

    monkeypatch.setattr("step_studies.draw", partial(draw, before_charge=remove_files))
    assert study.release(config).exists()
    assert study.ledger(config).path.read_bytes() != before


def test_release__audits_of_other_mechanisms_are_refused_before_a_charge(study, monkeypatch):
    config, path = study.settings("adassp"), study.root / "audit.json"
    names = ["private_count", *audited_functions("adassp")]
    findings = [{"mechanism": name, "is_within_claim": True} for name in names]
    before = study.ledger(config).path.read_bytes()
    monkeypatch.setattr("step_studies.draw", partial(draw, audit=path))
    lost = [*findings[:-1], findings[-1] | {"is_within_claim": False}]
    without = [one for one in findings if one["mechanism"] != "private_smallest_eigenvalue"]
    for audits, message in ((without, "missing for private_smallest_eig"), (lost, "beyond its claim in")):
        write_json(path, audits)
        with refused("audits-incomplete", message):
            study.release(config)
        assert study.ledger(config).path.read_bytes() == before
    write_json(path, findings)
    assert study.release(config).exists()
    assert study.ledger(config).path.read_bytes() != before


def refuse():
    raise DpgrsError("file-replaced", "A file was replaced.")


@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("method", METHODS_OF_MECHANISMS)
def test_release__is_charged_bundled_and_replayed(study, method, neighbours, bounds):
    config = study.settings(method, neighbours=neighbours, bounds=bounds, accounting="gdp")
    noisy = study.release(config)
    first, files = noisy.read_bytes(), study.bundle(config, noisy)
    statement, ledger = study.statement(), study.ledger(config)
    drawn = [(one["statistic"], one["outcome"]) for one in statement["mechanisms"]]
    assert drawn == [("count", None)] * (neighbours == "add-remove") + DRAWS[method]
    mu_squared = sum(
        (Fraction(one["sensitivity"]) / Fraction(one["sigma"])) ** 2 for one in statement["mechanisms"]
    )
    book = ledger.read()
    (account,) = book.budgets
    assert book.spent(account).mu_squared == mu_squared
    assert statement["guarantee"]["epsilon"] == statement["composition"]["whole_study"]["epsilon"] == "2"
    assert smallest_delta(mu_squared, Fraction(2)) > 0.999e-6
    before = ledger.path.read_bytes()
    noisy.unlink()
    assert study.release(config).read_bytes() == first
    assert study.bundle(config, noisy) == files
    assert ledger.path.read_bytes() == before


def test_release__separate_budgets_cost_each_outcome_what_was_asked_for(study):
    config = study.settings("adassp", outcome_budget="separate")
    study.bundle(config, study.release(config))
    statement = study.statement()
    owners = [one["outcome"] for one in statement["mechanisms"]]
    assert [owners.count(owner) for owner in NAMES] == [1] * len(NAMES)
    assert statement["composition"]["per_outcome"]["epsilon"] == "2"
    assert float(statement["composition"]["whole_study"]["epsilon"]) > 2.5
    # One outcome less is a replay.
    before = study.ledger(config).path.read_bytes()
    study.release(config, count=2)
    assert study.ledger(config).path.read_bytes() == before


@pytest.mark.parametrize("method", ["reusecov-gauss", "k-blup"])
def test_release__a_flipped_bit_in_the_sites_is_seen_before_a_charge(study, method):
    config = study.settings(method)
    found = after_flips(study.sites, lambda: study.release(config), places=lambda n: (0, n // 2, n - 1))
    assert [str(error) for error in found] == [
        f"`{study.sites}` must be a table that dpgrs wrote, but is missing, cut off or damaged. "
        "Remove it, and run the study again."
    ] * 3
    assert not study.ledger(config).read().requests


def loaded(study, method, **privacy):
    config = study.settings(method, **privacy)
    path = study.release(config)
    ((label, arrays),) = load_labelled(path)
    return label, arrays, study.ledger(config).read()


@pytest.mark.parametrize(
    ("method", "other"),
    [("adassp", "reusecov-gauss"), ("reusecov-gauss", "adassp")],
)
def test_load_released__raise_on_another_mechanisms_name(study, method, other):
    label, arrays, book = loaded(study, method)
    label["mechanism"] = mechanism_of(other).name
    arrays.pop("smallest_eigenvalue", None)
    arrays |= {"smallest_eigenvalue": np.array(0.0)} if other == "adassp" else {}
    save_labelled(study.root / "forged.npz", [(label, arrays)])
    with refused("statistics-not-charged"):
        load_released(study.root / "forged.npz", book)


def test_load_released__raise_on_a_mechanism_nobody_knows(study):
    label, arrays, book = loaded(study, "adassp")
    save_labelled(study.root / "forged.npz", [(label | {"mechanism": "sketch"}, arrays)])
    with refused("mechanism-unknown", error=UsageError):
        load_released(study.root / "forged.npz", book)


def test_load_released__raise_where_the_ledger_knows_another_mechanism(study):
    config = study.settings("adassp")
    path, book = study.release(config), study.ledger(config).read()
    load_released(path, book)
    for request in book.requests.values():
        request.identity["mechanism"] = "reusecov-statistics"
    with refused("statistics-not-charged"):
        load_released(path, book)


class CountTooHigh(NoiseSource):
    """No noise, but for 31 rows that nobody has."""

    def _draw(self, statistic, event):
        return statistic + 31 * (event.statistic == "count"), event


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("method", METHODS_OF_MECHANISMS)
def test_draw__knows_the_number_of_rows_by_its_noisy_count_alone(method, rows):
    terms = {"rows": rows, "n_variants": 2, "n_outcomes": 3, "outcome_bound": 3.0, "epsilon": 1.0}
    gram, cross = np.full((3, 3), 7, dtype=np.int64), np.zeros((3, 3), dtype=np.int64)
    request = PrivacyRequest(delta=1e-6, **terms)
    drawn = mechanism_of(method).draw(gram, cross, 50, request=request, noise=CountTooHigh())
    assert drawn.n == 81
    assert (drawn.gram[..., -1, -1] == 81 / 4).all()


@pytest.mark.parametrize(
    ("method", "name"), [("adassp", "smallest_eigenvalue"), ("adassp", "gram"), ("adassp", "cross")]
)
def test_load_released__raise_on_other_numbers(study, method, name):
    label, arrays, book = loaded(study, method)
    save_labelled(study.root / "forged.npz", [(label, arrays | {name: arrays[name] + 1.0})])
    with refused("statistics-not-charged"):
        load_released(study.root / "forged.npz", book)


def test_load_released__raise_where_draws_are_kept_quiet(study):
    """A statement without them would understate what the release costs."""
    label, arrays, book = loaded(study, "adassp")
    _, *rest = label["requests"]
    replaced = label["request"] | {"neighbours": "replace-one"}
    quiet = [event for event in label["events"] if event["statistic"] != "count"]
    for forgery in (
        {"requests": rest},
        {"events": quiet},
        {"requests": rest, "events": quiet},
        {"events": quiet, "request": replaced},
        {"n": label["n"] + 1},
        {"request": label["request"] | {"n_outcomes": 1}},
        {"events": [event | {"sigma": 9.0} for event in label["events"]]},
    ):
        save_labelled(study.root / "forged.npz", [(label | forgery, arrays)])
        with refused("statistics-not-charged"):
            load_released(study.root / "forged.npz", book)


def test_load_released__raise_on_another_public_number_of_rows(study):
    config = study.settings("adassp", neighbours="replace-one")
    ((label, arrays),) = load_labelled(study.release(config))
    save_labelled(study.root / "forged.npz", [(label | {"n": label["n"] + 1}, arrays)])
    with refused("statistics-not-charged"):
        load_released(study.root / "forged.npz", study.ledger(config).read())


@pytest.mark.parametrize(
    "other", [{"methods": ["blup"]}, {"methods": ["naive"]}, {"regression": {"lambda": 0.7}}], ids=str
)
def test_load_weights__raise_on_those_of_another_fit(study, other):
    config = study.settings("reusecov-gauss")
    path = study.release(config)
    released = load_released(path, study.ledger(config).read())
    load_weights(study.fit(config, path), *released, fit=fit_settings(config))
    weights = study.fit(config.changed(**other), path)
    with refused("weights-not-of-release", "`methods: reusecov-gauss`"):
        load_weights(weights, *released, fit=fit_settings(config))


def test_load_weights__raise_on_those_of_other_draws(study):
    config = study.settings("reusecov-gauss")
    weights = study.fit(config, study.release(config))
    other = study.settings("reusecov-gauss", epsilon=1)
    released = load_released(study.release(other), study.ledger(other).read())
    with refused("weights-not-of-release"):
        load_weights(weights, *released, fit=fit_settings(other))


def test_load_released__raise_on_a_benchmark_that_says_adassp(study):
    config = study.settings("adassp")
    study.release(config)
    path, files = study.root / "benchmark.npz", {"statistics": study.root / "statistics.npz"}
    terms = {
        "accountings": ["gdp"],
        "protections": ["full"],
        "epsilons": [2.0],
        "sizes": [N_VARIANTS],
        "counts": [3],
        "unit": "person",
    }
    ((label, arrays),) = draw_seeded(study.root / "outcomes.zarr", path, files=files, **terms)
    label |= {"mechanism": "adassp-statistics", "requests": []}
    save_labelled(path, [(label, arrays | {"smallest_eigenvalue": np.array(0.0)})])
    with refused("statistics-of-benchmark"):
        load_released(path, study.ledger(config).read())


@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
def test_fit_weights__of_a_release_are_those_that_are_bundled(study, bounds):
    config = study.settings("adassp", bounds=bounds)
    noisy = study.release(config)
    weights, released = study.fit(config, noisy), load_released(noisy, study.ledger(config).read())
    again = fit_as_released(*released, config)
    found = load_weights(weights, *released, fit=fit_settings(config))
    np.testing.assert_array_equal(grid_weights(found), grid_weights(again))
    study.bundle(config, noisy)
    scores = pd.read_csv(study.root / "bundle" / "scores" / "a.txt.gz", sep="\t", comment="#")
    np.testing.assert_allclose(scores["effect_weight"], again.weights[0], rtol=1e-9)


@pytest.mark.parametrize("method", ["blup", "adassp"])
def test_measure_release__measures_all_weights_of_a_budget(study, method):
    """Also where the outcomes of a budget have requests of their own."""
    config = study.settings(method)
    config = config.changed(evaluation={"metrics": "charged", "epsilon": 1.0})
    noisy, fit = study.release(config), fit_settings(config)
    with refused("people-differ"):
        study.measure(config, noisy, skipped=1)
    accuracy = study.measure(config, noisy)
    book, ((label, _),) = study.ledger(config).read(), load_labelled(noisy)
    events, stated = load_accuracy(accuracy, book, label, fit=fit)
    assert (len(events), len(stated)) == (1, 3)
    measured = list(book.requests.values())[-1].identity
    digests = [book.requests[request].identity_digest for _, request in label["requests"]]
    assert measured["weights"]["statistics"] == digests
    assert measured["weights"]["method"] == method


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("method", RELEASED)
def test_draw__draws_what_the_table_of_methods_audits(method, neighbours):
    terms = {"rows": "people", "n_variants": 2, "n_outcomes": 2, "outcome_bound": 3.0, "epsilon": 1.0}
    request, rehearsal = PrivacyRequest(**terms, delta=1e-6, neighbours=neighbours), Rehearsal()
    mechanism = mechanism_of(method)
    if not {"statistics", "chromosomes"}.isdisjoint(mechanism.takes):
        data = mechanism.zeros(request, 2)
    else:
        bits, is_training = np.zeros((2, 1), dtype=np.uint64), np.ones(1, dtype=bool)
        data = {"data": ScreeningData(bits, np.zeros((2, 1)), is_training, 2, "people"), "frequency": None}
    if METHODS[method].is_screened:
        terms = ScreeningTerms(n_choices=1, selector=METHODS[method].selector)
        request = screened_request(request, terms)
    drawn = mechanism.draw(**data, request=request, noise=rehearsal, outcome_names=("a", "b"))
    parts = rehearsal.draws
    assert set(parts) == set(mechanism.outputs(drawn, ("a", "b"), request))
    budget = mechanism.terms(request).budget
    for (kind, *_), listed in parts.items():
        shares = [budget[name] for name in mechanism.draws[kind] if budget[name]]
        pure = mechanism.pure_budget(request) if kind == "outcomes" else ()
        assert [getattr(event, "mu", None) or event.epsilon for event, _ in listed] == [*pure, *shares]
    drawn_by = {audited_function(event.statistic) for listed in parts.values() for event, _ in listed}
    assert drawn_by - {"private_count"} <= set(audited_functions(method))


@pytest.mark.parametrize(("method", "drawn_for"), [("s-blup", "k-blup"), ("k-blup", "s-blup")])
def test_fit__choices_of_another_selector_are_refused(method, drawn_for):
    request = PrivacyRequest("people", 2, 1, 3.0, 1.0, 1e-6)
    wanted, selector = METHODS[method].selector, METHODS[drawn_for].selector
    request = screened_request(request, ScreeningTerms(n_choices=1, selector=selector))
    message = f"must be by {wanted} for `methods: {method}`, got {selector}"
    with pytest.raises(DpgrsError, match=message):
        fit_released(method, None, request=request, terms=None)
