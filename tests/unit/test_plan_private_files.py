"""A plan does not depend on the people: of private files it reads the names of columns, and nothing else."""

import json
from pathlib import Path

import pytest

from dpgrs.planning.plan import plan_study
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study.settings_files import read_settings
from vcf_files import vcf_text

PEOPLE = tuple(f"HG{number:05}" for number in range(120))
# All files of people that a study can name.
STUDY = """
study: tiny
cohort: {source: vcf, vcf: "cohort{chrom}.vcf", chromosomes: ["1"], rows: people, populations: pop.tsv}
people: {keep: keep.txt, remove: remove.txt, consent: {file: consent.tsv, allow: [1]}, related: related.txt}
outcomes: {source: file, file: outcomes.csv, scales: scales.tsv, count: null}
covariates: {file: covariates.tsv, scales: covariate_scales.tsv}
variants: {size: 4}
privacy: {epsilon: 2, accounting: gdp, bounds: tight}
scale: {memory_per_job: 1000}
release: {genome_build: GRCh38}
"""
GARBAGE = b"\xff\xfe\x00 no,row\tof a table\x00\n" * 50


@pytest.fixture(autouse=True)
def _study(tmp_path, monkeypatch):
    """Work in a folder with a study and its public constants."""
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(STUDY)
    Path("scales.tsv").write_text("outcome\tcentre\tscale\tprevalence\nheight\t170\t7\t\ncase\t\t\t0.3\n")
    Path("covariate_scales.tsv").write_text("covariate\tcentre\tscale\nage\t50\t10\n")


def write_people(people, *, known):
    """Write genotypes, tables and lists of people, of whom the first ones have a known outcome."""
    calls = "\t".join(["0|1"] * len(people))
    Path("cohort1.vcf").write_text(vcf_text(f"1\t100\t.\tA\tC\t.\t.\t.\tGT\t{calls}", samples=people))
    rows = [(name, "171" if place < known else "NA", place % 2) for place, name in enumerate(people)]
    Path("outcomes.csv").write_text("sample,height,case\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    Path("covariates.tsv").write_text("sample\tage\n" + "".join(f"{name}\t51\n" for name, *_ in rows))
    Path("pop.tsv").write_text("sample\tpopulation\n" + "".join(f"{name}\tA\n" for name in people))
    Path("consent.tsv").write_text("sample\tconsent\n" + "".join(f"{name}\t1\n" for name in people))
    Path("keep.txt").write_text("\n".join(people))
    for name in ("remove.txt", "related.txt"):
        Path(name).write_text("nobody\n")


def planned(*changes):
    """Return a plan as text and as JSON."""
    plan = plan_study(read_settings("study.yaml", changes=changes), people=1000)
    return plan_as_text(plan), json.dumps(plan)


@pytest.mark.parametrize("mode", ["release", "benchmark"])
def test_plan_study__of_neighbours_at_a_threshold_is_the_same(mode):
    write_people(PEOPLE, known=60)
    enough = planned(f"mode={mode}")
    # The neighbour lacks one person: 59 of 119 are below `outcomes.least_share`.
    write_people(PEOPLE[1:], known=59)
    assert planned(f"mode={mode}") == enough
    # So few that nothing of a study could be made.
    write_people(PEOPLE[:1], known=0)
    assert planned(f"mode={mode}") == enough


@pytest.mark.parametrize("mode", ["release", "benchmark"])
def test_plan_study__of_files_that_are_garbage_below_the_names_is_the_same(mode):
    write_people(PEOPLE, known=60)
    changes = (f"mode={mode}", "score={target: target.vcf, release: bundle}")
    Path("target.vcf").write_bytes(Path("cohort1.vcf").read_bytes())
    readable = planned(*changes)
    for name in ("outcomes.csv", "covariates.tsv", "pop.tsv"):
        names, _, _ = Path(name).read_bytes().partition(b"\n")
        Path(name).write_bytes(names + b"\n" + GARBAGE)
    for name in ("keep.txt", "remove.txt", "cohort1.vcf", "target.vcf"):
        Path(name).write_bytes(GARBAGE)
    Path("consent.tsv").write_bytes(b"sample\tconsent\n" + GARBAGE)
    assert planned(*changes) == readable


def test_plan_study__names_of_columns_are_still_judged():
    write_people(PEOPLE, known=60)
    Path("scales.tsv").write_text("outcome\tcentre\tscale\nheight\t170\t7\n")
    text, _ = planned("mode=release")
    assert "a line for every outcome, got none for `case`" in " ".join(text.split())
    Path("cohort1.vcf").unlink()
    text, _ = planned("mode=release")
    assert "`cohort.vcf`: `cohort1.vcf` is not there." in " ".join(text.split())
