"""What the checks of a study look at: its settings, and its files, each read once for all checks."""

from contextlib import suppress
from functools import cache, cached_property, wraps

from dpgrs.config.schema import keys
from dpgrs.config.setting import as_json
from dpgrs.errors import DpgrsError
from dpgrs.io.genotype_files import genotype_header
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.tables.phenotypes import outcome_names
from dpgrs.preflight.headers import HEADER_KEYS, absent_files, read_headers
from dpgrs.preflight.people import PEOPLE_KEYS, chosen_people, chosen_reference
from dpgrs.preflight.table_cohort import TableInspection, inspect_table
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.study.cohort_files import reference_files_of, stored_chromosomes
from dpgrs.study.fetched_files import files_to_fetch
from dpgrs.study.table_cohort import TABLE_KEYS, is_table


def fact(*reads, unknown=None):
    """Make a method a property, worked out once; `unknown` where a key that it reads is in doubt."""

    def decorate(find):
        @wraps(find)
        def found(inspection):
            return find(inspection) if inspection.is_clear(*reads) else unknown

        found.reads = reads
        return cached_property(found)

    return decorate


class Inspection:
    """A study that is checked.

    Parameters
    ----------
    config : StudyConfig.
    tell : function of a line for the operator alone; None tells nobody.
    doubtful : set of str, keys whose values are not what the user meant.
    headers_only : bool, whether the names of columns are all that may be read of a private table, and nothing
        of the cohort's genotypes. Then no line depends on the people.
    memory_mb, runtime_minutes : int, the memory and the run time that jobs can have, or None.

    Attributes
    ----------
    mode : str; None where it is in doubt.
    shows_ids : bool, whether a line may quote ids and values: of open data alone.
    header : function of the paths of a chromosome's files, a tuple; it returns a VcfHeader.
    names : function of the path of a table of outcomes or covariates; it returns its columns, a list of str.
    book : function of the path of a ledger; it returns a Book.
    """

    def __init__(
        self,
        config,
        *,
        tell=None,
        doubtful=frozenset(),
        headers_only=False,
        memory_mb=None,
        runtime_minutes=None,
    ):
        self.config, self.tell, self._doubtful = config, tell, doubtful
        self.headers_only, self.memory_mb, self.runtime_minutes = headers_only, memory_mb, runtime_minutes
        self.mode = config.mode if self.is_clear("mode") else None
        self.shows_ids = self.mode == "benchmark"
        self.header, self.names = cache(genotype_header), cache(outcome_names)
        self._set_of = None, frozenset()
        self.book = cache(lambda path: Ledger(path).read())

    def __getitem__(self, key):
        """Return the value of a dotted key as a file of settings has it."""
        return as_json(self.config.value(key))

    def each_of(self, people):
        """Return the set of people, which is made once for all checks of the same."""
        if self._set_of[0] is not people:
            self._set_of = people, frozenset(people or ())
        return self._set_of[1]

    def is_default(self, key):
        """Tell whether a key has its default."""
        return self[key] == keys()[key]["default"]

    def paths(self, key):
        """Return the paths of a key, a list; empty where it is null."""
        value = self[key]
        return value if isinstance(value, list) else [value] if value else []

    def is_clear(self, *reads):
        """Tell whether nothing that these keys and sections hold is in doubt."""
        return not any(
            f"{key}.".startswith(f"{doubt}.") or doubt.startswith(f"{key}.")
            for key in reads
            for doubt in self._doubtful
        )

    @cached_property
    def absent(self):
        """The files that are yet to be fetched, and checked by the jobs that read them: path to address."""
        return files_to_fetch(self.config)

    @fact(*HEADER_KEYS, unknown=({}, []))
    def genotypes(self):
        """Dict of chromosome to VcfHeader of the cohort, and what keeps others from being read."""
        if self.headers_only:
            return {}, absent_files(self.config.cohort, absent=self.absent)
        return read_headers(self.config.cohort, absent=self.absent, read=self.header)

    @fact("cohort.chromosomes", "public.reference", unknown={})
    def reference(self):
        """Dict of chromosome to VcfHeader of the public reference; those that cannot be read are left out."""
        path, headers = self["public.reference"], {}
        for chromosome in self["cohort.chromosomes"] if path else []:
            with suppress(DpgrsError):
                headers[chromosome] = self.header(tuple(reference_files_of(path, chromosome)))
        return headers

    @cached_property
    def samples(self):
        """The ids of the people with genotypes, or of a table's rows; None where none can be read."""
        if self.headers_only:
            return None
        if is_table(self.config):
            return self.table.row_id
        samples = _samples(self.genotypes[0])
        return next(iter(self.stored_samples.values()), None) if samples is None else samples

    @fact(*HEADER_KEYS, "study", unknown={})
    def stored_samples(self):
        """Dict of chromosome to the ids of the people of the store that stands for absent files."""
        if self.headers_only:
            return {}
        samples = {}
        for chromosome, store in stored_chromosomes(self.config).items():
            with suppress(DpgrsError):  # said by the step that reads it
                samples[chromosome] = tuple(HaplotypeStore.open(store).sample_id.tolist())
        return samples

    @fact(*TABLE_KEYS, "cohort.source", "outcomes.source", unknown=TableInspection())
    def table(self):
        """The TableInspection of a study of a table of real numbers."""
        return TableInspection() if self.headers_only else inspect_table(self.config)

    @fact(*PEOPLE_KEYS)
    def choice(self):
        """The people chosen, and what is wrong with the choice; see `chosen_people`."""
        return chosen_people(self.config, self.samples, shows_ids=self.shows_ids, tell=self.tell)

    @cached_property
    def people(self):
        """The ids of the people that the study is about; None where they are not known."""
        return self.choice[0] if self.choice else self.samples

    @cached_property
    def reference_samples(self):
        """The ids of the people in the files of the public reference; None where no header can be read."""
        return _samples(self.reference)

    @fact("public.keep")
    def reference_choice(self):
        """Whom of these the public reference is, and what is wrong with the choice; see `chosen_people`."""
        return chosen_reference(self.config, self.reference_samples, shows_ids=self.shows_ids, tell=self.tell)

    @cached_property
    def reference_people(self):
        """The ids of the people of the public reference; None where they are not known."""
        return self.reference_choice[0] if self.reference_choice else self.reference_samples


def _samples(headers):
    """Return the people of the first header; None where there is none."""
    return next(iter(headers.values())).samples if headers else None
