"""Files of a simulated biobank for a release of a whole genome: BGEN of imputed dosages, a panel, tables.

Founders and the panel are simulated by msprime, as in the genome experiment. Everybody else is a mosaic of
founders, as in the model of Li and Stephens: 100,000 people would be too slow otherwise. With `--genome` one
simulated chromosome is a segment of a genome: chromosomes 1 to 22 are as many such segments as they are long,
each with mosaics of its own, and all files are .bed.
"""

import argparse
import gzip
import struct
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pandas as pd
import stdpopsim
from isal import isal_zlib
from numba import njit

from dpgrs.linalg.genome_prior import HERITABILITY
from dpgrs.public_random import generator
from dpgrs_papers.experiments.genome_cohort import (
    RECOMBINATION,
    CohortSizes,
    hotspot_map,
    simulate_variants,
)
from dpgrs_papers.experiments.genome_study import EFFECT_EXPONENT

FOLDER = Path("results", "biobank_files")
FOUNDERS, PANEL = 4000, 750
LENGTH = 29_000_000  # base pairs, of 10,000 typed variants
# Mean length of a segment of a founder, in Morgans: 3 Mb.
SEGMENT = 3e6 * RECOMBINATION
# Most people, of a variant, whose dosage is uncertain, and how far towards the mean it then lies at most.
MOST_UNCERTAIN, MOST_SHRUNK = 0.3, 0.6
# Shares of causal variants of the phenotypes.
SHARES = (0.01, 0.1, 0.1, 1.0, 1.0)
MISSING = 0.03
TILE = 200  # variants at a time
# Effects of age in standard deviations, sex, and two of three centres.
COVARIATE_EFFECTS = (0.2, 0.3, 0.1, -0.1)


@njit
def mosaic(alleles, places, founder, stop, frequency, uncertain, rng, counts, probabilities):
    """Fill counts of alleles and probabilities of calls, variant by variant; go on with the founders before.

    Of a call two probabilities are kept, of no ALT and of one, in units of 1/255.
    """
    n_variants, n_people = counts.shape
    n_haplotypes = alleles.shape[1]
    for v in range(n_variants):
        for h in range(2 * n_people):
            if places[v] >= stop[h]:
                founder[h] = rng.integers(0, n_haplotypes)
                stop[h] = places[v] + rng.exponential(SEGMENT)
        for i in range(n_people):
            count = alleles[v, founder[2 * i]] + alleles[v, founder[2 * i + 1]]
            counts[v, i] = count
            dosage = float(count)
            if rng.random() < uncertain[v]:
                dosage += MOST_SHRUNK * rng.random() * (2 * frequency[v] - count)
            one = int(255 * (1 - abs(dosage - 1)) + 0.5)
            probabilities[v, 2 * i] = 255 - one if dosage < 1 else 0
            probabilities[v, 2 * i + 1] = one


class BgenWriter:
    """Writes unphased probabilities of 8 bits as BGEN 1.2."""

    def __init__(self, path: Path, people: list[str], n_variants: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("wb")
        ids = b"".join(_text(one, "<H") for one in people)
        ids = struct.pack("<II", len(ids) + 8, len(people)) + ids
        head = struct.pack("<III4sI", 20, n_variants, len(people), b"bgen", 1 | 2 << 2 | 1 << 31)
        self._file.write(struct.pack("<I", len(head) + len(ids)) + head + ids)
        self._start = struct.pack("<IHBB", len(people), 2, 2, 2) + bytes([2]) * len(people) + bytes([0, 8])

    def append(self, contig: str, positions: Sequence[int], probabilities: np.ndarray) -> None:
        """Append variants with REF A and ALT C; probabilities are (n_variants, n_people, 2)."""
        for position, of_variant in zip(positions, probabilities, strict=True):
            content = self._start + of_variant.tobytes()
            packed = isal_zlib.compress(content, 1)
            name = _text(f"{contig}:{position}", "<H")
            site = name + name + _text(contig, "<H") + struct.pack("<IH", position, 2)
            site += _text("A", "<I") + _text("C", "<I")
            self._file.write(site + struct.pack("<II", len(packed) + 4, len(content)) + packed)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class BedWriter:
    """Writes counts of alleles as .bed, with .bim and .fam."""

    def __init__(self, path: Path, people: list[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".fam").write_text("".join(f"0 {one} 0 0 0 -9\n" for one in people))
        self._bed, self._bim = path.open("wb"), path.with_suffix(".bim").open("w")
        self._bed.write(b"\x6c\x1b\x01")

    def append(self, contig: str, positions: Sequence[int], counts: np.ndarray) -> None:
        """Append variants with REF A and ALT C; counts of ALT are (n_variants, n_people)."""
        codes = np.array([3, 2, 0], dtype=np.uint8)[counts]
        codes = np.pad(codes, ((0, 0), (0, -codes.shape[1] % 4)))
        packed = sum(codes[:, person::4] << 2 * person for person in range(4))
        self._bed.write(packed.tobytes())
        self._bim.writelines(
            f"{contig}\t{contig}:{position}\t0\t{position}\tC\tA\n" for position in positions
        )

    def close(self) -> None:
        """Close the files."""
        self._bed.close()
        self._bim.close()


def _text(text: str, of_length: str) -> bytes:
    return struct.pack(of_length, len(text)) + text.encode()


class Founders(NamedTuple):
    """Variants of a simulated chromosome, and the alleles of founders and panel."""

    positions: np.ndarray  # (n_variants,) int64
    places: np.ndarray  # (n_variants,) in Morgans
    alleles: np.ndarray  # (n_variants, 2 n_founders) int8
    of_panel: np.ndarray  # (n_variants, 2 n_panel) int8


@cache
def simulate_founders(number: int, seed: int, founders: int, panel: int, length: int) -> Founders:
    sizes = CohortSizes(founders, panel, 0, 0)
    trees, typed, _ = simulate_variants(number, seed=seed, sizes=sizes, length=length)
    positions = trees.tables.sites.position[typed].astype(np.int64) + 1
    rates = hotspot_map(length, generator(seed, "genome", number))
    alleles = np.split(trees.genotype_matrix()[typed].astype(np.int8), [2 * founders], axis=1)
    return Founders(positions, rates.get_cumulative_mass(positions - 1), *alleles)


def write_chromosome(given: argparse.Namespace, number: int) -> np.ndarray:
    """Write the files of a chromosome; return the genetic values of all people, (n_phenotypes, n_people)."""
    simulated = 1 if given.genome else number
    founders = simulate_founders(simulated, given.seed, given.founders, given.panel, given.length)
    people = person_ids(given)
    writers: dict[str, BgenWriter | BedWriter] = {}
    for name, part in people_parts(given).items():
        path = given.folder / name / f"chr{number}"
        writers[name] = (
            BedWriter(path.with_suffix(".bed"), people[part])
            if given.genome
            else BgenWriter(path.with_suffix(".bgen"), people[part], len(founders.positions))
        )
    write_panel(given, number, founders)
    rng = generator(given.seed, "biobank", number)
    genetic = sum(
        append_people(given, number, founders, positions, writers, rng)
        for positions in segment_positions(given, number, founders)
    )
    for writer in writers.values():
        writer.close()
    return genetic


def segment_positions(given: argparse.Namespace, number: int, founders: Founders) -> list[np.ndarray]:
    """Return the positions of the variants of each segment of a chromosome, (n_variants,) int64 each."""
    if not given.genome:
        return [founders.positions]
    length = stdpopsim.get_species("HomSap").genome.get_chromosome(f"{number}").length
    n_segments = round(length / given.length)
    positions = np.ceil(founders.positions * (length / n_segments / given.length)).astype(np.int64)
    # All different, where a segment is shortened.
    order = np.arange(len(positions))
    positions = np.maximum.accumulate(positions - order) + order
    return [segment * (length // n_segments) + positions for segment in range(n_segments)]


def append_people(
    given: argparse.Namespace,
    number: int,
    founders: Founders,
    positions: np.ndarray,  # (n_variants,) int64
    writers: dict[str, BgenWriter | BedWriter],
    rng: np.random.Generator,
) -> np.ndarray:
    """Append mosaics of the founders to the files of a chromosome; return their genetic values."""
    alleles = founders.alleles
    frequency = alleles.mean(axis=1)
    uncertain = MOST_UNCERTAIN * rng.random(len(positions)) ** 2
    scales = np.maximum(2 * frequency * (1 - frequency), 1e-4) ** (EFFECT_EXPONENT / 2)
    effects = scales * rng.standard_normal((len(SHARES), len(positions)))
    effects *= rng.random(effects.shape) < np.array(SHARES)[:, np.newaxis]
    n_people = given.people + given.others
    founder, stop = np.zeros(2 * n_people, dtype=np.int64), np.full(2 * n_people, -1.0)
    genetic = np.zeros((len(SHARES), n_people), dtype=np.float32)
    counts = np.empty((TILE, n_people), dtype=np.int8)
    probabilities = np.empty((TILE, 2 * n_people), dtype=np.uint8)
    for first in range(0, len(positions), TILE):
        part = slice(first, min(first + TILE, len(positions)))
        size = part.stop - part.start
        terms = (founders.places[part], founder, stop, frequency[part], uncertain[part], rng)
        mosaic(alleles[part], *terms, counts[:size], probabilities[:size])
        genetic += effects[:, part].astype(np.float32) @ counts[:size].astype(np.float32)
        calls = probabilities[:size].reshape(size, n_people, 2)
        for name, of_part in people_parts(given).items():
            writer = writers[name]
            genotypes = counts[:size] if isinstance(writer, BedWriter) else calls
            writer.append(f"{number}", positions[part].tolist(), genotypes[:, of_part])
    return genetic


def people_parts(given: argparse.Namespace) -> dict[str, slice]:
    return {"cohort": slice(given.people), "others": slice(given.people, None)}


def person_ids(given: argparse.Namespace) -> list[str]:
    return [f"P{number:07d}" for number in range(1, given.people + given.others + 1)]


def write_panel(given: argparse.Namespace, number: int, founders: Founders) -> None:
    """Write the panel as a VCF; of a genome as .bed, with other pairs of haplotypes in each segment."""
    path = given.folder / "panel" / f"chr{number}.vcf.gz"
    people = [f"R{person:04d}" for person in range(1, given.panel + 1)]
    if given.genome:
        writer = BedWriter(path.with_name(f"chr{number}.bed"), people)
        rng = generator(given.seed, "biobank panel", number)
        for positions in segment_positions(given, number, founders):
            alleles = founders.of_panel[:, rng.permutation(2 * given.panel)]
            writer.append(f"{number}", positions.tolist(), alleles[:, ::2] + alleles[:, 1::2])
        writer.close()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *people]
    calls = np.array(["0|0", "0|1", "1|0", "1|1"])
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write(f"##fileformat=VCFv4.2\n##contig=<ID={number}>\n")
        file.write('##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n')
        file.write("\t".join(columns) + "\n")
        for position, row in zip(founders.positions.tolist(), founders.of_panel, strict=True):
            site = f"{number}\t{position}\t{number}:{position}\tA\tC\t.\tPASS\t.\tGT\t"
            file.write(site + "\t".join(calls[2 * row[::2] + row[1::2]]) + "\n")


def write_people(given: argparse.Namespace, genetic: np.ndarray) -> None:
    """Write tables of phenotypes and covariates of the cohort, and the true genetic values of the others."""
    rng = generator(given.seed, "biobank people")
    names = [f"y{number}" for number in range(1, len(SHARES) + 1)]
    ids = pd.Index(person_ids(given), name="sample")
    genetic = genetic - genetic.mean(axis=1, keepdims=True)
    genetic *= np.sqrt(HERITABILITY) / genetic.std(axis=1, keepdims=True)
    age, sex = rng.normal(57, 8, len(ids)).round(1), rng.integers(0, 2, len(ids))
    centre = rng.integers(0, 3, len(ids))
    covariates = pd.DataFrame(
        {"age": age, "sex": sex, "centre2": centre == 1, "centre3": centre == 2}, ids
    ).astype({"centre2": int, "centre3": int})
    of_covariates = (covariates.to_numpy() - [57, 0.5, 0, 0]) / [8, 1, 1, 1] @ np.array(COVARIATE_EFFECTS)
    values = genetic + of_covariates
    values += np.sqrt(1 - HERITABILITY) * rng.standard_normal(values.shape)
    values[rng.random(values.shape) < MISSING] = np.nan
    outcomes = pd.DataFrame(values.T, ids, names)
    of_cohort = slice(given.people)
    options = {"sep": "\t", "na_rep": "NA", "float_format": "%.4f"}
    outcomes[of_cohort].to_csv(given.folder / "outcomes.tsv", **options)
    covariates[of_cohort].to_csv(given.folder / "covariates.tsv", **options)
    truth = pd.DataFrame(genetic.T, ids, names)[given.people :]
    truth.join(covariates).to_csv(given.folder / "others.tsv", **options)
    (given.folder / "covariate_scales.tsv").write_text(
        "covariate\tcentre\tscale\tprevalence\nage\t57\t8\tNA\nsex\tNA\tNA\t0.5\n"
        "centre2\tNA\tNA\t0.33\ncentre3\tNA\tNA\t0.33\n"
    )


def main(arguments: list[str] | None = None) -> int:
    """Write all files; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    for name, size in (("people", 100_000), ("others", 2000), ("founders", FOUNDERS), ("panel", PANEL)):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--chromosomes", type=int, help="10, or 22 of a genome")
    parser.add_argument("--length", type=int, default=LENGTH, help="of a chromosome, in base pairs")
    parser.add_argument(
        "--genome", action="store_true", help="chromosomes 1 to 22 of segments of this length"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    genetic = 0
    for number in range(1, (given.chromosomes or (22 if given.genome else 10)) + 1):
        genetic = genetic + write_chromosome(given, number)
        print(f"chromosome {number}", file=sys.stderr)
    write_people(given, genetic)
    return 0


if __name__ == "__main__":
    sys.exit(main())
