"""Sums of centres in memory, as each centre has them, and the settings that all agree on."""

from dataclasses import replace

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.io.outcomes import Outcomes
from dpgrs.linalg.statistics import half_units
from dpgrs.study import centre_sums
from dpgrs.study.centre_sums import CentreSums
from dpgrs.study.exact_statistics import exact_statistics
from random_cohorts import random_alleles
from release_studies import SHORT_RELEASE
from step_settings import settings_for
from variant_sets import variants_in_memory

D, N_PEOPLE, NAMES = 7, 120, ("a", "b", "c")
ALLELES, FREQUENCY = random_alleles(D, 2 * N_PEOPLE), np.linspace(0.1, 0.7, D)
CENTRES = {"north": slice(0, 20), "south": slice(20, 75), "west": slice(75, N_PEOPLE)}
VALUES = np.random.default_rng(3).standard_normal((len(NAMES), N_PEOPLE))
VALUES[1, ::5] = np.nan
CONFIG = SHORT_RELEASE | {
    "cohort": {"source": "vcf", "rows": "people", "sums": "sums.npz"},
    "variants": {"size": D},
    "public": {"sites": "sites.tsv", "origin": "x"},
    "outcomes": {"source": "file", "scales": "scales.tsv"},
}
SCALES = "outcome\tcentre\tscale\torigin\n" + "".join(f"{name}\t0\t1\ta register\n" for name in NAMES)
TERMS = {"format": centre_sums.FORMAT, "privacy.epsilon": "[2]"}


def sums(
    people=slice(0, N_PEOPLE), *, name="all", kind="people", bounds="tight", budget="joint", terms=TERMS
):
    """Return the sums of some people as one centre has them."""
    rows = "haplotypes" if kind == "haplotypes" else "people"
    n, each = people.stop - people.start, 2 if rows == "haplotypes" else 1
    own = pack(ALLELES[:, 2 * people.start : 2 * people.stop])
    dosages = half_units(own, n_haplotypes=2 * n, rows="people").astype(np.int16) * 1900
    genotypes = dosages.astype(np.int16) if kind == "dosages" else own
    variant_set = variants_in_memory(
        genotypes, n_haplotypes=2 * n, of_size=lambda size: np.arange(size), frequency=FREQUENCY
    )
    is_training = np.repeat(np.arange(N_PEOPLE)[people] % 7 > 0, each)
    values = {D: np.repeat(VALUES[:, people], each, axis=1)}
    outcomes = Outcomes(NAMES, values, {}, is_training, rows)
    settings = settings_for(
        "compute-statistics",
        mode="release",
        outcomes={"bound": 2.5, "count": [3]},
        privacy={"bounds": bounds, "outcome_budget": budget},
    )
    found = exact_statistics(settings, variant_set, outcomes)
    return CentreSums(found, outcomes.of_rows(slice(0)), terms, (name,))


def all_centres(**terms):
    return [(f"{name}.age", sums(people, name=name, **terms)) for name, people in CENTRES.items()]


def changed_gram(part, change):
    """Return sums with another X'X of the rows, as of a centre that lies or errs."""
    ((key, clipped),) = part.statistics.clipped.items()
    gram = change(clipped.gram.copy())
    return replace(part, statistics=replace(part.statistics, clipped={key: replace(clipped, gram=gram)}))


def set_entry(row, column, value):
    def change(gram):
        gram[row, column] = gram[column, row] = value
        return gram

    return change
