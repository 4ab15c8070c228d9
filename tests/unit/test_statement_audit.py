import pytest

from audit_data import STATISTICS, TERMS, make_audit, make_finding
from dpgrs.errors import DpgrsError
from dpgrs.release.audits import summarise_audits
from dpgrs.release.statement import build_statement
from dpgrs.statement.schema import problems_of
from release_data import make_content


def summarise(*findings, statistics=("gram",), draws=500):
    return summarise_audits(findings, statistics=statistics, draws=draws, seed=7)


def test_summarise_audits__keeps_the_case_that_came_closest():
    far = make_finding(claimed=4.0, observed=2.5, accounting="paper")
    near = make_finding(claimed=1.99951, observed=1.87659, parts=[{"name": "gram", "claimed": 2.0}])

    audit = summarise(far, near, make_finding("cross product", claimed=3.0, observed=0.0))

    assert {name: audit[name] for name in ("draws", "confidence", "seed")} == {
        "draws": 500,
        "confidence": "0.999999",
        "seed": 7,
    }
    # The claim is rounded up, what was observed down.
    assert audit["mechanisms"] == [
        {
            "mechanism": "private_gram",
            "cases": 2,
            "terms": TERMS,
            "loss": "mu",
            "claimed": "2.000",
            "observed": "1.876",
            "within_claim": True,
        },
        {
            "mechanism": "private_cross_product",
            "cases": 1,
            "terms": TERMS,
            "loss": "mu",
            "claimed": "3",
            "observed": "0",
            "within_claim": True,
        },
    ]


def test_summarise_audits__of_one_case():
    audit = summarise(make_finding())
    assert (audit["confidence"], len(audit["mechanisms"])) == ("0.999999", 1)


@pytest.mark.parametrize(
    ("findings", "message"),
    [
        ([make_finding("gram")], "missing for private_accuracy, private_count"),
        (
            [make_finding(name) for name in ("count", "accuracy")] + [make_finding(observed=1.9)],
            "beyond its claim in private_gram",
        ),
        (
            [make_finding(name, draws=499) for name in ("count", "accuracy", "gram")],
            "`release.audit_draws` = 500 draws, got others",
        ),
        ([], "missing for private_accuracy, private_count, private_gram"),
    ],
)
def test_summarise_audits__raise_on_audits_that_prove_too_little(findings, message):
    with pytest.raises(DpgrsError, match=message):
        summarise(*findings, statistics=("gram", "count", "accuracy"))


def test_build_statement__audit_fits_the_schema(tmp_path):
    statement = build_statement(make_content(tmp_path, audit=make_audit()))
    assert statement["audit"]["mechanisms"][2]["mechanism"] == "private_cross_product"
    assert len(statement["audit"]["mechanisms"]) == len(STATISTICS)
    for field in ("draws", "confidence", "seed", "mechanisms"):
        broken = statement | {"audit": {k: v for k, v in statement["audit"].items() if k != field}}
        assert problems_of(broken) == [f"audit: '{field}' is a required property"]
