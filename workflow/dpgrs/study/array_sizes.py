"""Bytes of a study's arrays and operations on them, by its `Shape` (docs/measurements/scale.md)."""

import math
from typing import TYPE_CHECKING

from dpgrs.evaluation.attacks import MOST_PEOPLE
from dpgrs.genotypes.bits import word_count
from dpgrs.io.haplotype_store import CHUNK_PEOPLE, rows_per_batch
from dpgrs.io.outcomes import CHUNK
from dpgrs.io.people_slabs import SLAB_BYTES
from dpgrs.io.stored_genotypes import BLOCK_BYTES
from dpgrs.io.variant_set_parts import people_at_a_time
from dpgrs.linalg.genome_sums import TILE_PEOPLE
from dpgrs.linalg.principal_components import MOST_SQUARED, PROJECTED_ENTRIES, WIDE_BLOCK
from dpgrs.linalg.statistics import LEAST_OUTCOMES, PART_ENTRIES, VARIANT_BLOCK
from dpgrs.methods.genome_sums import MOST_ENTRIES
from dpgrs.study.exact_statistics import people_of_part
from dpgrs.study.score_measures import MOST_SCORES
from dpgrs.study.simulated_rows import CODED_ENTRIES, READ_ENTRIES, people_together

if TYPE_CHECKING:
    from dpgrs.study.shape import Shape

MB = 10**6
# Variants of an LD block, at most, and its length (`dpgrs.genotypes.ld_blocks`, which brings numba).
MOST_VARIANTS, BLOCK_MEGABASES = 1500, 2.0
# Variants a megabase of HapMap3, taken as the least density of chromosomes that are there in part.
LEAST_DENSITY = 345
# Factor for sums of squared block sizes: blocks are of unequal sizes.
SPREAD_OF_BLOCKS = 1.25
FEWEST_DIRECTIONS, MOST_DIRECTIONS = 20, 200
# Variants a megabase that are hardly in LD (`pruned_variants`): twice those of people of European ancestry.
PRUNED_DENSITY = 100
# Axes of ancestry that are compared at most (`dpgrs.linalg.ld_estimation`, which brings scipy).
MOST_AXES = 32
# Bytes of the blocks whose effects are drawn together (`dpgrs.methods.genome_mixture`, which brings numba).
GROUP_BYTES = 2**30
FLOAT = 8
# Zarr holds ten chunks at a time, and their unpacked values.
CHUNKS_AT_A_TIME = 16


def genotypes(s: "Shape") -> float:
    """Bytes of the variant set's genotypes: bits, and int16 besides for dosages or a table's columns."""
    return s.n_variants * s.n_people * (2.25 if s.has_dosages else 0.25)


def rows(s: "Shape") -> int:
    """Bytes of X as float64."""
    return s.n_rows * s.n_columns * FLOAT


def rows_of_methods(s: "Shape") -> float:
    """Bytes of X as numbers: of all rows if a method or a selector takes all, else of a block or a group."""
    if s.fits_all_rows:
        return rows(s)
    block = s.n_rows * FLOAT * min(s.n_columns, VARIANT_BLOCK)
    # Two-stage's groups have about sqrt(n) rows, SubLasso's fewer; a noisy count makes them larger.
    n_together = min(4 * math.sqrt(s.n_rows) + 100, s.n_rows)
    return max(block, n_together * s.n_columns * FLOAT * s.fits_groups)


def looked_at(s: "Shape", *, is_streamed: bool) -> float:
    """Bytes of genotypes in memory: of all variants, or of some as read and as compared."""
    return min(genotypes(s), 3 * BLOCK_BYTES) if is_streamed else genotypes(s)


def of_rows(s: "Shape", selection: str = "private") -> float:
    """Bytes of the arrays made from rows for choices and fits, beside Y: half as much again are ranks."""
    n_bytes = (
        3 * rows_of_methods(s) + looked_at(s, is_streamed=s.streams_genotypes(selection)) + outcomes(s) / 2
    )
    return n_bytes + 2 * chunks_of_outcomes(s) + 5 * part_of_scores(s)


def ingested(s: "Shape") -> float:
    """Bytes of the batches of genotypes that are in memory while files are read and a store is written.

    One batch of two planes, and perhaps of dosages, is written and the next is made; two chunks are packed.
    """
    n_rows = rows_per_batch(s.n_file_people, has_dosages=s.has_dosages)
    of_variant = 2 * FLOAT * word_count(2 * s.n_file_people) + 2 * s.n_file_people * s.has_dosages
    return 2 * n_rows * of_variant + 30 * MB


# Seconds of a core for 10^9 genotypes in files of a source, some times the measured seconds.
INGEST_SECONDS = {"plink": 15, "bgen": 60}


def ingesting(s: "Shape") -> float:
    """Operations of reading the files of a chromosome: of text, a hundred for a genotype."""
    n_genotypes = s.n_stored_variants / s.n_chromosomes * s.n_file_people
    return INGEST_SECONDS.get(s.source, 100) * n_genotypes


def picked(s: "Shape") -> float:
    """Bytes of the variants that a study takes from the stores: all, or some at a time."""
    of_variant = s.n_people * (2.25 if s.has_dosages else 0.25)
    batch = rows_per_batch(s.n_people, has_dosages=s.has_dosages) * of_variant
    return min(4 * genotypes(s), 100 * MB + 10 * batch) if s.streams_variants else 4 * genotypes(s)


def chosen(s: "Shape") -> float:
    """Bytes of the genotypes from which chosen variants are taken: all, or a few if variants are many."""
    return looked_at(s, is_streamed=not s.has_dosages)


def outcomes(s: "Shape") -> int:
    """Bytes of Y of one number of variants as float64."""
    return s.n_rows * s.n_outcomes * FLOAT


def all_outcomes(s: "Shape") -> int:
    """Bytes of Y of all numbers of variants, each with its own."""
    return len(s.sizes) * outcomes(s)


def table(s: "Shape") -> int:
    """Bytes of outcomes from a table: a file without a name, whose pages are in memory, and parts."""
    return s.n_people * min(s.n_table_outcomes, s.n_outcomes) * FLOAT


def chunks_of_outcomes(s: "Shape") -> int:
    """Bytes of the chunks on disk that are written or read at a time."""
    return min(outcomes(s), CHUNKS_AT_A_TIME * math.prod(CHUNK) * FLOAT)


def part_of_simulated(s: "Shape") -> float:
    """Bytes of the rows of X, for some variants, and of Y that are simulated at a time."""
    n_values = len(s.sizes) * s.n_series * s.rows_a_person
    n_people = min(s.n_people, people_together(n_values))
    n_entries = n_people * s.rows_a_person * s.n_columns
    coded, read = (min(n_entries, most) for most in (CODED_ENTRIES, READ_ENTRIES))
    return (coded + n_people * n_values) * FLOAT + read / 2


def rows_of_part(s: "Shape") -> int:
    """The rows that are summed at a time."""
    return min(s.n_people, people_of_part(s.n_outcomes)) * s.rows_a_person


def part_of_sums(s: "Shape") -> float:
    """Bytes of the rows of Y that are summed at a time, and of genotypes of a block."""
    return rows_of_part(s) * (len(s.sizes) * s.n_outcomes * FLOAT + s.n_columns / 4)


def part_of_scores(s: "Shape") -> int:
    """Bytes of outcomes that are compared with all variants at a time, by ranks or on their grid."""
    n_outcomes = min(s.n_outcomes, max(PART_ENTRIES // (2 * s.n_people), LEAST_OUTCOMES))
    return n_outcomes * 2 * s.n_people * FLOAT


def square(s: "Shape") -> int:
    """Bytes of X'X of the largest variant set; 0 in a study without sums."""
    return (s.n_columns + 1) ** 2 * FLOAT * s.takes_sums


def of_components(s: "Shape") -> float:
    """Bytes that principal components of public people take: rows and their products."""
    d = s.n_variants
    if d > MOST_SQUARED:
        return s.n_rows * FLOAT * (3 * WIDE_BLOCK + 3 * s.n_covariates) + 4 * s.n_rows**2 * FLOAT
    return genotypes(s) + 2.5 * rows(s) + 4 * d**2 * FLOAT


def finding_components(s: "Shape") -> float:
    """Operations for principal components of public people: products of matrices, and a decomposition."""
    least, most = sorted((s.n_variants, s.n_rows))
    side = least if s.n_variants > MOST_SQUARED else s.n_variants
    return (2 * side * least * most + 20 * side**3) / PRODUCTS_AT_ONCE


def products(s: "Shape") -> int:
    """Bytes of X'X and X'Y, or as many weights, of one request, summed over all sizes and counts."""
    d, covariates = s.sizes, s.n_covariates + 1
    squares = s.takes_sums * len(s.counts) * sum((size + covariates) ** 2 for size in d)
    return (squares + sum(s.counts) * sum(size + covariates for size in d)) * FLOAT


def block_variants(s: "Shape") -> float:
    """The variants of an LD block of the public map of a genome."""
    of_length = BLOCK_MEGABASES * max(s.n_variants / s.megabases, LEAST_DENSITY)
    return min(s.n_variants, MOST_VARIANTS, SPREAD_OF_BLOCKS * of_length)


def block_directions(s: "Shape") -> float:
    """The directions of an LD block that have a share.

    For one phenotype at epsilon 10 a genome has 10, 56 and 140 in the mean by the people planned for: 5,000,
    100,000 and 500,000.
    """
    by_people = max(math.sqrt(s.n_rows) / 3, FEWEST_DIRECTIONS)
    return min(s.n_variants, by_people, MOST_DIRECTIONS)


def mapped(s: "Shape") -> float:
    """Bytes of T of all blocks of the public map of a genome; 0 without one."""
    return s.takes_map * s.n_variants * block_directions(s) * FLOAT


def norms(s: "Shape") -> float:
    """Bytes for the norms of people's rows on a chromosome: a slab of genotypes, and T as they take it."""
    of_slab = min(1, CHUNK_PEOPLE / max(s.n_people, 1))
    slab = 1.5 * min(genotypes(s) * of_chromosome(s) * of_slab, SLAB_BYTES)
    return slab + mapped(s) * of_chromosome(s) * (1 if s.has_dosages else 0.5)


def panel_dosages(s: "Shape") -> float:
    """Bytes of the dosages of a panel's largest chromosome, and of the alleles that they are sums of."""
    return s.n_rows * s.n_variants * of_chromosome(s) * (6 if s.has_dosages else 3.25)


def panel_axes(s: "Shape") -> float:
    """Bytes for axes of ancestry: dosages of pruned variants, products of people, and the axes."""
    n_pruned = min(s.n_variants, PRUNED_DENSITY * s.megabases)
    of_people = n_pruned * (4 if s.has_dosages else 1) + 5 * s.n_rows * FLOAT
    return s.takes_map * (s.n_rows * of_people + 3 * MOST_AXES * n_pruned * FLOAT)


def mapped_block(s: "Shape") -> int:
    """Bytes of one matrix of the largest block of such a map."""
    return s.takes_map * min(s.n_variants, MOST_VARIANTS) ** 2 * FLOAT


def mhc_block(s: "Shape") -> float:
    """Bytes of one matrix of the MHC, which is one block whatever its size: a 200th of the variants."""
    return s.takes_map * (s.n_variants / 200) ** 2 * FLOAT


def moments(s: "Shape") -> float:
    """Bytes of the second moments of all blocks, if all variants had a direction; 0 without them."""
    return s.has_moments * min(mapped(s) / 2, MOST_ENTRIES * FLOAT)


def moment_sums(s: "Shape") -> float:
    """Bytes of the second moments of a chromosome while they are summed, and of T."""
    return 2 * s.has_moments * mapped(s) * of_chromosome(s)


def moment_rows(s: "Shape") -> float:
    """Bytes of the rows of a tile of people, as entries, shrunk and weighted."""
    return 3 * s.has_moments * TILE_PEOPLE * FLOAT * s.n_variants * of_chromosome(s)


def fitted_map(s: "Shape") -> float:
    """Bytes that a fit along such a map holds: matrices of a block and of a group, and thinned copies."""
    of_group = min(mapped(s) / 2, GROUP_BYTES)
    return s.takes_map * (of_group + 20 * mapped_block(s) + 200 * s.n_outcomes * s.n_variants)


def fitting_map(s: "Shape") -> float:
    """Operations of a fit along such a map: sweeps over all variants, for each phenotype and its copies."""
    return s.takes_map * s.n_outcomes * s.n_variants * (300_000 + 5_500 * block_directions(s))


def projected(s: "Shape") -> float:
    """Bytes of genotypes that are projected on principal components at a time, as read and as numbers."""
    entries_at_a_time = min(
        s.n_people * min(s.n_variants, VARIANT_BLOCK), max(PROJECTED_ENTRIES // 2, s.n_people)
    )
    return 3 * FLOAT * s.rows_a_person * entries_at_a_time


def of_chromosome(s: "Shape") -> float:
    """The share of a genome that its largest chromosome has, at most."""
    return min(1, 2 / s.n_chromosomes)


# Multiply-adds of a matrix product in the time of one other operation: half of what norms of rows reached
# (docs/measurements/scale.md#sums-of-a-genome).
PRODUCTS_AT_ONCE = 20


def mapping(s: "Shape", n_rows: float) -> float:
    """Operations of so many rows along the public map of a genome, by products of matrices."""
    return n_rows * mapped(s) / FLOAT / PRODUCTS_AT_ONCE


def decomposing(s: "Shape") -> float:
    """Operations of the decompositions of all LD blocks that a map is made of."""
    return s.takes_map * 50 * s.n_variants * block_variants(s) ** 2 / PRODUCTS_AT_ONCE


def passing(s: "Shape") -> float:
    """Operations of reading people's genotypes at all variants of a genome, and of summing them."""
    return s.takes_map * s.n_rows * s.n_variants * (40 if s.has_dosages else 12)


def requests_of_size(s: "Shape") -> float:
    """The requests of one number of variants and number of outcomes."""
    return s.n_requests / (len(s.sizes) * len(s.counts))


def weights(s: "Shape") -> float:
    """Bytes of the weights of all fits."""
    per_request = sum(s.counts) * sum(size + s.n_covariates + 1 for size in s.sizes) * FLOAT
    return s.n_methods * requests_of_size(s) * per_request


def metrics(s: "Shape") -> float:
    """Bytes of the table of metrics of a replicate: about 400 a line, mostly text."""
    return 400 * s.n_methods * requests_of_size(s) * len(s.sizes) * sum(s.counts)


def fits(s: "Shape") -> float:
    """The fits of the largest design, whose measures have intervals."""
    return s.n_methods * requests_of_size(s)


def measures(s: "Shape") -> float:
    """Bytes of the table of measures of a replicate, as if all outcomes were 0/1, with 18 lines each."""
    return 18 * 250 * fits(s) * max(s.counts)


def scored(s: "Shape") -> float:
    """Bytes of the outcomes and scores of held-out people in memory at a time, and of weights."""
    n, most = s.n_rows * s.test_share, fits(s) * max(s.counts)
    return FLOAT * (2 * min(max(MOST_SCORES, n), n * most) + min(MOST_SCORES, most * s.n_columns))


def variant_table(s: "Shape") -> float:
    """Bytes of a table of all variants of the stores, with names of alleles and ids as text."""
    return 600 * s.n_stored_variants


def set_table(s: "Shape") -> float:
    """Bytes of the table of the variants that a study uses, without names of alleles."""
    return 400 * s.n_variants


def file_table(s: "Shape") -> float:
    """Bytes of such a table of all variants of the genotype files."""
    return 600 * s.n_file_variants


def written_sites(s: "Shape") -> float:
    """Bytes of the sites of scores as their files are written and read, and of the text of a part."""
    return 600 * s.n_variants


def entries(s: "Shape") -> int:
    """The entries of X'X and X'Y, which are drawn."""
    return s.n_columns * (s.takes_sums * s.n_columns + s.n_outcomes)


def solving(s: "Shape") -> int:
    """Operations of one decomposition of X'X and of solving for all outcomes by it."""
    return s.takes_sums * s.n_columns**2 * (2 * s.n_columns + s.n_outcomes)


def summing(s: "Shape") -> int:
    """Operations of X'X and X'Y."""
    return s.n_rows * s.n_columns * (s.takes_sums * s.n_columns + s.n_outcomes)


def choosing(s: "Shape", selection: str = "private") -> float:
    """Operations of choices, and of fits on rows.

    Ten choices by comparisons of bits took 2.1 ns for a call, and 0.08 ns for a call and an outcome: a third.
    """
    n_calls = s.n_rows * s.n_columns
    if s.streams_genotypes(selection):
        return n_calls * (6 + s.n_outcomes / 4) * max(1, s.n_choices / 10)
    return summing(s) + 100 * n_calls * s.n_outcomes


def reading(s: "Shape") -> float:
    """Operations of reading all variants of the stores, whose names are hashed: 27 us and 4 ns a genotype."""
    return s.n_stored_variants * (80_000 + 12 * s.n_people)


def copying(s: "Shape") -> float:
    """Operations of reading the stores and of writing the study's variants: dosages are packed again."""
    return reading(s) + 30 * s.n_variants * s.n_people * s.has_dosages


def attacking(s: "Shape") -> float:
    """Bytes of the attacked rows, and of their inner products with a reference."""
    n = min(s.n_rows, 2 * MOST_PEOPLE * s.rows_a_person)
    return n * (3 * s.n_columns + 4 * s.n_outcomes + n) * FLOAT


def held_out(s: "Shape") -> float:
    """Bytes of the rows predicted at a time, as read and as numbers, and of the bits of more people."""
    n_people = min(s.n_people, people_at_a_time(max(s.n_variants, s.n_outcomes)))
    read = 3 * s.n_variants + len(s.sizes) * s.n_outcomes * FLOAT
    numbers = s.test_share * FLOAT * (sum(s.sizes) + s.n_covariates + 4 * s.n_outcomes)
    return n_people * s.rows_a_person * (read + numbers) + min(genotypes(s), BLOCK_BYTES)
