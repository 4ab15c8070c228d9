"""What PRIMO's figures on real haplotypes share: panel, outcomes and split of a trial."""

from tempfile import TemporaryDirectory

from dpgrs.evaluation.rows import joined_rows
from dpgrs.evaluation.split import row_names, split_rows
from dpgrs.experiments.haplotype_panel import make_panel
from dpgrs.experiments.primo_fits import TERMS, configuration, measure
from dpgrs.io.outcomes import Outcomes, simulated_names
from dpgrs.simulation.outcomes import simulate_outcomes
from dpgrs.types import Rows

TEST_SHARE = 0.2
NETWORK = "network"  # the part whose outcomes are of networks
BOUNDS = {"paper": "paper", "ours": "worst-case"}
COHORT = (
    "5,008 haplotypes of 140 kb of chromosome 1 (1000 Genomes, phase 3), other random common variants in "
    "each trial; 80 % of the people to train on, unit haplotype, half of the variance explained, delta "
    "10<sup>-6</sup>. d = 100 and epsilon 5 unless it is said: the paper's are lost in our copy.",
)
CHOICES = (
    *COHORT,
    "The paper's terms: one row replaced, epsilon and delta in two halves, rows less their own mean, the "
    "norm of X'X as a whole, one ball for all. Ours: one row added or removed, exact accounting, worst-case "
    "bounds.",
    "The best lambda of a path from 0.001 to 10,000 is found on the test rows: **peeked, so not private**.",
)


def run_trial(part, trial, settings, files):
    """Measure all methods by the terms of the paper and by ours; figures share the cohort of a trial."""
    known = {"source": "vcf", "sizes": settings["sizes"], "counts": settings["counts"]}
    known["epsilons"] = settings["epsilons"]
    configs = {
        name: configuration(TERMS[name], methods=methods, bounds=BOUNDS[name], **known)
        for name, methods in settings["methods"].items()
    }
    options = {"seed": settings["seed"], "key": ("primo haplotypes", trial, part)}
    with TemporaryDirectory() as folder:
        panel, outcomes = make_cohort(part, trial, settings, files, folder)
        return measure(panel, outcomes, configs=configs, **options)


def make_cohort(part, trial, settings, files, folder):
    """Make the panel of a trial, of chromosome 1, and simulate its outcomes.

    Parameters
    ----------
    part, trial, files : as in `Experiment.run_trial`.
    settings : dict, with `seed`, `sizes`, `counts`, `heritability`, and `width` for networks.
    folder : path, to write the panel to.

    Returns
    -------
    Panel, Outcomes
    """
    key, seed, rows = ("primo haplotypes", trial), settings["seed"], Rows.HAPLOTYPES
    panel = make_panel(files, ["1"], folder, size=max(settings["sizes"]), seed=seed + trial)
    values, count = {}, max(settings["counts"])
    for size in settings["sizes"]:
        values[size], _ = simulate_outcomes(
            joined_rows(panel, size, rows=rows),
            row_id=row_names(panel.sample_id, rows=rows),
            variant_rank=panel.variant_rank[panel.of_size(size)],
            n_outcomes=count,
            heritability=settings["heritability"],
            width=settings["width"] if part == NETWORK else None,
            seed=seed,
            key=key,
        )
    is_training = split_rows(panel.sample_id, rows=rows, test_share=TEST_SHARE, seed=seed, key=key)
    return panel, Outcomes(tuple(simulated_names(count)), values, {}, is_training, rows)
