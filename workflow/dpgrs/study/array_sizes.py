"""Bytes of a study's arrays and operations on them, by its `Shape` (docs/measurements/scale.md)."""

import math

from dpgrs.evaluation.attacks import MOST_PEOPLE
from dpgrs.io.haplotype_store import rows_per_batch
from dpgrs.io.outcomes import CHUNK
from dpgrs.io.stored_genotypes import BLOCK_BYTES
from dpgrs.io.variant_set_parts import people_at_a_time
from dpgrs.linalg.statistics import LEAST_OUTCOMES, PART_ENTRIES, VARIANT_BLOCK
from dpgrs.study.exact_statistics import people_of_part
from dpgrs.study.score_measures import MOST_SCORES
from dpgrs.study.simulated_rows import CODED_ENTRIES, READ_ENTRIES, people_together

MB = 10**6
FLOAT = 8
# Of Zarr: ten, and what is unpacked of them.
CHUNKS_AT_A_TIME = 16


def genotypes(s):
    """Bytes of the variant set's genotypes: bits, and of dosages or a table's columns int16 besides."""
    return s.n_variants * s.n_people * (2.25 if s.has_dosages else 0.25)


def rows(s):
    """Bytes of X as float64."""
    return s.n_rows * s.n_columns * FLOAT


def rows_of_methods(s):
    """Bytes of X as numbers: all where a method or a selector takes it, else of a block or a group."""
    if s.fits_all_rows:
        return rows(s)
    block = s.n_rows * FLOAT * min(s.n_columns, VARIANT_BLOCK)
    # Two-stage's groups have about sqrt(n) rows, SubLasso's fewer; a noisy count makes them larger.
    n_together = min(4 * math.sqrt(s.n_rows) + 100, s.n_rows)
    return max(block, n_together * s.n_columns * FLOAT * s.fits_groups)


def looked_at(s, *, is_streamed):
    """Bytes of genotypes in memory: those of all or some variants, as read and as compared."""
    return min(genotypes(s), 3 * BLOCK_BYTES) if is_streamed else genotypes(s)


def of_rows(s, way="private"):
    """Bytes of what is made of the rows for choices and fits, beside Y: half as much again are ranks."""
    own = 3 * rows_of_methods(s) + looked_at(s, is_streamed=s.streams_genotypes(way)) + outcomes(s) / 2
    return own + 2 * chunks_of_outcomes(s) + 5 * part_of_scores(s)


def picked(s):
    """Bytes of the variants of the stores that a study takes: all, or some at a time."""
    of_variant = s.n_people * (2.25 if s.has_dosages else 0.25)
    batch = rows_per_batch(s.n_people, has_dosages=s.has_dosages) * of_variant
    return min(4 * genotypes(s), 100 * MB + 10 * batch) if s.streams_variants else 4 * genotypes(s)


def chosen(s):
    """Bytes of genotypes of which chosen variants are taken: of all, or of few where variants are many."""
    return looked_at(s, is_streamed=not s.has_dosages)


def outcomes(s):
    """Bytes of Y of one number of variants as float64."""
    return s.n_rows * s.n_outcomes * FLOAT


def all_outcomes(s):
    """Bytes of Y of all numbers of variants, each with its own."""
    return len(s.sizes) * outcomes(s)


def table(s):
    """Bytes of outcomes from a table: a file without a name, of which pages are in memory, and parts."""
    return s.n_people * min(s.n_table_outcomes, s.n_outcomes) * FLOAT


def chunks_of_outcomes(s):
    """Bytes of the chunks on disk that are written or read at a time."""
    return min(outcomes(s), CHUNKS_AT_A_TIME * math.prod(CHUNK) * FLOAT)


def part_of_simulated(s):
    """Bytes of the rows of X, some variants of it, and Y that are simulated at a time."""
    n_values = len(s.sizes) * s.n_series * s.rows_a_person
    n_people = min(s.n_people, people_together(n_values))
    n_entries = n_people * s.rows_a_person * s.n_columns
    coded, read = (min(n_entries, most) for most in (CODED_ENTRIES, READ_ENTRIES))
    return (coded + n_people * n_values) * FLOAT + read / 2


def rows_of_part(s):
    """The rows that are summed at a time."""
    return min(s.n_people, people_of_part(s.n_outcomes)) * s.rows_a_person


def part_of_sums(s):
    """Bytes of the rows of Y that are summed at a time, and of genotypes of a block."""
    return rows_of_part(s) * (len(s.sizes) * s.n_outcomes * FLOAT + s.n_columns / 4)


def part_of_scores(s):
    """Bytes of outcomes that are compared with all variants at a time, by ranks or on their grid."""
    n_outcomes = min(s.n_outcomes, max(PART_ENTRIES // (2 * s.n_people), LEAST_OUTCOMES))
    return n_outcomes * 2 * s.n_people * FLOAT


def square(s):
    """Bytes of X'X of the largest variant set; none in a study that sums none."""
    return (s.n_columns + 1) ** 2 * FLOAT * s.takes_sums


def products(s):
    """Bytes of X'X and X'Y, or as many weights, of one request, summed over all sizes and counts."""
    d, covariates = s.sizes, s.n_covariates + 1
    squares = s.takes_sums * len(s.counts) * sum((size + covariates) ** 2 for size in d)
    return (squares + sum(s.counts) * sum(size + covariates for size in d)) * FLOAT


def requests_of_size(s):
    """The requests of one number of variants and number of outcomes."""
    return s.n_requests / (len(s.sizes) * len(s.counts))


def weights(s):
    """Bytes of the weights of all fits."""
    per_request = sum(s.counts) * sum(size + s.n_covariates + 1 for size in s.sizes) * FLOAT
    return s.n_methods * requests_of_size(s) * per_request


def metrics(s):
    """Bytes of the table of metrics of a replicate: some 400 a line, of text most."""
    return 400 * s.n_methods * requests_of_size(s) * len(s.sizes) * sum(s.counts)


def fits(s):
    """The fits of the largest design, whose measures have intervals."""
    return s.n_methods * requests_of_size(s)


def measures(s):
    """Bytes of the table of measures of a replicate, as if all outcomes were 0/1, with 18 lines each."""
    return 18 * 250 * fits(s) * max(s.counts)


def scored(s):
    """Bytes of outcomes and scores of those held out that are in memory at a time, and of weights."""
    n, most = s.n_rows * s.test_share, fits(s) * max(s.counts)
    return FLOAT * (2 * min(max(MOST_SCORES, n), n * most) + min(MOST_SCORES, most * s.n_columns))


def variant_table(s):
    """Bytes of a table of all variants of the genotype files, with names of alleles and ids as text."""
    return 600 * s.n_file_variants


def entries(s):
    """The entries of X'X and X'Y, which are drawn."""
    return s.n_columns * (s.takes_sums * s.n_columns + s.n_outcomes)


def solving(s):
    """Operations of one decomposition of X'X and of solving for all outcomes by it."""
    return s.takes_sums * s.n_columns**2 * (2 * s.n_columns + s.n_outcomes)


def summing(s):
    """Operations of X'X and X'Y."""
    return s.n_rows * s.n_columns * (s.takes_sums * s.n_columns + s.n_outcomes)


def choosing(s, way="private"):
    """Operations of choices, and of fits on rows.

    Ten choices by comparisons of bits took 2.1 ns for a call, and 0.08 ns for a call and an outcome: a tenth.
    """
    n_calls = s.n_rows * s.n_columns
    if s.streams_genotypes(way):
        return n_calls * (20 + s.n_outcomes) * max(1, s.n_choices / 10)
    return summing(s) + 100 * n_calls * s.n_outcomes


def reading(s):
    """Operations of a look at all variants of the stores, whose names are hashed."""
    return s.n_file_variants * (50_000 + 2 * s.n_people)


def attacking(s):
    """Bytes of the rows that are attacked, and of their inner products with a reference."""
    n = min(s.n_rows, 2 * MOST_PEOPLE * s.rows_a_person)
    return n * (3 * s.n_columns + 4 * s.n_outcomes + n) * FLOAT


def held_out(s):
    """Bytes of the rows that are predicted at a time, as read and as numbers, and of bits of more people."""
    n_people = min(s.n_people, people_at_a_time(max(s.n_variants, s.n_outcomes)))
    read = 3 * s.n_variants + len(s.sizes) * s.n_outcomes * FLOAT
    numbers = s.test_share * FLOAT * (sum(s.sizes) + s.n_covariates + 4 * s.n_outcomes)
    return n_people * s.rows_a_person * (read + numbers) + min(genotypes(s), BLOCK_BYTES)
