"""What PRIMO's figures on real haplotypes share: variant set, outcomes and split of a replicate."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpgrs.evaluation.split import per_row, split_rows
from dpgrs.io.outcomes import Outcomes, simulated_names
from dpgrs.io.variant_set import VariantSet
from dpgrs.public_random import uniforms
from dpgrs.study.public_files import save_ld
from dpgrs.study.public_panel import ld_of_variants
from dpgrs.study.settings import resolve
from dpgrs.study.simulated_rows import SimulatedRows
from dpgrs.types import Rows
from dpgrs_papers.experiments.haplotype_variants import make_variants, variants_of_people
from dpgrs_papers.experiments.primo_fits import NON_PRIVATE, PUBLIC, TERMS, TIGHT, configuration, measure
from dpgrs_papers.imitation.imitation import imitate_store

TEST_SHARE, PUBLIC_SHARE = 0.2, 0.5
PEOPLE = 2_504  # of the file of haplotypes
NETWORK = "network"  # the part whose outcomes are of networks
GENERATED = "generated"  # the parts whose people are of a generator start so
BOUNDS = {"paper": "paper", "ours": "worst-case", TIGHT: "tight", PUBLIC: "tight"}
COHORT = (
    "5,008 haplotypes of 140 kb of chromosome 1 (1000 Genomes, phase 3), other random common variants in "
    "each replicate; 80 % of the people to train on, unit haplotype, half of the variance explained, delta "
    "10<sup>-6</sup>. d = 100 and epsilon 5 unless it is said: the paper's are lost in our copy.",
)
CHOICES = (
    *COHORT,
    "The paper's terms: one row replaced, epsilon and delta in two halves, rows less their own mean, the "
    "norm of X'X as a whole, one ball for all. Ours: one row added or removed, exact accounting, worst-case "
    "bounds.",
    "The best lambda of a path from 0.001 to 10,000 is found on the test rows: **peeked, so not private**.",
)
BEST = (
    "Tight bounds are by the cohort's own frequencies, a stand-in for public ones. `half of the people`: of "
    "the people to train on one half is the public panel, which gives frequencies and linkage "
    "disequilibrium, and the other half is the cohort; people to test on and variants are those of all "
    "lines, so the variants are chosen by everybody.",
)


def run_replicate(
    part_name: str,
    replicate: int,
    settings: dict,
    files: list[Path],
    *,
    terms_by_name: dict[str, dict] = TERMS,
) -> list[dict]:
    """Measure all methods by the terms of the paper and by ours; figures share the cohort of a replicate."""
    study_size = {"source": "vcf", "sizes": settings["sizes"], "counts": settings["counts"]}
    study_size["epsilons"] = settings["epsilons"]
    configs = {
        name: configuration(
            terms_by_name[name], methods=methods, bounds=BOUNDS.get(name, "worst-case"), **study_size
        )
        for name, methods in settings["methods"].items()
    }
    options = {"seed": settings["seed"], "key": ("primo haplotypes", replicate, part_name)}
    with TemporaryDirectory() as folder:
        variant_set, outcomes = make_cohort(part_name, replicate, settings, files, folder)
        public = configs.pop(PUBLIC, None)
        rows = measure(variant_set, outcomes, configs=configs, **options)
        # Copies of the same few people are no panel for each other.
        if public is not None and n_copies(part_name, settings) is None:
            rows += beside_public(variant_set, outcomes, public, folder, **options)
    return rows


def n_copies(part_name: str, settings: dict) -> int | None:
    """Return how many people of a part are made, as copies or by a generator; None where all are real."""
    return settings.get("copies", {}).get(part_name)


def beside_public(
    variant_set: VariantSet, outcomes: Outcomes, config: dict, folder: str, *, seed: int, key: tuple
) -> list[dict]:
    """Measure methods on half of the people to train on, of whom the other half are a public reference."""
    uniform_draws = uniforms(seed, variant_set.sample_id, "public panel", *key)
    is_public = (uniform_draws < PUBLIC_SHARE) & outcomes.is_training[::2]
    reference = variants_of_people(variant_set, is_public, f"{folder}/reference")
    cohort = variants_of_people(variant_set, ~is_public, f"{folder}/own", frequency=reference.frequency)
    study = resolve(config)
    ld_options = {"rows": study.cohort.rows, "factor": study.privacy.genotype_clip}
    save_ld(f"{folder}/ld.npz", ld_of_variants(reference, study.variants.size, **ld_options))
    is_own = per_row(~is_public, rows=outcomes.rows)
    values = {size: values[:, is_own] for size, values in outcomes.values.items()}
    outcomes = Outcomes(outcomes.names, values, {}, outcomes.is_training[is_own], outcomes.rows)
    options = {"configs": {PUBLIC: config}, "seed": seed, "key": key, "ld": f"{folder}/ld.npz"}
    return [row for row in measure(cohort, outcomes, **options) if row["method"] != NON_PRIVATE]


def make_cohort(
    part_name: str, replicate: int, settings: dict, files: list[Path], folder: str
) -> tuple[VariantSet, Outcomes]:
    """Make the variant set of a replicate, of chromosome 1, and simulate its outcomes."""
    key, seed, rows = ("primo haplotypes", replicate), settings["seed"], Rows.HAPLOTYPES
    variant_options = {"size": max(settings["sizes"]), "people": n_copies(part_name, settings)}
    if part_name.startswith(GENERATED):
        variant_options["make_people"] = imitate_store
    variant_set = make_variants(files, ["1"], folder, seed=seed + replicate, **variant_options)
    count = max(settings["counts"])
    simulated = SimulatedRows(
        variant_set,
        settings["sizes"],
        rows=rows,
        n_outcomes=count,
        heritability=settings["heritability"],
        width=settings["width"] if part_name == NETWORK else None,
        seed=seed,
        key=key,
    )
    is_training = split_rows(variant_set.sample_id, rows=rows, test_share=TEST_SHARE, seed=seed, key=key)
    values = dict.fromkeys(settings["sizes"])
    outcomes = Outcomes(tuple(simulated_names(count)), values, {}, is_training, rows)
    outcomes.save(f"{folder}/outcomes.zarr", simulated.outcome_blocks())
    return variant_set, Outcomes.load(f"{folder}/outcomes.zarr")
