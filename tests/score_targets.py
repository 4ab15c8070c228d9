"""A made target with all that a match may meet, scores of it, and their sums by hand."""

import gzip

import numpy as np
import pandas as pd
from click.testing import CliRunner

from dpgrs.cli.main import main
from vcf_files import record, vcf_text

HEADER = "chr_name\tchr_position\teffect_allele\tother_allele\teffect_weight\n"
STRAND = str.maketrans("ACGT", "TGCA")
SNPS = (("A", "C"), ("C", "T"), ("G", "T"), ("A", "T"), ("A", "C,G"))
RECORDS = (*SNPS, ("G", "GTT"), ("TTA", "T"))


def make_target(rng, *, n_people, n_records, contigs=("1", "2"), missing=0.0):
    """Return a list of records (contig, position, alleles, calls); calls are (n_people, 2), -1 if missing."""
    found = []
    for number in range(n_records):
        ref, alts = RECORDS[number % len(RECORDS)]
        alleles = (ref, *alts.split(","))
        p = rng.dirichlet(np.ones(len(alleles)))
        calls = rng.choice(len(alleles), size=(n_people, 2), p=p)
        calls[0] = 0, 1  # none is without an allele
        if number % 2:
            calls[rng.random(n_people) < missing] = -1
        contig = contigs[number * len(contigs) // n_records]
        found.append((contig, 100 + 10 * number, alleles, calls))
    return found


def write_target(path, records, *, prefix="", contigs=("1", "2")):
    """Write records as a VCF without phase, with ids of their place."""
    people = [f"p{number}" for number in range(len(records[0][3]))]
    lines = []
    for contig, position, (ref, *alts), calls in records:
        cells = ("/".join("." if one < 0 else str(one) for one in call) for call in calls)
        id_ = f"{contig}:{position}"
        lines.append(
            record(position, " ".join(cells), contig=prefix + contig, id_=id_, ref=ref, alt=",".join(alts))
        )
    text = vcf_text(*lines, samples=people, contigs=[prefix + contig for contig in contigs])
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def make_score(rng, records):
    """Return rows, a list of (record, allele, other, weight): alleles are numbers, a score of each record."""
    rows = []
    for place, (_, _, alleles, _) in enumerate(records):
        other = int(rng.integers(1, len(alleles)))
        pair = (0, other) if rng.random() < 0.5 else (other, 0)
        rows.append((place, *pair, float(np.round(rng.standard_normal(), 3))))
    return rows


def letters(alleles, pair, *, is_flipped=False):
    """Return the letters of a pair of alleles, on the other strand where that can be told."""
    pair = [alleles[number] for number in pair]
    can_flip = all(len(allele) == 1 for allele in pair) and set(pair) not in ({"A", "T"}, {"C", "G"})
    return [allele.translate(STRAND) for allele in pair] if is_flipped and can_flip else pair


def write_score(path, records, rows, *, flips=False, head=""):
    """Write a scoring file; with `flips` every third row is told on the other strand, where it can be."""
    lines = []
    for number, (place, allele, other, weight) in enumerate(rows):
        contig, position, alleles, _ = records[place]
        pair = letters(alleles, (allele, other), is_flipped=flips and number % 3 == 0)
        lines.append(f"{contig}\t{position}\t{pair[0]}\t{pair[1]}\t{weight!r}\n")
    path.write_text(head + HEADER + "".join(lines))
    return path


def sums_by_hand(records, rows, *, frequency=None):
    """Return (n_people,) sums: copies of the effect allele, and its frequency for each missing one."""
    found = np.zeros(len(records[0][3]))
    for place, allele, _, weight in rows:
        calls = records[place][3]
        is_known = calls >= 0
        p = (calls[is_known] == allele).mean() if frequency is None else frequency[place, allele]
        found += weight * ((calls == allele).sum(axis=1) + p * (~is_known).sum(axis=1))
    return found


def run(*arguments):
    """Run `dpgrs score`."""
    return CliRunner().invoke(main, ["score", *map(str, arguments)])


def scored(output, target, *scores, options=()):
    """Score a target; return its table of scores, and the console."""
    targets = target if isinstance(target, list) else [target]
    named = [part for score in scores for part in ("--score", score)]
    found = run(*targets, *named, "--output", output, *options)
    assert found.exit_code == 0, found.output
    return pd.read_csv(output / "scores.tsv.gz", sep="\t", index_col="sample"), found.output


def match_of(output):
    """Return the table of what became of each variant."""
    return pd.read_csv(output / "match.tsv.gz", sep="\t", dtype=str, keep_default_na=False)


def copy_sums_by_hand(records, rows, tables):
    """Return (n_people,) sums of what 0, 1 and 2 copies add, expected over each missing allele."""
    found = np.zeros(len(records[0][3]))
    for (place, allele, *_), table in zip(rows, tables, strict=True):
        calls = records[place][3]
        p = (calls[calls >= 0] == allele).mean()
        for person, call in enumerate(calls):
            chances = np.array([1.0])
            for one in call:
                of_effect = p if one < 0 else float(one == allele)
                chances = np.convolve(chances, [1 - of_effect, of_effect])
            found[person] += chances @ table
    return found


def refusal_of(folder, target, *options, text=None):
    """Score a target by `y.txt` of a folder, after writing a text to it; return the line that refuses it."""
    score, output = folder / "y.txt", folder / "out"
    if text is not None:
        score.write_text(text)
    result = run(target, "--score", score, "--output", output, *options)
    assert (result.exit_code, result.output.count("\n")) == (1, 1), result.output
    assert not output.exists()
    return result.output
