"""Every way to change a bundle, with and without mending its sums, is found."""

import gzip
import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from audit_data import make_audit
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.statement.content import Total
from dpgrs.verify.bundle import verify_release
from forged_releases import STATEMENT, edit, edit_statement, seal
from refused import refused
from release_data import CURATION, OUTCOMES, SITES, make_bundle, make_events, make_terms

RECORD, TEXT = f"registry.yaml must be what {STATEMENT} says", "privacy_statement.txt must be what"
SCORE, ERRORS = "scores/height.txt.gz", "standard_errors/height.tsv.gz"
FILES = ("SHA256SUMS", STATEMENT, "privacy_statement.txt", "provenance.json", "registry.yaml", SCORE, ERRORS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("whole"), standard_errors=np.ones((3, len(SITES))))


@pytest.fixture
def release(whole, tmp_path):
    """A bundle that a test may change."""
    return shutil.copytree(whole, tmp_path / "release")


def test_verify_release__without_public_people_loads_no_reader_and_nothing_that_makes_a_bundle(whole):
    program = "import sys, dpgrs; dpgrs.verify_release(sys.argv[1]); print(*sys.modules)"
    command = [sys.executable, "-c", program, str(whole)]
    modules = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    rooms = {name.split(".")[1] for name in modules if name.startswith("dpgrs.")}
    assert "verify" in rooms
    assert rooms.isdisjoint(("io", "genotypes", "linalg", "methods", "release", "study", "scoring"))
    assert {"dpgrs.verify.reference_check", "zarr"}.isdisjoint(modules)


@pytest.mark.parametrize("unit", ["haplotype", "person"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("accounting", "epsilon"), [("gdp", 1.0), ("paper", 5.0), ("gdp", 0.01)])
def test_verify_release__whole(tmp_path, unit, neighbours, accounting, epsilon):
    terms = make_terms(unit=unit, neighbours=neighbours, accounting=accounting, epsilon=epsilon)
    report = verify_release(make_bundle(tmp_path, terms=terms))
    assert report["neighbours"] == neighbours
    assert float(report["epsilon"]) == epsilon
    assert (report["n_scores"], report["n_variants"], report["n_files"]) == (3, len(SITES), 10)


def test_verify_release__acknowledgement_is_in_statement_text_and_scores(tmp_path):
    words = "The data were given by a study = of tests, and by all who took part in it."
    content = {"curation": replace(CURATION, acknowledgement=words)}
    release = make_bundle(tmp_path, content=content)
    assert verify_release(release)["n_scores"] == 3
    assert json.loads((release / STATEMENT).read_text())["curation"]["acknowledgement"] == words
    assert words in " ".join((release / "privacy_statement.txt").read_text().split())
    lines = gzip.decompress((release / SCORE).read_bytes()).decode().splitlines()
    assert f"#acknowledgement={words.replace('=', ':')}" in lines
    statement = json.loads((release / STATEMENT).read_text())
    del statement["curation"]["acknowledgement"]
    (release / STATEMENT).write_text(json.dumps(statement, indent=2, ensure_ascii=False) + "\n")
    seal(release)
    with pytest.raises(DpgrsError, match="must acknowledge who gave the data just where the statement does"):
        verify_release(release)


def test_verify_release__sealing_changes_nothing(release):
    seal(release)
    assert verify_release(release)["n_files"] == 13


@pytest.mark.parametrize("name", FILES)
def test_verify_release__changed_file(release, name):
    path = release / name
    path.write_bytes(path.read_bytes()[:-2] + b"x\n")
    with pytest.raises(DpgrsError, match=r"was changed|SHA256SUMS"):
        verify_release(release)


@pytest.mark.parametrize("name", FILES[1:])
def test_verify_release__missing_file(release, name):
    (release / name).unlink()
    with pytest.raises(DpgrsError, match=f"{name} must be there"):
        verify_release(release)


@pytest.mark.parametrize("name", FILES[2:])
def test_verify_release__missing_and_resealed(release, name):
    (release / name).unlink()
    seal(release)
    with pytest.raises(DpgrsError, match=r"must be there|name each file"):
        verify_release(release)


@pytest.mark.parametrize("name", ["notes.txt", "scores/weight.txt.gz", ".hidden"])
@pytest.mark.parametrize("is_sealed", [False, True])
def test_verify_release__extra_file(release, name, is_sealed):
    (release / name).write_bytes((release / SCORE).read_bytes())
    if is_sealed:
        seal(release)
    with pytest.raises(DpgrsError, match=r"must not be there|name each file"):
        verify_release(release)


def test_verify_release__link_and_empty_folder(release):
    target = release.parent / "elsewhere"
    (release / SCORE).rename(target)
    (release / SCORE).symlink_to(target)
    (release / "empty").mkdir()
    with pytest.raises(DpgrsError, match=r"not a link") as caught:
        verify_release(release)
    assert "an empty folder" in str(caught.value)


NUMBERS = [
    (["guarantee", "epsilon"], "0.9", "the guarantee must cover"),
    (["guarantee", "delta"], "0.0000001", "the guarantee must cover"),
    (["guarantee", "delta"], "1", "promises nothing"),
    (["guarantee", "epsilon"], "9" * 40, "nothing is promised"),
    (["ledger", "spent", "mu_squared"], "9" * 40, "nothing is promised"),
    (["guarantee", "mu"], "0.2", r"mu\^2 = the sum"),
    (["guarantee", "mu"], "0.3", r"mu\^2 = the sum"),
    (["guarantee", "unit"], "person", "unit of the guarantee"),
    (["guarantee", "neighbours"], "replace-one", "neighbours of the guarantee"),
    (["guarantee", "protection"], "label", "ledger.account must be"),
    (["guarantee", "person", "epsilon"], "1", "loss of a person must cover"),
    (["guarantee", "person", "delta"], "0.0000000000001", "loss of a person must cover"),
    (["guarantee", "definition"], "(0.1, 0)-private", "the definition"),
    (
        ["guarantee", "plain_language"],
        "Perfectly safe.",
        "the plain_language must be what the terms and draws",
    ),
    (
        ["guarantee", "plain_language"],
        "The odds of anything that a reader may conclude about that haplotype change by a factor of at most "
        "e^1 = 2.72, apart from a chance of 0.000001.",
        "the plain_language must be what the terms and draws say",
    ),
    (
        ["guarantee", "chance"],
        "0.000001",
        "guarantee must cover its mechanisms: at its epsilon chance is 5.2",
    ),
    (["guarantee", "right_guesses"], "54", "guarantee must cover its mechanisms: .* right_guesses is 54.7"),
    (["guarantee", "right_guesses"], "56", "guarantee must cover .* right_guesses is 54.7"),
    (["ledger", "spent", "right_guesses"], "50", "ledger.spent must cover .* right_guesses"),
    (["guarantee", "person", "right_guesses"], "59", "loss of a person must cover .* right_guesses is 59.3"),
    (["guarantee", "chance"], "0.00054", "guarantee must cover .* chance is 5.2"),
    (["guarantee", "person", "chance"], "0.00008", "loss of a person must cover .* chance is 8.4"),
    (["composition", "per_outcome", "chance"], "0.00005", "per_outcome must cover .* chance"),
    (["composition", "whole_study", "chance"], "0.00005", "whole_study must cover .* chance"),
    (["ledger", "spent", "chance"], "0.00004", "ledger.spent must cover .* chance"),
    (["profile", "mu_squared"], "0.05", "profile.mu_squared must be the sum"),
    (["profile", "pure_epsilon"], "0.1", "profile.pure_epsilon must be the sum"),
    (["profile", "deltas", 0, "delta"], "0.028", "profile.deltas must be delta"),
    (["profile", "deltas", 3, "delta"], "0.0000329", r"profile.deltas must be delta\(epsilon\), at 0.8 3.28"),
    (["profile", "deltas", 9, "epsilon"], "9" * 40, "profile.deltas must be at an epsilon of 2, got 9"),
    (["profile", "deltas"], [], "profile.deltas"),
    (["assumptions"], ["All is well."], "the assumptions must be what the terms and draws say"),
    (["composition", "per_outcome", "epsilon"], "0.5", "per_outcome must cover"),
    (["composition", "whole_study", "delta"], "0.0000009", "whole_study must cover"),
    (["ledger", "spent", "mu_squared"], "0.05", "at least what this release costs"),
    (["ledger", "spent", "epsilon"], "1.1", "ledger.spent must cover"),
    (["ledger", "spent", "pure_epsilon"], "5", "pure part"),
    (["ledger", "remaining", "mu_squared"], "1000", TEXT),
    (["ledger", "remaining", "mu_squared"], "9" * 1000, "ledger.remaining must be at most"),
    (["ledger", "head"], "a" * 64, "ledger.head"),
    (["ledger", "account"], "full/person/add-remove", "ledger.account"),
    (["mechanisms", 1, "sigma"], "9", "mu = sensitivity/sigma"),
    (["mechanisms", 1, "sigma"], "90", "mu = sensitivity/sigma"),
    (["mechanisms", 1, "sensitivity"], "1.6", "mu = sensitivity/sigma"),
    (["mechanisms", 1, "mu"], "0.1", "mu = sensitivity/sigma"),
    (["mechanisms", 1, "grid"], "0.3", "a grid whose step is a power of 2, got 0.3"),
    (["mechanisms", 1, "grid"], "0.50", "sizes that are floats written out, got 0.50"),
    (["mechanisms", 1, "entries"], 35, "the gram must be 36 numbers, a triangle, got 35"),
    (["fit", "lambda_from"], "ridge", "fit.lambda_from must be one of fixed, adassp, evidence, got ridge"),
    (["fit", "heritability"], 0.9, "must have the same heritability"),
    (["mechanisms", 1, "share"], "0.1", "share = "),
    (["mechanisms", 1, "share"], "0.5", "share = "),
    (["curation", "curator"], "Someone else", RECORD),
    (["mechanisms", 1, "unit"], "person", "unit of the guarantee"),
    (["mechanisms", 2, "source"], "benchmark", r"mechanisms\[2\].source"),
    (["mechanisms", 2, "request"], None, r"mechanisms\[2\].request"),
    (["mechanisms", 2, "request"], "b" * 63, r"mechanisms\[2\].request"),
    (["data_domain", "site_digest"], "c" * 64, "site_digest"),
    (["data_domain", "n_variants"], 9, "variants_number must be 9"),
    (["data_domain", "genome_build"], "GRCh37", "genome_build must be GRCh37"),
    (["data_domain", "outcomes"], ["a", "b", "c"], "one score for each outcome"),
    (["scores"], [], "name each file"),
    (["software", "version"], "9.9", "version and commit"),
    (["software", "commit"], None, "version and commit"),
    (["curation", "license"], "see /home/someone/LICENSE", "path of the machine"),
    (["format_version"], 6, "format_version must be 5"),
    (["audit"], "fine", "audit"),
    (["audit"], make_audit() | {"mechanisms": []}, "audit.mechanisms"),
    (["audit"], make_audit() | {"confidence": "1.5"}, "audit.confidence must be below 1"),
    (
        ["audit"],
        make_audit() | {"mechanisms": make_audit()["mechanisms"][1:]},
        "audit must cover private_count",
    ),
    (["audit"], make_audit() | {"mechanisms": make_audit()["mechanisms"] * 2}, "each mechanism once"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("observed", "1.856", "private_gram must have observed at most what is claimed, got 1.856"),
        ("claimed", "1.49", "private_gram must have observed at most what is claimed, got 1.5"),
        ("within_claim", False, r"audit.mechanisms\[1\].within_claim"),
        ("claimed", 1.855, r"audit.mechanisms\[1\].claimed"),
    ],
)
def test_verify_release__forged_audit(tmp_path, name, value, message):
    folder = make_bundle(tmp_path, content={"audit": make_audit()})
    assert verify_release(folder)
    edit_statement(folder, ["audit", "mechanisms", 1, name], value)
    seal(folder)
    with pytest.raises(DpgrsError, match=message):
        verify_release(folder)


@pytest.mark.parametrize(("keys", "value", "message"), NUMBERS, ids=lambda part: str(part)[:40])
def test_verify_release__forged_statement(release, keys, value, message):
    edit_statement(release, keys, value)
    seal(release)
    with pytest.raises(DpgrsError, match=message):
        verify_release(release)


def test_verify_release__a_mechanism_left_out(release):
    content = json.loads((release / STATEMENT).read_text())
    content["mechanisms"].pop()
    (release / STATEMENT).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    seal(release)
    with pytest.raises(DpgrsError, match=r"mu\^2 = the sum"):
        verify_release(release)


TEXTS = [
    (SCORE, r"^###PGS CATALOG", "##PGS", "in their order, but not at ###PGS CATALOG"),
    (SCORE, r"^#format_version=2.0", "#format_version=1.0", "format_version must be 2.0"),
    (SCORE, r"^#pgs_id=height", "#pgs_id=weight", "pgs_id must be height"),
    (SCORE, r"^#genome_build=GRCh38", "#genome_build=GRCh37", "genome_build must be GRCh38"),
    (SCORE, r"^#variants_number=8", "#variants_number=7", "variants_number must be 8"),
    (SCORE, r"^#weight_type=beta", "#weight_type=OR", "weight_type"),
    (SCORE, r"^#dp_epsilon=1", "#dp_epsilon=0.1", "dp_epsilon must be 1"),
    (SCORE, r"^#dp_delta=0.000001", "#dp_delta=0", "dp_delta must be"),
    (SCORE, r"^#dp_unit=haplotype", "#dp_unit=person", "dp_unit must be"),
    (SCORE, r"^#dp_neighbours=.*", "#dp_neighbours=replace-one", "dp_neighbours must be"),
    (SCORE, r"^#dp_protection=full", "#dp_protection=label", "dp_protection must be"),
    (SCORE, r"^#dp_unit=.*\n", "", "in their order, but not at dp_unit"),
    (SCORE, r"^#license=", "#host=here\n#license=", "in their order, but not at license"),
    (SCORE, r"^#license=", "#pgs_id=height\n#license=", "in their order, but not at license"),
    (SCORE, r"^#citation=.*", "#citation=a=b", "citation must be Institute .* got a=b"),
    (SCORE, r"^#citation=.*", "#citation=", r"citation must be Institute .* got \n"),
    (SCORE, r"^#license=.*", "#license=/home/someone/terms", "path of the machine"),
    (SCORE, "rsID\tchr_name", "rsID\tname", "the columns must be"),
    (SCORE, "^rs1\t", "1\t", "rsID is malformed"),
    (SCORE, "\tX\t5", "\tchrX\t5", "chr_name is malformed"),
    (SCORE, "\t3\t20\t", "\t23\t20\t", "chr_name is malformed"),
    (SCORE, "\t3\t20\t", "\t3\t020\t", "chr_position is malformed"),
    (SCORE, "\t3\t20\t", "\t4\t20\t", "sorted"),
    (SCORE, "\t3\t20\tC", "\t3\t20\tN", "effect_allele is malformed"),
    (SCORE, "\t3\t20\tC\tG", "\t3\t20\tG\tG", "must differ"),
    (SCORE, "\t3\t20\tC", "\t3\t21\tC", "site_digest"),
    (SCORE, "\t3\t20\tC", "\t3\t20\tT", "site_digest"),
    (SCORE, "\t0$", "\tnan", "effect_weight is malformed"),
    (SCORE, "\t0$", "\tinf", "effect_weight is malformed"),
    (SCORE, "\t0$", "\t1e-5", "effect_weight is malformed"),
    (SCORE, "\t0$", "\t", "effect_weight is malformed"),
    (SCORE, "\t0$", "", "a row must have 6 fields"),
    (SCORE, "\t0$", "\t0\t0", "a row must have 6 fields"),
    (SCORE, r"^(.*\tX\t5\t.*\n)", r"\1\1", "there once"),
    (SCORE, r"^(.*)\tX\t5\tG\tA\t(.*\n)", r"\1\tX\t5\tG\tA\t\2\1\tX\t5\tA\tG\t\2", "there once"),
    (SCORE, r"^.*\tX\t5\t.*\n", "", "variants_number must be 7"),
    (SCORE, r"\n\Z", "", "line feed"),
    (SCORE, r"\n", "\r\n", "line feed"),
    (ERRORS, "^X\t5\tG\tA", "X\t6\tG\tA", "its sites must be those of the score"),
    (ERRORS, "\t1$", "\t-1", "standard_error is malformed"),
    (ERRORS, "standard_error", "error", "the columns must be"),
    ("provenance.json", '"dpgrs"', '"host": "h", "dpgrs"', "and nothing else"),
    ("provenance.json", '"2.4.0"', '"file:///opt/numpy"', "path of the machine"),
    ("provenance.json", '"3.12.1"', '"C:\\\\\\\\Users"', "path of the machine"),
    ("provenance.json", "{", "[", "must be JSON"),
    ("registry.yaml", "epsilon: 1.0", "epsilon: 0.1", RECORD),
    ("registry.yaml", r"mu 0\.", "mu 0.1", RECORD),
    ("registry.yaml", r"mu\^2 9", "mu^2 8", RECORD),
    ("privacy_statement.txt", r"e\^1 = 2.72", "e^1 = 1.01", TEXT),
    ("privacy_statement.txt", r"\(1, 0.000001\)", "(0.1, 0.000001)", TEXT),
    ("privacy_statement.txt", "percent is left", "% is left", "word for word as dpgrs"),
    ("privacy_statement.txt", "Budget", "Made in ~/study", "path of the machine"),
    (STATEMENT, '"audit": null', '"audit": NaN', "must be JSON"),
    (STATEMENT, '"audit": null', '"audit": null, "audit": null', "repeated key"),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), TEXTS, ids=lambda part: repr(part)[:40])
def test_verify_release__forged_file(release, name, old, new, message):
    edit(release / name, old, new)
    if name != STATEMENT:  # reading it to seal it would mend it
        seal(release)
    with pytest.raises(DpgrsError, match=message):
        verify_release(release)


@pytest.mark.parametrize("name", [SCORE, ERRORS])
@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\x1f\x8b\x08" + b"\0" * 6 + b"broken", "gzip of UTF-8 text"),
        (gzip.compress(b"\xff\n", mtime=0), "gzip of UTF-8 text"),
        (gzip.compress(b"", mtime=0), "every line must end with a line feed"),
    ],
)
def test_verify_release__no_scoring_file_at_all_is_one_finding(release, data, fault, name):
    (release / name).write_bytes(data)
    seal(release)
    with pytest.raises(DpgrsError) as caught:
        verify_release(release)
    _, finding, verdict = str(caught.value).splitlines()
    assert finding.startswith(f"  {name}: ")
    assert fault in finding
    assert verdict.startswith("1 finding. ")


@pytest.mark.parametrize("options", [{"mtime": 1}, {"filename": "/home/someone/x", "mtime": 0}], ids=str)
def test_verify_release__time_or_name_in_gzip(release, options):
    text = gzip.decompress((release / SCORE).read_bytes())
    with (
        (release / SCORE).open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", **{"filename": ""} | options) as file,
    ):
        file.write(text)
    seal(release)
    with pytest.raises(DpgrsError, match="neither a name nor a time"):
        verify_release(release)


def test_verify_release__sums_that_are_none(release):
    (release / "SHA256SUMS").write_text("what?\n")
    with pytest.raises(DpgrsError, match="lines of a digest"):
        verify_release(release)


@pytest.mark.parametrize(
    ("place", "fix"),
    [
        (".", "name the folder that holds it."),
        ("study", "did you mean `{0}/study/release`?"),
        ("study/release/scores", "name the folder that holds it."),
    ],
)
def test_verify_release__raise_in_one_line_on_no_bundle(tmp_path, place, fix):
    (tmp_path / "study").mkdir()
    make_bundle(tmp_path / "study")
    with refused("bundle-without-sums", error=UsageError) as caught:
        verify_release(tmp_path / place)
    assert str(caught.value) == (
        f"`{tmp_path / place}` has no SHA256SUMS, so it is no bundle; {fix.format(tmp_path)}"
    )


def test_verify_release__all_problems_at_once(release):
    edit(release / SCORE, r"^#dp_unit=haplotype", "#dp_unit=person")
    edit_statement(release, ["guarantee", "epsilon"], "0.9")
    (release / "extra").touch()
    with pytest.raises(DpgrsError) as caught:
        verify_release(release)
    for problem in ("dp_unit", "must cover", "extra must not be there", "height.txt.gz must have the digest"):
        assert problem in str(caught.value)


def test_verify_release__slashes_in_outcome_names_are_no_path(tmp_path):
    outcomes = ("/LDL/HDL", "~/x", "c:\\d")
    folder = make_bundle(tmp_path, outcomes=outcomes, content={"outcomes": outcomes})
    assert verify_release(folder)["n_scores"] == 3


def test_verify_release__outcomes_with_budgets_of_their_own(tmp_path):
    """Per outcome less is spent than in all, if events serve one outcome each."""
    *shared, own = make_events(make_terms(), n_outcomes=1)
    drawn = [(event, None) for event in shared] + [(own, name) for name in OUTCOMES]
    content = {"drawn": drawn, "per_outcome": Total(1.0, 1e-6)}
    folder = make_bundle(tmp_path, terms=make_terms(epsilon=2.0), content=content)
    assert verify_release(folder)
    edit_statement(folder, ["composition", "per_outcome", "epsilon"], "0.9")
    seal(folder)
    with pytest.raises(DpgrsError, match="per_outcome must cover"):
        verify_release(folder)
    # A penalty by the evidence is of all outcomes: what one tells is of all draws.
    edit_statement(folder, ["composition", "per_outcome", "epsilon"], "1")
    edit_statement(folder, ["fit", "lambda_from"], "evidence")
    seal(folder)
    with pytest.raises(DpgrsError, match="per_outcome must cover"):
        verify_release(folder)


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_verify_release__raise_on_no_folder(tmp_path, name):
    (tmp_path / "file").touch()
    with refused("not-a-release-folder", error=UsageError):
        verify_release(tmp_path / name)
