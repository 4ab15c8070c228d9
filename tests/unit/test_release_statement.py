"""What the statement of a release says of its study: nothing else tells a reader what was public and done."""

import json
import math
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from audit_data import make_finding
from dpgrs.errors import DpgrsError
from dpgrs.io.replicates import load_labelled
from dpgrs.io.sites import read_chosen_sites, write_sites
from dpgrs.methods.mechanisms import request_of
from dpgrs.methods.planning import expected_noise_sd
from dpgrs.privacy.accounting.accountant import gdp_delta, gdp_epsilon, gdp_mu
from dpgrs.privacy.accounting.events import ChoiceEvent
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.release.content import (
    _draws_of_outcomes,
    _inputs_of_accuracy,
    _inputs_of_fit,
    _is_as_asked,
    _totals,
)
from dpgrs.statement.post_processing import post_processing
from dpgrs.study.fit_identity import fit_settings
from dpgrs.study.identity import public_identity
from dpgrs.study.settings import resolve
from ledger_requests import new_ledger
from refused import refused
from release_choices import make_choice
from release_data import make_events, make_terms
from step_studies import NAMES, HaplotypeStudy

DELTA = 1e-6


def public_inputs(study):
    return {one["name"]: (one["value"], one["origin"]) for one in study.statement()["public_inputs"]}


def said_of(statement, *, missing_outcomes):
    known = {"protection": "full", "missing_outcomes": missing_outcomes}
    return post_processing(statement["method"], statement["fit"], **known)


def test_release__says_what_was_public_where_little_is(study):
    config = study.settings("reusecov-gauss")
    noisy = study.release(config)
    study.bundle(config, noisy)
    statement, ((label, arrays),) = study.statement(), load_labelled(noisy)
    chosen, origin = "chosen in the configuration", "a simulated reference cohort of 1000 other people"
    origin = origin.replace("1000", str(config.cohort.simulation.reference_people))
    assert public_inputs(study) == {
        "site list": (statement["data_domain"]["site_digest"], origin),
        "allele frequencies": ("in the site list", origin),
        "outcome bound": ("3", chosen),
        "number of rows": (str(label["n"]), "released with noise, charged"),
        "whether outcomes may be missing": ("none", chosen),
        "seed": (str(config.seed), "simulation, thinning and split alone"),
        "outcome names": ("3", "given by the curator"),
        "lambda": (f"{config.regression.lambda_:g}", chosen),
        "files that the checks read": ("none: the cohort is simulated", chosen),
    }
    assert statement["expected_noise_sd"] == expected_noise_sd(
        request_of(label),
        n_rows=label["n"],
        frequency=read_chosen_sites(study.sites)["frequency"].to_numpy(),
        penalty=config.regression.lambda_,
        slopes=arrays["slopes"],
    )
    fit = fit_settings(config)
    assert (statement["method"], statement["fit"]) == (fit.pop("method"), fit)
    assert statement["post_processing"] == said_of(statement, missing_outcomes="none")
    assert statement["data_domain"]["missing_outcomes"] == "none"
    assert statement["accuracy"] == "withheld"
    assert statement["audit"] is None
    assert statement["preprocessing"] == [
        "Before this program, not covered by the guarantee, in the curator's words: simulated"
    ]
    assert statement["curation"]["title"] == config.study
    assert statement["curation"]["citation"] == ""
    assert "acknowledgement" not in statement["curation"]


def test_release__says_what_was_public_where_much_is(study):
    # At a larger epsilon the clip counts for too much beside the noise, so that there are no standard errors.
    terms = {"neighbours": "replace-one", "bounds": "tight", "missing": "counted"}
    config = study.settings("blup", epsilon=1, **terms)
    scales = study.root / "scales.tsv"
    scales.write_text("outcome\tcentre\tscale\n" + "".join(f"{name}\t170\t5\n" for name in NAMES[::-1]))
    config = config.changed(outcomes={"scales": str(scales), "test_share": 0.25})
    noisy = study.release(config)
    config = config.changed(regression={"heritability": 0.4})
    config = config.changed(cohort={"field": "DS", "fixed_sites": True})
    config = config.changed(public={"origin": "a public panel"})
    config = config.changed(dataset={"acknowledgement": "Thanks."})
    config = config.changed(release={"title": "A title", "citation": "A citation", "preprocessing": None})
    files = study.bundle(config, noisy)
    statement, ((label, _),) = study.statement(), load_labelled(noisy)
    said, chosen = public_inputs(study), "chosen in the configuration"
    assert said["site list"] == (statement["data_domain"]["site_digest"], "a public panel")
    assert said["number of rows"] == (str(label["n"]), "declared public, neighbours replace one row")
    assert said["norm of a row of genotypes"] == (f"{label['request']['row_norm']:g}", "public frequencies")
    assert said["heritability"] == ("0.4", chosen)
    assert said["genotypes"][0] == "imputed dosages"
    assert said["sites of the genotype files"][1] == "stated by the curator"
    assert said["people held out"] == ("a share of 0.25", "a hash of the sample id")
    assert said["whether outcomes may be missing"] == ("counted", chosen)
    digest, _ = said["centre and scale of the outcomes"]
    assert digest == public_identity(config)["outcomes"]["scales"]
    assert "lambda" not in said
    assert "choice of people" not in said
    (table,) = (content for path, content in files.items() if path.name == "outcome_scales.tsv")
    assert [line.split("\t")[:3] for line in table.decode().splitlines()[1:]] == [
        [name, "170", "5"] for name in NAMES
    ]
    assert statement["post_processing"] == said_of(statement, missing_outcomes="counted")
    assert {path.parent.name for path in files} >= {"scores", "standard_errors"}
    assert statement["expected_noise_sd"] is None
    assert statement["preprocessing"] == []
    curation = statement["curation"]
    said = [curation[name] for name in ("title", "citation", "acknowledgement")]
    assert said == ["A title", "A citation", "Thanks."]


def test_inputs_of_accuracy__say_whom_it_is_of():
    outcomes = resolve({"outcomes": {"test_share": 0, "bound": 3.0}}).outcomes
    evaluation = resolve({}).evaluation

    def said(outcomes, **changed):
        listed = _inputs_of_accuracy(evaluation.changed(**changed), outcomes, "a panel")
        return [(one.name, one.value, one.origin) for one in listed]

    assert said(outcomes) == []
    chosen = "chosen in the configuration"
    assert said(outcomes, metrics="charged") == [("residual bound", "3", chosen)]
    assert said(outcomes, metrics="charged", residual_bound=1.5) == [("residual bound", "1.5", chosen)]
    measured = ("people measured on, with their outcomes", "simulated", "a panel")
    assert said(outcomes, metrics="public") == [measured]
    held_out = ("people held out", "a share of 0.2", "a hash of the sample id")
    of_table = (measured[0], "from a table", "a panel")
    assert said(outcomes.changed(test_share=0.2, source="file"), metrics="public") == [held_out, of_table]


def test_release__audits_cover_what_was_drawn(study):
    config = study.settings("reusecov-gauss")
    noisy, path = study.release(config), study.root / "audit.json"
    config = config.changed(release={"audit_draws": 500})
    with refused("audits-missing", "`release.audit_draws`", "--audit", "500"):
        study.bundle(config, noisy)
    findings = [make_finding(name) for name in ("count", "gram", "cross product")]
    path.write_text(json.dumps(findings[:2]))
    with refused("audits-incomplete", "private_cross_product"):
        study.bundle(config, noisy, audit=path)
    path.write_text(json.dumps(findings))
    study.bundle(config, noisy, audit=path)
    audit = study.statement()["audit"]
    assert (audit["draws"], audit["seed"], len(audit["mechanisms"])) == (500, config.seed, 3)


def test_write_release__raise_on_other_files_than_the_statistics_are_of(study):
    config = study.settings("reusecov-gauss")
    noisy, loadings = study.release(config), study.root / "loadings.tsv"
    loadings.write_text("loadings")
    with refused("statistics-terms-differ"):
        study.bundle(config, noisy, loadings=loadings)
    other = config.changed(dataset={"version": "2"})
    with refused("statistics-terms-differ"):
        study.bundle(other, noisy)
    sites = read_chosen_sites(study.sites)
    write_sites(study.sites, sites.assign(frequency=0.25))
    with refused("statistics-terms-differ"):
        study.bundle(config, noisy)
    assert not (study.root / "bundle").exists()


def test_release__of_one_outcome_nothing_is_told_apart(study):
    config = study.settings("adassp", epsilon=1.1)
    study.bundle(config, study.release(config, count=1))
    statement = study.statement()
    assert {one["outcome"] for one in statement["mechanisms"]} == {None}
    assert statement["expected_noise_sd"] is None
    claims = (statement["guarantee"], *(statement["composition"][n] for n in ("per_outcome", "whole_study")))
    assert {claim["epsilon"] for claim in claims} == {"1.1"}


def squares(statement):
    """Return mu^2 of what serves all outcomes, and of all that serves each: a number, and a dict."""
    found = defaultdict(Fraction)
    for one in statement["mechanisms"]:
        found[one["outcome"]] += (Fraction(one["sensitivity"]) / Fraction(one["sigma"])) ** 2
    return found.pop(None), found


def is_epsilon_of(text, mu_squared):
    """Tell whether a text is the epsilon of a mu^2, rounded up to six digits."""
    epsilon = gdp_epsilon(math.sqrt(mu_squared), DELTA)
    return epsilon * (1 - 1e-9) <= float(text) <= epsilon * (1 + 1e-5)


def test_release__a_person_of_two_haplotypes_loses_twice_the_mu(tmp_path, monkeypatch):
    study = HaplotypeStudy(tmp_path, monkeypatch)
    (tmp_path / "haplotypes").mkdir()
    account = Account("full", "haplotype", "add-remove")
    study.ledgers["add-remove"] = new_ledger(tmp_path / "haplotypes", account=account, mu_squared="4")
    config = study.settings("reusecov-gauss", unit="haplotype", accounting="gdp")
    study.bundle(config, study.release(config))
    statement = study.statement()
    person, (square, _) = statement["guarantee"]["person"], squares(statement)
    assert (statement["guarantee"]["epsilon"], person["epsilon"]) == ("2", "4")
    delta = gdp_delta(2 * math.sqrt(square), 4.0)
    assert delta * (1 - 1e-9) <= float(person["delta"]) <= delta * (1 + 1e-5)
    assert float(person["delta"]) < (1 + math.exp(2)) * DELTA


@pytest.mark.parametrize(("budget", "count"), [("joint", 3), ("separate", 2)])
def test_release__accuracy_is_charged_and_stated_with_the_rest(study, budget, count):
    config = study.settings("reusecov-gauss", epsilon=1.1, outcome_budget=budget, accounting="gdp")
    config = config.changed(outcomes={"test_share": 0.5})
    noisy = study.release(config, count=count)
    study.bundle(config, noisy)
    withheld = study.statement()
    assert withheld["composition"]["per_outcome"]["epsilon"] == "1.1"
    config = config.changed(evaluation={"metrics": "charged", "epsilon": 0.5, "residual_bound": 2.0})
    study.measure(config, noisy)
    study.bundle(config, noisy, is_measured=True)
    statement = study.statement()
    owners = [one["outcome"] for one in statement["mechanisms"] if one["statistic"] == "accuracy"]
    assert owners == ([None] if budget == "joint" else list(NAMES[:count]))
    assert public_inputs(study)["residual bound"] == ("2", "chosen in the configuration")
    assert [one["name"] for one in statement["accuracy"]] == list(NAMES[:count])
    assert statement["post_processing"][:-2] == withheld["post_processing"]
    assert statement["post_processing"][-2].startswith("R^2 = 1 - RSS/TSS")
    assert statement["post_processing"][-1].startswith("AUC, R^2 on other scales")
    shared, own = squares(statement)
    composition, whole = statement["composition"], shared + sum(own.values())
    assert is_epsilon_of(composition["whole_study"]["epsilon"], whole)
    assert is_epsilon_of(composition["per_outcome"]["epsilon"], shared + max(own.values(), default=0))
    assert statement["guarantee"]["epsilon"] == composition["whole_study"]["epsilon"]
    assert Fraction(statement["ledger"]["spent"]["mu_squared"]) == pytest.approx(whole, rel=1e-14)
    config = config.changed(release={"audit_draws": 500})
    findings = [make_finding(name) for name in ("count", "gram", "cross product")]
    (study.root / "audit.json").write_text(json.dumps(findings))
    with refused("audits-incomplete", "private_accuracy"):
        study.bundle(config, noisy, is_measured=True, audit=study.root / "audit.json")


def test_release__accuracy_on_public_people_follows_from_sums_in_the_bundle(study):
    config = study.settings("reusecov-gauss")
    config = config.changed(evaluation={"metrics": "public"})
    noisy = study.release(config)
    study.measure(config, noisy)
    assert {Path("accuracy_sums.tsv"), Path("measures.tsv")} <= set(
        study.bundle(config, noisy, is_measured=True)
    )
    assert "300 people of the public reference" in study.statement()["accuracy"][0]["cost"]
    assert "people measured on, with their outcomes" in public_inputs(study)


def test_inputs_of_fit__name_both_norms_of_rows_and_a_lambda_that_is_used():
    fit = {"method": "reusecov-gauss", "lambda_from": "fixed", "lambda": 0.2, "heritability": None}
    request = {"coding": "frequency", "row_norm": 1.5, "outcome_norm": 3.25, "protection": "full"}
    norms, own = (
        list(_inputs_of_fit(fit, request)),
        {"coding": "half", "row_norm": None, "outcome_norm": None},
    )
    assert [(one.name, one.value, one.origin) for one in norms[:2]] == [
        ("norm of a row of genotypes", "1.5", "public frequencies"),
        ("norm of a row of outcomes", "3.25", "chosen in the configuration"),
    ]
    assert norms[2:] == list(_inputs_of_fit(fit, own))
    for method in ("blup", "adassp"):
        assert list(_inputs_of_fit(fit | {"method": method}, own)) == []


def test_write_release__rounds_weights_and_digests_settings_without_paths(study):
    """Last digits, and where files lie, tell of a machine."""
    config = study.settings("reusecov-gauss")
    noisy = study.release(config)
    first = study.bundle(config, noisy)
    scores = pd.read_csv(study.root / "bundle" / "scores" / "a.txt.gz", sep="\t", comment="#")
    assert scores["effect_weight"].tolist() == [float(f"{one:.10g}") for one in scores["effect_weight"]]
    config = config.changed(people={"keep": None})
    config = config.changed(public={"keep": "/elsewhere/kept.txt"})
    assert study.bundle(config, noisy) == first


def test_write_release__raise_on_what_another_run_replaces_meanwhile(study):
    """When all is read: the bundle that is there stays."""
    config = study.settings("reusecov-gauss").changed(release={"audit_draws": 0})
    noisy = study.release(config)
    bundle = study.bundle(config, noisy)

    def refuse():
        raise DpgrsError("file-replaced", "A file was replaced.")

    with pytest.raises(DpgrsError, match="A file was replaced"):
        study.bundle(config, noisy, before_charge=refuse)
    folder = study.root / "bundle"
    assert {path: (folder / path).read_bytes() for path in bundle} == bundle


def test_write_release__traits_are_added_to_the_same_weights(study):
    """They are words of the curator: no draw, charge or weight hangs on them."""
    config, table = study.settings("reusecov-gauss"), study.root / "traits.tsv"
    noisy = study.release(config)
    first = study.bundle(config, noisy)
    book = study.ledger(config).path.read_bytes()
    table.write_text("outcome\treported_trait\nb\tBody height\n")
    second = study.bundle(config, noisy, traits=table)
    assert study.statement()["curation"]["traits"] == [{"outcome": "b", "reported_trait": "Body height"}]
    same = {path for path in first if first[path] == second[path]}
    assert {"a.txt.gz", "constants.tsv"} <= {path.name for path in same}
    assert study.ledger(config).path.read_bytes() == book
    table.write_text("outcome\treported_trait\nd\tBody height\n")
    with refused("trait-unknown", "got d"):
        study.bundle(config, noisy, traits=table)
    assert study.statement()["curation"]["traits"]


def drawn(epsilon, *owners):
    """Return draws of these outcomes, or of all (None), each of a budget as a label of it has them."""
    events = make_events(make_terms(epsilon=epsilon, unit="person", rows="people"))
    return [(event.as_dict(), owner) for owner in owners for event in events]


def test_served__raise_on_accuracy_of_fewer_budgets():
    label = {"outcomes": ["a", "b"], "n_outcomes": 2, "request": {"n_outcomes": 1}}
    label |= {"requests": [], "events": []}
    assert _draws_of_outcomes(label, [{}, {}]) == [({}, "a"), ({}, "b")]
    with pytest.raises(ValueError, match="is longer"):
        _draws_of_outcomes(label, [{}])


@pytest.mark.parametrize("spent", [0.5, 1.0, 3.0])
def test_totals__are_what_was_asked_for_or_what_was_drawn_where_that_is_more(spent):
    request = {"epsilon": 1.0, "delta": DELTA, "n_outcomes": 2, "rows": "people", "unit": "person"}
    draws = drawn(spent, None)
    label = {"request": request, "n_outcomes": 2, "events": [event for event, _ in draws]}
    found = _totals(label, draws, is_joined=False)
    assert float(found["epsilon"]) == float(found["per_outcome"]) == pytest.approx(max(spent, 1.0), rel=1e-6)
    choice = ChoiceEvent(
        statistic="choice",
        entries=9,
        source="release",
        sensitivity=Sensitivity(1.0, "linf", "add-remove", "person", "count/1"),
        epsilon=0.75,
        n_choices=1,
        step=1.0,
    )
    both = [*draws, (choice.as_dict(), None)]
    found = _totals(label | {"events": [event for event, _ in both]}, both, is_joined=False)
    # What was chosen leaves a quarter for noise.
    assert float(found["epsilon"]) == pytest.approx(0.75 + spent, rel=1e-6)
    draws = drawn(spent, "a", "b")
    label = {
        "request": request | {"n_outcomes": 1},
        "n_outcomes": 2,
        "events": [event for event, _ in draws],
    }
    found = _totals(label, draws, is_joined=False)
    assert float(found["per_outcome"]) == pytest.approx(max(spent, 1.0), rel=1e-6)
    assert is_epsilon_of(found["epsilon"], 2 * gdp_mu(spent, DELTA) ** 2)
    assert found["person"] is None
    joined = _totals(label, draws, is_joined=True)
    assert joined["per_outcome"] == joined["epsilon"] == found["epsilon"]


@pytest.mark.parametrize(("owners", "n_shared"), [([None], 2), (["a", "b"], 1)])
def test_totals__a_budget_that_is_kept_is_told_as_it_was_asked_for(owners, n_shared):
    request = {"epsilon": 0.5, "delta": DELTA, "n_outcomes": n_shared, "rows": "people", "unit": "person"}
    draws = drawn(0.5, *owners)
    label = {"request": request, "n_outcomes": 2, "events": [event for event, _ in draws]}
    assert _totals(label, draws, is_joined=False)["per_outcome"] == "0.5"


@pytest.mark.parametrize("spent", [0.3, 0.45, 1.1, 2.7, 3.3])
def test_totals__a_person_loses_by_every_outcomes_draws_of_both_haplotypes(spent):
    request = {"epsilon": 0.1, "delta": DELTA, "n_outcomes": 1, "rows": "haplotypes", "unit": "haplotype"}
    draws = drawn(spent, None, "a", "b")
    found = _totals(
        {"request": request, "n_outcomes": 2, "events": [event for event, _ in draws]}, draws, is_joined=False
    )
    person, mu = found["person"], math.sqrt(3) * gdp_mu(spent, DELTA)
    assert is_epsilon_of(found["epsilon"], mu**2)
    # Of the epsilon as it is rounded, as the check of a bundle requires.
    assert Decimal(person.epsilon) == 2 * Decimal(found["epsilon"])
    assert float(person.delta) == pytest.approx(gdp_delta(2 * mu, float(person.epsilon)), rel=1e-4)
    for text in (found["epsilon"], found["per_outcome"], person.delta):
        assert len(Decimal(text).as_tuple().digits) <= 6


def test_is_as_asked__takes_an_epsilon_as_it_was_written():
    """The float 1.1 is above 1.1."""
    assert not _is_as_asked([make_choice(epsilon=1.1)], {"epsilon": 1.1, "delta": DELTA})
    assert _is_as_asked([make_choice(epsilon=0.5)], {"epsilon": 0.5, "delta": DELTA})


def test_release__outcomes_that_are_moved_together_are_stated_and_another_release(study):
    config = study.settings("reusecov-ellipsoid", epsilon=0.1)
    noisy = study.release(config)
    alone, stated = study.bundle(config, noisy), study.statement()
    config = config.changed(regression={"joint_projection": True})
    with refused("another-release-in-folder", "`study`"):
        study.bundle(config, noisy)
    (study.root / "bundle").rename(study.root / "published")
    scores = study.bundle(config, noisy)[Path("scores/a.txt.gz")]
    assert scores != alone[Path("scores/a.txt.gz")]
    together = study.statement()
    assert together["fit"] == stated["fit"] | {"joint_projection": True}
    changed = [one for one in together["post_processing"] if one not in stated["post_processing"]]
    assert len(changed) == 1
    assert "moved together, to the nearest point of one ellipsoid" in changed[0]
