"""The size of a study as known before any job runs; memory and time requests follow from it."""

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.genome_builds import MEGABASE, genome_megabases
from dpgrs.io.genotype_files import genotype_header
from dpgrs.io.genotype_forms import VCF, form_named
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.replicates import summed_outcomes
from dpgrs.methods.mechanisms import fits_all_rows, fits_groups, streams_genotypes, takes_sums
from dpgrs.methods.registry import METHODS
from dpgrs.study.cohort_files import (
    PEOPLE_UNKNOWN,
    UNREADABLE,
    cohort_files,
    cohort_pattern,
    has_genotype_files,
    is_absent,
    n_lines,
    n_reference_people,
    reference_files_of,
    stored_chromosomes,
)
from dpgrs.study.people_terms import n_copies
from dpgrs.study.requests import is_measured_again
from dpgrs.study.table_cohort import is_fractional, is_table, read_cohort_table, takes_columns
from dpgrs.study.variant_terms import has_public_sites, takes_map, takes_matrix
from dpgrs.types import Metrics, Protection, Rows

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# The columns of a table that cannot be read.
COLUMNS_UNKNOWN = 100
# Variants of a chromosome that is yet to be fetched, and of a simulated one by base pair.
VARIANTS_UNKNOWN, VARIANTS_A_BASE = 3_000_000, 0.03


class Shape:
    """The size of a study: upper bounds from its settings and the headers of its files.

    Nothing is read before it is needed, each file at most once, and a file that is absent or damaged has a
    stated size: the checks of `dpgrs.preflight` and the steps name its fault. A person has 1 or 2 rows,
    `rows_a_person`.

    >>> from dpgrs.study.settings import resolve
    >>> shape = Shape(resolve({"cohort": {"simulation": {"people": 500}}, "variants": {"size": [100, 50]}}))
    >>> shape.n_people, shape.n_rows, shape.n_variants
    (500, 1000, 100)
    """

    def __init__(self, config: "StudyConfig") -> None:
        self._config = config
        self.rows_a_person = 2 if config.cohort.rows == Rows.HAPLOTYPES else 1

    @cached_property
    def n_file_people(self) -> int:
        """All people in the genotype files of the cohort, or all rows of its table, chosen or not."""
        cohort = self._config.cohort
        if cohort.source == "simulate":
            return cohort.simulation.people
        with suppress(*UNREADABLE):
            if is_table(self._config):
                return len(read_cohort_table(self._config, cohort.table).features.row_id)
            for name in cohort.chromosomes:
                if name in self._stores:
                    return self._stores[name].n_samples
                if not is_absent(cohort, name):
                    return _n_samples(self._files(name))
        return PEOPLE_UNKNOWN

    @cached_property
    def n_chosen_people(self) -> int:
        """The people taken from the files, at most: fewer if a list states whom to keep."""
        return min(self.n_file_people, n_lines(self._config.people.keep))

    @property
    def n_people(self) -> int:
        """The people of the cohort, at most: people taken from its files, or copies of them."""
        return n_copies(self._config) or self.n_chosen_people

    @property
    def n_rows(self) -> int:
        """The rows of the cohort, at most: haplotypes or people, for training and for the test together."""
        return self.n_people * self.rows_a_person

    @property
    def has_dosages(self) -> bool:
        """Whether genotypes are numbers on a grid rather than bits."""
        return is_fractional(self._config)

    @cached_property
    def n_file_variants(self) -> int:
        """The number of variants in the genotype files of all chromosomes, estimated from their bytes."""
        cohort = self._config.cohort
        if is_table(self._config):
            return self.n_variants
        if cohort.source == "simulate":
            return int(VARIANTS_A_BASE * cohort.simulation.length) * self.n_chromosomes
        # A file to come is taken to have as many variants as the largest of the others.
        variant_counts = [
            self._in_chromosome(name) for name in cohort.chromosomes if name not in self._to_come
        ]
        return sum(variant_counts) + len(self._to_come) * max(variant_counts, default=VARIANTS_UNKNOWN)

    @property
    def n_stored_variants(self) -> int:
        """The number of variants in stores: all variants of the files, or with fixed sites the study's."""
        is_fixed = self._config.cohort.fixed_sites
        return min(self.n_variants, self.n_file_variants) if is_fixed else self.n_file_variants

    def _in_chromosome(self, name: str) -> int:
        with suppress(*UNREADABLE):
            if name in self._stores:
                return self._stores[name].n_variants
            return sum(form_named(path).n_sites(path, self.n_file_people) for path in self._files(name))
        return VARIANTS_UNKNOWN

    @cached_property
    def _stores(self) -> dict[str, HaplotypeStore]:
        """The stores that stand for absent genotype files, by chromosome."""
        return {name: HaplotypeStore.open(path) for name, path in stored_chromosomes(self._config).items()}

    @cached_property
    def _to_come(self) -> list[str]:
        """The chromosomes with neither genotype files nor a store."""
        cohort = self._config.cohort
        return [name for name in cohort.chromosomes if is_absent(cohort, name) and name not in self._stores]

    @cached_property
    def source(self) -> str:
        """The value of `cohort.source` for genotype files of their format; `vcf` if they are not there."""
        with suppress(*UNREADABLE):
            return form_named(self._files(self._config.cohort.chromosomes[0])[0]).source
        return VCF.source

    def _files(self, chromosome: str) -> list[Path]:
        """The genotype files of a chromosome."""
        cohort = self._config.cohort
        if not has_genotype_files(cohort) or not cohort_pattern(cohort)[1]:
            raise DpgrsError("no-genotype-files", "No genotype files are named. Name them.")
        return cohort_files(cohort, chromosome)

    @cached_property
    def n_reference_people(self) -> int:
        """The people in the files of the public reference; 0 where there is none."""
        return n_reference_people(self._config)

    @property
    def n_shards(self) -> int:
        """The jobs that sum the statistics of a replicate."""
        return max(-(-self.n_rows // self._config.scale.rows_per_shard), 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the variant sets, a tuple in increasing order."""
        return tuple(sorted(self._config.variants.size))

    @property
    def n_variants(self) -> int:
        """The variants, or columns of a table, at the largest size."""
        return self.sizes[-1]

    @cached_property
    def n_table_outcomes(self) -> int:
        """The outcomes that the study's tables of outcomes hold, the widest; 0 where they are simulated."""
        outcomes, evaluation = self._config.outcomes, self._config.evaluation
        file = outcomes.file if outcomes.source == "file" else None
        counts = [_n_columns(path) for path in (file, evaluation.outcomes) if path]
        if sums := self._config.cohort.sums:
            with suppress(*UNREADABLE):
                counts.append(len(summed_outcomes(sums)))
        if takes_columns(self._config):
            with suppress(*UNREADABLE):
                table = read_cohort_table(self._config, self._config.cohort.table)
                counts.append(len(table.outcomes.names))
        return max(counts, default=0)

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of outcomes that are drawn together, a tuple in increasing order."""
        return tuple(sorted(self._config.outcomes.count or [self.n_table_outcomes or COLUMNS_UNKNOWN]))

    @property
    def n_outcomes(self) -> int:
        """The largest number of outcomes that are drawn together."""
        return self.counts[-1]

    @property
    def n_series(self) -> int:
        """The sums over variants that make the outcomes: one each, or the hidden units of their networks."""
        return self.n_outcomes * (self._config.outcomes.network or 1)

    @cached_property
    def n_covariates(self) -> int:
        """The covariates, of a table and principal components together."""
        covariates = self._config.covariates
        named = len(covariates.columns or []) or (_n_columns(covariates.file) if covariates.file else 0)
        return named + covariates.pcs

    @property
    def n_columns(self) -> int:
        """The columns of X: variants of the largest variant set, and covariates."""
        return self.n_variants + self.n_covariates

    @property
    def n_requests(self) -> int:
        """The requests of a replicate: one for each combination of terms, size and number of outcomes."""
        privacy, n = self._config.privacy, len(self.sizes) * len(self.counts)
        protections = [protection for protection in privacy.protection if protection != Protection.NONE]
        return n * max(len(protections), 1) * len(privacy.accounting) * len(privacy.epsilon)

    @property
    def n_methods(self) -> int:
        """The methods of the study."""
        return len(self._config.methods)

    @property
    def test_share(self) -> float:
        """The share of the rows that is held out."""
        return self._config.outcomes.test_share

    @property
    def is_measured(self) -> bool:
        """Whether a release is measured on any people."""
        return self._config.evaluation.metrics != Metrics.WITHHELD

    @property
    def is_measured_again(self) -> bool:
        """Whether a draw of further outcomes measures earlier ones first."""
        return is_measured_again(self._config)

    @property
    def is_screened(self) -> bool:
        """Whether variants are chosen for each outcome."""
        return any(METHODS[name].is_screened for name in self._config.methods)

    @property
    def takes_sums(self) -> bool:
        """Whether any method is fitted from sums over all variants."""
        return takes_sums(self._config.methods)

    @property
    def takes_map(self) -> bool:
        """Whether any method is fitted along a public map of the genome."""
        return takes_map(self._config.methods)

    @property
    def n_scores(self) -> int:
        """The number of outcomes of which a public score is subtracted."""
        return len(self._config.public.subtract)

    @property
    def has_moments(self) -> bool:
        """Whether second moments of rows within LD blocks are drawn along such a map."""
        return self.takes_map and self._config.privacy.ld_share is not None

    @property
    def takes_matrix(self) -> bool:
        """Whether any method takes matrices of public linkage disequilibrium."""
        return takes_matrix(self._config.methods)

    @property
    def fits_all_rows(self) -> bool:
        """Whether any method, or the selection for it, holds the rows of all variants as numbers."""
        return self.has_dosages or fits_all_rows(self._config.methods)

    @property
    def fits_groups(self) -> bool:
        """Whether the selection of variants holds the rows of all of them as numbers, a group at a time."""
        return fits_groups(self._config.methods)

    @property
    def n_choices(self) -> int:
        """The variants that are chosen for an outcome."""
        return self._config.screening.size

    @property
    def streams_variants(self) -> bool:
        """Whether variants are taken some at a time: not if their linkage decides."""
        return has_public_sites(self._config) or self._config.variants.ld_r2 is None

    def streams_genotypes(self, selection: str) -> bool:
        """Return whether the selection of variants, ``private`` or ``exact``, reads some of them at a
        time."""
        return not self.has_dosages and streams_genotypes(self._config.methods, selection)

    @property
    def n_replicates(self) -> int:
        """The replicates of the study."""
        return self._config.replicates

    @property
    def n_chromosomes(self) -> int:
        """The chromosomes that variants are taken from."""
        return len(self._config.cohort.chromosomes)

    @property
    def megabases(self) -> float:
        """The length of these chromosomes."""
        cohort = self._config.cohort
        if cohort.source == "simulate":
            return self.n_chromosomes * cohort.simulation.length / MEGABASE
        return genome_megabases(cohort.chromosomes, self._config.release.genome_build)


class PlannedShape(Shape):
    """The size of a study of so many people whose genotypes are not read."""

    def __init__(self, config: "StudyConfig", people: int) -> None:
        super().__init__(config)
        self._people = people

    @property
    def n_people(self) -> int:
        return self._people

    @property
    def n_file_people(self) -> int:
        return self._people

    @property
    def n_file_variants(self) -> int:
        """The variants of the study, as if files had no others."""
        return self.n_variants

    @property
    def source(self) -> str:
        return self._config.cohort.source


class ReferenceShape(Shape):
    """The size of the public reference: its people replace the cohort's."""

    @property
    def n_people(self) -> int:
        return self.n_reference_people

    @property
    def n_file_people(self) -> int:
        return self.n_reference_people

    @property
    def n_stored_variants(self) -> int:
        return self.n_file_variants

    @property
    def _stores(self) -> dict[str, HaplotypeStore]:
        return {}

    @property
    def _to_come(self) -> list[str]:
        return []

    def _files(self, chromosome: str) -> list[Path]:
        if not self._config.public.reference:
            raise DpgrsError("no-reference", "No reference is named. Name one.")
        return reference_files_of(self._config.public.reference, chromosome)


def _n_samples(paths: Sequence[Path]) -> int:
    return len(genotype_header(paths).samples)


def _n_columns(path: Path | str) -> int:
    # pandas, for studies that have tables
    from dpgrs.io.tables.phenotypes import outcome_names

    with suppress(*UNREADABLE):
        return len(outcome_names(path))
    return COLUMNS_UNKNOWN
