"""Memory and run time that each verb requests, as functions of a study's size (docs/measurements/scale.md).

Memory is the bytes of the arrays that a verb holds at its peak, counted in whole arrays of their number type.
`tests/workflow/test_resources.py` compares it with measured peaks. In a study n, d and l are its rows,
columns of X and outcomes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpgrs.io.target import BATCH_BYTES
from dpgrs.linalg.statistics import VARIANT_BLOCK
from dpgrs.methods.mechanisms import mechanism_named
from dpgrs.study.array_sizes import (
    FLOAT,
    MB,
    all_outcomes,
    attacking,
    choosing,
    chosen,
    chunks_of_outcomes,
    copying,
    decomposing,
    entries,
    file_table,
    finding_components,
    fits,
    fitted_map,
    fitting_map,
    genotypes,
    held_out,
    ingested,
    ingesting,
    mapped_block,
    mapping,
    measures,
    metrics,
    mhc_block,
    moment_rows,
    moment_sums,
    moments,
    norms,
    of_chromosome,
    of_components,
    of_rows,
    outcomes,
    panel_axes,
    panel_dosages,
    part_of_simulated,
    part_of_sums,
    passing,
    picked,
    products,
    projected,
    reading,
    rows,
    rows_of_methods,
    rows_of_part,
    scored,
    set_table,
    solving,
    square,
    summing,
    table,
    variant_table,
    weights,
    written_sites,
)
from dpgrs.study.genome_people import AXIS_PEOPLE, AXIS_VARIANTS
from dpgrs.study.shape import Shape

# What Python takes with all imports of a verb, and what a verb holds whatever the study.
PYTHON = 350 * MB
# What the two processes of Snakemake take that start each job of a cluster, and which count as the job's own.
SNAKEMAKE = 400 * MB
# Each attempt after the first asks for so much more of both.
GROWTH = 1.5
# Multiply-adds a second of one slow core, and the least run time.
RATE, LEAST_SECONDS = 10**9, 600


def _nothing(shape: Shape) -> float:
    return 0


@dataclass(frozen=True)
class Need:
    """The needs of a verb, as functions of a Shape."""

    memory: Callable[[Shape], float] = _nothing  # bytes that the verb holds beyond `PYTHON`
    work: Callable[[Shape], float] = _nothing  # operations, `RATE` a second
    of_thread: Callable[[Shape], float] = _nothing  # bytes that each thread or process holds besides
    of_rows: Callable[[Shape], float] = _nothing  # further bytes for a mechanism that reads rows
    work_of_rows: Callable[[Shape], float] = _nothing  # further operations for such a mechanism


def resources_of(
    verb: str, shape: Shape, *, is_on_cluster: Callable[[], bool] = lambda: False
) -> dict[str, Callable[..., int]]:
    """Return what the rule of a verb asks for: ``mem_mb`` in megabytes and ``runtime`` in minutes.

    They are functions as Snakemake calls them. The shape is of the people whom the rule is about;
    `is_on_cluster` says whether Snakemake starts the job on a cluster. Both are rounded up to three binary
    digits: others on a cluster see them, and learn from one of them how many people there are to a tenth or
    so (docs/explanation/threat-model.md). A verb without a declaration is a KeyError.
    """
    need = NEEDS[verb]

    def mem_mb(wildcards: Any, threads: int, attempt: int) -> int:
        n_bytes = PYTHON + need.memory(shape) + threads * need.of_thread(shape)
        n_bytes += SNAKEMAKE if is_on_cluster() else 0
        n_bytes += need.of_rows(shape) if _reads_rows(wildcards) else 0
        return rounded_up(n_bytes / MB * GROWTH ** (attempt - 1))

    def runtime(wildcards: Any, attempt: int) -> int:
        work = need.work(shape) + (need.work_of_rows(shape) if _reads_rows(wildcards) else 0)
        return rounded_up((LEAST_SECONDS + work / RATE) / 60 * GROWTH ** (attempt - 1))

    return {"mem_mb": mem_mb, "runtime": runtime}


def rounded_up(number: float) -> int:
    """Round up to a whole number of three binary digits, such as 320, 384, 448 and 512."""
    step = 2 ** max(math.floor(math.log2(number)) - 2, 0)
    return math.ceil(number / step) * step


def measured(s: Shape) -> float:
    """Bytes of the people held out, as they are measured."""
    return genotypes(s) + 4 * all_outcomes(s) + 1.5 * rows(s)


def measuring(s: Shape) -> float:
    """Operations of a measure of them."""
    return 20 * s.n_rows * s.n_columns * s.n_outcomes


def _reads_rows(wildcards: Any) -> bool:
    """Return whether a job belongs to a mechanism that takes the variant set."""
    mechanism = getattr(wildcards, "mechanism", None)
    return mechanism is not None and "variant_set" in mechanism_named(mechanism).takes


NEEDS = {
    # Genotypes
    "simulate-cohort": Need(
        lambda s: 30 * MB + 10_000 * (s.n_file_people + s.n_reference_people),
        lambda s: 200 * s.n_file_variants / s.n_chromosomes * (s.n_file_people + s.n_reference_people),
    ),
    "choose-people": Need(lambda s: 1000 * s.n_file_people),
    "ingest-chromosome": Need(
        lambda s: 70 * MB + 200 * s.n_file_people + ingested(s) + file_table(s) / s.n_chromosomes,
        lambda s: ingesting(s) + 20_000 * s.n_file_variants / s.n_chromosomes,
        of_thread=lambda s: 40 * MB + 20 * s.n_file_people,
    ),
    "resample-chromosome": Need(
        lambda s: 100 * MB + 800 * (s.n_people + s.n_chosen_people) + variant_table(s) / s.n_chromosomes,
        lambda s: 20 * s.n_file_variants / s.n_chromosomes * s.n_people,
        of_thread=lambda s: 30 * MB,
    ),
    "make-variants": Need(lambda s: picked(s) + variant_table(s), copying),
    "make-table-variants": Need(
        lambda s: 40 * s.n_people * (s.n_variants + s.n_outcomes),
        lambda s: 1000 * s.n_people * (s.n_variants + s.n_outcomes),
    ),
    "summarise-genotypes": Need(
        lambda s: 10 * MB + 10**5 * min(s.n_people, 2000) + variant_table(s), lambda s: 2 * reading(s)
    ),
    "choose-sites": Need(variant_table, reading),
    "match-effects": Need(lambda s: 400 * MB, lambda s: 10_000 * s.n_file_variants),
    "measure-ld": Need(
        lambda s: (
            (genotypes(s) + 3 * rows(s) if s.takes_matrix else panel_dosages(s))
            + set_table(s)
            + 6 * square(s)
            + max(12 * mapped_block(s) + 9 * mhc_block(s), panel_axes(s))
        ),
        lambda s: (
            len(s.sizes) * (summing(s) + 20 * s.takes_matrix * s.n_columns**3)
            + decomposing(s)
            + s.n_requests * mapping(s, s.n_rows)
        ),
    ),
    # Outcomes and covariates
    "make-outcomes": Need(
        lambda s: (
            4 * part_of_simulated(s)
            + 3 * s.n_columns * s.n_series * FLOAT
            + 2 * chunks_of_outcomes(s)
            + table(s)
        ),
        lambda s: len(s.sizes) * s.n_rows * (10**5 + 2 * s.n_series * (1000 + s.n_columns)),
    ),
    "make-loadings": Need(
        lambda s: of_components(s) + set_table(s), lambda s: finding_components(s) + reading(s)
    ),
    "make-covariates": Need(
        lambda s: projected(s) + s.n_rows * FLOAT * 10 * s.n_covariates + set_table(s),
        lambda s: s.n_rows * (1000 * s.n_covariates + (30 + 2 * s.n_covariates) * s.n_variants),
    ),
    "adjust-outcomes": Need(
        lambda s: all_outcomes(s) + s.n_rows * FLOAT * 4 * (s.n_covariates + 1),
        lambda s: 100 * s.n_rows * s.n_outcomes * (s.n_covariates + 1),
    ),
    # Sums, noise and fits
    "compute-statistics": Need(
        lambda s: (
            6 * part_of_sums(s)
            + 11 * VARIANT_BLOCK * rows_of_part(s)
            + 6 * products(s)
            + 2 * chunks_of_outcomes(s)
        ),
        lambda s: len(s.sizes) * (1 + len(s.counts)) * summing(s) / s.n_shards,
    ),
    "add-statistics": Need(lambda s: 6 * products(s), lambda s: s.n_shards * products(s)),
    "measure-people": Need(
        lambda s: (
            norms(s)
            + 4 * FLOAT * min(s.n_people, AXIS_PEOPLE) * min(s.n_variants, AXIS_VARIANTS)
            + (20 + 2 * s.n_scores) * s.n_people * FLOAT
            + set_table(s)
        ),
        lambda s: s.n_requests * (mapping(s, s.n_rows) + passing(s) * (1 + (s.n_scores > 0))),
        of_thread=lambda s: 200 * MB,
    ),
    "sum-genome": Need(
        lambda s: (
            norms(s)
            + 4 * outcomes(s)
            + (20 + 2 * s.n_scores) * s.n_people * FLOAT
            + set_table(s)
            + moment_sums(s)
        ),
        lambda s: (
            s.n_requests
            * of_chromosome(s)
            * ((1 + 2 * s.has_moments) * mapping(s, s.n_rows) + summing(s) + passing(s))
        ),
        of_thread=lambda s: 200 * MB + moment_rows(s),
    ),
    "take-sums": Need(lambda s: 5 * products(s), lambda s: 10 * products(s)),
    "choose-exactly": Need(
        lambda s: of_rows(s, "exact") + 3 * products(s) + all_outcomes(s),
        lambda s: len(s.sizes) * choosing(s, "exact"),
    ),
    "draw": Need(
        lambda s: (
            all_outcomes(s)
            + 2 * products(s)
            + 6 * square(s)
            + 8 * mapped_block(s)
            + 6 * moments(s)
            + measured(s) * s.is_measured_again
        ),
        lambda s: (
            s.n_requests
            * (1000 * (entries(s) + moments(s) / FLOAT) + 4 * solving(s) + mapping(s, 10 * s.n_outcomes))
            + (2 * solving(s) + measuring(s)) * s.is_measured_again
        ),
        # Before a regression on covariates second moments may be summed, see `require_same_genotypes`.
        of_rows=lambda s: (
            of_rows(s)
            + moment_sums(s)
            + moment_rows(s)
            + s.has_moments * (norms(s) + 20 * s.n_people * FLOAT)
        ),
        work_of_rows=lambda s: (
            s.n_requests * (choosing(s) + s.has_moments * (2 * mapping(s, s.n_rows) + passing(s)))
        ),
    ),
    "fit-weights": Need(
        lambda s: (
            3 * products(s)
            + 6 * square(s)
            + fitted_map(s)
            + 10 * moments(s)
            + (100 * MB + rows_of_methods(s) + chosen(s) + all_outcomes(s) if s.is_screened else 0)
        ),
        lambda s: (
            s.n_requests * (2 * s.n_methods * solving(s) + fitting_map(s) + s.has_moments * decomposing(s))
        ),
    ),
    # Measures and pages
    "evaluate-replicate": Need(
        lambda s: 2 * held_out(s) + products(s) + metrics(s) + scored(s) + 2 * measures(s),
        lambda s: (
            s.n_methods * s.n_requests * s.n_rows * s.n_columns * s.n_outcomes
            + 1000 * fits(s) * s.n_rows * s.test_share * s.n_outcomes
        ),
    ),
    "collect-tables": Need(
        lambda s: 2 * s.n_replicates * max(metrics(s), measures(s)), lambda s: s.n_replicates * metrics(s)
    ),
    "attack-replicate": Need(
        lambda s: all_outcomes(s) + attacking(s) + 3 * products(s) + 6 * square(s),
        lambda s: (1 + s.n_methods) * s.n_requests * attacking(s) * (s.n_columns + s.n_outcomes) / 30,
    ),
    "render-report": Need(
        lambda s: (
            2 * all_outcomes(s)
            + 2 * products(s)
            + weights(s)
            + 3 * s.n_replicates * (metrics(s) + measures(s))
        ),
        lambda s: s.n_outcomes * 10**9 + s.n_replicates * metrics(s),
        of_thread=lambda s: 110 * MB + s.n_replicates * (metrics(s) + measures(s)),
    ),
    "audit": Need(lambda s: 200 * MB, lambda s: 5 * 10**12),
    "measure-release": Need(
        lambda s: measured(s) * s.is_measured + 2 * products(s) + outcomes(s),
        lambda s: measuring(s) * s.is_measured,
    ),
    "write-release": Need(
        lambda s: written_sites(s) + 8 * products(s),
        lambda s: s.n_variants * s.n_outcomes * 10**4 + 4 * solving(s),
    ),
    "render-release-report": Need(
        lambda s: written_sites(s) + 4 * products(s),
        lambda s: s.n_outcomes * (10**9 + s.n_variants * 2 * 10**4),
        of_thread=lambda s: 110 * MB,
    ),
    # For a target, its reference and scores: weights as read and together, sums, and the calls of a block.
    "score": Need(
        lambda s: (
            250 * MB
            + 3 * s.n_variants * s.n_outcomes * FLOAT
            + 1000 * s.n_variants
            + 4 * min(1024 * (s.n_people + s.n_reference_people), BATCH_BYTES)
            + 4 * (s.n_people + s.n_reference_people) * s.n_outcomes * FLOAT
            + 4 * 2000 * FLOAT * s.n_reference_people
        ),
        lambda s: 2 * (s.n_people + s.n_reference_people) * s.n_variants * (1000 + s.n_outcomes),
        of_thread=lambda s: 30 * MB,
    ),
    "write-scores": Need(
        lambda s: written_sites(s) + 4 * products(s) + weights(s),
        lambda s: s.n_requests * s.n_variants * s.n_outcomes * 10**4,
    ),
    "write-settings": Need(),
    "write-provenance": Need(),
    # From their publisher, a block of a file at a time, for as long as that takes.
    "fetch-manifest": Need(),
    "fetch": Need(work=lambda s: 10**14),
}
