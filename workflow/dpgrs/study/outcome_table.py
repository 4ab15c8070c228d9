"""Outcomes from a table: checked and standardised part by part, in the order of the genotypes."""

import os
import tempfile

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digest
from dpgrs.io.tables.people_counts import PeopleCount
from dpgrs.io.tables.phenotypes import (
    OutcomeScale,
    constants_of,
    is_of_arrays,
    outcome_chunks,
    outcome_names,
    read_scales,
    standardise,
)
from dpgrs.study.counted_people import TELL_NOBODY, require_enough
from dpgrs.study.table_values import raw_problems
from dpgrs.types import TableCheck


class OutcomeTable:
    """The outcomes of the people of a study, in a file without a name: no more than a part is in memory.

    Parameters
    ----------
    path : table of outcomes.
    sample_id : (n_people,) str, the people of the variant set.
    count : int, of the first outcomes that are taken; None takes all.
    scales : path of the public constants that standardise them; None takes them as they are.
    public_digest : str, the SHA-256 of a table that is public; None of a private one.
    least_share, checks, counts : as `dpgrs.study.counted_people.require_enough` takes them; counts is its
        output. Of the checks ``scale`` and ``binary`` are those of values.
    is_release, is_reference : bool, as in `require_enough`.
    folder : where there is room for the values of these people, 8 bytes each.

    Attributes
    ----------
    names : list of n_outcomes str.
    prevalence : (n_outcomes,) float64, NaN where an outcome is not 0/1; None without constants.
    population_prevalence : (n_outcomes,) float64, NaN where none is stated; None likewise.

    Raises
    ------
    DpgrsError
        If the table and the genotypes share too few people, or a public table is another one, or of other
        people, or outcomes plainly are not standardised; all of these depend on private data.
    """

    def __init__(
        self,
        path,
        sample_id,
        *,
        count,
        scales,
        public_digest,
        least_share,
        checks,
        counts,
        is_release,
        folder,
        is_reference=False,
    ):
        self._path, self._is_release, self._checks = path, is_release, checks
        self._require_published(public_digest)
        self.names, self.prevalence, constants = outcome_names(path)[:count], None, None
        self.population_prevalence = None
        if scales is not None:
            constants = constants_of(self.names, read_scales(scales), path=scales)
            self.prevalence = constants["centre"].where(constants["is_binary"]).to_numpy()
            self.population_prevalence = constants["population_prevalence"].to_numpy()
        self._place = pd.Series(np.arange(len(sample_id)), index=pd.Index(sample_id, dtype=str))
        self._is_there = np.zeros(len(sample_id), dtype=bool)
        with tempfile.TemporaryFile(dir=folder) as file:
            # A full disk is an error here, and not a signal in the middle.
            os.posix_fallocate(file.fileno(), 0, max(8 * len(sample_id) * len(self.names), 1))
            self._values = np.memmap(file, np.float64, "w+", shape=(len(sample_id), len(self.names)))
        known, scale, has_others = PeopleCount("outcome", sample_id), OutcomeScale(), False
        for part in outcome_chunks(path, columns=slice(count)):
            own = known.add(part if constants is None else self._standardised(part, constants))
            scale.add(own)
            has_others |= len(own) < len(part)
            places = self._place[own.index].to_numpy()
            self._values[places], self._is_there[places] = own.to_numpy(), True
        if public_digest is not None and (has_others or not self._is_there.all()):
            raise DpgrsError(
                f"`outcomes.file`, `{path}`, must be of the people of the panel and no others under feature "
                "protection, got others. Take the genotypes of the same people."
            )
        limits = {"least_share": least_share, "checks": checks}
        limits |= {"is_release": is_release, "is_reference": is_reference}
        require_enough(known, path=path, output=counts, **limits)
        if TableCheck.SCALE not in checks:
            return
        found = scale.describe()
        key = "outcomes.columns" if is_of_arrays(path) else "outcomes.file"
        if not is_release and (lines := raw_problems(found, key=key)):
            raise DpgrsError("\n".join(lines))
        if found["is_raw"].any():
            raise DpgrsError(
                "`outcomes.file` and `evaluation.outcomes` must hold outcomes of mean 0 and standard "
                f"deviation 1, got others in `{path}`. Give the public constants that standardise them, "
                f"`outcomes.scales`. {TELL_NOBODY}"
            )

    def of_people(self, people):
        """Return (n_outcomes, n_people) float64 of a slice of the people, NaN where missing."""
        values = np.where(self._is_there[people, np.newaxis], self._values[people], np.nan)
        return np.ascontiguousarray(values.T)

    def _require_published(self, digest):
        """Refuse other outcomes than those that are public; a digest of None takes none as public."""
        if digest is not None and file_digest(self._path) != digest:
            raise DpgrsError(
                f"`outcomes.file`, `{self._path}`, must be the file of `public.outcomes.sha256`, got "
                "another. Restore the published one."
            )

    def _standardised(self, part, constants):
        try:
            return standardise(part, constants, requires_binary=TableCheck.BINARY in self._checks)
        except DpgrsError as error:
            raise DpgrsError(f"{error} {TELL_NOBODY}" if self._is_release else str(error)) from None
