"""The tables for plink2 of a bundle, held against its scoring files, of which they must be another form."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dpgrs.verify.folder_check import lines_of
from dpgrs.verify.scoring_check import ScoringFile, read_scoring_file, site_place

NAME = re.compile(r"plink2/scores_[1-9][0-9]*\.tsv\.gz")
# Zeros, as of variants that were not chosen, shrink as far as gzip can shrink anything.
LARGEST_RATIO = 1032
# The limit of a table with several outcomes.
MOST_WEIGHTS = 2**22


def plink_files(names: Iterable[str]) -> list[str]:
    """Return the names of tables for plink2, in the order of their numbers."""
    return sorted(filter(NAME.fullmatch, names), key=lambda name: (len(name), name))


def plink_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """Compare each table with the scoring files of its columns, in which nothing is wrong."""
    scores = {
        Path(score["file"]).name.removesuffix(".txt.gz"): files[score["file"]]
        for score in statement["scores"]
    }
    problems, named = [], []
    for name in plink_files(files):
        stems, faults = _table_problems(files[name], scores)
        problems += [f"{name}: {fault}" for fault in faults]
        named += stems
    names = [f"plink2/scores_{number}.tsv.gz" for number in range(1, len(plink_files(files)) + 1)]
    if not problems and (named != list(scores) or plink_files(files) != names):
        problems.append("the tables for plink2 must hold each outcome once, in their order, from scores_1 on")
    return problems


def _table_problems(path: Path, scores: dict[str, Path]) -> tuple[list[str], list[str]]:
    """Return the scores that a table holds, by name, and its errors."""
    head, n_lines, digest, problems = "", 0, hashlib.sha256(), []
    try:
        for text in lines_of(path, problems, largest_ratio=LARGEST_RATIO):
            head = head or text.partition("\n")[0]
            n_lines += text.count("\n")
            digest.update(text.encode())
    except ValueError as error:
        return [], [*problems, str(error)]
    stems = head.split("\t")[2:]
    if problems:
        return stems, problems
    if not stems or not scores.keys() >= set(stems):
        return stems, ["its columns must be ID, allele and names of scoring files"]
    if len(stems) > 1 and len(stems) * (n_lines - 1) > MOST_WEIGHTS:
        return stems, [f"it must hold one outcome, or at most {MOST_WEIGHTS} weights"]
    expected = hashlib.sha256()
    for line in _lines(stems, [read_scoring_file(scores[stem]) for stem in stems]):
        expected.update(line.encode())
    is_same = digest.digest() == expected.digest()
    return stems, ["it must hold what the scoring files of its columns hold"] * (not is_same)


def _lines(stems: Sequence[str], scores: Sequence[ScoringFile]) -> Iterator[str]:
    """Yield the lines of a table, from scoring files."""
    yield "\t".join(["ID", "allele", *stems]) + "\n"
    columns = [score.numbers.splitlines() for score in scores]
    sites = scores[0].sites.splitlines()
    if any(score.sites != scores[0].sites for score in scores):
        cells = [
            dict(zip(score.sites.splitlines(), numbers, strict=True))
            for score, numbers in zip(scores, columns, strict=True)
        ]
        sites = sorted(set().union(*cells), key=lambda site: site_place(site.split("\t")))
        columns = [[weights.get(site, "0") for site in sites] for weights in cells]
    for site, *numbers in zip(sites, *columns, strict=True):
        chromosome, position, effect, other = site.split("\t")
        first, second = sorted((effect, other))
        cells = "\t".join(numbers)
        yield f"{chromosome}:{position}:{first}:{second}\t{effect}\t{cells}\n"
