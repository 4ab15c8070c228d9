import copy
import json
import math
from dataclasses import asdict, replace
from decimal import Context, Decimal
from fractions import Fraction

import pytest
import yaml
from scipy.special import ndtr

from audit_data import make_audit
from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import gdp_delta
from dpgrs.privacy.accounting.charges import Cost, GaussianCharge, PureCharge
from dpgrs.privacy.ledger.entries import Account
from dpgrs.release.odds import describe_profile
from dpgrs.release.statement import build_statement, ledger_standing
from dpgrs.statement.conditions import DOSAGES_INPUT, FIXED_SITES_INPUT
from dpgrs.statement.content import PublicInput, Total
from dpgrs.statement.guarantee import factor
from dpgrs.statement.schema import REQUIRED_INPUTS, SCHEMA, problems_of, validate
from dpgrs.statement.words import NOT_PROTECTED_UNDER, PUBLIC_SIDE, decimal_text
from dpgrs.verify.side_check import side_problems
from ledger_requests import ACCOUNT, new_ledger, open_account, reserve
from refused import refused
from release_data import FIT, make_content, make_events, make_statement, make_terms


def paths_of(value, path=()):
    """Yield the path of every field of a statement."""
    for key, inner in value.items():
        yield (*path, key)
        if isinstance(inner, dict):
            yield from paths_of(inner, (*path, key))


def test_build_statement__numbers_are_exact(tmp_path):
    statement = make_statement(tmp_path)
    events = make_events(make_terms())
    for event, shown in zip(events, statement["mechanisms"], strict=True):
        assert Fraction(shown["sigma"]) == Fraction(event.sigma)
        assert Fraction(shown["sensitivity"]) == Fraction(event.sensitivity.value)
        assert Fraction(shown["grid"]) == Fraction(event.step)
        assert Fraction(shown["mu"]) >= Fraction(event.sensitivity.value) / Fraction(event.sigma)
        assert math.isclose(float(shown["mu"]), event.mu, rel_tol=1e-12)
    assert sum(float(shown["share"]) for shown in statement["mechanisms"]) == pytest.approx(1, abs=2e-3)
    assert gdp_delta(float(statement["guarantee"]["mu"]), 1.0) == pytest.approx(1e-6, rel=1e-6)


def test_build_statement__says_what_it_was_given(tmp_path):
    fit = FIT | {"lambda": 0.1}
    content = make_content(
        tmp_path, method="blup", fit=fit, missing_outcomes="counted", post_processing=("a", "b")
    )
    curation = replace(content.curation, acknowledgement="Thanks.")
    statement = build_statement(replace(content, curation=curation, expected_noise_sd=0.25))
    assert (statement["method"], statement["fit"]) == ("blup", fit)
    assert (statement["post_processing"], statement["expected_noise_sd"]) == (["a", "b"], 0.25)
    assert statement["curation"]["acknowledgement"] == "Thanks."
    assert statement["data_domain"]["missing_outcomes"] == "counted"
    assert statement["files"] == {}
    plain = make_statement(tmp_path / "plain", missing_outcomes=None)
    assert "missing_outcomes" not in plain["data_domain"]


def test_build_statement__same_content_same_json(tmp_path):
    content = make_content(tmp_path)
    assert json.dumps(build_statement(content)) == json.dumps(build_statement(content))


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        (
            {},
            [
                "one haplotype is there or not",
                "whether the data of one haplotype were used.",
                "two rows",
                "more than e^1 = 2.72 with a chance of at most 0.000053,",
                "is not delta, 0.000001,",
                "the factor is e^2 = 7.39 and the chance at most 0.000085.",
            ],
        ),
        ({"unit": "person"}, ["one person is there or not", "two rows", "e^1 = 2.72"]),
        ({"unit": "person", "rows": "people"}, ["Under one sample id at one centre a person gives one row."]),
        (
            {"neighbours": "replace-one"},
            [
                "are replaced by any others",
                "which of two possibilities the genotypes and outcomes of one haplotype are.",
            ],
        ),
        ({"epsilon": 0.5}, ["e^0.5 = 1.65", "e^1 = 2.72"]),
        ({"epsilon": 20.0, "unit": "person"}, ["e^20 = 4.86E+8"]),
    ],
)
def test_build_statement__words(tmp_path, terms, words):
    guarantee = make_statement(tmp_path, make_terms(**terms))["guarantee"]
    text = " ".join((guarantee["definition"], guarantee["contribution"], guarantee["plain_language"]))
    for word in words:
        assert word in text


def of_one_side(content, terms):
    """Give a content other terms, and what is public under their protection."""
    public = PublicInput(PUBLIC_SIDE[terms.protection], "0" * 64, "a register")
    return replace(content, terms=terms, public_inputs=(*content.public_inputs, public))


@pytest.mark.parametrize(
    ("protection", "words"), [("feature", "possibilities the genotypes of"), ("label", "the outcomes of")]
)
def test_build_statement__one_side(tmp_path, protection, words):
    terms = make_terms(neighbours="replace-one")
    content = make_content(tmp_path, terms)
    changed = make_terms(neighbours="replace-one", protection=protection)
    with refused("input-without-origin", PUBLIC_SIDE[protection], error=UsageError):
        build_statement(replace(content, terms=changed))
    statement = build_statement(of_one_side(content, changed))
    assert words in statement["guarantee"]["plain_language"]
    assert f"privacy of the {words.split()[-2]} among" in statement["guarantee"]["definition"]
    assert statement["not_protected"][:2] == list(NOT_PROTECTED_UNDER[protection])
    assert side_problems(statement) == [
        f"the mechanisms must not draw {name} under {protection} protection, where it is public"
        for name in (["gram"] if protection == "label" else [])
    ]


@pytest.mark.parametrize(
    ("protection", "words"),
    [
        ("full", "genotypes, covariates and outcomes"),
        ("feature", "genotypes and covariates"),
        ("label", "outcomes"),
    ],
)
def test_build_statement__covariates_go_with_the_genotypes(tmp_path, protection, words):
    terms = make_terms(neighbours="replace-one", unit="person")
    content = make_content(tmp_path, terms)
    inputs = (*content.public_inputs, PublicInput("covariates", "age", "columns of the study"))
    content = replace(content, terms=replace(terms, protection=protection), public_inputs=inputs)
    if protection != "full":
        content = of_one_side(content, content.terms)
    guarantee = build_statement(content)["guarantee"]
    assert f"possibilities the {words} of one person are" in guarantee["plain_language"]
    assert f"privacy of the {words} among data sets that meet the conditions" in guarantee["definition"]
    assert f"in which the {words} of one person are replaced" in guarantee["definition"]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.2, 7.5])
def test_build_statement__loss_of_a_person(tmp_path, epsilon):
    person = make_statement(tmp_path, make_terms(epsilon=epsilon))["guarantee"]["person"]
    assert Fraction(person["epsilon"]) == 2 * Fraction(decimal_text(epsilon))
    exact = (1 + Decimal(repr(epsilon)).exp(Context(prec=50))) * Decimal("1e-6")
    assert exact <= Decimal(person["delta"]) < exact * (1 + Decimal("1e-13"))
    assert len(Decimal(person["delta"]).as_tuple().digits) <= 15


@pytest.mark.parametrize("delta", [1e-6, "0.00000100000000000000001"])
def test_build_statement__loss_of_a_person_keeps_all_digits(tmp_path, delta):
    for unit in ("person", "haplotype"):
        (tmp_path / unit).mkdir()
        drawn = [(event, None) for event in make_events(make_terms(unit=unit))]
        terms = make_terms(unit=unit, epsilon="1.00000000000000000001", delta=delta)
        guarantee = make_statement(tmp_path / unit, terms, drawn=drawn)["guarantee"]
        person = guarantee["person"]
        if unit == "person":
            assert (person["epsilon"], person["delta"]) == (terms.epsilon, decimal_text(delta))
        else:
            assert person["epsilon"] == "2.00000000000000000002"


def test_build_statement__loss_of_a_person_as_told_or_void(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    told = make_statement(tmp_path / "a", person=Total(2, "0.000002"))["guarantee"]["person"]
    assert told == {"epsilon": "2", "delta": "0.000002", "chance": "0.000085", "right_guesses": "60"}
    void = make_statement(tmp_path / "b", make_terms(epsilon=20.0))["guarantee"]["person"]
    assert void == {"epsilon": "40", "delta": "1", "chance": "0.0028", "right_guesses": "100"}


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-6), (5.0, 1e-6), (1.0, 1e-4)])
def test_build_statement__a_chance_is_never_below_what_normal_noise_shows(tmp_path, epsilon, delta):
    """Where the noise is not rounded, Phi(-epsilon/mu + mu/2): 6 to 36 times delta."""
    terms = make_terms(epsilon=epsilon, delta=delta, unit="person")
    guarantee = make_statement(tmp_path, terms)["guarantee"]
    mu = float(guarantee["mu"])
    shown = float(ndtr(-epsilon / mu + mu / 2))
    assert shown > 5 * delta
    assert shown < float(guarantee["chance"]) < 3 * shown
    assert f"with a chance of at most {guarantee['chance']}," in guarantee["plain_language"]
    right = math.ceil(100 * float(ndtr(mu / 2)))
    assert guarantee["right_guesses"] == guarantee["person"]["right_guesses"] == str(right)
    assert f"guess it right at most {right} times in 100," in guarantee["plain_language"]


def test_build_statement__chances_are_of_what_was_drawn(tmp_path):
    """An epsilon that is claimed beyond what the draws cost has a smaller chance."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    drawn = [(event, None) for event in make_events(make_terms())]
    exact = make_statement(tmp_path / "a", drawn=drawn)["guarantee"]["chance"]
    generous = make_statement(tmp_path / "b", make_terms(epsilon=1.5), drawn=drawn)["guarantee"]["chance"]
    assert float(generous) < float(exact) / 1000


@pytest.mark.parametrize("epsilon", ["1", "0.5"])
def test_build_statement__profile(tmp_path, epsilon):
    statement = make_statement(tmp_path, make_terms(epsilon=float(epsilon)))
    profile, mu = statement["profile"], float(statement["guarantee"]["mu"])
    assert float(profile["mu_squared"]) == pytest.approx(mu**2, rel=1e-12)
    assert profile["pure_epsilon"] == "0"
    shares = [Fraction(point["epsilon"]) / Fraction(epsilon) for point in profile["deltas"]]
    assert shares == [Fraction(fifths, 5) for fifths in range(1, 11)]
    for point in profile["deltas"]:
        assert float(point["delta"]) == pytest.approx(gdp_delta(mu, float(point["epsilon"])), rel=1e-5)


def test_describe_profile__begins_with_the_pure_part():
    profile = describe_profile(Cost(Fraction(1, 4), Fraction(1)), "0.5")
    assert {point["epsilon"] for point in profile["deltas"]} == {"1"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, []),
        ({"statistic": "smallest eigenvalue"}, ["Cholesky"]),
        ({"statistic": "genome sums"}, ["single precision"]),
    ],
)
def test_build_statement__assumptions_follow_what_was_drawn(tmp_path, changed, words):
    drawn = [(replace(event, **changed), None) for event in make_events(make_terms())]
    assumptions = make_statement(tmp_path, drawn=drawn)["assumptions"]
    for word in ("pseudo-random", "IEEE 754", "another's rows", *words):
        assert sum(word in line for line in assumptions) == 1
    assert len(assumptions) == 3 + len(words)


@pytest.mark.parametrize(
    ("inputs", "n_more"),
    [((FIXED_SITES_INPUT,), 1), ((FIXED_SITES_INPUT, DOSAGES_INPUT), 2), ((DOSAGES_INPUT,), 0)],
)
def test_build_statement__assumptions_follow_the_files_that_were_read(tmp_path, inputs, n_more):
    known = make_statement(tmp_path / "known")
    stated = [PublicInput(**one) for one in known["public_inputs"]]
    stated += [PublicInput(*one, "stated") for one in inputs]
    assumptions = make_statement(tmp_path, public_inputs=tuple(stated))["assumptions"]
    assert assumptions[: -n_more or None] == known["assumptions"]
    assert ("fixed public list" in " ".join(assumptions)) == (FIXED_SITES_INPUT in inputs)
    assert ("each person's own data" in " ".join(assumptions)) == (n_more == 2)


@pytest.mark.parametrize("name", REQUIRED_INPUTS)
@pytest.mark.parametrize("origin", [None, " "])
def test_build_statement__raise_on_input_without_origin(tmp_path, name, origin):
    inputs = [
        PublicInput(other, "value", origin if other == name else "public")
        for other in REQUIRED_INPUTS
        if other != name or origin
    ]
    with pytest.raises(UsageError, match=name):
        make_statement(tmp_path, public_inputs=tuple(inputs))


@pytest.mark.parametrize(
    "changed",
    [
        {"site_digest": "abc"},
        {"n_variants": 0},
        {"genome_build": "hg19"},
        {"outcomes": ()},
        {"accuracy": ()},
        {"expected_noise_sd": -1.0},
        {"events": ()},
    ],
    ids=str,
)
def test_build_statement__raise_on_schema(tmp_path, changed):
    with pytest.raises(UsageError, match=next(iter(changed)).replace("events", "mechanisms")):
        make_statement(tmp_path, **changed)


def references(part):
    """Yield every part of a schema that refers to a definition."""
    if isinstance(part, dict) and "$ref" in part:
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from references(inner)


def test_schema__no_keyword_stands_beside_a_reference_and_in_its_definition():
    """Else one of the two would be lost where definitions are put in the place of references."""
    schema = yaml.safe_load(SCHEMA.read_text())
    found = list(references(schema))
    assert len(found) > 50
    for part in found:
        place, _, name = part["$ref"].rpartition("/")
        assert place == "#/$defs"
        assert part.keys() & schema["$defs"][name].keys() <= {"description", "$ref"}, part


def test_problems_of__every_missing_field_is_found(tmp_path):
    # None: methods that need no count leave it out.
    statement = make_statement(tmp_path, audit=make_audit(), missing_outcomes=None)
    paths = list(paths_of(statement))
    assert len(paths) > 60
    for path in paths:
        broken = copy.deepcopy(statement)
        parent = broken
        for key in path[:-1]:
            parent = parent[key]
        value = parent.pop(path[-1])
        if path[0] == "files":
            continue
        assert problems_of(broken), path
        parent[path[-1] + "_too"] = value
        assert problems_of(broken), path


def test_validate__all_problems_at_once(tmp_path):
    statement = make_statement(tmp_path)
    statement["guarantee"]["epsilon"] = "1e0"
    statement["mechanisms"][1]["sigma"] = "0.0"
    statement["curation"]["publication_date"] = "today " * 99
    with refused("statement-invalid", error=UsageError) as caught:
        validate(statement)
    for name in ("guarantee.epsilon", "mechanisms[1].sigma", "curation.publication_date"):
        assert name in str(caught.value)
    assert max(map(len, str(caught.value).splitlines())) < 300


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [("0", "1"), ("1", "2.72"), ("6.9", "993"), ("13.8", "985000"), ("14", "1.21E+6"), ("20", "4.86E+8")],
)
def test_factor__is_short_and_rounded_up(epsilon, text):
    assert factor(epsilon) == text
    assert 1 <= Fraction(Decimal(text)) / Fraction(math.exp(float(epsilon))) < Fraction("1.01")


def test_ledger_standing__of_a_person_counts_both_haplotypes(tmp_path):
    ledger = new_ledger(tmp_path, pure_epsilon="1")
    account = Account("full", "haplotype", "add-remove")
    open_account(ledger, account, mu_squared="1", pure_epsilon="1")
    charges = [GaussianCharge("gram", "1", "4"), PureCharge("choice", "0.2")]
    reserve(ledger, charges=charges, account=account)
    last = reserve(ledger, mu="0.25")
    # 1/16 and 0.2 to a haplotype, who costs a person twice as much; 1/16 to a person, who is two steps.
    for one, spent in ((ACCOUNT, ("0.3125", "0.4")), (account, ("0.3125", "0.2"))):
        standing = ledger_standing(ledger.read(), one, [last])
        assert standing["account"] == str(one)
        assert (standing["spent"]["mu_squared"], standing["spent"]["pure_epsilon"]) == spent
        left = [standing["remaining"][name] for name in ("mu_squared", "pure_epsilon")]
        assert [Fraction(value) for value in left] == [1 - Fraction(value) for value in spent]


def test_ledger_standing__later_requests_do_not_count(tmp_path):
    ledger = new_ledger(tmp_path)
    first, second = (reserve(ledger, mu=mu, shape=[i]) for i, mu in enumerate(["0.5", "0.25"]))
    standing = ledger_standing(ledger.read(), ACCOUNT, [second, first])
    assert standing["head"] == second
    assert standing["spent"]["mu_squared"] == "0.3125"
    assert standing["remaining"]["mu_squared"] == "0.6875"
    reserve(ledger, mu="0.125", shape=[9])
    assert ledger_standing(ledger.read(), ACCOUNT, [first, second]) == standing
    earlier = ledger_standing(ledger.read(), ACCOUNT, [first])
    assert (earlier["head"], earlier["spent"]["mu_squared"]) == (first, "0.25")


def test_ledger_standing__rounded_to_the_safe_side(tmp_path):
    ledger = new_ledger(tmp_path)
    request = reserve(ledger, charges=[GaussianCharge("gram", "1", "3")])
    standing = ledger_standing(ledger.read(), ACCOUNT, [request])
    assert Fraction(standing["spent"]["mu_squared"]) > Fraction(1, 9)
    assert Fraction(standing["remaining"]["mu_squared"]) < Fraction(8, 9)
    chance = Cost(mu_squared=Fraction(1, 9)).odds_chance(Fraction(standing["spent"]["epsilon"]))
    assert chance <= Fraction(standing["spent"]["chance"]) <= chance * Fraction(12, 10)


@pytest.mark.parametrize("requests", [[], ["f" * 64]])
def test_ledger_standing__raise_on_request(tmp_path, requests):
    with refused("ledger-without-requests"):
        ledger_standing(new_ledger(tmp_path).read(), ACCOUNT, requests)


@pytest.mark.parametrize(
    ("number", "text"), [(0.1, "0.1"), (1e-6, "0.000001"), ("2", "2"), (10000, "10000"), ("0.50", "0.5")]
)
def test_decimal_text__shortest(number, text):
    assert decimal_text(number) == text


def test_terms__as_text(tmp_path):
    terms = make_terms()
    assert terms.as_text() == asdict(terms) | {"epsilon": "1", "delta": "0.000001"}
