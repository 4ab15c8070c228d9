import re
from fractions import Fraction

import pytest
from mpmath import mp

from audit_data import make_audit, make_finding
from dpgrs.privacy.accounting.accountant import gdp_mu
from dpgrs.release.audits import summarise_audits
from dpgrs.statement.text import budget_in_words, gaussian_epsilon, plain_language
from release_data import make_statement


def told(statement):
    return " ".join(plain_language(statement).split())


def test_plain_language__holds_what_matters(tmp_path):
    statement = make_statement(tmp_path, preprocessing=("a private count, charged",))
    text = plain_language(statement)
    assert 90 < max(map(len, text.splitlines())) <= 100
    for part in (
        statement["guarantee"]["plain_language"],
        *statement["not_protected"],
        statement["trust_model"],
        *statement["assumptions"],
        statement["curation"]["data_use_terms"],
        "a private count, charged",
        "Withheld",
        "The mechanisms were not audited for this release.",
        "pure epsilon 0 spent and 0 left.",
    ):
        assert part in " ".join(text.split())


def test_plain_language__says_all_of_it_under_headings(tmp_path):
    statement = make_statement(tmp_path)
    curation, guarantee, software = (statement[name] for name in ("curation", "guarantee", "software"))
    curation |= {"data_use_terms": "https://" + 60 * "a-", "acknowledgement": "Thanks."}
    text = plain_language(statement)
    assert curation["data_use_terms"] in text
    _, *parts = re.split(r"^(.+)\n-+$", text, flags=re.MULTILINE)
    said = {title: " ".join(lines.split()) for title, lines in zip(parts[::2], parts[1::2], strict=True)}
    budget, accuracy = said.pop("Budget"), said.pop("Accuracy")
    assert budget.startswith(budget_in_words(statement))
    assert accuracy.startswith("Withheld: ")
    assert accuracy.endswith(statement["subgroups"])
    assert said == {
        "What this is": f"{curation['title']}, by {curation['curator']}. "
        f"Intended use: {curation['intended_use']} Terms of use: {curation['data_use_terms']}. "
        f"License: {curation['license']}. Thanks. Made by dpgrs {software['version']}, commit "
        f"{software['commit']}. Pages of docs/ that this release names are those of that version's manual.",
        "What is promised": " ".join(
            guarantee[name] for name in ("plain_language", "definition", "contribution")
        ),
        "What the existence of this release reveals": " ".join(statement["conditions"]),
        "What is not protected": " ".join(statement["not_protected"]),
        "Who is trusted, and with what": f"{statement['trust_model']} {statement['randomness']}",
        "What the guarantee rests on": " ".join(statement["assumptions"]),
        "What was taken as public": " ".join(
            f"{public['name']}: {public['value']} ({public['origin']})"
            for public in statement["public_inputs"]
        ),
        "What saw private data before the noise": "Nothing.",
        "What was done after the noise": " ".join(statement["post_processing"]),
        "Audit": "The mechanisms were not audited for this release.",
    }


def test_plain_language__audit(tmp_path):
    text = told(make_statement(tmp_path, audit=make_audit()))
    assert "Every mechanism was run 500 times on each of two synthetic neighbouring inputs" in text
    assert "private_gram: mu claimed 1.855, observed at least 1.5, the closest of 1 case." in text
    twice = summarise_audits(
        [make_finding(), make_finding(observed=1.0)], statistics=["gram"], draws=500, seed=1
    )
    (tmp_path / "twice").mkdir()
    assert "the closest of 2 cases." in told(make_statement(tmp_path / "twice", audit=twice))


def test_plain_language__what_accuracy_cost_is_said_once_if_it_is_the_same(tmp_path):
    accuracy = [{"name": name, "value": "R^2 0.1", "cost": "epsilon 0.1"} for name in ("a", "b")]
    (tmp_path / "same").mkdir()
    same = told(make_statement(tmp_path / "same", accuracy=accuracy))
    assert "a R^2 0.1. b R^2 0.1. Cost: epsilon 0.1." in same

    accuracy[1]["cost"] = "none"
    (tmp_path / "own").mkdir()
    own = told(make_statement(tmp_path / "own", accuracy=accuracy))
    assert "a R^2 0.1 (cost: epsilon 0.1). b R^2 0.1 (cost: none)." in own


@pytest.mark.parametrize(
    ("this", "spent", "left", "words"),
    [
        # Spent is rounded up, left down.
        ("0.5", "1.0001", "2.9999", ["spent 7 percent", "26 percent is spent", "74 percent is left"]),
        ("0.5", "0.25", "0", ["spent 100 percent", "100 percent is spent", "and 0 percent is left"]),
        # Digits that were rounded away must not make a release cost more than all there is.
        ("1.0000001", "1", "0", ["spent 100 percent"]),
        ("0.01", "4", "4", ["spent 1 percent", "50 percent is spent", "50 percent is left"]),
        # Of nothing all is spent.
        ("0", "0", "0", ["epsilon of at most 0,", "spent 100 percent", "and 0 percent is left"]),
    ],
)
def test_budget_in_words__percentages(tmp_path, this, spent, left, words):
    statement = make_statement(tmp_path)
    statement["guarantee"]["mu"] = this
    statement["ledger"]["spent"] |= {"mu_squared": spent, "pure_epsilon": "0"}
    statement["ledger"]["remaining"] |= {"mu_squared": left, "pure_epsilon": "0"}
    text = budget_in_words(statement)
    assert [part for part in words if part not in text] == []
    assert "without a delta" not in text


def test_budget_in_words__epsilon_of_the_limit_and_of_what_is_spent(tmp_path):
    statement = make_statement(tmp_path)
    statement["ledger"]["spent"] |= {"mu_squared": "0.2", "pure_epsilon": "0.25", "epsilon": "2.2413"}
    # mu^2 of (4, 1e-6), rounded down, and pure mechanisms beside it.
    statement["ledger"]["remaining"] |= {"mu_squared": "0.502007296721984", "pure_epsilon": "0.5"}
    text = budget_in_words(statement)
    assert "may cost one haplotype an epsilon of at most 4.75, at a delta of 0.000001." in text
    assert "which is an epsilon of 2.25," in text
    assert "an epsilon of 0.25 is spent, of at most 0.75." in text


@pytest.mark.parametrize(
    ("missing", "said"),
    [("counted", "people on which it is known"), ("none", "people, where all without a value are controls")],
)
def test_plain_language__says_where_people_without_a_value_are(tmp_path, missing, said):
    statement = make_statement(tmp_path)
    statement["guarantee"]["rows"] = "people"
    statement["data_domain"]["missing_outcomes"] = missing
    one = {"outcome": "a", "known": 100, "cases": 20, "controls": 80}
    statement["case_counts"] = [one | {f"{name}_sd": 3.0 for name in ("known", "cases", "controls")}]
    wanted = (
        f"a: about 20 cases and 80 controls among 100 {said}, with noise of standard deviation 3, 3 and 3."
    )
    assert wanted in told(statement)


@pytest.mark.parametrize("delta", ["0.000001", "1e-10", "0.01"])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 20.0])
def test_gaussian_epsilon__is_the_accounting_s_to_six_digits(epsilon, delta):
    mu_squared = Fraction(gdp_mu(epsilon, float(delta))) ** 2
    assert f"{float(gaussian_epsilon(mu_squared, Fraction(delta))):.6g}" == f"{epsilon:.6g}"
    assert gaussian_epsilon(Fraction(0), Fraction(delta)) == 0


@pytest.mark.parametrize(("above", "shown"), [("1e-25", "1.23457"), ("-1e-25", "1.23456")])
def test_budget_in_words__decides_the_last_digit_by_exact_arithmetic(tmp_path, above, shown):
    """The float of either epsilon is the same."""
    with mp.workdps(60):
        epsilon, delta = mp.mpf("1.234565") + mp.mpf(above), mp.mpf("1e-6")

        def excess(mu):
            later = mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
            return mp.log((mp.ncdf(mu / 2 - epsilon / mu) - later) / delta)

        mu = mp.findroot(excess, 0.3)
        mu_squared = Fraction(mp.nstr(mu**2, 45))
    statement = make_statement(tmp_path)
    zero = {"mu_squared": "0", "pure_epsilon": "0", "epsilon": "0"}
    statement["ledger"] |= {"delta": "0.000001", "spent": zero}
    statement["ledger"]["remaining"] = {"mu_squared": str(mu_squared), "pure_epsilon": "0"}
    assert f"an epsilon of at most {shown}," in budget_in_words(statement)
