"""What a release check works out of sensitivities is what the mechanisms claim, by other code."""

from fractions import Fraction
from itertools import product

import pytest

from conftest import REPOSITORY
from dpgrs.errors import DpgrsError
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.sensitivity import (
    accuracy_sensitivity,
    count_sensitivity,
    cross_sensitivity,
    gram_sensitivity,
    outcome_counts_sensitivity,
    smallest_eigenvalue_sensitivity,
)
from dpgrs.selection.dp_kendall import KendallRequest
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.sensitivity_check import BY_STATISTIC, sensitivity_problems
from forged_releases import edit_statement, seal
from release_data import make_bundle

D, L, CHOSEN = 7, 3, 4
BOUNDS = {"outcome_bound": 2.5, "residual_bound": 3.25}
RELATIONS = [
    {"rows": rows, "unit": unit, "neighbours": neighbours}
    for rows, unit in (("haplotypes", "haplotype"), ("haplotypes", "person"), ("people", "person"))
    for neighbours in ("add-remove", "replace-one")
]
# Of rows that are not clipped, clipped within one entry, within some, and not at all in effect.
NORMS = [None, 0.375, 1.625, 100.0]
PROTECTIONS = ["full", "feature", "label"]


def claims(relation, row_norm, outcome_norm, protection):
    """Return the claims of statistics of full rows as the mechanisms make them, with their entries."""
    rows = {"row_norm": row_norm, **relation}
    norms = {"outcome_norm": outcome_norm, "outcome_bound": BOUNDS["outcome_bound"]}
    found = {
        "gram": (gram_sensitivity(D, **rows), 1),
        "cross product": (cross_sensitivity(D, L, protection=protection, **norms, **rows), D * L),
        "smallest eigenvalue": (smallest_eigenvalue_sensitivity(D, **rows), 1),
        "outcome counts": (outcome_counts_sensitivity(L, **relation), L),
        "case counts": (outcome_counts_sensitivity(L, **relation), L),
        "accuracy": (accuracy_sensitivity(L, **relation, **BOUNDS), 3 * L),
    }
    if relation["neighbours"] == "add-remove":
        found["count"] = (count_sensitivity(**relation), 1)
    return found


def choice_claims(relation):
    """Return the claims of choices, which full protection alone has."""
    return {"Kendall's correlations": (KendallRequest(n_choices=CHOSEN, epsilon=1.0, **relation).claim, D)}


def statement(found, relation, *, method="reusecov-gauss", protection="full", factor=1, **norms):
    """Return the parts of a statement that hold sensitivities, each times a factor."""
    inputs = {
        "outcome bound": BOUNDS["outcome_bound"],
        "residual bound": BOUNDS["residual_bound"],
    }
    inputs |= {f"norm of a row of {name}": norm for name, norm in norms.items() if norm is not None}
    return {
        "method": method,
        "data_domain": {"n_variants": D},
        "guarantee": relation | {"protection": protection},
        "public_inputs": [{"name": name, "value": f"{value:g}"} for name, value in inputs.items()],
        "mechanisms": [
            {
                "statistic": name,
                "mechanism": "gaussian" if claim.norm == "l2" else "choice",
                "outcome": None,
                "entries": entries,
                "norm": claim.norm,
                "proof": claim.proof,
                "sensitivity": exact_text(float(Fraction(claim.value) * factor)),
            }
            for name, (claim, entries) in found.items()
        ],
    }


@pytest.mark.parametrize(
    ("relation", "row_norm", "outcome_norm", "protection"),
    [
        case
        for case in product(RELATIONS, NORMS, [None, 2.0], PROTECTIONS)
        if case[3] == "full" or case[0]["neighbours"] == "replace-one"
    ],
)
def test_sensitivity_problems__claims_are_enough_and_no_less_is(relation, row_norm, outcome_norm, protection):
    found = claims(relation, row_norm, outcome_norm, protection)
    terms = {"protection": protection, "genotypes": row_norm, "outcomes": outcome_norm}
    assert sensitivity_problems(statement(found, relation, **terms), n_columns=D) == []
    less = statement(found, relation, factor=Fraction(999, 1000), **terms)
    assert [line.split(" must")[0] for line in sensitivity_problems(less, n_columns=D)] == [
        f"the sensitivity of {name}" for name in found
    ]


@pytest.mark.parametrize("relation", RELATIONS)
def test_sensitivity_problems__of_choices(relation):
    found = choice_claims(relation)
    assert sensitivity_problems(statement(found, relation), n_columns=D) == []
    less = statement(found, relation, factor=Fraction(997, 1000))
    assert len(sensitivity_problems(less, n_columns=D)) == len(found)


def test_sensitivity_problems__chosen_variants_are_fewer_columns():
    relation = RELATIONS[1]
    own = claims(relation, None, None, "full")
    cross = cross_sensitivity(CHOSEN, 1, outcome_bound=BOUNDS["outcome_bound"], **relation)
    found = own | {"gram": (gram_sensitivity(CHOSEN, **relation), 1), "cross product": (cross, CHOSEN)}
    stated = statement(found, relation, method="k-blup")
    (line,) = sensitivity_problems(stated, n_columns=D)
    assert line.startswith("the sensitivity of gram must be at least 2")
    claim = KendallRequest(n_choices=CHOSEN, epsilon=1.0, **relation).claim
    own = statement({"Kendall's correlations": (claim, D)}, relation)["mechanisms"][0]
    # A choice of another statistic is none of the method's.
    of_others = own | {"statistic": "products with the outcome", "mechanism": "subset"}
    stated["mechanisms"].append(of_others | {"n_choices": 1})
    assert len(sensitivity_problems(stated, n_columns=D)) == 1
    stated["mechanisms"].append(own | {"n_choices": CHOSEN})
    assert sensitivity_problems(stated, n_columns=D) == []


def test_sensitivity_problems__turned_rows_have_a_page_of_their_own():
    relation = RELATIONS[0]
    stated = statement(claims(relation, 1.625, None, "full"), relation, genotypes=1.625)
    stated["method"] = "blup-steered"
    (line,) = sensitivity_problems(stated, n_columns=D)
    assert line == (
        "the proof of cross product must be docs/proofs/steered.md, got docs/proofs/cross_product.md"
    )


def test_sensitivity_problems__haplotypes_are_no_unit_where_a_row_is_a_person():
    relation = {"rows": "people", "unit": "haplotype", "neighbours": "add-remove"}
    assert sensitivity_problems(statement({}, relation), n_columns=D) == [
        "the unit must be a person where a row is one"
    ]


def test_by_statistic__pages_are_there():
    assert all((REPOSITORY / f"docs/proofs/{page}.md").is_file() for _, page in BY_STATISTIC.values())


def test_verify_release__finds_a_forged_outcome_bound(tmp_path):
    folder = make_bundle(tmp_path)
    verify_release(folder)
    edit_statement(folder, ["public_inputs", 2, "value"], "4")
    seal(folder)
    with pytest.raises(DpgrsError, match="the sensitivity of cross product must be 9"):
        verify_release(folder)
