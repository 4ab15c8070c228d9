"""What is made of a public panel: linkage disequilibrium, and maps of a whole genome for each request."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.io.files import spooled_arrays
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.clipped_statistics import frequency_rows
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.genome_map import chromosome_arrays
from dpgrs.linalg.genome_prior import (
    MapMaking,
    ReferenceChromosome,
    Spectrum,
    genome_prior,
    residual_deviation,
    steered_noise,
)
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.norms import row_norm_of
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.methods.genome_sums import map_terms, sensitivity_factor
from dpgrs.methods.public_scores import public_scores
from dpgrs.study.genome_maps import columns_of_contigs, map_label, panel_dosages, people_digest
from dpgrs.study.variant_terms import RAREST
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.variant_set import VariantSet
    from dpgrs.methods.requests import PrivacyRequest

DEFAULT_BUILD = "GRCh38"
OF_SPECTRUM = ("variances", "chances", "counts")


def ld_of_variants(
    variant_set: "VariantSet", sizes: Iterable[int], *, rows: Rows, factor: float
) -> dict[int, tuple[PublicLd, str]]:
    """Estimate linkage disequilibrium of a public panel, and the SHA-256 of its rows, by number of variants.

    `factor` is `privacy.genotype_clip`, since rows are clipped as a cohort's are.
    """
    ld_by_size, rows = {}, Rows(rows)
    for size in sizes:
        columns = variant_set.of_size(size)
        frequency, genotypes = variant_set.frequency[columns], variant_set.genotypes(columns)
        norm = row_norm_of(frequency, rows=rows, factor=factor)
        options = {"row_norm": norm, "n_haplotypes": variant_set.n_haplotypes, "rows": rows}
        X = frequency_rows(genotypes, frequency, **options)
        loci = {name: variant_set.variants[name].to_numpy()[columns] for name in ("contig", "position")}
        n_alleles = 2 if rows == Rows.HAPLOTYPES else 1
        ld = public_ld(X * GENOTYPE_STEP, **loci, rows_per_person=n_alleles)
        ld_by_size[size] = ld, hashlib.sha256(np.ascontiguousarray(X).tobytes()).hexdigest()
    return ld_by_size


class PanelChromosomes(Sequence):
    """The chromosomes of a panel, in the order of the genome; genotypes are read when one is taken."""

    def __init__(self, variant_set: "VariantSet", size: int, *, genome_build: str | None) -> None:
        from dpgrs.genotypes.ld_blocks import LONG_RANGE_LD  # brings numba, which takes 0.3 s

        self._variant_set, self._columns = variant_set, columns_of_contigs(variant_set, size)
        self._regions = LONG_RANGE_LD[genome_build or DEFAULT_BUILD]
        self._cuts: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        frequency = variant_set.frequency[variant_set.of_size(size)]
        rarest = float(np.minimum(frequency, 1 - frequency).min(initial=0.5))
        if rarest < RAREST:
            raise UsageError(
                "variants-too-rare",
                f"`variants.maf` must be at least {RAREST} for a map of a genome, got variants of {rarest:g} "
                "in the public reference. Raise it.",
            )

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: Any) -> ReferenceChromosome:
        contig, columns = list(self._columns.items())[index]
        dosages = panel_dosages(self._variant_set, columns)
        if contig not in self._cuts:
            position = self._variant_set.variants["position"].to_numpy()[columns]
            self._cuts[contig] = self._cut(contig, dosages, position)
        bounds, pruned = self._cuts[contig]
        return ReferenceChromosome(contig, dosages, self._variant_set.frequency[columns], bounds, pruned)

    def _cut(self, contig: str, dosages: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of LD blocks, and the variants of which axes of ancestry are made."""
        from dpgrs.genotypes.ld_blocks import ld_block_bounds, pruned_variants

        name = contig.removeprefix("chr")
        regions = [(first, last) for chromosome, first, last in self._regions if chromosome == name]
        mhc = self._regions[:1]
        mhc_regions = [(first, last) for chromosome, first, last in mhc if chromosome == name]
        bounds = ld_block_bounds(dosages, position, whole_regions=mhc_regions)
        return bounds, pruned_variants(dosages, position, left_out=regions)


def map_items(
    variant_set: "VariantSet",  # of a public panel, at the sites of the study
    requests: Sequence["PrivacyRequest"],
    *,
    planned_rows: int,  # n~, people who are planned to be trained on; public
    n_summed: int,  # outcomes of the study
    genome_build: str | None = None,
    has_equal_shares: bool = False,
    # By number of variants, of outcomes of which a public score is subtracted, the effects per copy of ALT.
    subtracted: Mapping[int, Mapping[str, np.ndarray]] | None = None,
    folder: Path | None = None,  # for matrices meanwhile; None takes that of temporary files
) -> Iterator[tuple[dict[str, Any], Mapping[str, np.ndarray] | Iterator[tuple[str, np.ndarray]]]]:
    """Yield a spectrum for every number of variants, and the map of every request.

    A map is a label and arrays for each chromosome. Labels are complete when all are taken.
    """
    # Keys that would publish nothing if no direction of a block had a share.
    along_blocks = ["privacy.direction_shares"] * has_equal_shares
    along_blocks += ["privacy.ld_share"] * any(request.ld_share is not None for request in requests)
    by_size: dict[int, list[dict[str, Any]]] = {}
    for request_terms in map(map_terms, requests):
        terms_of_size = by_size.setdefault(request_terms["n_variants"], [])
        terms_of_size += [] if request_terms in terms_of_size else [request_terms]
    for size, terms_of_size in by_size.items():
        panel = PanelChromosomes(variant_set, size, genome_build=genome_build)
        with spooled_arrays(folder) as keep:
            prior = genome_prior(panel, keep=keep)
            scores = public_scores(prior, panel, subtracted[size]) if subtracted else None
            residuals = () if scores is None else scores.residual_variances
            yield spectrum_item(
                prior.population_spectrum, size, n_panel=prior.n_panel, residual_variances=residuals
            )
            for request_terms in terms_of_size:
                noise = steered_noise(
                    prior.spectrum,
                    planned_rows,
                    mu=request_terms["mu"],
                    n_phenotypes=request_terms["n_outcomes"],
                    sensitivity=sensitivity_factor(request_terms["neighbours"]),
                    is_equal=has_equal_shares,
                    deviation=residual_deviation(residuals, request_terms["n_outcomes"]),
                )
                making, labels, chromosomes = MapMaking(prior, noise, panel, scores), [], []
                for chromosome, blocks in making.chromosomes():
                    labels.append({"contig": chromosome.contig})
                    chromosomes.append(chromosome)
                    yield labels[-1], chromosome_arrays(chromosome, blocks)
                n_outcomes = n_summed if request_terms["n_outcomes"] == 1 else request_terms["n_outcomes"]
                options = {"planned_rows": planned_rows, "n_summed": n_outcomes}
                genome = making.genome(chromosomes)
                if along_blocks and np.isclose(genome.axis_shares.sum(), 1):
                    raise UsageError(
                        "no-share-for-blocks",
                        f"`{along_blocks[0]}` must leave a share to LD blocks, got so much noise that axes "
                        "of ancestry have all. Raise `privacy.epsilon` or `cohort.planned_people`, or leave "
                        "the key out.",
                    )
                of_genome = map_label(genome, request_terms, **options)
                of_genome["people"] = people_digest(variant_set.sample_id)
                for label in labels:
                    label |= of_genome


def spectrum_item(
    spectrum: Spectrum, size: int, *, n_panel: int, residual_variances: Sequence[float] = ()
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the spectrum of a number of variants as a label and arrays, for plans.

    The variances are those that public scores leave of outcomes.
    """
    binned, label = spectrum.binned(), {"spectrum_of": size, "n_rows": n_panel}
    label |= {"residual_variances": list(residual_variances)} if residual_variances else {}
    return label, {name: getattr(binned, name) for name in OF_SPECTRUM}


def stored_spectra(path: Path | str) -> dict[int, tuple[Spectrum, int]]:
    """Return the spectra of a file that `map_items` filled and the people of the panel, by size."""
    items = load_labelled(path).of(lambda label: "spectrum_of" in label)
    return {label["spectrum_of"]: (Spectrum(**arrays), label["n_rows"]) for label, arrays in items}


def stored_residuals(path: Path | str) -> dict[int, tuple[float, ...]]:
    """Return the variances that public scores leave of outcomes by size, as `spectrum_item` wrote them."""
    labels = [label for label in load_labelled(path).labels if "spectrum_of" in label]
    return {label["spectrum_of"]: tuple(label.get("residual_variances", ())) for label in labels}
