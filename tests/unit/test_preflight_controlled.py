import pytest

from dpgrs.preflight import controlled
from dpgrs.preflight.checks import problems
from dpgrs.study.settings import resolve
from found_by import found_by, only
from release_studies import APPROVAL

VCF = "phs000999.v2.p1.c1.GRU/chr{chrom}.vcf.gz"
TABLE = "phs000999.v2.pht000001.v1.p1.c1.Table.GRU.txt"


def config(**changes):
    """Settings of a release of dbGaP data that nothing is wrong with, but for changes in its sections."""
    sections = {
        "dataset": {"accession": "phs000999", "consent": "c1", "version": "v2.p1", **APPROVAL},
        "cohort": {"source": "vcf", "vcf": VCF},
        "people": {},
        "outcomes": {"source": "file", "file": "outcomes.tsv"},
        "privacy": {"ledger": "phs000111/ledger.jsonl"},
        "public": {"reference": "home/phs000999/reference/{chrom}.vcf.gz"},
    }
    raw = {name: part | changes.pop(name, {}) for name, part in sections.items()}
    return resolve({"mode": "release"} | raw | changes)


def found(config):
    return found_by(controlled, config)


def test_controlled_problems__none():
    assert found(config()) == []
    assert found(resolve({})) == []


@pytest.mark.parametrize("name", ["data_use", "approved_by", "dar_id", "approval_date", "acknowledgement"])
def test_controlled_problems__approval_is_missing(name):
    line = only(found(config(dataset={name: None})))
    assert line.startswith(f"`dataset.{name}` must be given for a release of dbGaP data, got null")
    # Of other data nobody asks.
    assert found(config(dataset={name: None, "accession": "mine"}, cohort={"vcf": "a"})) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": {"sensitive": True}}, "`dataset.sensitive` must be false for a release, got true"),
        ({"dataset": {"sensitive": None}}, "`dataset.sensitive` must say whether summary results"),
        (
            {"dataset": {"accession": "phs000999.v2"}, "cohort": {"vcf": "c1/a.vcf"}, "people": "consent"},
            "`dataset.accession` must be phs and six digits for dbGaP data, without version, got phs",
        ),
        ({"dataset": {"consent": "c2"}}, "`dataset.consent` must be c1 as in `cohort.vcf`"),
        ({"dataset": {"consent": "open"}}, "`dataset.consent` must be groups as c1 or c1+c2 for dbGaP data"),
        (
            {"outcomes": {"file": "d/phs000998.v1.pht000001.v1.p1.c1.Table.GRU.txt.gz"}},
            "`dataset.accession` must be phs000998 as in `outcomes.file`",
        ),
        (
            {"outcomes": {"file": "d/phs000999.v1.pht000001.v1.p1.c3.Table.GRU.txt.gz"}},
            "`dataset.consent` must be c3 as in `outcomes.file`",
        ),
        (
            {"people": {"consent": {"file": "c.tsv", "allow": [1, 2]}}},
            "`people.consent.allow` must be of `dataset.consent` (c1) or `dataset.data_use`, got 2.",
        ),
        (
            {"people": {"consent": {"file": "c.tsv", "allow": ["GRU", "NPU"]}}},
            "`people.consent.allow` must be of `dataset.consent` (c1) or `dataset.data_use`, got NPU.",
        ),
        ({"cohort": {"vcf": "chr{chrom}.vcf.gz"}}, "`people.consent.file` must be given where the path"),
        (
            {"cohort": {"vcf": "chr{chrom}.vcf.gz", "part": True}},
            "`people.consent.file` must be given where the path in `cohort.vcf` names no consent group",
        ),
        (
            {"cohort": {"source": "plink", "vcf": None, "plink": "chr{chrom}"}},
            "`people.consent.file` must be given where the path in `cohort.plink` names no consent group",
        ),
        (
            {"privacy": {"protection": ["label"]}, "cohort": {"vcf": "open/chr{chrom}.vcf.gz"}},
            "`outcomes.file` must name the consent group of its people, got outcomes.tsv. Keep the names",
        ),
        (
            {"public": {"reference": "phs000998.v1.p1.c1/{chrom}.vcf.gz"}},
            "`public.reference` must be public data, got phs000998.v1.p1.c1/{chrom}.vcf.gz of phs000998.",
        ),
        (
            {"evaluation": {"covariates": "phs000999.v2.pht000002.v1.p1.c1.Table.GRU.txt"}},
            "`evaluation.covariates` must be public data, got phs000999.v2.pht000002.v1.p1.c1.Table.GRU.txt",
        ),
        ({"people": {"remove": "x.txt.ncbi_enc"}}, "`people.remove` must be a decrypted file"),
        (
            {"public": {"reference": "x.ngc"}},
            "`public.reference` must be a decrypted file, got x.ngc. Decrypt",
        ),
    ],
)
def test_controlled_problems__raise_on(changes, message):
    if changes.get("people") == "consent":
        changes["people"] = {"consent": {"file": "c.tsv", "allow": [1]}}
    assert message in only(found(config(**changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": {"consent": "c1+c2"}, "people": {"consent": {"file": "c.tsv", "allow": [1, "c2"]}}},
        {"people": {"consent": {"file": "c.tsv", "allow": "gru"}}, "cohort": {"vcf": "chr{chrom}.vcf.gz"}},
        {"cohort": {"vcf": "RootStudyConsentSet_phs000999.Name.v2.p1.c1.GRU/chr{chrom}.vcf.gz"}},
        {
            "privacy": {"protection": ["label"]},
            "cohort": {"vcf": "open/chr{chrom}.vcf.gz"},
            "outcomes": {"file": TABLE},
        },
    ],
)
def test_controlled_problems__nothing_wrong(changes):
    assert found(config(**changes)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": {"data_use": "HMB-IRB"}},
        {"cohort": {"vcf": "phs000999.v2.p1.c1.HMB-IRB/chr{chrom}.vcf.gz"}},
        {"people": {"consent": {"file": "c.tsv", "allow": "HMB"}}, "dataset": {"data_use": "HMB"}},
    ],
)
def test_controlled_problems__health_research_alone_has_no_populations(changes):
    changes["cohort"] = changes.get("cohort", {}) | {"populations": "p.tsv"}
    line = only(found(config(**changes)))
    assert line.startswith("`cohort.populations` must be null under consent to health research only (HMB)")
    changes["cohort"]["populations"] = None
    assert found(config(**changes)) == []


def test_controlled_problems__health_research_alone_in_a_benchmark():
    raw = {
        "dataset": {"data_use": "HMB"},
        "cohort": {"source": "vcf", "vcf": "a.vcf", "populations": "p.tsv"},
    }
    assert "health research only" in only(found(resolve(raw)))


def test_controlled_problems__a_benchmark_is_of_open_data():
    raw = {"cohort": {"source": "vcf", "vcf": "phs000999/chr{chrom}.vcf.gz"}}
    assert "must be open data in a benchmark, got" in only(found(resolve(raw)))


def test_is_controlled__simulated_data_are_nobodys():
    assert controlled.is_controlled(config())
    assert not controlled.is_controlled(resolve({"mode": "release", "dataset": {"accession": "phs000999"}}))
    assert not controlled.is_controlled(config(dataset={"accession": "mine"}))


def test_preflight__asks_these_checks():
    assert any(
        "`dataset.approved_by` must" in line for line in problems(config(dataset={"approved_by": None}))
    )
