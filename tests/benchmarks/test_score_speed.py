"""Scores of many outcomes from one .pgen against plink2, timed by `pytest --benchmark-enable`.

Both read the same genotypes and the same weights, plink2 from one table of all outcomes and ours from a
scoring file each, and take turns. That the sums agree is always checked; the ratio is asserted only when
benchmarks are enabled.
"""

import gzip
import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from pgenlib import PgenWriter

from measured_processes import run
from plink_sets import write_lines
from score_targets import HEADER

PLINK2_AIM = 1.0
MEMORY_AIM = 1.5e9  # bytes
LARGE, SMALL = (2504, 100_000, 100), (60, 300, 5)
N_ROUNDS = 3
N_CHROMOSOMES = 22
PAIRS = ("AC", "AG", "CT", "GT")


def write_data(folder, *, n_people, n_variants, n_outcomes):
    """Write genotypes, of which one in ten variants lacks one call in a hundred, and weights for both."""
    rng = np.random.default_rng(1)
    frequency = np.clip(rng.beta(0.5, 2, n_variants), 0.005, 0.95)
    with PgenWriter(
        str(folder / "t.pgen").encode(), n_people, variant_ct=n_variants, nonref_flags=False
    ) as writer:
        for number, p in enumerate(frequency):
            calls = (rng.random((2, n_people)) < p).sum(axis=0).astype(np.int8)
            if number % 10 == 0:
                calls[rng.random(n_people) < 0.01] = -9
            writer.append_biallelic(calls)
    chromosomes = np.arange(n_variants) * N_CHROMOSOMES // n_variants + 1
    pairs = [PAIRS[kind] for kind in rng.integers(0, len(PAIRS), n_variants)]
    sites = [
        (chromosome, 100 * place + 5, *pair)
        for place, (chromosome, pair) in enumerate(zip(chromosomes.tolist(), pairs, strict=True))
    ]
    names = [f"{chromosome}:{position}:{ref}:{alt}" for chromosome, position, ref, alt in sites]
    rows = [f"{c}\t{at}\t{name}\t{ref}\t{alt}" for (c, at, ref, alt), name in zip(sites, names, strict=True)]
    write_lines(folder / "t.pvar", ["#CHROM\tPOS\tID\tREF\tALT", *rows])
    write_lines(folder / "t.psam", ["#IID", *(f"p{number}" for number in range(n_people))])
    weights = rng.standard_normal((n_variants, n_outcomes)).round(6)
    head = "\t".join(["ID", "allele", *(f"y{number}" for number in range(n_outcomes))])
    cells = ["\t".join(map(repr, own)) for own in weights.tolist()]
    table = [f"{name}\t{site[3]}\t{own}" for name, site, own in zip(names, sites, cells, strict=True)]
    write_lines(folder / "all.score", [head, *table])
    (folder / "scores").mkdir()
    begins = [f"{c}\t{at}\t{alt}\t{ref}\t" for c, at, ref, alt in sites]
    for number in range(n_outcomes):
        own = "".join(
            f"{one}{weight!r}\n" for one, weight in zip(begins, weights[:, number].tolist(), strict=True)
        )
        text = f"#genome_build=GRCh38\n{HEADER}{own}"
        (folder / "scores" / f"y{number}.txt.gz").write_bytes(gzip.compress(text.encode(), 6))


def score_both(folder, repository, *, n_outcomes):
    """Score by both; return what `run` says of each."""
    shutil.rmtree(folder / "scored", ignore_errors=True)
    ours = [sys.executable, "-m", "dpgrs", "score", folder / "t.pgen", "--score", folder / "scores"]
    plink2 = ["plink2", "--pfile", folder / "t", "--score", folder / "all.score", "1", "2", "header-read"]
    plink2 += ["cols=+scoresums", "--score-col-nums", f"3-{n_outcomes + 2}", "--threads", "2"]
    environment = os.environ | {"PYTHONPATH": str(repository / "workflow")}
    return run([*ours, "--output", folder / "scored"], environment), run([*plink2, "--out", folder / "p"])


@pytest.mark.skipif(shutil.which("plink2") is None, reason="plink2 is not installed")
def test_score__not_slower_than_plink2(request, capsys, tmp_path, repository):
    is_timed = request.config.getoption("--benchmark-enable")
    n_people, n_variants, n_outcomes = LARGE if is_timed else SMALL
    write_data(tmp_path, n_people=n_people, n_variants=n_variants, n_outcomes=n_outcomes)
    # The first run also compiles.
    rounds = [score_both(tmp_path, repository, n_outcomes=n_outcomes)]
    ours = pd.read_csv(tmp_path / "scored" / "scores.tsv.gz", sep="\t", index_col="sample")
    theirs = pd.read_csv(tmp_path / "p.sscore", sep="\t", index_col="#IID")
    for number in range(n_outcomes):
        sums = theirs[f"y{number}_SUM"]
        # It prints six digits.
        np.testing.assert_allclose(ours[f"y{number}.sum"], sums, rtol=5.1e-6, atol=1e-12)
    if not is_timed:
        return
    rounds = [score_both(tmp_path, repository, n_outcomes=n_outcomes) for _ in range(N_ROUNDS)]
    own, other = np.array(rounds).transpose(1, 0, 2)
    ratios, processor = (other / own)[:, :2].T
    with capsys.disabled():
        print(f"\n{n_people} people x {n_variants} variants x {n_outcomes} outcomes")
        print(f"plink2 {np.median(other[:, 0]):.1f} s, dpgrs {np.median(own[:, 0]):.1f} s")
        print(f"times plink2 {ratios.round(2)}, median {np.median(ratios):.2f}")
        print(f"processor: plink2 {np.median(other[:, 1]):.1f} s, dpgrs {np.median(own[:, 1]):.1f} s")
        print(f"times plink2 in processor time {processor.round(2)}")
        print(f"peak: plink2 {other[:, 2].max() / 1e6:.0f} MB, dpgrs {own[:, 2].max() / 1e6:.0f} MB")
    assert np.median(ratios) >= PLINK2_AIM
    assert own[:, 2].max() < MEMORY_AIM
