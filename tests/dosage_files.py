"""Genotypes with imputed dosages, made by the tests."""

from pathlib import Path

import numpy as np
import pysam

from vcf_files import SAMPLES, vcf_text, write_bgzf

DECLARED = '##FORMAT=<ID=DS,Number=A,Type=Float,Description="Dosage">\n#CHROM'


def dosage_text(*records, samples=SAMPLES, contigs=("1",)):
    """Return a VCF whose header declares DS, as text."""
    return vcf_text(*records, samples=samples, contigs=contigs).replace("#CHROM", DECLARED, 1)


def imputed_copy(source, target, *, seed):
    """Write a VCF of calls again with dosages near them, missing here and there.

    Parameters
    ----------
    source, target : paths of BGZF files; the target gets an index.
    seed : int
    """
    rng, lines = np.random.default_rng(seed), []
    with pysam.BGZFile(str(source)) as file:
        text = [line.decode() for line in file]
    for line in text:
        if line.startswith("#"):
            lines.append(line.replace("#CHROM", DECLARED))
            continue
        *site, format_ = line.split("\t")[:9]
        calls = line.split("\t")[9:]
        alts = range(1, site[4].count(",") + 2)
        counts = np.array([[call.count(str(alt)) for alt in alts] for call in calls])
        values = np.clip(counts + rng.normal(0, 0.2, counts.shape), 0, 2)
        fields = [
            f"{call}:" + ",".join(f"{value:.3f}" for value in row)
            for call, row in zip(calls, values, strict=True)
        ]
        is_missing = rng.random(len(calls)) < 0.02
        fields = [".|.:." if missing else field for field, missing in zip(fields, is_missing, strict=True)]
        lines.append("\t".join([*site, f"{format_}:DS", *fields]))
    write_bgzf(Path(target), "\n".join(lines) + "\n")
