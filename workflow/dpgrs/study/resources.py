"""What each verb asks for: memory and run time as functions of a study's size (docs/scale.md).

Memory is that of the arrays which a verb holds at its peak, counted in whole arrays of their number type, and
held against measured peaks by `tests/workflow/test_resources.py`. In a study n, d and l are its rows, columns
of X and outcomes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpgrs.evaluation.attacks import MOST_PEOPLE
from dpgrs.io.haplotype_store import rows_per_batch
from dpgrs.io.outcomes import CHUNK
from dpgrs.io.panel_parts import people_at_a_time, simulated_at_a_time
from dpgrs.io.stored_genotypes import BLOCK_BYTES
from dpgrs.linalg.statistics import LEAST_OUTCOMES, PART_ENTRIES, VARIANT_BLOCK
from dpgrs.methods.mechanisms import mechanism_named
from dpgrs.study.exact_statistics import people_of_part
from dpgrs.study.shape import Shape

MB = 10**6
# What Python takes with all imports of a verb, and what a verb holds whatever the study.
PYTHON = 350 * MB
# What the two processes of Snakemake take that start each job of a cluster, and which count as the job's own.
SNAKEMAKE = 400 * MB
# Each attempt after the first asks for so much more of both.
GROWTH = 1.5
# Multiply-adds a second of one slow core, and the least run time.
RATE, LEAST_SECONDS = 10**9, 1200
FLOAT = 8
# Of Zarr: ten, and what is unpacked of them.
CHUNKS_AT_A_TIME = 16


def _nothing(shape):
    return 0


@dataclass(frozen=True)
class Need:
    """What a verb asks for.

    Attributes
    ----------
    memory : function of a Shape that returns the bytes that the verb holds beyond `PYTHON`.
    work : function of a Shape that returns operations, `RATE` a second.
    of_thread : function of a Shape that returns the bytes that each thread or process holds besides.
    of_rows, work_of_rows : the same as the first two, besides, for a mechanism that reads rows.
    """

    memory: Callable[[Shape], float] = _nothing
    work: Callable[[Shape], float] = _nothing
    of_thread: Callable[[Shape], float] = _nothing
    of_rows: Callable[[Shape], float] = _nothing
    work_of_rows: Callable[[Shape], float] = _nothing


def resources_of(verb, shape, *, is_on_cluster=lambda: False):
    """Return what the rule of a verb asks for, as Snakemake takes it.

    Parameters
    ----------
    verb : str, one of `NEEDS`.
    shape : Shape, of the people whom the rule is about.
    is_on_cluster : function without arguments that tells whether Snakemake starts the job on a cluster.

    Returns
    -------
    dict of ``mem_mb``, in megabytes, and ``runtime``, in minutes: functions as Snakemake calls them. Both are
    rounded up to three binary digits: others on a cluster see them, and learn from one of them how many
    people there are to a tenth or so (docs/threat-model.md).

    Raises
    ------
    KeyError
        If nothing is declared for the verb.
    """
    need = NEEDS[verb]

    def mem_mb(wildcards, threads, attempt):
        found = PYTHON + need.memory(shape) + threads * need.of_thread(shape)
        found += SNAKEMAKE if is_on_cluster() else 0
        found += need.of_rows(shape) if _reads_rows(wildcards) else 0
        return rounded_up(found / MB * GROWTH ** (attempt - 1))

    def runtime(wildcards, attempt):
        work = need.work(shape) + (need.work_of_rows(shape) if _reads_rows(wildcards) else 0)
        return rounded_up((LEAST_SECONDS + work / RATE) / 60 * GROWTH ** (attempt - 1))

    return {"mem_mb": mem_mb, "runtime": runtime}


def rounded_up(number):
    """Round up to a whole number of three binary digits, such as 320, 384, 448 and 512."""
    step = 2 ** max(math.floor(math.log2(number)) - 2, 0)
    return math.ceil(number / step) * step


def _reads_rows(wildcards):
    """Tell whether a job is that of a mechanism which takes the panel."""
    mechanism = getattr(wildcards, "mechanism", None)
    return mechanism is not None and "panel" in mechanism_named(mechanism).takes


def _genotypes(s):
    """Bytes of the panel's genotypes: bits, and of dosages or a table's columns int16 besides."""
    return s.n_variants * s.n_people * (2.25 if s.has_dosages else 0.25)


def _rows(s):
    """Bytes of X as float64."""
    return s.n_rows * s.n_columns * FLOAT


def _rows_of_methods(s):
    """Bytes of X as numbers: all where a method or a selector takes it, else of a block or a group."""
    if s.fits_all_rows:
        return _rows(s)
    block = s.n_rows * FLOAT * min(s.n_columns, VARIANT_BLOCK)
    # Two-stage's groups have about sqrt(n) rows, SubLasso's fewer; a noisy count makes them larger.
    n_together = min(4 * math.sqrt(s.n_rows) + 100, s.n_rows)
    return max(block, n_together * s.n_columns * FLOAT * s.fits_groups)


def _looked_at(s, *, is_streamed):
    """Bytes of genotypes in memory: those of the panel, or of some variants, as read and as compared."""
    return min(_genotypes(s), 3 * BLOCK_BYTES) if is_streamed else _genotypes(s)


def _of_rows(s, way="private"):
    """Bytes of what is made of the rows for choices and fits, beside Y: half as much again are ranks."""
    own = 3 * _rows_of_methods(s) + _looked_at(s, is_streamed=s.streams_genotypes(way)) + _outcomes(s) / 2
    return own + 2 * _chunks_of_outcomes(s) + 5 * _part_of_scores(s)


def _picked(s):
    """Bytes of the variants of the stores that are taken into the panel: all, or some at a time."""
    of_variant = s.n_people * (2.25 if s.has_dosages else 0.25)
    batch = rows_per_batch(s.n_people, has_dosages=s.has_dosages) * of_variant
    return min(4 * _genotypes(s), 100 * MB + 10 * batch) if s.streams_panel else 4 * _genotypes(s)


def _chosen(s):
    """Bytes of genotypes of which those of chosen variants are taken: of all, or of large panels of few."""
    return _looked_at(s, is_streamed=not s.has_dosages)


def _outcomes(s):
    """Bytes of Y of one panel size as float64."""
    return s.n_rows * s.n_outcomes * FLOAT


def _all_outcomes(s):
    """Bytes of Y of all panel sizes, each with its own."""
    return len(s.sizes) * _outcomes(s)


def _table(s):
    """Bytes of outcomes from a table: a file without a name, of which pages are in memory, and parts."""
    return s.n_people * min(s.n_table_outcomes, s.n_outcomes) * FLOAT


def _chunks_of_outcomes(s):
    """Bytes of the chunks on disk that are written or read at a time."""
    return min(_outcomes(s), CHUNKS_AT_A_TIME * math.prod(CHUNK) * FLOAT)


def _part_of_simulated(s):
    """Bytes of the rows of X and Y that are simulated at a time."""
    n_rows = min(s.n_people, simulated_at_a_time(s.n_variants)) * s.rows_a_person
    return n_rows * (s.n_columns + len(s.sizes) * s.n_outcomes) * FLOAT


def _rows_of_part(s):
    """The rows that are summed at a time."""
    return min(s.n_people, people_of_part(s.n_outcomes)) * s.rows_a_person


def _part_of_sums(s):
    """Bytes of the rows of Y that are summed at a time, and of genotypes of a block."""
    return _rows_of_part(s) * (len(s.sizes) * s.n_outcomes * FLOAT + s.n_columns / 4)


def _part_of_scores(s):
    """Bytes of outcomes that are compared with all variants at a time, by ranks or on their grid."""
    n_outcomes = min(s.n_outcomes, max(PART_ENTRIES // (2 * s.n_people), LEAST_OUTCOMES))
    return n_outcomes * 2 * s.n_people * FLOAT


def _square(s):
    """Bytes of X'X of the largest panel; none in a study that sums none."""
    return (s.n_columns + 1) ** 2 * FLOAT * s.takes_sums


def _products(s):
    """Bytes of X'X and X'Y, or as many weights, of one request, summed over all panel sizes and counts."""
    d, covariates = s.sizes, s.n_covariates + 1
    squares = s.takes_sums * len(s.counts) * sum((size + covariates) ** 2 for size in d)
    return (squares + sum(s.counts) * sum(size + covariates for size in d)) * FLOAT


def _requests_of_panel(s):
    """The requests of one panel size and number of outcomes."""
    return s.n_requests / (len(s.sizes) * len(s.counts))


def _weights(s):
    """Bytes of the weights of all fits."""
    per_request = sum(s.counts) * sum(size + s.n_covariates + 1 for size in s.sizes) * FLOAT
    return s.n_methods * _requests_of_panel(s) * per_request


def _metrics(s):
    """Bytes of the table of metrics of a trial: some 400 a line, of text most."""
    return 400 * s.n_methods * _requests_of_panel(s) * len(s.sizes) * sum(s.counts)


def _variant_table(s):
    """Bytes of a table of all variants of the genotype files, with names of alleles and ids as text."""
    return 600 * s.n_file_variants


def _entries(s):
    """The entries of X'X and X'Y, which are drawn."""
    return s.n_columns * (s.takes_sums * s.n_columns + s.n_outcomes)


def _solving(s):
    """Operations of one decomposition of X'X and of solving for all outcomes by it."""
    return s.takes_sums * s.n_columns**2 * (2 * s.n_columns + s.n_outcomes)


def _summing(s):
    """Operations of X'X and X'Y."""
    return s.n_rows * s.n_columns * (s.takes_sums * s.n_columns + s.n_outcomes)


def _reading(s):
    """Operations of a look at all variants of the stores, whose names are hashed."""
    return s.n_file_variants * (50_000 + 2 * s.n_people)


def _attacking(s):
    """Bytes of the rows that are attacked, and of their inner products with a reference."""
    n = min(s.n_rows, 2 * MOST_PEOPLE * s.rows_a_person)
    return n * (3 * s.n_columns + 4 * s.n_outcomes + n) * FLOAT


def _held_out(s):
    """Bytes of the rows that are predicted at a time: as they are read, and those held out as numbers."""
    n_people = min(s.n_people, people_at_a_time(max(s.n_variants, s.n_outcomes)))
    read = 3 * s.n_variants + len(s.sizes) * s.n_outcomes * FLOAT
    numbers = s.test_share * FLOAT * (sum(s.sizes) + s.n_covariates + 4 * s.n_outcomes)
    return n_people * s.rows_a_person * (read + numbers)


NEEDS = {
    # Genotypes
    "simulate-cohort": Need(
        lambda s: 30 * MB + 10_000 * (s.n_file_people + s.n_reference_people),
        lambda s: 200 * s.n_file_variants / s.n_chromosomes * (s.n_file_people + s.n_reference_people),
    ),
    "choose-people": Need(lambda s: 1000 * s.n_file_people),
    "ingest-chromosome": Need(
        lambda s: 100 * MB + 200 * s.n_file_people + _variant_table(s) / s.n_chromosomes,
        lambda s: 100 * s.n_file_variants / s.n_chromosomes * s.n_file_people,
        of_thread=lambda s: 40 * MB + 20 * s.n_file_people,
    ),
    "resample-chromosome": Need(
        lambda s: 100 * MB + 800 * (s.n_people + s.n_chosen_people) + _variant_table(s) / s.n_chromosomes,
        lambda s: 20 * s.n_file_variants / s.n_chromosomes * s.n_people,
        of_thread=lambda s: 30 * MB,
    ),
    "make-panel": Need(lambda s: _picked(s) + _variant_table(s), _reading),
    "make-table-panel": Need(
        lambda s: 40 * s.n_people * (s.n_variants + s.n_outcomes),
        lambda s: 1000 * s.n_people * (s.n_variants + s.n_outcomes),
    ),
    "summarise-genotypes": Need(
        lambda s: 10 * MB + 10**5 * min(s.n_people, 2000) + _variant_table(s), lambda s: 2 * _reading(s)
    ),
    "choose-sites": Need(_variant_table, _reading),
    "match-effects": Need(lambda s: 400 * MB, lambda s: 10_000 * s.n_file_variants),
    "measure-ld": Need(
        lambda s: _genotypes(s) + 3 * _rows(s) + 6 * _square(s),
        lambda s: len(s.sizes) * (_summing(s) + 20 * s.n_columns**3),
    ),
    # Outcomes and covariates
    "make-outcomes": Need(
        lambda s: (
            4 * _part_of_simulated(s)
            + 3 * s.n_columns * s.n_outcomes * FLOAT
            + 2 * _chunks_of_outcomes(s)
            + _table(s)
        ),
        lambda s: len(s.sizes) * s.n_rows * (10**5 + 2 * s.n_outcomes * (1000 + s.n_columns)),
    ),
    "make-loadings": Need(
        lambda s: _genotypes(s) + 2.5 * _rows(s) + 4 * _square(s),
        lambda s: _summing(s) + 20 * s.n_columns**3,
    ),
    "make-covariates": Need(
        lambda s: _genotypes(s) + s.n_rows * FLOAT * (2 * VARIANT_BLOCK + 10 * s.n_covariates),
        lambda s: s.n_rows * s.n_covariates * (1000 + s.n_variants),
    ),
    # Sums, noise and fits
    "compute-statistics": Need(
        lambda s: (
            6 * _part_of_sums(s)
            + 11 * VARIANT_BLOCK * _rows_of_part(s)
            + 6 * _products(s)
            + 2 * _chunks_of_outcomes(s)
        ),
        lambda s: len(s.sizes) * (1 + len(s.counts)) * _summing(s) / s.n_shards,
    ),
    "add-statistics": Need(lambda s: 4 * _products(s), lambda s: s.n_shards * _products(s)),
    "take-sums": Need(lambda s: 5 * _products(s), lambda s: 10 * _products(s)),
    "choose-exactly": Need(
        lambda s: _of_rows(s, "exact") + 3 * _products(s) + _all_outcomes(s),
        lambda s: 100 * len(s.sizes) * s.n_rows * s.n_columns * s.n_outcomes,
    ),
    "draw": Need(
        lambda s: _all_outcomes(s) + 2 * _products(s) + 6 * _square(s),
        lambda s: s.n_requests * (1000 * _entries(s) + 4 * _solving(s)),
        of_rows=_of_rows,
        work_of_rows=lambda s: s.n_requests * (_summing(s) + 100 * s.n_rows * s.n_columns * s.n_outcomes),
    ),
    "fit-weights": Need(
        lambda s: (
            3 * _products(s)
            + 6 * _square(s)
            + (100 * MB + _rows_of_methods(s) + _chosen(s) + _all_outcomes(s) if s.is_screened else 0)
        ),
        lambda s: 2 * s.n_methods * s.n_requests * _solving(s),
    ),
    # Measures and pages
    "evaluate-trial": Need(
        lambda s: 2 * _held_out(s) + _products(s) + _metrics(s),
        lambda s: s.n_methods * s.n_requests * s.n_rows * s.n_columns * s.n_outcomes,
    ),
    "collect-tables": Need(lambda s: 2 * s.n_trials * _metrics(s), lambda s: s.n_trials * _metrics(s)),
    "attack-trial": Need(
        lambda s: _all_outcomes(s) + _attacking(s) + 3 * _products(s) + 6 * _square(s),
        lambda s: (1 + s.n_methods) * s.n_requests * _attacking(s) * (s.n_columns + s.n_outcomes) / 30,
    ),
    "render-report": Need(
        lambda s: 2 * _all_outcomes(s) + 2 * _products(s) + _weights(s) + 3 * s.n_trials * _metrics(s),
        lambda s: s.n_outcomes * 10**9 + s.n_trials * _metrics(s),
        of_thread=lambda s: 110 * MB + s.n_trials * _metrics(s),
    ),
    "audit": Need(lambda s: 200 * MB, lambda s: 5 * 10**12),
    "measure-release": Need(
        lambda s: _genotypes(s) + 4 * _all_outcomes(s) + 1.5 * _rows(s) + 2 * _products(s),
        lambda s: 20 * s.n_rows * s.n_columns * s.n_outcomes,
    ),
    "write-release": Need(
        lambda s: 4 * _products(s), lambda s: s.n_variants * s.n_outcomes * 10**4 + 4 * _solving(s)
    ),
    "render-release-report": Need(
        lambda s: 4 * _products(s), lambda s: s.n_outcomes * 10**9, of_thread=lambda s: 110 * MB
    ),
    "write-settings": Need(),
    "write-provenance": Need(),
    # From their publisher, a block of a file at a time, for as long as that takes.
    "fetch-manifest": Need(),
    "fetch": Need(work=lambda s: 10**14),
}
