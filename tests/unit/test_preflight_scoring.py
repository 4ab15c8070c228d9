"""What is said before any job of scores that are to be applied to people."""

from pathlib import Path

import numpy as np
import pytest

from dpgrs.cli.score import score
from dpgrs.config.schema import keys
from dpgrs.preflight.checks import problems
from dpgrs.study.score_terms import ScoringShape, scoring_flags, scoring_inputs, without_scoring
from dpgrs.study.settings import resolve
from plink_sets import write_bed
from release_data import make_bundle
from score_targets import HEADER, make_target, write_target

SCORES = {"target": "a.vcf", "release": "y.txt"}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = make_target(np.random.default_rng(1), n_people=60, n_records=7)
    write_target(Path("a.vcf"), records)
    for contig in ("1", "2"):
        write_target(Path(f"c{contig}.vcf"), [one for one in records if one[0] == contig])
    Path("y.txt").write_text(f"#genome_build=GRCh37\n{HEADER}1\t100\tC\tA\t1\n")
    Path("pop.tsv").write_text("sample\tpop\np1\tGBR\n")


def found(score, **raw):
    return problems(resolve(raw | {"score": score}))


def settings(**score):
    return resolve({"cohort": {"chromosomes": [1, 2]}, "score": score})


def names(paths):
    return [str(path) for path in paths]


def test_problems__none_of_scores_for_people_of_others():
    assert found(SCORES) == []
    whole = SCORES | {"reference": "c*.vcf", "populations": "pop.tsv", "genome_build": "GRCh37"}
    assert found(whole) == []
    assert found(SCORES | {"target": "c{chrom}.vcf"}, cohort={"chromosomes": [1, 2]}) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"target": []}, "`score.target` must name genotype files where `score.release` is given, got none."),
        ({"release": []}, "`score.weights_of` must be one of ols, gblup, reusecov-gauss, reusecov-proj"),
        ({"release": [], "weights_of": "bas"}, "`score.weights_of` must be one of ols, gblup"),
        ({"weights_of": "gblup"}, "`score.weights_of` must be null but for a benchmark with a target"),
        ({"target": "b*.vcf"}, "`score.target`: `b*.vcf` matches no file."),
        ({"target": "b.vcf"}, "`score`: `b.vcf` "),
        ({"target": "{x}.vcf"}, "`score.target` must have no placeholder but {chrom}, got {x}."),
        ({"target": "a.vcf.ncbi_enc"}, "`score.target` must be a decrypted file"),
        ({"target": ["c1.vcf", "r.vcf"]}, "`score`: `r.vcf` must hold the same people"),
        ({"reference": "b*.vcf"}, "`score.reference`: `b*.vcf` matches no file."),
        ({"release": "z.txt"}, "`score`: `z.txt` must be a table, but is not there."),
        ({"release": ["y.txt", "d/y.txt"]}, "`score`: Every score must have a name of its own"),
        ({"genome_build": "GRCh38"}, "`score`: `y.txt`"),
        ({"populations": "none.tsv"}, "`score.populations`: `none.tsv` must be a table"),
        ({"populations": "else.tsv"}, "`score.populations` must name people of `score.target`, got else.tsv"),
        ({"frequencies": "none.tsv"}, "`score.frequencies` must be a table of sites, got none.tsv"),
        (
            {"release": "results/demo/private/scored/y.txt"},
            "`score.release` must lie outside results/demo/private/scored, which is written anew",
        ),
        (
            {"target": "phs000001.v1.p1.c1.HMB.vcf", "populations": "pop.tsv"},
            "`score.populations` must be null under consent to health research only (HMB), got pop.tsv",
        ),
    ],
)
def test_problems__of_files_that_do_not_go_together(change, line):
    write_target(Path("r.vcf"), make_target(np.random.default_rng(1), n_people=5, n_records=7))
    for path in ("d/y.txt", "results/demo/private/scored/y.txt"):
        Path(path).parent.mkdir(parents=True)
        Path(path).write_bytes(Path("y.txt").read_bytes())
    for path in ("phs000001.v1.p1.c1.HMB.vcf", "a.vcf.ncbi_enc"):
        Path(path).write_bytes(Path("a.vcf").read_bytes())
    Path("else.tsv").write_text("sample\tpop\nx\tGBR\n")
    (only,) = [one for one in found(SCORES | change) if one.startswith(line)]
    assert "\n" not in only


def test_problems__name_keys_and_no_options():
    Path("b.vcf").write_text(
        Path("a.vcf").read_text().replace("ID=1,length=1000000", "ID=1,length=248956422")
    )
    (line,) = found({"target": "b.vcf", "release": "y.txt", "genome_build": "GRCh37"})
    assert line.startswith("`score`: `score.genome_build` must be GRCh38, by the length of chromosome 1")


@pytest.mark.parametrize(("length", "build"), [(248956422, "GRCh38"), (249250621, "GRCh37")])
def test_problems__of_a_target_of_another_build_than_the_scores_of_the_study(length, build):
    Path("b.vcf").write_text(
        Path("a.vcf").read_text().replace("ID=1,length=1000000", f"ID=1,length={length}")
    )
    line = f"`score.target` must be of the build of the study's scores, GRCh38, got {build}. Lift one over."
    wanted = [] if build == "GRCh38" else [line]
    assert found({"target": "b.vcf", "weights_of": "gblup"}) == wanted


def test_problems__of_a_bundle_that_was_changed():
    bundle = make_bundle(Path())
    score = {"target": "c{chrom}.vcf", "release": str(bundle)}
    assert not any("digest" in line for line in found(score))
    path = next((bundle / "scores").glob("*.txt.gz"))
    path.write_bytes(path.read_bytes() + b"0")
    (line,) = found(score)
    assert line.startswith("`score`: ")
    assert "must have the digest that SHA256SUMS lists, got another" in line


def test_scoring_inputs__are_all_files_that_are_read():
    bundle = make_bundle(Path())
    write_bed(Path("p"))
    score = {"target": ["c{chrom}.vcf"], "release": ["y.txt", str(bundle)], "reference": "p.bed"}
    inputs = scoring_inputs(settings(**score, populations="pop.tsv"), own_scores="own")
    assert names(inputs["target"]) == ["c1.vcf", "c2.vcf"]
    assert names(inputs["tables"]) == ["p.bim", "p.fam", "pop.tsv"]
    assert "y.txt" in names(inputs["scores"])
    assert str(bundle / "privacy_statement.json") in names(inputs["scores"])
    assert len(list((bundle / "scores").iterdir())) + 2 == len(inputs["scores"])
    assert scoring_inputs(settings(target="a.vcf"), own_scores="own")["scores"] == ["own"]


def test_scoring_flags__are_options_of_the_command_with_its_defaults():
    given = score.make_context("score", ["a.vcf", "--score", "y.txt", "--output", "o"]).params
    for key, part in keys().items():
        section, _, name = key.partition(".")
        if section == "score" and name not in ("target", "release", "weights_of", "reference"):
            assert given[name] == part["default"], key
    said = scoring_flags(settings(target="a.vcf", reference="c*.vcf", drop_ambiguous=True), own_scores="own")
    context = score.make_context("score", ["a.vcf", "--output", "o", *said.split()])
    assert context.params["reference"] == ("c1.vcf", "c2.vcf")
    assert context.params["scores"] == ("own",)
    assert context.params["drop_ambiguous"] is True


def test_scoring_shape__is_that_of_the_target_and_of_the_scores():
    shape = ScoringShape(settings(target="a.vcf", release=["y.txt"], reference="c1.vcf"))
    assert (shape.n_people, shape.n_reference_people, shape.n_outcomes) == (60, 60, 1)
    assert shape.n_variants == Path("y.txt").stat().st_size // 15
    own = ScoringShape(settings(target="none.vcf"))
    assert (own.n_people, own.n_outcomes, own.n_variants) == (5000, 10 * own.n_requests, 100)


def test_without_scoring__a_study_is_the_same_whoever_is_scored():
    assert without_scoring(settings(target="a.vcf", components=7)) == settings()
