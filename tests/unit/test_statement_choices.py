"""Statements of releases that chose in private: exact terms, two counters, and what people are told."""

import copy
from fractions import Fraction

import pytest
import yaml

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.events import MECHANISM_VERSION, SubsetEvent
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.release.mechanisms import describe_draws
from dpgrs.statement.deployments_registry import to_registry_yaml
from dpgrs.statement.schema import problems_of
from dpgrs.statement.text import budget_in_words, plain_language
from refused import refused
from release_choices import EPSILON, chosen_content, make_choice, make_chosen_statement, make_laplace
from release_data import OUTCOMES, make_events, make_statement, make_terms

CHOICE = 1  # after the count, the first outcome's


def told(statement):
    return " ".join(plain_language(statement).split())


def with_scores(statement, **named):
    """Add what a bundle writes of every score."""
    files = {"file": "scores/x.txt.gz", "standard_errors": None}
    return statement | {"scores": [{"outcome": name, **files, **named} for name in OUTCOMES]}


def test_build_statement__a_choice_has_the_terms_of_its_family(tmp_path):
    statement = make_chosen_statement(tmp_path, choice=make_choice(epsilon=0.1))
    choice = statement["mechanisms"][CHOICE]
    assert choice == {
        "statistic": "Kendall's correlations",
        "mechanism": "choice",
        "version": MECHANISM_VERSION,
        "outcome": "height",
        "sensitivity": "2",
        "norm": "linf",
        "neighbours": "add-remove",
        "unit": "haplotype",
        "proof": "docs/proofs/kendall.md",
        "noise": "permute-and-flip, drawn exactly (docs/proofs/exact_noise.md)",
        "n_choices": 3,
        "entries": 8,
        "source": "release",
        "request": statement["mechanisms"][0]["request"],
        "epsilon": exact_text(0.1),
        "share": "0.3333",
    }
    # 15 digits of three times what 0.1 is exactly, rounded up.
    assert statement["guarantee"]["pure_epsilon"] == "0.300000000000001"


def test_build_statement__shares_are_of_a_counter_each(tmp_path):
    (tmp_path / "plain").mkdir()
    terms, content = chosen_content()
    gaussian = [one for one in content["drawn"] if one[0].family == "gaussian"]
    plain = make_statement(tmp_path / "plain", **content | {"drawn": gaussian})
    statement = make_statement(tmp_path, terms, **content)
    kept = [part for part in statement["mechanisms"] if part["mechanism"] == "gaussian"]
    for old, new in zip(plain["mechanisms"], kept, strict=True):
        assert old | {"request": None} == new | {"request": None}
    assert statement["guarantee"]["mu"] == plain["guarantee"]["mu"]
    assert Fraction(statement["guarantee"]["pure_epsilon"]) == 3 * Fraction(EPSILON)
    assert "pure_epsilon" not in plain["guarantee"]
    assert statement["composition"]["theorem"].startswith(plain["composition"]["theorem"])
    assert "(epsilon(mu, delta) + pure epsilon, delta)" in statement["composition"]["theorem"]


def test_build_statement__laplace_noise(tmp_path):
    statement = make_chosen_statement(tmp_path, more=[(make_laplace(), "height")])
    laplace = statement["mechanisms"][-1]
    assert laplace["noise"].startswith("discrete Laplace")
    assert {name: laplace[name] for name in ("mechanism", "norm", "scale", "grid")} == {
        "mechanism": "laplace",
        "norm": "l1",
        "scale": "3",
        "grid": "1",
    }
    # 1/3, which the scale makes of it, rounded up; the share is of 3/4 + 1/3, rounded down.
    assert (laplace["epsilon"], laplace["share"]) == ("0.333333333333334", "0.3076")
    assert statement["guarantee"]["pure_epsilon"] == "1.08333333333334"


def test_build_statement__choices_alone(tmp_path):
    drawn = [(make_choice(), name) for name in OUTCOMES]
    statement = make_statement(tmp_path, drawn=drawn)
    assert (statement["guarantee"]["mu"], statement["guarantee"]["pure_epsilon"]) == ("0", "0.75")
    assert "Gaussian" not in statement["composition"]["theorem"]


def test_build_statement__chances_and_profile_of_both_parts(tmp_path):
    statement = make_chosen_statement(tmp_path)
    guarantee, profile = statement["guarantee"], statement["profile"]
    # Of an outcome both parts are a third, and what its pure part leaves of epsilon is the same.
    assert guarantee["chance"] == statement["composition"]["whole_study"]["chance"] == "0.000053"
    assert float(statement["composition"]["per_outcome"]["chance"]) < 1e-11
    assert profile["pure_epsilon"] == "0.75"
    assert [point["epsilon"] for point in profile["deltas"]][:5] == ["0.95", "1.15", "1.35", "1.55", "1.75"]
    assert float(profile["deltas"][4]["delta"]) == pytest.approx(1e-6, rel=1e-5)


def test_build_statement__a_subset_rests_on_decimals(tmp_path):
    (tmp_path / "choice").mkdir()
    drawn = [(SubsetEvent(**vars(make_choice()), gamma=0.5), None)]
    assumptions = make_statement(tmp_path, drawn=drawn)["assumptions"]
    assert sum("decimal module" in line for line in assumptions) == 1
    others = make_chosen_statement(tmp_path / "choice")["assumptions"]
    assert not any("decimal module" in line for line in others)


def test_describe_draws__a_subset_is_a_choice_of_another_law():
    event = make_choice().as_dict() | {"family": "subset", "gamma": 0.5}
    ((shown,), (cost,)) = describe_draws([event])
    assert (shown["mechanism"], shown["n_choices"], shown["share"]) == ("subset", 3, "1")
    assert shown["gamma"] == "0.5"
    assert shown["noise"].startswith("canonical Lipschitz mechanism")
    assert (cost.mu_squared, cost.pure_epsilon) == (0, Fraction(EPSILON))


def test_describe_draws__exact_text_stands_for_a_float():
    events = [event.as_dict() for event in make_events(make_terms())]
    written = [event | {name: exact_text(event[name]) for name in ("sigma", "step")} for event in events]
    assert describe_draws(written) == describe_draws(events)
    with refused("number-not-exact", "`event`", error=UsageError):
        describe_draws([events[0] | {"sigma": " 1 "}])


def test_describe_draws__raise_on_a_family_for_benchmarks():
    with refused("event-family-unknown", "gumbel choice", error=UsageError):
        describe_draws([make_choice().as_dict() | {"family": "gumbel choice"}])


@pytest.mark.parametrize("place", [CHOICE, -1])
def test_problems_of__every_field_of_a_family_is_needed_and_no_other(tmp_path, place):
    statement = make_chosen_statement(tmp_path, more=[(make_laplace(), "height")])
    fields = list(statement["mechanisms"][place])
    assert problems_of(statement) == []
    for name in fields:
        broken = copy.deepcopy(statement)
        value = broken["mechanisms"][place].pop(name)
        assert problems_of(broken), name
        broken["mechanisms"][place] |= {name: value, f"{name}_too": value}
        assert problems_of(broken), name


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mechanism": "gaussian"}, "'sigma' is a required property"),
        ({"mechanism": "laplace"}, "'scale' is a required property"),
        ({"mechanism": "subset"}, "does not match '^canonical Lipschitz"),
        ({"mechanism": "gumbel choice"}, "is not one of"),
        ({"sigma": "4"}, "'sigma' was unexpected"),
        ({"norm": "l2"}, "'linf' was expected"),
        ({"n_choices": 0}, "less than the minimum"),
        ({"epsilon": "0"}, "does not match"),
        ({"noise": "Gumbel"}, "does not match '^permute-and-flip"),
    ],
    ids=str,
)
def test_problems_of__a_choice_that_is_none(tmp_path, changed, message):
    statement = make_chosen_statement(tmp_path)
    statement["mechanisms"][CHOICE] |= changed
    assert any(message in problem for problem in problems_of(statement))


def test_problems_of__a_set_has_its_gamma_and_a_choice_none(tmp_path):
    statement = make_chosen_statement(tmp_path)
    choice = statement["mechanisms"][CHOICE]
    subset = {"mechanism": "subset", "noise": "canonical Lipschitz mechanism, certified"}
    for changed, is_valid in (
        (subset | {"gamma": "0.5"}, True),
        (subset | {"gamma": "0"}, True),
        (subset | {"gamma": "-0.5"}, False),
        (subset, False),
        ({"gamma": "0.5"}, False),
    ):
        statement["mechanisms"][CHOICE] = choice | changed
        assert (problems_of(statement) == []) == is_valid


@pytest.mark.parametrize("name", ["n_variants", "site_digest"])
def test_problems_of__the_variants_of_a_score_have_a_number_and_a_digest(tmp_path, name):
    named = {"n_variants": 3, "site_digest": "a" * 64}
    statement = make_chosen_statement(tmp_path)
    assert problems_of(with_scores(statement, **named)) == []
    (problem, *_) = problems_of(with_scores(statement, **{name: named[name]}))
    assert problem.startswith("scores[0]")


def test_plain_language__says_what_was_chosen_and_both_parts_of_the_budget(tmp_path):
    statement = make_chosen_statement(tmp_path)
    text = told(with_scores(statement, n_variants=3, site_digest="a" * 64))
    assert "holds 3 variants, chosen for it in private among 8 public sites." in text
    assert "Percentages are of mu^2 and of pure epsilon, which add up" in text
    assert "pure epsilon 0.75 spent and 2.25 left." in text
    assert "chosen for it in private" not in told(with_scores(statement))
    one = told(with_scores(statement, n_variants=1, site_digest="a" * 64))
    assert "holds 1 variant, chosen for it" in one


def test_budget_in_words__parts_of_both_counters(tmp_path):
    statement = make_chosen_statement(tmp_path)
    statement["guarantee"]["mu"] = "0.5"
    statement["ledger"]["spent"] |= {"mu_squared": "1.0001", "pure_epsilon": "1", "epsilon": "7.5"}
    statement["ledger"]["remaining"] |= {"mu_squared": "2.9999", "pure_epsilon": "2.1"}
    text = budget_in_words(statement)
    # Of 4 and of 3.1; spent is rounded up, left down.
    assert "7 percent of that budget's part for noise with a delta, and 25 percent of its part" in text
    assert "26 percent and 33 percent are spent, which is an epsilon of 7.5, and 74 percent and 67" in text


def test_to_registry_yaml__choices(tmp_path):
    statement = make_chosen_statement(tmp_path, more=[(make_laplace(), "height")])
    text = to_registry_yaml(with_scores(statement, n_variants=3, site_digest="a" * 64))
    deployment = yaml.safe_load(text)["deployment"]
    assert "weights of 3 of 8 variants, chosen in private, for 3" in deployment["basic"]["description"]
    assert (
        ", and pure epsilon 1.08333333333334. A person"
        in (deployment["privacy_loss"]["privacy_parameters_details"])
    )
    mechanisms = deployment["implementation"]["mechanisms"]
    assert mechanisms.count("choice of 3 among 8, permute-and-flip") == 3
    assert "linf sensitivity 2 (docs/proofs/kendall.md) of a score, epsilon 0.25" in mechanisms
    assert "Laplace mechanism" in mechanisms
    assert "scale 3, 1 numbers, epsilon 0.333333333333334" in mechanisms
