"""A few people in every format of target, at the variants of a score; `make test-light` scores them."""

import csv
import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pysam.bcftools

from bgen_files import variant, write_bgen
from dosage_files import dosage_text
from plink_sets import write_bed, write_pgen
from release_data import make_bundle
from vcf_files import record

PEOPLE = tuple(f"p{number}" for number in range(40))


def sites_of(path):
    """Return the (contig, position, ref, alt) of a scoring file, in its order."""
    with gzip.open(path, "rt") as file:
        rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        names = ("chr_name", "chr_position", "other_allele", "effect_allele")
        return [tuple(row[name] for name in names) for row in rows]


def write_targets(folder, bundle):
    """Write files; return a dict of name to the path and the options of `dpgrs score`."""
    sites, rng = sites_of(min(bundle.glob("scores/*.gz"))), np.random.default_rng(1)
    n = len(PEOPLE)
    calls = rng.choice([-9, 0, 1], (len(sites), n, 2), p=[0.1, 0.5, 0.4])
    calls[(calls < 0).any(axis=2)] = -9
    contigs = list(dict.fromkeys(contig for contig, *_ in sites))

    def text(cells, **options):
        lines = [
            record(int(position), " ".join(row), contig=contig, ref=ref, alt=alt, **options)
            for (contig, position, ref, alt), row in zip(sites, cells, strict=True)
        ]
        return dosage_text(*lines, samples=PEOPLE, contigs=contigs)

    def words(separator, more=""):
        return [
            [separator.join("." if one < 0 else str(one) for one in call) + more for call in row]
            for row in calls
        ]

    dosages = rng.integers(0, 2000, (len(sites), n))
    files = {
        "phased.vcf": text(words("|")),
        "unphased.vcf": text([[*row[:-1], "1"] for row in words("/")]),
        "fields.vcf": text(words("/", ":1.5"), format_="GT:DS"),
        "dosages.vcf": text(
            [
                [f"{call}:{'.' if dosage < 99 else dosage / 1000}" for call, dosage in zip(*row, strict=True)]
                for row in zip(words("|"), dosages, strict=True)
            ],
            format_="GT:DS",
        ),
    }
    for name, lines in files.items():
        (folder / name).write_text(lines)
    pysam.bcftools.view(
        "-Ob", "-o", str(folder / "calls.bcf"), str(folder / "fields.vcf"), catch_stdout=False
    )
    copies = np.where((calls < 0).any(axis=2), -127, calls.sum(axis=2))
    bim = [f"{contig} . 0 {position} {alt} {ref}" for contig, position, ref, alt in sites]
    fam = [f"f {name} 0 0 2 -9" for name in PEOPLE]
    write_bed(folder / "bed", counts=copies, bim=bim, fam=fam)
    pvar = ["\t".join([contig, position, ".", ref, alt, "PASS"]) for contig, position, ref, alt in sites]
    psam = [f"{name}\t2" for name in PEOPLE]
    write_pgen(
        folder / "pgen",
        alleles=calls.reshape(len(sites), -1),
        pvar=["#CHROM\tPOS\tID\tREF\tALT\tFILTER", *pvar],
        psam=["#IID\tSEX", *psam],
    )
    first = rng.choice([0, 5, 100, 230, 255], (len(sites), n))
    second = np.minimum(rng.choice([0, 5, 100, 230], (len(sites), n)), 255 - first)
    variants = [
        variant(
            int(position), list(zip(*row, strict=True)), alleles=(ref, alt), contig=contig, is_phased=False
        )
        for (contig, position, ref, alt), *row in zip(sites, first.tolist(), second.tolist(), strict=True)
    ]
    write_bgen(folder / "a.bgen", variants, samples=PEOPLE)
    is_dosage = {"dosages.vcf": True, "a.bgen": True}
    names = [*files, "calls.bcf", "bed.bed", "pgen.pgen", "a.bgen"]
    found = {name: (folder / name, []) for name in names}
    return found | {
        f"{name}, DS": (folder / name, ["--field", "DS"]) for name in names if is_dosage.get(name)
    }


def arguments_of(path, options, bundle, output):
    """Return the arguments of `dpgrs` that score a target by a bundle."""
    return ["score", path, "--score", bundle, "--genome-build", "GRCh38", "--output", output, *options]


if __name__ == "__main__":
    program, folder = sys.argv[1], Path(sys.argv[2])
    bundle = make_bundle(folder)
    subprocess.run([program, "release", "verify", bundle], check=True)
    for number, (name, target) in enumerate(write_targets(folder, bundle).items()):
        print(name, flush=True)
        command = [program, *arguments_of(*target, bundle, folder / f"scored{number}")]
        subprocess.run(list(map(str, command)), check=True)
