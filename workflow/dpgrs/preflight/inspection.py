"""Settings and files of a study, each read once for all checks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, wraps
from typing import TYPE_CHECKING, Any

from dpgrs.config.schema import keys
from dpgrs.config.setting import as_json
from dpgrs.errors import DpgrsError
from dpgrs.io.genotype_files import genotype_header
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.tables.phenotypes import outcome_names
from dpgrs.preflight.headers import HEADER_KEYS, absent_files, read_headers
from dpgrs.preflight.people import PEOPLE_KEYS, choose, chosen_people
from dpgrs.preflight.table_cohort import TableInspection, inspect_table
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.study.cohort_files import reference_files_of, stored_chromosomes
from dpgrs.study.fetched_files import files_to_fetch
from dpgrs.study.people_terms import reference_terms_of
from dpgrs.study.table_cohort import TABLE_KEYS, is_table

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.io.vcf.vcf import VcfHeader


def fact(
    *reads: str,  # keys and sections
    unknown: Any = None,
) -> Callable[[Callable[[Any], Any]], cached_property]:
    """Make a method a property, worked out once; `unknown` where a key that it reads is in doubt."""

    def decorate(find: Callable[[Any], Any]) -> cached_property:
        @wraps(find)
        def known_fact(inspection: "Inspection") -> Any:
            return find(inspection) if inspection.is_clear(*reads) else unknown

        known_fact.reads = reads
        return cached_property(known_fact)

    return decorate


class Inspection:
    """A study that is checked."""

    config: "StudyConfig"

    def __init__(
        self,
        config: "StudyConfig",
        *,
        tell: Callable[[str], None] | None = None,  # takes a line for the operator only
        doubtful: Collection[str] = frozenset(),  # keys whose values are not what the user meant
        headers_only: bool = False,  # read only column names of private tables, no genotypes
        memory_mb: int | None = None,  # the memory and the run time that jobs can have
        runtime_minutes: int | None = None,
    ) -> None:
        self.config, self.tell, self._doubtful = config, tell, doubtful
        self.headers_only, self.memory_mb, self.runtime_minutes = headers_only, memory_mb, runtime_minutes
        self.mode = config.mode if self.is_clear("mode") else None  # None where it is in doubt
        self.shows_ids = self.mode == "benchmark"  # whether a line may quote ids and values
        self.header = cache(genotype_header)  # a VcfHeader of the paths of a chromosome's files, a tuple
        self.names = cache(outcome_names)  # the columns of a table of outcomes or covariates, by its path
        self.book = cache(lambda path: Ledger(path).read())  # a Book, by the path of its ledger
        self._set_of: tuple[Sequence[str] | None, frozenset[str]] = None, frozenset()

    def __getitem__(self, key: str) -> Any:
        """Return the value of a dotted key as a file of settings has it."""
        return as_json(self.config.value(key))

    def each_of(self, people: Sequence[str] | None) -> frozenset[str]:
        """Return the set of people, which is made once for all checks of the same."""
        if self._set_of[0] is not people:
            self._set_of = people, frozenset(people or ())
        return self._set_of[1]

    def is_default(self, key: str) -> bool:
        """Tell whether a key has its default."""
        return self[key] == keys()[key]["default"]

    def paths(self, key: str) -> list[str]:
        """Return the paths of a key; none where it is null."""
        paths = self[key]
        return paths if isinstance(paths, list) else [paths] if paths else []

    def is_clear(self, *reads: str) -> bool:
        """Tell whether nothing that these keys and sections hold is in doubt."""
        return not any(
            f"{key}.".startswith(f"{doubt}.") or doubt.startswith(f"{key}.")
            for key in reads
            for doubt in self._doubtful
        )

    @cached_property
    def absent(self) -> dict[str, str]:
        """The files that jobs will fetch, and check as they read them: path to address."""
        return files_to_fetch(self.config)

    @fact(*HEADER_KEYS, unknown=({}, []))
    def genotypes(self) -> "tuple[dict[str, VcfHeader], list[str]]":
        """The headers of the cohort by chromosome, and a line for each that cannot be read."""
        if self.headers_only:
            return {}, absent_files(self.config.cohort, absent=self.absent)
        return read_headers(self.config.cohort, absent=self.absent, read=self.header)

    @fact("cohort.chromosomes", "public.reference", unknown={})
    def reference(self) -> "dict[str, VcfHeader]":
        """The headers of the public reference by chromosome; without headers that cannot be read."""
        path, headers = self["public.reference"], {}
        for chromosome in self["cohort.chromosomes"] if path else []:
            with suppress(DpgrsError):
                headers[chromosome] = self.header(tuple(reference_files_of(path, chromosome)))
        return headers

    @cached_property
    def samples(self) -> Sequence[str] | None:
        """The ids of the people with genotypes, or of a table's rows; None where none can be read."""
        if self.headers_only:
            return None
        if is_table(self.config):
            return self.table.row_id
        samples = _samples(self.genotypes[0])
        return next(iter(self.stored_samples.values()), None) if samples is None else samples

    @fact(*HEADER_KEYS, "study", unknown={})
    def stored_samples(self) -> dict[str, tuple[str, ...]]:
        """The ids of the people in stores that stand for absent files, by chromosome."""
        if self.headers_only:
            return {}
        samples = {}
        for chromosome, store in stored_chromosomes(self.config).items():
            with suppress(DpgrsError):  # reported by the step that reads it
                samples[chromosome] = tuple(HaplotypeStore.open(store).sample_id.tolist())
        return samples

    @fact(*TABLE_KEYS, "cohort.source", "outcomes.source", unknown=TableInspection())
    def table(self) -> TableInspection:
        """The table of a study of real numbers."""
        return TableInspection() if self.headers_only else inspect_table(self.config)

    @fact(*PEOPLE_KEYS)
    def choice(self) -> tuple[Sequence[str] | None, list[str]]:
        """The people chosen, and the problems of the choice; see `chosen_people`."""
        return chosen_people(self.config, self.samples, shows_ids=self.shows_ids, tell=self.tell)

    @cached_property
    def people(self) -> Sequence[str] | None:
        """The ids of the people that the study is about; None where they are not known."""
        return self.choice[0] if self.choice else self.samples

    @cached_property
    def reference_samples(self) -> Sequence[str] | None:
        """The ids of the people in the files of the public reference; None where no header can be read."""
        return _samples(self.reference)

    @fact("public.keep")
    def reference_choice(self) -> tuple[Sequence[str] | None, list[str]]:
        """The people of the public reference, and the problems of their choice; see `chosen_people`."""
        choice = reference_terms_of(self.config)
        return choose(self.reference_samples, choice, self.shows_ids, self.tell)

    @cached_property
    def reference_people(self) -> Sequence[str] | None:
        """The ids of the people of the public reference; None where they are not known."""
        return self.reference_choice[0] if self.reference_choice else self.reference_samples


def _samples(headers: "Mapping[str, VcfHeader]") -> Sequence[str] | None:
    """Return the people of the first header; None without any header."""
    return next(iter(headers.values())).samples if headers else None
