import pytest

from dpgrs.study.implied_settings import implied_in_words
from dpgrs.study.settings import resolve


@pytest.mark.parametrize("mode", ["benchmark", "release"])
@pytest.mark.parametrize("more", [{}, {"loadings": "loadings.tsv"}])
def test_resolve__a_row_is_a_person_where_outcomes_come_from_a_file(mode, more):
    raw = {"mode": mode, "outcomes": {"source": "file", "file": "phenotypes.tsv"} | more}
    config = resolve(raw)
    privacy = config.privacy
    assert (config.cohort.rows, privacy.bounds, privacy.unit) == ("people", "tight", "person")
    assert resolve(config.as_dict()) == config
    stated = raw | {"cohort": {"rows": "haplotypes"}, "privacy": {"bounds": "worst-case"}}
    config = resolve(stated)
    privacy = config.privacy
    named = (config.cohort.rows, privacy.bounds, privacy.unit)
    assert named == ("haplotypes", "worst-case", "haplotype")
    config = resolve({"outcomes": {"source": "simulate"}})
    assert (config.cohort.rows, config.privacy.bounds) == ("haplotypes", "worst-case")


def test_implied_in_words__names_the_defaults_of_a_file_of_outcomes_that_are_not_stated():
    raw = {"outcomes": {"source": "file"}}
    (line,) = implied_in_words(raw)
    assert line == (
        "Defaults with `outcomes.source: file`: `cohort: {rows: people}`, `privacy: {bounds: tight}`. To "
        "repeat a study of version 0.1.0, state `cohort: {rows: haplotypes}`, `privacy: {bounds: "
        "worst-case}`."
    )
    (line,) = implied_in_words(raw | {"cohort": {"rows": "haplotypes"}})
    assert line == (
        "Defaults with `outcomes.source: file`: `privacy: {bounds: tight}`. To repeat a study of version "
        "0.1.0, state `privacy: {bounds: worst-case}`."
    )
    # Releases had tight bounds before.
    (line,) = implied_in_words(raw | {"mode": "release"})
    assert line == (
        "Defaults with `outcomes.source: file`: `cohort: {rows: people}`. To repeat a study of version "
        "0.1.0, state `cohort: {rows: haplotypes}`."
    )
    stated = raw | {"cohort": {"rows": "haplotypes"}, "privacy": {"bounds": "tight"}}
    # Studies of a table of real numbers had both before.
    table = raw | {"cohort": {"source": "table"}}
    assert [implied_in_words(one) for one in (stated, table, resolve(raw).as_dict(), {})] == [[], [], [], []]


@pytest.mark.parametrize(
    "raw",
    [
        *({"cohort": {"source": source}} for source in ("vcf", "plink", "bgen", "table")),
        {"outcomes": {"source": "file"}},
        {"mode": "release"},
    ],
)
def test_resolve__real_data_and_releases_have_full_protection_and_few_methods(raw):
    config, demo = resolve(raw), resolve({})
    assert config.privacy.protection == ("full",)
    assert set(config.methods) < set(demo.methods)
    assert "k-blup" not in config.methods
    assert resolve(raw | {"methods": "ols", "privacy": {"protection": "label"}}).methods == ("ols",)
    assert resolve(raw | {"privacy": {"protection": "label"}}).privacy.protection == ("label",)


def test_resolve__the_demo_shows_what_the_project_names():
    demo = resolve({})
    assert set(demo.privacy.protection) == {"full", "feature", "label"}
    named = {"reusecov-gauss", "reusecov-proj", "reusecov-ellipsoid", "blup", "k-blup"}
    assert named < set(demo.methods)


SITES = """chrom pos ref alt af
1 10 C A 0.4
1 20 A G 0.3
1 30 A T 0.3
1 40 A G 0.001
2 5 A G 0.3
""".replace(" ", "\t")


@pytest.mark.parametrize(
    ("variants", "chromosomes", "size"),
    [({}, ["1", "2"], 3), ({"maf": 0}, ["1", "2"], 4), ({}, ["2"], 1), ({"size": 2}, ["1", "2"], 2)],
)
def test_resolve__a_release_takes_all_public_sites_that_pass_its_filters(
    tmp_path, variants, chromosomes, size
):
    path = tmp_path / "sites.tsv"
    path.write_text(SITES)
    raw = {"mode": "release", "cohort": {"source": "vcf", "chromosomes": chromosomes}, "variants": variants}
    assert resolve(raw | {"public": {"sites": str(path)}}).variants.size == (size,)


def test_resolve__sites_that_cannot_be_read_leave_the_default(tmp_path):
    path = tmp_path / "sites.tsv"
    path.write_text("nothing\n")
    raw = {"mode": "release", "cohort": {"source": "vcf"}, "public": {"sites": str(path)}}
    assert resolve(raw).variants.size == (100,)
