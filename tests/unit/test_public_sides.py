"""Feature and label protection: what they cost together, and statements that claim more than was drawn."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.methods.mechanisms import mechanism_named
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_statistics
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.release.statement import build_statement
from dpgrs.statement.content import PublicInput
from dpgrs.statement.words import PUBLIC_SIDE
from dpgrs.study.fit_identity import output_digests
from dpgrs.types import Neighbours, Protection
from dpgrs.verify.draw_check import draw_problems
from dpgrs.verify.side_check import side_problems
from ledger_requests import new_ledger
from refused import refused
from release_data import make_content, make_events, make_terms

SIDES = (Protection.FEATURE, Protection.LABEL)


def ask(protection, **changed):
    terms = {
        "rows": "people",
        "n_variants": 2,
        "n_outcomes": 1,
        "outcome_bound": 3.0,
        "epsilon": 1,
        "delta": 1e-6,
    }
    return PrivacyRequest(**terms | {"protection": protection, "neighbours": "replace-one"} | changed)


def drawn_of(protection, x):
    """Return what is drawn of one person with these genotypes and an outcome of 0."""
    row = np.append(x, 1)  # in halves: the intercept last
    request = ask(protection)
    exact = (np.outer(row, row), np.zeros((1, 3), dtype=np.int64), 1)
    return request, private_statistics(*exact, request=request, noise=BenchmarkNoise(1), outcome_names=("a",))


@pytest.mark.parametrize("protection", SIDES)
@pytest.mark.parametrize("bounds", [{}, {"coding": "frequency", "row_norm": 1.3, "outcome_norm": 2.5}])
@pytest.mark.parametrize("rows", ["people", "haplotypes"])
def test_full__costs_genotypes_or_outcomes_alone_no_less(protection, bounds, rows):
    """The first part of docs/explanation/ledger.md, "Full, feature and label beside each other"."""
    own, full = ask(protection, rows=rows, **bounds), ask("full", rows=rows, **bounds)
    assert own.cross_claim.value <= full.cross_claim.value
    assert own.gram_claim.value <= full.gram_claim.value
    # Noise for full protection is an upper bound of what a request of one side alone would get.
    assert own.cross_claim.value / full.noise_sd["cross"] <= full.budget["cross"] * (1 + 1e-12)


def test_label__tells_feature_neighbours_apart_with_certainty():
    """The second part: one person with genotypes 0 or 2 at each variant, whose X'X has no noise."""
    x = np.array([2, -2, 1])
    for protection, is_exact in (("label", True), ("feature", False)):
        request, drawn = drawn_of(protection, x[:-1])
        assert np.array_equal(drawn.gram, np.outer(x, x) * request.gram_step) == is_exact


def test_label__what_is_drawn_of_outcomes_holds_the_public_statistics():
    """X'X has no request of its own: with another one the digest of the outcomes' part is another."""
    mechanism = mechanism_named("reusecov-statistics")
    request, drawn = drawn_of("label", np.array([2, -2]))
    parts = mechanism.outputs(drawn, ("a",), request)
    assert list(parts) == [("outcomes", "a")]
    for other in (replace(drawn, gram=2 * drawn.gram), replace(drawn, n=2)):
        assert output_digests(mechanism.outputs(other, ("a",), request)) != output_digests(parts)
    request, drawn = drawn_of("feature", np.array([2, -2]))
    assert list(mechanism.outputs(drawn, ("a",), request)) == [("genotypes",), ("outcomes", "a")]


@pytest.mark.parametrize(("first", "second"), list(permutations([*SIDES, Protection.FULL], 2)))
def test_ledger__has_one_answer_to_what_is_public(tmp_path, first, second):
    accounts = [Account(one, "person", Neighbours.REPLACE_ONE) for one in (first, second)]
    ledger = new_ledger(tmp_path, account=accounts[0])
    before = ledger.path.read_bytes()
    with refused("accounts-disagree", error=UsageError):
        ledger.open_account(accounts[1], ledger.read().budgets[accounts[0]])
    assert ledger.path.read_bytes() == before


def statement_of(folder, protection, terms=None, **changed):
    """Return the statement of a release as its draws are, with `terms` as those that it claims."""
    own = make_terms(neighbours="replace-one", unit="person", rows="people")
    drawn = [
        (event, None) for event in make_events(own) if (protection, event.statistic) != ("label", "gram")
    ]
    content = make_content(folder, own, drawn=drawn)
    claimed = replace(own, **{"protection": protection} | (terms or {}))
    public = content.public_inputs
    if claimed.protection != "full":
        public = (*public, PublicInput(PUBLIC_SIDE[claimed.protection], "0" * 64, "a register"))
    return build_statement(replace(content, terms=claimed, public_inputs=public, **changed))


@pytest.mark.parametrize("protection", ["full", *SIDES])
def test_side_problems__of_an_honest_statement_there_are_none(tmp_path, protection):
    statement = statement_of(tmp_path, protection)
    assert side_problems(statement) + draw_problems(statement) == []


@pytest.mark.parametrize("claimed", ["full", "feature"])
def test_draw_problems__draws_of_a_label_release_pass_for_no_other(tmp_path, claimed):
    """Every word is that of another protection, but nobody drew a Gram matrix."""
    statement = statement_of(tmp_path, "label", {"protection": claimed})
    assert side_problems(statement) == []
    (line,) = draw_problems(statement)
    assert line.endswith("fewer or more of gram for all outcomes")


def test_side_problems__draws_of_a_feature_release_pass_for_no_label_release(tmp_path):
    statement = statement_of(tmp_path, "feature", {"protection": "label"})
    assert side_problems(statement) == [
        "the mechanisms must not draw gram under label protection, where it is public"
    ]


def forged(statement, path, value):
    *sections, name = path
    for section in sections:
        statement = statement[section]
    statement[name] = value


ODD_DIGESTS = ("0" * 65, "0" * 63, "G" * 64)
FORGERIES = [
    (("guarantee", "neighbours"), "add-remove", "neighbours must be replace-one under "),
    (("not_protected",), ["Relatives."], "the not_protected must be, word for word"),
    (("public_inputs",), [], "each file by its SHA-256"),
    (("public_inputs", -1, "value"), "many files", "each file by its SHA-256"),
    (("guarantee", "protection"), "full", "the public inputs must not hold public "),
    *((("public_inputs", -1, "value"), odd, "each file by its SHA-256") for odd in ODD_DIGESTS),
]


@pytest.mark.parametrize("protection", SIDES)
@pytest.mark.parametrize(("path", "value", "line"), FORGERIES)
def test_side_problems__find(tmp_path, protection, path, value, line):
    statement = statement_of(tmp_path, protection)
    forged(statement, path, value)
    assert any(line in found for found in side_problems(statement))


def test_side_problems__projections_have_a_public_side(tmp_path):
    statement = statement_of(tmp_path, "full", method="reusecov-proj")
    assert side_problems(statement) == ["reusecov-proj must be under feature or label protection, got full"]
    for protection in SIDES:
        folder = tmp_path / protection
        folder.mkdir()
        statement = statement_of(folder, protection, method="reusecov-proj")
        assert side_problems(statement) == []
        forged = statement | {"method": "blup-steered"}
        assert f"blup-steered must be under full protection, got {protection}" in side_problems(forged)


def test_side_problems__public_outcomes_are_one_file(tmp_path):
    statement = statement_of(tmp_path, "feature")
    public = statement["public_inputs"]
    public.append(public[-1] | {"value": "1" * 64})
    assert any("each file by its SHA-256" in found for found in side_problems(statement))
    folder = tmp_path / "label"
    folder.mkdir()
    statement = statement_of(folder, "label")
    statement["public_inputs"].append(statement["public_inputs"][-1] | {"value": "1" * 64})
    assert side_problems(statement) == []
    statement["public_inputs"].append(statement["public_inputs"][-1])
    assert any("each file by its SHA-256" in found for found in side_problems(statement))


@pytest.mark.parametrize("protection", SIDES)
def test_side_problems__the_other_side_is_not_public_too(tmp_path, protection):
    statement = statement_of(tmp_path, protection)
    (other,) = {*SIDES} - {protection}
    statement["public_inputs"].append(statement["public_inputs"][-1] | {"name": PUBLIC_SIDE[other]})
    assert side_problems(statement) == [
        f"the public inputs must not hold {PUBLIC_SIDE[other]} under {protection} protection"
    ]


@pytest.mark.parametrize(
    ("protection", "statistic"),
    [("feature", "count"), ("feature", "outcome counts"), ("label", "count"), ("label", "gram")],
)
def test_side_problems__nothing_is_drawn_of_what_is_public(tmp_path, protection, statistic):
    statement = statement_of(tmp_path, Protection(protection))
    statement["mechanisms"].append(statement["mechanisms"][-1] | {"statistic": statistic})
    assert side_problems(statement) == [
        f"the mechanisms must not draw {statistic} under {protection} protection, where it is public"
    ]
