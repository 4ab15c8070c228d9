"""What preflight says of a study on dosages before any job runs."""

import pytest

from dpgrs.preflight import dosages
from dpgrs.study.identity import public_identity
from dpgrs.study.settings import resolve
from found_by import found_by
from plink_sets import write_bed

SOUND = {
    "cohort": {
        "source": "vcf",
        "vcf": "{chrom}.vcf.gz",
        "chromosomes": ["1"],
        "rows": "people",
        "field": "DS",
    },
    "privacy": {"bounds": "tight"},
    "methods": ["ridge", "blup", "adassp"],
}


def found(**changes):
    settings = {name: SOUND[name] for name in SOUND}
    settings["cohort"] = SOUND["cohort"] | changes.pop("cohort", {})
    return found_by(dosages, resolve(settings | changes))


def test_problems__none_of_a_sound_study_and_none_of_calls():
    assert found() == []
    assert found(cohort={"field": "GT", "rows": "haplotypes"}, privacy={"bounds": "worst-case"}) == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"cohort": {"rows": "haplotypes"}}, "`cohort.rows` must be people with `cohort.field: DS`"),
        ({"cohort": {"source": "simulate", "vcf": None}}, "`cohort.field` must be GT for a simulated cohort"),
        ({"cohort": {"chromosomes": ["1", "chrX"]}}, "`cohort.chromosomes` must be 1 to 22"),
        ({"cohort": {"chromosomes": ["1", "23"]}}, "got 23. Leave them out"),
        ({"privacy": {"bounds": "worst-case"}}, "`privacy.bounds` must be tight with `cohort.field: DS`"),
        (
            {"mode": "release", "methods": ["k-blup"]},
            "`methods` must be among ols, ridge, gblup, reusecov-gauss, reusecov-proj, reusecov-ellipsoid, "
            "blup, blup-shared, blup-steered, blup-ld, blup-hedged, blup-genome, adassp, naive",
        ),
    ],
)
def test_problems__one_line_each(changes, complaint):
    (line,) = found(**changes)
    assert complaint in line
    assert "\n" not in line


def test_problems__of_a_bed(tmp_path):
    write_bed(tmp_path / "all")
    settings = {"source": "plink", "vcf": None, "plink": str(tmp_path / "all")}
    (line,) = found(cohort=settings)
    assert "must have dosages" in line
    assert "all.bed, a .bed" in line
    assert found(cohort=settings | {"plink": str(tmp_path / "nothing")}) == []


def test_identity__knows_dosages():
    fields = [public_identity(resolve(config))["genotypes"]["field"] for config in ({}, SOUND)]
    assert fields == ["GT", "DS"]
