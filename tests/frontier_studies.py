"""What a case of the frontier leaves: a study of which a variant set and simulated outcomes are made."""

import numpy as np

from dpgrs.evaluation.split import row_names
from dpgrs.io.outcomes import Outcomes, simulated_names
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.statistics import coded_rows
from dpgrs.simulation.outcomes import simulate_outcomes
from dpgrs.types import Rows
from dpgrs_papers.experiments.haplotype_variants import make_variants
from vcf_files import record, vcf_text, write_gzip

N_PEOPLE, N_VARIANTS = 60, 12


def write_study(folder, *, n_outcomes, **terms):
    """Write variant set and outcomes of a study of people whose genotypes are chance.

    Parameters
    ----------
    folder : path of the study.
    n_outcomes : int
    **terms : further ones of `simulate_outcomes`.
    """
    draws, private = np.random.default_rng(7), folder / "private"
    private.mkdir(parents=True)
    people = [f"P{number:02}" for number in range(N_PEOPLE)]
    alleles = draws.integers(0, 2, size=(N_VARIANTS, N_PEOPLE, 2))
    records = [
        record(10 * place, " ".join(f"{first}|{second}" for first, second in own))
        for place, own in enumerate(alleles, start=1)
    ]
    vcf = write_gzip(private / "1.vcf.gz", vcf_text(*records, samples=people))
    make_variants([vcf], ["1"], private, size=N_VARIANTS, seed=1)
    variant_set = VariantSet.open((private / "variant_set").rename(private / "variants.zarr"))
    is_training = np.repeat(np.arange(N_PEOPLE) % 5 > 0, 2)
    outcomes_of(variant_set, is_training, n_outcomes=n_outcomes, **terms).save(
        private / "replicate1" / "outcomes.zarr"
    )


def outcomes_of(variant_set, is_training, *, n_outcomes, **terms):
    """Simulate Outcomes of a VariantSet, of h2 = 1/2."""
    X = coded_rows(variant_set.genotypes(), n_haplotypes=variant_set.n_haplotypes, rows=Rows.HAPLOTYPES)
    known = {
        "row_id": row_names(variant_set.sample_id, rows=Rows.HAPLOTYPES),
        "variant_rank": variant_set.variant_rank,
    }
    values, effects = simulate_outcomes(X, n_outcomes=n_outcomes, heritability=0.5, seed=3, **known, **terms)
    names = tuple(simulated_names(n_outcomes))
    return Outcomes(names, {N_VARIANTS: values}, {N_VARIANTS: effects}, is_training, Rows.HAPLOTYPES)
