"""The tables for plink2 of a bundle, held against its scoring files, of which they must be another form."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpgrs.release.scoring_check import ScoringFile, read_lines, read_scoring_file, site_place

NAME = re.compile(r"plink2/scores_[1-9][0-9]*\.tsv\.gz")
# Zeros, as of variants that were not chosen, shrink as far as gzip can shrink anything.
LARGEST_RATIO = 1032


def plink_files(names: Iterable[str]) -> list[str]:
    """Return the names of tables for plink2, in the order of their numbers."""
    return sorted(filter(NAME.fullmatch, names), key=lambda name: (len(name), name))


def plink_problems(statement: dict, files: dict[str, Path]) -> list[str]:
    """Compare each table with the scoring files of its columns, in which nothing is wrong."""
    scores = {
        Path(score["file"]).name.removesuffix(".txt.gz"): score["file"] for score in statement["scores"]
    }
    problems, named = [], []
    for name in plink_files(files):
        table = ScoringFile()
        lines = read_lines(files[name], table, largest_ratio=LARGEST_RATIO)
        stems, faults = lines[0].split("\t")[2:] if lines else [], table.problems
        if not faults and (not stems or not scores.keys() >= set(stems)):
            faults = ["its columns must be ID, allele and names of scoring files"]
        if not faults:
            held = [read_scoring_file(files[scores[stem]]) for stem in stems]
            faults = ["it must hold what the scoring files of its columns hold"] * (
                lines != _lines(stems, held)
            )
        problems += [f"{name}: {fault}" for fault in faults]
        named += stems
    wanted = [f"plink2/scores_{number}.tsv.gz" for number in range(1, len(plink_files(files)) + 1)]
    if not problems and (named != list(scores) or plink_files(files) != wanted):
        problems.append("the tables for plink2 must hold each outcome once, in their order, from scores_1 on")
    return problems


def _lines(stems: Sequence[str], scores: Sequence[ScoringFile]) -> list[str]:
    """Return the lines of a table, from scoring files."""
    cells = [dict(zip(score.sites, score.numbers, strict=True)) for score in scores]
    sites = sorted(set().union(*cells), key=site_place)
    lines = ["\t".join(["ID", "allele", *stems])]
    for site in sites:
        chromosome, position, effect, other = site
        alleles = ":".join(sorted((effect, other)))
        numbers = (held.get(site, "0") for held in cells)
        lines.append("\t".join([f"{chromosome}:{position}:{alleles}", effect, *numbers]))
    return lines
