"""What outcomes are, in the words of the curator: read, published, checked."""

import gzip
import json
import re
from dataclasses import replace

import pytest
import yaml

from dpgrs.study.traits import read_traits
from dpgrs.verify.bundle import verify_release
from forged_releases import STATEMENT, edit, edit_statement, finding_of
from refused import refused
from release_data import CURATION, OUTCOMES, TRAITS, make_bundle

HEADER = "outcome\treported_trait\tefo_id\tmapped_trait\tcohort\tancestry\tcountry\tdoi\n"
RATIO = "LDL/HDL = ratio\t\tEFO_0004611| EFO_0004612\t\t\tNA\n"
HEIGHT = "height\tBody height\tOBA_VT0001253\tbody height\tUKB\tEuropean\tU.K.\t10.1038/s41586-018-0579-z\n"
RATIO_WHOLE = RATIO.rstrip("\n") + "\t\t\n"


@pytest.fixture
def table(tmp_path):
    """Write a table of traits and return its path."""

    def write(text):
        path = tmp_path / "traits.tsv"
        path.write_text(text)
        return path

    return write


def test_read_traits__fields_in_the_order_of_the_outcomes(table):
    path = table(HEADER + RATIO_WHOLE + HEIGHT + "größe" + "\t" * 7 + "\n")
    assert read_traits(path, OUTCOMES) == TRAITS
    assert read_traits(path) == TRAITS[::-1]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("OBA_VT0001253", "EFO:0004339", ("trait-field-invalid", "`efo_id`", "line 2", "got EFO", "0004339")),
        ("OBA_VT0001253", "EFO_4339", ("trait-field-invalid", "`efo_id`")),
        ("OBA_VT0001253", "GO_0004339", ("trait-field-invalid", "`efo_id`")),
        ("European", "Europe", ("trait-field-invalid", "`ancestry`", "got Europe")),
        ("U.K.", "826", ("trait-field-invalid", "`country`", "got 826")),
        ("U.K.", "U.K.|", ("trait-field-invalid", "`country`")),
        ("UKB", "UK Biobank", ("trait-field-invalid", "`cohort`")),
        ("10.1038/", "https://doi.org/10.1038/", ("trait-field-invalid", "`doi`", "018", "0579")),
        ("body height", "body height|size", ("trait-labels", "`mapped_trait`", "`efo_id`", "got 2")),
        ("Body height", "x" * 201, ("trait-field-invalid", "`reported_trait`")),
        (
            "height\tB",
            "heigth\tB",
            ("trait-unknown", "line 2"),
        ),
        ("height\tB", "\tB", ("trait-named-twice", "line 2")),
        ("LDL/HDL = ratio", "height", ("trait-named-twice", "line 3")),
        ("\tdoi", "\tDOIs", ("trait-columns", "`outcome`", "line 1", "column 8")),
        ("\tdoi", "\tcohort", ("column-name-invalid", "line 1")),
        ("outcome\t", "reported\t", ("trait-columns", "line 1", "column 1")),
    ],
)
def test_read_traits__raise_on_malformed_table(table, old, new, fault):
    text = HEADER + HEIGHT + RATIO_WHOLE
    assert old in text
    with refused(*fault) as found:
        read_traits(table(text.replace(old, new, 1)), OUTCOMES)
    assert "\n" not in str(found.value)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    content = {"curation": replace(CURATION, traits=TRAITS)}
    return make_bundle(tmp_path_factory.mktemp("traits"), content=content)


def test_bundle__says_traits_in_statement_scores_and_registry(release):
    assert verify_release(release)["n_scores"] == 3
    assert json.loads((release / STATEMENT).read_text())["curation"]["traits"] == list(TRAITS)
    heads = [gzip.decompress(path.read_bytes()).decode() for path in sorted((release / "scores").iterdir())]
    assert [head.count("#trait_efo=NR\n") for head in heads] == [0, 1, 0]
    assert "#trait_reported=LDL/HDL : ratio\n#trait_mapped=NR\n#trait_efo=EFO_0004611|EFO_0004612" in heads[0]
    assert "#pgs_name=height\n#trait_reported=Body height\n#trait_mapped=body height" in heads[2]
    domain = yaml.safe_load((release / "registry.yaml").read_text())["deployment"]["dp_variant"][
        "data_domain"
    ]
    words = "height is Body height (OBA_VT0001253), UKB, U.K., European, 10.1038/s41586-018-0579-z; LDL/HDL"
    assert words in domain


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        ((0, "efo_ids"), ["EFO_0004340"], "trait_efo must be EFO_0004340 as stated, got OBA_VT0001253"),
        ((0, "reported_trait"), "Weight", "trait_reported must be Weight as stated, got Body height"),
        ((0, "ancestry"), "Nordic", r"curation.traits\[0\].ancestry: 'Nordic' is not one of"),
        ((0, "doi"), "10.1/x", r"curation.traits\[0\].doi"),
        ((0, "cohorts"), ["DEMO"], "registry.yaml must be what"),
        ((0, "mapped_traits"), ["a", "b"], "traits of height must have one label an id, got 2 of 1"),
        ((0, "mapped_traits"), ["a|b"], r"curation.traits\[0\].mapped_traits"),
        ((0, "cohorts"), ["\x1b]0;UKB\x07"], r"curation.traits\[0\].cohorts"),
        ((1, "outcome"), "height", "traits must be of outcomes of the statement, each once, in their order"),
        ((1, "outcome"), "weight", "traits must be of outcomes of the statement, each once"),
    ],
)
def test_verify_release__finds_other_traits(tmp_path, keys, value, message):
    release = make_bundle(tmp_path, content={"curation": replace(CURATION, traits=TRAITS)})
    edit_statement(release, ("curation", "traits", *keys), value)
    assert re.search(message, finding_of(release))


def test_verify_release__words_of_traits_are_no_paths(tmp_path):
    trait = TRAITS[0] | {"reported_trait": "Height (cm)/leg/arm length", "doi": "10.1002/(SICI)/a/b"}
    assert verify_release(make_bundle(tmp_path, content={"curation": replace(CURATION, traits=(trait,))}))


def test_verify_release__finds_a_trait_in_a_score_alone(tmp_path):
    release = make_bundle(tmp_path)
    edit(release / "scores/height.txt.gz", "^#trait_efo=NR$", "#trait_efo=OBA_VT0001253")
    assert "trait_efo must be NR as stated" in finding_of(release)
